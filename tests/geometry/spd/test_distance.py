import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyriemann.geometry import distance as pyriemann

from keras_dml._backend import ops
from keras_dml.geometry import spd
from keras_dml.geometry.spd import pairs
from tests.geometry import matrices
from tests.geometry.matrices import DTYPES
from tests.gradients import finite_differences

DISTANCES = ["affine_invariant", "log_euclidean", "stein"]  # distances of logarithms, without unit
ALL = [*DISTANCES, "bures_wasserstein"]
PYRIEMANN = {
    "affine_invariant": pyriemann.distance_riemann,
    "bures_wasserstein": pyriemann.distance_wasserstein,
    "log_euclidean": pyriemann.distance_logeuclid,
    "stein": pyriemann.distance_logdet,
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("case", ["", "_near", "_wide", "_zero"])
@pytest.mark.parametrize("name", DISTANCES)
def test_golden_distances_and_their_gradients(name, case, dtype):
    example = matrices.example(name + case, dtype)
    if example is None:
        return
    inputs, expected, gradient, tolerance = example
    result, in_both = matrices.with_gradients(getattr(spd, name), 1, *inputs.values())
    assert result.dtype == dtype
    matrices.assert_values(result, expected["value"], tolerance)
    for result, key in zip(in_both, "ab", strict=True):
        if tolerance.get("grad_finite"):
            assert np.isfinite(result).all()
        else:
            matrices.assert_gradients(result, gradient[key], tolerance)


def test_golden_near_stein_distance_by_the_form_that_does_not_cancel():
    inputs, expected, _, tolerance = matrices.example("stein_near", "float64")
    whitener = np.asarray(spd.whitening(inputs["a"]))
    logs = np.log(np.linalg.eigvalsh(whitener @ inputs["b"] @ whitener.T))
    exact = np.sqrt(np.sum(np.log1p(2 * np.sinh(logs / 4) ** 2)))
    assert exact == pytest.approx(expected["value"], rel=tolerance["eigenvalue_form_rtol"])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", DISTANCES)
def test_golden_table(name, dtype):
    inputs, expected, gradient, tolerance = matrices.example("pairwise", dtype)
    result, (_, in_x) = matrices.with_gradients(
        getattr(spd, f"{name}_pairwise"), inputs["weights"], inputs["references"], inputs["x"]
    )
    matrices.assert_values(result, expected[name], tolerance)
    if name == "affine_invariant":
        matrices.assert_gradients(in_x[1], gradient["x[1]"], tolerance)


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("n", [1, 20])
def test_distances_agree_with_pyriemanns(rng, name, n):
    x, y = matrices.spd(rng, 2, 6, n)
    expected = [PYRIEMANN[name](a, b) for a, b in zip(x, y, strict=True)]
    result = matrices.quick(getattr(spd, name))(x, y)
    np.testing.assert_allclose(result, expected, rtol=1e-8)


@pytest.mark.slow
@pytest.mark.slow_on_jax
@pytest.mark.parametrize("name", ALL)
def test_tables_and_their_gradients_are_those_of_single_pairs_in_blocks_or_not(rng, name):
    x, y = matrices.spd(rng, 5, 3), matrices.spd(rng, 4, 3)
    y[0] = x[0]
    weights = rng.normal(size=(5, 4))
    weights[0, 0] = 0  # rounding decides the direction of the gradient at distance 0
    pairs = lambda x, y: getattr(spd, name)(x[:, None], y[None])  # noqa: E731
    blocks = lambda x, y: getattr(spd, f"{name}_pairwise")(x, y, max_bytes=700)  # noqa: E731
    at_once = lambda x, y: getattr(spd, f"{name}_pairwise")(x, y, max_bytes=None)  # noqa: E731
    expected, expected_in_both = matrices.with_gradients(pairs, weights, x, y)
    for table in (at_once, matrices.compiled(blocks)):
        result, in_both = matrices.with_gradients(table, weights, x, y)
        np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-7)
        for result, one_by_one in zip(in_both, expected_in_both, strict=True):
            np.testing.assert_allclose(result, one_by_one, rtol=1e-9, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_gradients_agree_with_finite_differences_at_repeated_eigenvalues(rng, name):
    x, y = np.eye(3), matrices.with_spectrum(rng, [0.5, 0.5, 2])
    distance = matrices.quick(getattr(spd, name))
    _, (in_x, in_y) = matrices.with_gradients(getattr(spd, name), 1, x, y)
    np.testing.assert_allclose(in_x, in_x.T, rtol=0, atol=1e-12)
    expected = finite_differences(lambda v: distance(v, y), x, 1e-4)
    np.testing.assert_allclose(in_x, expected, rtol=0, atol=1e-7)
    expected = finite_differences(lambda v: distance(x, v), y, 1e-4)
    np.testing.assert_allclose(in_y, expected, rtol=0, atol=1e-7)


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ALL)
def test_of_the_identity_to_itself_distance_and_gradient_are_exactly_zero(name, dtype):
    eye = np.eye(3, dtype=dtype)
    result, in_both = matrices.with_gradients(getattr(spd, name), 1, eye, eye)
    assert result == 0
    for gradient in in_both:
        assert (gradient == 0).all()


