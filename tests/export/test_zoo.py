"""Tests that every model of the zoo can be exported with default options and without recordings."""

import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter

from keras_dml import export, inputs, zoo
from keras_dml.export import litert, operators, parity

pytestmark = pytest.mark.slow
NAMES = zoo.list_models()
STEPS = {  # number of time steps of a file with a fixed number of steps
    "eeg_spdnet_rpl": 256,
    "eye_lda": 2350,
    "eye_qp_wl": 2350,
    "gait_lda": 512,
    "gait_qp_wl": 512,
    "hdm05_spdnet_rpl": 521,
    "phone_gait_lda": 250,
    "phone_gait_qp_wl": 250,
    "pocket_lda": 301,
    "voice_ge2e": 48000,
    "voice_ge2e_sim": 48000,
    "voice_logcov_lda": 48000,
    "voice_xvector_sim": 48000,
    "vowels_qp_wl": 32,
    "watch_lda": 301,
}


def test_there_are_models():
    assert len(NAMES) > 10


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_model_exports_by_the_defaults_and_answers_nan_below_its_contract(name, tmp_path):
    made = export.tflite(name, tmp_path / "model.tflite")
    operators.check_builtin(made.path)
    assert made.quantization in ("dynamic", "float16", None)
    refused = [note for note in made.notes if "no threshold" not in note]
    assert (made.quantization == "dynamic") == (refused == [])
    inputs = zoo.card(name)["input"]
    if "length" in inputs:
        channels = len(inputs["channels"])
        short = np.ones((inputs["length"][0] - 1, channels), np.float32)
        assert np.isnan(litert.embed(made.path, [short])).all()
    else:
        image = np.full((*inputs["size"], len(inputs["channels"])), np.nan, np.float32)
        assert np.isnan(litert.embed(made.path, [image])).all()


def test_each_model_of_recordings_has_a_number_of_steps():
    assert set(STEPS) == {name for name in NAMES if "length" in zoo.card(name)["input"]}


@pytest.mark.slow
@pytest.mark.parametrize("name", STEPS)
def test_a_file_with_fixed_shapes_ignores_padding(name, tmp_path):
    """Tests noise of two lengths that the export itself does not try, with garbage as padding."""
    model, steps = zoo.load(name), STEPS[name]
    kind, rng = inputs.from_model(getattr(model, "encoder", model)), np.random.default_rng(7)
    path, dynamic = tmp_path / "model.tflite", tmp_path / "dynamic.tflite"
    export.tflite(model, dynamic, None)
    made = export.tflite(model, path, None, steps=steps, gallery=3)
    assert made.steps == steps
    least, channels = zoo.card(name)["input"]["length"][0], kind.shape[1]
    stddev = (
        np.ones(channels)
        if kind.contract.stddev_range is None
        else (np.mean(kind.contract.stddev_range, axis=1))
    )
    embed = Interpreter(str(path), num_threads=1).get_signature_runner("embed")
    for length in (least + 1, (least + steps) // 2):
        recording = (stddev * rng.normal(size=(length, channels))).astype(np.float32)
        signal = 1e3 * rng.normal(size=(1, steps, channels)).astype(np.float32)
        signal[0, :length] = recording
        actual = embed(signal=signal, length=np.int32(length))["embedding"].copy()
        signal[0, length:] = np.nan
        again = embed(signal=signal, length=np.int32(length))["embedding"]
        np.testing.assert_array_equal(again, actual)
        expected = litert.embed(dynamic, [recording])
        assert parity.relative_rms(actual, expected) < 1e-4
