import logging

import numpy as np
import pytest

from keras_dml._backend import keras, ops, xla
from keras_dml.layers import LastLSTM


@pytest.mark.slow
@pytest.mark.slow_on_jax
@pytest.mark.parametrize("depth", [1, 3])
def test_the_output_is_that_of_keras_layers(depth, rng):
    keras.utils.set_random_seed(7)
    x = rng.normal(size=(4, 9, 3)).astype("float32")
    layer = LastLSTM(5, depth)
    layer.build(x.shape)
    reference = keras.Sequential(
        [keras.layers.LSTM(5, return_sequences=i < depth - 1) for i in range(depth)]
    )
    reference.build(x.shape)
    reference.set_weights([rng.normal(size=w.shape) for w in layer.get_weights()])
    layer.set_weights(reference.get_weights())
    np.testing.assert_allclose(layer(x), reference(x), rtol=0, atol=1e-6)
    with xla.avoided():  # as in a file for devices
        np.testing.assert_allclose(layer(x), reference(x), rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LastLSTM(0), "`units` must be at least 1. Received: 0"),
        (lambda: LastLSTM(3)(keras.Input((None, 2))), r"known length.*\(None, None, 2\)"),
        (lambda: LastLSTM(3)(ops.zeros((2, 3))), r"known length.*\(2, 3\)"),
    ],
)
def test_impossible_sizes_and_windows_of_any_length_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="TensorFlow's warnings")
def test_many_layers_are_called_without_a_warning_of_retracing(rng, caplog):
    x = rng.normal(size=(2, 4, 3)).astype("float32")
    logger = logging.getLogger("tensorflow")
    logger.addHandler(caplog.handler)
    try:
        for _ in range(8):
            LastLSTM(2)(x)
    finally:
        logger.removeHandler(caplog.handler)
    assert not [message for message in caplog.messages if "retracing" in message]
