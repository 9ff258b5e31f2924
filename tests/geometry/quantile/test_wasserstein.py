from unittest import mock

import numpy as np
import ot
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

from keras_dml._backend import keras, ops
from keras_dml.geometry import quantile
from keras_dml.geometry.quantile import pairwise as _pairwise
from keras_dml.geometry.quantile import wasserstein
from tests.goldens import golden
from tests.gradients import finite_differences, gradients, second_derivatives
from tests.graphs import compiled_by_xla, graph

DISTANCES = [
    "dist_p",
    "dist_sign_change",
    "dist_opposite_crossing",
    "dist_shift",
    "dist_nearly_parallel",
]
ORDERS = [1, 1.5, 2, 2.5, 3, 4]
float64 = lambda x: np.asarray(x, np.float64)  # noqa: E731


def from_alpha(a, b, alpha, p):
    return wasserstein.distance(a, b, quantile.knots(alpha), p)


def random_embeddings(rng, count, filters=3, inner=4):
    return np.sort(rng.normal(size=(count, filters, inner + 2)), axis=-1), np.linspace(
        0, 1, inner + 2
    ) ** 1.3


@pytest.mark.parametrize("name", [*DISTANCES, "dist_identical", "dist_zero_end"])
def test_golden_distances_and_their_gradients(name):
    example = golden(name)
    a, b, alpha = (float64(example["inputs"][key]) for key in ("A", "B", "alpha"))
    per_order = name in DISTANCES
    for i, p in enumerate(example["expected"]["p"]):
        result = np.asarray(from_alpha(a, b, alpha, p))
        assert result.dtype == np.float64
        np.testing.assert_allclose(
            result, example["expected"]["d"][i], rtol=1e-9, atol=example["tolerance"]
        )
        result = dict(
            zip(
                ("A", "B", "alpha"),
                gradients(lambda *v, p=p: from_alpha(*v, p), a, b, alpha),
                strict=True,
            )
        )
        for key, expected in example["gradient"].items():
            if key in result:
                np.testing.assert_allclose(
                    result[key], expected[i] if per_order else expected, rtol=0, atol=1e-6
                )


@pytest.mark.slow_on_jax
def test_identical_embeddings_have_distance_and_gradient_exactly_zero():
    example = golden("dist_identical")
    a, alpha = float64(example["inputs"]["A"]), float64(example["inputs"]["alpha"])
    for p in ORDERS:
        assert float(from_alpha(a, a, alpha, p)) == 0
        for gradient in gradients(lambda x, y, s, p=p: from_alpha(x, y, s, p), a, a, alpha):
            assert (gradient == 0).all()


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("dtype, tolerance", [("float64", 1e-9), ("float32", 2e-5)])
def test_segment_table(dtype, tolerance):
    example = golden("segment_table")
    u, v = np.asarray(example["inputs"]["uv"], dtype).T
    for column, p in enumerate(example["inputs"]["p"]):
        expected = float64([row[column] for row in example["expected"]["G"]])
        result = np.asarray(
            wasserstein.segment(ops.convert_to_tensor(u), ops.convert_to_tensor(v), p)
        )
        told = (expected == 0) | (expected > (1e-37 if dtype == "float32" else 0))
        np.testing.assert_allclose(result[told], expected[told], rtol=tolerance)


@pytest.mark.slow_on_jax
@given(st.integers(0, 2**31), st.sampled_from([1, 1.3, 2, 3, 3.7, 5, 6]))
def test_segments_agree_with_numerical_integration(seed, p):
    u, v = np.random.default_rng(seed).normal(size=2)
    zero = [u / (u - v)] if u * v < 0 else None
    expected, _ = quad(
        lambda t: abs(u + t * (v - u)) ** p, 0, 1, points=zero, epsabs=1e-13, epsrel=1e-12
    )
    np.testing.assert_allclose(
        np.asarray(wasserstein.segment(float64(u), float64(v), p)), expected, rtol=1e-9
    )


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("p", [1, 2, 3])
def test_distances_agree_with_optimal_transport_of_samples(rng, p):
    (a, b), knots = random_embeddings(rng, 2, filters=1)
    r = (np.arange(40_000) + 0.5) / 40_000
    a_sample, b_sample = quantile.evaluate(a[0], knots, r), quantile.evaluate(b[0], knots, r)
    expected = ot.wasserstein_1d(a_sample, b_sample, p=p) ** (1 / p)
    assert float(wasserstein.distance(a, b, knots, p)) == pytest.approx(float(expected), abs=2e-4)


