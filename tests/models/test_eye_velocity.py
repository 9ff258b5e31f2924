"""Tests the network of slow and fast eye velocities."""

import numpy as np
import pytest

from keras_dml import models
from keras_dml._backend import keras
from keras_dml.models.eye_velocity import FILTERS, KERNELS, fast_velocities

pytestmark = pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="stock layers; to make them takes JAX long"
)
SMALL = {"steps": 40, "classes": 3, "narrower": 32}


def parts(**changes):
    settings = SMALL | changes
    return [models.eye_velocity_part(kind, **settings) for kind in ("slow", "fast")]


@pytest.fixture
def velocity(rng):
    return rng.normal(scale=0.03, size=(6, 40, 2)).astype("float32")


def weights_by_hand(filters, steps):
    """Counts the weights of a part of the network. Weights of batch normalization are counted, and
    weights of the output layer are not.
    """
    count, channels = 0, 2
    for width, kernel in zip(filters, KERNELS, strict=True):
        count += kernel * channels * width + width + 4 * width
        channels, steps = width, -(-steps // 2)
    units = channels * steps
    for width in (256, 256, 128):
        count += units * width + width + 4 * width
        units = width
    return count


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["slow", "fast"])
def test_a_part_has_the_published_layout(kind):
    part = models.eye_velocity_part(kind, 1000, 75)
    first = {"slow": 0, "fast": 2 * 2 + 1}[kind]  # mean and variance of the standardization
    actual = part.count_params() - part.get_layer("people").count_params() - first
    assert actual == weights_by_hand(FILTERS[kind], 1000)
    assert part.get_layer("features").output.shape == (None, 2 * FILTERS[kind][-1])
    assert part.output_shape == (None, 75)


def test_the_slow_part_reads_the_bounded_velocity(velocity):
    slow, _ = parts()
    read = keras.Model(slow.input, slow.get_layer("bound").output)(velocity)
    np.testing.assert_allclose(read, np.tanh(20.0 * velocity), rtol=1e-5)


def test_fast_part_uses_only_standardized_saccades(velocity):
    _, fast = parts()
    saccades = np.hypot(*np.moveaxis(velocity, -1, 0)) > 0.04
    expected = np.where(saccades[..., None], velocity, 0)
    assert 0.1 < saccades.mean() < 0.9
    np.testing.assert_array_equal(fast_velocities(velocity), expected)
    standardize = fast.get_layer("standardize")
    standardize.adapt(expected)
    read = keras.Model(fast.input, standardize.output)(velocity)
    flat = expected.reshape(-1, 2).astype("float64")
    np.testing.assert_allclose(
        read, (expected - flat.mean(axis=0)) / flat.std(axis=0), rtol=1e-4, atol=1e-5
    )


@pytest.mark.slow
def test_training_changes_only_the_head(velocity):
    slow, fast = parts()
    network = models.eye_velocity_network(slow, fast, narrower=16)
    before = [part.get_weights() for part in (slow, fast)]
    network.compile("adam", "sparse_categorical_crossentropy")
    network.fit(velocity, np.arange(6) % 3, epochs=2, verbose=0)
    for part, weights in zip((slow, fast), before, strict=True):
        for first, second in zip(part.get_weights(), weights, strict=True):
            np.testing.assert_array_equal(first, second)
    assert len(network.trainable_weights) == 2 * 4 + 2
    joined = network.get_layer("parts").output
    read = np.asarray(keras.Model(network.input, joined)(velocity))
    np.testing.assert_allclose(read[:, :3], slow(velocity, training=False), rtol=1e-5)
    np.testing.assert_allclose(read[:, 3:], fast(velocity, training=False), rtol=1e-5)


def test_the_embedding_is_behind_a_relu(velocity):
    network = models.eye_velocity_network(*parts(), narrower=4)
    z = keras.Model(network.input, network.get_layer("embedding").output)(velocity)
    assert z.shape == (6, 32) and np.min(z) == 0


@pytest.mark.slow
def test_a_loaded_network_gives_the_same(velocity, tmp_path):
    network = models.eye_velocity_network(*parts(), narrower=16)
    network.save(tmp_path / "eyes.keras")
    loaded = keras.saving.load_model(tmp_path / "eyes.keras")
    np.testing.assert_array_equal(loaded(velocity), network(velocity))


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"steps": 0}, "steps"), ({"classes": 1}, "classes"), ({"narrower": 0}, "narrower")],
)
def test_numbers_out_of_range_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        parts(**changes)


@pytest.mark.slow
def test_unknown_kinds_and_parts_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="kind"):
        models.eye_velocity_part("medium", 40, 3)
    (slow, _), (_, fast) = parts(), parts(classes=4)
    with pytest.raises(ValueError, match="`slow` and `fast` must have equal numbers"):
        models.eye_velocity_network(slow, fast)
    for wrong in ((slow, slow), (fast, slow), ("slow", fast)):
        with pytest.raises(TypeError, match="must be a model of `eye_velocity_part"):
            models.eye_velocity_network(*wrong)
    with pytest.raises(ValueError, match="narrower"):
        models.eye_velocity_network(*parts(), narrower=0)
    assert slow.trainable and fast.trainable
