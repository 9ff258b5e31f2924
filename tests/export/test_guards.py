"""Tests that exported files return NaN or raise errors for inputs that break the contract."""

import functools
import importlib.util

import numpy as np
import pytest
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter

import keras_dml
from keras_dml import export, inputs, layers, models
from keras_dml._backend import keras
from keras_dml.export import _convert, litert, onnx_files
from keras_dml.export.signatures import Limits, limits
from tests.export import device_fuzz
from tests.export.conftest import CHANNELS, build, sample, voice

QUANTIZATIONS = [None, "float16", "dynamic", "int8"]
# By default only files of integers, whose rounding is the largest. The other files are slow.
each_quantization = pytest.mark.parametrize(
    "quantization",
    [pytest.param(q, marks=[pytest.mark.slow] * (q != "int8")) for q in QUANTIZATIONS],
)
LEAST, MOST = 4, 90
INT32 = np.iinfo(np.int32)
needs_onnx = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in onnx_files.PACKAGES),
    reason="needs the extra `onnx`",
)
CALLS = 60  # `python -m tests.export.device_fuzz FILES` makes 1,000 calls per file


@pytest.fixture(scope="module")
def model():
    contract = layers.InputContract(["x", "y", "z"], "g", 50, min_steps=LEAST, max_steps=MOST)
    return models.with_contract(build(layers.QuantileLayer(knots=4)), contract)


@pytest.fixture(scope="module")
def embed(model, tmp_path_factory):
    """Returns a function that takes a quantization and returns the exported file's signatures. The
    ranges of int8 activations have one candidate, because each candidate takes a second."""
    folder, made = tmp_path_factory.mktemp("guards"), {}

    def runners(quantization):
        if quantization not in made:
            recordings = [sample(40 + seed, CHANNELS, seed) for seed in range(20)]
            recordings = recordings if quantization == "int8" else None
            path = folder / f"{quantization}.tflite"
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(_convert, "FRACTIONS", (0.0,))
                export.tflite(model, path, quantization, recordings)
            made[quantization] = Interpreter(str(path), num_threads=1)
        file = made[quantization]
        return file.get_signature_runner("embed"), file.get_signature_runner("distance")

    return runners


@each_quantization
def test_lengths_outside_of_the_contract_and_the_signal_give_nan(embed, quantization):
    ask, distance = embed(quantization)
    signal = np.stack([sample(120, CHANNELS)])
    usual = ask(signal=signal, length=np.int32(40))["embedding"].copy()
    assert np.isfinite(usual).all()
    for length in (INT32.min, -3, -1, 0, 1, LEAST - 1, MOST + 1, 120, 121, INT32.max):
        z = ask(signal=signal, length=np.int32(length))["embedding"].copy()
        assert z.shape == usual.shape and np.isnan(z).all(), length
        assert np.isnan(distance(embedding=z, gallery=usual)["distance"]).all()
    for length in (LEAST, MOST):
        assert np.isfinite(ask(signal=signal, length=np.int32(length))["embedding"]).all()
    for steps in (0, 1, LEAST - 1):  # the signal is too short for every length
        for length in (0, steps, LEAST, 40):
            z = ask(signal=signal[:, :steps], length=np.int32(length))["embedding"]
            assert np.isnan(z).all(), (steps, length)
    again = ask(signal=signal, length=np.int32(40))["embedding"]
    np.testing.assert_array_equal(again, usual)


@each_quantization
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_nonfinite_steps_give_nan_unless_after_the_length(embed, quantization, value):
    ask, distance = embed(quantization)
    signal = np.stack([sample(60, CHANNELS)])
    usual = ask(signal=signal, length=np.int32(30))["embedding"].copy()
    signal[0, 30, 1] = value
    within = ask(signal=signal, length=np.int32(31))["embedding"].copy()
    assert np.isnan(within).all()
    assert np.isnan(distance(embedding=within, gallery=usual)["distance"]).all()
    actual = distance(embedding=usual, gallery=np.concatenate([usual, within]))["distance"]
    assert actual[0] == 0 and np.isnan(actual[1])
    beyond = ask(signal=signal, length=np.int32(30))["embedding"]
    np.testing.assert_array_equal(beyond, usual)


