"""Tests that `fit` accepts a sampler on every backend, and that a resumed run equals an
uninterrupted run."""

import numpy as np
import pytest

from keras_dml._backend import keras
from keras_dml.samplers import NPairSampler, PKSampler


def data(people=6, each=4):
    rng = np.random.default_rng(3)
    lengths = rng.integers(10, 15, size=people * each)
    return [rng.normal(size=(steps, 2)) for steps in lengths], np.repeat(np.arange(people), each)


def sampler(**options):
    x, y = data()
    return NPairSampler(x, y, 3, length=8, seed=1, **options)


def model():
    """Returns a tiny built classifier, whose weights after `fit` depend on the batches."""
    keras.utils.set_random_seed(0)
    net = keras.Sequential(
        [keras.Input((8, 2)), keras.layers.GlobalAveragePooling1D(), keras.layers.Dense(6)]
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    net.compile(keras.optimizers.SGD(0.1), loss)
    return net


def weights_after(batches, epochs, net=None, **options):
    net = net or model()
    net.fit(batches, epochs=epochs, verbose=0, shuffle=False, **options)
    return net.get_weights()


def by_hand(batches, epochs):
    """Trains a model with `train_on_batch` instead of `fit`. The batches are the ones that `fit`
    uses in the given epochs.
    """
    net = model()
    for epoch in epochs:
        batches.epoch = epoch
        for signal, labels in batches:
            net.train_on_batch(signal, labels)
    return net.get_weights()


def assert_same_weights(left, right):
    for a, b in zip(left, right, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("kind", [NPairSampler, lambda *args, **kw: PKSampler(*args, 3, **kw)])
def test_fit_with_default_options_runs_all_batches(kind):
    net = model()
    net.fit(kind(*data(), 3, length=8), epochs=2, verbose=0)
    assert int(net.optimizer.iterations) == 4


def test_fit_takes_the_batches_of_the_epochs_that_the_docstring_names():
    assert_same_weights(weights_after(sampler(), 3), by_hand(sampler(), [1, 2, 3]))


def test_stopped_training_goes_on_as_if_it_had_not_stopped():
    net = model()
    weights_after(sampler(), 2, net)
    resumed = sampler()
    resumed.epoch = 2
    net.fit(resumed, initial_epoch=2, epochs=5, verbose=0, shuffle=False)
    assert_same_weights(net.get_weights(), weights_after(sampler(), 5))


def test_workers_do_not_change_the_training():
    net = model()
    # JAX builds the loss from a first batch, see the note on workers in `PKSampler`.
    net.evaluate(*sampler()[0], verbose=0)
    alone = weights_after(sampler(steps=12), 3)
    assert_same_weights(weights_after(sampler(steps=12, workers=3), 3, net), alone)


def test_evaluate_takes_a_sampler():
    assert np.isfinite(model().evaluate(sampler(), verbose=0))
