"""Tests that importing the package is fast, and that the error for a missing backend explains what
to install."""

import importlib
import json
import os
import subprocess
import sys

import keras
import pytest

import keras_dml
from keras_dml._backend import startup
from tests.test_docs import areas, listed

SECONDS = 0.3  # largest allowed time of `import keras_dml`
HEAVY = ("keras", "tensorflow", "jax", "numpy", "sklearn", "matplotlib")


def python(code, input=None, **environment):
    """Runs code in a new Python interpreter and returns the output."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=input,
        capture_output=True,
        text=True,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", **environment},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_import_takes_less_than_a_third_of_a_second():
    timed = (
        "import time; start = time.perf_counter(); import keras_dml; print(time.perf_counter() - "
        "start)"
    )
    assert min(float(python(timed)) for _ in range(3)) <= SECONDS


@pytest.mark.parametrize("module", ["keras_dml", "keras_dml.cli", "tfds_builders"])
def test_import_loads_no_backend(module):
    loaded = python(
        f"import sys, {module}; print(*({{'keras', 'tensorflow', 'jax'}} & set(sys.modules)))"
    )
    assert loaded == ""


def test_the_bare_package_loads_nothing_heavy():
    assert python(f"import sys, keras_dml; print(*(set({HEAVY}) & set(sys.modules)))") == ""


def test_every_public_name_is_listed_and_loads():
    assert set(keras_dml.__all__) <= set(dir(keras_dml))
    for name in keras_dml.__all__:
        assert getattr(keras_dml, name) is not None


SWEEP = """
import json, sys
import keras
for area, names in json.load(sys.stdin).items():
    for module in [module for module in sys.modules if module.split(".")[0] == "keras_dml"]:
        del sys.modules[module]
    import keras_dml
    try:
        place = keras_dml
        for part in area.split(".")[1:]:
            place = getattr(place, part)
    except AttributeError as error:
        print(area, error)
        continue
    loaded = set(vars(place))  # before one name loads another
    for name in names:
        try:
            name in loaded or vars(place)["__getattr__"](name)
        except (AttributeError, ImportError, KeyError) as error:
            print(area, name, error)
"""


@pytest.mark.slow
def test_every_listed_name_loads_without_another_import():
    """Tests that every name in the index loads after `import keras_dml` alone. The test imports
    `keras_dml` anew for each area of the index, in one process in which Keras stays imported."""
    names = {area: sorted(listed()[area]) for area in listed()}
    assert len(names) > 20 and sum(map(len, names.values())) > 200
    assert python(SWEEP, input=json.dumps(names), KERAS_BACKEND="jax") == ""


def test_every_name_that_a_package_shows_loads():
    """Tests that all names that `dir` returns for a package can be loaded, because editors offer
    these names as completions."""
    modules = [importlib.import_module(area) for area in areas()]
    assert len(modules) > 20
    for module in modules:
        for name in dir(module):
            assert getattr(module, name) is not None or name.startswith("__"), (module, name)


def test_a_function_stays_itself_on_the_second_access():
    """Tests that a lazily loaded function is still a function at the second access. A module with
    the same name as the function could replace the function.
    """
    from keras_dml import inference

    assert keras_dml.embed is keras_dml.embed is inference.embed
    assert keras_dml.distance is keras_dml.distance is inference.distance


def test_an_unknown_name_is_refused():
    with pytest.raises(AttributeError, match="embedd"):
        _ = keras_dml.embedd
    with pytest.raises(ImportError, match="nothing"):
        from keras_dml import nothing  # noqa: F401


BLOCKED = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name == {missing!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Absent())
for attempt in range(2):
    try:
        import keras_dml._backend
    except ImportError as error:
        print(type(error).__name__, error)
"""


@pytest.mark.parametrize("backend", ["tensorflow", "jax"])
def test_a_missing_backend_is_explained_each_time(backend):
    printed = python(BLOCKED.format(missing=backend), KERAS_BACKEND=backend).splitlines()
    assert len(printed) == 2
    for line in printed:
        assert line.startswith(f"ImportError Keras was asked to run on `{backend}`")
        for extra in ("cpu", "tensorflow", "jax"):
            assert f'pip install "keras-dml[{extra}]"' in line


def test_another_missing_module_is_not_taken_for_a_backend():
    first = python(BLOCKED.format(missing="absl"), KERAS_BACKEND="jax").splitlines()[0]
    assert first == "ModuleNotFoundError No module named 'absl'"


def start(code, level=None):
    """Returns what a new interpreter prints on standard error. `level` sets the level of
    TensorFlow's log, and None keeps the default."""
    environment = {key: text for key, text in os.environ.items() if key != startup.LEVEL}
    environment["KERAS_BACKEND"] = "tensorflow"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=environment if level is None else {**environment, startup.LEVEL: level},
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


# Imports the backend, and then writes lines as TensorFlow does, at two levels of its log.
NOTES = """
import os
import keras_dml.layers
from keras_dml._backend import startup
for level in ("1", "0"):
    os.environ[startup.LEVEL] = level
    with startup.notes_hidden():
        os.write(2, b"oneDNN custom operations are on. You\\nNo GPU was found.\\n")
"""


@pytest.mark.parametrize("level", [None, pytest.param("2", marks=pytest.mark.slow)])
def test_the_backend_starts_without_notes_and_other_lines_are_passed_on(level):
    hidden, *shown = start(NOTES, level).splitlines()
    assert hidden == "No GPU was found."
    assert shown == ["oneDNN custom operations are on. You", "No GPU was found."]


@pytest.mark.slow
def test_keras_reads_a_file_once_the_classes_are_registered(tmp_path):
    """Tests that Keras can load a model file after the classes are registered. `import keras_dml`
    does not register any class. `zoo.load` with a path registers all classes."""
    path = str(tmp_path / "own.keras")
    head = keras_dml.layers.QuantileLayer(knots=4)
    net = keras.Sequential([keras.Input((None, 3)), head])
    net.compile("adam", keras_dml.losses.WassersteinLoss(p=1))
    net.save(path)
    load = (
        "import keras, keras_dml\n"
        "try:\n"
        f"    keras.models.load_model({path!r})\n"
        "except TypeError as error:\n"
        "    print('Could not locate class' in str(error))\n"
        "import keras_dml.layers, keras_dml.losses, keras_dml.models\n"
        f"print(keras.models.load_model({path!r}).compiled)\n"
    )
    # JAX starts faster than TensorFlow
    assert python(load, KERAS_BACKEND="jax").splitlines() == ["True", "True"]
    by_path = f"from keras_dml import zoo; print(zoo.load({path!r}).compiled)"
    assert python(by_path, KERAS_BACKEND="jax") == "True"
