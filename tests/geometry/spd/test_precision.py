"""Tests that distances of badly conditioned float32 matrices agree with arithmetic of 60 digits."""

import mpmath
import numpy as np
import pytest

from keras_dml import distances, layers
from keras_dml.geometry import spd
from tests.geometry import matrices

# (steps, channels, scale): covariances of condition 1e2 to 1e6 after ReEig
RECORDINGS = [(8, 10, 4.0), (8, 40, 1.0), (32, 40, 0.3), (64, 20, 1.0)]
OPTIONS = ["affine_invariant", "log_euclidean", "stein"]


def rectified(rng, steps, channels, scale=1.0, count=8):
    """Draws recordings and returns `ReEig()(Covariance()(recordings))`, float32."""
    recordings = scale * rng.normal(size=(count, steps, channels))
    return np.asarray(layers.ReEig()(layers.Covariance()(recordings.astype("float32"))))


def exact_affine_invariant(x, y):
    """Computes the distance of one pair with 60 digits."""
    with mpmath.workdps(60):
        x, y = (mpmath.matrix(side.astype("float64").tolist()) for side in (x, y))
        inverse = mpmath.cholesky(x) ** -1
        values = mpmath.eigsy(inverse * y * inverse.T, eigvals_only=True)
        return float(mpmath.sqrt(sum(mpmath.log(value) ** 2 for value in values)))


def affine_invariant(x, y):
    """Computes all distances from singular values of quotients of Cholesky factors."""
    inverse, factor = np.linalg.inv(np.linalg.cholesky(x)), np.linalg.cholesky(y)
    singular = np.linalg.svd(inverse[:, None] @ factor[None], compute_uv=False)
    return np.sqrt(((2 * np.log(singular)) ** 2).sum(-1))


def log_euclidean(x, y):
    x, y = (matrices.by_eigh(np.log, side) for side in (x, y))
    return np.linalg.norm(x[:, None] - y[None], axis=(2, 3))


def stein(x, y):
    middle = np.linalg.slogdet((x[:, None] + y[None]) / 2)[1]
    return np.sqrt(middle - np.linalg.slogdet(x)[1][:, None] / 2 - np.linalg.slogdet(y)[1] / 2)


REFERENCES = {"affine_invariant": affine_invariant, "log_euclidean": log_euclidean, "stein": stein}


@pytest.mark.slow_on_jax
def test_the_reference_agrees_with_60_digits(rng):
    x = rectified(rng, 8, 10)
    for i in (1, 2):
        expected = exact_affine_invariant(x[0], x[i])
        single = affine_invariant(*x[[0, i], None].astype("float64"))[0, 0]
        assert single == pytest.approx(expected, rel=1e-7)
        assert float(spd.affine_invariant(x[0], x[i])) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("name", OPTIONS)
def test_distances_of_rectified_covariances_are_right_in_float32(rng, name):
    pairwise = matrices.quick(getattr(spd, f"{name}_pairwise"))
    for steps, channels, scale in RECORDINGS:
        x = rectified(rng, steps, channels, scale)
        table = np.asarray(pairwise(x[:4], x[4:]))
        turned = np.asarray(pairwise(x[4:], x[:4])).T
        expected = REFERENCES[name](*np.split(x.astype("float64"), 2))
        assert table.dtype == np.float32
        np.testing.assert_allclose(table, expected, rtol=1e-5)
        np.testing.assert_allclose(table, turned, rtol=1e-6)
        np.testing.assert_array_equal(table.argmin(1), expected.argmin(1))


@pytest.mark.parametrize("top", [1.0, 30.0, 200.0])
def test_values_and_gradients_where_a_pair_spans_more_than_float32_resolves(top):
    x, y = (np.diag(d).astype("float32") for d in ([1e-4, top, 1.0], [top, 1e-4, 1.0]))
    distance, (in_x, in_y) = matrices.with_gradients(spd.affine_invariant, 1, x, y)
    span = np.log(top / 1e-4)
    assert float(distance) == pytest.approx(np.sqrt(2) * span, rel=1e-6)
    slope = np.sqrt(0.5) * np.array([span, -span, 0]) / span  # d log(l) / d log(y), scaled
    np.testing.assert_allclose(in_y, np.diag(slope / np.diag(y)), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(in_x, np.diag(-slope / np.diag(x)), rtol=1e-5, atol=1e-6)


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("name", OPTIONS)
def test_gradients_at_bad_conditions_are_those_of_float64(rng, name):
    x = rectified(rng, 8, 20)
    weights = rng.normal(size=(4, 4))
    pairwise = getattr(spd, f"{name}_pairwise")
    _, expected = matrices.with_gradients(pairwise, weights, *np.split(x.astype("float64"), 2))
    _, gradients = matrices.with_gradients(pairwise, weights, *np.split(x, 2))
    for gradient, exact in zip(gradients, expected, strict=True):
        np.testing.assert_allclose(gradient, exact, rtol=0, atol=1e-5 * np.abs(exact).max())


def test_rectified_matrices_are_exactly_symmetric(rng):
    x = rectified(rng, 8, 40)
    np.testing.assert_array_equal(x, x.swapaxes(1, 2))


def singular_covariances(rng, kind, dtype):
    """Draws 12 singular covariance matrices of 8 channels."""
    x = rng.normal(size=(12, 300, 8)) @ (rng.normal(size=(8, 8)) * np.logspace(0, -1.5, 8))
    if kind == "average reference":
        x = x - x.mean(axis=2, keepdims=True)
    elif kind == "copied channel":
        x[..., 5] = x[..., 2]
    elif kind == "sum of channels":
        x[..., 7] = x[..., 0] + x[..., 1]
    else:
        x = x[:, :6]
    x = x.astype(dtype)
    x = x - x.mean(axis=1, keepdims=True)
    return np.swapaxes(x, 1, 2) @ x / x.shape[1]


@pytest.mark.slow
@pytest.mark.parametrize("dtype", matrices.DTYPES)
@pytest.mark.parametrize(
    "kind", ["average reference", "copied channel", "sum of channels", "few steps"]
)
@pytest.mark.parametrize("name", ["affine_invariant", "stein"])
def test_each_singular_covariance_matrix_is_refused(rng, name, kind, dtype):
    singular = singular_covariances(rng, kind, dtype)
    regular = matrices.spd(rng, 1, 8).astype(dtype)
    for pair in ((singular, regular), (regular, singular)):
        with pytest.raises(ValueError, match="Received 12 singular"):
            distances.get(name)(*pair)
    table = np.asarray(matrices.quick(getattr(spd, f"{name}_pairwise"))(singular, regular))
    assert np.isnan(table).all()


@pytest.mark.slow_on_jax
def test_a_singular_matrix_spoils_no_gradient_of_another(rng):
    x, y = matrices.spd(rng, 3, 4), matrices.spd(rng, 2, 4)
    x[1] = 0
    weights = np.array([[1.0, 2.0], [0.0, 0.0], [3.0, -1.0]])
    for name in ("affine_invariant", "stein"):
        pairwise = getattr(spd, f"{name}_pairwise")
        _, (in_x, in_y) = matrices.with_gradients(pairwise, weights, x, y)
        _, (rest, expected) = matrices.with_gradients(pairwise, weights[::2], x[::2], y)
        np.testing.assert_allclose(in_y, expected, rtol=1e-9)
        np.testing.assert_allclose(in_x[::2], rest, rtol=1e-9)
