"""Result of an export."""

import dataclasses
import pathlib


@dataclasses.dataclass(frozen=True)
class Export:
    """Path and measurements of an exported file.

    Attributes:
        path: The file, or the folder of a SavedModel.
        format: `"tflite"` or `"saved_model"`.
        quantization: Type of the weights: `None` (float32), `"float16"`, `"dynamic"` or `"int8"`.
        bytes: Size of all files together.
        drift: RMS difference of its embeddings from Keras's, as a fraction of the RMS of Keras's.
            For a TFLite file of a model on matrices, Keras computes in float64.
        latency_ms: Median time of one `embed` of a recording of `steps` steps, on one thread for
            TFLite.
        steps: Length of the recording that was timed; number of rows of a matrix; None for an
            image.
        notes: Sentences on differences from the request: another type of weights, thresholds that
            the file does not carry.
    """

    path: pathlib.Path
    format: str
    quantization: str | None
    bytes: int
    drift: float
    latency_ms: float
    steps: int | None
    notes: tuple[str, ...] = ()
