"""Compares correlations from sums over blocks with correlations of the whole signal."""

import numpy as np
import pytest

from keras_dml._backend import ops
from keras_dml.geometry.signals import correlation, running_correlation

LAGS, RIDGE, CHANNELS = (0, 1, 3, 8), 0.01, 2


def by_blocks(signal, block):
    """Returns the standard deviations and the correlations of a signal that arrives in blocks."""
    shapes = running_correlation.shapes(signal.shape[1], LAGS)
    sums = running_correlation.Sums(*(np.zeros(shape, signal.dtype) for shape in shapes))
    for start in range(0, len(signal), block):
        count = np.asarray(start, signal.dtype)
        part = signal[start : start + block]
        sums = running_correlation.updated(sums, part, count, LAGS)
    count = np.asarray(len(signal), signal.dtype)
    result = running_correlation.correlations(sums, count, LAGS, RIDGE)
    return [ops.convert_to_numpy(values) for values in result]


@pytest.mark.parametrize("steps, block", [(24, 1), (24, 4), (24, 12), (24, 24), (6, 2), (1, 1)])
def test_sums_over_blocks_give_the_correlations_of_the_signal(rng, steps, block):
    """Tests blocks that are shorter and longer than lags, and signals that are shorter."""
    signal = 5 + np.cumsum(rng.normal(size=(steps, CHANNELS)), axis=0)
    expected = correlation.lagged_correlations(signal[None], None, LAGS, RIDGE)
    for actual, values in zip(by_blocks(signal, block), expected, strict=True):
        np.testing.assert_allclose(actual, ops.convert_to_numpy(values)[0], rtol=1e-9, atol=1e-12)


def test_a_constant_signal_far_from_zero_has_no_variance():
    signal = np.full((2000, CHANNELS), 1234.5, np.float32)
    stddev, values = by_blocks(signal, 50)
    np.testing.assert_allclose(stddev, np.sqrt(RIDGE), rtol=1e-6)
    np.testing.assert_array_equal(values, 0)
