import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_dml import distances
from keras_dml._backend import keras, ops
from keras_dml.geometry import quantile
from keras_dml.geometry.quantile import wasserstein
from keras_dml.layers import QuantileLayer
from keras_dml.losses import WassersteinLoss
from keras_dml.losses.wasserstein import pair_softplus
from tests import contracts
from tests.goldens import golden
from tests.gradients import finite_differences, gradients
from tests.graphs import graph


def float64(values):
    return np.asarray(values, np.float64)


def numpy(tensor):
    return np.asarray(ops.convert_to_numpy(tensor))


def with_knots(values, alpha):
    """Builds quantile embeddings from values `(batch, filters, knots)` and unconstrained weights
    that determine the knots. The last row of an embedding contains the knots.
    """
    row = ops.cast(quantile.knots(alpha), values.dtype)[None, None, :]
    return ops.concatenate([values, row + ops.zeros_like(values[:, :1])], axis=1)


def loss(reduction="sum", **options):
    return WassersteinLoss(reduction=reduction, dtype="float64", **options)


def random_batch(rng, pairs=3, filters=2, inner=3):
    values = np.sort(rng.normal(size=(2 * pairs, filters, inner + 2)), axis=-1)
    return rng.permutation(np.repeat(np.arange(pairs), 2)), values, rng.normal(size=inner)


def by_loops(labels, values, knots, p, symmetric):
    """Computes Eq. 13 of Abdelwahab2019 with loops, one value per anchor."""
    distance = distances.Wasserstein(p)
    embeddings = np.concatenate(
        [values, np.broadcast_to(knots, (len(values), 1, len(knots)))], axis=1
    )
    rows = {}
    for row, label in enumerate(labels):
        rows.setdefault(label, []).append(row)
    d = lambda a, b: float(distance(embeddings[a : a + 1], embeddings[b : b + 1])[0, 0])  # noqa: E731
    result = []
    for anchor, positive in rows.values():
        own = d(anchor, positive)
        rest = [pair for pair in rows.values() if pair[0] != anchor]
        terms = [own - d(anchor, pair[1]) for pair in rest]
        terms += [own - d(pair[0], positive) for pair in rest] * symmetric
        result.append(sum(np.logaddexp(0, term) for term in terms))
    return result


@pytest.mark.parametrize("name", ["loss_matrix", "loss_extreme"])
def test_golden_values_and_gradients_of_given_distances(name):
    example = golden(name)
    table, expected = float64(example["inputs"]["D"]), example["expected"]
    result = numpy(pair_softplus(table))
    np.testing.assert_allclose(result, expected["per_anchor"], rtol=0, atol=example["tolerance"])
    np.testing.assert_allclose(result.sum(), expected["sum"], rtol=0, atol=1e-9)
    if "mean" in expected:
        np.testing.assert_allclose(
            result.mean(), expected["mean"], rtol=0, atol=example["tolerance"]
        )
        symmetric = numpy(pair_softplus(table, symmetric=True)).sum()
        np.testing.assert_allclose(
            symmetric, expected["symmetric_sum"], rtol=0, atol=example["tolerance"]
        )
    (slopes,) = gradients(lambda d: ops.sum(pair_softplus(d)), table)
    np.testing.assert_allclose(slopes, example["gradient"]["D_of_sum"], rtol=0, atol=1e-6)


def test_extreme_distances_are_finite_in_float32_too():
    example = golden("loss_extreme")
    table = np.asarray(example["inputs"]["D"], np.float32)
    np.testing.assert_allclose(
        numpy(pair_softplus(table)), example["expected"]["per_anchor"], rtol=2e-5
    )
    (slopes,) = gradients(lambda d: ops.sum(pair_softplus(d)), table)
    np.testing.assert_allclose(slopes, example["gradient"]["D_of_sum"], rtol=0, atol=1e-3)


def test_golden_loss_of_embeddings_and_its_gradients():
    example = golden("loss_wasserstein")
    values, alpha = (float64(example["inputs"][key]) for key in ("embeddings", "alpha"))
    labels, p = np.asarray(example["inputs"]["labels"]), example["inputs"]["p"]
    embeddings, expected = with_knots(values, alpha), example["expected"]
    tolerance = {"rtol": 0, "atol": example["tolerance"]}
    np.testing.assert_allclose(
        loss(None, p=p)(labels, embeddings), expected["per_anchor"], **tolerance
    )
    np.testing.assert_allclose(loss("sum", p=p)(labels, embeddings), expected["sum"], **tolerance)
    mean = WassersteinLoss(p, dtype="float64")(labels, embeddings)
    np.testing.assert_allclose(mean, expected["mean"], **tolerance)
    symmetric = loss("sum", p=p, symmetric=True)(labels, embeddings)
    np.testing.assert_allclose(symmetric, expected["symmetric_sum"], **tolerance)
    in_values, in_alpha = gradients(lambda v, a: loss(p=p)(labels, with_knots(v, a)), values, alpha)
    np.testing.assert_allclose(in_values, example["gradient"]["embeddings"], rtol=0, atol=1e-6)
    np.testing.assert_allclose(in_alpha, example["gradient"]["alpha"], rtol=0, atol=1e-6)


