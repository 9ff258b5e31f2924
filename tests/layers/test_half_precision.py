"""Tests layers and losses when the default dtype of Keras (`floatx`) is a half-precision type."""

import numpy as np
import pytest

from keras_dml import layers
from keras_dml._backend import keras, ops
from tests.losses.test_compiled_labels import LOSSES, PAIRS, ROWS, compiled, floatx_of


@pytest.mark.slow
@pytest.mark.parametrize("floatx", ["float16", "bfloat16"])
def test_every_loss_and_mining_trains(floatx):
    with floatx_of(floatx):
        for name in LOSSES:
            model, x = compiled(name)
            history = model.fit(x, PAIRS, batch_size=ROWS, verbose=0).history["loss"]
            assert np.isfinite(float(history[0])), name
            eager = model.loss(PAIRS, model(x))
            assert keras.backend.standardize_dtype(eager.dtype) == "float32", name
            assert np.isfinite(float(eager)), name


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "mixed_bfloat16", "mixed_float16"])
def test_an_lstm_draws_orthogonal_weights_of_any_dtype(dtype):
    actual = layers.LastLSTM(3, depth=2, dtype=dtype)(np.ones((2, 4, 3), "float32"))
    assert np.isfinite(ops.convert_to_numpy(ops.cast(actual, "float32"))).all()
