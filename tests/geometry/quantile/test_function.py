import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from keras_dml._backend import ops
from keras_dml.geometry import quantile
from keras_dml.geometry.quantile import order
from tests.goldens import golden
from tests.gradients import finite_differences, gradients

float64 = lambda x: np.asarray(x, np.float64)  # noqa: E731
EMBEDDINGS = [
    "embed_n1",
    "embed_n_lt_m",
    "embed_n_eq_m",
    "embed_n_gt_m",
    "embed_ties",
    "embed_default_knots",
    "embed_mask",
]


def embed(x, alpha, mask=None):
    mask = None if mask is None else np.asarray(mask, bool)
    return quantile.quantiles(x, quantile.knots(alpha), mask)


@pytest.mark.slow_on_jax
def test_order_statistic_n_sits_at_n_minus_one_over_the_count():
    example = golden("qtilde_basic")
    x, r = float64(example["inputs"]["x"]), float64(example["inputs"]["r"])
    result = np.asarray(quantile.quantiles(x[None, :, None], r))[0, 0]
    np.testing.assert_allclose(result, example["expected"]["q"], rtol=0, atol=example["tolerance"])
    r = float64(example["gradient"]["r"])
    (slopes,) = gradients(lambda r: ops.sum(quantile.quantiles(x[None, :, None], r)), r)
    np.testing.assert_allclose(slopes, example["gradient"]["dq_dr"], rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", EMBEDDINGS)
def test_golden_embeddings_and_their_gradients(name):
    example = golden(name)
    x, alpha = float64(example["inputs"]["x"])[None], float64(example["inputs"]["alpha"])
    mask = example["inputs"].get("mask")
    mask = None if mask is None else np.asarray([mask], bool)
    result = np.asarray(embed(x, alpha, mask))
    assert result.dtype == np.float64
    np.testing.assert_allclose(
        quantile.knots(alpha), example["expected"]["knots"], rtol=0, atol=1e-12
    )
    np.testing.assert_allclose(
        result[0], example["expected"]["v"], rtol=0, atol=example["tolerance"]
    )
    if "gradient" in example:
        cotangent = float64(example["gradient"]["cotangent"])
        in_x, in_alpha = gradients(lambda x, a: ops.sum(cotangent * embed(x, a, mask)), x, alpha)
        np.testing.assert_allclose(in_x[0], example["gradient"]["x"], rtol=0, atol=1e-6)
        np.testing.assert_allclose(in_alpha, example["gradient"]["alpha"], rtol=0, atol=1e-6)


def test_tied_steps_share_the_gradient_of_their_group():
    example = golden("embed_ties_gradient")
    x, alpha = float64(example["inputs"]["x"]), float64(example["inputs"]["alpha"])
    cotangent = float64(example["gradient"]["cotangent"])
    (in_x,) = gradients(lambda x: ops.sum(cotangent * embed(x[None], alpha)), x)
    for group in example["expected"]["groups"]:
        tied = x[:, group["filter"]] == group["value"]
        total = in_x[tied, group["filter"]].sum()
        assert total == pytest.approx(group["sum_of_gradients"], abs=1e-6)


@pytest.mark.slow_on_jax
def test_padded_batch_counts_each_recording_by_itself():
    example = golden("embed_batch")
    x, mask = float64(example["inputs"]["x"]), np.asarray(example["inputs"]["mask"], bool)
    result = embed(x, float64(example["inputs"]["alpha"]), mask)
    np.testing.assert_allclose(result, example["expected"]["v"], rtol=0, atol=example["tolerance"])


@pytest.mark.slow_on_jax
def test_weights_may_stand_in_any_order():
    example = golden("alpha_unsorted")
    x, alpha = float64(example["inputs"]["x"])[None], float64(example["inputs"]["alpha"])
    np.testing.assert_allclose(
        np.asarray(embed(x, alpha))[0], example["expected"]["v"], rtol=0, atol=1e-10
    )
    (result,) = gradients(lambda a: ops.sum(embed(x, a)), alpha)
    np.testing.assert_allclose(result, example["gradient"]["alpha"], rtol=0, atol=1e-6)


def test_knots_start_evenly_spaced():
    example = golden("alpha_init")
    for count, alpha in zip(example["inputs"]["M"], example["expected"]["alpha"], strict=True):
        np.testing.assert_allclose(quantile.initial_alpha(count), alpha, rtol=0, atol=1e-12)


@pytest.mark.slow_on_jax
def test_saturated_weights_give_finite_values_and_gradients(rng):
    x, alpha = rng.normal(size=(1, 9, 2)), float64([-800, -40, 0.1, 40, 800])
    in_x, in_alpha = gradients(lambda x, a: ops.sum(embed(x, a) ** 2), x, alpha)
    assert np.isfinite(np.asarray(embed(x, alpha))).all()
    assert np.isfinite(in_x).all() and np.isfinite(in_alpha).all()


@pytest.mark.slow_on_jax
def test_a_recording_without_a_valid_step_is_nan_and_leaves_its_neighbors_alone(rng):
    x = rng.normal(size=(2, 5, 3))
    mask = np.array([[0] * 5, [1] * 5], bool)
    result = np.asarray(embed(x, quantile.initial_alpha(4), mask))
    assert np.isnan(result[0]).all()
    np.testing.assert_allclose(result[1], np.asarray(embed(x[1:], quantile.initial_alpha(4)))[0])
    (in_x,) = gradients(lambda x: ops.sum(embed(x, quantile.initial_alpha(4), mask)[1]), x)
    assert np.isfinite(in_x).all()


@pytest.mark.slow_on_jax
def test_what_is_not_finite_stays_loud_under_a_mask(rng):
    x = rng.normal(size=(2, 6, 1))
    x[0, 1], x[1] = np.inf, np.nan  # an infinite step, and NaN as from a diverged network
    mask = np.array([[1, 1, 1, 1, 0, 0]] * 2, bool)
    result = np.asarray(embed(x, quantile.initial_alpha(3), mask))
    assert np.isnan(result).all()


@pytest.mark.slow_on_jax
def test_half_precision_input_is_ranked_in_float32(rng):
    x = ops.cast(rng.normal(size=(1, 6000, 1)), "float16")
    result = quantile.quantiles(x, np.linspace(0, 1, 18, dtype=np.float32))
    assert "float32" in str(result.dtype)
    wide = quantile.quantiles(np.asarray(x, np.float64), np.linspace(0, 1, 18, dtype=np.float32))
    np.testing.assert_allclose(result, wide, rtol=0, atol=1e-3)


@pytest.mark.slow_on_jax
@given(st.integers(1, 40), st.integers(0, 2**31))
def test_values_are_numpys_interpolated_inverted_cdf_one_step_later(steps, seed):
    rng = np.random.default_rng(seed)
    x, r = rng.normal(size=steps), np.sort(rng.uniform(size=7))
    expected = np.quantile(x, np.minimum(r + 1 / steps, 1), method="interpolated_inverted_cdf")
    np.testing.assert_allclose(
        np.asarray(quantile.quantiles(x[None, :, None], r))[0, 0], expected, rtol=0, atol=1e-9
    )


@pytest.mark.slow
@given(arrays(np.float64, (2, 11, 3), elements=st.floats(-1e6, 1e6)), arrays(bool, (2, 11)))
def test_values_ascend_for_any_mask(x, mask):
    mask[:, 0] = True
    result = np.asarray(embed(x, quantile.initial_alpha(5), mask))
    assert (np.diff(result, axis=-1) >= 0).all()
    bare = [
        np.asarray(embed(row[valid][None], quantile.initial_alpha(5)))[0]
        for row, valid in zip(x, mask, strict=True)
    ]
    np.testing.assert_allclose(result, bare, rtol=1e-12, atol=1e-9)


@pytest.mark.slow
def test_gradients_agree_with_finite_differences_under_a_mask(rng):
    x, alpha = rng.normal(size=(2, 7, 2)), float64([0.31, -0.9, 1.7])
    mask = np.array([[1, 1, 0, 1, 1, 0, 1], [0, 1, 1, 1, 1, 1, 1]], bool)
    weight = rng.normal(size=(2, 2, 5))
    loss = lambda x, a: ops.sum(weight * embed(x, a, mask))  # noqa: E731
    in_x, in_alpha = gradients(loss, x, alpha)
    np.testing.assert_allclose(
        in_x, finite_differences(lambda v: loss(v, alpha), x), rtol=0, atol=1e-6
    )
    np.testing.assert_allclose(
        in_alpha, finite_differences(lambda a: loss(x, a), alpha), rtol=0, atol=1e-6
    )
    assert (in_x[~mask] == 0).all()


def test_sorting_on_the_host_gives_the_same_values_and_gradients(rng):
    x, alpha = (
        rng.normal(size=(3, 29, 4)).astype(np.float32),
        quantile.initial_alpha(5).astype(np.float32),
    )
    results = []
    for on_host in (False, True):
        run = lambda x, a: ops.sum(quantile.quantiles(x, quantile.knots(a), on_host=on_host) ** 2)  # noqa: B023, E731
        results.append([np.asarray(run(x, alpha)), *gradients(run, x, alpha)])
    for graph, host in zip(*results, strict=True):
        np.testing.assert_array_equal(graph, host)


def test_curves_are_linear_between_knots_and_guarded_where_knots_meet():
    knots, values = float64([0, 0.5, 0.5, 1]), float64([[0, 1, 3, 3]])
    result = quantile.evaluate(values, knots, float64([0, 0.25, 0.5, 0.75, 1]))
    np.testing.assert_allclose(result, [[0, 0.5, 3, 3, 3]])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_positions_found_by_numpy_hold_the_order_statistics(rng, dtype):
    """Tests arrays with ties, negative numbers and zeros. One array has so many values that several
    threads sort them.
    """
    for filters, steps in ((3, 7), (5, 30_000)):
        x = np.round(rng.normal(size=(2, filters, steps)), 2).astype(dtype)
        x[0, 0, :3] = [-0.0, np.finfo(dtype).max, -np.finfo(dtype).max]
        ranks = np.array([[[0, 2, steps - 1]], [[1, 1, steps // 2]]], "int32")
        places = order._numpy_positions(x, ranks)
        assert places.dtype == np.int32
        values = np.take_along_axis(x, places, axis=2)
        expected = np.take_along_axis(np.sort(x, axis=2), np.repeat(ranks, filters, 1), axis=2)
        np.testing.assert_array_equal(values, expected)
