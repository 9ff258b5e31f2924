"""Tests that `to_tf_data` returns the sampler's batches as a `tf.data.Dataset`."""

import sys

import numpy as np
import pytest

from keras_dml.samplers import NPairSampler


def sampler():
    rng = np.random.default_rng(3)
    x = [rng.normal(size=(steps, 2)) for steps in rng.integers(10, 15, size=20)]
    return NPairSampler(x, np.repeat(np.arange(5), 4), 3, length=8)


def test_one_epoch_is_the_sampler_s_own():
    batches = sampler()
    batches.epoch = 4
    dataset = batches.to_tf_data()
    assert int(dataset.cardinality()) == len(batches)
    for (signal, labels), (own, own_labels) in zip(dataset, batches, strict=True):
        np.testing.assert_array_equal(signal.numpy(), own)
        np.testing.assert_array_equal(labels.numpy(), own_labels)


def test_shapes_are_static():
    signal, labels = sampler().to_tf_data().element_spec
    assert (signal.shape, signal.dtype.name) == ((6, 8, 2), "float32")
    assert (labels.shape, labels.dtype.name) == ((6,), "int32")


def test_epochs_follow_one_another_and_can_be_read_again():
    batches = sampler()
    dataset = batches.to_tf_data(epochs=3)
    expected = []
    for _ in range(3):
        expected += [signal for signal, _ in batches]
        batches.on_epoch_end()
    for _ in range(2):
        read = [signal.numpy() for signal, _ in dataset]
        np.testing.assert_array_equal(read, expected)
    assert batches.epoch == 3


def test_missing_tensorflow_is_an_error_that_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorflow", None)
    with pytest.raises(ImportError, match=r"pip install keras-dml\[tensorflow\]"):
        sampler().to_tf_data()
