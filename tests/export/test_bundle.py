"""Tests folders with everything that the program of a device needs."""

import importlib.util
import json
import shutil
import subprocess
import sys

import numpy as np
import pytest

import keras_dml
from keras_dml import edge, export, layers
from keras_dml._backend import keras
from keras_dml.evaluation import threshold_at_far
from keras_dml.export import litert

STEPS, ROWS, CHANNELS = 40, 6, ("x", "y", "z")
EXAMPLES = ("example.py", "Example.kt", "Example.swift", "example.cpp", "example.js")


def people(count, each, seed=0):
    """Returns recordings of people whose channels are mixed in different ways."""
    rng = np.random.default_rng(seed)
    mixing = [np.eye(3) + 0.7 * rng.normal(size=(3, 3)) for _ in range(count)]
    names = [f"person {i}" for i in range(count) for _ in range(each)]
    signals = [
        (rng.normal(size=(STEPS, 3)) @ m).astype(np.float32) for m in mixing for _ in range(each)
    ]
    return signals, names


@pytest.fixture(scope="module")
def model():
    keras.utils.set_random_seed(2)
    contract = layers.InputContract(CHANNELS, "g", 50, min_steps=8)
    contract.adapt(people(4, 2)[0])
    parts = [layers.MaskedConv1D(12, 3), layers.QuantileLayer(4)]
    return keras.Sequential([keras.Input((None, 3)), contract, *parts])


@pytest.fixture(scope="module")
def bundle(model, tmp_path_factory):
    """Returns a bundle with measured thresholds, and its `Export`."""
    folder = tmp_path_factory.mktemp("bundle") / "watch"
    signals, names = people(8, 3)
    sizes = {"steps": STEPS, "gallery": ROWS}
    return folder, export.bundle(model, folder, **sizes, recordings=signals, people=names)


@pytest.fixture(scope="module")
def distances(bundle):
    """Returns all distances between the recordings, computed by the file. The last recording is a
    part of the first one."""
    file = bundle[0] / "model.tflite"
    signals, _ = people(8, 3)
    z = litert.embed(file, [*signals, signals[0][:30]])
    return litert.distance(file, z, z)


def about(folder):
    return json.loads((folder / "bundle.json").read_text(encoding="utf-8"))


def run_check(folder):
    return subprocess.run([sys.executable, folder / "check.py"], capture_output=True, text=True)


def test_the_folder_contains_what_a_device_needs(bundle):
    folder, result = bundle
    files = {"model.tflite", "bundle.json", "golden.npz", "golden", "check.py", *EXAMPLES}
    assert {path.name for path in folder.iterdir()} == files
    total = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    assert (result.path, result.bytes) == (folder, total)
    content = about(folder)
    assert content["channels"] == list(CHANNELS) and content["quantization"] == "float32"


def test_raw_files_hold_the_golden_arrays(bundle):
    folder, _ = bundle
    specs = about(folder)["golden"]
    with np.load(folder / "golden.npz") as golden:
        assert {*golden} == {*specs} == {"signal", "length", "embedding", "gallery", "distance"}
        for name, spec in specs.items():
            raw = np.fromfile(folder / spec["file"], np.dtype(spec["dtype"]).newbyteorder("<"))
            np.testing.assert_array_equal(raw.reshape(spec["shape"]), golden[name])


def test_golden_outputs_are_those_of_keras(bundle, model):
    folder, _ = bundle
    with np.load(folder / "golden.npz") as golden:
        assert golden["signal"].shape == (1, STEPS, 3) and len(golden["gallery"]) == ROWS
        recording = golden["signal"][0, : golden["length"]]
        expected = model(recording[None])
        np.testing.assert_allclose(golden["embedding"], expected, rtol=0, atol=1e-5)
        distances = keras_dml.distance(model, golden["embedding"], golden["gallery"])
        np.testing.assert_allclose(golden["distance"], distances[0], rtol=1e-4)


