import numpy as np
import pytest

from keras_dml._backend import ops
from keras_dml.layers import MelPower
from keras_dml.layers.mel_power import slaney_filters

# librosa 0.11.0: filters.mel(sr=16000, n_fft=400, n_mels=40), band, frequency: weight
WEIGHTS = {
    (0, 1): 0.007390209473669529,
    (0, 2): 0.012404520995914936,
    (10, 20): 0.01187948975712061,
    (20, 43): 0.0055028400383889675,
    (39, 190): 0.0012151539558544755,
    (39, 199): 0.00012151539704063907,
}


def noise(rng, samples):
    return rng.normal(scale=0.1, size=(1, samples, 1)).astype("float32")


def test_the_filters_are_those_of_librosa():
    filters = slaney_filters(400, 40, 16_000)
    assert filters.shape == (40, 201)
    for place, weight in WEIGHTS.items():
        assert filters[place] == pytest.approx(weight, rel=1e-5)


def test_bands_are_those_of_the_definition(rng):
    audio = noise(rng, 1_000)
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(400) / 400)
    frames = [audio[0, start : start + 400, 0] for start in range(0, 601, 160)]
    power = np.abs(np.fft.rfft(np.array(frames, "float64") * window)) ** 2
    expected = power @ slaney_filters(400, 40, 16_000).T
    actual = ops.convert_to_numpy(MelPower(40)(audio))[0]
    assert actual.shape == (4, 40)
    np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-5 * expected.max())


@pytest.mark.slow_on_jax
def test_padding_changes_no_frame_and_is_masked(rng):
    layer, audio = MelPower(40), noise(rng, 2_000)
    padded = np.concatenate([audio, np.ones((1, 777, 1), "float32")], axis=1)
    mask = np.arange(2_777)[None] < 2_000
    alone, together = layer(audio), layer(padded, mask=ops.convert_to_tensor(mask))
    valid = ops.convert_to_numpy(layer.compute_mask(padded, ops.convert_to_tensor(mask)))[0]
    assert valid.sum() == alone.shape[1] and not valid[alone.shape[1] :].any()
    np.testing.assert_allclose(together[0, : alone.shape[1]], alone[0], rtol=1e-6)
    assert not np.asarray(together)[0, alone.shape[1] :].any()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MelPower(rate=16_001), "multiple of 200 Hz"),
        (lambda: MelPower(bands=0), "`bands` must be at least 1"),
        (lambda: MelPower()(np.zeros((1, 900, 2))), r"must have shape \(batch, samples, 1\)"),
    ],
)
def test_invalid_rates_bands_and_stereo_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
