"""Reads the layers of a Keras model that a C library can compute, and refuses all other models."""

import dataclasses

import numpy as np

from keras_dml import inputs, layers
from keras_dml._backend import keras, ops
from keras_dml._messages import Message


class UnsupportedModelError(ValueError):
    """Error for a model that `export.microcontroller` cannot write as C code."""


@dataclasses.dataclass(frozen=True)
class Scaling:
    """One channel of the network's input.

    Attributes:
        channel: Index of the channel of the recording.
        scale: Factor of the channel, if it is bounded.
        offset: Number that is added to the scaled channel, if it is bounded.
        is_bounded: Whether the scaled channel is bounded by tanh.
    """

    channel: int
    scale: float = 1.0
    offset: float = 0.0
    is_bounded: bool = False


@dataclasses.dataclass(frozen=True)
class Front:
    """Conversion of a time step to normalized features.

    Attributes:
        channels: Number of channels of the recording.
        scalings: `Scaling` of each feature, or an empty tuple if the model has a gravity frame.
        gravity: Layer `GravityFrame`, or None.
        means: Mean of each feature in the training data.
        stddevs: Standard deviation of each feature in the training data.
        features: Model from recordings to normalized features.
    """

    channels: int
    scalings: tuple[Scaling, ...]
    gravity: layers.GravityFrame | None
    means: np.ndarray
    stddevs: np.ndarray
    features: keras.Model


@dataclasses.dataclass(frozen=True)
class Convolution:
    """Convolution over time, merged with its batch normalization, and the PReLU and the averages
    over time that follow.

    Attributes:
        kernel: Weights, shape `(taps, inputs, filters)`.
        bias: Bias of each filter.
        slope: Slope of each filter for negative values.
        mean: Mean of each filter before the PReLU, which follows from the batch normalization.
        deviation: Standard deviation of each filter before the PReLU.
        pool: Number of time steps that are averaged.
    """

    kernel: np.ndarray
    bias: np.ndarray
    slope: np.ndarray
    mean: np.ndarray
    deviation: np.ndarray
    pool: int

    def ends(self, deviations: float) -> np.ndarray:
        """Returns the activations before the PReLU at some standard deviations below and above the
        mean, shape `(2, filters)`."""
        reach = deviations * self.deviation
        return np.stack([self.mean - reach, self.mean + reach])

    def after_prelu(self, values: np.ndarray) -> np.ndarray:
        """Applies the PReLU to activations, shape `(..., filters)`."""
        return np.where(values < 0, values * self.slope, values)


@dataclasses.dataclass(frozen=True)
class QuantileNetwork:
    """Convolutions and the quantile function of each filter over time.

    Attributes:
        front: `Front` of the network.
        convolutions: `Convolution`s, in order.
        knots: Knots of the quantile functions, ascending from 0 to 1.
    """

    front: Front
    convolutions: tuple[Convolution, ...]
    knots: np.ndarray


@dataclasses.dataclass(frozen=True)
class Discriminants:
    """Linear discriminants of standard deviations and lagged correlations.

    Attributes:
        front: `Front` of the network.
        lags: Time lags of the correlations, in time steps.
        ridge: Number that is added to each variance.
        has_means: Whether the means of the features are also statistics.
        kernel: Weights, shape `(statistics, units)`.
        bias: Bias of each discriminant.
        limit: Largest absolute value of a discriminant.
    """

    front: Front
    lags: tuple[int, ...]
    ridge: float
    has_means: bool
    kernel: np.ndarray
    bias: np.ndarray
    limit: float


# Layers between the normalization and the quantile functions.
CONVOLUTION_LAYERS = (
    layers.MaskedConv1D,
    keras.layers.BatchNormalization,
    keras.layers.PReLU,
    layers.MaskedAveragePooling1D,
)
SUPPORTED = (
    "A model must normalize recordings by `ChannelNormalization`. Before this layer it may have "
    "`GravityFrame`, or `Rescaling` with tanh. After this layer it must have either convolutions "
    "(`MaskedConv1D`, `BatchNormalization`, `PReLU`, and perhaps `MaskedAveragePooling1D`) and a "
    "`QuantileLayer`, or `LaggedCorrelation` (perhaps with means over time) and "
    "`LinearDiscriminants`."
)


