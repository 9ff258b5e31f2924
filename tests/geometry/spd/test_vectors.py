import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_dml.geometry import spd
from tests.geometry import matrices
from tests.geometry.matrices import DTYPES
from tests.gradients import finite_differences


@pytest.mark.parametrize("dtype", DTYPES)
def test_golden_vectors(dtype):
    inputs, expected, _, tolerance = matrices.example("vectorise", dtype)
    result = np.asarray(spd.vectorize(inputs["x"]))
    assert result.dtype == dtype
    matrices.assert_values(result, expected["vector"], tolerance)
    matrices.assert_values(result[0] @ result[1], expected["inner_product"], tolerance)


@pytest.mark.slow_on_jax
@settings(max_examples=10)
@given(st.integers(0, 2**31), st.sampled_from([1, 2, 5]))
def test_inner_products_are_kept_and_the_way_back_is_exact(seed, n):
    x, y = matrices.spd(np.random.default_rng(seed), 2, n)
    in_x, in_y = np.asarray(spd.vectorize(np.stack([x, y])))
    assert in_x @ in_y == pytest.approx(np.sum(x * y), rel=1e-12)
    np.testing.assert_allclose(spd.unvectorize(in_x), x, rtol=1e-15)


def test_the_symmetric_part_is_taken(rng):
    x = rng.normal(size=(2, 3, 3))
    np.testing.assert_allclose(
        spd.unvectorize(spd.vectorize(x)), (x + x.swapaxes(1, 2)) / 2, rtol=1e-12
    )


def test_gradients_agree_with_finite_differences(rng):
    for function, weights, point in (
        (lambda x: spd.vectorize(x) ** 2, (2, 3), (2, 2, 2)),
        (lambda v: spd.unvectorize(v) ** 2, (2, 2, 2), (2, 3)),
    ):
        weights, point = rng.normal(size=weights), rng.normal(size=point)
        _, (result,) = matrices.with_gradients(function, weights, point)
        value = lambda x, f=function, w=weights: np.sum(w * np.asarray(matrices.quick(f)(x)))  # noqa: E731
        np.testing.assert_allclose(result, finite_differences(value, point), rtol=0, atol=1e-8)


@pytest.mark.parametrize("shape", [(), (0,), (2,), (4, 5)])
def test_vectors_that_are_no_triangle_are_refused(shape):
    with pytest.raises(ValueError, match="1, 3, 6, 10, .* Received shape"):
        spd.unvectorize(np.zeros(shape))