@pytest.mark.slow_on_jax
@settings(max_examples=8)
@given(st.integers(0, 2**31))
def test_they_are_metrics(seed):
    x = matrices.spd(np.random.default_rng(seed), 8, 4)
    for name in ALL:
        d = np.asarray(matrices.quick(getattr(spd, f"{name}_pairwise"))(x, x))
        np.testing.assert_allclose(d, d.T, rtol=1e-9, atol=1e-6)
        np.testing.assert_allclose(np.diag(d), 0, rtol=0, atol=1e-6)
        assert (d[:, None] <= d[:, :, None] + d[None] + 1e-6).all()


@pytest.mark.slow
@settings(max_examples=8)
@given(st.integers(0, 2**31))
def test_what_leaves_distances_unchanged(seed):
    rng, n = np.random.default_rng(seed), 4
    x, y = matrices.spd(rng, 2, 6, n)
    square = matrices.frames(rng, n) * rng.uniform(0.5, 2, n)
    rotation, scale = matrices.frames(rng, n), rng.uniform(0.1, 10)
    moves = {
        "inversion": np.linalg.inv,
        "congruence": lambda a: square @ a @ square.T,
        "rotation": lambda a: rotation @ a @ rotation.T,
        "scale": lambda a: scale * a,
    }
    for name in DISTANCES:
        distance = matrices.quick(getattr(spd, name))
        for move, moved in moves.items():
            if move == "congruence" and name == "log_euclidean":
                continue
            np.testing.assert_allclose(
                distance(moved(x), moved(y)), distance(x, y), rtol=1e-8, err_msg=f"{name} {move}"
            )


@pytest.mark.slow_on_jax
@settings(max_examples=8)
@given(st.integers(0, 2**31))
def test_the_log_euclidean_distance_is_the_lesser_and_the_same_where_matrices_commute(seed):
    rng = np.random.default_rng(seed)
    x, y = matrices.spd(rng, 2, 6, 4)
    least, most = (matrices.quick(getattr(spd, name)) for name in DISTANCES[1::-1])
    assert (np.asarray(least(x, y)) <= np.asarray(most(x, y)) + 1e-9).all()
    np.testing.assert_allclose(least(x, x @ x), most(x, x @ x), rtol=1e-8)


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("name", ALL)
def test_leading_axes_broadcast(rng, name):
    x, y = matrices.spd(rng, 2, 1, 3), matrices.spd(rng, 4, 3)
    result, (in_x, in_y) = matrices.with_gradients(getattr(spd, name), np.ones((2, 4)), x, y)
    assert result.shape == (2, 4)
    single = matrices.quick(getattr(spd, name))(x[1, 0], y[2])
    np.testing.assert_allclose(result[1, 2], single, rtol=1e-9)
    assert in_x.shape == x.shape
    assert in_y.shape == y.shape


