import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_dml.geometry import vector
from keras_dml.losses import LiftedStructureLoss
from tests.goldens import golden
from tests.gradients import finite_differences, gradients
from tests.graphs import graph
from tests.losses.examples import check_example, inputs


@pytest.mark.parametrize("name", ["lifted_structure", "lifted_structure_far"])
def test_golden_values_and_gradients(name):
    """Tests worked examples. In some examples, the embeddings are so distant that the exponentials
    would underflow without a shift.
    """
    check_example(name, LiftedStructureLoss)


def test_it_is_the_smooth_form_not_that_of_the_two_maxima():
    x, labels = inputs("lifted_structure")
    expected = golden("lifted_structure", "seeds_p3")["expected"]
    result = float(LiftedStructureLoss()(labels, x))
    assert result > expected["not_smooth"] + 1
    np.testing.assert_allclose(result, expected["value"], rtol=1e-5)


@pytest.mark.slow_on_jax
@given(st.integers(0, 2**31), st.sampled_from([0.3, 1.0]))
def test_it_is_equation_3_read_aloud(seed, margin):
    rng = np.random.default_rng(seed)
    x, labels = rng.normal(size=(7, 3)), np.array([0, 0, 0, 1, 1, 2, 3])
    d = np.linalg.norm(x[:, None] - x[None], axis=-1)
    terms = []
    for i, j in np.ndindex(7, 7):
        if i != j and labels[i] == labels[j]:
            away = labels != labels[i]
            sums = np.exp(margin - d[i, away]).sum() + np.exp(margin - d[j, away]).sum()
            terms.append(max(d[i, j] + np.log(sums), 0) ** 2 / 2)
    result = float(LiftedStructureLoss(margin, dtype="float64")(labels, x))
    np.testing.assert_allclose(result, np.mean(terms), rtol=1e-9)


@pytest.mark.slow_on_jax
def test_each_anchor_has_its_own_value_by_a_distance_that_is_not_symmetric(rng):
    x, labels = rng.normal(size=(5, 4)), np.array([0, 0, 1, 1, 1])
    d = ((x[None] - x[:, None]).var(axis=-1)) / x.var(axis=-1)[:, None]  # anchors are rows
    expected = []
    for i in range(5):
        terms = []
        for j in set(np.flatnonzero(labels == labels[i])) - {i}:
            away = labels != labels[i]
            sums = np.exp(1 - d[i, away]).sum() + np.exp(1 - d[j, away]).sum()
            terms.append(max(d[i, j] + np.log(sums), 0) ** 2 / 2)
        expected.append(5 / 8 * sum(terms))  # mean over anchors = mean over the 8 pairs
    loss = LiftedStructureLoss(distance=vector.snr, dtype="float64", reduction=None)
    np.testing.assert_allclose(loss(labels, x), expected, rtol=1e-9)


def test_gradients_agree_with_finite_differences_at_equal_rows_of_log_sums(rng):
    """Tests gradients when two log-sums are equal. The log-sums are equal because the embeddings of
    rows 0 and 1 mirror each other.
    """
    x, labels = rng.normal(size=(5, 3)), np.array([0, 0, 1, 1, 2])
    x[1] = x[0] * [-1, 1, 1]
    x[2:, 0] = 0
    loss = LiftedStructureLoss(2.0, dtype="float64")
    (result,) = gradients(lambda x: loss(labels, x), x)
    run = graph(lambda x: loss(labels, x))
    np.testing.assert_allclose(result, finite_differences(run, x), rtol=0, atol=1e-6)
