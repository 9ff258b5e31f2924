"""Tests that every command of the zoo prints a help text without computing anything."""

import pathlib
import runpy
import sys

import pytest

ZOO = pathlib.Path(__file__).parent.parent.parent / "zoo"
COMMANDS = sorted(path for path in ZOO.rglob("*.py") if "__main__" in path.read_text())


@pytest.mark.parametrize("path", COMMANDS, ids=lambda path: str(path.relative_to(ZOO)))
def test_help_is_printed_and_nothing_is_computed(path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [path.name, "--help"])
    with pytest.raises(SystemExit) as stopped:
        runpy.run_path(str(path), run_name="__main__")
    assert stopped.value.code == 0
    assert "Usage" in capsys.readouterr().out
