import numpy as np
import pytest
from scipy import linalg

from keras_dml._backend import keras
from keras_dml.geometry.spd import stiefel
from tests.geometry import matrices
from tests.geometry.matrices import DTYPES


@pytest.mark.parametrize("dtype", DTYPES)
def test_golden_frames(dtype):
    inputs, expected, _, tolerance = matrices.example("stiefel", dtype)
    result = np.asarray(stiefel.polar(inputs["kernel"]))
    assert result.dtype == dtype
    matrices.assert_values(result, expected["polar"], tolerance)
    matrices.assert_values(stiefel.qr(inputs["kernel"]), expected["qr_positive"], tolerance)


def test_a_step_and_polar_are_the_riemannian_step_to_first_order():
    inputs, expected, _, _ = matrices.example("stiefel", "float64")
    start = np.asarray(expected["polar"])
    moved = lambda h: np.asarray(stiefel.polar(start - h * inputs["gradient"]))  # noqa: E731
    step = 1e-5
    result = (moved(-step) - moved(step)) / (2 * step)
    np.testing.assert_allclose(result, expected["riemannian_gradient_at_polar"], rtol=0, atol=1e-8)


def test_polar_agrees_with_scipys(rng):
    w = rng.normal(size=(3, 7, 4))
    for result, item in zip(np.asarray(stiefel.polar(w)), w, strict=True):
        np.testing.assert_allclose(result, linalg.polar(item)[0], rtol=0, atol=1e-12)


@pytest.mark.slow_on_jax
def test_float32_frames_are_orthonormal_after_a_step_of_an_optimizer(rng):
    w = np.asarray(stiefel.random((93, 80), seed=1))
    for result in (w, np.asarray(stiefel.polar(w + 0.01 * rng.normal(size=w.shape).astype("f")))):
        np.testing.assert_allclose(result.T @ result, np.eye(80), rtol=0, atol=5e-6)


@pytest.mark.slow_on_jax
def test_polar_leaves_a_frame_where_it_is():
    w = np.asarray(stiefel.random((93, 80), seed=2))
    np.testing.assert_allclose(stiefel.polar(w), w, rtol=0, atol=2e-6)


@pytest.mark.slow_on_jax
def test_random_frames_repeat_with_the_seed_and_differ_without():
    first, again = (np.asarray(stiefel.random((5, 2), seed=7)) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    generator = keras.random.SeedGenerator(7)
    item, second = (np.asarray(stiefel.random((5, 2), generator)) for _ in range(2))
    assert np.abs(item - second).max() > 0.01


def test_random_frames_prefer_no_direction():
    frames = np.stack([np.asarray(stiefel.random((3, 1), seed=i)) for i in range(300)])
    assert np.abs(frames.mean(axis=0)).max() < 0.12
    np.testing.assert_allclose((frames**2).mean(axis=0), np.full((3, 1), 1 / 3), rtol=0, atol=0.07)


@pytest.mark.parametrize("function", [stiefel.polar, stiefel.qr])
@pytest.mark.parametrize("shape", [(3,), (3, 4), (2, 3, 4)])
def test_more_columns_than_rows_are_refused(function, shape):
    with pytest.raises(ValueError, match=r"`w` .* Received shape"):
        function(np.zeros(shape))


def test_more_columns_than_rows_are_refused_at_random():
    with pytest.raises(ValueError, match=r"Received shape \(3, 4\)"):
        stiefel.random((3, 4))
