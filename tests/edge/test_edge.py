"""Tests that models in .tflite files accept, reject and compare recordings as Keras models do, and
that they need only NumPy and LiteRT."""

import concurrent.futures
import copy
import dataclasses
import json
import pathlib
import pickle
import re
import shutil
import subprocess
import sys
import time

import numpy as np
import pytest

import keras_dml
from keras_dml import contract, edge, embeddings, export, inputs, layers, models, quality
from keras_dml._backend import keras
from keras_dml.edge import _load, _model, _spd
from keras_dml.export import _flatbuffer, edge_metadata
from keras_dml.gallery import _decide
from keras_dml.gallery.keras_model import KerasModel
from keras_dml.potato import Potato
from keras_dml.zoo import reading

CHANNELS = ("x", "y", "z")
NEEDS = {"numpy", "ai_edge_litert", "flatbuffers", "lazy_loader", "keras_dml"}
USES = """
import json, sys, warnings
import numpy as np
before = set(sys.modules)
from keras_dml import edge
model = edge.load(sys.argv[1])
with np.load(sys.argv[2]) as file:
    recordings = [file[name] for name in file]
z = model.embed(recordings)
model.distance(z, z), model.unfit(recordings)
tops = {name.split(".")[0] for name in set(sys.modules) - before}
print(json.dumps(sorted(tops - set(sys.stdlib_module_names))))
"""


def walk(steps, seed):
    """Returns a smooth recording of three channels."""
    white = np.random.default_rng(seed).normal(size=(steps + 6, 3))
    return np.apply_along_axis(np.convolve, 0, white, np.hanning(7), "valid").astype(np.float32)


WALKS = [walk(steps, seed) for seed, steps in enumerate((20, 64, 65, 100, 128))]


def with_contract(*parts):
    keras.utils.set_random_seed(5)
    first = layers.InputContract(CHANNELS, "g", 50, min_steps=16, max_steps=200)
    first.adapt(WALKS)
    return keras.Sequential([keras.Input((None, 3)), first, *parts])


def quantiles():
    convolution = layers.MaskedConv1D(6, 3, padding="same")
    return with_contract(convolution, layers.QuantileLayer(knots=5))