def test_whitening_whitens_and_carries_no_gradient(rng):
    x = matrices.spd(rng, 2, 4)
    whitener = np.asarray(spd.whitening(x))
    result = whitener @ x @ whitener.swapaxes(1, 2)
    np.testing.assert_allclose(result, np.broadcast_to(np.eye(4), x.shape), rtol=0, atol=1e-9)
    plus = lambda x: spd.whitening(x) + x  # noqa: E731
    _, (gradient,) = matrices.with_gradients(plus, np.ones_like(x), x)
    np.testing.assert_array_equal(gradient, np.ones_like(x))


@pytest.mark.parametrize("name", ["affine_invariant", "stein"])
@pytest.mark.parametrize("spectrum", [[-1, 1, 2], [np.nan, 1, 2]])
def test_without_a_factor_the_distance_is_not_a_number_and_spoils_no_other(rng, name, spectrum):
    x, y = matrices.spd(rng, 2, 3), matrices.spd(rng, 3, 3)
    x[0] = matrices.with_spectrum(rng, spectrum)
    table = np.asarray(matrices.quick(getattr(spd, f"{name}_pairwise"))(x, y))
    assert np.isnan(table[0]).all()
    assert np.isfinite(table[1]).all()


def test_a_singular_matrix_is_at_a_finite_log_euclidean_distance(rng):
    x, y = matrices.spd(rng, 3), matrices.with_spectrum(rng, [0, 1, 2])
    distance, gradients = matrices.with_gradients(spd.log_euclidean, 1, x, y)
    assert 20 < distance < 1000
    for gradient in gradients:
        assert np.isfinite(gradient).all()


@pytest.mark.parametrize("name", ALL)
def test_matrices_of_other_sizes_are_refused(name):
    with pytest.raises(ValueError, match=r"Received shapes \(3, 3\) and \(4, 4\)"):
        getattr(spd, name)(np.eye(3), np.eye(4))
    with pytest.raises(ValueError, match="`y` must hold square matrices"):
        getattr(spd, name)(np.eye(3), np.ones((3, 4)))


@pytest.mark.parametrize("name", ALL)
def test_a_table_of_what_is_no_set_is_refused(name):
    with pytest.raises(ValueError, match="`y` must be a set of matrices, shape .count, n, n."):
        getattr(spd, f"{name}_pairwise")(np.eye(3)[None], np.eye(3))


@pytest.mark.slow_on_jax
@settings(max_examples=8)
@given(st.integers(0, 2**31))
def test_what_leaves_the_bures_wasserstein_distance_unchanged(seed):
    rng, n = np.random.default_rng(seed), 4
    x, y = matrices.spd(rng, 2, 6, n)
    distance = matrices.quick(spd.bures_wasserstein)
    expected = np.asarray(distance(x, y))
    rotation, scale = matrices.frames(rng, n), rng.uniform(0.1, 10)
    moved = distance(rotation @ x @ rotation.T, rotation @ y @ rotation.T)
    np.testing.assert_allclose(moved, expected, rtol=1e-8)
    np.testing.assert_allclose(distance(scale * x, scale * y), np.sqrt(scale) * expected, rtol=1e-8)


