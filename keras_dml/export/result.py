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
            representative recordings is one decision per threshold in the file: accept if the
            distance is at most the threshold. None if nothing was counted, because the export had
            no representative recordings, or the file contains no thresholds. The drift alone does
            not say how many decisions change.
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