def test_the_first_row_of_a_label_is_the_anchor_in_any_order_of_rows():
    source, example = golden("loss_wasserstein"), golden("loss_row_order")
    values = float64(source["inputs"]["embeddings"])
    labels = np.asarray(example["inputs"]["labels"])
    shuffled = values[example["inputs"]["take_rows_of_loss_wasserstein"]]
    alpha = float64(source["inputs"]["alpha"])
    result = loss()(labels, with_knots(shuffled, alpha))
    np.testing.assert_allclose(
        result, example["expected"]["sum"], rtol=0, atol=example["tolerance"]
    )
    in_pairs = values[example["expected"]["anchor_then_positive"]]
    result = loss()(np.repeat([0, 1, 2], 2), with_knots(in_pairs, alpha))
    np.testing.assert_allclose(
        result, example["expected"]["sum"], rtol=0, atol=example["tolerance"]
    )


def test_golden_loss_from_activations_and_its_whole_gradient_in_alpha():
    example = golden("loss_end_to_end")
    x, alpha = (float64(example["inputs"][key]) for key in ("x", "alpha"))
    labels, p = np.asarray(example["inputs"]["labels"]), example["inputs"]["p"]
    run = lambda x, a: loss(p=p)(  # noqa: E731
        labels, with_knots(quantile.quantiles(x, quantile.knots(a)), a)
    )
    np.testing.assert_allclose(
        run(x, alpha), example["expected"]["sum"], rtol=0, atol=example["tolerance"]
    )
    in_x, in_alpha = gradients(run, x, alpha)
    np.testing.assert_allclose(in_x, example["gradient"]["x"], rtol=0, atol=1e-6)
    np.testing.assert_allclose(in_alpha, example["gradient"]["alpha"], rtol=0, atol=1e-6)


def test_the_layer_and_the_loss_together_are_the_golden_loss():
    """Tests that the quantile layer and the loss together give the value of the worked example. The
    layer passes the knots to the loss in the last row of each embedding.
    """
    example = golden("loss_end_to_end")
    x, alpha = (float64(example["inputs"][key]) for key in ("x", "alpha"))
    layer = QuantileLayer(len(alpha), dtype="float64")
    layer(x)
    layer.set_weights([alpha])
    result = loss(p=example["inputs"]["p"])(np.asarray(example["inputs"]["labels"]), layer(x))
    np.testing.assert_allclose(
        result, example["expected"]["sum"], rtol=0, atol=example["tolerance"]
    )


@pytest.mark.slow
@pytest.mark.parametrize("p, symmetric", [(1, False), (2.5, True)])
def test_gradients_agree_with_finite_differences_with_ties_and_masks(rng, p, symmetric):
    """Tests gradients when time steps of two recordings are equal and one filter is constant. The
    numbers of time steps are chosen so that the loss has a derivative.
    """
    x = rng.normal(size=(4, 7, 2))
    x[0, 2, 0] = x[1, 3, 0] = x[2, 0, 0]
    x[3, :, 1] = 0.25
    mask = np.array(
        [[1] * 7, [1, 1, 1, 1, 1, 0, 0], [0, 1, 0, 1, 1, 1, 1], [1, 0, 1, 0, 1, 0, 1]], bool
    )
    alpha, labels = float64([0.31, -0.9, 1.7]), np.array([1, 0, 0, 1])

    def run(x, a):
        values = quantile.quantiles(x, quantile.knots(a), mask)
        return loss(p=p, symmetric=symmetric)(labels, with_knots(values, a))

    in_x, in_alpha = gradients(run, x, alpha)
    run = graph(run)
    free = np.repeat(mask[..., None], 2, axis=2)
    free[3, :, 1] = False  # several equal steps have a derivative only together
    expected = finite_differences(lambda v: run(v, alpha), x)
    np.testing.assert_allclose(in_x[free], expected[free], rtol=0, atol=1e-6)
    assert (in_x[~mask] == 0).all()

    def shifted(by):
        moved = x.copy()
        moved[3, :, 1] += by
        return run(moved, alpha)

    along = finite_differences(lambda by: shifted(float(by[0])), float64([0.0]))
    np.testing.assert_allclose(in_x[3, :, 1].sum(), along[0], rtol=0, atol=1e-6)
    np.testing.assert_allclose(
        in_alpha, finite_differences(lambda a: run(x, a), alpha), rtol=0, atol=1e-6
    )


@pytest.mark.slow_on_jax
@settings(max_examples=8)
@given(st.integers(0, 2**31), st.booleans())
def test_it_is_equation_13_read_aloud(seed, symmetric):
    labels, values, alpha = random_batch(np.random.default_rng(seed))
    result = numpy(loss(None, symmetric=symmetric)(labels, with_knots(values, alpha)))
    expected = by_loops(labels, values, numpy(quantile.knots(alpha)), 1, symmetric)
    np.testing.assert_allclose(np.sort(result), np.sort(expected), rtol=1e-9)


