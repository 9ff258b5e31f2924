import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_dml.losses import ContrastiveLoss
from tests.goldens import golden
from tests.gradients import finite_differences, gradients
from tests.graphs import graph
from tests.losses.examples import check_example, inputs, numpy


def test_golden_value_and_gradient():
    check_example("contrastive", ContrastiveLoss)


def test_golden_value_of_each_anchor():
    x, labels = inputs("contrastive")
    result = ContrastiveLoss(reduction=None, dtype="float64")(labels, x)
    expected = golden("contrastive", "seeds_p3")["expected"]
    np.testing.assert_allclose(numpy(result), expected["per_anchor"], rtol=1e-9)
    np.testing.assert_allclose(2 * np.mean(numpy(result)), expected["tfa_mean"], rtol=1e-9)


@given(st.integers(0, 2**31), st.sampled_from([0.3, 1.0, 4.0]))
def test_it_is_the_mean_over_ordered_pairs(seed, margin):
    rng = np.random.default_rng(seed)
    x, labels = rng.normal(size=(6, 3)), rng.integers(0, 3, 6)
    terms = []
    for i, j in np.ndindex(6, 6):
        d = np.linalg.norm(x[i] - x[j])
        if i != j:
            terms.append(d**2 / 2 if labels[i] == labels[j] else max(margin - d, 0) ** 2 / 2)
    result = float(ContrastiveLoss(margin, dtype="float64")(labels, x))
    np.testing.assert_allclose(result, np.mean(terms), rtol=1e-9)


@pytest.mark.slow_on_jax
def test_gradients_agree_with_finite_differences(rng):
    x, labels = rng.normal(size=(5, 3)), np.array([0, 1, 0, 1, 2])
    loss = ContrastiveLoss(2.0, dtype="float64")
    (result,) = gradients(lambda x: loss(labels, x), x)
    run = graph(lambda x: loss(labels, x))
    np.testing.assert_allclose(result, finite_differences(run, x), rtol=0, atol=1e-6)


def test_imposters_at_distance_zero_pay_half_the_squared_margin_without_a_gradient():
    x, labels = np.zeros((2, 3)), np.array([0, 1])
    assert float(ContrastiveLoss(3.0)(labels, x)) == 4.5
    assert (gradients(lambda x: ContrastiveLoss(3.0, dtype="float64")(labels, x), x)[0] == 0).all()


def test_the_negative_cosine_is_refused_with_what_to_take():
    with pytest.raises(ValueError, match="Received cosine.*UnitNormalization.*euclidean"):
        ContrastiveLoss(distance="cosine")
