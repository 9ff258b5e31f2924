"""Tests exports of models of covariance matrices. The files contain no eigendecomposition."""

import numpy as np
import pytest
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter

import keras_dml
from keras_dml import distances, export, inputs, layers, models
from keras_dml._backend import keras
from keras_dml.contract import Contract
from keras_dml.export import litert, operators
from keras_dml.models.copies import in_float64

HDM05_BYTES = 300_000
REGULAR, SINGULAR = 1e-4, 1e-3
# Norm of a matrix, divided by epsilon. float32 has seven digits, and the smallest eigenvalue needs
# two of them.
WIDEST = 1e5


def covariances(n, steps, count=4, seed=0):
    x = np.random.default_rng(seed).normal(size=(count, steps, n))
    return list((np.swapaxes(x, 1, 2) @ x / steps).astype("float32"))


def network(*args, **kwargs):
    keras.utils.set_random_seed(5)
    return models.spdnet(*args, **kwargs)


@pytest.fixture(scope="module")
def hdm05(tmp_path_factory):
    model = network("hdm05")
    return model, export.tflite(model, tmp_path_factory.mktemp("spd") / "hdm05.tflite")


@pytest.fixture(scope="module")
def recorder():
    """Returns a model that computes positive definite matrices from recordings."""
    return network(
        (6, 5, 3), estimator="oas", normalization="difference", output="spd", epsilon=1e-2
    )


@pytest.fixture(scope="module")
def recorder_file(recorder, tmp_path_factory):
    return export.tflite(recorder, tmp_path_factory.mktemp("spd") / "recorder.tflite").path


@pytest.mark.slow
@pytest.mark.parametrize("steps, bound", [(300, REGULAR), (10, SINGULAR)])
def test_embeddings_are_those_of_an_eigendecomposition_in_float64(hdm05, steps, bound):
    model, made = hdm05
    matrices = [x * WIDEST * 1e-4 / np.linalg.norm(x) for x in covariances(93, steps)]
    expected = keras_dml.embed(in_float64(model), matrices)
    assert np.abs(litert.embed(made.path, matrices) - expected).max() < bound


def test_the_file_is_small_and_of_builtin_operators(hdm05):
    _, made = hdm05
    assert made.bytes <= HDM05_BYTES
    operators.check_builtin(made.path)
    assert made.quantization is None  # the default, "dynamic", would lose the small eigenvalues
    assert 0 < made.drift < 1e-3 and 0 < made.latency_ms < 100 and made.steps == 93


@pytest.mark.slow
def test_embed_takes_inputs_of_the_model(hdm05, recorder_file):
    def inputs(path):
        return Interpreter(model_path=str(path)).get_signature_list()["embed"]["inputs"]

    assert inputs(hdm05[1].path) == ["matrix"]
    assert inputs(recorder_file) == ["length", "signal"]


def test_distances_are_euclidean_ones_of_the_vectors(hdm05):
    model, made = hdm05
    vectors = keras_dml.embed(model, covariances(93, 300))
    expected = keras_dml.distance(model, vectors, vectors)
    np.testing.assert_allclose(
        litert.distance(made.path, vectors, vectors), expected, rtol=0, atol=1e-4
    )


@pytest.mark.slow
def test_steps_after_the_length_are_ignored(recorder_file):
    embed = Interpreter(model_path=str(recorder_file)).get_signature_runner("embed")
    signal = np.random.default_rng(1).normal(size=(80, 6)).astype("float32")
    buffer = np.full((1, 128, 6), 1e6, "float32")
    buffer[0, :80] = signal
    alone = embed(signal=signal[None], length=np.int32(80))["embedding"].copy()
    padded = embed(signal=buffer, length=np.int32(80))["embedding"]
    np.testing.assert_array_equal(padded, alone)


@pytest.mark.slow
def test_positive_definite_embeddings_become_tangent_vectors(recorder, recorder_file):
    rng = np.random.default_rng(2)
    recordings = [rng.normal(size=(steps, 6)) for steps in (30, 64, 200)]
    vectors = litert.embed(recorder_file, recordings)
    assert vectors.shape == (3, 6)
    matrices = keras_dml.embed(recorder, recordings)
    expected = distances.LogEuclidean()(matrices, matrices)
    np.testing.assert_allclose(
        litert.distance(recorder_file, vectors, vectors), expected, rtol=0, atol=1e-3
    )


