"""Compares distances, quantiles, intervals, tests, matrix functions and spectra with SciPy."""

import itertools
import warnings

import numpy as np
import pytest
import scipy.fft
import scipy.linalg
import scipy.signal
import scipy.stats
from scipy.spatial.distance import jensenshannon
from scipy.stats.mstats import mquantiles

from keras_dml import evaluation
from keras_dml._backend import ops
from keras_dml.evaluation._intervals import independent_pairs
from keras_dml.geometry import spd
from keras_dml.geometry.quantile import divergences, evaluate, quantiles, wasserstein
from keras_dml.geometry.signals.spectrum import power_spectrum
from keras_dml.geometry.spd import stiefel
from tests.evaluation.people import claims
from tests.geometry import matrices
from tests.parity.step_functions import as_quantile_functions


def numpy(tensor):
    return np.asarray(ops.convert_to_numpy(tensor))


# ---- distributions ----------------------------------------------------------------------------


def test_wasserstein_distances_of_weighted_samples(rng):
    for n, m, scale in ((1, 1, 1), (3, 8, 1), (20, 20, 1e-12), (7, 50, 1e12)):
        x, y = scale * rng.normal(size=n), scale * rng.gamma(2, size=m)
        for x_weights, y_weights in ((None, None), (rng.uniform(size=n), rng.uniform(size=m))):
            first, second, knots = as_quantile_functions(x, y, x_weights, y_weights)
            expected = scipy.stats.wasserstein_distance(x, y, x_weights, y_weights)
            result = float(wasserstein.distance(first, second, knots))
            assert result == pytest.approx(expected, rel=1e-9), (n, m, scale)


def test_quantiles_are_those_of_one_of_scipys_definitions(rng):
    """Compares quantiles with `mquantiles(alphap=1, betap=0)`.

    Order statistic n is at (n - 1) / N, and the last order statistic extends to 1.
    """
    knots = np.sort(np.concatenate([[0, 1], rng.uniform(size=9), np.arange(8) / 7]))
    for steps in (1, 2, 7, 50):
        x = rng.normal(size=(2, steps, 3))
        x[1, :, 0] = 2.5  # a constant channel
        x[1, :, 1] = np.round(x[1, :, 1])  # ties
        result = numpy(quantiles(x, knots))
        for recording, channel in np.ndindex(2, 3):
            expected = mquantiles(x[recording, :, channel], knots, alphap=1, betap=0)
            np.testing.assert_allclose(result[recording, channel], expected, rtol=0, atol=1e-12)


def test_quantile_functions_between_knots(rng):
    knots = np.concatenate([[0], np.sort(rng.uniform(size=6)), [1]])
    values, places = np.sort(rng.normal(size=8)), rng.uniform(size=50)
    expected = np.interp(places, knots, values)
    np.testing.assert_allclose(evaluate(values, knots, places), expected, rtol=1e-12)


def test_divergences_of_histograms(rng):
    """Compares divergences between histograms. The mass of each cell is spread evenly over a width
    of 1, so that only the masses matter.
    """
    p, q = rng.dirichlet(np.ones(5), size=2)
    edges = np.arange(6.0)
    knots = np.union1d(np.cumsum(p)[:-1], np.cumsum(q)[:-1])
    knots = np.concatenate([[0], knots, [1]])
    x, y = (np.interp(knots, np.concatenate([[0], np.cumsum(mass)]), edges) for mass in (p, q))
    expected = scipy.stats.entropy(p, q)
    assert divergences.kullback_leibler(x, y, knots) == pytest.approx(expected, rel=1e-9)
    expected = jensenshannon(p, q) ** 2
    assert divergences.jensen_shannon(x, y, knots) == pytest.approx(expected, rel=1e-9)


# ---- intervals and tests ----------------------------------------------------------------------


def test_clopper_pearson_intervals_of_false_accept_rates():
    """Compares the binomial interval for whole and fractional numbers of pairs."""
    for accepted, trials in ((1, 100), (5, 100), (50, 1000), (3, 61)):
        scores = np.concatenate([[0.5], np.arange(1.0, trials + 1)])
        genuine = np.arange(trials + 1) == 0
        threshold = evaluation.threshold_at_far(scores, genuine, accepted / trials)
        low = scipy.stats.beta.ppf(0.025, accepted, trials - accepted + 1)
        high = scipy.stats.beta.ppf(0.975, accepted + 1, trials - accepted)
        exact = scipy.stats.binomtest(accepted, trials).proportion_ci(0.95, method="exact")
        assert threshold.value == accepted
        np.testing.assert_allclose(threshold.far_ci95, (low, high), rtol=1e-13)
        # SciPy's `proportion_ci` searches the limits with a tolerance of 1e-12
        np.testing.assert_allclose(threshold.far_ci95, (exact.low, exact.high), rtol=0, atol=2e-12)


