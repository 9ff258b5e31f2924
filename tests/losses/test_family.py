"""Tests the behavior that all losses on distance matrices have in common, for each kind of
embeddings."""

import numpy as np
import pytest

from keras_dml._backend import keras, ops
from keras_dml.geometry import vector
from keras_dml.losses import ContrastiveLoss, DSMLTripletLoss, LiftedStructureLoss, TripletLoss
from keras_dml.losses._base import DistanceMatrixLoss
from tests.gradients import gradients
from tests.graphs import graph
from tests.losses.examples import numpy

LOSSES = {
    "contrastive": ContrastiveLoss,
    "lifted": LiftedStructureLoss,
    **{
        f"triplet {mining}": lambda mining=mining, **kwargs: TripletLoss(mining=mining, **kwargs)
        for mining in ("all", "random", "semi_hard", "hard")
    },
}
KINDS = ["euclidean", "wasserstein", "affine_invariant", "log_euclidean", "stein"]
if keras.backend.backend() == "jax":  # compiling all distances takes minutes
    KINDS = ["wasserstein", "affine_invariant"]
LABELS = np.array([0, 1, 0, 1, 2, 0])

losses = pytest.mark.parametrize("make", LOSSES.values(), ids=LOSSES)


def embeddings(rng, distance, rows=6):
    if distance == "euclidean":
        return rng.normal(size=(rows, 4))
    if distance == "wasserstein":
        values = np.sort(rng.normal(size=(rows, 3, 5)), axis=-1)
        values[:, -1] = np.linspace(0, 1, 5)
        return values
    roots = rng.normal(size=(rows, 3, 3))
    return roots @ roots.transpose(0, 2, 1) + 0.3 * np.eye(3)


@pytest.mark.parametrize("make", [*LOSSES.values(), DSMLTripletLoss], ids=[*LOSSES, "dsml"])
def test_a_margin_that_is_no_number_is_refused_before_it_makes_losses_nan(make):
    for margin in (np.nan, np.inf):
        with pytest.raises(ValueError, match="`margin` must be finite. Received margin="):
            make(margin=margin)
    for margin in (None, "1"):
        with pytest.raises(TypeError, match="`margin` must be a number. Received margin="):
            make(margin=margin)


@pytest.mark.slow_on_jax
@losses
@pytest.mark.parametrize("distance", KINDS)
def test_every_loss_trains_on_embeddings_of_every_kind(rng, make, distance):
    x, loss = embeddings(rng, distance), make(margin=3.0, distance=distance, dtype="float64")
    (slopes,) = gradients(lambda x: loss(LABELS, x), x)
    assert np.isfinite(slopes).all() and (slopes != 0).any()
    if make is not LOSSES["triplet random"]:  # draws new negatives
        assert float(loss(LABELS, x - 1e-4 * slopes)) < float(loss(LABELS, x))


@pytest.mark.slow
@losses
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("rows", [3, 6])
def test_a_negative_infinitely_far_is_one_beyond_the_margin(rng, make, rows, dtype):
    """Tests the value and the gradient when some or all negatives are infinitely far from the
    anchor.
    """
    x = rng.normal(size=(6, 3)).astype(dtype)
    near = np.arange(6) < rows
    far = near & near[:, None] & (LABELS[:, None] != LABELS)

    def value_and_slopes(reach):
        further = np.where(far, reach, 0).astype(dtype)
        loss = make(margin=1.0, distance=lambda x, y: vector.euclidean(x, y) + further, dtype=dtype)
        return float(loss(LABELS, x)), gradients(lambda x: loss(LABELS, x), x)[0]

    (value, slopes), (expected, its_slopes) = value_and_slopes(np.inf), value_and_slopes(1e9)
    assert np.isfinite(value) and value == expected
    assert np.isfinite(slopes).all()
    np.testing.assert_array_equal(slopes, its_slopes)


@pytest.mark.slow
@losses
@pytest.mark.parametrize("distance", KINDS)
def test_batches_without_a_valid_pair_cost_nothing_and_have_no_gradient(rng, make, distance):
    """Tests batches without a valid pair. A batch of one class has no negatives, a batch of single
    rows has no positives, and a batch of one row has neither positives nor negatives."""
    loss = make(distance=distance, dtype="float64", reduction=None)
    for rows, labels in ((4, [0] * 4), (4, [0, 1, 2, 3]), (1, [0])):
        if isinstance(loss, ContrastiveLoss) and rows > 1:
            continue  # in this loss, any two rows are a pair
        x, labels = embeddings(rng, distance, rows), np.array(labels)
        np.testing.assert_array_equal(numpy(loss(labels, x)), np.zeros(rows))
        total = make(distance=distance, dtype="float64")
        assert (gradients(lambda x, y=labels, f=total: f(y, x), x)[0] == 0).all()