def test_the_self_test_finds_another_model(bundle, tmp_path):
    folder, _ = bundle
    done = run_check(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    with np.load(copy / "golden.npz") as golden:
        np.savez(copy / "golden.npz", **{**golden, "embedding": golden["embedding"] + 0.1})
    done = run_check(copy)
    assert done.returncode == 1 and "failed" in done.stdout


def test_thresholds_are_measured_on_the_recordings(bundle, distances):
    folder, result = bundle
    signals, names = people(8, 3)
    pairs = np.triu_indices(len(signals), 1)
    scores = distances[pairs]
    genuine = np.array(names)[pairs[0]] == np.array(names)[pairs[1]]
    rows = about(folder)["thresholds"]
    assert [row["far"] for row in rows] == [0.1, 0.05, 0.01]
    for row in rows:
        expected = threshold_at_far(scores, genuine, row["far"]).value
        assert row["value"] == pytest.approx(expected)
        assert row["people"] == 8 and row["trials"] == (~genuine).sum() and row["enrolled"] == 1
    assert result.flips is None  # the model has no card with thresholds


def test_the_file_contains_the_measured_thresholds(bundle):
    folder, _ = bundle
    content, contract = about(folder), export.contract(folder / "model.tflite")
    assert contract == {name: content[name] for name in contract}
    assert len(contract["thresholds"]) == 3 and contract["distance"] == "wasserstein"
    assert "24 recordings of 8 people" in contract["note"]
    assert contract["channels"] == list(CHANNELS)
    assert edge.load(folder).contract.channels == CHANNELS  # the other metadata is unchanged


def test_examples_have_the_shapes_and_the_threshold_of_the_file(bundle, distances):
    folder, _ = bundle
    (row,) = [row for row in about(folder)["thresholds"] if row["far"] == 0.01]
    for name in EXAMPLES:
        text = (folder / name).read_text(encoding="utf-8")
        assert "@" not in text.replace("@litertjs", "") and repr(row["value"]) in text
    spec = importlib.util.spec_from_file_location("example", folder / "example.py")
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    signals, _ = people(8, 3)
    enrolled = [example.embedding_of(signals[0][:30]), example.embedding_of(signals[3])]
    assert example.accepts(signals[3], enrolled)
    nearest = distances[:-1, [-1, 3]].min(axis=1)
    accepted = [example.accepts(signal, enrolled) for signal in signals]
    assert accepted == (nearest <= row["value"]).tolist() and not all(accepted)


@pytest.mark.slow
def test_a_bundle_of_one_step_passes_its_test(tmp_path):
    model = keras.Sequential([keras.Input((None, 3)), layers.QuantileLayer(2)])
    folder = export.bundle(model, tmp_path / "watch", steps=1, gallery=3).path
    with np.load(folder / "golden.npz") as golden:
        assert golden["distance"].any()
    done = run_check(folder)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_without_a_threshold_the_examples_accept_nobody(tmp_path):
    """Tests a model whose distances are negative cosines."""
    head = layers.QuantileLayer(2, flatten=True)
    model = keras.Sequential([keras.Input((None, 3)), layers.MaskedConv1D(4, 3), head])
    folder = export.bundle(model, tmp_path / "watch", steps=STEPS).path
    for name in EXAMPLES:
        assert "-3e+38" in (folder / name).read_text(encoding="utf-8")
    recording = str(np.ones((9, 3)).tolist())
    program = f"import example as e, numpy as np; x = np.array({recording})\n"
    program += "print(e.accepts(x, [e.embedding_of(x)]))"
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@pytest.mark.parametrize(
    "arguments, error",
    [
        ({"quantization": "int8"}, ValueError),
        ({"quantization": "dynamic"}, ValueError),
        ({"recordings": []}, ValueError),
        ({"recordings": [1], "people": ["a", "b"]}, ValueError),
        ({"recordings": np.zeros((2, STEPS + 1, 3)), "people": ["a", "b"]}, ValueError),
        ({"steps": 4}, ValueError),
        ({"steps": 0}, ValueError),
        ({"steps": 40.0}, TypeError),
        ({"steps": None}, TypeError),
        ({"steps": "512"}, TypeError),
    ],
)
def test_wrong_arguments_are_refused_and_nothing_is_written(model, tmp_path, arguments, error):
    (name, *_) = arguments
    with pytest.raises(error, match=f"`{name}"):
        export.bundle(model, tmp_path / "watch", **{"steps": STEPS, **arguments})
    assert not any(tmp_path.iterdir())


def test_models_without_a_distance_or_of_one_length_are_refused(tmp_path):
    parts = [layers.MaskedConv1D(4, 3), layers.QuantileLayer(2, flatten=True)]
    models = {
        "dense": [keras.Input((None, 3)), *parts, keras.layers.Dense(4, name="dense")],
        r"\(16, 3\)": [keras.Input((16, 3)), *parts],
    }
    for name, stack in models.items():
        with pytest.raises(ValueError, match=name):
            export.bundle(keras.Sequential(stack), tmp_path / "watch", steps=16)
    assert not any(tmp_path.iterdir())


def test_another_folder_is_not_replaced(model, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("x")
    with pytest.raises(ValueError, match="bundle"):
        export.bundle(model, tmp_path / "mine", steps=STEPS)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:In the channels")  # the recordings are noise
def test_a_dynamic_bundle_of_the_zoo_has_measured_thresholds(tmp_path):
    rng = np.random.default_rng(0)
    signals = [rng.normal(size=(200, 6)).astype(np.float32) for _ in range(12)]
    names = np.repeat(["a", "b", "c", "d"], 3)
    folder, sizes = tmp_path / "gait", {"steps": 200, "quantization": "dynamic"}
    result = export.bundle("gait_lda", folder, **sizes, recordings=signals, people=names)
    contract = export.contract(folder / "model.tflite")
    card = keras_dml.zoo.card("gait_lda")
    values = [row["value"] for row in contract["thresholds"]]
    assert len(values) == 2 and not {*values} & {row["value"] for row in card["thresholds"]}
    assert contract["note"] == about(folder)["note"] and "4 people" in contract["note"]
    assert result.decisions == len(card["thresholds"]) * 12 * 11 / 2
    assert run_check(folder).returncode == 0


@pytest.mark.slow
def test_a_bundle_of_the_zoo_has_the_thresholds_of_the_card(tmp_path):
    folder = tmp_path / "gait"
    for quantization in ("float16", None):  # the second call replaces the folder
        export.bundle("gait_lda", folder, steps=512, quantization=quantization)
        content = about(folder)
        card = keras_dml.zoo.card("gait_lda")
        values = [row["value"] for row in card["thresholds"]]
        assert [row["value"] for row in content["thresholds"]] == values
        assert run_check(folder).returncode == 0