@pytest.mark.slow_on_jax
@given(st.integers(0, 2**31), st.sampled_from(ORDERS))
def test_it_is_a_metric(seed, p):
    rng = np.random.default_rng(seed)
    x, knots = random_embeddings(rng, 3)
    d = np.asarray(wasserstein.pairwise(x, x, knots, p))
    np.testing.assert_allclose(d, d.T, rtol=1e-12)
    assert (np.diag(d) == 0).all()
    assert d[0, 2] <= d[0, 1] + d[1, 2] + 1e-12


@pytest.mark.slow
@given(st.integers(0, 2**31), st.floats(-50, 50), st.floats(0.01, 100))
def test_a_shift_is_its_own_distance_and_scale_factors_out(seed, shift, scale):
    (x, y), knots = random_embeddings(np.random.default_rng(seed), 2)
    for p in (1, 2.5):
        np.testing.assert_allclose(
            wasserstein.distance(x, x + shift, knots, p), 3 * abs(shift), rtol=1e-9, atol=1e-12
        )
        scaled = wasserstein.distance(scale * x, scale * y, knots, p)
        np.testing.assert_allclose(
            scaled, scale * np.asarray(wasserstein.distance(x, y, knots, p)), rtol=1e-9
        )


@pytest.mark.slow
@pytest.mark.slow_on_jax
@pytest.mark.parametrize("p", [1, 2, 2.5, 3])
@pytest.mark.parametrize("max_bytes", [1, 3000, 10**9])
def test_blocks_change_neither_values_nor_gradients(rng, p, max_bytes):
    x, knots = random_embeddings(rng, 12)
    x, y = x[:5], x[5:]
    y[0] = x[0]
    weight = rng.normal(size=(5, 7))
    weight[0, 0] = 0.7
    run = lambda x, y, s: ops.sum(weight * wasserstein.pairwise(x, y, s, p, max_bytes))  # noqa: E731
    loops = lambda x, y, s: ops.sum(weight * wasserstein.distance(x[:, None], y[None], s, p))  # noqa: E731
    np.testing.assert_allclose(run(x, y, knots), loops(x, y, knots), rtol=1e-12)
    for result, expected in zip(
        gradients(run, x, y, knots), gradients(loops, x, y, knots), strict=True
    ):
        np.testing.assert_allclose(result, expected, rtol=0, atol=1e-12)


@pytest.fixture
def fused(monkeypatch):
    """Selects the implementation that computes distances with p = 1 in one pass over memory, for
    sets of any size.
    """
    made = mock.Mock(wraps=wasserstein.pairwise_1)
    monkeypatch.setattr(wasserstein, "pairwise_1", made)
    monkeypatch.setattr(wasserstein, "FUSED_FROM", 0)
    yield lambda x, y, knots: wasserstein.pairwise(x, y, knots, 1, max_bytes=1)
    made.assert_called()


def of_pairs(x, y, knots):
    return wasserstein.distance(x[:, None], y[None], knots)


