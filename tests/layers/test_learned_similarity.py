"""Tests the layer LearnedSimilarity: the options for symmetry, the dropout, and the distance."""

import numpy as np
import pytest

from keras_dml._backend import keras, ops
from keras_dml.geometry import similarity as geometry
from keras_dml.layers import LearnedSimilarity
from keras_dml.layers.learned_similarity import SYMMETRIES
from tests.contracts import HALF_POLICIES, dtype_policy
from tests.geometry import perceptrons
from tests.geometry.perceptrons import numpy, staged
from tests.gradients import finite_differences, gradients
from tests.graphs import graph

UNITS = 64
JAX = keras.backend.backend() == "jax"


def layer_of(layers, slope, **options):
    """Returns a layer with the weights of a worked example, from the example's entry `layers`."""
    hidden = [len(layer["bias"]) for layer in layers[:-1]]
    layer = LearnedSimilarity(hidden, slope=slope, dropout=0.0, **options)
    features = len(layers[0]["kernel"]) // (1 if layer.symmetry == "absdiff" else 2)
    layer.build((None, features), (None, features))
    layer.set_weights([np.array(item[key]) for item in layers for key in ("kernel", "bias")])
    return layer


def random_layer(rng, features=3, **options):
    """Returns a built layer with random biases."""
    layer = LearnedSimilarity(**{"hidden": (UNITS,), **options})
    layer.build((None, features), (None, features))
    for bias in layer.biases:
        bias.assign(rng.normal(size=bias.shape))
    return layer


@pytest.fixture
def z(rng):
    return rng.normal(size=(6, 3)).astype("float32")


# ---- variants ---------------------------------------------------------------------------------


@pytest.mark.parametrize("symmetry", SYMMETRIES)
def test_golden_symmetric_similarities_and_their_gradients(symmetry):
    inputs, expected, gradient, close, close_gradient = perceptrons.example("similarity-symmetric")
    z = np.array(inputs["z"], "float32")
    of_absdiff = symmetry == "absdiff"
    layer = layer_of(
        inputs["absdiff_layers" if of_absdiff else "layers"], inputs["slope"], symmetry=symmetry
    )
    table = numpy(layer(z, z))
    np.testing.assert_allclose(table, expected[symmetry], **close)
    assert np.allclose(table, table.T) == (symmetry != "none")
    if symmetry == "none":
        return
    weights = np.array(inputs["weights"], "float32") * (1 - np.eye(len(z), dtype="float32"))
    value = staged(lambda z: ops.sum(weights * layer(z, z)))
    np.testing.assert_allclose(float(value(z)), expected[f"value_{symmetry}"], **close)
    np.testing.assert_allclose(gradients(value, z)[0], gradient[symmetry]["z"], **close_gradient)
    if symmetry == "max":
        smallest = np.linalg.eigvalsh(table)[0]  # symmetric, but not positive definite
        np.testing.assert_allclose(smallest, expected["smallest_eigenvalue_of_max"], rtol=1e-5)


@pytest.mark.slow_on_jax
def test_the_first_argument_is_the_example(rng, z):
    layer = random_layer(rng)
    table, turned = numpy(layer(z[:2], z[2:])), numpy(layer(z[2:], z[:2]))
    assert table.shape == (2, 4) == layer.compute_output_shape((2, 3), (4, 3))
    assert np.abs(table - turned.T).min() > 1e-4


@pytest.mark.slow_on_jax
def test_normalized_embeddings_have_a_direction_only(rng, z):
    layer = random_layer(rng, normalize=True)
    np.testing.assert_allclose(numpy(layer(5 * z, z / 7)), numpy(layer(z, z)), rtol=1e-4, atol=1e-5)
    z[0] = 0
    actual = gradients(staged(lambda z: ops.sum(layer(z, z))), z)[0]
    np.testing.assert_array_equal(actual[0], 0)
    assert np.isfinite(actual).all()


@pytest.mark.slow_on_jax
def test_first_kernel_is_initialized_for_both_inputs_together(rng):
    """Tests the scale of the initial kernel. One kernel takes both inputs. If each input had its
    own kernel, the scale would be 1.2 times as large.
    """
    layer = LearnedSimilarity(hidden=(512,))
    layer.build((None, 256), (None, 256))
    kernel = numpy(layer.kernels[0])
    assert kernel.shape == (512, 512)
    limit = np.sqrt(6 / (512 + 512))
    assert 0.99 * limit < np.abs(kernel).max() <= np.float32(limit)


