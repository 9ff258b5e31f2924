"""Dropout's decisions: their share, their independence, their seed."""

import numpy as np
import pytest

from keras_dml._backend import keras, ops
from keras_dml.layers import _dropout as dropout

RATES = [0.5, 0.25, 0.75, 0.0625, 0.1, 0.3, 1e-4, 0.9999]


def kept(shape, rate, seed):
    return drawn(shape, rate, keras.random.SeedGenerator(seed))


def drawn(shape, rate, seeds):
    return np.asarray(ops.convert_to_numpy(dropout.kept(shape, rate, seeds.next())))


@pytest.mark.parametrize("rate", RATES)
def test_the_share_is_that_of_the_rate_to_the_nearest_256th(rate):
    nearest = min(max(rate, 1 / 256), 255 / 256)
    assert dropout.kept_fraction(rate) == pytest.approx(1 - nearest, abs=1 / 512)
    found = kept((100, 1000), rate, 0)
    stddev = np.sqrt(nearest * (1 - nearest) / found.size)
    assert abs(found.mean() - dropout.kept_fraction(rate)) < 4 * stddev


@pytest.mark.slow
@pytest.mark.parametrize("rate", [0.5, 0.25, 0.0625, 0.1])
def test_no_unit_tells_of_another(rate):
    """Correlations of all pairs of 40 units over 4,000 draws."""
    seeds = keras.random.SeedGenerator(0)
    draws = np.stack([drawn((40,), rate, seeds) for _ in range(4000)])
    found = np.corrcoef(draws.T.astype(float)) - np.eye(40)
    assert np.abs(found).max() < 5.5 / np.sqrt(4000)


@pytest.mark.parametrize("shape", [(1,), (7,), (3, 5, 11), (0, 4), (2, 16)], ids=str)
def test_any_shape_gets_its_decisions_and_the_same_seed_the_same(shape):
    first = kept(shape, 0.25, 1)
    assert first.shape == shape and first.dtype == bool
    np.testing.assert_array_equal(first, kept(shape, 0.25, 1))
    if first.size > 30:
        assert (first != kept(shape, 0.25, 2)).any()
