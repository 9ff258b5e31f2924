import numpy as np
import pytest

from keras_dml.losses import DSMLTripletLoss
from tests.gradients import finite_differences, gradients
from tests.graphs import graph
from tests.losses.examples import check_example, numpy


def test_golden_value_and_gradient():
    check_example("dsml_triplet", DSMLTripletLoss)


def test_golden_value_without_the_pull_to_zero_mean():
    check_example(
        "dsml_triplet",
        lambda **kwargs: DSMLTripletLoss(zero_mean_weight=0, **kwargs),
        "without_regulariser",
    )


def test_gradients_agree_with_finite_differences(rng):
    x, labels = rng.normal(size=(6, 4)), np.array([0, 1, 0, 1, 2, 0])
    loss = DSMLTripletLoss(zero_mean_weight=0.3, dtype="float64")
    (result,) = gradients(lambda x: loss(labels, x), x)
    run = graph(lambda x: loss(labels, x))
    np.testing.assert_allclose(result, finite_differences(run, x), rtol=0, atol=1e-6)


@pytest.mark.slow_on_jax
def test_without_triplets_the_pull_to_zero_mean_is_left(rng):
    x = rng.normal(size=(3, 4))
    result = DSMLTripletLoss(zero_mean_weight=0.5, reduction=None, dtype="float64")(np.arange(3), x)
    np.testing.assert_allclose(numpy(result), np.abs(x.sum(axis=1)) / 2, rtol=1e-12)
    (slopes,) = gradients(lambda x: DSMLTripletLoss()(np.arange(3), x), np.zeros((3, 4), "float32"))
    assert (slopes == 0).all()


@pytest.mark.parametrize("shape", [(4,), (4, 3, 3), (4, 3, 5)])
def test_embeddings_that_are_no_vectors_are_refused_with_a_way_out(shape):
    with pytest.raises(ValueError, match="compares vectors.*TangentVector.*TripletLoss"):
        DSMLTripletLoss()(np.array([0, 0, 1, 1]), np.zeros(shape, "float32"))
