"""Builds the sequence encoder of Abdelwahab2019, which has convolutions and then an aggregation
over time.
"""

from collections.abc import Callable

from keras_dml._backend import keras
from keras_dml.layers import (
    ChannelNormalization,
    FirstDifference,
    InstanceStandardization,
    MaskedAveragePooling1D,
    MaskedConv1D,
    QuantileLayer,
    SequencePooling,
)
from keras_dml.models._choices import choose
from keras_dml.models._normalization import batch_normalization

# Number of filters of each of the sixteen convolutions. Abdelwahab2019 does not state these numbers
# (only "16 stacked convolutions"), so the numbers for "paper" are our choice. A quantized model of
# size "edge" takes 180 KB.
SIZES = {
    "paper": (64,) * 4 + (128,) * 4 + (256,) * 8,
    "edge": (32,) * 4 + (48,) * 4 + (64,) * 8,
}
HALVINGS = {"paper": 0, "edge": 3}
HALVE_EVERY = {1: 1, 2: 2, 3: 3, 4: 4, 5: 5}  # three halvings fit into 16 layers only up to 5
# Initial slope of a PReLU for negative inputs (He2015). Keras's default is zero, with which a PReLU
# would start as a ReLU.
SLOPE = 0.25

HEADS: dict[str, Callable[..., keras.layers.Layer]] = {
    "quantile": lambda knots, flatten: QuantileLayer(knots, flatten=flatten, name="embedding"),
    "max": lambda knots, flatten: SequencePooling("max", name="embedding"),
    "mean": lambda knots, flatten: SequencePooling("mean", name="embedding"),
}
NORMALIZATIONS: dict[str, tuple[type[keras.layers.Layer], ...]] = {
    "channel": (ChannelNormalization,),
    "instance": (InstanceStandardization,),
    "difference": (FirstDifference, InstanceStandardization),
}


def sequence_encoder(
    channels: int,
    *,
    size: str = "edge",
    aggregation: str = "quantile",
    knots: int = 16,
    flatten: bool = False,
    halvings: int | None = None,
    halve_every: int = 4,
    normalization: str = "channel",
    slope_l2: float = 0.0,
) -> keras.Model:
    """Builds an encoder with sixteen convolutions (Abdelwahab2019, section 5.3). By default, the
    embedding describes the distribution of each filter's activations over time.

    Each convolution covers three time steps. Each convolution is followed by batch normalization
    and by a PReLU with one slope per filter. (An export merges batch normalization into the
    convolution.) All layers handle masks exactly: padding does not change the embedding of a
    recording.

    Functional model:
        Input: `signal`, shape `(batch, time, channels)`, in the units of the sensor, of any length,
            with or without a mask.
        Output: Shape `(batch, filters + 1, knots + 2)` for `"quantile"` (see `QuantileLayer`), and
            `(batch, features)` for other aggregations.

    Args:
        channels: Number of channels of a recording.
        size: Size of the network: `"edge"` (32, 48 and 64 filters, and three halvings of the sample
            rate) or `"paper"` (64, 128 and 256 filters).
        aggregation: Aggregation over time: `"quantile"`, `"max"` or `"mean"`.
        knots: Number of learned knots of the quantile functions (M in Abdelwahab2019).
        flatten: Whether the embedding is a single vector with the quantiles of all filters. Single
            vectors are compared by cosine (methods QP-NPL and QP-CLS).
        halvings: Number of layers that average pairs of time steps, 0 to 3. The default is 3 for
            `"edge"` and 0 for `"paper"`.
        halve_every: Number of convolutions before each halving. With a smaller `halve_every`, the
            last layers have a longer receptive field and need less computation. With three halvings
            and `halve_every=4`, the receptive field is 128 time steps. With three halvings and
            `halve_every=2`, the receptive field is 196 time steps and the computing time is halved.
        normalization: Normalization of the recordings: `"channel"`, `"instance"` or `"difference"`.
            `"channel"` normalizes by statistics of the training data. In this case, call `adapt` of
            the layer `normalization` before training. `"instance"` normalizes each recording by its
            own statistics. `"difference"` computes differences of consecutive time steps and then
            normalizes like `"instance"`.
        slope_l2: Weight of the L2 penalty on the slopes of the PReLUs (Abdelwahab2019,
            section 5.3).

    Returns:
        A `keras.Model` whose last layer defines the distance between embeddings.

    Raises:
        ValueError: If `size`, `aggregation`, `halvings`, `halve_every` or `normalization` is not an
            allowed choice.
    """
    filters = choose("size", size, SIZES)
    head = choose("aggregation", aggregation, HEADS)(knots, flatten)
    choose("halve_every", halve_every, HALVE_EVERY)
    halvings = HALVINGS[size] if halvings is None else choose("halvings", halvings, range(4))
    signal = keras.Input((None, channels), name="signal")
    *before, last = choose("normalization", normalization, NORMALIZATIONS)
    x = signal
    for layer in before:
        x = layer()(x)
    x = last(name="normalization")(x)
    for i, width in enumerate(filters):
        if 0 < i <= halvings * halve_every and i % halve_every == 0:
            x = MaskedAveragePooling1D(2, name=f"halving_{i // halve_every}")(x)
        x = MaskedConv1D(
            width, 3, use_bias=False, kernel_initializer="he_normal", name=f"conv_{i + 1}"
        )(x)
        x = batch_normalization(f"norm_{i + 1}")(x)
        penalty = keras.regularizers.L2(slope_l2) if slope_l2 else None
        x = keras.layers.PReLU(
            shared_axes=[1],
            alpha_initializer=keras.initializers.Constant(SLOPE),
            alpha_regularizer=penalty,
            name=f"prelu_{i + 1}",
        )(x)
    return keras.Model(signal, head(x), name=f"{aggregation}_encoder")
