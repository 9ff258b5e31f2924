"""What the docstrings and the README show, runs."""

import doctest
import importlib
import pathlib
import re

import numpy as np
import pytest

import keras_dml

ROOT = pathlib.Path(__file__).parent.parent
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def module_names():
    for path in sorted((ROOT / "keras_dml").rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        if parts[-1] != "__main__":
            yield ".".join(parts).removesuffix(".__init__")


def blocks(language):
    readme = (ROOT / "README.md").read_text()
    return re.findall(rf"^```{language}\n(.*?)^```$", readme, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("name", list(module_names()))
def test_docstring_examples(name):
    module = importlib.import_module(name)
    given = {"np": np, "keras_dml": keras_dml}
    assert doctest.testmod(module, extraglobs=given, optionflags=FLAGS).failed == 0


def test_readme_examples_run_one_after_the_other(tmp_path, monkeypatch):
    """In an empty folder, as one program: a later example may use what an earlier one made."""
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "readme"}
    for number, example in enumerate(blocks("python"), 1):
        exec(compile(example, f"README.md, example {number}", "exec"), names)


def test_readme_opens_with_the_two_commands():
    demo, tests = (block.strip() for block in blocks("bash")[:2])
    assert len(demo.splitlines()) == len(tests.splitlines()) == 1
    assert demo.endswith("keras-dml demo") and "'.[cpu,edge]'" in demo
    assert tests.endswith("python -m pytest") and "'.[test]'" in tests


def test_readme_names_only_files_that_exist():
    readme = (ROOT / "README.md").read_text()
    for target in re.findall(r"\]\((?!https?:|#)([^)\s#]+)", readme):
        assert (ROOT / target).exists(), target
