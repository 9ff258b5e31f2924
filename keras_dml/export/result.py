"""Result of an export."""

import dataclasses
import pathlib


@dataclasses.dataclass(frozen=True)
class Export:
    """A written export, with what was measured before it was put in place.

    Attributes:
        path: The file, or the folder of a SavedModel.
        format: `"tflite"` or `"saved_model"`.
        quantization: What was written: `None` (float32), `"float16"`, `"dynamic"` or `"int8"`.
        bytes: Size, of all files together.
        drift: RMS difference of its embeddings from Keras's, as a fraction of the RMS of Keras's
            (in float64 for a TFLite file of a model on matrices).
        latency_ms: Median time of one `embed` of a recording of `steps` steps, on one thread for
            TFLite.
        steps: Length of the recording that was timed; of a matrix, its rows; None of an image.
        notes: Sentences on differences from the model: other weights than asked for, thresholds
            that the file does not carry.
    """

    path: pathlib.Path
    format: str
    quantization: str | None
    bytes: int
    drift: float
    latency_ms: float
    steps: int | None
    notes: tuple[str, ...] = ()
