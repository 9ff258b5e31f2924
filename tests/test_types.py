"""Tests that the type checker pyright accepts the examples in the pages, and reports names that do
not exist."""

import json
import os
import subprocess
import sys

import pytest

from tests.test_docs import DEVICES, INDEX, ROOT, blocks

pytest.importorskip("pyright")

COMPLETENESS = 0.98  # fraction of the public names whose types are known
PAGES = {"readme.py": "README.md", "index.py": INDEX, "devices.py": DEVICES}
WRONG = """
import keras_dml

keras_dml.Gallery("family.db", "watch_lda").verrify("alice", [])
keras_dml.evaluation.certificat
"""


@pytest.fixture(scope="module")
def pyright():
    """Returns a function that runs pyright with options and returns its report.

    The Python package `pyright` downloads the type checker at its first use. If the download fails,
    the tests are skipped. With KERAS_DML_REQUIRE_PYRIGHT, they fail instead of being skipped.
    """
    command = [sys.executable, "-m", "pyright"]
    version = subprocess.run([*command, "--version"], capture_output=True, text=True)
    if version.returncode:
        end = pytest.fail if os.environ.get("KERAS_DML_REQUIRE_PYRIGHT") else pytest.skip
        end(f"pyright could not be downloaded: {version.stderr[-200:]}")

    def run(*options):
        done = subprocess.run(
            [*command, "--outputjson", "--pythonpath", sys.executable, *options],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
        )
        return json.loads(done.stdout[done.stdout.index("{") :])

    return run


@pytest.fixture(scope="module")
def errors(pyright, tmp_path_factory):
    """Returns the errors that pyright reports, for each file."""
    folder = tmp_path_factory.mktemp("types")
    for name, page in PAGES.items():
        (folder / name).write_text("\n".join(blocks("python", page)))
    (folder / "wrong.py").write_text(WRONG)
    settings = {"typeCheckingMode": "basic", "extraPaths": [str(ROOT)], "include": ["."]}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    report = pyright("-p", str(folder))
    assert report["summary"]["filesAnalyzed"] == len(PAGES) + 1
    errors = {name: [] for name in (*PAGES, "wrong.py")}
    for entry in report["generalDiagnostics"]:
        if entry["severity"] == "error":
            errors[entry["file"].rpartition("/")[2]].append(entry["message"])
    return errors


def test_the_examples_of_the_pages_have_no_type_errors(errors):
    assert {name: errors[name] for name in PAGES} == {name: [] for name in PAGES}


def test_names_that_do_not_exist_are_errors(errors):
    messages = "\n".join(errors["wrong.py"])
    assert "verrify" in messages and "certificat" in messages


@pytest.mark.slow
def test_mypy_notices_a_method_that_does_not_exist(tmp_path):
    pytest.importorskip("mypy")
    (tmp_path / "wrong.py").write_text(WRONG)
    options = ["--ignore-missing-imports", "--follow-imports=silent", "--cache-dir", str(tmp_path)]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, str(tmp_path / "wrong.py")],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert '"Gallery" has no attribute "verrify"' in done.stdout


def test_public_names_have_known_types(pyright):
    report = pyright("--verifytypes", "keras_dml", "--ignoreexternal")
    assert report["typeCompleteness"]["completenessScore"] >= COMPLETENESS
