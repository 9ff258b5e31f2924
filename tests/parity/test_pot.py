"""Compares one-dimensional Wasserstein distances and barycenters with POT."""

import itertools

import numpy as np
import ot
import pytest

from keras_dml._backend import ops
from keras_dml.distances import Wasserstein
from keras_dml.geometry.quantile import quantiles, wasserstein
from keras_dml.geometry.quantile.barycenter import barycenter, mixture
from tests.geometry import matrices
from tests.parity.step_functions import as_quantile_functions

ORDERS = (1, 2, 3)


def numpy(tensor):
    return np.asarray(ops.convert_to_numpy(tensor))


def distance_of_samples(x, y, p, x_weights=None, y_weights=None):
    first, second, knots = as_quantile_functions(x, y, x_weights, y_weights)
    return float(wasserstein.distance(first, second, knots, p))


def of_pot(x, y, p, x_weights=None, y_weights=None):
    """Computes a Wasserstein distance by POT, which returns its p-th power."""
    return float(ot.wasserstein_1d(x, y, x_weights, y_weights, p=p)) ** (1 / p)


def samples(rng):
    """Draws pairs of samples, and returns them as a dict with their names."""
    return {
        "equal lengths": rng.normal(size=(2, 9)),
        "unequal lengths": (rng.normal(size=7), rng.gamma(2, size=12)),
        "one value each": (np.array([2.0]), np.array([-3.0])),
        "one value and many": (np.array([0.5]), rng.normal(size=8)),
        "a constant": (np.full(5, 1.5), rng.normal(size=8)),
        "two constants": (np.full(5, 1.5), np.full(3, -1.5)),
        "ties": (rng.integers(0, 3, 10).astype(float), rng.integers(0, 3, 14).astype(float)),
        "shifted": (np.arange(6.0), np.arange(6.0) + 0.25),
        "crossing": (np.array([0.0, 10.0]), np.array([4.0, 5.0, 6.0])),
        "one point moves": (np.array([0.0, 1.0]), np.array([0.0, 0.0])),
    }


@pytest.mark.slow
@pytest.mark.parametrize("p", ORDERS)
def test_distances_of_samples(rng, p):
    for (name, (x, y)), scale in itertools.product(samples(rng).items(), (1, 1e-12, 1e12)):
        result = distance_of_samples(scale * x, scale * y, p)
        expected = of_pot(scale * x, scale * y, p)
        assert result == pytest.approx(expected, rel=1e-9), f"{name}, scale {scale}"
        assert distance_of_samples(scale * y, scale * x, p) == pytest.approx(result, rel=1e-12)
        assert distance_of_samples(scale * x, scale * x[::-1], p) == 0, name


@pytest.mark.parametrize("p", ORDERS)
def test_distances_of_weighted_samples(rng, p):
    for name, (x, y) in samples(rng).items():
        x_weights, y_weights = rng.dirichlet(np.ones(len(x))), rng.dirichlet(np.ones(len(y)))
        result = distance_of_samples(x, y, p, x_weights, y_weights)
        expected = of_pot(x, y, p, x_weights, y_weights)
        assert result == pytest.approx(expected, rel=1e-6), name
        ones = distance_of_samples(x, y, p, np.ones(len(x)), np.ones(len(y)))
        assert ones == pytest.approx(distance_of_samples(x, y, p), rel=1e-12), name


@pytest.mark.parametrize("p", ORDERS)
@pytest.mark.parametrize("dtype", matrices.DTYPES)
def test_distance_matrices_of_embeddings(rng, dtype, p):
    """Tests that the distance between embeddings with several filters is the sum of the filters'
    distances.
    """
    x, y = rng.normal(size=(4, 3, 10)), rng.normal(size=(5, 3, 10))
    expected = [
        [sum(of_pot(a, b, p) for a, b in zip(first, second, strict=True)) for second in y]
        for first in x
    ]
    knots = np.repeat(np.arange(11) / 10, 2)[1:-1]
    rows = [
        np.concatenate([np.repeat(np.sort(side), 2, axis=2), np.tile(knots, (len(side), 1, 1))], 1)
        for side in (x, y)
    ]
    result = wasserstein.pairwise(*(side[:, :-1].astype(dtype) for side in rows), knots, p)
    np.testing.assert_allclose(result, expected, rtol=1e-9 if dtype == "float64" else 1e-5)
    # The check of embeddings requires ascending knots.
    rows[0][:, -1] = rows[1][:, -1] = knots + 1e-9 * np.arange(20)
    embedded = Wasserstein(p)(*(side.astype("float64") for side in rows))
    np.testing.assert_allclose(embedded, expected, rtol=1e-6)


def test_quantile_functions_of_recordings_are_interpolated():
    """Tests that the distance between linear quantile functions differs from the distance between
    step functions.

    For the same two recordings the distance is 0.75 in keras-dml and 0.5 in POT.
    """
    x, y, knots = np.array([0.0, 1.0]), np.array([0.0, 0.0]), np.array([0, 0.5, 1])
    first, second = (numpy(quantiles(side[None, :, None], knots))[0] for side in (x, y))
    assert float(wasserstein.distance(first, second, knots)) == pytest.approx(0.75)
    assert of_pot(x, y, 1) == distance_of_samples(x, y, 1) == pytest.approx(0.5)


