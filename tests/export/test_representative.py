"""Tests the recordings that calibrate an int8 file. The file must agree with Keras on these
recordings.
"""

import numpy as np
import pytest

from keras_dml import export
from tests.export.conftest import CHANNELS, sample


@pytest.mark.parametrize("representative", [None, []])
def test_int8_asks_for_representative_recordings(small, tmp_path, representative):
    with pytest.raises(ValueError, match="int8 needs `representative`"):
        export.tflite(small, tmp_path / "model.tflite", "int8", representative)


def test_a_representative_recording_that_does_not_fit_is_named(small, tmp_path):
    recordings = [sample(30, CHANNELS), sample(30, CHANNELS + 1)]
    with pytest.raises(ValueError, match="Recording 1 has 4 channels"):
        export.tflite(small, tmp_path / "model.tflite", "int8", recordings)


@pytest.mark.parametrize("shape", [(30, CHANNELS), (2, 2, 30, CHANNELS)])
def test_single_array_is_refused(small, tmp_path, shape):
    with pytest.raises(ValueError, match=r"`representative` is .*a list of arrays.*one element"):
        export.tflite(small, tmp_path / "model.tflite", "int8", np.zeros(shape, np.float32))


@pytest.mark.parametrize("given", [5, {}, iter(())])
def test_values_other_than_recordings_are_refused(small, tmp_path, given):
    with pytest.raises(ValueError, match="`representative"):
        export.tflite(small, tmp_path / "model.tflite", "int8", given)


def test_recordings_may_come_from_a_generator_or_as_one_array_of_several(
    small, tmp_path, monkeypatch
):
    seen = []

    def convert(module, taken, quantization, representative, carried):
        seen.append(representative)
        raise ZeroDivisionError

    monkeypatch.setattr(export._tflite, "convert", convert)
    recordings = np.stack([sample(30, CHANNELS, seed) for seed in range(3)])
    for values in (
        recordings,
        list(recordings),
        iter(recordings),
        recordings.astype(np.float64).tolist(),
    ):
        with pytest.raises(ZeroDivisionError):
            export.tflite(small, tmp_path / "model.tflite", "int8", values)
        np.testing.assert_array_equal(seen.pop(), recordings)


@pytest.mark.parametrize(
    ("odd", "message"),
    [
        (np.full((30, CHANNELS), np.nan), "Recording 20 holds NaN"),
        (np.zeros((30, CHANNELS + 1)), "Recording 20 has 4 channels"),
        (np.zeros(30), "Recording 20 must have shape"),
        (np.ma.masked_less(np.zeros((30, CHANNELS)), 1), "Recording 20 .*masked"),
        (np.full((30, CHANNELS), 1j), "Recording 20 .*complex"),
        (np.full((30, CHANNELS), "1"), "Recording 20 .*<U1"),
    ],
)
def test_all_calibrating_recordings_are_checked(small, tmp_path, odd, message):
    recordings = [sample(30, CHANNELS)] * 20
    with pytest.raises((TypeError, ValueError), match=message):
        export.tflite(small, tmp_path / "model.tflite", "int8", [*recordings, odd])
    assert not any(tmp_path.iterdir())
