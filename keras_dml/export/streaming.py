"""Computes the embedding of a recording that arrives in blocks.

Between two blocks, one vector (the state) stores what the layers need to know about earlier blocks:
the last steps under the kernel of a convolution, and the features or the sums from which the last
layers compute the embedding. The state has a fixed size. `Stream.step` adds a block to the state,
and `Stream.read` computes the embedding from the state.

The result is exact. For a recording of at most `window` steps, the embedding is the embedding that
the model computes from the whole recording, up to rounding. This is possible if each layer depends
on a few neighboring steps only, or on sums over the recording. Other layers are refused.
"""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from keras_dml import layers
from keras_dml._backend import keras, ops
from keras_dml._typing import Tensor
from keras_dml.geometry.signals import running_correlation

# Layers that compute each time step from the same step of their inputs.
STEPWISE = (
    keras.layers.Activation,
    keras.layers.Add,
    keras.layers.Average,
    keras.layers.Dense,
    keras.layers.Dropout,
    keras.layers.ELU,
    keras.layers.LeakyReLU,
    keras.layers.Maximum,
    keras.layers.Minimum,
    keras.layers.Multiply,
    keras.layers.ReLU,
    keras.layers.Rescaling,
    keras.layers.Subtract,
    layers.ChannelNormalization,
    layers.FixedNormalization,
    layers.InputContract,
)
# Layers that need the whole recording, and the reasons.
REASONS = {
    keras.layers.Masking: "it removes steps that have its mask value",
    layers.CanonicalPose: "it averages directions over the whole recording",
    layers.Covariance: "its matrix has eigenvalues, which the file of a stream does not compute",
    layers.GravityFrame: "it turns each step into the frame of gravity, and gravity is the mean of "
    "the whole recording",
    layers.InstanceStandardization: "it divides each step by the standard deviation of the whole "
    "recording",
    layers.LogMel: "it subtracts the mean of each band over the whole recording",
    layers.SilenceRemoval: "it compares each block with the loudest blocks of the whole recording",
    layers.VoiceActivity: "it compares each frame with the mean level of the whole recording",
}
BRANCHES = (
    "its inputs come from branches that look ahead by different numbers of steps, for example from "
    "kernels of different lengths"
)
POOLED = "it combines steps with a value that is not computed for each step"
NO_FORM = "it may depend on the whole recording, and `export.stream` has no streamed form of it"


class StreamError(ValueError):
    """Error for a model whose embedding cannot be computed exactly from blocks of a recording.

    Attributes:
        layer: Name of the first layer that needs the whole recording, or None if the model does not
            take recordings of any length.
        reason: Text that says why.
    """

    layer: str | None = None
    reason: str = ""


def error(reason: str, layer: keras.layers.Layer | None = None) -> StreamError:
    """Creates the error for a model that cannot be streamed.

    Args:
        reason: Reason, a clause whose subject is the layer or the model.
        layer: The layer, or None if the reason concerns the whole model.
    """
    subject = "The model" if layer is None else f"The layer {layer.name!r}"
    kind = "" if layer is None else f" ({type(layer).__name__})"
    result = StreamError(
        f"{subject}{kind} cannot be streamed: {reason}. Embed windows of the recording instead, "
        "for example with `keras_dml.edge.Stream`."
    )
    result.layer, result.reason = None if layer is None else layer.name, reason
    return result


@dataclasses.dataclass(frozen=True)
class _Frames:
    """Time steps that a layer returns for one block.

    Attributes:
        values: Tensor `(1, steps, channels)`.
        first: Index of the first step in the layer's output for the whole recording, a scalar
            tensor. Steps with a negative index precede the recording, and their values are invalid.
        delay: Number of steps by which the output lags behind the input of the stream.
        stride: Number of input steps of the stream per step.
    """

    values: Tensor
    first: Tensor
    delay: int
    stride: int

    def masked(self) -> Tensor:
        """Returns the values, with zeros for the steps that precede the recording."""
        return ops.where(self.valid()[None, :, None], self.values, 0)

    def valid(self) -> Tensor:
        """Returns a boolean tensor `(steps,)` that is False for steps before the recording."""
        return self.first + ops.cast(np.arange(self.values.shape[1]), self.first.dtype) >= 0


