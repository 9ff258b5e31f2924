"""Tests that every model of the zoo can be exported with default options and without recordings."""

import numpy as np
import pytest

from keras_dml import export, zoo
from keras_dml.export import litert, operators

pytestmark = pytest.mark.slow
NAMES = zoo.list_models()


def test_there_are_models():
    assert len(NAMES) > 10


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_model_exports_by_the_defaults_and_answers_nan_below_its_contract(name, tmp_path):
    made = export.tflite(name, tmp_path / "model.tflite")
    operators.check_builtin(made.path)
    assert made.quantization in ("dynamic", "float16", None)
    assert (made.quantization == "dynamic") == (made.notes == ())
    inputs = zoo.card(name)["input"]
    if "length" in inputs:
        channels = len(inputs["channels"])
        short = np.ones((inputs["length"][0] - 1, channels), np.float32)
        assert np.isnan(litert.embed(made.path, [short])).all()
    else:
        image = np.full((*inputs["size"], len(inputs["channels"])), np.nan, np.float32)
        assert np.isnan(litert.embed(made.path, [image])).all()
