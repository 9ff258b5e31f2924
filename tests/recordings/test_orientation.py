"""Tests that npy arrays of shape (channels, time) are transposed, cause an error, or are read with
a note."""

import numpy as np
import pytest

from keras_dml import recordings


@pytest.fixture
def saved(tmp_path):
    def save(*shape, dtype=np.float64):
        values = np.random.default_rng(0).normal(size=shape)
        np.save(tmp_path / "a.npy", (100 * values).astype(dtype))
        return tmp_path / "a.npy", (100 * values).astype(dtype)

    return save


@pytest.mark.parametrize("shape", [(16, 1024), (3, 200), (5, 200), (1, 500), (8, 17)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_channels_first_are_refused_if_nothing_decides(tmp_path, shape, order):
    np.save(tmp_path / "a.npy", np.asarray(np.ones(shape), order=order))
    with pytest.raises(ValueError, match="If the array is \\(channels, time\\)"):
        recordings.read(tmp_path / "a.npy")
    with pytest.raises(ValueError, match="If the array is \\(channels, time\\)"):
        recordings.read(tmp_path / "a.npy", ["1", "5", "2", "4", "3"])


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16])
@pytest.mark.parametrize("count", [2, 3, 16])
def test_an_array_with_channels_first_is_transposed_by_the_number_of_names(saved, count, dtype):
    path, values = saved(count, 400, dtype=dtype)
    for names in ([f"c{i}" for i in range(count)], [str(i + 1) for i in range(count)]):
        turned = recordings.read(path, names)
        np.testing.assert_allclose(turned.values, values.T, rtol=1e-6)
        assert turned.channels == tuple(names) and "was transposed" in turned.notes[0]


def test_a_row_of_one_named_channel_is_transposed(saved):
    path, values = saved(1, 400)
    np.testing.assert_allclose(recordings.read(path, ["sound"]).values, values.T, rtol=1e-6)


@pytest.mark.parametrize("shape", [(400, 3), (16, 16), (20, 12)])
def test_time_first_is_read_without_a_note(saved, shape):
    path, values = saved(*shape)
    for names in (None, [f"c{i}" for i in range(shape[1])]):
        read = recordings.read(path, names)
        np.testing.assert_allclose(read.values, values, rtol=1e-6)
        assert read.notes == ()


def test_a_short_recording_of_many_channels_is_read_with_a_note(saved):
    path, values = saved(7, 12)
    read = recordings.read(path)
    np.testing.assert_allclose(read.values, values, rtol=1e-6)
    assert "fewer steps than channels" in read.notes[0]
    assert recordings.read(path, [f"c{i}" for i in range(12)]).notes == ()
    np.testing.assert_allclose(
        recordings.read(path, [f"c{i}" for i in range(7)]).values, values.T, rtol=1e-6
    )


def test_a_very_short_recording_is_read_if_all_its_channels_are_named(saved):
    path, values = saved(4, 64)
    read = recordings.read(path, [f"c{i}" for i in range(64)])
    np.testing.assert_allclose(read.values, values, rtol=1e-6)


def test_an_array_without_steps_is_refused(saved):
    path, _ = saved(0, 3)
    with pytest.raises(ValueError, match="a.npy"):
        recordings.read(path)