class _State:
    """Vector that is read and written in parts, in the order of the layers.

    Args:
        vector: The state, or None to determine its size. The state of an empty recording is zeros.
        dtype: Dtype of the state.
    """

    def __init__(self, vector: Tensor | None, dtype: str):
        self._vector, self._dtype = vector, dtype
        self.size, self._parts = 0, []

    def take(self, *shape: int) -> Tensor:
        start, self.size = self.size, self.size + math.prod(shape)
        if self._vector is None:
            return ops.zeros(shape, self._dtype)
        return ops.reshape(self._vector[start : self.size], shape)

    def put(self, *values: Tensor) -> None:
        self._parts += [ops.reshape(value, (-1,)) for value in values]

    def joined(self) -> Tensor:
        return ops.concatenate(self._parts)


class Stream:
    """Streamed form of a model.

    Args:
        model: A `keras.Model` with one input `(batch, time, channels)` of any length.
        window: Number of steps of a recording. If the model ends in a `QuantileLayer` and the
            recording is longer, the embedding describes the last `window` steps. The convolutions
            still see the earlier steps. Sums have no window: they run over the whole recording.
        block: Number of steps of a block.

    Attributes:
        size: Number of elements of the state.
        window: Value of the argument `window`.
        block: Value of the argument `block`.
        stride: Number of input steps of which a block must hold a multiple. It is the least
            common multiple of the numbers of input steps per step of the layers' outputs.
        has_window: Whether the embedding describes the last `window` steps. False if the embedding
            is computed from sums over the whole recording.

    Raises:
        StreamError: If a layer needs the whole recording.
    """

    def __init__(self, model: keras.Model, window: int, block: int):
        whole = [layer for layer in model._flatten_layers() if isinstance(layer, tuple(REASONS))]
        if whole:
            raise error(_reason(whole[0]), whole[0])
        self._graph = _graph(model)
        self._channels, self._dtype = model.inputs[0].shape[-1], model.inputs[0].dtype
        self.window: int = window
        self.block: int = block
        self.has_window: bool = False
        self.stride: int = _stride(model)
        if not block % self.stride:
            state = _State(None, self._dtype)
            self._add(np.zeros((1, block, self._channels), self._dtype), state)
            self.size: int = state.size

    def step(self, signal: Tensor, state: Tensor) -> Tensor:
        """Adds a block to the state.

        Args:
            signal: Block, shape `(1, block, channels)`. `block` must be a multiple of the stride.
            state: State `(size,)`.

        Returns:
            The next state.
        """
        parts = _State(state, self._dtype)
        self._add(signal, parts)
        return parts.joined()

    def count(self, state: Tensor) -> Tensor:
        """Returns the number of steps in a state, as a scalar of the dtype of the state."""
        return state[0] * self.block

    def read(self, state: Tensor) -> Tensor:
        """Computes the embedding, shape `(1, ...)`. The state must hold at least one block."""
        parts = _State(state, self._dtype)
        blocks = parts.take()
        handlers = {
            layers.LaggedCorrelation: self._read_correlations,
            layers.MaskedAveragePooling1D: self._flush_pooling,
            layers.MaskedConv1D: self._flush_convolution,
            layers.QuantileLayer: self._read_quantiles,
            layers.SequencePooling: self._read_mean,
        }
        ends = _Frames(ops.zeros((1, 0, self._channels), self._dtype), blocks * self.block, 0, 1)
        return self._run(ends, parts, handlers)

    def _add(self, signal, parts):
        blocks = parts.take()
        parts.put(blocks + 1)
        handlers = {
            layers.LaggedCorrelation: self._add_correlations,
            layers.MaskedAveragePooling1D: self._pool,
            layers.MaskedConv1D: self._convolve,
            layers.QuantileLayer: self._add_quantiles,
            layers.SequencePooling: self._add_mean,
        }
        frames = _Frames(ops.convert_to_tensor(signal, self._dtype), blocks * self.block, 0, 1)
        self._run(frames, parts, handlers)

    def _run(self, frames, parts, handlers):
        """Runs the graph of the model. Layers without a time axis run on vectors, which are None
        while a block is added."""

        def operation(layer) -> Callable[..., Any]:
            handler = next((h for kind, h in handlers.items() if isinstance(layer, kind)), None)

            def call(x, *others, **options):
                values = keras.tree.flatten([x, *others])
                frames = [each for each in values if isinstance(each, _Frames)]
                if not frames:
                    return None if values[0] is None else layer(x, *others, **options)
                if handler is not None:
                    return handler(layer, x, parts)
                if others or not _is_stepwise(layer):
                    raise error(_reason(layer), layer)
                if len(frames) < len(values):
                    raise error(POOLED, layer)
                if len({(each.delay, each.stride) for each in frames}) > 1:
                    raise error(BRANCHES, layer)
                return dataclasses.replace(frames[0], values=layer(_values(x)))

            return call

        return self._graph._run_through_graph([frames], operation_fn=operation)

    # ---- convolutions ----------------------------------------------------------------------------

    def _convolve(self, layer, x, parts):
        before, after = _context(layer)
        carried = parts.take(1, before + after, x.values.shape[-1])
        signal = ops.concatenate([carried, x.masked()], axis=1)
        parts.put(signal[:, x.values.shape[1] :])
        return self._convolved(layer, x, signal, after)

    def _flush_convolution(self, layer, x, parts):
        """Computes the last steps of a convolution, whose kernel reaches beyond the recording."""
        before, after = _context(layer)
        carried = parts.take(1, before + after, x.values.shape[-1])
        end = ops.zeros((1, after, x.values.shape[-1]), self._dtype)
        signal = ops.concatenate([carried, x.masked(), end], axis=1)
        return self._convolved(layer, x, signal, after)

    def _convolved(self, layer, x, signal, after):
        values = _valid_convolution(layer, signal)
        return _Frames(values, x.first - after, x.delay + after, x.stride)

    def _pool(self, layer, x, parts):
        size, steps = layer.pool_size, x.values.shape[1]
        rest = -x.delay % size  # steps of a window that is not complete
        carried = parts.take(1, rest, x.values.shape[-1])
        signal = ops.concatenate([carried, x.values], axis=1)
        parts.put(signal[:, steps:])
        return self._pooled(layer, x, layer(signal[:, :steps]), rest)

    def _flush_pooling(self, layer, x, parts):
        rest = -x.delay % layer.pool_size
        carried = parts.take(1, rest, x.values.shape[-1])
        signal = ops.concatenate([carried, x.values], axis=1)
        return self._pooled(layer, x, layer(signal) if signal.shape[1] else signal, rest)

    def _pooled(self, layer, x, values, rest):
        size = layer.pool_size
        first, delay = (x.first - rest) / size, (x.delay + rest) // size
        return _Frames(values, first, delay, x.stride * size)

    # ---- last layers with a time axis ------------------------------------------------------------

    def _capacity(self, x):
        """Returns the number of steps in a window, and how many of them the state stores."""
        steps = self.window // x.stride
        return steps, max(steps - x.delay, 0)

    def _add_quantiles(self, layer, x, parts):
        self.has_window = True
        capacity = self._capacity(x)[1]
        stored = parts.take(1, capacity, x.values.shape[-1])
        features = ops.concatenate([stored, x.values], axis=1)
        parts.put(features[:, features.shape[1] - capacity :])

    def _read_quantiles(self, layer, x, parts):
        steps, capacity = self._capacity(x)
        stored = parts.take(1, capacity, x.values.shape[-1])
        features = ops.concatenate([stored, x.values], axis=1)[:, -steps:]
        last = x.first + x.delay  # number of steps of the recording
        valid = _Frames(features, last - steps, 0, x.stride).valid()
        return layer(features, mask=valid[None])

    def _add_correlations(self, layer, x, parts):
        self._refuse_delay(layer, x)
        shapes = running_correlation.shapes(x.values.shape[-1], layer.lags)
        sums = running_correlation.Sums(*(parts.take(*shape) for shape in shapes))
        parts.put(*running_correlation.updated(sums, x.values[0], x.first, layer.lags))

    def _read_correlations(self, layer, x, parts):
        shapes = running_correlation.shapes(x.values.shape[-1], layer.lags)
        sums = running_correlation.Sums(*(parts.take(*shape) for shape in shapes))
        stddev, values = running_correlation.correlations(sums, x.first, layer.lags, layer.ridge)
        return ops.concatenate([ops.log(stddev), values])[None]

    def _add_mean(self, layer, x, parts):
        self._refuse_delay(layer, x)
        if layer.mode != "mean":
            raise error(f"its mode is {layer.mode!r}, and only sums can be streamed", layer)
        parts.put(parts.take(x.values.shape[-1]) + ops.sum(x.values[0], axis=0))

    def _read_mean(self, layer, x, parts):
        return (parts.take(x.values.shape[-1]) / x.first)[None]

    def _refuse_delay(self, layer, x):
        if x.delay:
            raise error("it sums over the outputs of a convolution", layer)


