import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_dml._backend import keras, ops
from keras_dml.geometry import vector
from tests.goldens import golden
from tests.gradients import finite_differences, gradients, second_derivatives


def numpy(tensor):
    return np.asarray(ops.convert_to_numpy(tensor))


def by_differences(x, y):
    return np.sqrt(((x[:, None] - y[None]) ** 2).sum(axis=-1))


@pytest.fixture(params=["differences", "inner products"])
def way(request, monkeypatch):
    """Selects one of the two methods of `squared_euclidean` for inputs of any size."""
    most = 2**40 if request.param == "differences" else 0
    monkeypatch.setattr(vector, "DIFFERENCES_BYTES", most)
    return request.param


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("dtype, rtol", [("float32", 2e-6), ("float64", 1e-13)])
def test_euclidean_distances_are_those_of_the_differences(rng, way, dtype, rtol):
    x, y = rng.normal(size=(7, 5)), rng.normal(size=(4, 5))
    result = numpy(vector.euclidean(x.astype(dtype), y.astype(dtype)))
    assert result.dtype == dtype
    np.testing.assert_allclose(result, by_differences(x, y), rtol=rtol)
    squares = numpy(vector.squared_euclidean(x.astype(dtype), y.astype(dtype)))
    np.testing.assert_allclose(squares, by_differences(x, y) ** 2, rtol=rtol)


@pytest.mark.slow_on_jax
def test_large_tables_come_from_inner_products_to_the_stated_error(rng):
    """Tests the error of distances that are computed from inner products, because 300 x 300 x 200
    differences take more than 1 MiB."""
    x = rng.normal(size=(300, 200))
    x[1] = x[0] + 0.1 * rng.normal(size=200)
    squares = numpy(vector.squared_euclidean(x.astype("float32"), x.astype("float32")))
    expected, lengths = by_differences(x, x) ** 2, (x**2).sum(axis=1)
    assert (np.abs(squares - expected) <= 2e-6 * (lengths[:, None] + lengths)).all()
    assert (np.diagonal(squares) == 0).all()


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("most", [0, 2**11, 2**40])
def test_differences_keep_small_distances_beside_large_ones(rng, monkeypatch, most):
    """Tests blocks of one row, of several rows and of all rows."""
    monkeypatch.setattr(vector, "DIFFERENCES_BYTES", most)
    x, y = (rng.normal(size=(n, 20)).astype("float32") for n in (7, 9))
    x[1] = y[1] = 3e5
    x[2] = y[2] + np.float32(1e-4)
    result = numpy(vector.euclidean_by_differences(x, y))
    expected = by_differences(x.astype("float64"), y.astype("float64"))
    np.testing.assert_allclose(result, expected, rtol=1e-6)
    assert result[1, 1] == 0


def test_a_common_offset_costs_no_digits(rng):
    """Tests that a common offset of all vectors does not reduce the precision. Squared lengths are
    computed relative to the mean, not to the origin."""
    x = rng.normal(size=(300, 200)).astype("float32")
    moved = x + np.float32(512)  # exact to 3e-5
    np.testing.assert_allclose(
        numpy(vector.euclidean(moved, moved)), numpy(vector.euclidean(x, x)), rtol=1e-4, atol=1e-4
    )


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_equal_rows_are_at_distance_zero_with_gradient_zero(rng, way, dtype):
    x = rng.normal(size=(6, 40)).astype(dtype)
    y = x[[3, 0, 0]]
    table = numpy(vector.euclidean(x, y))
    assert (table[[3, 0, 0], [0, 1, 2]] == 0).all() and (table == 0).sum() == 3
    weights = (table == 0).astype(dtype)
    for item in gradients(lambda x, y: ops.sum(weights * vector.euclidean(x, y)), x, y):
        assert (item == 0).all()


