"""Tests of decompositions of stacks of matrices."""

import subprocess
import sys

import keras
import numpy as np
import pytest

from keras_dml._backend import linalg
from keras_dml.geometry.spd.matrices import eigh
from tests.geometry.matrices import spd

MANY_AT_ONCE = """
import faulthandler

faulthandler.dump_traceback_later(60, exit=True)

import jax
import numpy as np

from keras_dml._backend import linalg

signals = np.random.default_rng(0).normal(size=(16, 50, 20, 40)).astype("float32")


@jax.jit
def many(signals):
    stacks = signals @ signals.swapaxes(-1, -2)
    factors = [linalg.inverse_lower(linalg.cholesky(x)).sum() for x in stacks]
    return sum(linalg.eigh(x)[0].sum() for x in stacks) + sum(factors)


for _ in range(20):
    many(signals).block_until_ready()
"""


@pytest.mark.slow_on_jax
@pytest.mark.skipif(keras.backend.backend() != "jax", reason="of XLA's threads")
def test_many_decompositions_at_once_do_not_wait_for_each_other():
    """The test runs in a separate process, because a deadlock cannot be interrupted."""
    done = subprocess.run([sys.executable, "-c", MANY_AT_ONCE], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3)])
def test_stacks_of_any_shape_are_decomposed_matrix_by_matrix(rng, shape):
    matrices = spd(rng, *shape, 4).astype("float32")
    values, vectors = (keras.ops.convert_to_numpy(x) for x in eigh(matrices))
    assert values.shape == (*shape, 4) and vectors.shape == (*shape, 4, 4)
    composed = (vectors * values[..., None, :]) @ vectors.swapaxes(-1, -2)
    np.testing.assert_allclose(composed, matrices, rtol=1e-4, atol=1e-4)
    factor = linalg.cholesky(matrices)
    inverse = keras.ops.convert_to_numpy(linalg.inverse_lower(factor))
    identity = np.broadcast_to(np.eye(4), matrices.shape)
    np.testing.assert_allclose(
        inverse @ keras.ops.convert_to_numpy(factor), identity, rtol=0, atol=1e-5
    )
