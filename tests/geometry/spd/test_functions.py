import functools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import linalg

from keras_dml._backend import ops
from keras_dml.geometry import spd
from keras_dml.geometry.spd import divided_differences as differences
from tests.geometry import matrices
from tests.geometry.matrices import DTYPES
from tests.goldens import golden
from tests.gradients import finite_differences

FUNCTIONS = {
    "log": spd.log,
    "exp": spd.exp,
    "sqrt": spd.sqrt,
    "inverse_sqrt": spd.inverse_sqrt,
    "power": lambda x: spd.power(x, 0.3),
    "rectify": lambda x: spd.rectify(x, 0.8),
    "rectify_log": lambda x: spd.rectify_log(x, 0.8),
}
GOLDENS = [
    *(
        f"{name}_{case}"
        for name in ("log", "sqrt", "inverse_sqrt", "exp", "power")
        for case in ("distinct", "repeated", "near")
    ),
    *("log_closest", "log_identity", "log_wide"),
    *("reeig_mixed", "reeig_repeated", "reeig_rank_one", "reeig_indefinite", "reeig_zero"),
    *("reeig_at_epsilon", "rectify_log_rank_one"),
]


@functools.cache
def golden_function(name, argument):
    function = getattr(spd, name)
    return function if argument is None else lambda x: function(x, argument)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", GOLDENS)
def test_golden_functions_and_their_gradients(name, dtype):
    example = matrices.example(name, dtype)
    if example is None:
        return
    inputs, expected, gradient, tolerance = example
    argument = inputs.get("epsilon", inputs.get("exponent"))
    function = golden_function(inputs["function"], argument)
    result, (in_x,) = matrices.with_gradients(function, inputs["probe"], inputs["x"])
    assert result.dtype == dtype
    matrices.assert_values(result, expected["output"], tolerance)
    matrices.assert_gradients(in_x, gradient["x"], tolerance)


def test_a_silent_window_has_gradient_exactly_zero():
    function = golden_function("rectify", 1e-4)
    _, (result,) = matrices.with_gradients(function, np.ones((3, 3)), np.zeros((3, 3)))
    assert (result == 0).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_golden_divided_differences(dtype):
    example = golden("divided_differences", "seeds_p3")
    inputs, rtol = example["inputs"], example["tolerance"][dtype]["rtol"]
    functions = {
        "log": differences.LOG,
        "exp": differences.EXP,
        "sqrt": differences.SQRT,
        "inverse_sqrt": differences.INVERSE_SQRT,
        "power": differences.power(inputs["exponent"]),
    }
    tensors = lambda keys, kind: [  # noqa: E731
        ops.convert_to_tensor(np.asarray(inputs[key], dtype).astype(kind)) for key in keys
    ]
    for name, function in functions.items():
        result = np.asarray(differences.quotients(function, *tensors("ab", dtype)))
        assert result.dtype == dtype
        # In float32 the arguments are rounded first, which changes differences of close arguments.
        expected = (
            example["expected"][name]
            if dtype == "float64"
            else np.asarray(differences.quotients(function, *tensors("ab", "float64")))
        )
        np.testing.assert_allclose(result, expected, rtol=rtol, err_msg=name)
    pairs = tensors(("rectify_a", "rectify_b"), "float64")
    result = differences.quotients(differences.IDENTITY, *pairs, inputs["epsilon"])
    if dtype == "float64":
        np.testing.assert_allclose(result, example["expected"]["rectify"], rtol=rtol)


@pytest.mark.slow_on_jax
def test_quotients_above_a_floor_are_those_of_the_floored_function(rng):
    a, b, floor = np.exp(rng.uniform(-5, 5, size=(3, 1000)))
    result = np.asarray(differences.quotients(differences.LOG, a, b, floor))
    assert (result[np.maximum(a, b) <= floor] == 0).all()
    expected = (np.log(np.maximum(a, floor)) - np.log(np.maximum(b, floor))) / (a - b)
    np.testing.assert_allclose(result, expected, rtol=1e-9, atol=1e-12)


