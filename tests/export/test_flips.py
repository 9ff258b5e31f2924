"""Tests that an export counts the decisions that differ between the file and Keras."""

import numpy as np
import pytest

import keras_dml
from keras_dml import export, layers
from keras_dml._backend import keras
from keras_dml.export import _contract, litert

QUANTILES = (0.1, 0.5)


@pytest.fixture(scope="module")
def model():
    keras.utils.set_random_seed(3)
    parts = [layers.MaskedConv1D(48, 8), layers.MaskedConv1D(24, 8), layers.QuantileLayer(4)]
    return keras.Sequential([keras.Input((None, 3)), *parts])


@pytest.fixture(scope="module")
def recordings():
    rng = np.random.default_rng(0)
    return [rng.normal(size=(60, 3)).astype(np.float32) for _ in range(30)]


def test_decisions_at_the_thresholds_of_the_card_are_counted(
    model, recordings, tmp_path, monkeypatch
):
    pairs = np.triu_indices(len(recordings), 1)
    z = keras_dml.embed(model, recordings)
    expected = keras_dml.distance(model, z, z)[pairs]
    limits = np.quantile(expected, QUANTILES)
    rows = [{"value": float(limit)} for limit in limits]
    monkeypatch.setattr(_contract, "thresholds", lambda distance, card: rows)
    result = export.tflite(model, tmp_path / "model.tflite", "dynamic", recordings)
    z = litert.embed(result.path, recordings)
    actual = litert.distance(result.path, z, z)[pairs]
    flips = ((actual <= limits[:, None]) != (expected <= limits[:, None])).sum()
    assert result.flips == flips > 0 and result.decisions == 2 * len(expected)


@pytest.mark.slow
def test_nothing_is_counted_without_recordings_or_thresholds(model, recordings, tmp_path):
    for given in (None, recordings):
        result = export.tflite(model, tmp_path / "model.tflite", None, given)
        assert result.flips is None and result.decisions == 0
