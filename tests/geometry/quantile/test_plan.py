"""Tests of the contributions of segments and time steps to Wasserstein distances."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_dml.geometry import quantile
from keras_dml.geometry.quantile import plan, wasserstein

ORDERS = [1, 1.5, 2, 3, 7.3]
LEVELS = (np.arange(200_000) + 0.5) / 200_000


def pair(seed, filters=4, inner=5):
    """Returns two embeddings and their knots. One filter is equal in the two embeddings, one is
    shifted, and one is constant."""
    rng = np.random.default_rng(seed)
    knots = np.r_[0.0, np.sort(rng.uniform(size=inner)), 1.0]
    x, y = np.sort(rng.normal(scale=[[[1.0]], [[1.5]]], size=(2, filters, inner + 2)))
    y[0], y[1], y[2] = x[0], x[1] + 1, 0.3
    return x, y, knots


def by_integration(x, y, knots, steps, p):
    """Computes the potential of one filter at many levels, and the contributions of time steps, by
    numerical integration."""
    gap = np.interp(LEVELS, knots, x - y)
    force = p * np.abs(gap) ** (p - 1) * np.sign(gap)
    potential = np.cumsum(force * np.gradient(np.interp(LEVELS, knots, x)))
    cost = np.mean(np.abs(gap) ** p)
    parts = (potential + cost / 2 - potential.mean()) * (cost or 1.0) ** (1 / p - 1)
    return np.bincount((LEVELS * steps).astype(int), parts) / len(LEVELS)


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("p", ORDERS)
@given(seed=st.integers(0, 1000), steps=st.integers(1, 50), scale=st.sampled_from([1e-30, 1, 1e9]))
def test_parts_sum_to_the_distance(p, seed, steps, scale):
    x, y, knots = pair(seed)
    x, y = scale * x, scale * y
    distance = float(wasserstein.distance(x, y, knots, p))
    by_segment = plan.segment_parts(x, y, knots, p)
    assert by_segment.min() >= 0
    np.testing.assert_allclose(by_segment.sum(), distance, rtol=1e-6)
    for first, second in ((x, y), (y, x)):
        by_rank = plan.rank_parts(first, second, knots, steps, p)
        assert by_rank.shape == (len(x), steps)
        np.testing.assert_allclose(by_rank.sum(), distance / 2, rtol=1e-6)
        np.testing.assert_allclose(
            by_rank.sum(axis=1), by_segment.sum(axis=1) / 2, rtol=1e-6, atol=1e-9 * scale
        )


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("p", ORDERS)
def test_parts_by_rank_are_those_of_numerical_integration(p):
    x, y, knots = pair(3)
    result = plan.rank_parts(x, y, knots, 7, p)
    expected = np.array([by_integration(a, b, knots, 7, p) for a, b in zip(x, y, strict=True)])
    np.testing.assert_allclose(result, expected, rtol=0, atol=2e-4 * np.abs(expected).max())


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("p", ORDERS)
def test_identical_embeddings_have_parts_of_zero(p):
    x, _, knots = pair(0)
    assert not plan.segment_parts(x, x, knots, p).any()
    assert not plan.rank_parts(x, x, knots, 9, p).any()


@pytest.mark.slow
@given(seed=st.integers(0, 1000))
def test_a_part_says_what_the_distance_falls_by_when_the_step_is_taken_out(seed):
    """The part of a time step says how much the distance falls if this step is removed, to first
    order. The test removes none of the outermost steps. If an outermost step is removed, the ends
    of the quantile function move, and the distance changes more.
    """
    rng = np.random.default_rng(seed)
    steps, knots = 400, np.linspace(0, 1, 401)
    values = np.sort(rng.normal(size=steps))
    second = np.quantile(rng.normal(0.3, 1.5, 4000), knots)[None]

    def embedded(sample):
        return np.asarray(quantile.quantiles(sample[None, :, None], knots))[0]

    x = embedded(values)
    before = float(wasserstein.distance(x, second, knots))
    parts = plan.rank_parts(x, second, knots, steps)[0]
    excess = parts - parts.mean()
    taken = rng.choice(np.arange(3, steps - 3), 20, replace=False)
    after = [
        float(wasserstein.distance(embedded(np.delete(values, i)), second, knots)) for i in taken
    ]
    fall = before - np.array(after)
    np.testing.assert_allclose(fall, excess[taken], rtol=0, atol=0.2 * np.abs(excess).max())
