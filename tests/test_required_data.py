"""Tests that tests of real recordings fail instead of being skipped if the environment requires the
recordings."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

from zoo import recordings

HERE = pathlib.Path(__file__).parent
TESTS = """
import pytest

def test_of_recordings(data_dir):
    pytest.skip("for whatever reason")

def test_of_something_else():
    pytest.skip("for a reason of its own")
"""


def run_pytest(folder, **environment):
    shutil.copy(HERE / "conftest.py", folder)
    (folder / "test_skipping.py").write_text(TESTS)
    (folder / "pytest.ini").write_text("[pytest]\n")
    clean = {k: v for k, v in os.environ.items() if k != "KERAS_DML_REQUIRE_DATA"}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder)],
        cwd=folder,
        env={**clean, "PYTHONPATH": str(HERE.parent), **environment},
        capture_output=True,
        text=True,
    )


HAS_DATA = recordings.data_dir() is not None
SOME = os.environ.get(recordings.VARIABLE) or str(HERE)  # any folder: nothing is read


@pytest.mark.parametrize(
    ("environment", "code", "closing"),
    [
        ({}, 0, "2 skipped"),
        ({recordings.VARIABLE: SOME}, 0, "2 skipped"),
        ({recordings.VARIABLE: SOME, "KERAS_DML_REQUIRE_DATA": "1"}, 1, "1 failed, 1 skipped"),
        ({"KERAS_DML_REQUIRE_DATA": "1"}, 1, "1 skipped, 1 error"),
    ],
)
def test_a_skipped_test_of_recordings_fails_where_they_are_required(
    tmp_path, environment, code, closing
):
    """Tests that a test of real recordings fails if the recordings are required but missing. The
    fixture skips the test at setup, and pytest then reports an error."""
    if HAS_DATA and recordings.VARIABLE not in environment:
        pytest.skip("the lookup finds the recordings beside the checkout")
    done = run_pytest(tmp_path, **environment)
    assert done.returncode == code, done.stdout + done.stderr
    assert closing in done.stdout.splitlines()[-1]