@pytest.mark.slow_on_jax
@pytest.mark.parametrize(
    "n, m", [(5, 7), *(pytest.param(*sizes, marks=pytest.mark.slow) for sizes in ((2, 1), (17, 8)))]
)
def test_fused_distances_are_those_of_pairs_with_their_gradients(fused, rng, n, m):
    """Tests ties, equal recordings and constant recordings, with so many terms that several passes
    are needed."""
    x, knots = random_embeddings(rng, n + m)
    x, y = np.round(x[:n], 1), np.round(x[n:], 1)
    y[0], x[1] = x[0], 0.3
    np.testing.assert_allclose(fused(x, y, knots), of_pairs(x, y, knots), rtol=1e-12)
    assert float(fused(x, y, knots)[0, 0]) == 0
    weight = rng.normal(size=(n, m))
    result, expected = (
        gradients(lambda *given, table=table: ops.sum(weight * table(*given)), x, y, knots)
        for table in (fused, of_pairs)
    )
    for item, its in zip(result, expected, strict=True):
        np.testing.assert_allclose(item, its, rtol=0, atol=1e-12)


@pytest.mark.slow
@pytest.mark.slow_on_jax
def test_fused_distances_have_second_derivatives(fused, rng):
    x, knots = random_embeddings(rng, 7)
    x, y = x[:3], x[3:]
    result, expected = (
        second_derivatives(lambda x, table=table: ops.sum(ops.sin(table(x, y, knots))), x)
        for table in (fused, of_pairs)
    )
    assert np.abs(expected).max() > 0.1
    np.testing.assert_allclose(result, expected, rtol=0, atol=1e-10)


@pytest.mark.slow
def test_fused_gradients_in_the_knots_do_not_cancel_far_from_zero(fused, rng):
    x, knots = random_embeddings(rng, 40)
    weight = rng.normal(size=(20, 20))
    in_knots = [
        gradients(
            lambda *given: ops.sum(ops.cast(weight, dtype) * fused(*given)),  # noqa: B023
            *(array.astype(dtype) for array in (x[:20] + shift, x[20:] + shift, knots)),
        )[2]
        for dtype, shift in (("float64", 0), ("float32", 100))
    ]
    np.testing.assert_allclose(*in_knots, rtol=0, atol=3e-4)


@pytest.mark.slow
@pytest.mark.slow_on_jax
def test_what_is_not_finite_stays_in_its_row(fused, rng):
    x, knots = random_embeddings(rng, 10)
    y, broken = x[5:], x[:5].copy()
    broken[1], broken[2, 0, -1] = np.nan, np.inf
    whole = [0, 3, 4]
    run = lambda x, y: ops.sum(ops.take(fused(x, y, knots), whole, axis=0))  # noqa: E731
    for values in (broken, x[:5]):
        table = np.asarray(fused(values, y, knots))
        np.testing.assert_array_equal(table[whole], np.asarray(fused(x[:5], y, knots))[whole])
        in_x = gradients(run, values, y)[0]
        np.testing.assert_array_equal(in_x[whole], gradients(run, x[:5], y)[0][whole])


@pytest.mark.slow
def test_fused_sets_of_about_one_size_are_compiled_once(fused, rng, monkeypatch):
    x, knots = random_embeddings(rng, 70, filters=5)
    traced = mock.Mock(wraps=_pairwise._summed)
    monkeypatch.setattr(_pairwise, "_summed", traced)
    run = lambda x, y: ops.sum(fused(x, y, knots))  # noqa: E731
    gradients(run, x[:65], x[:65])
    compiled = traced.call_count
    for n in (66, 67, 68):
        gradients(run, x[:n], x[:n])
    assert traced.call_count == compiled > 0


@pytest.mark.slow
@pytest.mark.skipif(keras.backend.backend() == "jax", reason="TensorFlow's forward mode")
def test_forward_mode_is_refused_where_xla_has_compiled(fused, rng):
    import tensorflow as tf

    x, knots = random_embeddings(rng, 4)
    x = tf.constant(x)

    @tf.function
    def forward():
        with tf.autodiff.ForwardAccumulator(x, x) as accumulator:
            table = fused(x, x[:2], knots)
        return accumulator.jvp(table)

    with pytest.raises(NotImplementedError, match="GradientTape"):
        forward()


