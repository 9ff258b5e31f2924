"""Exit statuses of commands that answer yes or no: an error is neither."""

import contextlib

import typer

YES, NO, ERROR = 0, 1, 2
FAILED = 1  # of the other commands


@contextlib.contextmanager
def deciding():
    """Marks errors of the block, so that they do not exit as a no does."""
    try:
        yield
    except Exception as error:
        error.exit_status = ERROR
        raise


def of(error):
    """Exit status of an error."""
    return getattr(error, "exit_status", FAILED)


def answer(is_yes):
    """Ends the command with yes or no."""
    if not is_yes:
        raise typer.Exit(NO)