def test_interpolation_moves_a_distance_by_at_most_half_a_step_of_each_recording(rng):
    """Tests that distances with linear interpolation approach the distances of step functions for
    longer recordings.

    A linear interpolation differs from a step function by `(max - min) / (2 steps)` on average.
    """
    for n, m in ((2, 2), (3, 7), (20, 30), (400, 500)):
        x, y = rng.normal(size=n), 0.5 + rng.normal(size=m)
        knots = np.union1d(np.arange(n + 1) / n, np.arange(m + 1) / m)
        first, second = (numpy(quantiles(side[None, :, None], knots))[0] for side in (x, y))
        result = float(wasserstein.distance(first, second, knots))
        bound = np.ptp(x) / (2 * n) + np.ptp(y) / (2 * m)
        assert abs(result - of_pot(x, y, 1)) <= bound * (1 + 1e-9), (n, m)


def test_infinite_values_give_no_finite_distance():
    """Tests that a recording with an infinite value has an embedding of NaN in keras-dml.

    POT and SciPy return inf or NaN for distances from a recording with an infinite value.
    """
    x, y = np.array([0.0, np.inf]), np.array([0.0, 1.0])
    with np.errstate(invalid="ignore"):
        assert not np.isfinite(of_pot(x, y, 1))
    assert not np.isfinite(distance_of_samples(x, y, 1))
    assert np.isnan(numpy(quantiles(x[None, :, None], np.array([0, 0.5, 1])))).all()


def objective(values, point, weights, p):
    """Computes the weighted sum of the p-th powers of POT's distances from a point."""
    powers = [ot.wasserstein_1d(row, point, p=p) for row in values]
    return float(np.dot(weights, powers))


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("count", [2, 3, 4, 5])
def test_barycenters_reach_the_least_cost_of_pots_linear_program(rng, p, count):
    """Compares barycenters with POT's linear program, which is exact on a grid.

    The values of the samples are multiples of `count`, so that means of the samples are on the
    grid.
    """
    grid = np.arange(0, 6 * count, dtype=float)
    values = np.sort(count * rng.integers(0, 6, size=(count, 4)), axis=1).astype(float)
    masses = np.stack([(grid[:, None] == row).mean(axis=1) for row in values], axis=1)
    for weights in (None, rng.dirichlet(np.ones(count))):
        shares = np.full(count, 1 / count) if weights is None else weights
        if p == 2 and weights is not None:
            continue  # because a weighted mean is not on the grid
        costs = np.abs(grid[:, None] - grid) ** p
        solution = ot.lp.barycenter(masses, costs, weights=shares)
        least = sum(
            share * ot.emd2(solution / solution.sum(), mass, costs)
            for share, mass in zip(shares, masses.T, strict=True)
        )
        steps = np.repeat(values, 2, axis=1)[:, None]  # one filter
        point = barycenter(steps, weights, p)[0, ::2]
        assert objective(values, point, shares, p) == pytest.approx(least, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("p", [1, 2])
def test_without_weights_a_barycenter_is_that_of_equal_weights(rng, p):
    """Tests the barycenter of an even number of samples at p = 1.

    All points between the two middle values have the same cost.
    """
    for count in (1, 2, 3, 4, 7, 8):
        values = np.sort(rng.normal(size=(count, 2, 6)), axis=-1)
        expected = barycenter(values, None, p)
        for weights in (np.ones(count), np.full(count, 1 / count), np.full(count, 3.7)):
            np.testing.assert_allclose(barycenter(values, weights, p), expected, rtol=1e-12)
    values = np.array([[[0.0, 1.0, 2.0]], [[3.0, 5.0, 10.0]]])
    np.testing.assert_allclose(barycenter(values, None, p), barycenter(values, [1, 1], p))


def test_weighted_quadratic_barycenters_are_those_of_pots_free_support(rng):
    values, weights = np.sort(rng.normal(size=(3, 5)), axis=1), np.array([0.5, 0.3, 0.2])
    expected = ot.lp.free_support_barycenter(
        [row[:, None] for row in values],
        [np.full(5, 0.2)] * 3,
        np.linspace(-1, 1, 5)[:, None],
        weights=weights,
        numItermax=100,
        stopThr=1e-14,
    )
    np.testing.assert_allclose(barycenter(values[:, None], weights, 2)[0], np.sort(expected[:, 0]))


def test_a_mixture_is_as_far_from_a_sample_as_the_pooled_sample(rng):
    """Tests that a mixture of segments equals the whole recording if the segments are weighted by
    their numbers of steps.
    """
    segments, probe = [rng.normal(size=4), 3 + rng.normal(size=8)], rng.normal(size=5)
    knots = np.linspace(0, 1, 2001)
    values = [
        np.sort(segment)[np.minimum((knots * len(segment)).astype(int), len(segment) - 1)][None]
        for segment in segments
    ]
    pooled = mixture(values, [4, 8], knots)
    steps = np.sort(probe)[np.minimum((knots * 5).astype(int), 4)][None]
    result = float(wasserstein.distance(pooled, steps, knots))
    assert result == pytest.approx(of_pot(np.concatenate(segments), probe, 1), rel=5e-3)