@pytest.mark.parametrize("policy", HALF_POLICIES)
def test_similarities_are_float32_whatever_the_policy(rng, z, policy):
    with dtype_policy(policy):
        half = LearnedSimilarity((4,))
        table = half(z.astype("float16"), z)
    assert keras.backend.standardize_dtype(table.dtype) == "float32"
    assert {weight.dtype for weight in half.weights if "seed" not in weight.path} == {"float32"}


# ---- dropout ----------------------------------------------------------------------------------


@pytest.fixture
def watched():
    """Returns a layer whose hidden units are all 1 before dropout."""
    keras.utils.set_random_seed(1)
    layer = LearnedSimilarity((UNITS,), dropout=0.25)
    layer.build((None, 3), (None, 3))
    weights = [np.zeros((6, UNITS)), np.ones(UNITS), np.ones((UNITS, 1)), np.zeros(1)]
    for weight, value in zip(
        (layer.kernels[0], layer.biases[0], layer.kernels[1], layer.biases[1]), weights, strict=True
    ):
        weight.assign(value)
    return layer


def shares(layer, n, m, training=True):
    """Returns, for each pair, the fraction of units that dropout keeps, divided by 0.75."""
    table = layer(np.ones((n, 3), "float32"), np.ones((m, 3), "float32"), training=training)
    return numpy(table) / UNITS


@pytest.mark.slow_on_jax
def test_dropout_drops_its_fraction_independently_for_each_pair(watched):
    actual = shares(watched, 40, 50)
    fractions = actual * 0.75
    assert abs(fractions.mean() - 0.75) < 0.005  # standard error 0.0012
    stddev = np.sqrt(0.25 * 0.75 / UNITS)
    for axis in (0, 1):  # masks of pairs with a common vector are also independent
        assert 0.9 < fractions.std(axis=axis).mean() / stddev < 1.1
    np.testing.assert_allclose(shares(watched, 4, 5, training=False), 1, rtol=1e-6)
    assert (shares(watched, 40, 50) != actual).mean() > 0.8  # a new mask in each call


@pytest.mark.slow
def test_blocks_have_different_masks(watched, monkeypatch):
    one_row = 4 * UNITS * 40
    monkeypatch.setattr(geometry, "DROPPED_BYTES", one_row)
    fractions = shares(watched, 40, 50) * 0.75
    assert (fractions[:, 1:] != fractions[:, :-1]).mean() > 0.8
    assert abs(fractions.mean() - 0.75) < 0.005


@pytest.mark.slow
@pytest.mark.slow_on_jax
@pytest.mark.parametrize("blocks", ["whole", "in blocks"])
def test_the_backward_pass_uses_the_mask_of_the_forward_pass(rng, monkeypatch, blocks):
    """Compares gradients with finite differences for one seed. The backward pass recomputes units
    and must draw the same dropout mask as the forward pass."""
    if blocks == "in blocks":
        monkeypatch.setattr(geometry, "DROPPED_BYTES", 8 * 4 * 2 * 2)
    layer = random_layer(rng, 2, hidden=(4,), dropout=0.5, dtype="float64")
    x, y, probe = rng.normal(size=(2, 2)), rng.normal(size=(5, 2)), rng.normal(size=(2, 5))
    seed = [(layer.seed_generator.state, ops.convert_to_tensor(layer.seed_generator.state))]

    def value(x, y):
        with keras.StatelessScope(state_mapping=seed):
            return ops.sum(probe * layer(x, y, training=True))

    in_x, in_y = gradients(staged(value), x, y)
    of_both = graph(value)
    np.testing.assert_allclose(
        in_x, finite_differences(lambda one: of_both(one, y), x), rtol=0, atol=1e-6
    )
    np.testing.assert_allclose(
        in_y, finite_differences(lambda one: of_both(x, one), y), rtol=0, atol=1e-6
    )
    assert of_both(x, y) != float(ops.sum(probe * layer(x, y)))


# ---- as a distance ----------------------------------------------------------------------------


def test_distance_is_negative_similarity_without_dropout(rng, z):
    layer = random_layer(rng)
    distance = layer.distance
    np.testing.assert_array_equal(numpy(distance(z, z[:2])), -numpy(layer(z, z[:2])))
    assert distance.name == "learned_similarity"
    assert distance.is_learned and distance.weights == layer.weights
    assert distance.get_config() == {"symmetry": "none"}


