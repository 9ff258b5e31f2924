import functools

import numpy as np
import pytest

from keras_dml._backend import keras
from keras_dml.geometry import spd
from keras_dml.geometry.spd import polynomial as spd_polynomial
from keras_dml.geometry.spd import sign_polynomials as polynomials
from tests.geometry import matrices

EPSILON = 1e-4


def halves(low, high):
    return lambda n: np.r_[low(n // 2), high(n - n // 2)]


def full(n):
    return np.geomspace(0.01, 1, n)


# Largest error of an entry of a typical matrix compared with float64, for rectification and for the
# logarithm.
SPECTRA = {
    "condition 1e1": (lambda n: np.geomspace(1e-1, 1, n), 2e-7, 1.5e-5),
    "condition 1e2": (lambda n: np.geomspace(1e-2, 1, n), 2e-7, 1.5e-5),
    "condition 1e3": (lambda n: np.geomspace(1e-3, 1, n), 1e-7, 2e-5),
    "condition 1e4": (lambda n: np.geomspace(1e-4, 1, n), 1e-7, 4e-5),
    "condition 1e5": (lambda n: np.geomspace(1e-5, 1, n), 1e-7, 8e-5),
    "condition 1e6": (lambda n: np.geomspace(1e-6, 1, n), 1e-7, 1e-4),
    "repeated": (halves(np.ones, lambda n: np.full(n, 0.1)), 2.5e-7, 1.5e-5),
    "identity": (np.ones, 2.5e-7, 1e-5),
    "half the rank": (halves(np.zeros, full), 2e-7, 2e-4),
    "half the rank, greatest 10": (halves(np.zeros, lambda n: 10 * full(n)), 2e-6, 1.5e-3),
    "near epsilon": (halves(lambda n: np.linspace(9e-5, 1.1e-4, n), full), 1.5e-7, 2e-4),
    "indefinite": (halves(lambda n: -full(n), full), 2.5e-7, 5e-4),
}
WORST = 5  # allowed factor on the error of a typical matrix; it was 3.5 in 300 draws


@functools.cache
def quick(name, *arguments):
    """Returns the function `name` of the polynomial solver. For a function that has the argument
    epsilon, `arguments` contains epsilon. The function is not compiled, because `jax.jit` would
    cost the logarithm two digits.
    """
    function = getattr(spd_polynomial, name)
    return lambda x: function(x, *arguments)


def float32(rng, spectrum, count):
    x = matrices.with_spectrum(rng, spectrum, count).astype("float32")
    return (x + x.swapaxes(-1, -2)) / 2


@pytest.mark.slow
@pytest.mark.parametrize("n, count", [(20, 12), (80, 4)])
@pytest.mark.parametrize("spectrum", SPECTRA)
def test_float32_errors_against_float64_stay_within_the_stated(rng, spectrum, n, count):
    values, of_rectified, of_logarithm = SPECTRA[spectrum]
    x = float32(rng, values(n), count)
    for name, exact, limit in (
        ("rectify", lambda v: np.maximum(v, EPSILON), of_rectified),
        ("rectify_log", lambda v: np.log(np.maximum(v, EPSILON)), of_logarithm),
    ):
        result = np.asarray(quick(name, EPSILON)(x))
        assert result.dtype == np.float32
        errors = np.abs(result - matrices.by_eigh(exact, x)).max(axis=(1, 2))
        assert np.median(errors) < limit
        assert errors.max() < WORST * limit


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("condition, atol", [(1e2, 2e-5), (1e4, 1e-4), (1e5, 1e-3)])
def test_logarithms_of_positive_definite_matrices(rng, condition, atol):
    x = float32(rng, np.geomspace(1 / condition, 1, 20), 50)
    np.testing.assert_allclose(quick("log")(x), matrices.by_eigh(np.log, x), rtol=0, atol=atol)


# Largest error of an entry of the square root. Eigenvalues below 1e-6 of the norm count as 1e-6 of
# the norm.
ROOTS = {
    "condition 1e1": 1.5e-6,
    "condition 1e4": 5e-6,
    "condition 1e6": 1e-4,
    "repeated": 1.5e-6,
    "identity": 1.5e-6,
    "half the rank": 2e-3,
    "indefinite": 2e-3,
}


@pytest.mark.parametrize("spectrum, limit", ROOTS.items())
def test_square_roots_are_those_of_an_eigendecomposition(rng, spectrum, limit):
    x = float32(rng, SPECTRA[spectrum][0](20), 50)
    expected = matrices.by_eigh(lambda v: np.sqrt(np.maximum(v, 0)), x)
    np.testing.assert_allclose(quick("sqrt")(x), expected, rtol=0, atol=limit)


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("spectrum", SPECTRA)
def test_nuclear_norms_are_sums_of_singular_values(rng, spectrum):
    x = float32(rng, SPECTRA[spectrum][0](20), 50)
    x = np.append(x, x @ matrices.frames(rng, 20).astype("float32"), axis=0)
    result = np.asarray(quick("nuclear_norm")(x))
    singular_values = np.linalg.svd(x.astype("float64"), compute_uv=False)
    np.testing.assert_allclose(result, singular_values.sum(-1), rtol=2e-6)


def test_the_gradient_of_the_nuclear_norm_is_the_polar_factor(rng):
    x = rng.normal(size=(3, 6, 6)).astype("float32")
    u, _, v = np.linalg.svd(x.astype("float64"))
    weights = rng.normal(size=3)
    _, (result,) = matrices.with_gradients(quick("nuclear_norm"), weights, x)
    np.testing.assert_allclose(result, weights[:, None, None] * (u @ v), rtol=0, atol=1e-5)


@pytest.mark.slow_on_jax
def test_the_zero_matrix_has_a_root_and_a_norm():
    x = np.zeros((1, 3, 3), "float32")
    np.testing.assert_allclose(quick("sqrt")(x), x, rtol=0, atol=1e-12)
    assert float(quick("nuclear_norm")(x)[0]) == 0


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_logarithms_do_not_depend_on_the_unit(rng, scale):
    x = float32(rng, full(20), 50)
    result = np.asarray(quick("log")(np.float32(scale) * x))
    expected = np.asarray(quick("log")(x)) + np.log(scale) * np.eye(20)
    np.testing.assert_allclose(result, expected, rtol=0, atol=5e-5)


@pytest.mark.slow_on_jax
def test_a_matrix_with_an_eigenvalue_of_the_whole_norm_does_not_blow_up(rng):
    """Errors grow if eigenvalues are above the upper end of the interval. Without a margin above
    the interval, one in some thousand matrices had an error 40 times as large.
    """
    x = float32(rng, np.r_[1.0, np.zeros(7)], 2000)
    result = np.asarray(quick("rectify", EPSILON)(x))
    expected = matrices.by_eigh(lambda v: np.maximum(v, EPSILON), x)
    np.testing.assert_allclose(result, expected, rtol=0, atol=1e-6)


def test_a_middle_of_the_spectrum_that_folds_to_zero_does_not_turn_into_nan(rng):
    """Quintics that are fitted to the whole interval gave NaN in float32 at n = 80 and condition
    number 1e3."""
    x = float32(rng, np.geomspace(1e-3, 1, 80), 4)
    assert np.isfinite(quick("rectify_log", EPSILON)(x)).all()


@pytest.mark.parametrize("fold", [polynomials.FOLD, polynomials.FOLD_OF_ROOTS])
@pytest.mark.parametrize("low", [1e-6, 1e-3, 0.9995])
def test_the_steps_carry_the_interval_to_one(low, fold):
    x = np.geomspace(low, 1, 10_000)
    for a, b, c in polynomials.steps(low, fold):
        x = a * x + b * x**3 + c * x**5
    np.testing.assert_allclose(x, 1, rtol=0, atol=2e-6)


@pytest.mark.slow
@pytest.mark.slow_on_jax
@pytest.mark.parametrize("name", ["rectify", "rectify_log", "log", "sqrt"])
@pytest.mark.parametrize("least", [0.0, 0.1])
def test_gradients_are_those_of_the_eigensolver(rng, name, least):
    x = float32(rng, np.r_[np.full(6, least), np.ones(6)], 1)
    weights = rng.normal(size=x.shape)
    arguments = () if name in ("log", "sqrt") else (EPSILON,)
    exact = lambda x: getattr(spd, name)(x, *arguments)  # noqa: E731
    for f in (quick(name, *arguments), matrices.compiled(quick(name, *arguments))):
        _, (result,) = matrices.with_gradients(f, weights, x)
        if not arguments and not least:
            assert np.isfinite(result).all()  # below rounding, the lower limits differ
        else:
            _, (expected,) = matrices.with_gradients(exact, weights, x)
            np.testing.assert_allclose(result, expected, rtol=0, atol=1e-4 * np.abs(expected).max())


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("value", [0.0, 2.0])
def test_a_matrix_of_one_entry_is_a_number(value):
    x = np.array([[value]], "float32")
    least = max(value, EPSILON)
    assert float(quick("rectify", EPSILON)(x)[0, 0]) == pytest.approx(least, rel=1e-5)
    result = float(quick("rectify_log", EPSILON)(x)[0, 0])
    assert result == pytest.approx(np.log(least), abs=1e-4)
    assert np.isfinite(quick("log")(x)).all()


def test_what_is_not_finite_stays_so_and_spoils_no_other(rng):
    x = float32(rng, full(4), 2)
    x[0, 1, 2] = np.nan
    names = {"log": (), "rectify": (EPSILON,), "sqrt": (), "nuclear_norm": ()}
    for function in (quick(name, *arguments) for name, arguments in names.items()):
        result = np.asarray(function(x))
        assert np.isnan(result[0]).all()
        assert np.isfinite(result[1]).all()


@pytest.mark.parametrize("epsilon", [0, -1, np.nan])
def test_a_least_eigenvalue_that_is_not_positive_is_refused(epsilon):
    for function in (spd_polynomial.rectify, spd_polynomial.rectify_log):
        with pytest.raises(ValueError, match="`epsilon`.* positive number.*Received"):
            function(np.eye(2), epsilon)


def test_what_is_not_square_is_refused():
    with pytest.raises(ValueError, match="`x` must hold square matrices"):
        spd_polynomial.log(np.zeros((3, 4)))


@pytest.mark.slow
@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="TFLite converts TensorFlow")
def test_a_file_holds_builtin_operators_only_and_the_same_numbers(rng, tmp_path):
    import tensorflow as tf

    from keras_dml.export import operators

    def embed(x):
        logs = spd_polynomial.rectify_log(spd_polynomial.rectify(x, EPSILON), EPSILON)
        return spd.vectorize(logs + spd_polynomial.log(x))

    x = float32(rng, full(12), 1)
    step = tf.function(embed, input_signature=[tf.TensorSpec((None, 12, 12), "float32")])
    file = tmp_path / "embed.tflite"
    converter = tf.lite.TFLiteConverter.from_concrete_functions([step.get_concrete_function()])
    file.write_bytes(converter.convert())
    operators.check_builtin(file)
    assert set(operators.operators(file)[0]) <= {
        *("ABS", "ADD", "BATCH_MATMUL", "DIV", "FULLY_CONNECTED", "GATHER", "LOG", "MAXIMUM"),
        *("MUL", "PACK", "REDUCE_MAX", "RESHAPE", "SHAPE", "SQRT", "STRIDED_SLICE", "SUB"),
        *("SUM", "TRANSPOSE"),
    }

    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(str(file), num_threads=1)
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
    interpreter.invoke()
    result = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
    np.testing.assert_allclose(result, step(x), rtol=0, atol=2e-5)


@pytest.mark.parametrize("low", [1e-3, 0.1, 0.5, 0.9])
def test_the_error_of_the_best_quintic_alternates_at_four_points(low):
    """By Chebyshev's theorem, an odd quintic with such an error is the best one: no other odd
    quintic is nearer to 1 on the interval.
    """
    a, b, c = polynomials._best_quintic(low, 1.0)
    x = np.linspace(low, 1, 200_001)
    error = 1 - x * (a + x**2 * (b + x**2 * c))
    inner = 1 + np.flatnonzero(np.diff(error)[:-1] * np.diff(error)[1:] < 0)
    extremes = error[[0, *inner, -1]]
    assert len(extremes) == 4
    expected = np.abs(error).max() * np.sign(extremes[0]) * np.array([1, -1, 1, -1])
    np.testing.assert_allclose(extremes, expected, rtol=1e-6)
