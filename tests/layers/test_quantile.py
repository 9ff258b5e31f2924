"""Tests the layer QuantileLayer. `tests/geometry` tests the quantile functions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from keras_dml import distances
from keras_dml._backend import host, keras, ops
from keras_dml.geometry import quantile
from keras_dml.layers import QuantileLayer
from keras_dml.losses import NPairLoss, WassersteinLoss
from tests import contracts
from tests.goldens import golden
from tests.gradients import gradients

BATCH, TIME, FILTERS, KNOTS = 2, 12, 3, 5
SHAPE = (BATCH, TIME, FILTERS)


def activations(rng, shape=SHAPE):
    return rng.normal(size=shape).astype("float32")


def numpy(tensor):
    return np.asarray(ops.convert_to_numpy(tensor))


@pytest.mark.slow_on_jax
def test_last_row_holds_the_knots_and_the_others_the_values_at_them(rng):
    x = activations(rng)
    layer = QuantileLayer(KNOTS)
    actual = numpy(layer(x))
    knots = np.arange(KNOTS + 2) / (KNOTS + 1)
    assert actual.shape == (BATCH, FILTERS + 1, KNOTS + 2)
    np.testing.assert_allclose(actual[:, -1], np.stack([knots] * BATCH), rtol=0, atol=1e-6)
    np.testing.assert_allclose(actual[:, :-1], quantile.quantiles(x, knots), rtol=0, atol=1e-5)


@pytest.mark.slow_on_jax
def test_first_and_last_value_are_minimum_and_maximum(rng):
    x = activations(rng)
    actual = numpy(QuantileLayer(1)(x))[:, :-1]
    np.testing.assert_array_equal(actual[..., 0], x.min(axis=1))
    np.testing.assert_array_equal(actual[..., -1], x.max(axis=1))


@pytest.mark.slow_on_jax
@settings(max_examples=25)
@given(arrays(bool, (BATCH, TIME)), st.integers(0, 2**31))
def test_masked_recordings_equal_their_valid_steps(mask, seed):
    """Tests that padding does not change embeddings. NumPy computes the expected values of the
    recordings without padding, because JAX would compile a program for each length."""
    rng = np.random.default_rng(seed)
    mask[:, rng.integers(TIME)] = True
    x = activations(rng)
    x[~mask] = rng.choice([np.nan, np.inf, -np.inf, 1e30, 0.0])
    actual = numpy(QuantileLayer(KNOTS)(x, mask=mask))
    r = np.arange(KNOTS + 2) / (KNOTS + 1)
    for row, valid, values in zip(x, mask, actual, strict=True):
        places = np.minimum(r + 1 / valid.sum(), 1)
        expected = np.quantile(row[valid], places, axis=0, method="interpolated_inverted_cdf").T
        np.testing.assert_allclose(values[:-1], expected, rtol=1e-5, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("lost", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("flatten", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_nan_in_a_valid_step_gives_nan(rng, masked, flatten, training, lost):
    """Tests that a NaN in a recording makes the embedding NaN, also if the embedding is flattened
    to a vector.
    """
    x = rng.normal(size=(2, 23, 4)).astype("float32")
    mask = np.arange(23) < np.array([[20], [23]]) if masked else None
    layer = QuantileLayer(5, flatten=flatten)
    whole = numpy(layer(x, mask=mask)).reshape(2, -1, 5 if flatten else 7)
    for step in (0, 7, 19):
        spoiled = x.copy()
        spoiled[0, step, 1] = lost
        actual = numpy(layer(spoiled, mask=mask, training=training)).reshape(whole.shape)
        assert np.isnan(actual[0, 1]).all()
        actual[0, 1] = whole[0, 1]
        np.testing.assert_allclose(actual, whole, rtol=0, atol=1e-6)


@pytest.mark.parametrize("host_sort", [True, False])
def test_no_gradient_reaches_masked_steps_whatever_they_hold(rng, host_sort):
    x, mask = activations(rng), contracts.some_steps(rng)[:BATCH, :TIME]
    x[~mask] = 1e30
    layer = QuantileLayer(KNOTS, host_sort=host_sort)
    weight = activations(rng, (BATCH, FILTERS + 1, KNOTS + 2))
    layer(x)
    (actual,) = gradients(lambda x: ops.sum(weight * layer(x, mask=mask, training=True)), x)
    assert np.isfinite(actual).all()
    assert (actual[~mask] == 0).all()
    assert (actual[mask] != 0).any()


@pytest.mark.parametrize("flatten", [False, True])
def test_only_a_recording_without_valid_steps_is_nan(rng, flatten):
    x, mask = activations(rng), np.ones((BATCH, TIME), bool)
    mask[0] = False
    actual = numpy(QuantileLayer(KNOTS, flatten=flatten)(x, mask=mask))
    values = actual[0] if flatten else actual[0, :-1]
    assert np.isnan(values).all()
    assert np.isfinite(actual[1]).all()


@pytest.mark.slow_on_jax
def test_one_step_is_a_distribution(rng):
    x = activations(rng, (BATCH, 1, FILTERS))
    actual = numpy(QuantileLayer(KNOTS)(x))[:, :-1]
    np.testing.assert_array_equal(actual, np.repeat(x.transpose(0, 2, 1), KNOTS + 2, axis=2))


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16", "float16", "bfloat16"])
def test_half_precision_policies_compute_in_float32(rng, policy):
    """Tests that half-precision policies compute in float32. In bfloat16 the third digit of knots
    would be wrong, and in float16 the ranks of 6000 steps would be wrong."""
    x = activations(rng, (1, 6000, 1))
    expected = numpy(QuantileLayer(KNOTS)(x))
    with contracts.dtype_policy(policy):
        layer = QuantileLayer(KNOTS)
        actual = layer(x)
    assert keras.backend.standardize_dtype(actual.dtype) == "float32"
    assert {keras.backend.standardize_dtype(weight.dtype) for weight in layer.weights} == {
        "float32"
    }
    np.testing.assert_array_equal(numpy(actual), expected)
    half = layer(ops.cast(x, "float16"))
    assert keras.backend.standardize_dtype(half.dtype) == "float32"
    np.testing.assert_allclose(numpy(half), expected, rtol=0, atol=2e-3)


def test_explicit_dtype_is_widened_to_float32(rng):
    for given_dtype, expected_dtype in [("bfloat16", "float32"), ("float64", "float64")]:
        actual = QuantileLayer(KNOTS, dtype=given_dtype)(activations(rng).astype("float64"))
        assert keras.backend.standardize_dtype(actual.dtype) == expected_dtype


@pytest.mark.slow_on_jax
def test_flat_output_is_filter_major_without_borders_and_knots():
    """Tests the order of flattened embeddings. The worked example `neg_cosine` removes the border
    columns 0 and M + 1 of the matrix A before it flattens the matrix.
    """
    example = golden("neg_cosine")
    values = np.asarray(example["inputs"]["A"])  # (filters, M + 2)
    filters, columns = values.shape
    knots = columns - 2
    # With N = M + 1 steps and knots at i / N, the value at knot i is the order statistic i + 1.
    x = np.asarray(values[:, :-1].T[None], "float64")  # (1, M + 1, filters)
    actual = numpy(QuantileLayer(knots, flatten=True, dtype="float64")(x))
    assert actual.shape == (1, filters * knots)
    whole = numpy(QuantileLayer(knots, dtype="float64")(x))
    np.testing.assert_array_equal(actual, whole[:, :-1, 1:-1].reshape(1, -1))
    np.testing.assert_allclose(
        actual[0], example["expected"]["flat_A"], rtol=0, atol=example["tolerance"]
    )


@pytest.mark.parametrize(
    "flatten, kind", [(False, distances.Wasserstein), (True, distances.Cosine)]
)
def test_the_head_names_the_distance_of_its_embeddings(flatten, kind):
    head = QuantileLayer(KNOTS, p=2, flatten=flatten)
    assert type(head.distance) is kind
    if not flatten:
        assert head.distance.p == 2


@pytest.mark.parametrize("knots", [0, -1, 1.5, "16", None])
def test_invalid_numbers_of_knots_are_refused(knots):
    with pytest.raises(ValueError, match="`knots` must be a whole number of at least 1"):
        QuantileLayer(knots)


def test_an_order_below_one_is_refused():
    with pytest.raises(ValueError, match="`p` must be a real number of at least 1"):
        QuantileLayer(KNOTS, p=0.5)


@pytest.mark.parametrize("shape", [(4, 5), (4, 5, 6, 7)])
def test_inputs_other_than_sequences_are_refused(shape):
    with pytest.raises(ValueError, match="shape .batch, time, filters.[^$]*Received shape"):
        QuantileLayer(KNOTS)(np.zeros(shape, "float32"))


@pytest.mark.slow
@pytest.mark.slow_on_jax
@pytest.mark.parametrize("with_mask", [False, True])
@pytest.mark.parametrize("shape", [SHAPE, (4, 1000, 30)])
def test_sorting_on_the_host_equals_sorting_in_the_graph(rng, with_mask, shape):
    """Tests that NumPy, which sorts on the host, gives the same order as sorting in the graph. One
    array is so large that several threads sort it. The values include ties, 0.0 and -0.0.
    """
    if keras.backend.backend() != "tensorflow" and shape != SHAPE:
        return  # this backend has only one sort
    x = activations(rng, shape).round(1)
    x[0, :2] = [[-0.0], [0.0]]
    mask = rng.random(shape[:2]) < 0.8 if with_mask else None
    answers, slopes = [], []
    for host_sort in (True, False):
        layer = QuantileLayer(KNOTS, host_sort=host_sort)
        layer(x[:, :2])
        answers.append(numpy(layer(x, mask=mask, training=True)))
        run = lambda x, layer=layer: ops.sum(layer(x, mask=mask, training=True) ** 2)  # noqa: E731
        (slope,) = gradients(run, x)
        slopes.append(slope.sum(axis=1))  # the gradient may go to any of several tied steps
    np.testing.assert_array_equal(*answers)
    np.testing.assert_allclose(*slopes, rtol=1e-5, atol=1e-5)


def test_inference_never_sorts_on_the_host(rng):
    """Tests that inference sorts in the graph, as exported files do."""
    x, layer = activations(rng), QuantileLayer(KNOTS, host_sort=True)
    model = contracts.as_model(keras.Sequential([keras.Input((None, FILTERS)), layer]))
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        graph = tf.function(lambda x: model(x, training=False)).get_concrete_function(
            tf.TensorSpec((None, None, FILTERS))
        )
        kinds = {operation.type for operation in graph.graph.get_operations()}
        assert not {kind for kind in kinds if "PyFunc" in kind}
    np.testing.assert_allclose(contracts.compiled(model)(x), numpy(layer(x)), rtol=0, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    "flatten, loss, host_sort",
    [(False, WassersteinLoss, None), (False, WassersteinLoss, True), (True, NPairLoss, False)],
)
def test_it_trains_compiled_by_xla(rng, flatten, loss, host_sort):
    """Tests training steps that XLA compiles. Steps that XLA compiles sort in the graph, because
    XLA cannot call NumPy.
    """
    steps = TIME - 1  # no knot is at a step, where rounding would select one of two slopes
    x, labels = activations(rng, (4, steps, FILTERS)), np.array([0, 1, 1, 0])
    trained = {}
    for jit_compile in (True, False):
        head = QuantileLayer(KNOTS, flatten=flatten, host_sort=host_sort)
        net = keras.Sequential([keras.Input((steps, FILTERS)), head])
        net.compile(keras.optimizers.SGD(0.1), loss(), jit_compile=jit_compile)
        before = net.get_weights()[0]
        history = net.fit(x, labels, batch_size=4, shuffle=False, verbose=0).history
        trained[jit_compile] = net.get_weights()[0], history["loss"][0]
        assert (net.get_weights()[0] != before).any()
    for compiled, plain in zip(trained[True], trained[False], strict=True):
        np.testing.assert_allclose(compiled, plain, rtol=1e-5, atol=1e-6)


def test_only_a_step_that_xla_compiles_cannot_call_numpy():
    if keras.backend.backend() != "tensorflow":
        pytest.skip("TensorFlow only")
    import tensorflow as tf

    answers = []

    def step(x):
        answers.append(host.is_reachable())
        return x

    tf.function(step)(1.0)
    tf.function(step, jit_compile=True)(1.0)
    tf.function(lambda x: tf.function(step)(x), jit_compile=True, autograph=False)(1.0)
    assert answers == [True, False, False] and host.is_reachable()
