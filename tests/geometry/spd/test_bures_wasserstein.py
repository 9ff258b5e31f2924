"""Tests that the Bures-Wasserstein distance is accurate for matrices in any unit."""

import numpy as np
import pytest
from pyriemann.geometry import distance as pyriemann

from keras_dml._backend import keras, ops
from keras_dml.geometry import spd
from tests.geometry import matrices
from tests.gradients import gradients

JAX = keras.backend.backend() == "jax"


@pytest.mark.slow
@pytest.mark.parametrize(
    "distance",
    [
        spd.bures_wasserstein_pairwise,
        spd.bures_wasserstein_by_polynomials,
        lambda x, y: spd.bures_wasserstein(x[:, None], y[None]),
    ],
    ids=["pairwise", "by polynomials", "one pair"],
)
def test_bures_wasserstein_is_scale_free_in_float32_with_its_gradient(rng, distance):
    x, y = matrices.spd(rng, 3, 4), matrices.spd(rng, 2, 4)
    expected = np.array(
        [[pyriemann.distance_wasserstein(first, second) for second in y] for first in x]
    )
    probe = rng.normal(size=(3, 2)).astype("float32")

    def value(x, y, scale):
        return ops.sum(distance(x, y) / np.float32(np.sqrt(scale)) * probe)

    slopes = gradients(lambda x, y: value(x, y, 1), x.astype("float32"), y.astype("float32"))
    for scale in 10.0 ** np.arange(-30, 31, 10):  # covariances of signals from 1e-15 to 1e15
        pair = [(scale * side).astype("float32") for side in (x, y)]
        result = np.asarray(distance(*pair), np.float64) / np.sqrt(scale)
        np.testing.assert_allclose(result, expected, rtol=1e-4)
        np.testing.assert_array_equal(np.diag(np.asarray(distance(pair[0], pair[0]))), 0)
        if JAX and distance is spd.bures_wasserstein_by_polynomials:
            continue  # only TensorFlow writes files for devices
        result = gradients(lambda x, y, scale=scale: value(x, y, scale), *pair)
        for first, slope in zip(result, slopes, strict=True):
            tolerance = 1e-3 * np.abs(slope).max()
            np.testing.assert_allclose(first * scale, slope, rtol=0, atol=tolerance)
