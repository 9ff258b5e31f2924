"""Tests training by the four methods of Abdelwahab2019 with `fit`, also from a saved file."""

import numpy as np
import pytest

from keras_dml._backend import keras, ops
from keras_dml.layers import (
    ChannelNormalization,
    MaskedAveragePooling1D,
    MaskedConv1D,
    QuantileLayer,
    SequencePooling,
)
from keras_dml.losses import NPairLoss, WassersteinLoss
from keras_dml.samplers import NPairSampler

PEOPLE, EACH, TIME, CHANNELS = 4, 6, 24, 2


def recordings():
    """Draws recordings of several people. The signals of the people have the same mean and
    different spreads.
    """
    rng = np.random.default_rng(8)
    people = np.repeat(np.arange(PEOPLE), EACH)
    x = rng.normal(size=(len(people), TIME, CHANNELS)) * (0.4 + people[:, None, None] / 2)
    return x.astype("float32"), people


def head(method):
    return (
        SequencePooling("max")
        if method == "MP-NPL"
        else QuantileLayer(4, flatten=method != "QP-WL")
    )


def network(method, seed=0):
    keras.utils.set_random_seed(seed)
    normalization = ChannelNormalization()
    normalization.adapt(recordings()[0])
    net = keras.Sequential(
        [
            keras.Input((None, CHANNELS)),
            normalization,
            MaskedConv1D(6, 3, use_bias=False),
            keras.layers.BatchNormalization(),
            keras.layers.PReLU(shared_axes=[1]),
            MaskedAveragePooling1D(2),
            head(method),
        ]
    )
    if method == "QP-CLS":
        net.add(keras.layers.Dense(PEOPLE))
    net.compile(keras.optimizers.Adam(0.02), loss(method))
    return net


def loss(method):
    return {
        "QP-WL": WassersteinLoss,
        "QP-NPL": NPairLoss,
        "MP-NPL": NPairLoss,
        "QP-CLS": lambda: keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    }[method]()


def fit(net, epochs, first=0):
    sampler = NPairSampler(*recordings(), pairs=3, steps=4, length=TIME - 4, seed=2)
    sampler.epoch = first
    return net.fit(
        sampler, epochs=first + epochs, initial_epoch=first, shuffle=False, verbose=0
    ).history["loss"]


def assert_same_state(one, other):
    """Tests that weights and optimizer states are exactly equal."""
    for first, its in zip(one.variables, other.variables, strict=True):
        np.testing.assert_array_equal(ops.convert_to_numpy(first), ops.convert_to_numpy(its))
    first, its = one.optimizer.variables, other.optimizer.variables
    assert len(first) == len(its) > len(one.trainable_weights)
    for left, right in zip(first, its, strict=True):
        np.testing.assert_array_equal(ops.convert_to_numpy(left), ops.convert_to_numpy(right))


@pytest.mark.slow
@pytest.mark.parametrize("method", ["QP-WL", "QP-NPL", "MP-NPL", "QP-CLS"])
def test_fit_lowers_the_loss_and_moves_every_weight(method):
    net = network(method)
    before = [weight.copy() for weight in net.get_weights()]
    losses = fit(net, epochs=20)
    assert np.isfinite(losses).all()
    assert np.mean(losses[-3:]) < 0.9 * np.mean(losses[:2])
    trained = {weight.path for weight in net.trainable_weights}
    for old, variable in zip(before, net.weights, strict=True):
        if variable.path in trained:
            assert (old != ops.convert_to_numpy(variable)).any(), variable.path


@pytest.mark.slow
@pytest.mark.parametrize("method", ["QP-WL", "QP-NPL"])
def test_loaded_model_continues_training_bit_for_bit(method, tmp_path):
    original = network(method)
    fit(original, epochs=2)
    original.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert type(loaded.loss) is type(original.loss)
    assert_same_state(original, loaded)
    assert fit(original, epochs=2, first=2) == fit(loaded, epochs=2, first=2)
    assert_same_state(original, loaded)


@pytest.mark.slow
def test_the_seed_determines_the_training():
    first, again, third = (network("QP-WL", seed) for seed in (1, 1, 2))
    losses = [fit(net, epochs=2) for net in (first, again, third)]
    assert losses[0] == losses[1] != losses[2]
    assert_same_state(first, again)


@pytest.mark.slow
def test_masked_recordings_train_like_unpadded_recordings():
    """Tests that a step on cut recordings equals a step on padded recordings with a mask."""
    x, people = recordings()
    rows = np.concatenate([np.flatnonzero(people == person)[:2] for person in range(3)])
    bare, padded = (network("QP-WL") for _ in range(2))
    bare.train_on_batch(x[rows, :13], people[rows])
    garbage = x[rows].copy()
    garbage[:, 13:] = 1e3

    class Masked(keras.layers.Layer):
        """Layer with a mask that marks only the first thirteen steps as valid, like a mask of
        `keras.layers.Masking`.
        """

        def call(self, inputs):
            return inputs

        def compute_mask(self, inputs, previous_mask=None):
            first = ops.cast(ops.arange(TIME) < 13, inputs.dtype)
            return ops.zeros_like(inputs[..., 0]) + first > 0

    signal = keras.Input((TIME, CHANNELS))
    outer = Masked()(signal)
    for layer in padded.layers:
        outer = layer(outer)
    masked = keras.Model(signal, outer)
    masked.compile(keras.optimizers.Adam(0.02), loss("QP-WL"))
    masked.train_on_batch(garbage, people[rows])
    for item, third in zip(bare.get_weights(), padded.get_weights(), strict=True):
        np.testing.assert_allclose(item, third, rtol=1e-4, atol=1e-5)