def test_the_parts_of_korn_and_graubards_number_of_pairs():
    """Tests the number of independent pairs, which the test computes step by step with SciPy's
    distributions.
    """
    scores, people = claims(np.random.default_rng(3), 20, 0.3)
    threshold = float(np.quantile(scores, 0.1))
    result = evaluation.false_accepts(scores, people, threshold)
    first, second = np.minimum(*people), np.maximum(*people)
    pairs = np.array(sorted(set(zip(first.tolist(), second.tolist(), strict=True))))
    accepted = np.array(
        [np.mean(scores[(first == a) & (second == b)] <= threshold) for a, b in pairs]
    )
    rate = accepted.mean()
    beyond = [np.sum((accepted - rate)[(pairs == person).any(axis=1)]) for person in range(20)]
    squares = np.square(beyond)
    freedom = min(19, squares.sum() ** 2 / np.square(squares).sum())
    shrinkage = (scipy.stats.norm.ppf(0.975) / scipy.stats.t.ppf(0.975, freedom)) ** 2
    variance = squares.sum() / len(pairs) ** 2
    expected = np.clip(shrinkage * rate * (1 - rate) / variance, 10, len(pairs))
    assert result.rate == pytest.approx(rate)
    assert result.independent == pytest.approx(expected, rel=1e-9)
    assert independent_pairs(accepted, pairs, 20) == pytest.approx(expected, rel=1e-9)


def mmd2(kernel, x, y):
    """Computes the unbiased squared maximum mean discrepancy by its definition."""
    within = [
        np.sum(kernel(side, side)[~np.eye(len(side), dtype=bool)]) / (len(side) * (len(side) - 1))
        for side in (x, y)
    ]
    return within[0] + within[1] - 2 * np.mean(kernel(x, y))


def test_the_permutation_test_of_two_samples(rng):
    """Compares random permutations with SciPy, which uses each of the 252 splits once."""

    def kernel(a, b):
        return np.exp(-np.square(a.reshape(-1, 1) - b.reshape(1, -1)) / 2)

    for shift in (0.0, 1.0, 3.0):
        x, y = rng.normal(size=5), shift + rng.normal(size=5)
        exact = scipy.stats.permutation_test(
            (x, y),
            lambda first, second: mmd2(kernel, first, second),
            alternative="greater",
            n_resamples=np.inf,
            vectorized=False,
        )
        people = range(5), range(5, 10)
        result = evaluation.two_samples(
            kernel, x[:, None], y[:, None], people=people, permutations=9999
        )
        assert result.mmd2 == pytest.approx(exact.statistic, rel=1e-9)
        assert result.p_value == pytest.approx(exact.pvalue, abs=4 * 0.5 / np.sqrt(9999))


def test_the_area_under_the_curve_is_that_of_mann_and_whitney(rng):
    for decimals in (0, 1, 8):  # many ties, some ties, no ties
        scores, genuine = np.round(rng.normal(size=60), decimals), np.arange(60) < 25
        u = scipy.stats.mannwhitneyu(scores[~genuine], scores[genuine]).statistic
        assert evaluation.verification(scores, genuine).auc == pytest.approx(u / (25 * 35))


# ---- matrix functions -------------------------------------------------------------------------


