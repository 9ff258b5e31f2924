"""Fixture that runs the command `python -m zoo.papers` in the process of the test."""

import pytest

from zoo.papers import __main__ as command_line


@pytest.fixture
def command(capsys):
    """Runs the command and returns its exit status, stdout and stderr."""

    def run(*words):
        try:
            command_line.main([str(word) for word in words])
            status = 0
        except SystemExit as stop:
            status = stop.code or 0
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return run
