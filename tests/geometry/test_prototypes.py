"""Tests that prototypes (class means) are updated by the moving average of Monteiro2020, Algorithm
1."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_dml._backend import ops
from keras_dml.geometry import prototypes
from tests.geometry import perceptrons
from tests.geometry.perceptrons import numpy, staged


def moved(c, z, y, decay):
    """Updates prototypes. Returns the new prototypes in the dtype of `c`, and a mask of the classes
    in the batch."""
    c = np.asarray(c)
    after, present = staged(prototypes.updated)(
        *map(ops.convert_to_tensor, (c, np.asarray(z, c.dtype), np.asarray(y, "int32"))), decay
    )
    return numpy(after), numpy(present)


def by_loop(c, z, y, decay):
    c = np.array(c)
    for k in set(y) - {-1}:
        c[k] = decay * c[k] + (1 - decay) * np.mean(
            [v for v, n in zip(z, y, strict=True) if n == k], 0
        )
    return c


def test_golden_three_steps_with_absent_classes():
    inputs, expected, _, close, _ = perceptrons.example("ema-three-steps-absent-classes")
    c, visits = np.array(inputs["prototypes"], "float32"), np.zeros(4, int)
    for step, wanted in zip(inputs["steps"], expected["prototypes_after"], strict=True):
        after, present = moved(c, step["z"], step["y"], inputs["lambda"])
        np.testing.assert_allclose(after, wanted, **close)
        np.testing.assert_array_equal(present, np.isin(np.arange(4), step["y"]))
        np.testing.assert_array_equal(after[~present], c[~present])
        c, visits = after, visits + present
    np.testing.assert_array_equal(visits, expected["visits"])


@pytest.mark.parametrize("decay", [0, 1])
def test_golden_limits_of_the_decay(decay):
    inputs, expected, _, close, _ = perceptrons.example("ema-limits-of-lambda")
    c = np.array(inputs["prototypes"], "float32")
    after, _ = moved(c, inputs["z"], inputs["y"], decay)
    np.testing.assert_allclose(after, expected[f"lambda_{decay}"], **close)
    if decay == 1:
        np.testing.assert_array_equal(after, c)


def test_golden_replicas_add_sums_and_counts_before_they_divide():
    """Tests the update on two replicas. The update gathers the rows of the two replicas before it
    computes class means, because the mean of the two replicas' means would be wrong."""
    inputs, expected, _, close, _ = perceptrons.example("ema-two-replicas")
    z, y = (np.concatenate([item[key] for item in inputs["replicas"]]) for key in ("z", "y"))
    after, _ = moved(np.array(inputs["prototypes"], "float32"), z, y, inputs["lambda"])
    np.testing.assert_allclose(after, expected["prototypes_after"], **close)
    assert np.abs(after - expected["mean_of_replica_means_is_wrong"]).max() > 1e-3


@given(st.integers(0, 2**31), st.lists(st.integers(-1, 5), min_size=8, max_size=8), st.floats(0, 1))
def test_a_step_is_that_of_the_loop_and_absent_rows_keep_their_bits(seed, y, decay):
    rng = np.random.default_rng(seed)
    c, z = rng.normal(size=(6, 3)), rng.normal(size=(len(y), 3))
    after, present = moved(c, z, y, decay)
    assert after.dtype == "float64"
    np.testing.assert_allclose(after, by_loop(c, z, y, decay), rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(after[~present], c[~present])


def test_after_many_visits_the_start_is_a_power_of_the_decay(rng):
    c, means = np.ones((1, 2)), rng.normal(size=(5, 2))
    for mean in means:
        c, _ = moved(c, mean[None], [0], 0.7)
    shares = 0.3 * 0.7 ** np.arange(4, -1, -1)
    np.testing.assert_allclose(c[0], 0.7**5 + shares @ means, rtol=1e-12)


def test_a_decay_a_class_moves_each_row_by_its_own(rng):
    c, z = rng.normal(size=(2, 3)), rng.normal(size=(2, 3))
    after, _ = moved(c, z, [0, 1], ops.convert_to_tensor(np.array([[0.0], [1.0]])))
    np.testing.assert_array_equal(after, [z[0], c[1]])


def test_a_batch_of_no_class_moves_nothing(rng):
    c, z = rng.normal(size=(2, 3)), np.full((2, 3), np.nan)
    after, present = moved(c, z, [-1, -1], 0.9)
    np.testing.assert_array_equal(after, c)
    assert not present.any()


@pytest.mark.slow_on_jax
def test_an_added_class_has_the_highest_score_exactly_where_its_mean_is_nearest(rng):
    z, c = rng.normal(size=(200, 3)), rng.normal(size=(5, 3))
    added, counts = np.array([False, False, True, False, True]), np.array([0, 20, 1, 40, 5])
    similarities, whitening = 3 * rng.normal(size=(200, 5)), rng.normal(size=(3, 3))
    inputs = [similarities, z, c, added, whitening, 0.5, counts]
    kinds = ["float32"] * 3 + ["bool", "float32", "float32", "float32"]
    tensors = [ops.convert_to_tensor(x, kind) for x, kind in zip(inputs, kinds, strict=True)]
    (scores,) = numpy([staged(prototypes.balanced)(*tensors)])
    distances = np.square(z[:, None] @ whitening - c @ whitening).sum(axis=2)
    distances -= np.where(counts > 0, 0.5 / np.maximum(counts, 1), 0)
    is_nearest = added[distances.argmin(axis=1)]
    assert 0 < is_nearest.sum() < 200
    np.testing.assert_array_equal(added[scores.argmax(axis=1)], is_nearest)
    np.testing.assert_array_equal(
        scores[is_nearest].argmax(axis=1), distances[is_nearest].argmin(axis=1)
    )
    np.testing.assert_allclose(scores[:, ~added], similarities[:, ~added], rtol=1e-6)
