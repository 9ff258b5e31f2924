"""Writes the numbers of a model as C code: macros, tables of weights, and golden values."""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from keras_dml.export._microcontroller.network import Discriminants, Front, QuantileNetwork
from keras_dml.export._microcontroller.quantization import Layer, quantized

MOST_PER_LINE = 12
FLOAT = INT32 = POINTER = 4  # bytes on a microcontroller with 32 bits
INT16 = 2
SCALING = 4 * INT32  # bytes of `kd_scaling`
LAYER = 5 * INT32 + 4 * POINTER  # bytes of `kd_layer`
GRAVITY_FRAME = 12 * FLOAT  # bytes of the static variables of front_gravity.c


@dataclasses.dataclass(frozen=True)
class Tables:
    """C code of a model and its costs.

    Attributes:
        code: Name of the C file that computes embeddings.
        header: Name of the C header that declares the tables.
        macros: Macros of the model, from name to C expression.
        text: C code that defines the tables.
        flash_bytes: Size of the tables.
        macs: Number of multiply-accumulates for one embedding.
        ram_bytes: Size of the static buffers.
    """

    code: str
    header: str
    macros: Mapping[str, str]
    text: str
    flash_bytes: int
    macs: int
    ram_bytes: int


def number(value: float) -> str:
    """Writes a number as a C constant of type `float`, which gives exactly the float32 number."""
    text = f"{float(np.float32(value)):.9g}"
    return f"{text if set(text) & set('.e') else text + '.0'}f"


def array(declaration: str, values: Any) -> str:
    """Writes a C array.

    Args:
        declaration: Type and name, such as `"const float kd_means[KD_FEATURES]"`.
        values: Array of integers, or of floats, which are written as float32.
    """
    return f"{declaration} = {_initializer(np.asarray(values))};\n"


def _initializer(values):
    if values.ndim > 1:
        rows = ",\n".join(_initializer(row) for row in values)
        return f"{{\n{rows}\n}}"
    is_float = np.issubdtype(values.dtype, np.floating)
    texts = [number(value) if is_float else str(int(value)) for value in values]
    lines = [", ".join(texts[i : i + MOST_PER_LINE]) for i in range(0, len(texts), MOST_PER_LINE)]
    return "{" + ",\n    ".join(lines) + "}"


def structs(declaration: str, rows: Iterable[Iterable[str]]) -> str:
    """Writes a C array of structs, whose fields are C expressions."""
    lines = ",\n    ".join("{" + ", ".join(row) + "}" for row in rows)
    return f"{declaration} = {{\n    {lines}\n}};\n"


