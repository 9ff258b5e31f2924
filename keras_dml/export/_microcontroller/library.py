"""Writes a model as a folder with a C99 library."""

import pathlib
import re
import shutil
import string

import numpy as np

from keras_dml import inputs
from keras_dml._arrays import whole
from keras_dml._backend import keras
from keras_dml._files import replaceable_c_library, staged
from keras_dml._messages import Message
from keras_dml._typing import Path
from keras_dml.export import _contract, litert, parity, signatures
from keras_dml.export._microcontroller import compiler, quantization, tables, trunk
from keras_dml.export._microcontroller.network import Discriminants, QuantileNetwork, read
from keras_dml.export.result import MicrocontrollerExport
from keras_dml.export.trials import trials
from keras_dml.zoo import reading

SOURCES = pathlib.Path(__file__).parent / "c"
SHARED = ("kd.h", "kd_internal.h", "kd_check.c", "kd_gallery.c", "selftest.c")
TRUNK_CODE = "kd_trunk.c"
MODEL, GOLDEN, TABLES, README = "kd_model.h", "golden.h", "kd_tables.c", "README.md"
TRUNK = "trunk.tflite"
USUAL_STEPS = 512  # largest number of time steps of a network with buffers, by default
MOST_STEPS = 2**20  # largest number of time steps of running sums
# Largest RMS difference between an embedding by the C code and by NumPy, divided by the RMS. The
# embeddings of `gait_qp_wl` were equal. With gcc's flags `-mfma -ffp-contract=fast -ffast-math`,
# some numbers were rounded to a neighboring integer, and the embeddings of four models of the zoo
# differed by at most 6e-4.
INTEGER_TOLERANCE = 2e-3
STREAMING = """
`kd_begin`, `kd_push` and `kd_finish` compute the same embedding step by step, so that the recording
needs no memory.
"""
TRUNK_TEXT = """
## Convolutions by TensorFlow Lite Micro

`trunk.tflite` contains the convolutions for TensorFlow Lite Micro, which needs the operators
CONV_2D, PRELU and AVERAGE_POOL_2D. On a Cortex-M, its kernels of CMSIS-NN can be faster than the
loops of `kd_embed`. A recording must have exactly `KD_MAX_STEPS` time steps. In C++:

```cpp
#include "kd.h"

if (kd_trunk_input(signal, KD_MAX_STEPS, interpreter.input(0)->data.int8) == KD_OK &&
    interpreter.Invoke() == kTfLiteOk) {
    kd_trunk_embedding(interpreter.output(0)->data.int8, embedding);
}
```

Enroll and compare embeddings of `kd_embed` only with embeddings of `kd_embed`, and embeddings of
`trunk.tflite` only with embeddings of `trunk.tflite`. The thresholds in `kd_model.h` do not apply
to `trunk.tflite`, whose activations have 8 bits, so measure a threshold. `golden.h` contains the
input and the output of `trunk.tflite` for a recording. If the program does not call `kd_embed`,
the linker leaves out its tables with the flags `-ffunction-sections -fdata-sections
-Wl,--gc-sections`.
"""
INTEGER_THRESHOLDS = """\
Because of the int8 weights, a few decisions at these thresholds differ from Keras. The page
`export/README.md` of keras-dml counts them for models of the zoo.
"""
INTEGER_ARITHMETIC = (
    "Sums of products are integers. Scales, slopes and averages are `float` operations, about "
    "three per hundred\n  multiply-accumulates, so a floating-point unit helps but is not needed. "
    "Compilers that fuse multiplications and\n  additions change embeddings by less than .2 %."
)
FLOAT32_ARITHMETIC = "All numbers are `float`, so a floating-point unit helps but is not needed."
NO_COMPILER = (
    "No C compiler was found ({compilers}), so the C code was not run. Compile and run selftest.c "
    "on the device or on a computer: the program returns 0 if the library is correct."
)