def logm(x):
    """Computes SciPy's matrix logarithm, and suppresses the warning that a result with a residual
    of 1e-13 may be inaccurate.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "logm result may be inaccurate")
        return scipy.linalg.logm(x)


MATRIX_FUNCTIONS = {
    "log": (spd.log, logm),
    "sqrt": (spd.sqrt, scipy.linalg.sqrtm),
    "inverse_sqrt": (spd.inverse_sqrt, lambda x: scipy.linalg.fractional_matrix_power(x, -0.5)),
    "power": (lambda x: spd.power(x, 0.3), lambda x: scipy.linalg.fractional_matrix_power(x, 0.3)),
    "nuclear_norm": (spd.nuclear_norm, lambda x: scipy.linalg.svdvals(x).sum()),
}


@pytest.mark.parametrize("name", MATRIX_FUNCTIONS)
def test_functions_of_definite_matrices(rng, name):
    function, peer = MATRIX_FUNCTIONS[name]
    for spread, n, scale in ((1, 1, 1.0), (6, 3, 1.0), (3, 12, 1e-12), (3, 4, 1e12)):
        x = scale * matrices.spd(rng, 2, n, spread=spread)
        expected = np.real([peer(matrix) for matrix in x])
        limit = 1e-9 * np.abs(expected).max()
        np.testing.assert_allclose(function(x), expected, rtol=0, atol=limit, err_msg=f"n {n}")


def test_the_exponential_and_its_inverse(rng):
    for scale, n in itertools.product((1e-3, 1, 20), (1, 4)):
        x = spd.symmetric(scale * rng.normal(size=(2, n, n)))
        expected = scipy.linalg.expm(numpy(x))
        limit = 1e-11 * np.abs(expected).max()
        np.testing.assert_allclose(spd.exp(x), expected, rtol=0, atol=limit)
    np.testing.assert_allclose(spd.log(spd.exp(x / 20)), x / 20, rtol=0, atol=1e-9)


def test_derivatives_of_matrix_functions_are_those_of_frechet(rng):
    """Compares gradients with Fréchet derivatives, also for equal eigenvalues.

    The gradient G of `sum(W * f(X))` is the Fréchet derivative `D[f](X, W)`.
    """
    weights = numpy(spd.symmetric(rng.normal(size=(3, 3))))
    for spectrum in ([0.5, 1, 3], [1, 1, 2], [1, 1, 1]):
        x = matrices.with_spectrum(rng, spectrum)
        _, (gradient,) = matrices.with_gradients(spd.exp, weights, x)
        expected = scipy.linalg.expm_frechet(x, weights, compute_expm=False)
        np.testing.assert_allclose(gradient, expected, rtol=0, atol=1e-9)
        _, (gradient,) = matrices.with_gradients(spd.log, weights, x)
        back = scipy.linalg.expm_frechet(logm(x), gradient, compute_expm=False)
        np.testing.assert_allclose(back, weights, rtol=0, atol=1e-8)


def test_polynomial_functions_keep_the_digits_of_float32(rng):
    for spread, scale in ((1, 1.0), (3, 1e-6), (3, 1e6)):
        x = scale * matrices.spd(rng, 3, 5, spread=spread)
        for function, peer in (
            (spd.polynomial.sqrt, scipy.linalg.sqrtm),
            (spd.polynomial.log, logm),
        ):
            expected = np.real([peer(matrix) for matrix in x])
            result = function(x.astype("float32"))
            limit = 2e-4 * np.abs(expected).max()
            np.testing.assert_allclose(result, expected, rtol=0, atol=limit)


def test_frames_on_the_stiefel_manifold(rng):
    x = rng.normal(size=(5, 3))
    np.testing.assert_allclose(stiefel.polar(x), scipy.linalg.polar(x)[0], rtol=0, atol=1e-9)
    frame, triangle = scipy.linalg.qr(x, mode="economic")
    expected = frame * np.sign(np.diag(triangle))
    np.testing.assert_allclose(stiefel.qr(x), expected, rtol=0, atol=1e-12)


# ---- spectra ----------------------------------------------------------------------------------


def test_power_spectra_of_any_length(rng):
    for samples in (1, 2, 3, 17, 24, 37, 200, 400, 401, 512, 961):
        x = rng.normal(size=(2, samples))
        expected = np.abs(scipy.fft.rfft(x)) ** 2
        result = numpy(power_spectrum(x))
        np.testing.assert_allclose(result, expected, rtol=0, atol=1e-10 * samples**2)
        result = numpy(power_spectrum(x.astype("float32")))
        np.testing.assert_allclose(result, expected, rtol=0, atol=2e-5 * expected.max())


def test_a_periodogram_is_the_power_spectrum_in_units_of_density(rng):
    """Compares power spectra with SciPy.

    SciPy doubles the power at each frequency, except at 0 and, for even lengths, at half the sample
    rate.
    """
    rate = 100.0
    for samples in (50, 51):
        x = rng.normal(size=samples)
        _, expected = scipy.signal.periodogram(x, rate, window="boxcar", detrend=False)
        sides = np.full(samples // 2 + 1, 2.0)
        sides[0] = 1
        if samples % 2 == 0:
            sides[-1] = 1
        result = sides * numpy(power_spectrum(x[None]))[0] / (rate * samples)
        np.testing.assert_allclose(result, expected, rtol=0, atol=1e-12)