@pytest.mark.slow_on_jax
def test_reductions_are_the_paper_and_its_mean(rng):
    labels, values, alpha = random_batch(rng, pairs=5)
    each = numpy(loss(None)(labels, with_knots(values, alpha)))
    assert each.shape == (5,)
    np.testing.assert_allclose(loss("sum")(labels, with_knots(values, alpha)), each.sum())
    np.testing.assert_allclose(
        loss("sum_over_batch_size")(labels, with_knots(values, alpha)), each.mean()
    )


def test_the_order_of_the_rows_moves_no_value_but_by_the_choice_of_anchors(rng):
    labels, values, alpha = random_batch(rng)
    result = loss(symmetric=True)(labels, with_knots(values, alpha))
    pairs = np.argsort(labels, kind="stable")
    np.testing.assert_allclose(
        loss(symmetric=True)(labels[pairs], with_knots(values[pairs], alpha)), result
    )
    swapped = pairs.reshape(-1, 2)[:, ::-1].ravel()
    # Exchanging anchors and positives transposes D. This exchanges the terms of the rows and the
    # terms of the columns.
    np.testing.assert_allclose(
        loss(symmetric=True)(labels[swapped], with_knots(values[swapped], alpha)), result
    )


@pytest.mark.slow_on_jax
def test_collapsed_embeddings_cost_log_2_an_imposter_and_have_no_gradient(rng):
    labels, values, alpha = random_batch(rng, pairs=4)
    values[:] = values[0]
    np.testing.assert_allclose(loss(None)(labels, with_knots(values, alpha)), [3 * np.log(2)] * 4)
    in_values, in_alpha = gradients(lambda v, a: loss()(labels, with_knots(v, a)), values, alpha)
    assert (in_values == 0).all() and (in_alpha == 0).all()


@pytest.mark.slow_on_jax
def test_large_batches_take_the_blocked_path_with_the_same_values(rng):
    """Tests a batch whose differences take more than 1 MiB, so that distances are computed in
    blocks."""
    labels, values, alpha = random_batch(rng, pairs=30, filters=40, inner=16)
    pairs = np.argsort(labels, kind="stable").reshape(-1, 2)
    left, right = values[pairs[np.argsort(pairs[:, 0])]].transpose(1, 0, 2, 3)
    table = wasserstein.pairwise(left, right, quantile.knots(alpha), 1, 10**9)
    result = loss(None)(labels, with_knots(values, alpha))
    np.testing.assert_allclose(result, pair_softplus(table), rtol=1e-12)


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "mixed_bfloat16"])
def test_a_loss_of_half_precision_still_reads_labels_and_embeddings_in_float32(rng, dtype):
    """Tests that labels and embeddings are read in float32. In bfloat16, 256 and 257 are the same
    number, so all four rows would have the same label."""
    labels, values, alpha = random_batch(rng, pairs=2)
    embeddings = with_knots(values.astype("float32"), alpha.astype("float32"))
    result = WassersteinLoss(dtype=dtype)(labels + 256, embeddings)
    np.testing.assert_array_equal(numpy(result), numpy(WassersteinLoss()(labels, embeddings)))
    assert keras.backend.standardize_dtype(result.dtype) == "float32"


@pytest.mark.slow_on_jax
def test_an_empty_recording_makes_the_loss_nan(rng):
    layer, mask = QuantileLayer(3), np.ones((4, 9), bool)
    mask[1] = False
    embeddings = layer(contracts.signals(rng, 4)[:, :9], mask=mask)
    assert np.isnan(numpy(WassersteinLoss()(np.array([0, 0, 1, 1]), embeddings)))


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("shape", [(4,), (4, 6), (4, 2, 3, 5)])
def test_predictions_that_are_no_quantile_embeddings_are_refused(shape):
    with pytest.raises(ValueError, match="must hold quantile embeddings"):
        WassersteinLoss()(np.array([0, 0, 1, 1]), np.zeros(shape, "float32"))


def test_a_scale_multiplies_the_distances(rng):
    """Tests that scaling the values of embeddings has the same effect as `scale`, which multiplies
    the distances."""
    labels, values, alpha = random_batch(rng)
    result = loss(None, scale=2.5)(labels, with_knots(values, alpha))
    expected = loss(None)(labels, with_knots(2.5 * values, alpha))
    np.testing.assert_allclose(result, expected, rtol=1e-12)


@pytest.mark.parametrize("scale", [0, -1.0, np.inf, np.nan])
def test_scales_that_are_not_positive_numbers_are_refused(scale):
    with pytest.raises(ValueError, match=f"`scale` must be a positive number.*scale={scale!r}"):
        WassersteinLoss(scale=scale)


def test_orders_below_one_are_refused():
    with pytest.raises(ValueError, match="`p` must be a real number of at least 1"):
        WassersteinLoss(0.5)
