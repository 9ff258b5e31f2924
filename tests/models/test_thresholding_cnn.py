import numpy as np
import pytest

from keras_dml import models
from keras_dml._backend import keras, ops
from keras_dml.models.thresholding_cnn import HIGHEST, LOWEST, NOISE, SLOPE

pytestmark = pytest.mark.skipif(
    keras.backend.backend() == "jax", reason="Keras's own layers; contracts run there"
)


def numpy(tensor):
    return np.asarray(ops.convert_to_numpy(tensor))


def test_it_has_the_stated_weights_and_a_linear_embedding():
    model = models.thresholding_cnn()
    assert model.count_params() == 1_680_192
    assert model.output_shape == (None, 64)
    small = models.thresholding_cnn((8, 8, 1), width=4, embedding=8)
    z = numpy(small(np.random.default_rng(0).random((4, 8, 8, 1), "float32")))
    assert (z < 0).any() and (z > 0).any()


@pytest.mark.parametrize("channels", [1, 3])
def test_initial_filters_threshold_single_pixels(channels):
    model = models.thresholding_cnn((8, 8, channels), width=6, embedding=2)
    kernel, bias = map(numpy, model.get_layer("thresholds").weights)
    ups = SLOPE * np.array([1, -1] * 3)
    np.testing.assert_allclose(bias, -ups * np.linspace(LOWEST, HIGHEST, 6), rtol=1e-6)
    random = kernel.copy()
    random[1, 1] -= ups / channels
    limit = NOISE * np.sqrt(6 / (9 * channels + 9 * 6))  # of Keras's usual start
    assert 0.5 * limit < np.abs(random).max() <= limit + 1e-6
    # without the random part, a filter's response to a constant image is the distance from its
    # threshold
    model.get_layer("thresholds").kernel.assign(kernel - random)
    first = model.get_layer("thresholds")(np.full((1, 8, 8, channels), 0.5, "float32"))
    expected = np.maximum(ups * (0.5 - np.linspace(LOWEST, HIGHEST, 6)), 0)
    np.testing.assert_allclose(numpy(first)[0, 4, 4], expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("shape", [(3, 28, 1), (28, 28), (None, 28, 1)])
def test_other_shapes_are_refused(shape):
    with pytest.raises(ValueError, match=r"`input_shape` must be \(height, width, channels\)"):
        models.thresholding_cnn(shape)


@pytest.mark.parametrize("band", [0.2, 0.4])
def test_changes_of_black_and_white_pixels_do_not_pass_a_gray_band(band, rng):
    model = models.thresholding_cnn((8, 8, 1), width=4, embedding=3, gray_band=band)
    limit = 0.3
    black, white = 0.5 - band / 2 - limit, 0.5 + band / 2 + limit
    ink = rng.random((5, 8, 8, 1)) < 0.5
    x = np.where(ink, rng.uniform(white, 1, ink.shape), rng.uniform(0, black, ink.shape))
    changed = np.clip(x + limit * rng.choice([-1, 1], x.shape), 0, 1)
    np.testing.assert_allclose(numpy(model(changed)), numpy(model(x)), rtol=1e-4, atol=1e-6)
    gray = np.full_like(x, 0.5)
    assert np.abs(numpy(model(gray)) - numpy(model(x))).max() > 1e-3


def test_gradients_ignore_the_clipping_of_the_gray_band(rng):
    import tensorflow as tf

    band = 0.25
    model = models.thresholding_cnn((8, 8, 1), width=4, embedding=3, gray_band=band)
    after = models.thresholding_cnn((8, 8, 1), width=4, embedding=3, gray_band=1.0)
    after.set_weights(model.get_weights())
    x = tf.constant(rng.random((2, 8, 8, 1)), "float32")
    stretched = tf.clip_by_value((x - 0.5) / band + 0.5, 0.0, 1.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([x, stretched])
        actual, expected = (tf.reduce_sum(item**2) for item in (model(x), after(stretched)))
    np.testing.assert_allclose(
        tape.gradient(actual, x), tape.gradient(expected, stretched) / band, rtol=1e-3, atol=1e-6
    )


def test_network_with_a_gray_band_is_saved(rng, tmp_path):
    model = models.thresholding_cnn((8, 8, 1), width=4, embedding=3, gray_band=0.2)
    model.save(tmp_path / "model.keras")
    x = rng.random((3, 8, 8, 1)).astype("float32")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(numpy(loaded(x)), numpy(model(x)))


@pytest.mark.parametrize("band", [0, -0.1, 1.5, "wide"])
def test_invalid_gray_bands_are_refused(band):
    with pytest.raises(ValueError, match=r"`gray_band` must be above 0 and at most 1"):
        models.thresholding_cnn(gray_band=band)
