"""Tests the layers KeystrokeResiduals and KeystrokeStatistics with loops over key presses."""

import numpy as np
import pytest

from keras_dml._backend import keras, ops
from keras_dml.layers import KeystrokeResiduals, KeystrokeStatistics

A, B, SPACE, BACKSPACE, OTHER_KEY = 65, 66, 32, 8, 300
KNOTS = (0.05, 0.15, 0.25, 0.35, 0.5, 0.65, 0.75, 0.85, 0.95)
FINGERS = {A: 0, B: 3, SPACE: 8, BACKSPACE: 9, OTHER_KEY: 11}
COLUMNS = {A: 0, B: 1, SPACE: 26, BACKSPACE: 27, OTHER_KEY: 34}


def numpy(tensor):
    return np.asarray(ops.convert_to_numpy(tensor))


def typing(rng, steps):
    """Returns random key presses of five keys."""
    holds, gaps = rng.uniform(0.02, 0.3, steps), rng.uniform(0.01, 0.5, steps)
    gaps[0] = 0
    keys = rng.choice(list(FINGERS), steps)
    return np.stack([holds, gaps, keys], axis=1).astype("float32")


def fitted(*recordings):
    layer = KeystrokeResiduals()
    layer.adapt(recordings)
    return layer


def test_times_are_logarithms_of_seconds(rng):
    typed = typing(rng, 9)
    layer = KeystrokeResiduals()
    layer.build((None, 9, 3))
    times = numpy(layer(typed[None]))[0, :, :3]
    low, high = (-1.5, -1.5, -2.5), (1.5, 2.0, 3.0)
    for t, (hold, gap, _) in enumerate(typed):
        flight = gap - typed[t - 1, 0]
        expected = np.log(hold), np.log(gap or 1), np.sign(flight) * np.log1p(abs(flight) / 0.05)
        expected = np.clip(expected if t else (np.log(hold), 0, 0), low, high)
        np.testing.assert_allclose(times[t], expected, rtol=1e-4, atol=1e-5)


@pytest.mark.slow_on_jax
def test_usual_times_are_means_of_keys_and_of_pairs_of_keys():
    """Many equal key presses leave no difference from the usual times."""
    typed = np.tile(np.float32([[0.1, 0.2, A], [0.2, 0.4, B]]), (3000, 1))
    residuals = numpy(fitted(typed)(typed[None]))[0, 1:, :3]
    assert np.abs(residuals).max() < 0.02
    slower = typed.copy()
    slower[:, 0] *= 2
    residuals = numpy(fitted(typed)(slower[None]))[0, 1:, :3]
    np.testing.assert_allclose(residuals[:, 0], np.log(2), rtol=0, atol=0.02)


@pytest.mark.slow_on_jax
def test_a_rare_pair_of_keys_has_nearly_the_mean_time_of_its_second_key(rng):
    often = np.tile(np.float32([[0.1, 0.2, A]]), (5000, 1))
    rare = np.float32([[0.1, 0, B], [0.1, 0.4, A]])
    difference = numpy(fitted(often, rare)(rare[None]))[0, 1, 1]
    assert 0.9 * np.log(2) < difference < np.log(2)


def test_a_time_of_0_is_unknown(rng):
    typed = np.tile(np.float32([[0.1, 0.2, A]]), (4, 1))
    typed[0, 1], typed[1, 0], typed[3, 1] = 0, 0, 0
    is_known = numpy(KeystrokeResiduals()(typed[None]))[0, :, 3:6]
    np.testing.assert_array_equal(is_known, [[1, 0, 0], [0, 1, 1], [1, 1, 0], [1, 0, 0]])


def test_the_key_and_the_previous_key_are_one_hot(rng):
    typed = typing(rng, 30)
    outputs = numpy(KeystrokeResiduals()(typed[None]))[0]
    columns = [COLUMNS[int(key)] for key in typed[:, 2]]
    np.testing.assert_array_equal(outputs[:, 6:41], np.eye(35)[columns])
    np.testing.assert_array_equal(outputs[1:, 41:], outputs[:-1, 6:41])
    assert (outputs[0, 41:] == 0).all()


