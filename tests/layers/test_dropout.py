"""Tests which fraction of units dropout masks drop, whether units are independent, and how masks
depend on the seed.
"""

import numpy as np
import pytest

from keras_dml._backend import keras, ops
from keras_dml.layers.learned_similarity import keep_fraction, keep_mask

RATES = [0.5, 0.25, 0.75, 0.0625, 0.1, 0.3, 1e-4, 0.9999]


def mask_of_seed(shape, rate, seed):
    return next_mask(shape, rate, keras.random.SeedGenerator(seed))


def next_mask(shape, rate, seeds):
    return np.asarray(ops.convert_to_numpy(keep_mask(shape, rate, seeds.next())))


@pytest.mark.parametrize("rate", RATES)
def test_dropped_fraction_is_the_rate_to_the_nearest_256th(rate):
    nearest = min(max(rate, 1 / 256), 255 / 256)
    assert keep_fraction(rate) == pytest.approx(1 - nearest, abs=1 / 512)
    mask = mask_of_seed((100, 1000), rate, 0)
    stddev = np.sqrt(nearest * (1 - nearest) / mask.size)
    assert abs(mask.mean() - keep_fraction(rate)) < 4 * stddev


@pytest.mark.slow
@pytest.mark.parametrize("rate", [0.5, 0.25, 0.0625, 0.1])
def test_units_are_uncorrelated(rate):
    """Tests the correlations of all pairs of 40 units over 4,000 draws."""
    seeds = keras.random.SeedGenerator(0)
    draws = np.stack([next_mask((40,), rate, seeds) for _ in range(4000)])
    correlations = np.corrcoef(draws.T.astype(float)) - np.eye(40)
    assert np.abs(correlations).max() < 5.5 / np.sqrt(4000)


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("shape", [(1,), (7,), (3, 5, 11), (0, 4), (2, 16)], ids=str)
def test_masks_of_any_shape_repeat_with_the_seed(shape):
    first = mask_of_seed(shape, 0.25, 1)
    assert first.shape == shape and first.dtype == bool
    np.testing.assert_array_equal(first, mask_of_seed(shape, 0.25, 1))
    if first.size > 30:
        assert (first != mask_of_seed(shape, 0.25, 2)).any()
