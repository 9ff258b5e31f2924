"""Tests log likelihood ratios of the two-covariance model against SciPy's normal densities."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from keras_dml._backend import ops
from keras_dml.geometry import two_covariance, vector
from tests.gradients import finite_differences, gradients

VARIANCES = np.array([0.0, 0.02, 1.0, 30.0])


def numpy(tensor):
    return np.asarray(ops.convert_to_numpy(tensor))


def expected_ratio(x, y, n, k):
    """Computes the log likelihood ratio from the block covariance of the two means."""
    between = np.diag(VARIANCES)
    x_part, y_part = between + np.eye(4) / n, between + np.eye(4) / k
    together = multivariate_normal(cov=np.block([[x_part, between], [between, y_part]]))
    alone = multivariate_normal(cov=x_part).logpdf(x) + multivariate_normal(cov=y_part).logpdf(y)
    return together.logpdf(np.concatenate([x, y])) - alone


@pytest.mark.parametrize(("n", "k"), [(1, 1), (10, 1), (3, 7)])
def test_ratios_of_means_equal_scipys_densities(rng, n, k):
    x, y = 3 * rng.normal(size=(2, 4))
    actual = two_covariance.log_likelihood_ratio(x, y, VARIANCES, n, k)
    assert actual == pytest.approx(expected_ratio(x, y, n, k), rel=1e-9)


def test_counts_and_vectors_broadcast(rng):
    x, y, counts = rng.normal(size=4), rng.normal(size=(3, 4)), np.array([[1.0], [2.0], [9.0]])
    actual = two_covariance.log_likelihood_ratio(x, y, VARIANCES, 2.0, counts)
    expected = [expected_ratio(x, row, 2, k) for row, (k,) in zip(y, counts, strict=True)]
    np.testing.assert_allclose(actual, expected, rtol=1e-9)


@pytest.mark.parametrize("by_differences", [False, True])
@pytest.mark.parametrize(("dtype", "rtol"), [("float32", 1e-4), ("float64", 1e-10)])
def test_pairs_of_single_recordings_equal_scipys_densities(rng, dtype, rtol, by_differences):
    x, y = 2 * rng.normal(size=(5, 4)), 2 * rng.normal(size=(3, 4))
    parts = (part.astype(dtype) for part in (x, y, VARIANCES))
    parts = [ops.convert_to_tensor(part) for part in parts]
    actual = numpy(two_covariance.pairwise(*parts, by_differences=by_differences))
    assert actual.dtype == dtype
    expected = [[expected_ratio(a, b, 1, 1) for b in y] for a in x]
    np.testing.assert_allclose(actual, expected, rtol=rtol, atol=rtol)


def test_blocks_of_rows_give_the_same_ratios(rng, monkeypatch):
    x, y = (ops.convert_to_tensor(rng.normal(size=(n, 4))) for n in (7, 3))
    variances = ops.convert_to_tensor(VARIANCES)
    expected = numpy(two_covariance.pairwise(x, y, variances))
    monkeypatch.setattr(vector, "DIFFERENCES_BYTES", 2**8)
    actual = numpy(two_covariance.pairwise(x, y, variances, by_differences=True))
    np.testing.assert_allclose(actual, expected, rtol=1e-9)


def test_gradients_of_pairs_equal_finite_differences(rng):
    x, y, weights = rng.normal(size=(3, 4)), rng.normal(size=(2, 4)), rng.normal(size=(3, 2))
    x[0] = y[0]

    def value(x, y):
        variances = ops.convert_to_tensor(VARIANCES)
        return ops.sum(ops.convert_to_tensor(weights) * two_covariance.pairwise(x, y, variances))

    of_x, of_y = gradients(value, x, y)
    np.testing.assert_allclose(of_x, finite_differences(lambda x: value(x, y), x), rtol=1e-5)
    np.testing.assert_allclose(of_y, finite_differences(lambda y: value(x, y), y), rtol=1e-5)