def by_keras(model: keras.Model, recordings: np.ndarray, window: int) -> np.ndarray:
    """Computes the embeddings that a stream should return, from whole recordings.

    The function runs the layers of the model and does not use `Stream`.

    Args:
        model: Same as in `Stream`.
        recordings: Recordings of one length, shape `(recordings, time, channels)`. The length is a
            multiple of the steps that the model averages.
        window: Same as in `Stream`.

    Returns:
        Embeddings, shape `(recordings, ...)`.
    """

    def operation(layer):
        if isinstance(layer, layers.QuantileLayer):
            return lambda x, **_: layer(x[:, -(window * x.shape[1] // recordings.shape[1]) :])
        return layer

    signal = ops.convert_to_tensor(recordings, model.inputs[0].dtype)
    outputs = _graph(model)._run_through_graph([signal], operation_fn=operation)
    return ops.convert_to_numpy(outputs)


def _graph(model):
    """Returns the functional model that a sequential model contains, or the model itself."""
    return getattr(model, "_functional", None) or model


def _stride(model):
    """Returns the least common multiple of the numbers of input steps per step of all layers."""
    strides = [1]

    def operation(layer):
        def call(*x, **_):
            stride = max(each for each in keras.tree.flatten(x) if isinstance(each, int))
            if isinstance(layer, layers.MaskedAveragePooling1D):
                stride *= layer.pool_size
                strides.append(stride)
            return stride

        return call

    _graph(model)._run_through_graph([1], operation_fn=operation)
    return math.lcm(*strides)


def _context(layer):
    """Returns how many steps before and after the center a kernel covers."""
    if layer.padding != "same":
        raise error(f"its padding is {layer.padding!r}, but it must be 'same'", layer)
    before = (layer.reach - 1) // 2
    return before, layer.reach - 1 - before


def _valid_convolution(layer, signal):
    outputs = ops.conv(
        signal,
        layer.kernel,
        padding="valid",
        data_format="channels_last",
        dilation_rate=layer.dilation_rate[0],
    )
    if layer.use_bias:
        outputs = outputs + layer.bias
    return layer.activation(outputs)


def _is_stepwise(layer):
    if isinstance(layer, keras.layers.Concatenate):
        return layer.axis in (-1, 2)
    if isinstance(layer, (keras.layers.BatchNormalization, keras.layers.LayerNormalization)):
        return layer.axis in (-1, 2, [-1], [2])
    if isinstance(layer, keras.layers.PReLU):
        return tuple(layer.shared_axes or ()) == (1,)
    return isinstance(layer, STEPWISE)


def _values(x):
    return [each.values for each in x] if isinstance(x, (list, tuple)) else x.values


def _reason(layer):
    return next((text for kind, text in REASONS.items() if isinstance(layer, kind)), NO_FORM)
