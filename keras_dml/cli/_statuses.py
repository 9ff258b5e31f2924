"""Exit statuses: 0 for yes or done, 1 for no, 2 for an error, which is neither."""

import typer

NO, ERROR = 1, 2


def answer(is_yes):
    """Ends the command with yes or no."""
    if not is_yes:
        raise typer.Exit(NO)
