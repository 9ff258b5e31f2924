"""Tests that tests use every worked example, so that a test fails if an expected value changes."""

import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

from tests.goldens import golden, load

SEEDS = ("seeds_p1", "seeds_p2", "seeds_p3")
TESTS = pathlib.Path(__file__).parent
MERELY_NAMED = f"""
from tests.goldens import golden

def test_of_a_name():
    assert golden("merge_two") and "merge_two"

def test_of_inputs():
    assert not golden("merge_three")["inputs"]

def test_of_values_that_are_not_asserted():
    assert golden("merge_gap")["expected"]

def test_of_another_error():
    golden("merge_self")["expected"]["none"]

def test_of_values():
    assert golden("standard_error")["expected"] == {golden("standard_error")["expected"]}
"""


def carried(paths, file):
    """Finds for each file of worked examples the ids of the examples that the given tests use.

    Args:
        paths: Files of tests.
        file: Path of the file into which the ids are written.
    """
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n=0", "-m=", "--tb=no", "-p", "no:cacheprovider"]
        + ["-p", "tests.goldens.spoiled", *map(str, paths)],
        cwd=TESTS.parent,
        env={**os.environ, "GOLDENS_CARRIED": str(file)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1, done.stdout + done.stderr  # 1: some tests failed
    return json.loads(file.read_text())


def files_with_goldens():
    """Returns the test files that import `tests.goldens`, directly or through a helper."""
    texts = {path: path.read_text() for path in TESTS.rglob("*.py")}
    helpers = {path.stem for path in texts if imports(texts[path], {"goldens"})} | {"goldens"}
    tests = {path for path in texts if path.name.startswith("test_")} - {pathlib.Path(__file__)}
    return sorted(path for path in tests if imports(texts[path], helpers))


def imports(text, modules):
    lines = re.findall(r"^(?:from tests|import tests).*", text, re.MULTILINE)
    return any(modules & set(re.findall(r"\w+", line)) for line in lines)


@pytest.mark.slow
def test_every_worked_example_is_asserted_by_a_test(tmp_path):
    found = carried(files_with_goldens(), tmp_path / "carried.json")
    examples = [(seeds, one["id"]) for seeds in SEEDS for one in load(seeds)["examples"]]
    missing = [(seeds, one) for seeds, one in examples if one not in found.get(seeds, [])]
    assert not missing, f"no test fails when the expected values change of {missing}"


def test_an_example_that_is_merely_named_or_read_is_not_carried(tmp_path):
    path = tmp_path / "test_named.py"
    path.write_text(MERELY_NAMED)
    assert carried([path], tmp_path / "carried.json") == {"seeds_p1": ["standard_error"]}
