"""Tests that every script in `tests/bench` runs. Times are not tested."""

import os
import pathlib
import runpy
import subprocess
import sys

import keras
import pytest

from tests.bench import smoke

pytestmark = pytest.mark.skipif(keras.backend.backend() == "jax", reason="measured on TensorFlow")
FOLDER = pathlib.Path(__file__).parent / "bench"
SCRIPTS = sorted(path.stem for path in FOLDER.glob("*.py") if "__main__" in path.read_text())
# These scripts fork, or configure devices before TensorFlow starts.
IN_A_PROCESS = {"gallery_killed", "large_models"}


def test_the_folder_has_scripts():
    assert len(SCRIPTS) > 15 and IN_A_PROCESS <= set(SCRIPTS)


@pytest.mark.slow
@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_runs(name, monkeypatch, capfd):
    if name in IN_A_PROCESS:
        command = [sys.executable, "-m", f"tests.bench.{name}", "--smoke"]
        environment = {key: text for key, text in os.environ.items() if key != "XLA_FLAGS"}
        done = subprocess.run(command, cwd=FOLDER.parents[1], env=environment)
        status = done.returncode
    else:
        monkeypatch.setattr(sys, "argv", [f"{name}.py", "--smoke"])
        try:
            runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__")
            status = 0
        except SystemExit as ended:
            status = ended.code or 0
    printed, errors = capfd.readouterr()
    if status == smoke.SKIPPED:
        pytest.skip(errors.strip().splitlines()[-1])
    assert status == 0, errors
    assert printed.strip()