def microcontroller(
    model: keras.Model | Path, folder: Path, *, steps: int | None = None, tflm: bool = False
) -> MicrocontrollerExport:
    """Writes a model as a C99 library for microcontrollers.

    The library needs only the C standard library. It allocates no memory, and its static buffers
    have fixed sizes. Its functions compute embeddings (`kd_embed`), store embeddings of new people
    (`kd_enroll`), and compute distances (`kd_distance`, `kd_nearest`). The functions return an
    error for NULL, for lengths outside the contract, and for numbers that are not finite. A library
    without a gravity frame and without convolutions also takes recordings step by step (`kd_push`).

    Two kinds of models can be written:

    - Convolutions with batch normalization and PReLU, and then a `QuantileLayer`. The weights are
      int8, and the activations are int16. The last activations, the quantiles and the distance are
      float32. The ranges of the integers follow from the batch normalization, so no recordings are
      needed.
    - `LinearDiscriminants` of lagged correlations. All numbers are float32, and the statistics are
      running sums, so the library stores no recording.

    Before these layers, the model may have a `GravityFrame`, or `Rescaling` and tanh.

    The folder contains the C files, golden values, a self-test (`selftest.c`, which returns 0 or
    1), and a README with the sizes. Before the folder gets its final name, this function compares
    the network of integers with Keras. If a C compiler is installed, the function also compiles the
    library and runs the self-test. `MicrocontrollerExport.notes` says if no compiler was found.

    Args:
        model: `keras.Model` of recordings, or the name or path of a saved model.
        folder: Path of the folder to write. A folder that this function wrote is replaced.
        steps: Largest number of time steps of a recording. The buffers of a model with convolutions
            grow with `steps`. Default: the largest number that the contract allows, but at most 512
            for a model with convolutions, or the smallest number that the contract allows if this
            number is larger.
        tflm: Whether to write the convolutions also as `trunk.tflite` for TensorFlow Lite Micro.
            The file needs no other operators than CONV_2D, PRELU and AVERAGE_POOL_2D. Its
            recordings have exactly `steps` time steps. The library then has two more functions.
            `kd_trunk_input` writes the int8 input of the file, and `kd_trunk_embedding` converts
            its int8 output to an embedding, for `kd_enroll` and `kd_distance`. These embeddings
            differ more from Keras than the embeddings of `kd_embed`.

    Returns:
        `MicrocontrollerExport` with the sizes of tables and buffers, the multiply-accumulates, and
        the differences from Keras.

    Raises:
        UnsupportedModelError: If the library cannot compute a layer of the model. The message names
            the layer. The error is a ValueError.
        ValueError: If `steps` is outside the contract, if `tflm` is given for a model without
            convolutions, or if `folder` exists and this function did not write it. If the network
            of integers does not agree with Keras, or if the self-test fails, the error is a
            `parity.ParityError`.
        TypeError: If `steps` is not an integer.
        RuntimeError: If the C compiler fails, or if `tflm` is given and Keras does not run on
            TensorFlow.
        OSError: If the folder cannot be written.
        ImportError: If `tflm` is given and LiteRT is not installed.
    """
    with staged(folder, replaceable_c_library) as candidate:
        encoder, _ = signatures.parts(model)
        network = read(encoder)
        has_integers = isinstance(network, QuantileNetwork)
        kind = inputs.from_model(encoder)
        limits = signatures.limits(kind)
        most = _most_steps(steps, limits, network)
        # golden recordings of networks with buffers fill the buffers
        longest = most if has_integers else min(most, max(limits.least, USUAL_STEPS))
        examples = trials(encoder, steps=longest)
        metric = signatures.metric_of(encoder)
        golden, drift = _golden_embeddings(folder, network, examples, metric)
        write = tables.of_quantiles if has_integers else tables.of_discriminants
        counted = longest if most == MOST_STEPS else most
        code = write(network, most, counted)
        macros = _macros(encoder, code, limits, most)
        candidate.mkdir()
        trunk_text = ""
        if tflm:
            trunk_macros, trunk_text = _write_trunk(candidate, network, examples, most)
            macros |= trunk_macros
        _write_code(candidate, network, code, macros, _thresholds(encoder, metric))
        _write_golden(candidate, network, examples.recordings, golden, metric, trunk_text)
        path = compiler.find()
        difference = None if path is None else compiler.check(candidate, path)
        notes = [NO_COMPILER.format(compilers=", ".join(compiler.COMPILERS))] * (path is None)
        result = MicrocontrollerExport(
            path=pathlib.Path(folder),
            weights="int8" if has_integers else "float32",
            flash_bytes=code.flash_bytes,
            ram_bytes=code.ram_bytes,
            embedding=golden[0].size - (network.knots.size if has_integers else 0),
            macs=code.macs,
            steps=counted,
            most_steps=most,
            drift=drift,
            difference=difference,
            notes=tuple(notes),
        )
        _write_readme(candidate, macros, kind.contract, result)
    return result


def _most_steps(steps, limits, network):
    """Returns the largest number of time steps of a recording."""
    if steps is None:
        usual = USUAL_STEPS if isinstance(network, QuantileNetwork) else MOST_STEPS
        return max(limits.least, min(usual, limits.most or usual))
    steps = whole("steps", steps, 1)
    if not limits.least <= steps <= (limits.most or MOST_STEPS):
        raise ValueError(
            Message(
                "{steps} is {value}, but the model takes recordings of {least} to {most} steps. "
                "Set {steps} to the number of steps of the longest recording on the device.",
                value=steps,
                least=limits.least,
                most=limits.most or MOST_STEPS,
            )
        )
    return steps


