"""Tests the inputs on which an exported file is compared with Keras."""

import numpy as np
import pytest

from keras_dml import export, layers
from keras_dml._backend import keras
from keras_dml.export.trials import trials


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


@pytest.mark.slow
@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="TensorFlow writes the file")
def test_a_model_that_masks_silence_is_exported(tmp_path):
    assert export.tflite(masked(), tmp_path / "any.tflite", None).drift < 1e-5
    assert export.tflite(masked(), tmp_path / "fixed.tflite", None, steps=40).drift < 1e-5
    assert export.saved_model(masked(), tmp_path / "saved").drift < 1e-5
