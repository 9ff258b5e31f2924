"""Tests of the statistics of Riemannian potatoes: calibration, scores, the online step and the
update by a batch."""

import functools

import numpy as np
import pytest

from keras_dml._backend import ops
from keras_dml.geometry import potato_scores
from keras_dml.geometry.spd import potato
from tests.geometry.matrices import (
    DTYPES,
    assert_gradients,
    assert_values,
    compiled,
    example,
    spd,
)
from tests.gradients import gradients


def statistics(inputs, dtype, count=6):
    """Returns the statistics of one class as tensors."""
    values = (inputs["center"], inputs["log_mu"], inputs["log_sigma"], count)
    return potato.Statistics(
        *(ops.convert_to_tensor(np.asarray(value, dtype)[None]) for value in values)
    )


def arrays(inputs):
    """Returns the statistics of one class as NumPy values in float64."""
    values = (inputs["center"], inputs["log_mu"], inputs["log_sigma"], 6)
    return potato.Statistics(*(np.asarray(value, np.float64) for value in values))


def moved(state, x, update_rate):
    """Applies the online step to NumPy values with a matrix that is accepted."""
    return potato.online_step(state, np.asarray(x, np.float64), np.inf, update_rate)[1]


@functools.cache
def one_class(update_rate):
    @compiled
    def run(state, x):
        logs = potato.log_distances(state.center, x)[0]
        z = potato.z_score(logs, state.mean, state.stddev)
        labels = ops.zeros(x.shape[:1], "int32")
        return logs, z, potato.update(state, x, labels, logs, update_rate)

    return run


def scored_and_moved(state, x, update_rate):
    """Computes, in a compiled step, logarithms of distances, scores, and the statistics after an
    update with matrices of one class."""
    return one_class(update_rate)(state, ops.convert_to_tensor(x))


@functools.cache
def any_classes(update_rate):
    return compiled(lambda state, *rows: potato.update(state, *rows, update_rate))


def updated(state, *rows, update_rate):
    """Calls `update` in a compiled step with rows of any classes."""
    return any_classes(update_rate)(state, *map(ops.convert_to_tensor, rows))


# ---- calibration and scores -------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
def test_calibration_and_scores_are_those_of_the_definition(dtype):
    inputs, expected, _, tolerance = example("potato_calibration", dtype)
    result = potato.calibrate(inputs["x"])
    # The error of the center that `karcher_mean` computes is 1e-9.
    close = {**tolerance, "atol": max(tolerance["atol"], 3e-9)}
    for part, key in (("center", "center"), ("mean", "log_mu"), ("stddev", "log_sigma")):
        assert_values(getattr(result, part), expected[key], close)
    assert result.count == 6
    state = statistics({**inputs, **expected}, dtype)
    logs, *_ = scored_and_moved(state, inputs["x"], None)
    assert_values(logs, expected["log_distances"], tolerance)
    # The error of a score is the error of the logarithms divided by log_sigma, which is 0.04.
    _, z, _ = scored_and_moved(state, inputs["new"], None)
    assert_values(z, expected["z"], {**tolerance, "atol": tolerance["atol"] * 30})


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("dtype", DTYPES)
def test_the_gradient_takes_the_statistics_for_constants(dtype):
    inputs, expected, gradient, tolerance = example("z_score_gradient", dtype)
    arrays = [np.asarray(inputs[name], dtype) for name in ("x", "center", "log_mu", "log_sigma")]

    def score(x, center, log_mu, log_sigma):
        return potato.z_score(potato.log_distances(center[None], x[None])[0, 0], log_mu, log_sigma)

    value = compiled(score)(*map(ops.convert_to_tensor, arrays))
    assert_values(value, expected["value"], tolerance)
    result = gradients(compiled(score), *arrays)
    assert_gradients(result[0], gradient["x"], tolerance)
    for constant in result[1:]:
        np.testing.assert_array_equal(constant, 0)


@pytest.mark.parametrize("dtype", DTYPES)
def test_floors_keep_scores_finite_without_gradient_below(dtype):
    inputs, expected, _, tolerance = example("z_score_floors", dtype)
    d = np.asarray(inputs["d"], dtype)

    def scores(d):
        log_sigma = ops.convert_to_tensor(np.asarray(inputs["log_sigma"], dtype)[:, None])
        return potato.z_score(potato.log_distance(d), inputs["log_mu"], log_sigma)

    assert_values(scores(ops.convert_to_tensor(d)), expected["z"], tolerance)
    (result,) = gradients(compiled(lambda d: ops.sum(scores(d))), d)
    np.testing.assert_array_equal(result == 0, d < 1e-4)


def test_a_nan_is_not_floored():
    x = np.stack([np.full((2, 2), np.nan), np.eye(2)]).astype("float32")
    result = compiled(potato.log_distances)(*map(ops.convert_to_tensor, (x[1:], x)))
    result = np.asarray(result)[0]
    assert np.isnan(result[0])
    np.testing.assert_allclose(result[1], np.log(1e-4), rtol=1e-6)


