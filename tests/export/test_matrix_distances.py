"""Distances of matrices in exported files: computed on the device, or replaced."""

import numpy as np
import pytest

from keras_dml import distances, export, models
from keras_dml._backend import keras, ops
from keras_dml.export import litert, parity


class Frobenius(distances.Distance):
    """A distance of matrices that a device computes in its own way, off by `error`."""

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


@pytest.mark.parametrize("write", [export.tflite, export.saved_model])
def test_a_file_answers_as_the_distance_says_that_devices_do(model, write, tmp_path):
    made = write(model, tmp_path / "model", distance=Frobenius(5e-3))
    assert made.path.exists()
    with pytest.raises(parity.ParityError, match="distances differ by 0.02 of"):
        write(model, tmp_path / "other", distance=Frobenius(2e-2))


def test_matrices_stay_matrices_where_a_device_can_compare_them(model, tmp_path):
    path = export.tflite(model, tmp_path / "model.tflite", distance=Frobenius(0)).path
    x = np.random.default_rng(3).normal(size=(2, 3, 3)).astype("float32")
    assert litert.embed(path, [np.eye(5, dtype="float32")]).shape == (1, 3, 3)
    np.testing.assert_allclose(
        litert.distance(path, x, x), Frobenius(0)(x, x), rtol=1e-5, atol=1e-6
    )
