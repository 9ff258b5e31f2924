"""The sequence encoder of Abdelwahab2019: stacked convolutions over time, then an aggregation over
all steps."""

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

# Filters of the sixteen convolutions, and the layers after which an edge model halves the rate.
# Abdelwahab2019 says "16 stacked convolutions"; the widths of "paper" are our reading of it, those
# of "edge" fit 180 KB quantized.
SIZES = {
    "paper": (64,) * 4 + (128,) * 4 + (256,) * 8,
    "edge": (32,) * 4 + (48,) * 4 + (64,) * 8,
}
HALVINGS = {"paper": 0, "edge": 3}
HALVE_EVERY = {1: 1, 2: 2, 3: 3, 4: 4, 5: 5}  # three halvings fit between sixteen convolutions
# Of a new PReLU (He2015); Keras's own, zero, starts as a ReLU, which forgets half.
SLOPE = 0.25

HEADS = {
    "quantile": lambda knots, flatten: QuantileLayer(knots, flatten=flatten, name="embedding"),
    "max": lambda knots, flatten: SequencePooling("max", name="embedding"),
    "mean": lambda knots, flatten: SequencePooling("mean", name="embedding"),
}
NORMALIZATIONS = {
    "channel": (ChannelNormalization,),
    "instance": (InstanceStandardization,),
    "difference": (FirstDifference, InstanceStandardization),
}


def sequence_encoder(
    channels,
    *,
    size="edge",
    aggregation="quantile",
    knots=16,
    flatten=False,
    halvings=None,
    halve_every=4,
    normalization="channel",
    slope_l2=0.0,
):
    """Sixteen convolutions with PReLU, and the distribution of their activations over time
    (Abdelwahab2019, section 5.3).

    Each convolution covers three steps and is followed by batch normalization (which inference
    folds into it) and a PReLU with one slope a filter. Masks are exact through every stage: the
    embedding of a padded recording is that of the bare one.

    Functional model:
        Input: `signal`, shape `(batch, time, channels)`, in the sensor's units; any time, with or
            without a mask.
        Output: `(batch, filters + 1, knots + 2)` for `"quantile"` (see `QuantileLayer`), `(batch,
            features)` else.

    Args:
        channels: Channels of a recording.
        size: `"edge"` (32, 48, 64 filters, halves the rate three times) or `"paper"` (64, 128, 256
            filters).
        aggregation: `"quantile"`, `"max"` or `"mean"` over time.
        knots: Learned knots M of the quantile functions.
        flatten: Whether quantiles end in one vector, compared by cosine (methods QP-NPL and
            QP-CLS).
        halvings: How many times, 0 to 3, pairs of steps are averaged; None: the size's own.
        halve_every: Convolutions before each halving. The sooner the rate falls, the further the
            last layers see and the less they compute: with three halvings 128 steps at 4, 196 steps
            and half the time at 2.
        normalization: `"channel"` (training statistics; call `adapt` of the model's layer
            `normalization`), `"instance"` (each recording by itself) or `"difference"` (the steps'
            differences, each recording by itself).
        slope_l2: Weight of the L2 penalty on the slopes of the PReLUs (Abdelwahab2019,
            section 5.3).

    Returns:
        A `keras.Model` whose last layer names its distance.

    Raises:
        ValueError: If a choice is unknown.
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