def of_quantiles(network: QuantileNetwork, most: int, steps: int) -> Tables:
    """Writes the tables of a network with convolutions.

    Args:
        network: `QuantileNetwork`.
        most: Largest number of time steps of a recording.
        steps: Number of time steps for which multiply-accumulates are counted.
    """
    integers, knots = quantized(network), network.knots
    layers, features = integers.layers, integers.input_range
    filters = layers[-1].weights.shape[-1]
    lengths = [most]
    for layer in layers:
        lengths.append(-(-lengths[-1] // layer.pool))
    widths = [layer.weights.shape[1] for layer in layers]
    sizes = [length * width for length, width in zip(lengths, widths, strict=False)]
    even, odd = max(sizes[::2]), max(sizes[1::2], default=1)
    macros = {
        "KD_EMBEDDING": "(KD_FILTERS * KD_KNOTS)",
        "KD_FILTERS": str(filters),
        "KD_KNOTS": str(len(knots)),
        "KD_LAYERS": str(len(layers)),
        "KD_FEATURE_SCALE": number(1 / features.step),
        "KD_FEATURE_MOST": number(features.most),
        "KD_EVEN": str(even),
        "KD_ODD": str(odd),
        "KD_COLUMN": str(lengths[-1]),
        "KD_STREAMS": "0",
    }
    text = [_front_text(network.front)]
    for i, layer in enumerate(layers):
        weights = layer.weights.transpose(2, 0, 1).ravel()  # (filters, taps, inputs)
        text.append(array(f"static const int8_t weights_{i}[]", weights))
        for name in ("scales", "biases", "slopes"):
            text.append(array(f"static const float {name}_{i}[]", getattr(layer, name)))
    rows = [_layer_row(i, layer) for i, layer in enumerate(layers)]
    text.append(structs("const kd_layer kd_layers[KD_LAYERS]", rows))
    text.append(array("const float kd_knots[KD_KNOTS]", knots))
    flash = sum(layer.weights.size + 3 * FLOAT * len(layer.scales) + LAYER for layer in layers)
    return Tables(
        code="quantiles.c",
        header="quantile_tables.h",
        macros=_front_macros(network.front) | macros,
        text="\n".join(text),
        flash_bytes=flash + FLOAT * len(knots) + _front_flash(network.front),
        macs=_macs(layers, steps),
        ram_bytes=INT16 * (even + odd) + FLOAT * lengths[-1] + _front_ram(network.front),
    )


def _layer_row(i: int, layer: Layer):
    taps, width, filters = layer.weights.shape
    most = 0 if layer.output_range is None else layer.output_range.most
    names = [f"{name}_{i}" for name in ("weights", "scales", "biases", "slopes")]
    return [*map(str, (taps, width, filters, layer.pool)), number(most), *names]


def _macs(layers: tuple[Layer, ...], steps: int):
    total = 0
    for layer in layers:
        total += steps * layer.weights.size
        steps = -(-steps // layer.pool)
    return total


def of_discriminants(network: Discriminants, most: int, steps: int) -> Tables:
    """Writes the tables of a network with running sums.

    Args:
        network: `Discriminants`.
        most: Largest number of time steps of a recording.
        steps: Number of time steps for which multiply-accumulates are counted.
    """
    features, lags = len(network.front.means), len(network.lags)
    statistics, units = network.kernel.shape
    macros = {
        "KD_EMBEDDING": str(units),
        "KD_LAGS": str(lags),
        "KD_LONGEST_LAG": str(max(network.lags)),
        "KD_STATISTICS": str(statistics),
        "KD_MEANS": str(int(network.has_means)),
        "KD_RIDGE": number(network.ridge),
        "KD_LIMIT": number(network.limit),
        "KD_STREAMS": str(int(network.front.gravity is None)),
    }
    text = [
        _front_text(network.front),
        array("const int32_t kd_lags[KD_LAGS]", network.lags),
        array("const float kd_kernel[KD_EMBEDDING][KD_STATISTICS]", network.kernel.T),
        array("const float kd_biases[KD_EMBEDDING]", network.bias),
    ]
    rows = 1 + max(1, *network.lags) + lags  # origin, recent steps, earliest steps
    sums = 2 * features + lags * features**2
    return Tables(
        code="discriminants.c",
        header="discriminant_tables.h",
        macros=_front_macros(network.front) | macros,
        text="\n".join(text),
        flash_bytes=FLOAT * (lags + units * (statistics + 1)) + _front_flash(network.front),
        macs=steps * (features + lags * features**2) + network.kernel.size,
        ram_bytes=INT32
        + FLOAT * (rows * features + 2 * sums + statistics)
        + _front_ram(network.front),
    )


def _front_macros(front: Front):
    macros = {"KD_CHANNELS": str(front.channels), "KD_FEATURES": str(len(front.means))}
    if front.gravity is not None:
        horizontal = front.gravity.horizontal
        macros["KD_GRAVITY_LAG"] = str(front.gravity.lag)
        macros["KD_GRAVITY_AXES"] = str(int(horizontal != "magnitude"))
        macros["KD_GRAVITY_MAGNITUDE"] = str(int(horizontal != "axes"))
    return macros


def _front_text(front: Front):
    text = [
        array("const float kd_means[KD_FEATURES]", front.means),
        array("const float kd_stddevs[KD_FEATURES]", front.stddevs),
    ]
    if front.gravity is None:
        rows = [
            [str(x.channel), str(int(x.is_bounded)), number(x.scale), number(x.offset)]
            for x in front.scalings
        ]
        text.append(structs("const kd_scaling kd_scalings[KD_FEATURES]", rows))
    return "\n".join(text)


def _front_flash(front: Front):
    return 2 * FLOAT * len(front.means) + SCALING * len(front.scalings)


def _front_ram(front: Front):
    return 0 if front.gravity is None else GRAVITY_FRAME
