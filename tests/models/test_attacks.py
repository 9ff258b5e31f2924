"""Tests golden values, bounds and compilation of the attacks for training (FGSM, PGD)."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_dml._backend import keras, ops
from keras_dml._backend.gradients import value_and_gradient
from keras_dml.losses import robust
from keras_dml.models import _attacks
from tests.goldens import golden

CLOSE = {"rtol": 1e-5, "atol": 1e-6}


def compiled(function):
    """Returns a function that TensorFlow or JAX compiles."""
    if keras.backend.backend() == "jax":
        import jax

        return jax.jit(function)
    import tensorflow as tf

    return tf.function(function)


def linear(name):
    """Returns inputs, the loss function of a linear network, and the golden values."""
    actual = golden(name, "seeds_p2")
    inputs = {
        key: np.array(value, "int32" if key == "y" else "float32")
        for key, value in actual["inputs"].items()
        if key in ("x", "y", "kernel", "bias", "start")
    }

    def loss(x):
        return robust.cross_entropy(inputs["y"], ops.matmul(x, inputs["kernel"]) + inputs["bias"])

    return inputs, loss, actual


def test_gradient_of_the_golden_network():
    inputs, loss, actual = linear("fgsm-linear-model")
    values, gradient = value_and_gradient(loss, inputs["x"])
    np.testing.assert_allclose(values, actual["expected"]["loss_before"], **CLOSE)
    np.testing.assert_allclose(gradient, actual["expected"]["x_gradient"], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("wrap", [lambda function: function, compiled], ids=["eager", "compiled"])
def test_fgsm_of_the_golden_network(wrap):
    inputs, loss, actual = linear("fgsm-linear-model")
    epsilon, x, expected = actual["inputs"]["epsilon"], inputs["x"], actual["expected"]
    twin = wrap(lambda x: _attacks.pgd(loss, x, x, epsilon, epsilon, 1))(ops.convert_to_tensor(x))
    # In exact arithmetic, the gradient of the last column is 0. In floating-point arithmetic, it is
    # not.
    np.testing.assert_allclose(
        np.asarray(twin)[:, :3], np.array(expected["x_adversarial"])[:, :3], **CLOSE
    )
    after = loss(np.array(expected["x_adversarial"], "float32"))
    np.testing.assert_allclose(after, expected["loss_after"], **CLOSE)


@pytest.mark.parametrize("wrap", [lambda function: function, compiled], ids=["eager", "compiled"])
def test_pgd_of_the_golden_network(wrap):
    inputs, loss, actual = linear("pgd-linear-model")
    options = actual["inputs"]
    x, epsilon = ops.convert_to_tensor(inputs["x"]), options["epsilon"]
    start = _attacks.project(x + inputs["start"], x, epsilon)
    iterates = np.array(actual["expected"]["iterates"])  # (examples, steps + 1, features)
    for steps in range(options["steps"] + 1):
        attack = wrap(lambda x, n=steps: _attacks.pgd(loss, x, start, epsilon, options["alpha"], n))
        np.testing.assert_allclose(attack(x), iterates[:, steps], **CLOSE)


def test_projection_is_on_the_ball_and_the_bounds():
    actual = golden("linf-projection", "seeds_p2")
    points, centers = (np.array(actual["inputs"][key], "float32") for key in ("points", "centres"))
    projected = _attacks.project(points, centers, actual["inputs"]["epsilon"])
    np.testing.assert_allclose(projected, actual["expected"]["projected"], **CLOSE)


@pytest.mark.slow_on_jax
@given(st.integers(0, 10**6), st.floats(0.01, 1.0), st.integers(0, 4))
def test_adversarial_examples_stay_in_the_ball_and_the_bounds(seed, epsilon, steps):
    rng = np.random.default_rng(seed)
    x, kernel = rng.random((3, 4)).astype("float32"), rng.normal(size=(4, 2)).astype("float32")
    start = _attacks.uniform_start(ops.convert_to_tensor(x), epsilon, seed)
    twin = _attacks.pgd(
        lambda point: ops.sum(ops.matmul(point, kernel), axis=1), x, start, epsilon, epsilon, steps
    )
    for item in (np.asarray(start), np.asarray(twin)):
        assert np.abs(item - x).max() <= epsilon + 1e-6
        assert item.min() >= 0 and item.max() <= 1


def test_zero_or_nan_gradients_move_nothing():
    gradient = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1e-30, -3.0], "float32")
    np.testing.assert_array_equal(_attacks.direction(gradient), [0, 0, 0, 0, 0, 1, -1])


def test_a_function_that_uses_no_input_has_gradient_zero():
    _, gradient = value_and_gradient(lambda x: ops.ones((2,)), np.ones((2, 3), "float32"))
    np.testing.assert_array_equal(gradient, np.zeros((2, 3)))


@pytest.mark.slow_on_jax
def test_starts_repeat_with_their_seed_and_fill_the_ball():
    x = np.full((50, 8), 0.5, "float32")
    first, again, third = (
        np.asarray(_attacks.uniform_start(x, 0.2, seed)) - x for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    assert (first != third).any()
    assert first.min() < -0.19 and first.max() > 0.19 and abs(first.mean()) < 0.02