# ---- the online step --------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.slow_on_jax
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "name, update_rate", [("potato_online_constant", 0.1), ("potato_online_cumulative", None)]
)
def test_online_steps_and_batches_of_one_follow_the_equations(name, update_rate, dtype):
    inputs, expected, _, tolerance = example(name, dtype)
    state = statistics(inputs, dtype)
    values = arrays(inputs)
    for x, after in zip(inputs["x"], expected["steps"], strict=True):
        logs, z, state = scored_and_moved(state, x[None], update_rate)
        assert_values(np.exp(logs[0]), after["d"], tolerance)
        scores = {**tolerance, "rtol": tolerance["rtol"] * 5, "atol": tolerance["atol"] * 30}
        assert_values(z[0], after["z"], scores)
        values = moved(values, x, update_rate)
        for result in (values, potato.Statistics(*(np.asarray(part)[0] for part in state))):
            assert_values(result.center, after["center"], tolerance)
            assert_values(result.mean, after["log_mu"], tolerance)
            assert_values(result.stddev, after["log_sigma"], tolerance)
    assert values.count == state.count[0] == 11


@pytest.mark.slow_on_jax
def test_equation_20_is_read_with_the_bracket_before_the_sum():
    inputs, expected, _, tolerance = example("eq20_readings", "float64")
    x, rate = np.exp([[[inputs["d"]]]]), inputs["update_rate"]
    before = {"center": np.eye(1), **inputs}
    result = scored_and_moved(statistics(before, "float64"), x, rate)[2].stddev[0]
    assert_values(result, expected["built"], tolerance)
    assert_values(moved(arrays(before), x[0], rate).stddev, expected["built"], tolerance)
    for second in ("bracket_closed_at_the_end", "log_of_sigma_squared", "unbiased"):
        assert abs(result - expected[second]) > 1e-4


# ---- the update by a batch --------------------------------------------------------------------


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["cumulative", "constant"])
def test_a_batch_moves_a_class_once(name, dtype):
    inputs, expected, _, tolerance = example("potato_batch_update", dtype)
    update_rate = inputs["update_rate"] if name == "constant" else None
    state = statistics(inputs, dtype, inputs["count"])
    _, _, result = scored_and_moved(state, inputs["x"], update_rate)
    for part, key in (("center", "center"), ("mean", "log_mu"), ("stddev", "log_sigma")):
        assert_values(getattr(result, part)[0], expected[name][key], tolerance)
    assert result.count[0] == inputs["count"] + 3


def some_classes(rng, classes=3, n=4):
    parts = (
        spd(rng, classes, n),
        rng.normal(size=classes),
        rng.uniform(0.1, 1, classes),
        [5, 6, 7],
    )
    return potato.Statistics(*(ops.convert_to_tensor(np.asarray(part, float)) for part in parts))


@pytest.mark.slow_on_jax
def test_each_class_moves_by_its_own_rows_in_any_order(rng):
    state, x = some_classes(rng), spd(rng, 6, 4)
    labels = np.array([2, 0, 2, -1, -1, 0], "int32")
    values = rng.normal(size=6)
    order = np.array([5, 4, 3, 2, 1, 0])
    result = updated(state, x, labels, values, update_rate=0.1)
    again = updated(state, x[order], labels[order], values[order], update_rate=0.1)
    for first, second in zip(result, again, strict=True):
        np.testing.assert_allclose(first, second, rtol=1e-12)
    for label in (0, 2):
        alone = potato.Statistics(*(part[label : label + 1] for part in state))
        rows = labels == label
        own = (x[rows], np.zeros(2, "int32"), values[rows])
        expected = updated(alone, *own, update_rate=0.1)
        for part, its in zip(result, expected, strict=True):
            np.testing.assert_allclose(part[label], its[0], rtol=1e-10)


@pytest.mark.slow_on_jax
def test_classes_without_rows_and_rows_without_a_class_change_nothing(rng):
    """The statistics stay the same bit for bit for any values in these rows."""
    state = some_classes(rng)
    x = np.stack([np.full((4, 4), np.nan), np.zeros((4, 4)), np.eye(4)])
    labels, values = np.array([-1, -1, 1], "int32"), np.array([np.nan, np.inf, 0.5])
    result = updated(state, x, labels, values, update_rate=None)
    for before, after in zip(state, result, strict=True):
        np.testing.assert_array_equal(np.asarray(before)[[0, 2]], np.asarray(after)[[0, 2]])
        assert np.isfinite(np.asarray(after)).all()


def test_centers_stay_symmetric_and_definite_in_float32(rng):
    state = potato.Statistics(*(ops.cast(part, "float32") for part in some_classes(rng)))
    labels, values = np.array([0, 1, 2, 0], "int32"), np.zeros(4, "float32")
    run = compiled(lambda state, x: potato.update(state, x, labels, values, 0.3))
    for _ in range(20):
        state = run(state, ops.convert_to_tensor(spd(rng, 4, 4).astype("float32")))
    center = np.asarray(state.center)
    assert center.dtype == "float32"
    np.testing.assert_array_equal(center, np.swapaxes(center, 1, 2))
    assert (np.linalg.eigvalsh(center) > 1e-3).all()


# ---- bad input --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "x, message",
    [
        (np.eye(3)[None], "at least 2 matrices.*Received 1"),
        (np.stack([np.eye(2), np.full((2, 2), np.nan)]), "not finite"),
        (np.stack([np.eye(2), np.diag([1.0, -1])]), "positive definite.*index 1"),
        (np.ones((4, 3)), r"shape \(count, n, n\)"),
    ],
)
def test_a_class_that_cannot_be_calibrated_is_refused(x, message):
    with pytest.raises(ValueError, match=message):
        potato.calibrate(x)


@pytest.mark.parametrize("update_rate", [-0.1, 1.5, float("nan")])
def test_an_update_rate_outside_0_to_1_is_refused(update_rate):
    with pytest.raises(ValueError, match="update_rate.*Received"):
        potato_scores.check_update_rate(update_rate)
