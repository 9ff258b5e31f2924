import numpy as np
import pytest

from keras_dml._backend import keras, ops
from keras_dml.geometry.spd import potato
from keras_dml.layers import ClassPotatoes
from tests.geometry.matrices import spd


def numpy(tensor):
    return np.asarray(ops.convert_to_numpy(tensor))


def calibrated(rng, classes=2, n=3, **options):
    layer = ClassPotatoes(classes, **options)
    x, labels = spd(rng, 6 * classes, n), np.arange(6 * classes) % classes
    layer.calibrate(x, labels)
    return layer, x, labels


def test_each_class_is_calibrated_by_its_own_matrices(rng):
    layer, x, labels = calibrated(rng)
    for label in range(2):
        expected = potato.calibrate(x[labels == label])
        weights = (layer.center, layer.log_mu, layer.log_sigma, layer.count)
        for weight, value in zip(weights, expected, strict=True):
            np.testing.assert_allclose(numpy(weight)[label], value, rtol=1e-6)


@pytest.mark.slow_on_jax
def test_scores_are_of_every_class(rng):
    layer, x, labels = calibrated(rng)
    scores = numpy(layer(x.astype("float32")))
    assert scores.dtype == "float32" and scores.shape == (12, 2)
    for label in range(2):
        class_scores = scores[labels == label, label]
        np.testing.assert_allclose(
            [class_scores.mean(), class_scores.std()], [0, 1], rtol=0, atol=1e-3
        )


@pytest.mark.slow_on_jax
def test_a_class_without_statistics_has_no_score(rng):
    layer = ClassPotatoes(3)
    layer.build((None, 2, 2))
    assert np.isnan(numpy(layer(spd(rng, 4, 2).astype("float32")))).all()
    with pytest.raises(ValueError, match=r"3 of 3 .*potatoes.*\[0, 1, 2\].*`calibrate"):
        layer.check_calibrated()


@pytest.mark.slow_on_jax
def test_an_update_moves_the_weights_as_the_geometry_says(rng):
    layer, x, labels = calibrated(rng, update_rate=0.2)
    before = [numpy(weight) for weight in layer.weights]
    x, labels = x.astype("float32")[:5], labels[:5].astype("int32")
    values = numpy(layer.log_distances(x, np.arange(2)))[labels, np.arange(5)]
    layer.update(x, labels, values)
    after = potato.update(potato.Statistics(*before), x, labels, values, 0.2)
    for weight, expected in zip(layer.weights, after, strict=True):
        np.testing.assert_allclose(numpy(weight), expected, rtol=1e-6)
    assert not layer.trainable_weights


@pytest.mark.parametrize(
    "labels, change, message",
    [
        ([0, 0, 0, 0, 0, 1], None, "Class 1 cannot be calibrated.*at least 2.*Received 1"),
        ([0, 0, 0, 0, 0, 0], None, "Class 1 cannot be calibrated.*Received 0"),
        ([0, 0, 0, 1, 1, 2], None, r"ids from 0 to 1. Received \[2\]"),
        (list("aaabbb"), None, r"ids from 0 to 1. Received \['a', 'b'\]"),
        ([0, 1], None, r"shape \(6,\). Received shape \(2,\)"),
        ([0, 0, 0, 1, 1, 1], np.nan, "Class 0 cannot be calibrated.*not finite"),
        ([0, 0, 0, 1, 1, 1], -1.0, "Class 0 cannot be calibrated.*positive definite"),
    ],
    ids=str,
)
def test_failed_calibration_changes_nothing(rng, labels, change, message):
    layer, x, _ = calibrated(rng)
    before = layer.get_weights()
    x = x[:6].copy()
    if change is not None:
        x[1] *= change
    with pytest.raises(ValueError, match=message):
        layer.calibrate(x, labels)
    for first, second in zip(before, layer.get_weights(), strict=True):
        np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("classes", [0, 2.5, "2"])
def test_invalid_numbers_of_classes_are_refused(classes):
    with pytest.raises(ValueError, match="`classes` must be a whole number.*Received"):
        ClassPotatoes(classes)


@pytest.mark.parametrize("shape", [(None, 3), (None, 3, 2), (None, 4, 3, 3)])
def test_inputs_other_than_matrices_are_refused(shape):
    with pytest.raises(ValueError, match=r"shape \(batch, n, n\). Received shape"):
        ClassPotatoes(2).build(shape)


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="only TensorFlow's XLA is slow")
def test_keras_is_kept_from_compiling_an_eigendecomposition():
    assert not ClassPotatoes(2).supports_jit