@pytest.mark.slow
@pytest.mark.skipif(keras.backend.backend() == "jax", reason="compiled there as a whole")
def test_no_xla_is_asked_for_where_a_gpu_is(rng, monkeypatch):
    import tensorflow as tf

    devices = tf.config.get_visible_devices
    monkeypatch.setattr(
        tf.config, "get_visible_devices", lambda kind=None: ["GPU"] if kind == "GPU" else devices()
    )
    x, knots = random_embeddings(rng, 3)
    traced = tf.function(lambda x: wasserstein.pairwise(x, x, knots, max_bytes=1))
    result = traced.get_concrete_function(tf.constant(x))
    assert not compiled_by_xla(result.graph)
    np.testing.assert_allclose(result(tf.constant(x)), of_pairs(x, x, knots), rtol=1e-12)


@pytest.mark.slow
@pytest.mark.skipif(keras.backend.backend() == "jax", reason="compiled there as a whole")
def test_a_traced_step_is_compiled_for_any_number_of_rows(rng):
    import tensorflow as tf

    x, knots = random_embeddings(rng, 30)
    shapes = (None, *x.shape[1:]), (None, *x.shape[1:]), knots.shape

    def step(x, y, knots):
        with tf.GradientTape() as tape:
            tape.watch((x, y, knots))
            value = ops.sum(wasserstein.pairwise(x, y, knots) ** 2)
        return tape.gradient(value, (x, y, knots))

    traced = tf.function(step, [tf.TensorSpec(shape, "float64") for shape in shapes])
    assert compiled_by_xla(traced.get_concrete_function().graph)
    for n in (20, 3, 0, 30):
        expected = gradients(lambda *given: ops.sum(of_pairs(*given) ** 2), x[:n], x[n:], knots)
        result = traced(*map(ops.convert_to_tensor, (x[:n], x[n:], knots)))
        for item, its in zip(result, expected, strict=True):
            np.testing.assert_allclose(item, its, rtol=1e-9)


@pytest.mark.skipif(keras.backend.backend() == "jax", reason="shapes are static on JAX")
def test_knots_of_unknown_shape_are_accepted(rng):
    import tensorflow as tf

    x, knots = random_embeddings(rng, 5)
    signature = [tf.TensorSpec((None, *x.shape[1:]), "float64")] * 2
    signature.append(tf.TensorSpec((None,), "float64"))
    traced = tf.function(lambda *arrays: wasserstein.pairwise(*arrays, 2), signature)
    expected = wasserstein.pairwise(x[:2], x[2:], knots, 2)
    np.testing.assert_allclose(traced(x[:2], x[2:], knots), expected, rtol=1e-12)


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize(
    "x, y, knots",
    [
        ((9, 3, 5), (9, 4, 5), 5),
        ((9, 3, 5), (9, 3, 5), 7),
        ((9, 5), (9, 5), 5),
        ((9, 3, 5), (9, 5), 5),
    ],
)
@pytest.mark.parametrize("compile", [lambda function: function, graph], ids=["eager", "traced"])
def test_sets_of_different_shapes_are_refused(p, x, y, knots, compile):
    """Without the check, XLA's loop would read past the end of the shorter array and return wrong
    numbers."""
    table = compile(lambda x, y, knots: wasserstein.pairwise(x, y, knots, p, max_bytes=1))
    with pytest.raises(ValueError, match="filters, knots"):
        table(np.zeros(x), np.zeros(y), np.linspace(0, 1, knots))


