"""Tests distances between matrices in exported files. A device computes either the distance of the
model or a replacement.
"""

import functools

import numpy as np
import pytest
import tensorflow as tf

from keras_dml import distances, export, models
from keras_dml._backend import keras, ops
from keras_dml.export import litert, operators, parity
from tests.geometry import matrices


class Frobenius(distances.Distance):
    """Distance between matrices. On devices, it is computed with the relative error `error`."""

    rank = 3
    embeddings = "matrices"
    device_tolerance = 1e-2

    def __init__(self, error):
        self.error = error

    def pairwise(self, x, y):
        return ops.sqrt(ops.sum(ops.square(x[:, None] - y[None]), axis=(2, 3)))

    def on_device(self, x, y):
        return (1 + self.error) * self.pairwise(x, y)


@pytest.fixture(scope="module")
def model():
    keras.utils.set_random_seed(5)
    return models.spdnet((5, 3), output="spd")


@pytest.mark.slow
@pytest.mark.parametrize("write", [export.tflite, export.saved_model])
def test_file_computes_the_device_version_of_a_distance(model, write, tmp_path):
    made = write(model, tmp_path / "model", distance=Frobenius(5e-3))
    assert made.path.exists()
    with pytest.raises(parity.ParityError, match="differ by 0.02 of"):
        write(model, tmp_path / "other", distance=Frobenius(2e-2))


class OfInverses(distances.Distance):
    """Distance that is undefined for a matrix of zeros."""

    rank = 3
    embeddings = "matrices"

    def pairwise(self, x, y):
        x, y = (1 / ops.trace(z, axis1=1, axis2=2) for z in (x, y))
        return ops.abs(x[:, None] - y[None])


class Written(OfInverses):
    def degenerate(self, like):
        return np.eye(like.shape[-1], dtype=like.dtype)


class Misshapen(OfInverses):
    def degenerate(self, like):
        return np.ones(3, like.dtype)


class StillUndefined(OfInverses):
    def degenerate(self, like):
        return 0 * like


@pytest.mark.slow
@pytest.mark.parametrize("write", [export.tflite, export.saved_model])
def test_error_names_degenerate_if_the_distance_is_undefined_at_zero(model, write, tmp_path):
    with pytest.raises(ValueError, match="OfInverses.*`degenerate"):
        write(model, tmp_path / "model", distance=OfInverses())
    assert not (tmp_path / "model").exists()
    assert write(model, tmp_path / "model", distance=Written()).path.exists()


@pytest.mark.parametrize("kind", [Misshapen, StillUndefined])
def test_invalid_degenerate_embeddings_are_refused(kind):
    with pytest.raises(ValueError, match=f"`{kind.__name__}.degenerate`"):
        parity.gallery(np.stack([np.eye(3, dtype="float32")] * 2), kind())


def kinds(graph):
    """Returns the operator names of a TensorFlow graph and of all functions that it calls."""
    bodies = (function.node_def for function in graph.library.function)
    return {node.op for nodes in (graph.node, *bodies) for node in nodes}


def test_the_affine_invariant_distance_of_a_saved_model_has_an_eigendecomposition(model, tmp_path):
    path = export.saved_model(model, tmp_path / "model").path
    loaded = tf.saved_model.load(str(path)).signatures["distance"]
    assert any("Eig" in name for name in kinds(loaded.graph.as_graph_def()))


@pytest.mark.slow
@pytest.mark.parametrize("write", [export.tflite, export.saved_model])
def test_bures_wasserstein_exports_without_an_eigendecomposition(model, write, tmp_path):
    """Tests operators and errors of distances.

    Errors are at most 1e-5 of the largest distance, and 2e-3 with singular matrices.
    """
    distance = distances.BuresWasserstein()
    path = write(model, tmp_path / "model", distance=distance).path
    if path.is_dir():
        loaded = tf.saved_model.load(str(path)).signatures["distance"]
        assert not any("Eig" in name for name in kinds(loaded.graph.as_graph_def()))
        ask = lambda x, y: loaded(embedding=x, gallery=y)["distance"].numpy()  # noqa: E731
    else:
        operators.check_builtin(path)
        ask = functools.partial(litert.distance, path)
    rng = np.random.default_rng(4)
    regular = matrices.spd(rng, 6, 3).astype("float32")
    singular = matrices.with_spectrum(rng, [0, 0, 1], 3).astype("float32")
    for options, limit in [(regular, 1e-5), (np.concatenate([regular, singular]), 2e-3)]:
        expected = np.asarray(distance(options, options))
        np.testing.assert_allclose(
            ask(options, options), expected, atol=limit * expected.max(), rtol=0
        )


@pytest.mark.slow
def test_matrices_stay_matrices_where_a_device_can_compare_them(model, tmp_path):
    path = export.tflite(model, tmp_path / "model.tflite", distance=Frobenius(0)).path
    x = np.random.default_rng(3).normal(size=(2, 3, 3)).astype("float32")
    assert litert.embed(path, [np.eye(5, dtype="float32")]).shape == (1, 3, 3)
    np.testing.assert_allclose(
        litert.distance(path, x, x), Frobenius(0)(x, x), rtol=1e-5, atol=1e-6
    )