@each_quantization
def test_a_batch_and_other_channels_are_refused(embed, quantization):
    ask, distance = embed(quantization)
    signal = np.stack([sample(60, CHANNELS)])
    usual = ask(signal=signal, length=np.int32(60))["embedding"].copy()
    two = np.concatenate([signal, signal])
    for bad in (two, signal[:0], signal[:, :, :2], np.concatenate([signal, signal], 2), signal[0]):
        with pytest.raises(RuntimeError):
            ask(signal=bad, length=np.int32(60))
    with pytest.raises(RuntimeError):
        distance(embedding=np.concatenate([usual, usual]), gallery=usual)
    assert distance(embedding=usual, gallery=usual[:0])["distance"].shape == (0,)
    again = ask(signal=signal, length=np.int32(60))["embedding"]
    np.testing.assert_array_equal(again, usual)


@pytest.mark.slow
def test_a_strict_resize_refuses_a_batch(model, tmp_path):
    file = Interpreter(str(export.tflite(model, tmp_path / "model.tflite", None).path))
    details = file.get_signature_runner("embed").get_input_details()
    assert details["signal"]["shape_signature"].tolist() == [1, -1, CHANNELS]
    z, gallery = sorted(file.get_input_details(), key=lambda one: one["name"])  # of `distance`
    file.resize_tensor_input(gallery["index"], [5, *gallery["shape"][1:]], strict=True)
    with pytest.raises(RuntimeError):
        file.resize_tensor_input(z["index"], [2, *z["shape"][1:]], strict=True)


@pytest.mark.slow
def test_a_kernel_without_padding_sets_the_fewest_steps(tmp_path):
    signal = keras.Input((None, CHANNELS))
    x = keras.layers.Conv1D(5, 9)(signal)
    model = keras.Model(signal, layers.QuantileLayer(3)(keras.layers.ReLU()(x)))
    assert limits(inputs.from_model(model)) == Limits(9)
    made = export.tflite(model, tmp_path / "model.tflite", None)
    actual = litert.embed(made.path, [sample(steps, CHANNELS) for steps in (0, 1, 8, 9)])
    assert np.isnan(actual[:3]).all() and np.isfinite(actual[3]).all()


@pytest.fixture(scope="module")
def saved(model, tmp_path_factory):
    made = export.saved_model(model, tmp_path_factory.mktemp("guards") / "saved")
    return tf.saved_model.load(str(made.path)).signatures


@pytest.mark.slow
def test_only_rows_that_break_the_contract_get_nan(model, saved):
    lengths = [40, 0, -3, LEAST - 1, 60, 61, MOST + 1, INT32.max, INT32.min, 50, 60]
    signal = np.stack([sample(60, CHANNELS, seed) for seed in range(len(lengths))])
    signal[0, 45] = np.nan  # beyond its length
    signal[9, 20] = np.inf
    actual = saved["embed"](signal=signal, length=np.int32(lengths))["embedding"].numpy()
    good = [0, 4, 10]
    assert np.isnan(np.delete(actual, good, axis=0)).all()
    expected = keras_dml.embed(model, [signal[i, : lengths[i]] for i in good], batch_size=1)
    np.testing.assert_allclose(actual[good], expected, rtol=1e-4, atol=1e-5)
    between = saved["distance"](embedding=actual, gallery=actual)["distance"].numpy()
    assert np.isfinite(between[np.ix_(good, good)]).all()
    assert np.isnan(np.delete(between, good, axis=0)).all()
    for steps in (0, 2):
        short = signal[:2, :steps]
        assert np.isnan(saved["embed"](signal=short, length=np.int32([0, 2]))["embedding"]).all()
    with pytest.raises(tf.errors.InvalidArgumentError):
        saved["embed"](signal=signal, length=np.int32([40]))


def test_embed_is_the_default_signature(saved):
    default, embed = saved["serving_default"], saved["embed"]
    assert default.structured_input_signature == embed.structured_input_signature
    assert default.structured_outputs == embed.structured_outputs
    outcomes = {"signal": np.stack([sample(30, CHANNELS)]), "length": np.int32([30])}
    np.testing.assert_array_equal(default(**outcomes)["embedding"], embed(**outcomes)["embedding"])