def _golden_embeddings(folder, network, examples, metric):
    """Returns the embeddings that the C code must compute, and their drift from Keras."""
    if isinstance(network, Discriminants):
        return examples.embeddings, 0.0
    integers = quantization.quantized(network)
    values = np.stack([quantization.embedding(network, integers, x) for x in examples.recordings])
    knots = np.broadcast_to(network.knots, (len(values), 1, len(network.knots)))
    embeddings = np.concatenate([values, knots], axis=1).astype(np.float32)
    bound = parity.BOUNDS["dynamic"].embedding  # also int8 weights and wider activations
    return embeddings, parity.check_embeddings(folder, embeddings, examples, metric, bound)


def _write_trunk(folder, network, examples, most):
    """Writes the convolutions as a TFLite file and the C code around it, and compares the file with
    Keras on noise.

    Returns:
        Tuple of the macros of the C code, from name to C expression, and of the text of the golden
        values.
    """
    if isinstance(network, Discriminants):
        raise ValueError(
            Message(
                "{tflm} is True, but the model has no convolutions. Leave out {tflm}, because the "
                "C library computes the whole model."
            )
        )
    litert.require()
    file = folder / TRUNK
    file.write_bytes(trunk.convert(network, most))
    shutil.copyfile(SOURCES / TRUNK_CODE, folder / TRUNK_CODE)
    i = next(i for i, recording in enumerate(examples.recordings) if len(recording) == most)
    run = trunk.run(file, network, examples.recordings[i])
    values = quantization.quantiles(run.activations, network.knots)
    drift = parity.relative_rms(values, examples.embeddings[i][:-1])
    bound = parity.BOUNDS["int8"].embedding
    if not drift <= bound:
        raise parity.ParityError(
            f"{file.name} does not agree with Keras: its embedding drifts by {drift:.2g} of its "
            f"RMS, which is more than {bound}. Nothing was written."
        )
    macros = {
        "KD_TRUNK": "1",
        "KD_TRUNK_INPUT": "(KD_MAX_STEPS * KD_FEATURES)",
        "KD_TRUNK_OUTPUT": "(KD_COLUMN * KD_FILTERS)",
        "KD_TRUNK_INPUT_SCALE": tables.number(run.scales[0]),
        "KD_TRUNK_INPUT_ZERO": tables.number(run.zeros[0]),
        "KD_TRUNK_OUTPUT_SCALE": tables.number(run.scales[1]),
        "KD_TRUNK_OUTPUT_ZERO": tables.number(run.zeros[1]),
    }
    golden = [
        f"#define GOLDEN_TRUNK {i} /* recording of the input and output of {TRUNK} */",
        tables.array("static const int8_t golden_trunk_input[KD_TRUNK_INPUT]", run.source.ravel()),
        tables.array(
            "static const int8_t golden_trunk_output[KD_TRUNK_OUTPUT]", run.output.ravel()
        ),
        tables.array("static const float golden_trunk_embedding[KD_EMBEDDING]", values.ravel()),
    ]
    return macros, "\n".join(golden)


def _macros(encoder, code, limits, most):
    """Returns the macros of a model, from name to C expression."""
    card = reading.card_of(encoder)
    name = encoder.name if card is None else card["name"]
    name = re.sub(r"\W", "_", name, flags=re.ASCII)  # a name may hold quotes or line breaks
    return {
        "KD_MODEL": f'"{name}"',
        "KD_MIN_STEPS": str(limits.least),
        "KD_MAX_STEPS": str(most),
        "KD_TRUNK": "0",
        **code.macros,
    }


def _thresholds(encoder, metric):
    """Returns the thresholds of a model's card as C code."""
    lines = []
    for row in _contract.thresholds(metric.name, reading.card_of(encoder)):
        macro = f"KD_THRESHOLD_FAR_{row['far']:g}".replace(".", "_").replace("-", "_")
        lines += [
            f"/* For a false accept rate of {row['far']:g}, {row['rule']}. */",
            f"#define {macro} {tables.number(row['value'])}",
        ]
    return lines


