"""Tests that a loss warns if and only if its distance differs from the distance of the model's
head.
"""

import warnings

import numpy as np
import pytest

import keras_dml
from keras_dml import distances, layers, losses, models
from keras_dml._backend import keras

LABELS = np.repeat(np.arange(4), 2)


class Scaled(distances.Euclidean):
    """Euclidean distance that is multiplied by a factor. The class has no registered name."""

    def __init__(self, factor):
        self.factor = factor

    def pairwise(self, x, y):
        return self.factor * super().pairwise(x, y)

    def get_config(self):
        return {"factor": self.factor}


class Scale(layers.TangentVector):
    """Head with a user-defined distance."""

    def __init__(self, factor=2.0):
        super().__init__()
        self.distance = Scaled(factor)


def quantiles(**options):
    return [layers.QuantileLayer(3, **options)]


def matrices(*heads):
    return [layers.Covariance("oas"), *heads]


DIFFERENT = {
    "another order": (quantiles(p=1), losses.WassersteinLoss(p=2)),
    "an order that is no integer": (quantiles(p=2), losses.WassersteinLoss(p=2.5)),
    "a triplet loss by name": (
        quantiles(p=3),
        losses.TripletLoss(mining="hard", distance="wasserstein"),
    ),
    "vectors": (quantiles(flatten=True), losses.TripletLoss()),
    "vectors of means": ([layers.SequencePooling("mean")], losses.ContrastiveLoss()),
    "statistics": ([layers.StatisticsPooling()], losses.LiftedStructureLoss()),
    "correlations": (
        [layers.LaggedCorrelation()],
        losses.TripletLoss(distance="cosine", squared=False),
    ),
    "pairs by cosine": ([layers.LaggedCorrelation()], losses.NPairLoss("cosine")),
    "matrices": (matrices(), losses.TripletLoss(distance="log_euclidean")),
    "matrices through a layer": (
        matrices(layers.BiMap(2)),
        losses.ContrastiveLoss(distance="bures_wasserstein"),
    ),
    "a distance of one's own": (matrices(Scale()), losses.TripletLoss()),
    "its arguments": (matrices(Scale(2.0)), losses.TripletLoss(distance=Scaled(3.0))),
}
AGREEING = {
    "the same order": (quantiles(p=2), losses.WassersteinLoss(p=2)),
    "the same order as a float": (quantiles(p=1), losses.WassersteinLoss(p=1.0)),
    "a triplet loss": (quantiles(p=2), losses.TripletLoss(distance=distances.Wasserstein(2))),
    "vectors by cosine": (quantiles(flatten=True), losses.NPairLoss("cosine")),
    "inner products, which are no distance": (quantiles(flatten=True), losses.NPairLoss("inner")),
    "a function, which has no name": ([layers.StatisticsPooling()], losses.DSMLTripletLoss()),
    "a layer after the head": (
        [layers.StatisticsPooling(), keras.layers.UnitNormalization()],
        losses.TripletLoss(),
    ),
    "no head": ([keras.layers.GlobalAveragePooling1D()], losses.TripletLoss(distance="euclidean")),
    "matrices as vectors": (
        matrices(layers.LogEig(), layers.TangentVector()),
        losses.TripletLoss(),
    ),
    "the tangent map": (matrices(layers.TangentMap(2)), losses.TripletLoss()),
    "a distance of one's own": (matrices(Scale(2)), losses.TripletLoss(distance=Scaled(2.0))),
}


def network(parts):
    return keras.Sequential([keras.Input((12, 3)), *parts])


def warned(call):
    """Returns the messages of the warnings that a call issues."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return [str(item.message) for item in caught if "compares embeddings by" in str(item.message)]


def embedded(model, rng):
    return model(rng.normal(size=(8, 12, 3)).astype("float32"), training=True)


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("name", DIFFERENT)
def test_a_loss_of_another_distance_than_the_heads_warns(name, rng):
    parts, loss = DIFFERENT[name]
    embeddings = embedded(network(parts), rng)
    (message,) = warned(lambda: loss(LABELS, embeddings))
    head = parts[-1]
    assert type(loss).__name__ in message and type(head).__name__ in message
    for distance in (loss.distance, head.distance):
        assert distance.name in message
        assert all(str(value) in message for value in distance.get_config().values())


@pytest.mark.slow
@pytest.mark.slow_on_jax
@pytest.mark.parametrize("name", AGREEING)
def test_a_loss_of_the_heads_distance_does_not_warn(name, rng):
    parts, loss = AGREEING[name]
    embeddings = embedded(network(parts), rng)
    assert warned(lambda: loss(LABELS, embeddings)) == []


def functional(parts):
    entry = keras.Input((12, 3))
    x = entry
    for part in parts:
        x = part(x)
    return keras.Model(entry, x)


def nested(parts):
    return keras.Sequential([keras.Input((12, 3)), network(parts)])


def cached(parts):
    return models.GradCache(network(parts), chunk=4)


@pytest.mark.slow
@pytest.mark.parametrize("build", [network, functional, nested, cached])
@pytest.mark.parametrize("eagerly", [False, True])
def test_fit_warns_in_compiled_and_in_eager_steps(build, eagerly, rng):
    x = rng.normal(size=(8, 12, 3)).astype("float32")
    for p, expected in ((2, True), (1, False)):
        model = build(quantiles(p=1))
        model.compile("sgd", losses.WassersteinLoss(p=p), run_eagerly=eagerly)
        messages = warned(
            lambda model=model: model.fit(x, LABELS, batch_size=8, shuffle=False, verbose=0)
        )
        assert bool(messages) is expected
        assert all("p=1" in message and "p=2" in message for message in messages)


@pytest.mark.slow
def test_each_output_is_compared_with_its_own_loss(rng):
    entry = keras.Input((12, 3))
    outputs = {
        "near": layers.QuantileLayer(2, p=1, name="near")(entry),
        "far": layers.QuantileLayer(2, p=2, name="far")(entry),
    }
    model = keras.Model(entry, outputs)
    given = {"near": losses.WassersteinLoss(p=1), "far": losses.WassersteinLoss(p=3)}
    model.compile("sgd", given)
    x = rng.normal(size=(8, 12, 3)).astype("float32")
    messages = warned(lambda: model.fit(x, {"near": LABELS, "far": LABELS}, verbose=0))
    assert messages
    assert all("'far'" in message and "p=3" in message for message in messages)


def test_distances_of_a_model_that_was_compiled_for_another_one_warn(rng):
    """Tests a model whose loss uses a distance that differs from the head's distance. The test
    includes a user-defined head, which does not attach its distance to its embeddings."""

    class Mean(keras.layers.Layer):
        distance = distances.Cosine()

        def call(self, inputs):
            return keras.ops.mean(inputs, axis=1)

    x = rng.normal(size=(3, 12, 3)).astype("float32")
    for loss, expected in ((losses.TripletLoss(), 1), (losses.NPairLoss("cosine"), 0)):
        model = network([Mean()])
        model.compile("sgd", loss)
        z = keras_dml.embed(model, list(x), progress=False)
        messages = warned(lambda model=model, z=z: keras_dml.distance(model, z, z))
        assert len(messages) == expected
        assert all("euclidean" in message and "cosine" in message for message in messages)


def test_marks_end_with_their_tensors(rng):
    from keras_dml._backend import marks

    before = len(marks._MARKS)
    for _ in range(5):
        embedded(network(quantiles()), rng)
    assert len(marks._MARKS) <= before + 1