@losses
def test_an_anchor_without_a_positive_pays_nothing_itself(rng, make):
    values = numpy(make(reduction=None)(LABELS, embeddings(rng, "euclidean")))
    assert (values[4] == 0) == (make is not ContrastiveLoss)


@pytest.mark.slow_on_jax
@losses
def test_equal_rows_have_finite_gradients(rng, make):
    x = embeddings(rng, "euclidean").astype("float32")
    x[2], x[3] = x[0], x[0]
    (slopes,) = gradients(lambda x: make()(LABELS, x), x)
    assert np.isfinite(slopes).all()
    assert np.isfinite(gradients(lambda x: make()(LABELS, x), 0 * x)[0]).all()


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("name", [name for name in LOSSES if name != "triplet random"])
def test_the_order_of_the_rows_changes_no_anchor(rng, name):
    """Tests that the value of an anchor does not depend on the order of the rows. The test leaves
    out random triplets, because the random draw depends on the order of the rows.
    """
    x, order, make = embeddings(rng, "euclidean"), rng.permutation(6), LOSSES[name]
    loss = make(reduction=None, dtype="float64")
    result = numpy(loss(LABELS[order], x[order]))
    np.testing.assert_allclose(result, numpy(loss(LABELS, x))[order], rtol=1e-9)


@pytest.mark.slow
@losses
def test_a_compiled_step_gives_the_same_value_and_gradient(rng, make):
    x = embeddings(rng, "euclidean").astype("float32")
    labels, loss = LABELS.astype("float32"), make()
    np.testing.assert_allclose(graph(loss)(labels, x), float(loss(LABELS, x)), rtol=1e-5)
    (expected,) = gradients(lambda x: loss(LABELS, x), x)
    if keras.backend.backend() == "tensorflow":
        result = graph_gradient(loss)(labels, x)
        np.testing.assert_allclose(result, expected, rtol=0, atol=1e-5)


def graph_gradient(loss):
    """Returns a function that computes the gradient of a loss and is traced for batches of unknown
    size, as `fit` does for a sampler.
    """
    import tensorflow as tf

    @tf.function(input_signature=[tf.TensorSpec((None,)), tf.TensorSpec((None, 4))])
    def step(labels, x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            value = loss(labels, x)
        return tape.gradient(value, x)

    return step


@pytest.mark.slow
@losses
def test_labels_that_are_not_ids_are_shown_and_stop_a_compiled_step(rng, make):
    x = embeddings(rng, "euclidean").astype("float32")
    labels = np.where(LABELS == 2, 0.5, LABELS)
    with pytest.raises(ValueError, match=r"whole numbers from 0 to.*\[0.5\]"):
        make()(labels, x)
    with pytest.raises(Exception, match=r"whole numbers from 0 to.*Received.*0.5"):
        graph(make())(labels.astype("float32"), x)


@losses
def test_a_nan_stays_one(rng, make):
    x = embeddings(rng, "euclidean").astype("float32")
    x[4, 1] = np.nan
    assert np.isnan(float(make()(LABELS, x)))


@losses
def test_half_precision_reads_labels_and_embeddings_in_float32(rng, make):
    """Tests that labels and embeddings are read in float32. In bfloat16, the labels 256 and 257
    would be equal.
    """
    x = embeddings(rng, "euclidean").astype("float32")
    result = make(dtype="mixed_bfloat16")(LABELS + 256, x)
    assert keras.backend.standardize_dtype(result.dtype) == "float32"
    np.testing.assert_array_equal(numpy(result), numpy(make()(LABELS, x)))


@pytest.mark.parametrize("make", [*LOSSES.values(), DSMLTripletLoss], ids=[*LOSSES, "dsml"])
def test_labels_of_another_number_of_rows_are_refused(make):
    with pytest.raises(ValueError, match=r"Received 3 labels and embeddings of shape \(4, 2\)"):
        make()(np.array([0, 0, 1]), np.zeros((4, 2), "float32"))


@losses
@pytest.mark.parametrize("shape", [(4,), (4, 3, 3)])
def test_embeddings_that_the_distance_does_not_take_are_refused(make, shape):
    with pytest.raises(ValueError, match="must hold vectors"):
        make()(np.array([0, 0, 1, 1]), np.zeros(shape, "float32"))


def test_a_distance_that_is_nan_one_way_spoils_its_anchor_alone(rng):
    table = rng.uniform(1, 2, (6, 6)).astype("float32")
    table[1, 4] = np.nan
    loss = ContrastiveLoss(distance=lambda x, y: ops.convert_to_tensor(table), reduction=None)
    values = numpy(loss(LABELS, np.ones((6, 2), "float32")))
    assert np.isnan(values).tolist() == [False, True, False, False, False, False]


def test_a_loss_on_distances_without_values_is_abstract(rng):
    with pytest.raises(NotImplementedError):
        DistanceMatrixLoss("euclidean", name="none", dtype=None)(LABELS, rng.normal(size=(6, 2)))
