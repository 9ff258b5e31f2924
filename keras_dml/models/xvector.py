"""Builds the x-vector network (TDNN), which computes embeddings of speakers from raw audio."""

from collections.abc import Sequence

from keras_dml._backend import keras
from keras_dml.layers.log_mel import LogMel
from keras_dml.layers.masked_conv1d import MaskedConv1D
from keras_dml.layers.statistics_pooling import StatisticsPooling
from keras_dml.models._choices import choose
from keras_dml.models._normalization import batch_normalization

# Number of channels, width and dilation of each frame layer (Snyder2018, Table 1).
FRAME_LAYERS = ((512, 5, 1), (512, 3, 2), (512, 3, 3), (512, 1, 1), (1500, 1, 1))


def xvector(
    frame_layers: Sequence[tuple[int, int, int]] = FRAME_LAYERS,
    *,
    embedding: int = 512,
    bands: int = 30,
    padding: str = "valid",
) -> keras.Model:
    """Builds the x-vector network for raw audio (Snyder2018).

    The network consists of a time-delay neural network (TDNN) on log-mel bands, statistics pooling
    over the frames, and a linear layer. The embedding is the output of the layer that Snyder2018
    calls "segment6", before its nonlinearity. Monteiro2020 replaces the next layer, "segment7", by
    other heads. Each frame layer applies a convolution, ReLU and batch normalization. All layers
    handle masks exactly: padding does not change the embedding of a recording.

    Functional model:
        Input: `audio`, shape `(batch, samples, 1)`, 16 kHz, in [-1, 1], with or without a mask. The
            minimum length is 2,640 samples (165 ms), because each output of the default layers
            depends on 15 frames.
        Output: `(batch, embedding)`.

    Args:
        frame_layers: Number of channels, width in frames and dilation of each frame layer. With
            fewer channels, the network is smaller.
        embedding: Number of units of the last layer.
        bands: Number of mel bands (see `LogMel`).
        padding: Padding of the recordings: `"valid"`, as in Snyder2018, or `"same"`. With `"same"`,
            convolutions pad recordings with zeros at the start and end, and the minimum length is
            one frame (400 samples).

    Returns:
        A `keras.Model`, which has 4.2 million weights if `bands` is 24.

    Raises:
        ValueError: If a layer does not consist of three positive numbers, or if the padding is
            unknown.
    """
    layers = [tuple(layer) for layer in frame_layers]
    if not layers or any(len(layer) != 3 or min(layer) < 1 for layer in layers):
        raise ValueError(
            "`frame_layers` must hold (channels, width, dilation) for each layer. Received "
            f"frame_layers={frame_layers!r}."
        )
    reach = 1 + sum((width - 1) * dilation for _, width, dilation in layers)
    min_frames = choose("padding", padding, {"valid": reach, "same": 1})
    audio = keras.Input((None, 1), name="audio")
    x = LogMel(bands, min_frames=min_frames, name="log_mel")(audio)
    for i, (channels, width, dilation) in enumerate(layers, start=1):
        x = MaskedConv1D(
            channels,
            width,
            dilation_rate=dilation,
            padding=padding,
            activation="relu",
            kernel_initializer="he_normal",
            name=f"frame_{i}",
        )(x)
        x = batch_normalization(f"frame_{i}_norm")(x)
    x = StatisticsPooling(name="statistics")(x)
    return keras.Model(audio, keras.layers.Dense(embedding, name="embedding")(x), name="xvector")
