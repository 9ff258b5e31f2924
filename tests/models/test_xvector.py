import numpy as np
import pytest

import keras_dml
from keras_dml import models
from keras_dml._backend import keras
from keras_dml.layers import MaskedConv1D
from keras_dml.models.xvector import FRAME_LAYERS
from tests.goldens import golden

COMPACT = {"frame_layers": [(8, 5, 1), (8, 3, 2), (12, 1, 1)], "embedding": 6, "bands": 10}
SEEN = 9  # number of frames that the compact network covers at once


def noise(rng, *lengths):
    return [rng.normal(scale=0.1, size=(length, 1)).astype("float32") for length in lengths]


def samples(frames):
    return 400 + 160 * (frames - 1)


@pytest.mark.slow_on_jax
def test_layout_and_weights_are_those_published():
    example = golden("tdnn-layout", "seeds_p2")
    inputs, expected = example["inputs"], example["expected"]
    assert [[width, step] for _, width, step in FRAME_LAYERS] == inputs["width_and_dilation"]
    model = models.xvector(bands=inputs["features"])
    frames = [layer for layer in model.layers if isinstance(layer, MaskedConv1D)]
    kernels = [layer.kernel for layer in (*frames, model.layers[-1])]
    sizes = [int(np.prod(kernel.shape)) for kernel in kernels]
    assert sizes == expected["weights_without_biases"][: len(sizes)]
    assert sum(sizes) == expected["weights_to_segment_6"]
    for count in inputs["frames"]:
        shape, actual = (1, count, inputs["features"]), []
        for layer in frames:
            shape = layer.compute_output_shape(shape)
            actual.append(shape[1])
        assert actual == expected["frames_after_each_layer"][str(count)]
    log_mel = model.get_layer("log_mel")
    assert log_mel.min_frames == expected["shortest_input"]


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("padding", ["valid", "same"])
def test_a_recording_has_the_same_embedding_alone_and_in_a_padded_batch(padding, rng):
    keras.utils.set_random_seed(20)
    model = models.xvector(**COMPACT, padding=padding)
    recordings = noise(rng, samples(SEEN), 3001)
    together = keras_dml.embed(model, recordings)
    alone = np.concatenate([keras_dml.embed(model, [each]) for each in recordings])
    assert together.shape == (2, 6)
    np.testing.assert_allclose(together, alone, rtol=0, atol=1e-5)
    assert (alone < 0).any() and (alone > 0).any()  # the last layer has no ReLU


@pytest.mark.slow_on_jax
def test_shortest_recording_is_the_receptive_field(rng):
    model, least = models.xvector(**COMPACT), samples(SEEN)
    for recordings in (noise(rng, least - 1), noise(rng, 3000, least - 1)):
        with pytest.raises(ValueError, match=f"{least - 1} samples .* at least {least}"):
            keras_dml.embed(model, recordings)


@pytest.mark.slow_on_jax
def test_same_padding_accepts_one_frame(rng):
    model = models.xvector(**COMPACT, padding="same")
    assert np.isfinite(keras_dml.embed(model, noise(rng, 400))).all()
    with pytest.raises(ValueError, match="at least 400 .*25 ms"):
        keras_dml.embed(model, noise(rng, 399))


@pytest.mark.slow_on_jax
def test_stereo_is_refused():
    with pytest.raises(ValueError, match="2 channels, but the model takes 1"):
        keras_dml.embed(models.xvector(**COMPACT), [np.zeros((4000, 2))])


@pytest.mark.parametrize(
    "options, message",
    [
        ({"padding": "causal"}, "`padding` must be one of .*valid.*same"),
        ({"frame_layers": [(8, 5)]}, r"`frame_layers` must hold \(channels, width, dilation\)"),
        ({"frame_layers": []}, "`frame_layers` must hold"),
        ({"frame_layers": [(8, 0, 1)]}, "`frame_layers` must hold"),
    ],
)
def test_other_layouts_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        models.xvector(**options)


@pytest.mark.slow
def test_it_learns(rng):
    model = models.xvector(**COMPACT)
    model.compile(keras.optimizers.Adam(0.01), "mse")
    x = np.stack(noise(rng, 3000, 3000))
    history = model.fit(x, np.ones((2, 6)), epochs=3, batch_size=2, verbose=0).history["loss"]
    assert history[-1] < history[0]