@pytest.mark.slow_on_jax
def test_matrices_that_commute_are_as_far_as_their_roots(rng):
    frame = matrices.frames(rng, 4)
    a, b = rng.uniform(0.1, 3, size=(2, 4))
    result = spd.bures_wasserstein(frame * a @ frame.T, frame * b @ frame.T)
    assert float(result) == pytest.approx(np.linalg.norm(np.sqrt(a) - np.sqrt(b)), rel=1e-10)


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("ranks", [(4, 4), (4, 2), (2, 4), (2, 3), (1, 1)])
def test_bures_wasserstein_distances_of_singular_matrices_are_those_of_their_factors(rng, ranks):
    """The squared distance of `FF'` and `GG'` is `|F|^2 + |G|^2 - 2 |F'G|_*` (Bhatia2019, Theorem
    1)."""
    f, g = (rng.normal(size=(5, 4, rank)) for rank in ranks)
    norms = np.linalg.svd(np.swapaxes(f, 1, 2) @ g, compute_uv=False).sum(-1)
    expected = np.sqrt((f**2).sum((1, 2)) + (g**2).sum((1, 2)) - 2 * norms)
    x, y = (factor @ np.swapaxes(factor, 1, 2) for factor in (f, g))
    result, in_both = matrices.with_gradients(spd.bures_wasserstein, np.ones(5), x, y)
    np.testing.assert_allclose(result, expected, rtol=1e-6)
    assert np.isfinite(in_both).all()


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [2, 20, 64])
@pytest.mark.parametrize("rank", [1.0, 0.5, 0.01])
def test_equal_matrices_are_at_bures_wasserstein_distance_zero_with_gradient_zero(
    rng, n, rank, dtype
):
    factor = rng.normal(size=(3, n, max(1, int(n * rank))))
    x = (factor @ np.swapaxes(factor, 1, 2)).astype(dtype)
    result, in_both = matrices.with_gradients(spd.bures_wasserstein, np.ones(3), x, x)
    assert (result == 0).all()
    assert (np.asarray(in_both) == 0).all()


@pytest.mark.slow
def test_gradients_of_bures_wasserstein_distances_agree_with_finite_differences(rng):
    x, y = matrices.spd(rng, 2, 5)
    y = np.stack([y, x + 1e-2 * matrices.spd(rng, 5)])  # far and near matrices
    distances = lambda x, y: ops.sum(spd.bures_wasserstein(x, y))  # noqa: E731
    distances = matrices.quick(distances)
    _, (in_x, in_y) = matrices.with_gradients(spd.bures_wasserstein, np.ones(2), x, y)
    np.testing.assert_allclose(
        in_x, finite_differences(lambda v: distances(v, y), x), rtol=0, atol=1e-6
    )
    np.testing.assert_allclose(
        in_y, finite_differences(lambda v: distances(x, v), y), rtol=0, atol=1e-6
    )


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("n", [3, 20])
def test_a_device_computes_bures_wasserstein_distances_to_the_digits_of_float32(rng, n):
    x, y = (matrices.spd(rng, 6, n).astype("float32") for _ in range(2))
    y[0] = x[0]
    expected = spd.bures_wasserstein_pairwise(x.astype("float64"), y.astype("float64"))
    result = spd.bures_wasserstein_by_polynomials(x, y)
    np.testing.assert_allclose(result, expected, rtol=0, atol=1e-5 * np.max(expected))


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("n", [1, 40])
def test_a_bures_wasserstein_square_is_zero_below_16_and_n_roundings_and_no_further(n):
    """The squared distance of `I` and `(1 + d)^2 I` is `n d^2`, and the sum of their traces is
    about `2 n`."""
    bound = (16 + n) * np.finfo("float64").eps * 2 * n
    below, above = (np.sqrt(factor * bound / n) for factor in (0.6, 1.5))
    eye = np.eye(n)
    assert float(spd.bures_wasserstein(eye, (eye * (1 + below)) ** 2)) == 0
    distance = float(spd.bures_wasserstein(eye, (eye * (1 + above)) ** 2))
    assert distance == pytest.approx(np.sqrt(n) * above, rel=0.1)


@pytest.mark.slow_on_jax
def test_a_block_of_pairs_fills_its_bytes_and_no_more():
    """Each block has 4 of 12 rows, paired with 2 matrices of 9 numbers in float64."""
    x, y = (ops.convert_to_tensor(np.ones((count, 3, 3))) for count in (12, 2))
    shapes = []

    def sums(block, y):
        shapes.append(tuple(block.shape))
        return ops.sum(block[:, None] + y[None], axis=(2, 3))

    table = pairs.in_blocks(sums, x, y, max_bytes=4 * 2 * 9 * 8 + 71)
    np.testing.assert_array_equal(table, np.full((12, 2), 18.0))
    assert set(shapes) == {(4, 3, 3)}
