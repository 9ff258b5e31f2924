"""Tests that SavedModels give the same outputs as Keras for any batch size and length."""

import dataclasses
import json
import pathlib
import re
import shutil
import subprocess
import sys
import textwrap
import types

import numpy as np
import pytest
import tensorflow as tf

import keras_dml
from keras_dml import _files, export, layers
from keras_dml._backend import keras
from keras_dml.export import parity
from keras_dml.potato import Potato
from tests.export.conftest import CHANNELS, build, lived_in
from tests.graphs import compiled_by_xla


@pytest.fixture(scope="module")
def exported(small, tmp_path_factory):
    return export.saved_model(small, tmp_path_factory.mktemp("saved") / "model")


@pytest.fixture(scope="module")
def loaded(exported):
    return tf.saved_model.load(str(exported.path)).signatures


def padded(recordings, fill=0.0):
    lengths = np.array([len(recording) for recording in recordings], np.int32)
    signal = np.full((len(recordings), lengths.max(), recordings[0].shape[1]), fill, np.float32)
    for row, recording in zip(signal, recordings, strict=True):
        row[: len(recording)] = recording
    return signal, lengths


@pytest.mark.slow
@pytest.mark.parametrize("fill", [0.0, 1e6])
def test_a_padded_batch_gives_the_embeddings_of_its_recordings(small, loaded, recordings, fill):
    signal, length = padded(recordings, fill)
    actual = loaded["embed"](signal=signal, length=length)["embedding"].numpy()
    expected = keras_dml.embed(small, recordings, batch_size=1)
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-5)


@pytest.mark.slow
def test_distances_are_those_of_keras(small, loaded, recordings):
    embeddings = keras_dml.embed(small, recordings)
    actual = loaded["distance"](embedding=embeddings[:2], gallery=embeddings)["distance"].numpy()
    expected = keras_dml.distance(small, embeddings[:2], embeddings)
    np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-6)
    assert actual.shape == (2, 4) and actual[1, 1] == 0


class Served:
    """Answers REST requests as TensorFlow Serving does, by the signatures of a SavedModel.

    A request has the row format `instances`, whose arguments and outputs all have one row per
    instance, or the columnar format `inputs`.
    """

    def __init__(self, signatures):
        self.signatures = signatures

    def post(self, url, json):
        body = self.through_json(json)
        signature = self.signatures[body.pop("signature_name")]
        ((form, arguments),) = body.items()
        is_rows = form == "instances"
        if is_rows:
            rows = len(arguments)
            arguments = {key: [row[key] for row in arguments] for key in arguments[0]}
        specs = signature.structured_input_signature[1]
        tensors = {key: tf.constant(value, specs[key].dtype) for key, value in arguments.items()}
        ((_, output),) = signature(**tensors).items()
        assert form == "inputs" or len(output) == rows
        answer = {"predictions" if is_rows else "outputs": output.numpy().tolist()}
        return types.SimpleNamespace(json=lambda: self.through_json(answer))

    @staticmethod
    def through_json(value):
        return json.loads(json.dumps(value, allow_nan=False))


