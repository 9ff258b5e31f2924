import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_dml import distances
from keras_dml._backend import keras, ops
from keras_dml.losses import NPairLoss
from tests.goldens import golden
from tests.gradients import finite_differences, gradients
from tests.graphs import graph

LABELS = np.array([5, 2, 2, 7, 5, 7])


def float64(values):
    return np.asarray(values, np.float64)


def numpy(tensor):
    return np.asarray(ops.convert_to_numpy(tensor))


@pytest.mark.parametrize("name", ["npair_cosine", "npair_inner", "npair_inner_l2"])
def test_golden_losses_and_their_gradients(name):
    example = golden(name)
    f, labels = float64(example["inputs"]["f"]), np.asarray(example["inputs"]["labels"])
    similarity, l2 = example["inputs"]["similarity"], example["inputs"]["l2"]
    loss = NPairLoss(similarity, l2=l2, dtype="float64")
    tolerance = {"rtol": 0, "atol": example["tolerance"]}
    bare = NPairLoss(similarity, reduction=None, dtype="float64")(labels, f)
    np.testing.assert_allclose(bare, example["expected"]["per_anchor_without_l2"], **tolerance)
    np.testing.assert_allclose(loss(labels, f), example["expected"]["loss"], **tolerance)
    (slopes,) = gradients(lambda f: loss(labels, f), f)
    np.testing.assert_allclose(slopes, example["gradient"]["f"], rtol=0, atol=1e-6)


def test_golden_n_pair_mc_of_sohn_weighs_the_squared_lengths_by_half_of_its_l2():
    """Tests the weight of squared lengths. In Kim2020, lambda is 0.001 and weighs the mean over all
    rows. The argument `l2=0.002` gives the same loss.
    """
    example = golden("npair_mc", "seeds_p3")
    expected, weight = example["expected"], example["inputs"]["l2_weight"]
    labels = np.asarray(example["inputs"]["labels"])
    for dtype, tolerance in example["tolerance"].items():
        x = np.asarray(example["inputs"]["x"], dtype)
        close = {"rtol": tolerance["rtol"], "atol": tolerance["atol"]}
        loss = NPairLoss("inner", l2=2 * weight, dtype=dtype)
        np.testing.assert_allclose(loss(labels, x), expected["value"], **close)
        bare = NPairLoss("inner", reduction=None, dtype=dtype)(labels, x)
        np.testing.assert_allclose(bare, expected["per_anchor_without_l2"], **close)
        (slopes,) = gradients(lambda x, loss=loss: loss(labels, x), x)
        np.testing.assert_allclose(
            slopes, example["gradient"]["x"], rtol=0, atol=tolerance["grad_atol"]
        )


def test_sohns_loss_is_not_the_sum_over_all_positive_pairs_that_kim2020_prints():
    """Erratum: Eq. 2 of Kim2020 is a sum over all positive pairs and gives another value than the
    loss of Sohn2016.
    """
    example = golden("npair_mc", "seeds_p3")
    x, labels = (np.asarray(example["inputs"][key]) for key in ("x", "labels"))
    result = float(NPairLoss("inner", l2=0.002)(labels, x))
    assert abs(result - example["expected"]["all_pairs_equation_2"]) > 0.5


def test_golden_negative_cosine():
    example = golden("neg_cosine")
    flat = lambda key: float64(example["inputs"][key])[:, 1:-1].reshape(1, -1)  # noqa: E731
    a, b, zero = flat("A"), flat("B"), flat("zero")
    np.testing.assert_allclose(
        a[0], example["expected"]["flat_A"], rtol=0, atol=example["tolerance"]
    )
    distance = distances.Cosine()
    result = [float(distance(a, b)[0, 0]), float(distance(a, zero)[0, 0])]
    expected = [example["expected"]["distance"], example["expected"]["distance_to_zero"]]
    np.testing.assert_allclose(result, expected, rtol=0, atol=example["tolerance"])


@settings(max_examples=15)
@given(st.integers(0, 2**31))
def test_it_is_the_cross_entropy_of_picking_ones_own_positive(seed):
    f = np.random.default_rng(seed).normal(size=(6, 4))
    anchors, positives = f[[0, 1, 3]], f[[4, 2, 5]]
    scores = anchors @ positives.T
    expected = np.log(np.exp(scores).sum(axis=1)) - np.diag(scores)
    result = NPairLoss("inner", reduction=None, dtype="float64")(LABELS, f)
    np.testing.assert_allclose(result, expected, rtol=1e-9)


