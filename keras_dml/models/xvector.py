"""The x-vector network (TDNN), which computes embeddings of speakers from raw audio."""

from collections.abc import Sequence

from keras_dml._backend import keras
from keras_dml.layers.log_mel import LogMel
from keras_dml.layers.masked_conv1d import MaskedConv1D
from keras_dml.layers.statistics_pooling import StatisticsPooling
from keras_dml.models._choices import choose
from keras_dml.models._normalization import batch_normalization

# Channels, width and dilation of the frame layers (Snyder2018, Table 1).
FRAME_LAYERS = ((512, 5, 1), (512, 3, 2), (512, 3, 3), (512, 1, 1), (1500, 1, 1))


def xvector(
    frame_layers: Sequence[tuple[int, int, int]] = FRAME_LAYERS,
    *,
    embedding: int = 512,
    bands: int = 30,
    padding: str = "valid",
) -> keras.Model:
    """Builds the x-vector network for raw audio (Snyder2018).

    The network is a time-delay neural network (TDNN) on log-mel bands, statistics pooling over the
    frames, and a linear layer. The embedding is the affine output of segment 6 in Snyder2018.
    Monteiro2020 replaces segment 7 by other heads. Each frame layer is a convolution, ReLU and
    batch normalization. All layers handle masks exactly: padding does not change the embedding of a
    recording.

    Functional model:
        Input: `audio`, shape `(batch, samples, 1)`, 16 kHz, in [-1, 1]; any length of at least
            2,640 samples (165 ms, the 15 frames that the standard layers cover at once), with or
            without a mask.
        Output: `(batch, embedding)`.

    Args:
        frame_layers: Channels, width in frames and dilation of each frame layer; fewer channels
            give a compact network.
        embedding: Units of the last layer.
        bands: Mel bands of `LogMel`.
        padding: `"valid"`, as published; or `"same"`: frames beyond the ends count as zero, and one
            frame (400 samples) is enough.

    Returns:
        A `keras.Model`; 4.2 million weights at 24 bands.

    Raises:
        ValueError: If a layer is not given by three whole numbers, or the padding is unknown.
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
