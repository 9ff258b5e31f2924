"""Defines the result of an export."""

import dataclasses
import pathlib


@dataclasses.dataclass(frozen=True)
class Export:
    """Path and measurements of an exported file.

    Attributes:
        path: Path of the file, or of the folder of a SavedModel or of ONNX files.
        format: Format of the file, `"tflite"`, `"saved_model"` or `"onnx"`.
        quantization: Type of the weights: `None` (float32), `"float16"`, `"dynamic"` or `"int8"`.
        bytes: Total size of all files in bytes.
        drift: Root mean square (RMS) difference between embeddings of the file and embeddings by
            Keras, divided by the RMS of Keras's embeddings. For a TFLite or ONNX file of a model
            that takes matrices, Keras computes the embeddings in float64.
        latency_ms: Median time of one call of `embed` in milliseconds, for a recording of `steps`
            time steps. TFLite and ONNX files run on one thread. For the file of a stream, the time
            of one call of `step`.
        steps: Number of time steps of the recording or the block that was timed, or number of rows
            of a matrix. If the input is an image, `steps` is None.
        notes: Sentences that say how the file differs from the requested file, for example that its
            weights have another type or that it contains no thresholds.
        flips: Number of decisions that differ between the file and Keras. Each pair of
            representative recordings is one decision per threshold of the model card: accept if the
            distance is at most the threshold. None if nothing was counted, because the export had
            no representative recordings, or the card has no threshold for the distance of the file.
            The drift alone does not say how many decisions change.
        decisions: Number of decisions that were counted.
    """

    path: pathlib.Path
    format: str
    quantization: str | None
    bytes: int
    drift: float
    latency_ms: float
    steps: int | None
    notes: tuple[str, ...] = ()
    flips: int | None = None
    decisions: int = 0


@dataclasses.dataclass(frozen=True)
class MicrocontrollerExport:
    """Path and measurements of a C library for microcontrollers.

    Attributes:
        path: Path of the folder.
        weights: Type of the weights, `"int8"` or `"float32"`.
        flash_bytes: Size of the tables with weights. The code takes about 4 kB more.
        ram_bytes: Size of the static buffers.
        embedding: Number of floats of an embedding.
        macs: Number of multiply-accumulates for one embedding of a recording of `steps` time steps.
        steps: Number of time steps for which `macs` was counted.
        most_steps: Largest number of time steps of a recording.
        drift: Root mean square (RMS) difference between the embeddings with int8 weights and the
            embeddings by Keras, divided by the RMS of Keras's embeddings. 0 for float32 weights.
        difference: Largest RMS difference between an embedding by the compiled C code and the
            expected embedding, divided by the RMS of the expected embedding. None if no C compiler
            was found.
        notes: Sentences that say what was not checked.
    """

    path: pathlib.Path
    weights: str
    flash_bytes: int
    ram_bytes: int
    embedding: int
    macs: int
    steps: int
    most_steps: int
    drift: float
    difference: float | None
    notes: tuple[str, ...] = ()
