"""Defines the exit statuses of commands: 0 if accepted or done, 1 if rejected, 2 after an error."""

import typer

REJECTED, ERROR = 1, 2


def exit_with_answer(is_accepted):
    """Ends the command with exit status 1 unless the claim is accepted."""
    if not is_accepted:
        raise typer.Exit(REJECTED)