def written(model, folder, gate=None):
    """Exports a model with a quality gate, and loads the file."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(quality, "gate_of", lambda _: gate)
        export.tflite(model, folder / _load.FILE, None)
    return edge.load(folder / _load.FILE)


@pytest.fixture(scope="module")
def keras_model():
    return quantiles()


@pytest.fixture(scope="module")
def model(keras_model, tmp_path_factory):
    usual = quality.Usual(CHANNELS, units=("g", "g", "g")).measured(WALKS)
    return written(keras_model, tmp_path_factory.mktemp("edge"), quality.Gate(usual))


def agree(actual, expected):
    """Checks that distances differ by at most a thousandth of their standard deviation."""
    assert actual.shape == expected.shape
    assert np.abs(actual - expected).max() <= 1e-3 * expected.std()


def test_embeddings_and_distances_are_those_of_keras(model, keras_model):
    expected = keras_dml.embed(keras_model, WALKS)
    z = model.embed(WALKS)
    assert z.dtype == np.float32 and z.shape[1:] == model.embedding_shape == (7, 7)
    np.testing.assert_allclose(z, expected, rtol=1e-5, atol=1e-5)
    agree(model.distance(z, z[1:]), keras_dml.distance(keras_model, expected, expected[1:]))
    assert model.distance(z[:0], z).shape == (0, 5) and model.distance(z, z[:0]).shape == (5, 0)


def test_one_recording_is_a_list_of_one(model):
    np.testing.assert_array_equal(model.embed(WALKS[0]), model.embed(WALKS[:1]))
    np.testing.assert_array_equal(
        model.embed(WALKS[0].tolist() for _ in range(1))[0], model.embed([WALKS[0]])[0]
    )


def test_large_sets_are_compared_in_blocks(model, monkeypatch):
    z = model.embed(WALKS)
    whole = model.distance(z, np.tile(z, (7, 1, 1)))
    monkeypatch.setattr(_model, "BLOCK_BYTES", 2 * z[0].nbytes)
    np.testing.assert_array_equal(model.distance(z, np.tile(z, (7, 1, 1))), whole)


def test_a_file_names_its_model(model, keras_model):
    assert model.fingerprint == KerasModel(keras_model).fingerprint
    assert model.distance_name == "wasserstein"
    assert model.contract == inputs.from_model(keras_model).contract


class Alone:
    """Runner of a signature that fails if two threads call it at the same time.

    LiteRT would end the process instead.
    """

    def __init__(self, runner):
        self._runner, self._is_busy = runner, False

    def __call__(self, **arguments):
        assert not self._is_busy
        self._is_busy = True
        time.sleep(1e-3)
        result = self._runner(**arguments)
        self._is_busy = False
        return result


def test_threads_take_turns(model, monkeypatch):
    z = model.embed(WALKS)
    expected = model.distance(z, z)
    for name in ("embed", "distance"):
        monkeypatch.setitem(model._runners, name, Alone(model._runners[name]))

    def compare(_):
        embedded = model.embed(WALKS)
        return model.distance(embedded, embedded)

    with concurrent.futures.ThreadPoolExecutor(4) as threads:
        for actual in threads.map(compare, range(8)):
            np.testing.assert_array_equal(actual, expected)


def test_a_model_is_copied(model):
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), copy.copy(model)):
        assert other is not model and (other.name, other.card) == (model.name, model.card)
        np.testing.assert_array_equal(other.embed(WALKS), model.embed(WALKS))


def test_keras_refuses_a_loaded_file(model, tmp_path):
    functions = [
        lambda: export.tflite(model, tmp_path / "a.tflite"),
        lambda: export.saved_model(model, tmp_path / "a"),
        lambda: keras_dml.embed(model, WALKS),
        lambda: KerasModel(model),
    ]
    for function in functions:
        with pytest.raises(TypeError, match="`model` must be a keras.Model.*Received Model"):
            function()
    assert not list(tmp_path.iterdir())


def test_it_imports_only_what_a_device_has(model, tmp_path):
    np.savez(tmp_path / "walks.npz", *WALKS)
    command = [sys.executable, "-c", USES, model.name, str(tmp_path / "walks.npz")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    imported = set(json.loads(done.stdout))
    assert "keras_dml" in imported and imported <= NEEDS


INVALID = {
    "empty list": [],
    "two channels": [WALKS[0][:, :2]],
    "one axis": [WALKS[0][:, 0]],
    "too short": [WALKS[0][:15]],
    "too long": [np.tile(WALKS[-1], (2, 1))],
    "NaN": [np.where(np.arange(20)[:, None] == 3, np.nan, WALKS[0])],
    "beyond float32": [np.where(np.arange(20)[:, None] == 3, 1e39, WALKS[0].astype(np.float64))],
    "padding": [np.concatenate([WALKS[0], np.zeros((5, 3))])],
    "silence": [np.zeros((20, 3))],
    "masked": [np.ma.masked_greater(WALKS[0], 0)],
    "text": [WALKS[0].astype(str)],
    "complex": [WALKS[0] * 1j],
    "number": 3.0,
    "second is bad": [WALKS[0], WALKS[0][:3]],
}


@pytest.mark.parametrize("recordings", INVALID.values(), ids=INVALID)
def test_recordings_are_rejected_as_by_keras(model, keras_model, recordings):
    with pytest.raises((TypeError, ValueError)) as expected:
        keras_dml.embed(keras_model, recordings)
    for function in (model.embed, model.unfit):
        with pytest.raises(expected.type, match=re.escape(str(expected.value))):
            function(recordings)


def test_a_wrong_unit_is_warned_of_as_by_keras(model, keras_model):
    recordings = [9.81 * recording for recording in WALKS]
    with pytest.warns(UserWarning) as expected:
        keras_dml.embed(keras_model, recordings)
    with pytest.warns(UserWarning) as actual:
        model.embed(recordings)
    assert str(actual[0].message) == str(expected[0].message)
    assert actual[0].filename == __file__


def test_embeddings_are_checked_as_by_keras(model, keras_model):
    z = model.embed(WALKS)
    other_knots, not_finite, falling = z.copy(), z.copy(), z.copy()
    other_knots[1, -1, 1:-1] += 0.01
    not_finite[2, 0, 0] = np.nan
    falling[0, -1] = falling[0, -1, ::-1]
    cases = [other_knots, not_finite, falling, z[0], z[:, :3], z.astype(str), 0.5]
    for wrong in cases:
        with pytest.raises((TypeError, ValueError)) as expected:
            keras_dml.distance(keras_model, z, wrong)
        message = str(expected.value).replace(repr(keras_model.name), repr(model.name))
        with pytest.raises(expected.type, match=re.escape(message)):
            model.distance(z, wrong)


def test_the_quality_gate_gives_the_reasons_of_the_checks(model):
    flat = WALKS[3].copy()
    flat[:, 1] = 0.25
    assert model.unfit(WALKS) == {}
    assert model.unfit([WALKS[1], flat]) == {1: "channel y is flat: its value is always 0.25"}
    assert set(model.unfit(flat)) == {0}


def test_an_embedding_that_is_not_finite_is_an_error():
    rows, signals = np.array([4, 2]), [np.ones((3, 2)), np.ones((5, 2))]
    embeddings.check_embedded(np.ones((2, 3)), rows, signals)
    with pytest.raises(ValueError, match=r"recording 2 is not finite.*shape \(5, 2\)"):
        embeddings.check_embedded(np.full((2, 3), np.nan), rows, signals)


# ---- files ---------------------------------------------------------------------------------------


def test_a_file_is_found_by_path_folder_or_name(model, tmp_path, monkeypatch):
    folder = tmp_path / "mine"
    folder.mkdir()
    shutil.copy(model.name, folder / "model.tflite")
    (folder / "card.json").write_text("{}")
    monkeypatch.setenv("KERAS_DML_ZOO", str(tmp_path))
    monkeypatch.chdir(folder)
    z = model.embed(WALKS)
    for name in (folder, str(folder), folder / "model.tflite", "model.tflite", "mine"):
        np.testing.assert_array_equal(edge.load(name).embed(WALKS), z)
    assert edge.load("mine").name == "mine"
    assert edge.load("model.tflite").name == str((folder / "model.tflite").resolve())


def test_a_file_that_does_not_exist_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("KERAS_DML_ZOO", str(tmp_path))
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "card.json").write_text("{}")
    for name in ("mine", tmp_path / "mine", tmp_path / "none.tflite", "none.tflite"):
        with pytest.raises(FileNotFoundError, match=r"(mine.model|none)\.tflite") as caught:
            edge.load(name)
        assert "`keras_dml.export.tflite(model, path, quantization=None)`" in str(caught.value)
    for name in (tmp_path / "moved", tmp_path / "model.v1"):  # a folder that was moved
        with pytest.raises(FileNotFoundError, match=re.escape(f"{name}/model.tflite")):
            edge.load(name)
    with pytest.raises(ValueError, match="'minee'.*Did you mean 'mine'"):
        edge.load("minee")
    with pytest.raises(TypeError, match="Received int"):
        edge.load(3)


def test_a_file_must_be_the_file_of_its_card(model, tmp_path):
    file, card = tmp_path / "model.tflite", tmp_path / "card.json"
    shutil.copy(model.name, file)
    entry = {"file": file.name, "sha256": reading.sha256(file)}
    card.write_text(json.dumps({"edge": entry}))
    assert edge.load(tmp_path).fingerprint == model.fingerprint
    card.write_text(json.dumps({"edge": {**entry, "sha256": "0" * 64}}))
    with pytest.raises(ValueError, match=entry["sha256"]):
        edge.load(tmp_path)
    card.write_text(json.dumps({"edge": {**entry, "file": "other.tflite"}}))
    assert edge.load(file).fingerprint == model.fingerprint
    assert not edge.can_load(tmp_path)
    shutil.copy(file, tmp_path / "other.tflite")
    assert edge.load(tmp_path).fingerprint == model.fingerprint
    card.write_text(json.dumps({"edge": {"file": file.name}}))
    with pytest.raises(ValueError, match=r"card\.edge\.sha256 is missing"):
        edge.load(tmp_path)


def test_a_damaged_file_is_named(model, tmp_path):
    with open(model.name, "rb") as file:
        blob = file.read()
    path = tmp_path / "cut.tflite"
    pieces = [blob[: len(blob) * tenths // 10] for tenths in range(10)]
    for damaged in (*pieces, b"x" * 100, bytes(1000)):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"cut\.tflite"):
            edge.load(path)


def test_metadata_are_read_as_by_the_schema_of_litert(model):
    blob = pathlib.Path(model.name).read_bytes()
    parsed = _flatbuffer.read(blob)
    entries = {entry.name: parsed.buffers[entry.buffer].data for entry in parsed.metadata}
    assert edge_metadata.METADATA.encode() in entries
    for name, data in entries.items():
        assert _flatbuffer.metadata(blob, name.decode()) == data.tobytes()
    assert _flatbuffer.metadata(blob, "other") is None
    place = blob.index(data.tobytes())
    damaged = blob[: place - 4] + (2**31 - 1).to_bytes(4, "little") + blob[place:]
    with pytest.raises(ValueError, match="ends after the end of the file"):
        _flatbuffer.metadata(damaged, name.decode())


def test_a_file_without_metadata_is_refused(model, tmp_path):
    with open(model.name, "rb") as file:
        parsed = _flatbuffer.read(file.read())
    parsed.metadata = [entry for entry in parsed.metadata if b"edge" not in entry.name]
    path = tmp_path / "bare.tflite"
    path.write_bytes(_flatbuffer.write(parsed))
    assert export.contract(path)["channels"] == list(CHANNELS)
    with pytest.raises(ValueError, match=r"bare\.tflite was not written by this version"):
        edge.load(path)


def test_a_distance_that_numpy_does_not_compute_is_refused(model, monkeypatch):
    """Tests a file that returns other embeddings than the Keras model."""
    about = edge_metadata.read(pathlib.Path(model.name).read_bytes(), "some")
    about = dataclasses.replace(about, distance="stein", embedding=(13, 13))
    monkeypatch.setattr(edge_metadata, "read", lambda *_: about)
    with pytest.raises(ValueError, match="'stein'"):
        edge.load(model.name)


# ---- other models --------------------------------------------------------------------------------


def test_matrices_and_distances_are_those_of_an_exported_gallery(rng):
    x = rng.normal(size=(4, 12, 3))
    x = x.swapaxes(1, 2) @ x
    values, vectors = np.linalg.eigh(x)
    logs = (vectors * np.log(values)[:, None]) @ vectors.swapaxes(1, 2)
    rows, columns = np.triu_indices(3)
    tangents = logs[:, rows, columns] * np.where(rows == columns, 1, np.sqrt(2))
    np.testing.assert_allclose(_spd.matrices(tangents, 3), x, rtol=1e-10)
    expected = np.stack([_decide.affine_invariant(tangent, x) for tangent in tangents])
    actual = np.stack([_model.potato_scores.distances(each, x) for each in x])
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-7)


@pytest.mark.slow
def test_matrices_and_the_potato_are_those_of_keras(tmp_path):
    keras_model = with_contract(
        layers.Covariance(), layers.BiMap(2), layers.ReEig(1e-3, name="spd")
    )
    covariances = quality.covariances_of(keras_model)
    matrices = keras_dml.embed(covariances, WALKS)
    usual = quality.Usual(CHANNELS).measured(WALKS)
    potato = Potato(4.0).fit(matrices)
    potato.save(tmp_path / "potato.npz")
    potato = quality.FittedPotato.load(tmp_path / "potato.npz")
    gate = quality.Gate(usual, potato, lambda x: keras_dml.embed(covariances, x))
    model = written(keras_model, tmp_path, gate)
    expected = keras_dml.embed(keras_model, WALKS)
    assert model.distance_name == "affine_invariant" and model.embedding_shape == (2, 2)
    z = model.embed(WALKS)
    np.testing.assert_allclose(z, expected, rtol=1e-4, atol=1e-6)
    agree(model.distance(z, z), keras_dml.distance(keras_model, expected, expected))
    assert model.fingerprint == KerasModel(keras_model).fingerprint
    loose = WALKS[3].copy()
    loose[:, 2] = 4 * loose[:, 0] + 0.01 * loose[:, 2]
    reasons = gate.refused([loose, *WALKS])
    assert list(reasons) == [0] and "channel z" in reasons[0]
    assert model.unfit([loose, *WALKS]) == reasons


@pytest.mark.slow
def test_a_classifier_of_images_compares_by_its_similarity(tmp_path, rng):
    keras.utils.set_random_seed(3)
    encoder = keras.Sequential(
        [keras.Input((8, 8, 1)), keras.layers.Flatten(), keras.layers.Dense(5)]
    )
    keras_model = models.PrototypicalClassifier(encoder, 3, hidden=(8,))
    images = rng.uniform(size=(6, 8, 8, 1)).astype(np.float32)
    keras_model(images)
    model = written(keras_model, tmp_path)
    z = model.embed(images)
    expected = keras_dml.embed(keras_model, images)
    np.testing.assert_allclose(z, expected, rtol=1e-4, atol=1e-5)
    agree(model.distance(z, z), keras_dml.distance(keras_model, expected, expected))
    np.testing.assert_array_equal(model.embed(images[0]), z[:1])
    assert model.contract is None and model.unfit(images) == {}
    assert model.fingerprint == KerasModel(keras_model).fingerprint
    for wrong in (255 * images, images[:, :7], images.astype(int)):
        with pytest.raises(ValueError) as refused:
            keras_dml.embed(keras_model, wrong)
        with pytest.raises(ValueError, match=re.escape(str(refused.value))):
            model.embed(wrong)


@pytest.mark.slow
def test_a_model_that_takes_matrices_is_read(tmp_path, rng):
    keras.utils.set_random_seed(3)
    head = [layers.BiMap(2), layers.ReEig(1e-3), layers.LogEig(), layers.TangentVector()]
    keras_model = keras.Sequential([keras.Input((4, 4)), *head])
    x = rng.normal(size=(5, 20, 4)).astype(np.float32)
    x = x.swapaxes(1, 2) @ x / 20
    model = written(keras_model, tmp_path)
    expected = keras_dml.embed(keras_model, x)
    np.testing.assert_allclose(model.embed(x), expected, rtol=1e-5, atol=1e-4)
    with pytest.raises(ValueError, match="Matrix 0 is not symmetric"):
        model.embed([np.triu(x[0])])


@pytest.mark.slow
def test_zeros_at_the_end_are_no_padding_where_a_layer_removes_zeros(tmp_path):
    """Tests that a file knows whether its model removes zeros itself."""
    sound = contract.Contract(("sound",), "1", 200, min_steps=40)
    parts = [layers.SilenceRemoval(rate=200), layers.LogMel(2, rate=200, low=0, high=100)]
    keras_model = keras.Sequential([keras.Input((None, 1)), *parts, layers.StatisticsPooling()])
    inputs.declare(keras_model, sound)
    padded = np.concatenate([0.1 * walk(300, 3)[:, :1], np.zeros((60, 1))])
    assert inputs.from_model(keras_model).ignores_zeros
    model = written(keras_model, tmp_path)
    np.testing.assert_allclose(
        model.embed([padded]), keras_dml.embed(keras_model, [padded]), rtol=1e-3, atol=1e-4
    )
