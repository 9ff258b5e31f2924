"""Tests that the examples in docstrings and pages run, and that the index lists all public
names."""

import doctest
import importlib
import pathlib
import re
import types

import numpy as np
import pytest

import keras_dml

ROOT = pathlib.Path(__file__).parent.parent
pytestmark = pytest.mark.shares_nothing

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
INDEX = "keras_dml/README.md"
DEVICES = "keras_dml/models/README.md"
THRESHOLDS = "keras_dml/THRESHOLDS.md"
PAGES = (
    "README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    INDEX,
    DEVICES,
    THRESHOLDS,
    "keras_dml/gallery/DEPLOYMENT.md",
    "keras_dml/gallery/README.md",
    "tests/parity/README.md",
    "tests/bench/README.md",
    "tfds_builders/README.md",
    "zoo/README.md",
    "zoo/papers/README.md",
    "zoo/papers/wasserstein/README.md",
)
ROW = re.compile(r"^\| (`.*?`) \| .+ \|$", re.MULTILINE)


def modules_with_examples():
    """Returns the names of the modules whose docstrings have examples."""
    paths = [path for path in (ROOT / "keras_dml").rglob("*.py") if ">>>" in path.read_text()]
    parts = [path.relative_to(ROOT).with_suffix("").parts for path in sorted(paths)]
    return [".".join(names).removesuffix(".__init__") for names in parts]


def blocks(language, page="README.md"):
    text = (ROOT / page).read_text()
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def listed():
    """Returns the names that the tables of the index list for each module."""
    sections = re.split("^## ", (ROOT / INDEX).read_text(), flags=re.MULTILINE)
    tables = {section.partition("\n")[0]: ROW.findall(section) for section in sections}
    return {
        area: set(re.findall("`(.*?)`", " ".join(rows)))
        for area, rows in tables.items()
        if area.startswith("keras_dml")
    }


def areas():
    """Returns the package, its public subpackages and the subpackages of `geometry`."""
    yield "keras_dml"
    for name in keras_dml.__all__:
        if isinstance(getattr(keras_dml, name), types.ModuleType):
            yield f"keras_dml.{name}"
    for path in sorted((ROOT / "keras_dml/geometry").glob("*/__init__.py")):
        yield f"keras_dml.geometry.{path.parent.name}"


def public(area):
    """Returns the public names of an area without modules: `__all__`, or the names that are defined
    in it."""
    module = importlib.import_module(area)
    defined = [name for name, it in vars(module).items() if getattr(it, "__module__", "") == area]
    names = [name for name in getattr(module, "__all__", defined) if not name.startswith("_")]
    return {name for name in names if not isinstance(getattr(module, name), types.ModuleType)}


@pytest.mark.parametrize("name", modules_with_examples())
def test_docstring_examples(name):
    module = importlib.import_module(name)
    given = {"np": np, "keras_dml": keras_dml}
    assert doctest.testmod(module, extraglobs=given, optionflags=FLAGS).failed == 0


SLOW_PAGES = [pytest.param(page, marks=pytest.mark.slow) for page in (INDEX, DEVICES)]


@pytest.mark.parametrize("page", ["README.md", THRESHOLDS, *SLOW_PAGES])
def test_the_examples_of_a_page_run_one_after_the_other(page, tmp_path, monkeypatch, capsys):
    """Tests that the examples of a page run as one program in an empty folder. Each example must
    print something, and the output must match the comments."""
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "page"}
    for number, example in enumerate(blocks("python", page), 1):
        exec(compile(example, f"{page}, example {number}", "exec"), names)
        printed = capsys.readouterr().out
        assert printed, f"example {number} prints nothing"
        for promised in re.findall(r"^print\(.*\)  # ([^,\n]+)", example, re.MULTILINE):
            assert promised in printed, f"example {number}"


def test_the_first_two_shell_blocks_of_the_readme_are_the_demo_and_the_tests():
    demo, tests = (block.strip() for block in blocks("bash")[:2])
    assert len(demo.splitlines()) == len(tests.splitlines()) == 1
    assert demo.endswith("keras-dml demo") and "'.[cpu,edge]'" in demo
    assert tests.endswith("python -m pytest") and "'.[test]'" in tests


@pytest.mark.parametrize("page", PAGES)
def test_a_page_names_only_files_that_exist(page):
    folder = (ROOT / page).parent
    for target in re.findall(r"\]\((?!https?:|#)([^)\s#]+)", (ROOT / page).read_text()):
        assert (folder / target).exists(), target


@pytest.mark.parametrize("page", PAGES)
def test_a_page_holds_no_mark_of_an_unfinished_merge(page):
    marks = ("<<<<<<< ", ">>>>>>> ", "=======")
    assert not [line for line in (ROOT / page).read_text().splitlines() if line.startswith(marks)]


@pytest.mark.parametrize("area", list(areas()))
def test_the_index_has_every_public_name(area):
    assert public(area) - {"__version__"} <= listed().get(area, set())


@pytest.mark.parametrize("area", sorted(listed()))
def test_the_index_has_no_name_that_does_not_exist(area):
    module = importlib.import_module(area)
    assert [name for name in listed()[area] if not hasattr(module, name)] == []
