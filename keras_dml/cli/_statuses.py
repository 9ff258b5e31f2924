"""Exit statuses of commands: 0 accepted or done, 1 rejected, 2 an error or no decision."""

import typer

REJECTED, ERROR = 1, 2


def exit_with_answer(is_accepted):
    """Exits with status 1 unless the claim is accepted."""
    if not is_accepted:
        raise typer.Exit(REJECTED)
