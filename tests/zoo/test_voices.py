"""Tests that the voice models of the zoo ignore silence and that their gates refuse distorted
recordings.
"""

import numpy as np
import pytest

import keras_dml
from keras_dml import inputs, layers, quality, zoo
from tests.test_quality import voice

NAMES = [name for name in zoo.list_models() if name.startswith("voice_")]
# The encoder of `voice_ge2e` was trained on recordings with silence, and does not remove silence.
WITHOUT_SILENCE = [name for name in NAMES if name != "voice_ge2e"]
RATE = 16_000
BOUND = 5e-3  # of the embedding's length; without the layer 3 s of zeros change it by .5 or more


@pytest.mark.slow
def test_voice_models_cut_out_silence_first():
    assert len(WITHOUT_SILENCE) == 3
    for name in WITHOUT_SILENCE:
        kinds = [type(layer) for layer in inputs.encoder(zoo.load(name)).layers]
        assert kinds[2] is layers.SilenceRemoval, name


@pytest.mark.parametrize("name", WITHOUT_SILENCE)
@pytest.mark.parametrize("gain", [1, 1e-3])
def test_silence_moves_no_embedding_of_a_voice_model(name, gain):
    """Inserts whole blocks of 20 ms of silence, so that the blocks of the speech stay the same."""
    sound = voice(3, seconds=2.4).astype("float32")
    zeros, half = np.zeros((3 * RATE, 1), "float32"), 1.2 * RATE
    parts = np.split(sound, [int(half)])
    recordings = [
        sound,
        np.concatenate([zeros, sound]),
        np.concatenate([sound, zeros, zeros]),
        np.concatenate([parts[0], zeros, parts[1]]),
        np.concatenate([zeros, zeros, zeros, parts[0], zeros, parts[1], zeros]),
    ]
    recordings = [np.float32(gain) * recording for recording in recordings]
    clean, *others = keras_dml.embed(zoo.load(name), recordings, batch_size=2)
    for embedding in others:
        assert np.linalg.norm(embedding - clean) < BOUND * np.linalg.norm(clean)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_gate_of_a_voice_model_refuses_a_clipped_voice(name):
    gate = quality.gate_of(zoo.load(name))
    clean = voice(5)
    clipped = np.clip(10 * clean, -0.9, 0.9)
    recordings = [clean, clean / np.abs(clean).max(), 1e-3 * clean]
    recordings += [np.sign(clean), clipped, clipped / 2, np.tanh(15 * clean)]
    reasons = gate.refused(recordings)
    assert sorted(reasons) == [3, 4, 5, 6]
    assert all("clip" in reason for reason in reasons.values())