def test_the_penalty_is_a_quarter_of_lambda_times_both_squared_lengths(rng):
    f = rng.normal(size=(6, 4))
    bare, full = (NPairLoss("inner", l2=l2, dtype="float64")(LABELS, f) for l2 in (0, 0.4))
    lengths = (f[[0, 1, 3]] ** 2).sum(axis=1).mean() + (f[[4, 2, 5]] ** 2).sum(axis=1).mean()
    np.testing.assert_allclose(float(full) - float(bare), 0.1 * lengths, rtol=1e-9)


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("similarity, l2", [("cosine", 0), ("inner", 0.02)])
def test_gradients_agree_with_finite_differences(rng, similarity, l2):
    f = rng.normal(size=(6, 4))
    f[1] = f[4]
    loss = NPairLoss(similarity, l2=l2, scale=2, dtype="float64")
    (slopes,) = gradients(lambda f: loss(LABELS, f), f)
    run = graph(lambda f: loss(LABELS, f))
    np.testing.assert_allclose(slopes, finite_differences(run, f), rtol=0, atol=1e-6)


def test_the_cosine_of_a_zero_vector_is_zero_and_its_gradient_finite(rng):
    f = rng.normal(size=(6, 4))
    f[0] = 0
    loss = NPairLoss(dtype="float64")
    values = NPairLoss(reduction=None, dtype="float64")(LABELS, f)
    np.testing.assert_allclose(float(values[0]), np.log(3), rtol=1e-12)
    (slopes,) = gradients(lambda f: loss(LABELS, f), f)
    assert np.isfinite(slopes).all()


def test_lengths_do_not_matter_to_the_cosine_but_the_scale_does(rng):
    f = rng.normal(size=(6, 4))
    result = float(NPairLoss(dtype="float64")(LABELS, f))
    stretched = f * rng.uniform(0.1, 10, size=(6, 1))
    np.testing.assert_allclose(
        float(NPairLoss(dtype="float64")(LABELS, stretched)), result, rtol=1e-9
    )
    unit = f / np.linalg.norm(f, axis=1, keepdims=True)
    scaled = NPairLoss("inner", scale=7, dtype="float64")(LABELS, unit)
    np.testing.assert_allclose(NPairLoss(scale=7, dtype="float64")(LABELS, f), scaled, rtol=1e-9)
    assert abs(float(scaled) - result) > 1e-3


def test_large_products_neither_overflow_nor_lose_the_gradient():
    """Tests the anchors 1e4 and -1e4. If the positives of the two anchors are exchanged, the
    differences between similarities are 2e8.
    """
    f, separate, crossed = (
        np.array([[1e4], [-1e4], [1e4], [-1e4]], "float32"),
        [0, 1, 0, 1],
        [0, 1, 1, 0],
    )
    each = NPairLoss("inner", reduction=None)
    np.testing.assert_array_equal(numpy(each(np.array(separate), f)), [0, 0])
    np.testing.assert_allclose(numpy(each(np.array(crossed), f)), [2e8, 2e8])
    (slopes,) = gradients(lambda f: NPairLoss("inner")(np.array(crossed), f), f)
    assert np.isfinite(slopes).all() and (slopes != 0).any()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_loss_of_half_precision_still_reads_labels_and_embeddings_in_float32(rng, dtype):
    f = rng.normal(size=(6, 4)).astype("float32")
    result = NPairLoss(dtype=dtype)(LABELS + 250, f)
    np.testing.assert_array_equal(numpy(result), numpy(NPairLoss()(LABELS, f)))
    assert keras.backend.standardize_dtype(result.dtype) == "float32"


@pytest.mark.parametrize("shape", [(6,), (6, 3, 5)])
def test_predictions_that_are_no_vectors_are_refused_with_a_way_out(shape):
    with pytest.raises(ValueError, match=r"QuantileLayer\(flatten=True\)"):
        NPairLoss()(LABELS, np.zeros(shape, "float32"))


@pytest.mark.parametrize("similarity", ["euclidean", None, "Cosine"])
def test_unknown_similarities_are_refused_with_the_known_ones(similarity):
    with pytest.raises(ValueError, match=r"`similarity` must be one of \('cosine', 'inner'\)"):
        NPairLoss(similarity)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scale": 0}, "`scale` must be a positive number. Received scale=0"),
        ({"scale": np.nan}, "`scale` must be a positive number"),
        ({"l2": -0.1}, "`l2` must be a number of at least 0. Received l2=-0.1"),
        ({"l2": np.inf}, "`l2` must be a number of at least 0"),
    ],
)
def test_numbers_out_of_range_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        NPairLoss(**options)