@pytest.mark.slow
def test_constant_recording_does_not_fail_the_export(tmp_path):
    model = network((4, 2), estimator="trace_normalized", normalization="channel")
    rng = np.random.default_rng(3)
    model.get_layer("normalization").adapt(rng.normal(5, 3, size=(2, 50, 4)))
    assert export.tflite(model, tmp_path / "model.tflite").drift < 1e-3


@pytest.mark.slow
def test_half_precision_weights_are_close(hdm05, tmp_path):
    model, full = hdm05
    made = export.tflite(model, tmp_path / "half.tflite", "float16")
    assert made.quantization == "float16" and made.drift < 5e-3
    assert made.bytes < 0.8 * full.bytes


def test_int8_is_refused(tmp_path):
    for recordings in (None, covariances(4, 9)):
        with pytest.raises(ValueError, match="small eigenvalues.*quantization=None"):
            export.tflite(network((4, 2)), tmp_path / "m.tflite", "int8", recordings)
    assert not any(tmp_path.iterdir())


def test_representative_matrices_are_trials(tmp_path):
    bad = [np.eye(4), np.arange(16.0).reshape(4, 4)]
    with pytest.raises(ValueError, match="Matrix 1 is not symmetric"):
        export.tflite(network((4, 2)), tmp_path / "m.tflite", None, bad)


@pytest.mark.slow
def test_riemannian_normalization_exports(tmp_path):
    inputs = keras.Input((6, 6))
    x = layers.RiemannianBatchNormalization()(layers.ReEig(1e-2)(layers.BiMap(4)(inputs)))
    model = keras.Model(inputs, layers.TangentVector()(layers.LogEig(1e-2)(x)))
    for seed in range(5):
        model(np.stack(covariances(6, 30, seed=seed)), training=True)
    matrices = covariances(6, 30, seed=9)
    made = export.tflite(model, tmp_path / "model.tflite")
    np.testing.assert_allclose(
        litert.embed(made.path, matrices), keras_dml.embed(model, matrices), rtol=0, atol=1e-4
    )


@pytest.mark.slow
@pytest.mark.parametrize("output", ["tangent", "spd"])
def test_a_saved_model_takes_batches_of_matrices(output, tmp_path):
    model = network((8, 6, 3), output=output)
    made = export.saved_model(model, tmp_path / "model")
    signatures = tf.saved_model.load(str(made.path)).signatures
    matrices = covariances(8, 24)
    embeddings = signatures["embed"](matrix=np.stack(matrices))["embedding"].numpy()
    np.testing.assert_allclose(embeddings, keras_dml.embed(model, matrices), rtol=1e-4, atol=1e-5)
    actual = signatures["distance"](embedding=embeddings[:2], gallery=embeddings)["distance"]
    expected = keras_dml.distance(model, embeddings[:2], embeddings)
    np.testing.assert_allclose(actual.numpy(), expected, rtol=1e-4, atol=1e-3)


@pytest.mark.slow
def test_a_saved_model_takes_padded_recordings(recorder, tmp_path):
    made = export.saved_model(recorder, tmp_path / "model")
    embed = tf.saved_model.load(str(made.path)).signatures["embed"]
    recordings = [np.random.default_rng(i).normal(size=(20 * i, 6)) for i in (1, 3)]
    signal = np.full((2, 64, 6), 1e3, "float32")
    for row, recording in zip(signal, recordings, strict=True):
        row[: len(recording)] = recording
    actual = embed(signal=signal, length=np.int32([20, 60]))["embedding"].numpy()
    np.testing.assert_allclose(actual, keras_dml.embed(recorder, recordings), rtol=1e-4, atol=1e-5)


@pytest.mark.slow
def test_a_contract_of_a_card_holds_for_the_copy_that_a_device_runs(tmp_path):
    model = network((6, 5, 3), output="spd", estimator="oas", epsilon=1e-2)
    inputs.declare(model, Contract(list("abcdef"), "uV", 256, min_steps=32))
    made = export.tflite(model, tmp_path / "model.tflite")
    short, enough = (np.random.default_rng(steps).normal(size=(steps, 6)) for steps in (31, 32))
    actual = litert.embed(made.path, [short, enough])
    assert np.isnan(actual[0]).all() and np.isfinite(actual[1]).all()
