"""Where the recordings are required, a test that needs them cannot pass by being skipped."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

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


@pytest.mark.parametrize(
    ("environment", "code", "closing"),
    [({}, 0, "2 skipped"), ({"KERAS_DML_REQUIRE_DATA": "1"}, 1, "1 failed, 1 skipped")],
)
def test_a_skipped_test_of_recordings_fails_where_they_are_required(
    tmp_path, environment, code, closing
):
    done = run_pytest(tmp_path, **environment)
    assert done.returncode == code, done.stdout + done.stderr
    assert closing in done.stdout.splitlines()[-1]
