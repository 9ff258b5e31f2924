"""Tests that a step of `GradCache` equals the step of a network that keeps all activations."""

import numpy as np
import pytest

from keras_dml import inputs, layers, losses, models
from keras_dml._backend import keras, ops

ROWS = 8
ON_JAX = keras.backend.backend() == "jax"
once = pytest.mark.skipif(
    ON_JAX, reason="results are the same on every backend, and compilation on JAX takes long"
)
pytestmark = pytest.mark.shares_nothing


@keras.saving.register_keras_serializable(package="tests")
class InChunks(keras.Model):
    """Model that embeds a batch in the same chunks as `GradCache`, but keeps all activations."""

    def __init__(self, encoder, chunk):
        super().__init__()
        self.encoder, self.chunk = encoder, chunk
        self.build(encoder.input_shape)

    def build(self, input_shape):
        self.built = True

    def call(self, x, training=None):
        count = -(-ROWS // self.chunk)
        parts = [self.encoder(x[i::count], training=training) for i in range(count)]
        return ops.concatenate([parts[i % count][i // count][None] for i in range(ROWS)])


@keras.saving.register_keras_serializable(package="tests")
class Growing(keras.layers.Layer):
    """Layer whose factor increases by one with each training call."""

    def build(self, input_shape):
        self.factor = self.add_weight(shape=(), initializer="ones", trainable=False)

    def call(self, x, training=None):
        if training:
            self.factor.assign(self.factor + 1)
        return x * self.factor


def vectors(*more):
    dense = keras.layers.Dense(6, activation="tanh", kernel_regularizer=keras.regularizers.L2(0.1))
    return keras.Sequential([keras.Input((4,)), dense, *more, keras.layers.Dense(3)])


def quantiles():
    signal = keras.Input((None, 3))
    conv = layers.MaskedConv1D(4, 3, activation="tanh")
    return keras.Sequential([signal, keras.layers.Masking(), conv, layers.QuantileLayer(3)])


def matrices():
    return models.spdnet((4, 3), output="spd")


ENCODERS = {
    "vectors": (vectors, lambda: losses.TripletLoss(mining="hard")),
    "quantiles of ragged recordings": (quantiles, losses.WassersteinLoss),
    "matrices": (matrices, lambda: losses.ContrastiveLoss(distance="affine_invariant")),
}
STATES = {
    "dropout": (lambda: keras.layers.Dropout(0.5), 3),
    "batch normalization": (keras.layers.BatchNormalization, 4),
    "what the chunk before has left": (Growing, 3),
}


def batch(model, rows=ROWS):
    rng = np.random.default_rng(3)
    shape = inputs.encoder(model).input_shape[1:]
    x = rng.normal(size=(rows, *(size or 9 for size in shape)))
    if shape[0] is None:
        x[np.arange(9) >= rng.integers(4, 9, rows)[:, None]] = 0  # masked
    if len(shape) == 2 and shape[0] == shape[1]:
        x = x @ np.swapaxes(x, 1, 2) + np.eye(shape[0])
    return x.astype("float32"), rng.permutation(np.arange(rows) % (ROWS // 2))


def step(build, loss, wrap=lambda encoder: encoder, **options):
    """Takes a step on a batch. Returns all weights before the step, all weights after the step, and
    the loss.
    """
    keras.utils.set_random_seed(1)
    model = wrap(build())
    model.compile(keras.optimizers.SGD(1.0), loss, **options)
    x, y = batch(model)
    before = model.get_weights()
    reported = model.fit(x, y, batch_size=ROWS, shuffle=False, verbose=0).history["loss"][0]
    return before, model.get_weights(), reported


def assert_same(found, expected):
    """Compares the changes of the weights. If the learning rate is 1, the changes of the weights
    equal the gradients.
    """
    np.testing.assert_allclose(found[2], expected[2], rtol=1e-6)
    assert max(np.abs(new - old).max() for old, new in zip(*found[:2], strict=True)) > 1e-2
    for first, second in zip(found[1], expected[1], strict=True):
        np.testing.assert_allclose(first, second, rtol=0, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("name", ENCODERS)
def test_gradients_equal_those_of_the_large_batch(name):
    build, loss = ENCODERS[name]
    expected = step(build, loss())
    for chunk in (3,) if ON_JAX else (1, 3, 4, 100):
        assert_same(step(build, loss(), lambda one, c=chunk: models.GradCache(one, c)), expected)


@pytest.mark.slow
@pytest.mark.parametrize("name", STATES)
def test_state_and_random_numbers_equal_one_pass_over_the_chunks(name):
    """Tests that the two passes of `GradCache` drop the same units, and that each chunk updates the
    statistics once.
    """
    layer, chunk = STATES[name]
    loss = losses.TripletLoss(mining="all")
    expected = step(lambda: vectors(layer()), loss, lambda one: InChunks(one, chunk))
    actual = step(lambda: vectors(layer()), loss, lambda one: models.GradCache(one, chunk))
    assert_same(actual, expected)


@pytest.mark.slow
def test_frozen_batch_normalization_gives_the_step_of_the_large_batch():
    def build():
        normalization = keras.layers.BatchNormalization()
        normalization.trainable = False
        return vectors(normalization)

    loss = losses.TripletLoss(mining="all")
    assert_same(step(build, loss, lambda one: models.GradCache(one, 3)), step(build, loss))


@once
def test_dropout_draws_again_in_the_next_step():
    model = models.GradCache(vectors(keras.layers.Dropout(0.5)), 4)
    x, _ = batch(model)
    first, second = (np.asarray(model(x, training=True)) for _ in range(2))
    assert np.abs(first - second).max() > 0.1
    np.testing.assert_array_equal(model(x), model.encoder(x))


@pytest.mark.slow
@once
def test_pairs_across_chunks_count():
    """Tests that pairs count if their rows are in different chunks. Each chunk has only one row."""
    _, _, actual = step(vectors, losses.ContrastiveLoss(), lambda one: models.GradCache(one, 1))
    keras.utils.set_random_seed(1)
    encoder = vectors()
    x, y = batch(encoder)
    penalty = float(sum(encoder.losses))
    np.testing.assert_allclose(actual, losses.ContrastiveLoss()(y, encoder(x)) + penalty, rtol=1e-6)
    assert actual > penalty


@pytest.mark.slow
@once
@pytest.mark.parametrize("options", [{"jit_compile": True}, {"run_eagerly": True}], ids=str)
def test_a_step_compiled_by_xla_or_run_eagerly_is_the_same(options):
    def normalized():
        return vectors(keras.layers.BatchNormalization())

    loss = losses.TripletLoss(mining="hard")
    expected = step(normalized, loss, lambda one: models.GradCache(one, 3))
    actual = step(normalized, loss, lambda one: models.GradCache(one, 3), **options)
    assert_same(actual, expected)


@pytest.mark.slow
@once
def test_a_classifier_trains_on_it_as_on_its_encoder():
    def classifier(encoder):
        return models.PrototypicalClassifier(encoder, ROWS // 2, hidden=5, dropout=0.0)

    def cached(encoder):
        return classifier(models.GradCache(encoder, 3))

    assert_same(step(vectors, None, cached), step(vectors, None, classifier))


@pytest.mark.slow
@once
def test_a_potato_network_trains_on_it_as_on_its_encoder():
    def network(encoder):
        actual = models.PotatoNetwork(encoder, ROWS // 2)
        actual.calibrate(*batch(encoder, 16))
        return actual

    def cached(encoder):
        return network(models.GradCache(encoder, 3))

    def build():
        return models.spdnet((4, 2), output="spd")

    loss = losses.PotatoRankingLoss(0.5)
    assert_same(step(build, loss, cached), step(build, loss, network))


@pytest.mark.slow
@once
def test_smaller_last_batch_and_sample_weights_train():
    model = models.GradCache(vectors(), 3)
    model.compile("sgd", losses.ContrastiveLoss(), weighted_metrics=[])
    x, y = batch(model)
    history = model.fit(x, y, batch_size=5, epochs=2, sample_weight=np.arange(8.0), verbose=0)
    assert np.isfinite(history.history["loss"]).all()


@pytest.mark.slow_on_jax
def test_a_loop_does_not_grow_with_the_chunks():
    """Tests that a compiled step has about as many operations with small chunks as with large
    chunks. On JAX, a step must also need less memory than a step without chunks.
    """
    encoder = keras.Sequential([keras.Input((16,)), *(keras.layers.Dense(64) for _ in range(4))])
    weights = [
        ops.convert_to_tensor(trainable_variable)
        for trainable_variable in encoder.trainable_variables
    ]
    sizes = {chunk: compiled_size(models.GradCache(encoder, chunk), weights) for chunk in (8, 64)}
    one_piece = compiled_size(encoder, weights)
    assert sizes[8][0] <= 1.2 * sizes[64][0]
    if ON_JAX:
        assert sizes[8][1] < one_piece[1] / 2


def two_inputs():
    options = [keras.Input((2,)), keras.Input((2,))]
    return keras.Model(options, keras.layers.Add()(options))


def compiled_size(model, weights):
    """Returns the number of operations of a step on 512 rows. On JAX, the function also returns the
    bytes of temporary memory that the step needs.
    """
    x = np.ones((512, 16), "float32")

    def total(weights, x):
        actual, _ = model.stateless_call(weights, [], x, training=True)
        return ops.sum(ops.square(actual))

    if ON_JAX:
        import jax

        lowered = jax.jit(jax.grad(total)).lower(weights, x)
        memory = lowered.compile().memory_analysis().temp_size_in_bytes
        return len(lowered.as_text().splitlines()), memory
    import tensorflow as tf

    def gradient(*weights):
        with tf.GradientTape() as tape:
            tape.watch(weights)
            value = total(list(weights), tf.constant(x))
        return tape.gradient(value, weights)

    definition = tf.function(gradient).get_concrete_function(*weights).graph.as_graph_def()
    inner = sum(len(item.node_def) for item in definition.library.function)
    return len(definition.node) + inner, None


@once
@pytest.mark.parametrize(
    "encoder, given",
    [
        (lambda: keras.Sequential([keras.layers.Dense(2)]), "Sequential with 0 inputs"),
        (
            lambda: models.PrototypicalClassifier(vectors(), 2),
            "PrototypicalClassifier with 0 inputs",
        ),
        (lambda: keras.layers.Dense(2), "Dense with 0 inputs"),
        (two_inputs, "with 2 inputs"),
    ],
    ids=["not built", "a classifier", "a layer", "two inputs"],
)
def test_an_encoder_that_cannot_be_cached_is_refused(encoder, given):
    with pytest.raises(ValueError, match=f"`encoder` must be .*{given}.*GradCache"):
        models.GradCache(encoder(), 2)


@once
@pytest.mark.parametrize(
    "chunk, error, message",
    [(0, ValueError, "at least 1. Received: 0"), (2.5, TypeError, "an integer. Received: 2.5")],
)
def test_invalid_chunks_are_refused(chunk, error, message):
    with pytest.raises(error, match=f"`chunk` must be {message}"):
        models.GradCache(vectors(), chunk)


def test_losses_of_activations_are_refused():
    encoder = vectors(keras.layers.ActivityRegularization(l2=0.1))
    model = models.GradCache(encoder, 4)
    model.compile("sgd", losses.ContrastiveLoss())
    with pytest.raises(ValueError, match="1 losses that depend on .*Regularize weights instead"):
        model.fit(*batch(model), verbose=0)