@pytest.mark.slow
def test_scores_of_nonfinite_inputs_are_nan(classifier, images, tmp_path):
    file = Interpreter(str(export.tflite(classifier, tmp_path / "model.tflite").path))
    ask = {name: file.get_signature_runner(name) for name in ("classify", "embed", "score")}
    image = images[0][:1].copy()
    z = ask["embed"](image=image)["embedding"].copy()
    image[0, 3, 3, 0] = np.nan
    bad = ask["embed"](image=image)["embedding"].copy()
    assert np.isfinite(z).all() and np.isnan(bad).all()
    assert np.isnan(ask["classify"](image=image)["scores"]).all()
    actual = ask["score"](embedding=z, prototypes=np.concatenate([z, bad]))["similarity"]
    assert np.isnan(actual).tolist() == [False, True]
    with pytest.raises(RuntimeError):
        ask["classify"](image=np.concatenate([image, image]))


def sequence(path, quantization, **shapes):
    recordings = [sample(30 + seed, CHANNELS, seed) for seed in range(20)]
    model = build(layers.QuantileLayer(4))
    recordings = recordings if quantization == "int8" else None
    return export.tflite(model, path, quantization, recordings, **shapes)


def covariances(path, quantization):
    keras.utils.set_random_seed(5)
    options = {"estimator": "oas", "normalization": "difference", "epsilon": 1e-2}
    return export.tflite(models.spdnet((6, 5, 3), **options), path, quantization)


FUZZED = [
    *(("sequence", quantization) for quantization in QUANTIZATIONS),
    *(("fixed shapes", quantization) for quantization in (None, "int8")),
    *(("sound", quantization) for quantization in (None, "dynamic")),
    *(("covariances", quantization) for quantization in (None, "float16")),
    *(("images", quantization) for quantization in QUANTIZATIONS),
    *(("stream", quantization) for quantization in (None, "float16")),
    pytest.param("ONNX", None, marks=needs_onnx),
]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "quantization"), FUZZED)
def test_fuzzing_neither_crashes_nor_gives_wrong_outcomes(kind, quantization, tmp_path, request):
    path, steps = tmp_path / "model.tflite", (1, None)
    if kind == "sound":
        speaker = request.getfixturevalue("speaker")
        export.tflite(speaker, path, quantization, [voice(4000, seed) for seed in range(3)])
        actual = limits(inputs.from_model(speaker))
        steps = actual.least, actual.most
    elif kind == "images":
        classifier, (x, _) = (request.getfixturevalue(name) for name in ("classifier", "images"))
        export.tflite(classifier, path, quantization, list(x) if quantization == "int8" else None)
    elif kind == "fixed shapes":
        sequence(path, quantization, steps=128, gallery=5)
    elif kind == "covariances":
        covariances(path, quantization)
        steps = (2, None)  # a covariance of one step is NaN
    elif kind == "stream":
        model = build(layers.QuantileLayer(4))
        export.stream(model, path, window=40, block=8, quantization=quantization)
    elif kind == "ONNX":
        export.onnx(build(layers.QuantileLayer(4)), path)
    else:
        sequence(path, quantization)
    crashes, counts = device_fuzz.fuzz(path, CALLS, limits=steps)
    assert crashes == 0 and counts.total() == CALLS
    assert not device_fuzz.wrong(counts)
    outcomes = {outcomes for _, _, outcomes in counts}
    assert {"nan", "finite", "refused"} <= outcomes


def test_layers_that_compute_in_half_or_double_precision_are_named(tmp_path):
    head = layers.QuantileLayer(2)
    for dtype in ("float64", "mixed_float16"):
        convolution = layers.MaskedConv1D(4, 3, name="odd", dtype=dtype)
        model = keras.Sequential([keras.Input((None, CHANNELS)), convolution, head])
        with pytest.raises(ValueError, match=f"'odd'.* {dtype.removeprefix('mixed_')},"):
            export.tflite(model, tmp_path / "model.tflite")
        with pytest.raises(ValueError, match="'odd'"):
            export.stream(model, tmp_path / "model.tflite", window=16, block=8)
    assert not any(tmp_path.iterdir())


def test_names_that_tensorflow_refuses_are_named(tmp_path):
    exports = [export.tflite, export.saved_model]
    exports.append(functools.partial(export.stream, window=16, block=8))
    for name in ("größe", "a b", "_x", 'Anns "Gang"'):
        stack = [layers.MaskedConv1D(4, 3, name=name), layers.QuantileLayer(2)]
        model = keras.Sequential([keras.Input((None, CHANNELS)), *stack])
        for write in exports:
            with pytest.raises(ValueError, match=f"MaskedConv1D has the name {name!r}"):
                write(model, tmp_path / "model")
    assert not any(tmp_path.iterdir())