# ---- bad input --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options, message",
    [
        ({"hidden": ()}, "`hidden` must hold the width"),
        ({"hidden": (3, 0)}, "`hidden` must hold the width"),
        ({"hidden": 2.5}, "hidden"),
        ({"slope": -0.1}, "`slope` must be a number from 0 to 1"),
        ({"slope": np.nan}, "`slope`"),
        ({"dropout": 1}, "`dropout` must be a number of at least 0 and below 1"),
        ({"symmetry": "min"}, "`symmetry` must be one of .*absdiff.*symmetry='min'"),
    ],
)
def test_options_out_of_range_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        LearnedSimilarity(**options)


@pytest.mark.parametrize("shape", [(None, 4), (None, None), (None, 3, 3)])
def test_vectors_of_another_width_are_refused(shape):
    with pytest.raises(ValueError, match="known width.*Received shapes"):
        LearnedSimilarity((4,)).build((None, 3), shape)


def test_large_table_compiled_by_xla_equals_single_pairs(rng, monkeypatch):
    """Tests a layer whose weights are variables, because TensorFlow does not accept variables in a
    custom gradient."""
    monkeypatch.setattr(geometry, "BLOCK_BYTES", 64)
    monkeypatch.setattr(geometry, "FUSED_FROM", 1)
    layer = LearnedSimilarity(hidden=(5,))
    x, y = (rng.normal(size=(rows, 3)).astype("float32") for rows in (4, 6))
    actual = np.asarray(layer(x, y))
    monkeypatch.undo()
    single = [[float(np.asarray(layer(a[None], b[None]))[0, 0]) for b in y] for a in x]
    np.testing.assert_allclose(actual, single, rtol=0, atol=1e-5)


@pytest.mark.slow
@pytest.mark.slow_on_jax
@pytest.mark.parametrize("symmetry", ["none", "mean", "absdiff"])
def test_large_table_compiled_by_xla_has_the_same_gradients(symmetry, rng, monkeypatch):
    layer = LearnedSimilarity(hidden=(5, 4), symmetry=symmetry)
    x, y = (ops.convert_to_tensor(rng.normal(size=(n, 3)).astype("float32")) for n in (4, 6))
    layer(x, y)  # builds
    expected = of_weights(layer, x, y)
    monkeypatch.setattr(geometry, "BLOCK_BYTES", 64)
    monkeypatch.setattr(geometry, "FUSED_FROM", 1)
    for actual, wanted in zip(of_weights(layer, x, y), expected, strict=True):
        np.testing.assert_allclose(actual, wanted, rtol=1e-4, atol=1e-5)
    assert len(expected) == 6 and all(np.any(wanted) for wanted in expected)


def of_weights(layer, x, y):
    """Computes the gradients of the sum of squared similarities with respect to each weight. The
    weights are plain arrays instead of variables.
    """
    if JAX:
        import jax

        fixed = [weight.value for weight in layer.non_trainable_variables]

        def loss(weights):
            table, _ = layer.stateless_call(weights, fixed, x, y)
            return ops.sum(ops.square(table))

        return list(map(np.asarray, jax.grad(loss)([w.value for w in layer.trainable_variables])))
    import tensorflow as tf

    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.square(layer(x, y)))
    return list(map(np.asarray, tape.gradient(loss, layer.trainable_variables)))


@pytest.mark.slow
@pytest.mark.parametrize("symmetry", ["none", "absdiff"])
def test_layers_of_different_widths_work_in_sequence(symmetry, rng, monkeypatch):
    """Tests two layers of different widths one after the other. An earlier version used the same
    compiled function for all widths.
    """
    monkeypatch.setattr(geometry, "BLOCK_BYTES", 64)
    for features, hidden in ((3, (5,)), (4, (7,)), (4, (7, 2))):
        layer = LearnedSimilarity(hidden, symmetry=symmetry)
        x, y = (rng.normal(size=(rows, features)).astype("float32") for rows in (4, 6))
        single = [[float(np.asarray(layer(a[None], b[None]))[0, 0]) for b in y] for a in x]
        np.testing.assert_allclose(np.asarray(layer(x, y)), single, rtol=0, atol=1e-5)
