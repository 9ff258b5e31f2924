"""Tests that the wheel contains exactly the files that users need, and that the installed package
works outside of the checkout."""

import os
import pathlib
import subprocess
import sys
import zipfile

import pytest

import keras_dml

ROOT = pathlib.Path(__file__).parent.parent
IMAGE_MODELS = {  # `keras_dml.edge` has no files of these models
    "cifar10_proto_sim",
    "mnist_proto_sim",
    "mnist_proto_sim_at",
    "omniglot_proto_sim",
    "pacs_proto_sim",
}
ZOO_FILES = ("model.keras", "model.tflite", "card.json", "golden.npz")

# An editable installation puts the checkout on the path. These tests must run without it.
AWAY_FROM_THE_CHECKOUT = f"""
import pathlib, sys
checkout = pathlib.Path({str(ROOT)!r})
sys.path[:] = [entry for entry in sys.path if pathlib.Path(entry).resolve() != checkout]
import keras_dml
assert not pathlib.Path(keras_dml.__file__).is_relative_to(checkout), keras_dml.__file__
"""

LOAD_EVERY_MODEL = """
from keras_dml import zoo
for name in zoo.list_models():
    zoo.check(name)  # loads it
    print(name)
"""

RUN_THE_DEMO = """
import runpy
sys.argv[1:] = ["demo", "--out", "demo"]
runpy.run_module("keras_dml.cli", run_name="__main__")
"""


def pip(*arguments):
    command = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Builds the wheel without build isolation, because the tests use no network. The test extra of
    the package installs hatchling."""
    folder = tmp_path_factory.mktemp("wheel")
    pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(ROOT))
    (path,) = folder.glob("keras_dml-*.whl")
    return path


@pytest.fixture(scope="module")
def contents(wheel):
    return zipfile.ZipFile(wheel).namelist()


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    folder = tmp_path_factory.mktemp("installed")
    pip("install", "--no-deps", "--no-compile", "--target", str(folder), str(wheel))
    return folder


def run_installed(installed, folder, program):
    """Runs a program in an empty folder, with the installed wheel first on the path."""
    environment = {
        k: v for k, v in os.environ.items() if k not in ("KERAS_DML_ZOO", "KERAS_BACKEND")
    }
    done = subprocess.run(
        [sys.executable, "-c", AWAY_FROM_THE_CHECKOUT + program],
        cwd=folder,
        env={**environment, "PYTHONPATH": str(installed), "TF_CPP_MIN_LOG_LEVEL": "3"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_wheel_has_the_version_of_the_package(wheel):
    assert wheel.name == f"keras_dml-{keras_dml.__version__}-py3-none-any.whl"


def test_the_wheel_carries_all_modules(contents):
    for folder in ("keras_dml", "tfds_builders"):
        for path in (ROOT / folder).rglob("*.py"):
            parts = path.relative_to(ROOT).parts
            is_test = path.name.endswith("_test.py") or {"tests", "dummy_data"} & set(parts)
            assert ("/".join(parts) in contents) != bool(is_test), parts


def test_the_wheel_carries_the_types(contents):
    stubs = [path.relative_to(ROOT).as_posix() for path in (ROOT / "keras_dml").rglob("*.pyi")]
    assert stubs and {*stubs, "keras_dml/py.typed"} <= {*contents}


def test_the_wheel_carries_what_builders_demo_server_and_exports_read(contents):
    for name in ("README.md", "CITATIONS.bib", "TAGS.txt", "checksums.tsv", "croissant.json"):
        for path in (ROOT / "tfds_builders").glob(f"*/{name}"):
            assert path.relative_to(ROOT).as_posix() in contents
    folders = ("cli/demo_data", "gallery/server/page", "gallery/web_page")
    for folder in (*folders, "export/_microcontroller/c"):
        files = [path for path in (ROOT / "keras_dml" / folder).rglob("*") if path.is_file()]
        assert files
        for path in files:
            assert path.relative_to(ROOT).as_posix() in contents


def test_the_wheel_carries_the_files_of_each_zoo_model(contents):
    models = sorted(path.parent for path in ROOT.glob("zoo/*/card.json"))
    files = [folder / file for folder in models for file in ZOO_FILES]
    without = {folder.name for folder in models if not (folder / "model.tflite").is_file()}
    assert len(models) >= 16 and without == IMAGE_MODELS
    expected = sorted(f"keras_dml/_zoo/{x.relative_to(ROOT / 'zoo')}" for x in files if x.is_file())
    assert sorted(name for name in contents if "_zoo" in name) == expected


def test_the_wheel_carries_nothing_else(contents):
    tops = {name.split("/")[0] for name in contents}
    assert tops == {"keras_dml", "tfds_builders", f"keras_dml-{keras_dml.__version__}.dist-info"}
    assert not [name for name in contents if "dummy_data" in name or "/tests/" in name]


@pytest.mark.slow
def test_every_zoo_model_loads_from_the_wheel_alone(installed, tmp_path):
    printed = run_installed(installed, tmp_path, LOAD_EVERY_MODEL)
    assert sorted(printed.split()) == sorted(
        path.parent.name for path in ROOT.glob("zoo/*/card.json")
    )


@pytest.mark.slow
def test_the_demo_runs_from_the_wheel_alone(installed, tmp_path):
    printed = run_installed(installed, tmp_path, RUN_THE_DEMO)
    assert "true claims accepted" in printed and "EER" in printed
    written = {path.name for path in (tmp_path / "demo").iterdir()}
    assert {"who.png", "walkers.db", "figures.json", "watch_lda.tflite"} <= written