def _write_code(folder, network, code, macros, thresholds):
    """Copies the C files, and writes the macros and the tables of a model."""
    front = "front_channels.c" if network.front.gravity is None else "front_gravity.c"
    copies = {front: "kd_front.c", code.code: "kd_embed.c", code.header: "kd_tables.h"}
    for source, name in {**copies, **{name: name for name in SHARED}}.items():
        shutil.copyfile(SOURCES / source, folder / name)
    header = [
        "/* Sizes and thresholds of the model. */",
        "#ifndef KD_MODEL_H",
        "#define KD_MODEL_H\n",
        *(f"#define {name} {value}" for name, value in macros.items()),
        *thresholds,
        "\n#endif\n",
    ]
    (folder / MODEL).write_text("\n".join(header), encoding="utf-8")
    text = f'/* Weights of the model. */\n#include "kd_tables.h"\n\n{code.text}'
    (folder / TABLES).write_text(text, encoding="utf-8")


def _write_golden(folder, network, recordings, embeddings, metric, trunk_text):
    """Writes recordings, their embeddings, the distances between the embeddings, and the golden
    values of the trunk as text."""
    distances = np.asarray(keras.ops.convert_to_numpy(metric(embeddings, embeddings)))
    has_integers = isinstance(network, QuantileNetwork)
    values = embeddings[:, :-1] if has_integers else embeddings
    values = values.reshape(len(values), -1)
    tolerance = INTEGER_TOLERANCE if has_integers else parity.BOUNDS[None].embedding
    distance_tolerance = parity.BOUNDS[None].distance * np.abs(distances).max()
    count = len(recordings)
    signals = [np.asarray(recording, np.float32).ravel() for recording in recordings]
    parts = [
        "/* Recordings, embeddings and distances that the library must compute. */",
        '#include "kd.h"\n',
        f"#define GOLDEN_COUNT {count}",
        f"#define GOLDEN_STEPS {max(map(len, recordings))}",
        f"#define GOLDEN_TOLERANCE {tolerance:g}",
        f"#define GOLDEN_DISTANCE_TOLERANCE {tables.number(distance_tolerance)}\n",
        *(tables.array(f"static const float signal_{i}[]", x) for i, x in enumerate(signals)),
        "static const float *const golden_signals[GOLDEN_COUNT] = {"
        + ", ".join(f"signal_{i}" for i in range(count))
        + "};\n",
        tables.array("static const int32_t golden_lengths[GOLDEN_COUNT]", [*map(len, recordings)]),
        tables.array("static const float golden_embeddings[GOLDEN_COUNT][KD_EMBEDDING]", values),
        tables.array("static const float golden_distances[GOLDEN_COUNT][GOLDEN_COUNT]", distances),
        trunk_text,
    ]
    (folder / GOLDEN).write_text("\n".join(parts), encoding="utf-8")


def _write_readme(folder, header, contract, result):
    """Writes the README of the folder.

    Args:
        folder: Folder with the C files.
        header: Macros of the model, from name to C expression.
        contract: Input contract of the model, or None.
        result: `MicrocontrollerExport`.
    """
    has_integers, numbers = result.weights == "int8", result.embedding
    is_run = result.difference is not None
    template = string.Template((SOURCES / "README.template").read_text(encoding="utf-8"))
    text = template.substitute(
        model=header["KD_MODEL"].strip('"'),
        weights=result.weights,
        flash=f"{result.flash_bytes:,}",
        ram=f"{result.ram_bytes:,}",
        embedding=f"{numbers:,}",
        embedding_bytes=f"{4 * numbers:,}",
        macs=f"{result.macs:,}",
        steps=f"{result.steps:,}",
        least=header["KD_MIN_STEPS"],
        most=f"{result.most_steps:,}",
        channels=header["KD_CHANNELS"],
        contract=_described(contract),
        drift=f"{100 * result.drift:.2g} % of their RMS" if has_integers else "nothing",
        difference=f"differs from the golden values by {100 * result.difference:.1g} % of the RMS"
        if is_run
        else "was not run, because no C compiler was found",
        streaming=STREAMING if header["KD_STREAMS"] == "1" else "",
        trunk=TRUNK_TEXT if (folder / TRUNK).exists() else "",
        thresholds=INTEGER_THRESHOLDS if has_integers else "",
        arithmetic=INTEGER_ARITHMETIC if has_integers else FLOAT32_ARITHMETIC,
    )
    (folder / README).write_text(text, encoding="utf-8")


def _described(contract):
    """Describes the channels of a recording and its sampling rate in words."""
    if contract is None:
        return "the model has no input contract"
    rate = "one step per event" if contract.events else "any rate"
    rate = rate if contract.rate_hz is None else f"{contract.rate_hz:g} Hz"
    channels = zip(contract.channels, contract.units, strict=True)
    return f"{', '.join(f'{name} ({unit})' for name, unit in channels)}, {rate}"
