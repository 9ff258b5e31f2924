"""Tests the inputs on which an exported file is compared with Keras."""

import numpy as np
import pytest

from keras_dml import distances, export, layers
from keras_dml._backend import keras
from keras_dml.export import parity
from keras_dml.export.trials import Trials, trials


def masked():
    """Returns a model that masks steps of zeros, so silence has no embedding."""
    parts = [keras.layers.Masking(), layers.MaskedConv1D(4, 3), layers.QuantileLayer(2)]
    return keras.Sequential([keras.Input((None, 3)), *parts])


def test_silence_that_the_model_masks_is_left_out():
    made = trials(masked())
    assert np.isfinite(made.embeddings).all() and len(made.embeddings) == len(made.recordings)
    assert [x.any() for x in made.recordings] == [True] * 4  # three of noise, one constant
    assert made.typical == 4


def test_a_model_that_computes_nan_for_noise_is_named():
    model = keras.Sequential(
        [keras.Input((None, 3)), layers.SequencePooling("mean")], name="broken"
    )
    model.add(keras.layers.Dense(2, bias_initializer=lambda shape, dtype: np.full(shape, np.nan)))
    with pytest.raises(ValueError, match="3 of 3 .*'broken'"):
        trials(model)


def test_correct_distances_between_many_long_embeddings_are_accepted(rng):
    """Tests 22 embeddings of 2,080 features, whose distances Keras computes from inner products if
    it receives them all at once, which loses the small distances."""
    z = rng.normal(size=(21, 2080)).astype(np.float32)
    z[0] = 3e4

    def exact(x, y):
        return np.linalg.norm(x[:, None].astype(np.float64) - y[None], axis=-1)

    made = Trials(list(z), z, len(z), z[0])
    functions = {"embed": lambda recordings: z, "distance": exact}
    metric = distances.get("euclidean")
    assert parity.check("any.tflite", functions, made, metric, parity.BOUNDS[None]) == 0


@pytest.mark.slow
@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="TensorFlow writes the file")
def test_a_model_that_masks_silence_is_exported(tmp_path):
    assert export.tflite(masked(), tmp_path / "any.tflite", None).drift < 1e-5
    assert export.tflite(masked(), tmp_path / "fixed.tflite", None, steps=40).drift < 1e-5
    assert export.saved_model(masked(), tmp_path / "saved").drift < 1e-5
