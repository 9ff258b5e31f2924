"""Quantizes convolutions, and computes in NumPy what the C code computes.

The weights are int8 with one scale per filter. The activations are int16 with one scale per layer
(Jacob2018, with zero points of 0). The sum of a filter is an int32. Its scale, bias, slope and
average over time are computed in float32, in the order of the C code.

Activations are int16 and not int8, because the ranges of the activations are unknown without
recordings. On 330 walks of test people, int8 activations with a range of 6 standard deviations
changed the embeddings of `gait_qp_wl` by 3.6 % of their RMS, and int16 activations change them by
1.1 %. The buffers of int16 activations have twice the size.
"""

import dataclasses

import numpy as np

from keras_dml._backend import ops
from keras_dml.export._microcontroller.network import QuantileNetwork

# Number of standard deviations that the integers cover, of a batch-normalized activation and of a
# normalized feature. The range of activations follows from the batch normalization (data-free
# quantization), for which Nagel2019 (section 5) uses 6. Features and activations of walks reach 17.
DEVIATIONS = 20.0
MOST_WEIGHT = 127
MOST_ACTIVATION = 2**15 - 1
MOST_SUM = 2**31 - 1


@dataclasses.dataclass(frozen=True)
class Range:
    """Numbers that integers stand for: `integer * step`.

    Attributes:
        step: Difference between neighboring numbers.
        most: Largest integer. The smallest integer is `-most`.
    """

    step: float
    most: int


@dataclasses.dataclass(frozen=True)
class Layer:
    """A convolution with integer weights. The scales and biases are in steps of the layer's output,
    except that the output of the last layer is float and has the unit of the model.

    Attributes:
        weights: int8 weights, shape `(taps, inputs, filters)`.
        scales: float32 scale of each filter's sum.
        biases: float32 bias of each filter.
        slopes: float32 slope of each filter for negative values.
        output_range: `Range` of the output, or None for the last layer.
        pool: Number of time steps that are averaged.
    """

    weights: np.ndarray
    scales: np.ndarray
    biases: np.ndarray
    slopes: np.ndarray
    output_range: Range | None
    pool: int


@dataclasses.dataclass(frozen=True)
class Quantized:
    """Quantized convolutions.

    Attributes:
        input_range: `Range` of the normalized features.
        layers: `Layer`s, in order.
    """

    input_range: Range
    layers: tuple[Layer, ...]


def quantized(network: QuantileNetwork) -> Quantized:
    """Quantizes the convolutions of a network.

    Args:
        network: `QuantileNetwork`.
    """
    convolutions = network.convolutions
    reaches = [DEVIATIONS, *map(_reach, convolutions[:-1])]
    ranges = [
        _range(reach, convolution.kernel)
        for reach, convolution in zip(reaches, convolutions, strict=True)
    ]
    outputs = [*ranges[1:], None]
    rows = zip(convolutions, ranges, outputs, strict=True)
    return Quantized(ranges[0], tuple(_layer(*row) for row in rows))


def _reach(convolution):
    """Returns an absolute value that activations after the PReLU hardly exceed."""
    ends = convolution.ends(DEVIATIONS)
    return float(np.abs(np.concatenate([ends, convolution.after_prelu(ends)])).max()) or 1.0


def _range(reach, kernel):
    """Returns the `Range` of the numbers from `-reach` to `reach`, for which the sums of a kernel
    cannot overflow."""
    terms = kernel.shape[0] * kernel.shape[1]
    most = min(MOST_ACTIVATION, MOST_SUM // (MOST_WEIGHT * terms))
    return Range(reach / most, most)


def _layer(convolution, before, after):
    largest = np.abs(convolution.kernel).max(axis=(0, 1))
    steps = np.where(largest > 0, largest, 1) / MOST_WEIGHT
    unit = 1.0 if after is None else after.step
    return Layer(
        weights=np.rint(convolution.kernel / steps).astype(np.int8),
        scales=(before.step * steps / unit).astype(np.float32),
        biases=(convolution.bias / unit).astype(np.float32),
        slopes=convolution.slope.astype(np.float32),
        output_range=after,
        pool=convolution.pool,
    )


def embedding(network: QuantileNetwork, quantized: Quantized, recording: np.ndarray) -> np.ndarray:
    """Computes an embedding as the C code does, shape `(filters, knots)`.

    Args:
        network: `QuantileNetwork`.
        quantized: Quantized convolutions of the network.
        recording: Recording, shape `(time, channels)`.
    """
    features = ops.convert_to_numpy(network.front.features(recording[None], training=False))[0]
    x = _rounded(features * np.float32(1 / quantized.input_range.step), quantized.input_range)
    for layer in quantized.layers:
        x = _pooled(_activations(x, layer), layer.pool)
        if layer.output_range is not None:
            x = _rounded(x, layer.output_range)
    return quantiles(x, network.knots)


def _activations(x, layer):
    """Computes the convolution and the PReLU of integers, shape `(time, filters)`."""
    taps, left = len(layer.weights), (len(layer.weights) - 1) // 2
    # float64 holds the integers exactly, and its matrix product is fast
    padded = np.pad(x.astype(np.float64), ((left, taps - 1 - left), (0, 0)))
    total = sum(padded[i : i + len(x)] @ layer.weights[i].astype(float) for i in range(taps))
    value = total.astype(np.float32) * layer.scales + layer.biases
    return np.where(value < 0, value * layer.slopes, value)


def _pooled(x, pool):
    """Averages windows of time steps. The last window may be shorter."""
    total = np.zeros((-(-len(x) // pool), x.shape[1]), np.float32)
    for i in range(pool):
        part = x[i::pool]
        total[: len(part)] += part
    counts = np.full(len(total), pool)
    counts[-1] = len(x) - pool * (len(total) - 1)
    return total / counts[:, None].astype(np.float32)


def _rounded(x, output_range):
    rounded = np.floor(x + np.float32(0.5))
    return np.clip(rounded, -output_range.most, output_range.most).astype(np.int16)


def quantiles(x: np.ndarray, knots: np.ndarray) -> np.ndarray:
    """Computes the quantile function of each column, shape `(filters, knots)`.

    Args:
        x: Activations, shape `(time, filters)`.
        knots: Ascending knots from 0 to 1.
    """
    ascending, count = np.sort(x, axis=0), len(x)
    position = knots * np.float32(count)
    lower = np.minimum(position.astype(np.int32), count - 1)
    upper = np.minimum(lower + 1, count - 1)
    fraction = (position - lower.astype(np.float32))[:, None]
    return (ascending[lower] + fraction * (ascending[upper] - ascending[lower])).T