ORACLES = {
    "log": linalg.logm,
    "exp": linalg.expm,
    "sqrt": linalg.sqrtm,
    "inverse_sqrt": lambda x: linalg.inv(linalg.sqrtm(x)),
    "power": lambda x: linalg.fractional_matrix_power(x, 0.3),
}


@pytest.mark.parametrize("name", ORACLES)
def test_functions_agree_with_scipys(rng, name):
    x = matrices.spd(rng, 5, spread=3)
    np.testing.assert_allclose(
        matrices.quick(FUNCTIONS[name])(x), ORACLES[name](x), rtol=1e-9, atol=1e-9
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_agree_with_finite_differences_in_any_entry(rng, name):
    """The functions use the symmetric part only, so the gradient is symmetric for every input."""
    x = matrices.spd(rng, 3, spread=0.7) + 0.05 * rng.normal(size=(3, 3))
    weights = rng.normal(size=(3, 3))
    _, (result,) = matrices.with_gradients(FUNCTIONS[name], weights, x)
    np.testing.assert_allclose(result, result.T, rtol=1e-9, atol=1e-9)
    value = lambda x: np.sum(weights * np.asarray(matrices.quick(FUNCTIONS[name])(x)))  # noqa: E731
    np.testing.assert_allclose(result, finite_differences(value, x, 1e-4), rtol=0, atol=1e-7)


SPECTRA = {
    "two sixfold": np.repeat([1.0, 0.1], 6),
    "identity": np.ones(12),
    "gaps of 1e-6": 1 + 1e-6 * np.arange(12),
    "gaps of 1e-4": 1 + 1e-4 * np.arange(12),
    "rank 6": np.r_[np.zeros(6), np.geomspace(0.01, 1, 6)],
}


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("spectrum", SPECTRA)
@pytest.mark.parametrize("name", ["rectify", "rectify_log"])
def test_float32_gradients_hold_where_eigenvalues_meet(rng, name, spectrum):
    """For these matrices, automatic differentiation of the eigensolver is wrong by 57 % to 190 % in
    TensorFlow, and NaN in JAX."""
    x = matrices.with_spectrum(rng, SPECTRA[spectrum]).astype("float32")
    weights = rng.normal(size=x.shape).astype("float32")
    function = golden_function(name, 1e-4)
    _, (result,) = matrices.with_gradients(function, weights, x)
    _, (exact,) = matrices.with_gradients(function, weights, x.astype("float64"))
    assert np.linalg.norm(result - exact) < 1e-5 * np.linalg.norm(exact)


@pytest.mark.parametrize("name", ["exp", "power", "rectify_log"])
def test_stacks_of_matrices_are_taken_one_by_one_compiled_or_not(rng, name):
    x, weights = matrices.spd(rng, 2, 2, 3), rng.normal(size=(2, 2, 3, 3))
    function = FUNCTIONS[name]
    one_by_one = [
        matrices.with_gradients(function, w, a)
        for w, a in zip(weights.reshape(4, 3, 3), x.reshape(4, 3, 3), strict=True)
    ]
    for f in (function, matrices.compiled(function)):
        result, (gradient,) = matrices.with_gradients(f, weights, x)
        for i, (expected, (expected_gradient,)) in enumerate(one_by_one):
            np.testing.assert_allclose(result.reshape(4, 3, 3)[i], expected, rtol=0, atol=1e-12)
            np.testing.assert_allclose(
                gradient.reshape(4, 3, 3)[i], expected_gradient, rtol=1e-9, atol=1e-12
            )


@pytest.mark.slow_on_jax
@settings(max_examples=5)
@given(st.integers(0, 2**31))
def test_functions_undo_each_other(seed):
    x = matrices.spd(np.random.default_rng(seed), 20, 3)
    for back in (
        spd.exp(spd.log(x)),
        ops.matmul(spd.sqrt(x), spd.sqrt(x)),
        spd.power(spd.power(x, -2.5), -0.4),
        spd.inverse_sqrt(ops.matmul(spd.inverse_sqrt(x), spd.inverse_sqrt(x))) @ spd.sqrt(x),
    ):
        np.testing.assert_allclose(back, x, rtol=1e-9, atol=1e-9)


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("dtype", DTYPES)
def test_matrices_with_nothing_to_lift_come_back_to_the_bit(rng, dtype):
    x, weights = rng.normal(size=(2, 2, 3, 3)).astype(dtype)
    x += 9 * np.eye(3, dtype=dtype)
    rectify = golden_function("rectify", 1e-4)
    for f in (rectify, matrices.compiled(rectify)):
        result, (in_x,) = matrices.with_gradients(f, weights, x)
        np.testing.assert_array_equal(result, (x + np.swapaxes(x, 1, 2)) / 2)
        np.testing.assert_array_equal(in_x, (weights + np.swapaxes(weights, 1, 2)) / 2)


def test_one_matrix_to_lift_changes_no_other_of_its_stack(rng):
    x, weights = matrices.spd(rng, 2, 4), rng.normal(size=(2, 4, 4))
    rectify = golden_function("rectify", 1e-4)
    alone, (alone_in_x,) = matrices.with_gradients(rectify, weights, x)
    x[0] = matrices.with_spectrum(rng, [-1, 0, 1, 2])
    lifted, (lifted_in_x,) = matrices.with_gradients(rectify, weights, x)
    np.testing.assert_allclose(np.linalg.eigvalsh(lifted[0]), [1e-4, 1e-4, 1, 2], rtol=1e-9)
    np.testing.assert_allclose(lifted[1], alone[1], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(lifted_in_x[1], alone_in_x[1], rtol=1e-12, atol=1e-12)


@pytest.mark.slow_on_jax
def test_a_rectified_logarithm_is_the_logarithm_of_the_rectified(rng):
    x = matrices.with_spectrum(rng, [-0.5, 0, 1e-5, 1e-3, 1])
    weights = rng.normal(size=x.shape)
    composed = lambda x: spd.log(spd.rectify(x, 1e-4))  # noqa: E731
    result, (in_x,) = matrices.with_gradients(golden_function("rectify_log", 1e-4), weights, x)
    expected, (expected_in_x,) = matrices.with_gradients(composed, weights, x)
    np.testing.assert_allclose(result, expected, rtol=0, atol=1e-9)
    limit = 1e-6 * np.abs(expected_in_x).max()
    np.testing.assert_allclose(in_x, expected_in_x, rtol=0, atol=limit)


@pytest.mark.slow_on_jax
def test_an_exponent_for_each_matrix(rng):
    x, exponents = matrices.spd(rng, 2, 3), np.array([-0.5, 1.5])
    weights = rng.normal(size=x.shape)
    together = lambda x: spd.power(x, exponents)  # noqa: E731
    separate = lambda x: ops.stack([spd.power(x[0], -0.5), spd.power(x[1], 1.5)])  # noqa: E731
    result, (in_x,) = matrices.with_gradients(together, weights, x)
    expected, (expected_in_x,) = matrices.with_gradients(separate, weights, x)
    np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(in_x, expected_in_x, rtol=0, atol=1e-12)


def test_exponents_are_constants_of_the_gradient(rng):
    x = matrices.spd(rng, 3)
    value = lambda x, p: spd.power(x, p) + p[:, None, None]  # noqa: E731
    weights = np.array([1.0, 0.0])[:, None, None] * np.ones((2, 3, 3))
    _, (in_x, in_exponent) = matrices.with_gradients(value, weights, x, np.array([0.5, 2.0]))
    assert (in_x != 0).any()
    np.testing.assert_array_equal(in_exponent, [9, 0])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("spectrum", [[0, 0, 0], [-1, 0, 2], [-3, -2, -1]])
@pytest.mark.parametrize("name", ["log", "sqrt", "inverse_sqrt", "power", "rectify_log"])
def test_singular_and_indefinite_matrices_have_finite_values_and_gradients(
    rng, name, spectrum, dtype
):
    x = matrices.with_spectrum(rng, spectrum).astype(dtype)
    result, (in_x,) = matrices.with_gradients(FUNCTIONS[name], np.ones((3, 3)), x)
    assert np.isfinite(result).all()
    assert np.isfinite(in_x).all()


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_is_not_finite_stays_so_and_spoils_no_other(rng, name, bad):
    x = matrices.spd(rng, 2, 3)
    weights = rng.normal(size=x.shape)
    expected, (expected_in_x,) = matrices.with_gradients(FUNCTIONS[name], weights, x)
    x[0, 0, 1] = bad
    result, (in_x,) = matrices.with_gradients(FUNCTIONS[name], weights, x)
    assert np.isnan(result[0]).all()
    np.testing.assert_allclose(result[1], expected[1], rtol=1e-12)
    np.testing.assert_allclose(in_x[1], expected_in_x[1], rtol=1e-12)


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_matrix_of_one_entry_is_a_number(name):
    numbers = {
        "log": np.log(2),
        "exp": np.exp(2),
        "sqrt": np.sqrt(2),
        "inverse_sqrt": np.sqrt(0.5),
        "power": 2**0.3,
        "rectify": 2,
        "rectify_log": np.log(2),
    }
    assert float(FUNCTIONS[name](np.array([[2.0]]))[0, 0]) == pytest.approx(numbers[name])


def test_half_precision_is_computed_in_float32():
    assert np.asarray(spd.log(np.eye(2, dtype="float16"))).dtype == np.float32


def test_the_symmetric_part():
    np.testing.assert_array_equal(spd.symmetric([[1.0, 2.0], [4.0, 3.0]]), [[1, 3], [3, 3]])


@pytest.mark.parametrize("dtype, limit", [("float64", 1e-14), ("float32", 2e-6)])
@pytest.mark.parametrize("rank", [1, 4, 8])
def test_nuclear_norms_are_sums_of_singular_values_and_their_gradients_polar_factors(
    rng, rank, dtype, limit
):
    x = rng.normal(size=(5, 8, rank)) @ rng.normal(size=(5, rank, 8))
    weights = rng.normal(size=5)
    result, (gradient,) = matrices.with_gradients(spd.nuclear_norm, weights, x.astype(dtype))
    u, values, v = np.linalg.svd(x)
    np.testing.assert_allclose(result, values.sum(-1), rtol=limit)
    u, v = u[..., :rank], v[:, :rank]  # beyond the rank any polar factor is a gradient
    np.testing.assert_allclose(
        np.swapaxes(u, 1, 2) @ gradient @ np.swapaxes(v, 1, 2),
        weights[:, None, None] * np.eye(rank),
        rtol=0,
        atol=1e4 * limit,
    )


@pytest.mark.slow_on_jax
def test_the_nuclear_norm_keeps_its_digits_where_roots_of_eigenvalues_lose_half(rng):
    u, v = matrices.frames(rng, 6), matrices.frames(rng, 6)
    values = np.geomspace(1e-7, 1, 6)
    x = u @ np.diag(values) @ v
    assert float(spd.nuclear_norm(x)) == pytest.approx(values.sum(), rel=1e-14)


def test_the_nuclear_norm_of_zero_is_zero_and_of_nan_nan(rng):
    x = rng.normal(size=(3, 4, 4))
    x[0], x[1, 2, 2] = 0, np.nan
    result, (gradient,) = matrices.with_gradients(spd.nuclear_norm, np.ones(3), x)
    assert result[0] == 0 and np.isnan(result[1]) and result[2] > 0
    assert (gradient[0] == 0).all() and np.isfinite(gradient[2]).all()


@pytest.mark.parametrize("shape", [(), (3,), (3, 4), (2, 3, 1)])
@pytest.mark.parametrize(
    "name", [*FUNCTIONS, "nuclear_norm", "symmetric", "vectorize", "whitening"]
)
def test_what_is_not_square_is_refused(name, shape):
    function = FUNCTIONS.get(name) or getattr(spd, name)
    with pytest.raises(ValueError, match="must hold square matrices[^$]*`keras_dml.layers.Cov"):
        function(np.zeros(shape))


@pytest.mark.parametrize("epsilon", [0, -1e-4, np.inf, np.nan, "auto", None])
@pytest.mark.parametrize("function", [spd.rectify, spd.rectify_log])
def test_a_least_eigenvalue_that_is_not_positive_is_refused(function, epsilon):
    with pytest.raises(ValueError, match="`epsilon`.* positive number.*Received"):
        function(np.eye(2), epsilon)