@pytest.mark.slow
@pytest.mark.parametrize("p", [1, 2, 2.5])
def test_gradients_agree_with_finite_differences_where_values_tie(rng, p):
    (x, y), knots = random_embeddings(rng, 2, filters=2)
    x[0, 1:3], y[1, 2:4] = x[0, 1], y[1, 2]
    distance = lambda x, y, s: wasserstein.distance(x, y, s, p)  # noqa: E731
    in_x, in_y, in_knots = gradients(distance, x, y, knots)
    np.testing.assert_allclose(
        in_x, finite_differences(lambda v: distance(v, y, knots), x), rtol=0, atol=1e-6
    )
    np.testing.assert_allclose(
        in_y, finite_differences(lambda v: distance(x, v, knots), y), rtol=0, atol=1e-6
    )
    np.testing.assert_allclose(
        in_knots, finite_differences(lambda v: distance(x, y, v), knots), rtol=0, atol=1e-6
    )


@pytest.mark.parametrize("name", ["l1_bounds", "l1_bounds_extremes"])
def test_golden_bounds(name):
    example = golden(name)
    a, b, alpha = (float64(example["inputs"][key]) for key in ("A", "B", "alpha"))
    for i, expected in enumerate(example["expected"]["d1"]):
        knots = quantile.knots(
            alpha if alpha.ndim == 1 and name == "l1_bounds_extremes" else alpha[i]
        )
        lower, upper = (float(v) for v in wasserstein.bounds(a[i], b[i], knots))
        assert float(wasserstein.distance(a[i], b[i], knots)) == pytest.approx(expected, abs=1e-9)
        assert lower - 1e-12 <= expected <= upper + 1e-12
        if name == "l1_bounds":
            assert upper == pytest.approx(example["expected"]["upper"][i], abs=1e-9)
            means = example["expected"]["lower_means"][i]
            assert lower == pytest.approx(max(means, upper / 2), abs=1e-9)
        else:
            assert upper / expected == pytest.approx(
                example["expected"]["upper_over_d1"][i], abs=1e-9
            )


@pytest.mark.slow_on_jax
@given(st.integers(0, 2**31))
def test_bounds_hold(seed):
    (x, y), knots = random_embeddings(np.random.default_rng(seed), 2)
    lower, upper = wasserstein.bounds(x, y, knots)
    assert float(lower) - 1e-12 <= float(wasserstein.distance(x, y, knots)) <= float(upper) + 1e-12


@pytest.mark.parametrize("p", [0.5, 0, -1, float("nan"), float("inf"), "2"])
def test_orders_below_one_are_refused(p):
    x = np.zeros((1, 1, 2))
    with pytest.raises(ValueError, match=r"`p` must be a real number of at least 1"):
        wasserstein.distance(x, x, [0, 1], p)


def test_interpolated_quantile_functions_are_compared_and_not_steps_as_in_scipy():
    """Tests the samples {0, 1} and {0, 0} at the knots 0, .5 and 1."""
    x, y, knots = [[0.0, 1.0, 1.0]], [[0.0, 0.0, 0.0]], np.array([0, 0.5, 1])
    result = wasserstein.distance(np.array(x), np.array(y), knots)
    assert float(result) == pytest.approx(0.75)
    assert scipy.stats.wasserstein_distance([0, 1], [0, 0]) == 0.5
    # numerical integration of the interpolated functions
    levels = (np.arange(10_000) + 0.5) / 10_000
    gaps = np.abs(np.interp(levels, knots, x[0]) - np.interp(levels, knots, y[0]))
    assert float(result) == pytest.approx(gaps.mean(), rel=1e-6)


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("p", [1, 2, 1.5, 3])
def test_infinite_values_give_nan(p):
    knots, inf = np.array([0, 0.5, 1]), np.inf
    finite = [0.0, 1.0, 2.0]
    for x, y in [
        ([0, 1, inf], finite),
        ([-inf, 0, 1], finite),
        ([inf, inf, inf], finite),
        ([0, 1, inf], [0, 2, inf]),
        ([-inf, 0, 1], [0, 1, inf]),
    ]:
        x, y = np.array([[x], [finite]]), np.array([[y]])
        result = np.asarray(wasserstein.pairwise(x, y, knots, p))
        assert np.isnan(result[0, 0])
        assert np.isnan(np.asarray(wasserstein.distance(x[0], y[0], knots, p)))
