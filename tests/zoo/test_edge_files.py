"""Tests the .tflite files of the zoo, which `keras_dml.edge` loads."""

import numpy as np
import pytest

from keras_dml import edge, zoo
from keras_dml.zoo import lookup, reading

NAMES = [name for name in zoo.list_models() if "rate_hz" in zoo.card(name)["input"]]


def test_every_model_of_recordings_has_a_file():
    assert len(NAMES) >= 13
    assert [name for name in NAMES if "edge" not in zoo.card(name)] == []


@pytest.mark.parametrize("name", NAMES)
def test_the_file_computes_the_golden_embeddings(name):
    card, model = zoo.card(name), edge.load(name)
    golden = lookup.find(name) / card["golden"]["input"]
    recordings, expected = reading.read_golden(golden)
    error = model.embed(recordings) - expected
    rms = np.sqrt(np.mean(np.square(expected)))
    assert np.abs(error).max() <= 1e-3 * rms
    assert model.card == card
    assert model.unfit(recordings) == {}
