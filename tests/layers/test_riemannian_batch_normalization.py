"""Tests the layer RiemannianBatchNormalization, which moves SPD matrices to a learned mean."""

import numpy as np
import pytest

from keras_dml import distances
from keras_dml._backend import keras, ops
from keras_dml.geometry import spd
from keras_dml.layers import RiemannianBatchNormalization
from tests.goldens import golden
from tests.gradients import gradients


def numpy(tensor):
    return np.asarray(ops.convert_to_numpy(tensor))


def covariances(rng, count, n):
    x = rng.normal(size=(count, 3 * n, n))
    return np.swapaxes(x, 1, 2) @ x / (3 * n)


def built(n, *args, **kwargs):
    layer = RiemannianBatchNormalization(*args, dtype="float64", **kwargs)
    layer.build((None, n, n))
    return layer


def test_training_and_inference_are_those_of_the_definition():
    example = golden("riemannian_batch_norm", "seeds_p3")
    x, expected = np.array(example["inputs"]["x"]), example["expected"]
    layer = built(3, example["inputs"]["momentum"])
    bias = numpy(spd.vectorize(np.array(example["inputs"]["bias_log"])))
    layer.set_weights([bias, np.array(example["inputs"]["running_mean"])])
    close = {"rtol": 1e-9, "atol": 1e-9}
    np.testing.assert_allclose(numpy(layer(x, training=True)), expected["output"], **close)
    np.testing.assert_allclose(numpy(layer.running_mean), expected["new_running_mean"], **close)
    layer.set_weights([bias, np.array(expected["batch_mean"])])
    np.testing.assert_allclose(numpy(layer(x)), expected["output"], **close)
    np.testing.assert_array_equal(numpy(layer.running_mean), expected["batch_mean"])


@pytest.mark.slow_on_jax
def test_a_batch_is_moved_to_the_identity_with_its_distances(rng):
    x, metric = covariances(rng, 6, 4), distances.AffineInvariant()
    y = built(4)(x, training=True)
    np.testing.assert_allclose(numpy(metric(y, y)), numpy(metric(x, x)), rtol=0, atol=1e-6)
    assert np.linalg.norm(numpy(spd.log(y)).mean(axis=0)) < 0.1


@pytest.mark.slow_on_jax
def test_a_common_mixture_of_channels_is_taken_away(rng):
    """Tests that the layer removes a linear mixture of channels if the mixture is the same for all
    matrices. The test compares distances, because the result may be rotated.
    """
    x, mixture, metric = covariances(rng, 5, 4), rng.normal(size=(4, 4)), built(4).distance
    mixed = built(4)(mixture @ x @ mixture.T, training=True)
    plain = built(4)(x, training=True)
    identity = np.eye(4)[None]
    np.testing.assert_allclose(
        numpy(metric(identity, mixed)), numpy(metric(identity, plain)), rtol=0, atol=0.1
    )


def test_a_new_layer_is_the_identity_outside_training(rng):
    x = covariances(rng, 2, 3)
    np.testing.assert_allclose(numpy(built(3)(x)), x, rtol=0, atol=1e-12)


@pytest.mark.slow
@pytest.mark.slow_on_jax
def test_the_running_mean_follows_the_batches(rng):
    x, layer = covariances(rng, 8, 3), built(3, 0.5)
    for _ in range(40):
        layer(x, training=True)
    still = built(3, 0.0)
    still(x, training=True)
    np.testing.assert_allclose(
        numpy(layer.running_mean), numpy(still.running_mean), rtol=0, atol=1e-9
    )


def test_gradient_ignores_the_mean_and_is_finite_at_equal_eigenvalues(rng):
    x, layer = np.stack([np.eye(3)] * 3), built(3)
    probe = rng.normal(size=(3, 3))

    def value(bias, x):
        weights = [layer.running_mean.value]
        return ops.sum(probe * layer.stateless_call([bias], weights, x, training=True)[0])

    of_bias, of_x = gradients(value, np.zeros(6), x)
    symmetric = (probe + probe.T) / 2
    np.testing.assert_allclose(of_x, np.stack([symmetric] * 3), rtol=0, atol=1e-9)
    np.testing.assert_allclose(of_bias, 3 * numpy(spd.vectorize(symmetric)), rtol=0, atol=1e-9)


@pytest.mark.slow
def test_any_optimizer_keeps_it_positive_definite(rng):
    layer = RiemannianBatchNormalization()
    inputs = keras.Input((4, 4))
    model = keras.Model(inputs, layer(inputs))
    model.compile(keras.optimizers.Adam(0.5), "mse")
    x = covariances(rng, 8, 4).astype("float32")
    model.fit(x, -x, epochs=20, verbose=0)
    assert (np.linalg.eigvalsh(numpy(model(x))) > 0).all()


@pytest.mark.parametrize("momentum", [-0.1, 1.5])
def test_invalid_momentum_is_refused(momentum):
    with pytest.raises(ValueError, match="`momentum` must be between 0 and 1"):
        RiemannianBatchNormalization(momentum)
