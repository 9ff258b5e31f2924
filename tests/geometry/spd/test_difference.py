"""Tests of the symmetric matrix whose norm is a distance of SPD matrices."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_dml.geometry import spd
from keras_dml.geometry.spd import difference

PAIRS = [
    (difference.log_euclidean_difference, spd.log_euclidean_pairwise),
    (difference.affine_invariant_difference, spd.affine_invariant_pairwise),
]


def matrices(seed, n=5):
    x = np.random.default_rng(seed).normal(size=(2, n, 3 * n))
    return x @ x.swapaxes(1, 2) / (3 * n)


@pytest.mark.slow
@pytest.mark.slow_on_jax
@pytest.mark.parametrize(("of", "pairwise"), PAIRS)
@given(seed=st.integers(0, 1000))
def test_its_norm_is_the_distance(of, pairwise, seed):
    x, y = matrices(seed)
    expected = float(np.asarray(pairwise(x[None], y[None]))[0, 0])
    np.testing.assert_allclose(np.linalg.norm(of(x, y)), expected, rtol=1e-5)


@pytest.mark.parametrize(("of", "pairwise"), PAIRS)
def test_it_changes_its_sign_with_the_order_and_turns_with_the_matrices(of, pairwise):
    x, y = matrices(1)
    turn = np.linalg.qr(np.random.default_rng(2).normal(size=x.shape))[0]
    result = of(x, y)
    np.testing.assert_allclose(of(y, x), -result, rtol=0, atol=1e-10)
    np.testing.assert_allclose(
        of(turn @ x @ turn.T, turn @ y @ turn.T), turn @ result @ turn.T, rtol=0, atol=1e-10
    )
    assert not of(x, x).round(12).any()


def test_the_two_agree_where_matrices_commute():
    x, y = np.diag([1.0, 2.0, 3.0]), np.diag([3.0, 1.0, 3.0])
    result = [of(x, y) for of, _ in PAIRS]
    np.testing.assert_allclose(*result, rtol=0, atol=1e-12)


@pytest.mark.slow_on_jax
def test_a_singular_matrix_is_as_far_as_for_the_distance():
    x, y = np.diag([1.0, 1.0]).astype("f4"), np.diag([1.0, 0.0]).astype("f4")
    expected = float(np.asarray(spd.log_euclidean_pairwise(x[None], y[None]))[0, 0])
    result = np.linalg.norm(difference.log_euclidean_difference(x, y))
    np.testing.assert_allclose(result, expected, rtol=1e-5)