@pytest.mark.slow_on_jax
def test_one_row_against_many_is_exact_even_to_its_neighbors(rng):
    """Tests distances of one vector to many vectors, because devices compare one query with all
    entries of their gallery."""
    x = rng.normal(size=(1, 64)).astype("float32")
    gallery = x + np.geomspace(1e-5, 10, 5000, dtype="float32")[:, None] * rng.normal(
        size=(5000, 64)
    ).astype("float32")
    expected = by_differences(x.astype("float64"), gallery.astype("float64"))
    np.testing.assert_allclose(numpy(vector.euclidean(x, gallery)), expected, rtol=1e-6)


def test_a_row_whose_square_overflows_is_far_from_the_others_not_equal_to_them(rng, way):
    x = rng.normal(size=(6, 4)).astype("float32")
    x[2] = 1e20
    table = numpy(vector.euclidean(x, x))
    assert np.isinf(np.delete(table[2], 2)).all() and np.isinf(np.delete(table[:, 2], 2)).all()


def test_a_row_of_nan_is_lost_alone(rng, way):
    x = rng.normal(size=(4, 3))
    x[2] = np.nan
    lost = np.isnan(numpy(vector.euclidean(x, x)))
    expected = np.zeros((4, 4), bool)
    expected[2] = expected[:, 2] = True
    np.testing.assert_array_equal(lost, expected)


@pytest.mark.slow
@pytest.mark.parametrize("function", [vector.euclidean, vector.squared_euclidean, vector.snr])
def test_gradients_agree_with_finite_differences(rng, way, function):
    x, y, probe = rng.normal(size=(3, 4)), rng.normal(size=(2, 4)), rng.normal(size=(3, 2))
    of = lambda x, y: ops.sum(probe * function(x, y))  # noqa: E731
    in_x, in_y = gradients(of, x, y)
    np.testing.assert_allclose(in_x, finite_differences(lambda v: of(v, y), x), rtol=0, atol=1e-6)
    np.testing.assert_allclose(in_y, finite_differences(lambda v: of(x, v), y), rtol=0, atol=1e-6)


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("function", [vector.euclidean, vector.squared_euclidean])
def test_gradients_within_one_set_are_those_of_two_equal_sets(rng, way, function):
    """Tests distances within one set. Their gradients must equal the gradients of distances between
    two equal sets. The test includes second-order gradients, which a penalty on gradients needs.
    """
    x, probe = rng.normal(size=(4, 3)), rng.normal(size=(4, 4))
    within = lambda x: ops.sum(probe * function(x, x))  # noqa: E731
    (result,) = gradients(within, x)
    of_two = gradients(lambda x, y: ops.sum(probe * function(x, y)), x, x.copy())
    np.testing.assert_allclose(result, sum(of_two), rtol=0, atol=1e-12)
    np.testing.assert_allclose(result, finite_differences(within, x), rtol=0, atol=1e-6)
    np.testing.assert_allclose(
        second_derivatives(within, x),
        second_derivatives(lambda x: ops.sum(probe * function(x, x + 0)), x),
        rtol=0,
        atol=1e-12,
    )


def test_rows_nearer_than_rounding_are_one_point_without_a_gradient(rng):
    x = np.repeat(rng.normal(size=(150, 200)), 2, axis=0)
    x[1::2] += 1e-7 * rng.normal(size=(150, 200))
    near = np.kron(np.eye(150), 1 - np.eye(2)).astype("float32")
    x = x.astype("float32")
    table = numpy(vector.squared_euclidean(x, x))
    assert (table[near == 1] == 0).all() and (x[0] != x[1]).any()
    (result,) = gradients(lambda x: ops.sum(near * vector.squared_euclidean(x, x)), x)
    assert (result == 0).all()


@pytest.mark.slow_on_jax
@pytest.mark.skipif(keras.backend.backend() != "jax", reason="forward mode is JAX's")
def test_distances_within_one_set_have_a_forward_mode(rng, way):
    import jax

    x, along = rng.normal(size=(2, 5, 3))
    of = lambda x: vector.squared_euclidean(x, x)[0, 1]  # noqa: E731
    _, result = jax.jvp(of, (x,), (along,))
    assert float(result) == pytest.approx(float((gradients(of, x)[0] * along).sum()))