def read(model: keras.Model) -> QuantileNetwork | Discriminants:
    """Reads the layers of a model.

    Args:
        model: Built `keras.Model` of recordings.

    Raises:
        UnsupportedModelError: If C code for a layer does not exist.
    """
    if not isinstance(inputs.from_model(model), inputs.Signals):
        raise _unsupported(f"The model {model.name!r} does not take recordings.")
    head, sources = _source(model.outputs[0])
    if isinstance(head, layers.QuantileLayer):
        return _quantile_network(model, head, sources)
    if isinstance(head, layers.LinearDiscriminants):
        return _discriminants(model, head, sources)
    raise _unsupported(f"The model {model.name!r} ends in the layer {_name(head)}.")


def _quantile_network(model, head, sources):
    if head.flatten or head.p != 1:
        raise _unsupported(f"The layer {_name(head)} has flatten={head.flatten} and p={head.p}.")
    convolutions, block = [], []
    tensor = _single(head, sources)
    layer, sources = _source(tensor)
    while not isinstance(layer, layers.ChannelNormalization):
        if isinstance(layer, (keras.layers.InputLayer, layers.InputContract)):
            raise _unsupported("The convolutions have no layer ChannelNormalization before them.")
        if not isinstance(layer, CONVOLUTION_LAYERS):
            raise _unsupported(f"The layer {_name(layer)} is not supported at this place.")
        block.insert(0, layer)
        if isinstance(layer, layers.MaskedConv1D):
            convolutions.insert(0, _convolution(block))
            block = []
        tensor = _single(layer, sources)
        layer, sources = _source(tensor)
    if block or not convolutions:
        layer = block[0] if block else head
        raise _unsupported(f"There is no convolution before the layer {_name(layer)}.")
    knots = ops.convert_to_numpy(head.knot_values())
    return QuantileNetwork(_front(model, tensor), tuple(convolutions), knots)


def _convolution(block):
    """Merges a convolution with the layers that follow it."""
    convolution, *rest = block
    kinds = [type(layer) for layer in rest]
    pools = [layer.pool_size for layer in rest if isinstance(layer, layers.MaskedAveragePooling1D)]
    expected = [keras.layers.BatchNormalization, keras.layers.PReLU]
    if kinds[:2] != expected or kinds[2:] != [layers.MaskedAveragePooling1D] * len(pools[:1]):
        names = ", ".join(map(_name, rest)) or "no layer"
        raise _unsupported(f"The convolution {_name(convolution)} is followed by {names}.")
    _check_convolution(convolution)
    normalization, prelu = rest[:2]
    slope = np.asarray(prelu.alpha, np.float64)
    if slope.shape[0] != 1:
        raise _unsupported(f"The layer {_name(prelu)} has one slope per time step.")
    gamma, beta, mean, variance = _affine(normalization, convolution.filters)
    factor = gamma / np.sqrt(variance + normalization.epsilon)
    bias = 0 if convolution.bias is None else np.asarray(convolution.bias, np.float64)
    return Convolution(
        kernel=np.asarray(convolution.kernel, np.float64) * factor,
        bias=beta + (bias - mean) * factor,
        slope=np.broadcast_to(slope[0], convolution.filters),  # PReLU may share one slope
        mean=beta,
        deviation=np.abs(gamma),
        pool=pools[0] if pools else 1,
    )


def _check_convolution(layer):
    if (
        layer.padding != "same"
        or layer.dilation_rate != (1,)
        or layer.groups != 1
        or layer.activation is not keras.activations.linear
    ):
        raise _unsupported(
            f"The convolution {_name(layer)} does not have the padding same and the default "
            "dilation rate, groups and activation."
        )


def _affine(normalization, filters):
    """Returns scale, offset, mean and variance of a batch normalization."""
    scale = np.ones(filters) if normalization.gamma is None else normalization.gamma
    offset = np.zeros(filters) if normalization.beta is None else normalization.beta
    statistics = (scale, offset, normalization.moving_mean, normalization.moving_variance)
    return [np.asarray(values, np.float64) for values in statistics]


