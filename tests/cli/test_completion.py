"""Tests that the shell completes names, and that the examples on help pages run."""

import contextlib
import os
import re
import subprocess
import sys

import numpy as np
import pytest

from keras_dml.cli import _completion
from keras_dml.gallery.records import Records

PAGES = (
    [],
    ["demo"],
    ["demo", "gait"],
    ["list"],
    ["card"],
    ["datasets"],
    ["export"],
    ["enroll"],
    ["verify"],
    ["identify"],
    ["calibrate"],
    ["reject"],
    ["people"],
    ["remove"],
    ["merge"],
    ["serve"],
)


def complete(line, **environment):
    """Returns the completions of a line in bash."""
    words = line.split(" ")
    asked = {
        "_KERAS_DML_COMPLETE": "complete_bash",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words) - 1),
    }
    done = subprocess.run(
        [sys.executable, "-m", "keras_dml.cli"],
        env={**os.environ, **asked, **environment},
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.slow
def test_commands_and_names_of_models_are_completed(zoo_folder):
    zoo = {"KERAS_DML_ZOO": str(zoo_folder)}
    assert complete("keras-dml de", **zoo) == ["demo"]
    assert "gait_qp_wl" in complete("keras-dml card g", **zoo)
    assert "vowels_qp_wl" not in complete("keras-dml card g", **zoo)


@pytest.mark.slow
def test_paths_are_completed(tmp_path):
    (tmp_path / "walks").mkdir()
    (tmp_path / "walks.npz").touch()
    line = f"keras-dml export gait_qp_wl --representative {tmp_path}/wa"
    assert complete(line) == [f"{tmp_path}/walks.npz", f"{tmp_path}/walks/"]


def test_path_completion_uses_the_typed_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in (".hidden", "model.keras"):
        (tmp_path / name).touch()
    assert _completion.complete_paths("") == ["model.keras"]
    assert _completion.complete_paths(".h") == [".hidden"]
    assert _completion.complete_paths("~/m") == ["~/model.keras"]
    assert _completion.complete_paths("no/such/folder/") == []
    assert _completion.complete_models("model") == ["model.keras"]


@pytest.mark.slow
def test_names_of_enrolled_people_are_completed(tmp_path):
    with contextlib.closing(Records(tmp_path / "family.db")) as store:
        for name in ("alice", "alan", "bob"):
            store.add(name, np.zeros((1, 2)))
    for command in ("enroll", "verify", "reject", "remove"):
        assert complete(f"keras-dml {command} {tmp_path}/family.db al") == ["alan", "alice"]
    assert complete(f"keras-dml verify {tmp_path}/gone.db al") == []
    assert not (tmp_path / "gone.db").exists()


@pytest.mark.slow
def test_an_option_installs_completion(tmp_path):
    named = {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}  # no shell runs the test
    done = subprocess.run(
        [sys.executable, "-m", "keras_dml.cli", "--install-completion", "bash"],
        env={**os.environ, **named, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "_KERAS_DML_COMPLETE=complete_bash" in "".join(
        path.read_text() for path in tmp_path.rglob("*") if path.is_file()
    )


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=" ".join)
def test_examples_of_help_pages_run(command, zoo_folder, monkeypatch, page):
    """Tests that the examples on help pages start their commands. The test replaces the work of
    each command by an exception, because other tests test the work.
    """
    from keras_dml import export
    from keras_dml.cli import _answers, _demo

    class Reached(Exception):
        pass

    def reached(*arguments, **options):
        raise Reached

    monkeypatch.setattr(_demo, "run", reached)
    monkeypatch.setattr(export, "tflite", reached)
    monkeypatch.setattr(_answers, "spell_messages", reached)
    monkeypatch.chdir(zoo_folder)
    _, out, _ = command(*page, "--help")
    example = re.search(r"Example: keras-dml (.*?)(\n\s*\n|╭|$)", out, re.DOTALL)[1]
    code, _, err = command(*example.split())
    assert code == 0 or "Reached" in err, err
