"""Tests the terms of Algorithm 1 of Monteiro2020, and the loss, which is their weighted sum."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_dml._backend import ops
from keras_dml.losses import PrototypicalLoss
from keras_dml.losses.pairs import classes_present
from keras_dml.losses.prototypes import additive_margin, class_term, pair_term
from tests.geometry import perceptrons
from tests.geometry.perceptrons import numpy, staged
from tests.gradients import gradients
from tests.graphs import graph, with_xla

PAIRS = [
    "pair-loss",
    *(
        f"pair-loss-{name}"
        for name in (
            "no-positives",
            "no-negatives",
            "single-example",
            "extreme-similarities",
            "smoothed-targets",
        )
    ),
]


def ids(labels):
    return ops.convert_to_tensor(np.array(labels, "int32"))


def table_of(inputs):
    return np.array(inputs["similarities"], "float32")


def mean_class_term(labels, smoothing=0.0):
    return staged(lambda scores: ops.mean(class_term(scores, ids(labels), smoothing)))


# ---- class term -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["class-loss", "class-loss-large-similarities", "class-loss-label-smoothing"]
)
def test_golden_class_term(name):
    inputs, expected, gradient, close, close_gradient = perceptrons.example(name)
    scores = table_of(inputs)
    value = mean_class_term(inputs["y"], inputs.get("smoothing", 0.0))
    np.testing.assert_allclose(float(value(scores)), expected["value"], **close)
    (result,) = gradients(value, scores)
    np.testing.assert_allclose(result, gradient["similarities"], **close_gradient)
    if "value_plus_constant_per_row" in expected:
        moved = scores + np.array([[64], [-128]], "float32")
        wanted = expected["value_plus_constant_per_row"]
        np.testing.assert_allclose(float(value(moved)), wanted, rtol=1e-4)
    if "equivalent_smoothing_of_that_form" in expected:
        second = mean_class_term(inputs["y"], expected["equivalent_smoothing_of_that_form"])
        wanted = expected["value_if_mass_is_spread_over_the_other_classes_only"]
        np.testing.assert_allclose(float(second(scores)), wanted, **close)


@pytest.mark.slow_on_jax
def test_a_column_that_is_no_class_counts_for_nothing(rng):
    """Tests columns that are not classes. On JAX, `candidates="batch"` creates such columns. Label
    smoothing is spread only over the columns of classes.
    """
    scores = rng.normal(size=(4, 3)).astype("float32")
    wider = np.insert(scores, 1, -np.inf, axis=1)
    for smoothing in (0.0, 0.2):
        expected = mean_class_term([0, 1, 2, 2], smoothing)
        result = mean_class_term([0, 2, 3, 3], smoothing)
        np.testing.assert_allclose(float(result(wider)), float(expected(scores)), rtol=1e-6)
        in_wider = gradients(result, wider)[0]
        np.testing.assert_allclose(
            np.delete(in_wider, 1, axis=1), gradients(expected, scores)[0], rtol=0, atol=1e-7
        )
        np.testing.assert_array_equal(in_wider[:, 1], 0)


# ---- pair term --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PAIRS)
def test_golden_pair_term(name):
    inputs, expected, gradient, close, close_gradient = perceptrons.example(name)
    table, labels = table_of(inputs), ids(inputs["y"])
    smoothing = inputs.get("pair_smoothing", 0.0)
    value = staged(lambda table: pair_term(table, labels, smoothing=smoothing)[0])
    np.testing.assert_allclose(float(value(table)), expected["value"], **close)
    (result,) = gradients(value, table)
    np.testing.assert_allclose(result, gradient["similarities"], **close_gradient)
    if "positives" in expected:
        assert float(pair_term(table, labels)[1]) == expected["positives"]
    if "unordered" in expected:
        value, positives = pair_term(table, labels, trials="unordered")
        np.testing.assert_allclose(float(value), expected["unordered"]["value"], **close)
        assert float(positives) == expected["unordered"]["positives"]


def pairs_by_loop(table, labels, trials, smoothing):
    kinds = {True: [], False: []}
    for i, j in np.ndindex(*table.shape):
        if i < j or (i > j and trials == "ordered"):
            equal = bool(labels[i] == labels[j])
            target, p = (1 - smoothing if equal else smoothing), 1 / (1 + np.exp(-table[i, j]))
            kinds[equal].append(-target * np.log(p) - (1 - target) * np.log(1 - p))
    return sum(np.mean(values) if values else 0 for values in kinds.values()), len(kinds[True])


@given(
    st.integers(0, 2**31),
    st.lists(st.integers(0, 2), min_size=5, max_size=5),
    st.sampled_from(["ordered", "unordered"]),
    st.floats(0, 0.9),
)
def test_the_pair_term_is_binary_cross_entropy_with_each_kind_weighing_one(
    seed, labels, trials, smoothing
):
    table = np.random.default_rng(seed).normal(scale=3, size=(5, 5))
    expected = pairs_by_loop(table, labels, trials, smoothing)
    result = pair_term(table, ids(labels), trials=trials, smoothing=smoothing)
    np.testing.assert_allclose([float(item) for item in result], expected, rtol=1e-9, atol=1e-12)


# ---- auxiliary term ---------------------------------------------------------------------------


def test_golden_additive_margin():
    from keras_dml.geometry import vector

    inputs, expected, gradient, close, close_gradient = perceptrons.example(
        "aux-additive-margin-softmax"
    )
    z, kernel = (np.array(inputs[key], "float32") for key in ("z", "kernel"))
    labels = ids(inputs["y"])

    @staged
    def value(z):
        cosines = vector.cosine(z, kernel.T)
        return ops.mean(class_term(additive_margin(cosines, labels), labels))

    np.testing.assert_allclose(numpy(vector.cosine(z, kernel.T)), expected["cosines"], rtol=1e-5)
    np.testing.assert_allclose(float(value(z)), expected["value"], **close)
    np.testing.assert_allclose(gradients(value, z)[0], gradient["z"], **close_gradient)
    own = numpy(additive_margin(np.zeros((3, 3), "float32"), labels))
    expected_own = -inputs["scale"] * inputs["margin"] * np.eye(3)[inputs["y"]]
    np.testing.assert_allclose(own, expected_own, rtol=1e-6)


# ---- the loss ---------------------------------------------------------------------------------


def predictions(rng, rows=6, classes=3, logits=True):
    shapes = {"scores": (rows, classes), "pairs": (rows, rows), "logits": (rows, classes)}
    result = {key: rng.normal(size=shape).astype("float32") for key, shape in shapes.items()}
    return result if logits else {key: result[key] for key in ("scores", "pairs")}


LABELS = np.array([0, 0, 1, 1, 2, 0])


def test_the_loss_is_the_weighted_sum_of_its_terms(rng):
    given_ = predictions(rng)
    loss = PrototypicalLoss(
        class_weight=0.5, pair_weight=2, aux_weight=3, label_smoothing=0.1, pair_smoothing=0.05
    )
    terms = [float(item) for item in loss.terms(ids(LABELS), **given_)[:3]]
    assert min(terms) > 0
    expected = 0.5 * terms[0] + 2 * terms[1] + 3 * terms[2]
    np.testing.assert_allclose(float(loss(LABELS, given_)), expected, rtol=1e-6)
    np.testing.assert_allclose(terms[2], float(mean_class_term(LABELS, 0.1)(given_["logits"])))


def test_without_an_auxiliary_head_its_term_is_zero(rng):
    terms = PrototypicalLoss().terms(ids(LABELS), **predictions(rng, logits=False))
    assert float(terms[2]) == 0


@pytest.mark.slow_on_jax
def test_a_label_that_is_no_class_is_refused(rng):
    given_, loss = predictions(rng), PrototypicalLoss()
    for strange in (3, -1):
        labels = np.where(LABELS == 2, strange, LABELS)
        with pytest.raises(ValueError, match=rf"Received \[{strange}"):
            loss(labels, given_)
        traced = graph(lambda y, s, p: loss(y, {"scores": s, "pairs": p}))
        with pytest.raises(Exception, match=f"from 0 to.*Received.*{strange}"):
            traced(labels.astype("float32"), given_["scores"], given_["pairs"])


def test_one_hot_labels_are_refused(rng):
    with pytest.raises(ValueError, match="one-hot labels"):
        PrototypicalLoss()(np.eye(3)[LABELS], predictions(rng))


@pytest.mark.parametrize(
    "options, message",
    [
        ({"class_weight": -1}, "`class_weight` must be a number of at least 0"),
        ({"pair_weight": float("nan")}, "`pair_weight`"),
        ({"label_smoothing": 1}, "`label_smoothing` must be a number of at least 0 and below 1"),
        ({"pair_smoothing": -0.1}, "`pair_smoothing`"),
        ({"candidates": "some"}, "`candidates` must be one of .*all.*batch"),
        ({"trials": "none"}, "`trials` must be one of .*ordered"),
    ],
)
def test_options_out_of_range_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        PrototypicalLoss(**options)


# ---- classes of a batch -----------------------------------------------------------------------


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("static", [False, True])
@pytest.mark.parametrize("labels", [[4, 1, 4, 0, 1], [2, 2, 2, 2, 2], [5, -1, 0, 5, -1]])
def test_places_name_each_rows_class_among_those_present(labels, static):
    """Tests the function that returns, for each row, the index of its class among the classes in
    the batch. The function must also work with static shapes, which may not depend on the values of
    the labels.
    """
    present, places = (
        numpy(item) for item in classes_present(ids(labels), classes=9, static=static)
    )
    valid = np.array(labels) >= 0
    np.testing.assert_array_equal(present[places[valid]], np.array(labels)[valid])
    np.testing.assert_array_equal(places[~valid], -1)
    first = np.array([list(present).index(item) for item in present])
    assert set(places[valid]) <= set(first)  # repeated classes have no index
    if static:
        assert len(present) == len(labels)


def test_static_classes_compile_with_xla():
    present, places = with_xla(lambda y: classes_present(y, 9, static=True))(ids([4, 1, 4]))
    np.testing.assert_array_equal(numpy(present)[numpy(places)], [4, 1, 4])


@pytest.mark.slow_on_jax
def test_a_row_without_a_unit_of_the_auxiliary_head_does_not_count(rng):
    """Tests a row whose class was added after training, so that the auxiliary head has no unit for
    this class."""
    logits = rng.normal(size=(4, 2)).astype("float32")
    labels = ids([0, 3, 1, 2])
    result = PrototypicalLoss().terms(labels, logits=logits)[2]
    expected = np.mean(class_term(logits[[0, 2]], ids([0, 1])))
    np.testing.assert_allclose(float(result), expected, rtol=1e-6)
    assert float(PrototypicalLoss().terms(ids([2, 2, 3, 3]), logits=logits)[2]) == 0