def _discriminants(model, head, sources):
    layer, below = _source(_single(head, sources))
    parts = [(layer, below)]
    if isinstance(layer, keras.layers.Concatenate):
        parts = [_source(tensor) for tensor in below]
    correlation = parts[0][0]
    pooling = parts[1][0] if len(parts) == 2 else None
    has_means = isinstance(pooling, layers.SequencePooling) and pooling.mode == "mean"
    if not isinstance(correlation, layers.LaggedCorrelation) or (len(parts) > 1 and not has_means):
        names = ", ".join(_name(layer) for layer, _ in parts)
        raise _unsupported(f"The statistics before the layer {_name(head)} are {names}.")
    features = [_single(*part) for part in parts]
    if any(tensor is not features[0] for tensor in features):
        raise _unsupported("The correlations and the means have different inputs.")
    return Discriminants(
        front=_front(model, features[0]),
        lags=correlation.lags,
        ridge=correlation.ridge,
        has_means=has_means,
        kernel=np.asarray(head.kernel, np.float64),
        bias=np.asarray(head.bias, np.float64),
        limit=head.limit,
    )


def _front(model, features):
    """Reads the layers that compute the normalized features, a tensor of the model."""
    normalization, sources = _source(features)
    if not isinstance(normalization, layers.ChannelNormalization):
        raise _unsupported(f"The layer {_name(normalization)} is not supported at this place.")
    source = _single(normalization, sources)
    channels = inputs.from_model(model).shape[1]
    gravity, below = _source(source)
    if isinstance(gravity, layers.GravityFrame):
        _check_input(_single(gravity, below))
        scalings = ()
    else:
        gravity, scalings = None, tuple(_scalings(source, channels))
    return Front(
        channels=channels,
        scalings=scalings,
        gravity=gravity,
        means=np.asarray(normalization.mean, np.float64),
        stddevs=np.asarray(normalization.stddev, np.float64),
        features=keras.Model(model.inputs[0], features),
    )


def _scalings(tensor, channels):
    """Returns the `Scaling` of each channel of a tensor."""
    layer, below = _source(tensor)
    if isinstance(layer, keras.layers.Concatenate):
        return [scaling for part in below for scaling in _scalings(part, channels)]
    if isinstance(layer, keras.layers.Activation):
        rescaling, below = _source(_single(layer, below))
        if layer.activation is keras.activations.tanh and isinstance(
            rescaling, keras.layers.Rescaling
        ):
            _check_input(_single(rescaling, below))
            scale, offset = (
                np.broadcast_to(x, channels) for x in (rescaling.scale, rescaling.offset)
            )
            return [Scaling(i, float(scale[i]), float(offset[i]), True) for i in range(channels)]
    _check_input(tensor)
    return [Scaling(i) for i in range(channels)]


def _check_input(tensor):
    """Raises an error if a tensor is not the input of the model."""
    layer, below = _source(tensor)
    if isinstance(layer, layers.InputContract):
        layer, _ = _source(_single(layer, below))
    if not isinstance(layer, keras.layers.InputLayer):
        raise _unsupported(f"The layer {_name(layer)} is not supported before the normalization.")


def _source(tensor):
    """Returns the layer that computes a tensor of a model, and the input tensors of the layer."""
    history = tensor._keras_history
    return history.operation, history.operation._inbound_nodes[history.node_index].input_tensors


def _single(layer, tensors):
    """Returns the only input tensor of a layer."""
    if len(tensors) != 1:
        raise _unsupported(
            f"The layer {_name(layer)} has {len(tensors)} inputs, but only one is supported."
        )
    return tensors[0]


def _name(layer):
    return f"{type(layer).__name__} ({layer.name!r})"


def _unsupported(reason):
    return UnsupportedModelError(
        Message(
            "{reason} This model cannot be written as C code. {supported} For other models, use "
            "{tflite()}.",
            reason=reason,
            supported=SUPPORTED,
        )
    )