@pytest.mark.slow_on_jax
def test_statistics_equal_those_of_a_loop(rng):
    typed = typing(rng, 60)
    residuals = numpy(fitted(typed)(typed[None]))
    actual = numpy(KeystrokeStatistics()(residuals))[0]
    times, is_known, keys = residuals[0, :, :3], residuals[0, :, 3:6] > 0, typed[:, 2].astype(int)
    letter, previous = np.isin(keys, (A, B)), np.concatenate([[-1], keys[:-1]])
    groups = [(0, keys > 0), (0, letter), (0, keys == SPACE)]
    pairs = (keys > 0, letter & np.isin(previous, (A, B)), keys == SPACE, previous == SPACE)
    groups += [(time, pair) for time in (1, 2) for pair in pairs]
    expected = [_quantiles(times[is_known[:, j] & members, j]) for j, members in groups]
    np.testing.assert_allclose(actual[:99], np.concatenate(expected), rtol=1e-4, atol=1e-5)
    centered = times - [times[is_known[:, j], j].mean() for j in range(3)]
    for key, column in COLUMNS.items():
        rows = is_known[:, 0] & (keys == key)
        expected = centered[rows, 0].sum() / (rows.sum() + 4)
        np.testing.assert_allclose(actual[99 + column], expected, rtol=1e-4, atol=1e-5)
    for j, start in ((1, 134), (2, 278)):
        for first, before in FINGERS.items():
            for second, finger in FINGERS.items():
                rows = is_known[:, j] & (previous == first) & (keys == second)
                expected = centered[rows, j].sum() / (rows.sum() + 4)
                cell = actual[start + 12 * before + finger]
                np.testing.assert_allclose(cell, expected, rtol=1e-4, atol=1e-5)


def _quantiles(values):
    """Returns the quantiles of a sample whose n-th smallest value has the probability
    `(n - 1) / N`, by interpolation."""
    ranks = np.arange(len(values) + 1) / len(values)
    return np.interp(KNOTS, ranks, np.sort(np.append(values, values.max())))


def test_a_recording_without_a_group_has_the_quantiles_of_all_keys(rng):
    typed = typing(rng, 20)
    typed[:, 2] = OTHER_KEY
    statistics = numpy(KeystrokeStatistics()(fitted(typed)(typed[None])))[0, :99].reshape(11, 9)
    for group in (1, 2):
        np.testing.assert_array_equal(statistics[group], statistics[0])
    for group in (4, 5, 6):
        np.testing.assert_array_equal(statistics[group], statistics[3])


def test_a_single_key_press_gives_finite_statistics():
    typed = np.float32([[[0.0, 0.0, A]]])
    statistics = numpy(KeystrokeStatistics()(KeystrokeResiduals()(typed)))
    assert statistics.shape == (1, 422) and np.isfinite(statistics).all()


def test_a_recording_without_a_step_gives_nan(rng):
    residuals = KeystrokeResiduals()(typing(rng, 5)[None])
    statistics = numpy(KeystrokeStatistics()(residuals, mask=np.zeros((1, 5), bool)))
    assert np.isnan(statistics).all()


@pytest.mark.slow_on_jax
def test_masked_steps_change_nothing(rng):
    typed = typing(rng, 20)
    layer, statistics = fitted(typed), KeystrokeStatistics()
    expected = numpy(statistics(layer(typed[None, :12])))
    mask = np.arange(20)[None] < 12
    typed[12:] = np.nan
    actual = numpy(statistics(layer(typed[None], mask=mask), mask=mask))
    np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("shape", [(None, None, 4), (None, 3)])
def test_key_presses_of_other_shapes_are_refused(shape):
    with pytest.raises(ValueError, match=r"shape \(batch, time, 3\)"):
        KeystrokeResiduals().build(shape)


@pytest.mark.parametrize("shape", [(None, None, 75), (None, 76)])
def test_residuals_of_other_shapes_are_refused(shape):
    with pytest.raises(ValueError, match="KeystrokeResiduals"):
        KeystrokeStatistics().build(shape)


def test_adapting_to_no_recordings_is_refused():
    with pytest.raises(ValueError, match="empty"):
        KeystrokeResiduals().adapt([])


@pytest.mark.slow
def test_a_model_of_both_loads_in_safe_mode(rng, tmp_path):
    typed = typing(rng, 20)
    signal = keras.Input((None, 3))
    layer = fitted(typed)
    model = keras.Model(signal, KeystrokeStatistics()(layer(signal)))
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(numpy(loaded(typed[None])), numpy(model(typed[None])))