def test_the_requests_of_the_page_fit_the_signatures(loaded, small, recordings):
    page = pathlib.Path(__file__).parents[2] / "export" / "README.md"
    section = page.read_text(encoding="utf-8").partition("## Servers")[2]
    embed, distance, *_ = re.findall(r"^```python\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)
    z = keras_dml.embed(small, recordings, batch_size=1)
    names = {"requests": Served(loaded), "url": "", "recording": recordings[2]}
    names["gallery"] = z.tolist()
    exec(embed, names)
    np.testing.assert_allclose(names["embeddings"], z[2:3], rtol=1e-4, atol=1e-5)
    exec(distance, names)
    expected = keras_dml.distance(small, z[2:3], z)
    np.testing.assert_allclose(names["distances"], expected, rtol=1e-4, atol=1e-5)


def test_it_runs_without_xla(loaded):
    assert not any(compiled_by_xla(function.graph) for function in loaded.values())


def test_there_are_two_signatures_with_pinned_names_and_a_default(loaded):
    assert set(loaded) == {"embed", "distance", "serving_default"}
    assert set(loaded["embed"].structured_input_signature[1]) == {"signal", "length"}
    assert set(loaded["distance"].structured_input_signature[1]) == {"embedding", "gallery"}


@pytest.mark.parametrize("length", [0, 121])
def test_a_length_that_does_not_fit_the_signal_gives_nan(loaded, recordings, length):
    signal, lengths = padded(recordings)
    expected = loaded["embed"](signal=signal, length=lengths)["embedding"].numpy()
    lengths[0] = length
    actual = loaded["embed"](signal=signal, length=lengths)["embedding"].numpy()
    assert np.isnan(actual[0]).all()
    np.testing.assert_allclose(actual[1:], expected[1:], rtol=1e-5, atol=1e-6)


@pytest.mark.slow
def test_it_gives_equal_outputs_without_keras(small, exported, recordings, tmp_path):
    signal, length = padded(recordings)
    np.savez(tmp_path / "request.npz", signal=signal, length=length)
    program = """
        import sys
        from importlib.machinery import PathFinder

        class WithoutKeras(PathFinder):
            @classmethod
            def find_spec(cls, name, *arguments):
                hidden = name.split(".")[0] in ("keras", "keras_dml")
                return None if hidden else super().find_spec(name, *arguments)

        sys.meta_path = [finder for finder in sys.meta_path if finder is not PathFinder]
        sys.meta_path.append(WithoutKeras)
        import numpy as np
        import tensorflow as tf

        model, request, answer = sys.argv[1:]
        signatures = tf.saved_model.load(model).signatures
        embedding = signatures["embed"](**np.load(request))["embedding"]
        distance = signatures["distance"](embedding=embedding, gallery=embedding)["distance"]
        np.savez(answer, embedding=embedding, distance=distance)
        assert "keras" not in sys.modules and "keras_dml" not in sys.modules
    """
    command = [sys.executable, "-c", textwrap.dedent(program), exported.path]
    places = [tmp_path / "request.npz", tmp_path / "answer.npz"]
    done = subprocess.run([*map(str, command), *map(str, places)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with np.load(places[1]) as answer:
        embeddings = keras_dml.embed(small, recordings, batch_size=1)
        np.testing.assert_allclose(answer["embedding"], embeddings, rtol=0, atol=1e-5)
        expected = keras_dml.distance(small, embeddings, embeddings)
        np.testing.assert_allclose(answer["distance"], expected, rtol=1e-4, atol=1e-5)


def test_result_describes_the_file(exported):
    files = [file for file in exported.path.rglob("*") if file.is_file()]
    assert exported.bytes == sum(file.stat().st_size for file in files)
    assert (exported.format, exported.quantization) == ("saved_model", None)
    assert exported.drift < 1e-5 and exported.latency_ms > 0


def test_a_fixed_time_axis_takes_that_length_only(tmp_path):
    model = build(layers.QuantileLayer(3), steps=40)
    export.saved_model(model, tmp_path / "fixed")
    embed = tf.saved_model.load(str(tmp_path / "fixed")).signatures["embed"]
    signal = np.ones((2, 40, 3), np.float32)
    assert embed(signal=signal, length=np.array([40, 40], np.int32))["embedding"].shape[0] == 2
    actual = embed(signal=signal, length=np.array([40, 39], np.int32))["embedding"].numpy()
    assert np.isfinite(actual[0]).all() and np.isnan(actual[1]).all()


def test_small_euclidean_distances_are_kept_beside_large_ones(rng, tmp_path):
    """Tests embeddings of which one is far away, as is the log-covariance of a silent recording."""
    model = keras.Sequential([keras.Input((1, 2)), keras.layers.Flatten()])
    export.saved_model(model, tmp_path / "model", distance="euclidean")
    distance = tf.saved_model.load(str(tmp_path / "model")).signatures["distance"]
    z = rng.normal(size=(5, 2)).astype(np.float32)
    z[0] = 1e5
    actual = distance(embedding=z[:3], gallery=z)["distance"].numpy()
    expected = np.linalg.norm(z[:3, None].astype(np.float64) - z[None], axis=-1)
    np.testing.assert_allclose(actual, expected, rtol=1e-6)


@pytest.mark.slow
def test_layers_that_drop_masks_are_named(tmp_path):
    model = build(layers.QuantileLayer(3), convolution=keras.layers.Conv1D)
    with pytest.raises(parity.ParityError, match="drop masks: conv1d.*MaskedConv1D"):
        export.saved_model(model, tmp_path / "leaky")
    assert not any(tmp_path.iterdir())


def normalizing(name, layer):
    """Returns a model with a layer that declares support for masks but uses padding."""
    signal = keras.Input((None, CHANNELS))
    x = layer(layers.MaskedConv1D(8, 3, padding="same")(signal))
    return lived_in(keras.Model(signal, layers.QuantileLayer(3)(x), name=name))


@pytest.mark.slow
def test_error_names_layers_that_count_padding(tmp_path):
    model = normalizing("counting", keras.layers.GroupNormalization(groups=2))
    with pytest.raises(parity.ParityError, match="Padding changes the embedding") as message:
        export.saved_model(model, tmp_path / "counting")
    assert "input_layer" not in str(message.value) and "normalizes or averages" in str(
        message.value
    )
    assert not any(tmp_path.iterdir())


@pytest.mark.slow
def test_a_layer_that_cannot_use_the_mask_is_refused(tmp_path):
    model = normalizing("soft", keras.layers.Softmax(axis=1))  # over time
    with pytest.raises(parity.ParityError, match="different lengths: .*softmax"):
        export.saved_model(model, tmp_path / "soft")
    assert not any(tmp_path.iterdir())


@pytest.mark.slow
def test_error_names_padding_only_if_it_is_the_cause(tmp_path, monkeypatch):
    model = build(layers.QuantileLayer(3), convolution=keras.layers.Conv1D)
    tried = export._saved_model.trials(model)
    changed = dataclasses.replace(tried, embeddings=tried.embeddings * [[[1.01]] * 12 + [[1]]])
    monkeypatch.setattr(export._saved_model, "trials", lambda _: changed)
    with pytest.raises(parity.ParityError, match="drift.*Nothing was written.$"):
        export.saved_model(model, tmp_path / "other")


def test_only_saved_models_are_replaced(small, tmp_path):
    old, foreign = tmp_path / "old", tmp_path / "foreign"
    for folder, name in ((old, "saved_model.pb"), (foreign, "thesis.txt")):
        folder.mkdir()
        (folder / name).write_text("what was there")
    (old / "assets").mkdir()
    (old / "assets" / "stale.txt").touch()
    export.saved_model(small, old)
    assert not (old / "assets" / "stale.txt").exists()
    assert tf.saved_model.contains_saved_model(str(old))
    with pytest.raises(ValueError, match="foreign.* is not a SavedModel"):
        export.saved_model(small, foreign)
    assert (foreign / "thesis.txt").read_text() == "what was there"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["foreign", "old"]


@pytest.mark.parametrize("name", ["notes.txt", "variables/notes.txt", ".git/config"])
def test_saved_model_with_other_files_is_not_replaced(exported, tmp_path, name):
    folder = tmp_path / "mine"
    shutil.copytree(exported.path, folder)
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text("my notes")
    with pytest.raises(ValueError, match=f"holds '{name.split('/c')[0]}', which is not part of a"):
        export.saved_model("no model of this name", folder)
    assert (folder / name).read_text() == "my notes"
    assert tf.saved_model.contains_saved_model(str(folder))


def test_all_written_files_may_be_replaced(exported, loaded):
    """Tests that the package recognizes all files of a SavedModel, including assets, and may
    replace them.
    """
    assert _files.replaceable_saved_model(exported.path) == exported.path


def test_full_disk_raises_with_the_path_and_keeps_the_old_model(small, tmp_path, monkeypatch):
    old = tmp_path / "old"
    old.mkdir()
    (old / "saved_model.pb").write_text("what was there")

    def full(module, folder, **options):
        (pathlib.Path(folder) / "variables").mkdir(parents=True)
        raise tf.errors.ResourceExhaustedError(
            None, None, "{{function_node save}} new/part-1; No space left on device [Op:SaveV2]"
        )

    monkeypatch.setattr(tf.saved_model, "save", full)
    for do, model in ((export.saved_model, small), (export.potato, a_potato())):
        with pytest.raises(OSError, match=r"old' was not written: new/part-1; No space left on"):
            do(model, old)
        assert (old / "saved_model.pb").read_text() == "what was there"
        assert [path.name for path in tmp_path.iterdir()] == ["old"]


def a_potato():
    return Potato().fit(np.exp(np.random.default_rng(1).normal(size=(9, 1, 1))))


def test_a_model_that_is_not_built_is_refused(tmp_path):
    model = keras.Sequential([layers.QuantileLayer(3)], name="bare")
    with pytest.raises(ValueError, match=r"'bare'.*keras.Input\(\(None, channels\)\)"):
        export.saved_model(model, tmp_path / "bare")


def test_a_model_that_keeps_the_time_axis_is_refused(tmp_path):
    model = keras.Sequential([keras.Input((None, 3)), layers.MaskedConv1D(4, 3)])
    with pytest.raises(ValueError, match=r"shape \(None, None, 4\)"):
        export.saved_model(model, tmp_path / "sequence", distance="cosine")