@pytest.mark.slow_on_jax
@given(st.integers(0, 2**31))
def test_euclidean_distances_are_symmetric_and_hold_the_triangle(seed):
    x = np.random.default_rng(seed).normal(size=(5, 3))
    d = numpy(vector.euclidean(x, x))
    np.testing.assert_array_equal(d, d.T)
    assert (d[:, :, None] <= d[:, None, :] + d.T[None] + 1e-12).all()


def test_golden_distances_by_signal_to_noise(way):
    example = golden("snr_distance", "seeds_p3")
    for dtype, tolerance in example["tolerance"].items():
        x = np.asarray(example["inputs"]["x"], dtype)
        close = {"rtol": tolerance["rtol"], "atol": tolerance["atol"]}
        np.testing.assert_allclose(
            numpy(vector.snr(x, x)), example["expected"]["distance"], **close
        )


@pytest.mark.slow_on_jax
def test_signal_to_noise_knows_neither_scale_nor_offset(rng):
    x, y = rng.normal(size=(3, 6)), rng.normal(size=(4, 6))
    expected = numpy(vector.snr(x, y))
    np.testing.assert_allclose(numpy(vector.snr(100 * x, 100 * y)), expected, rtol=1e-12)
    np.testing.assert_allclose(numpy(vector.snr(x + 3, y - 7)), expected, rtol=1e-9)


def test_an_anchor_without_signal_is_far_and_its_gradient_finite(rng):
    """Tests an anchor whose variance over features is 0. The distance divides by 1e-12 instead of a
    variance of 0.
    """
    x, y = np.full((1, 5), 0.7), rng.normal(size=(3, 5))
    np.testing.assert_allclose(numpy(vector.snr(x, y))[0], y.var(axis=1) * 1e12, rtol=1e-6)
    assert np.isfinite(gradients(lambda x: ops.sum(vector.snr(x, y)), x)[0]).all()


# ---- unit vectors -----------------------------------------------------------------------------


def test_golden_cosine_of_a_zero_vector():
    example = golden("cosine-of-a-zero-vector", "seeds_p2")
    first, second = (np.array([example["inputs"][key]], "float32") for key in ("first", "second"))
    of = lambda first, second: ops.sum(vector.cosine(first, second))  # noqa: E731
    assert float(of(first, second)) == example["expected"]["value"]
    in_first, in_second = gradients(of, first, second)
    np.testing.assert_array_equal(in_first[0], example["gradient"]["first"])
    np.testing.assert_array_equal(in_second, 0)


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("length", [0.0, 1e-30, 1e-7])
def test_a_vector_too_short_for_a_direction_is_zero_with_gradient_zero(length, dtype):
    """Tests that a vector that is too short for a direction has gradient 0. A second vector of
    sufficient length keeps its gradient."""
    x = np.array([[length, 0.0], [3.0, 4.0]], dtype)
    np.testing.assert_allclose(numpy(vector.unit(x)), [[0, 0], [0.6, 0.8]], rtol=1e-6)
    (result,) = gradients(lambda x: ops.sum(vector.unit(x)[:, 0]), x)
    np.testing.assert_allclose(result, [[0, 0], [16 / 125, -12 / 125]], rtol=1e-5)


def test_unit_vectors_agree_with_finite_differences_and_keep_a_nan(rng):
    x, probe = rng.normal(size=(3, 4)), rng.normal(size=(3, 4))
    of = lambda x: ops.sum(probe * vector.unit(x))  # noqa: E731
    np.testing.assert_allclose(gradients(of, x)[0], finite_differences(of, x), rtol=0, atol=1e-7)
    np.testing.assert_allclose((numpy(vector.unit(x)) ** 2).sum(axis=1), 1, rtol=1e-12)
    x[1, 2] = np.nan
    assert np.isnan(numpy(vector.unit(x))[1]).all()
