"""Export of a model as a .tflite file for devices."""

import functools
import pathlib
from collections.abc import Iterable

import numpy as np

from keras_dml import inference, inputs
from keras_dml._arrays import real
from keras_dml._backend import keras
from keras_dml._backend.tensorflow import tensorflow
from keras_dml._files import size, staged
from keras_dml._messages import Message
from keras_dml._typing import Path
from keras_dml.distances import Distance
from keras_dml.export import _contract, _devices, litert, operators, parity, signatures
from keras_dml.export._convert import convert
from keras_dml.export.result import Export
from keras_dml.export.trials import trials
from keras_dml.zoo import reading

QUANTIZATIONS = ("auto", *parity.BOUNDS)
EIGHT_BITS = "The weights are float32, because 8 bits cannot hold small eigenvalues of matrices."
AUTO = ("dynamic", "float16", None)  # `"auto"` takes the first of them that agrees with Keras


def tflite(
    model: keras.Model | Path,
    path: Path,
    quantization: str | None = "auto",
    representative: Iterable[np.ndarray] | None = None,
    *,
    distance: Distance | str | None = None,
) -> Export:
    """Writes a model as one .tflite file of builtin operators with the signatures `embed` and
    `distance`.

    - `embed(signal, length)` takes a signal (1, time, channels), float32, and a length, a scalar
      int32 from 1 to time. It ignores steps from `length` on, so recordings of any length fit into
      a buffer of fixed size. It returns `embedding` (1, ...). A model of matrices has
      `embed(matrix)`: (1, n, n), float32. A model of images has `embed(image)`: (1, height, width,
      channels), float32 in [0, 1].
    - `distance(embedding, gallery)` takes (1, ...) and (n, ...). It returns `distance` (n,);
      smaller is closer.

    The embedding is NaN if `length` is outside the contract or longer than the signal, or if the
    input holds NaN or infinity before `length`. The distance of such an embedding is NaN too.
    LiteRT raises an error at run time for a batch of two and for another number of channels.

    A `PrototypicalClassifier` has two more signatures, and its distance is the negative of `score`:

    - `score(embedding, prototypes)` takes (1, features) and (n, features). It returns `similarity`
      (n,); higher is more similar. The caller passes the prototypes, so classes can be added
      without a new file. The similarities are not balanced and prefer the classes of training:
      compare them among classes of training or among added classes.
    - `classify` takes the arguments of `embed`. It returns `scores` (classes,) by the prototypes of
      the model. They are balanced between classes of training and classes added before the export.

    A model on matrices is written with the polynomial solver, because no device has an
    eigendecomposition. For `"auto"` and `"dynamic"` its weights are float32, because 8 bits do not
    hold small eigenvalues. If devices cannot compute the distance of its matrices, the embedding of
    the file is their tangent vector, and its distance is the log-Euclidean one. The file carries
    the card's thresholds for that distance.

    LiteRT runs the file in a separate process on recordings of several lengths, on silence and on a
    constant recording. The file replaces an existing file at `path` only if it agrees with Keras.

    Args:
        model: A `keras.Model` of one input, `(batch, time, channels)`, of symmetric matrices
            `(batch, n, n)`, or of images `(batch, height, width, channels)`; a
            `PrototypicalClassifier`; or the name or path of a saved one.
        path: The file to write.
        quantization: Type of the weights.

            - `"auto"`: `"dynamic"` if the file then agrees with Keras, else `"float16"`, else
              float32. `Export.quantization` names the type that was written, and `Export.notes`
              the reason.
            - `"dynamic"`: int8 weights, and activations that are quantized at run time. The file
              has a quarter of the size and is the fastest on a CPU.
            - `"float16"`: half the size; embeddings differ by about a thousandth.
            - `"int8"`: int8 weights and activations of the encoder, for hardware without floats.
              The layers before its first convolution (normalization, mel bands), the pooling, the
              distance and the similarity stay float. Slower than `"dynamic"` on a CPU.
            - `None`: float32, as exact as Keras.
        representative: About 100 recordings `(time, channels)` (or matrices, or images) like those
            on the device, in the model's units. They set the ranges of `"int8"`, which needs them.
            For any quantization some of them are also used as trials.
        distance: A distance or its name, for a model whose last layer names no distance.

    Returns:
        `Export`: path, size, drift, latency, notes.

    Raises:
        ValueError: If the quantization is unknown, `"int8"` has no recordings, a recording does not
            fit the model, the model has no distance, an operator has no builtin counterpart, or
            `path` is not a path of a regular file; `parity.ParityError` if the file does not agree
            with Keras.
        TypeError: If a recording is masked, complex or not an array of numbers.
        RuntimeError: If Keras does not run on TensorFlow, or LiteRT cannot run the file.
        OSError: If the file cannot be written.
        ImportError: If LiteRT is not installed.
    """
    if quantization not in QUANTIZATIONS:
        raise ValueError(
            Message(
                "{quantization} is {value!r}, but it must be one of {expected}.",
                value=quantization,
                expected=QUANTIZATIONS,
            )
        )
    tensorflow()
    litert.require()
    with staged(path) as candidate:
        encoder, classifier = signatures.parts(model)
        kind, card = inputs.from_model(encoder), reading.card_of(encoder)
        metric = signatures.metric_of(classifier or encoder, distance)
        device = _devices.device_model(encoder, metric)
        recordings = _checked_recordings(representative, device.encoder, quantization)
        bounds = parity.BOUNDS
        forms, notes = AUTO if quantization == "auto" else (quantization,), []
        if device.on_matrices:
            forms, bounds = [_matrix_quantization(quantization)], parity.BOUNDS_ON_MATRICES
            if quantization in ("auto", "dynamic"):
                notes.append(EIGHT_BITS)
        trial_inputs = trials(device.exact, recordings, only_real=quantization == "int8")
        module = signatures.for_one(device.runs, device.metric, classifier)
        contract = _contract.contract_json(kind, device.distance, card)
        functions = {
            name: functools.partial(getattr(litert, name), candidate)
            for name in signatures.names(module)
        }
        for form in forms:
            _write(candidate, module, kind, form, recordings, trial_inputs, contract)
            operators.check_builtin(candidate)
            try:
                drift = parity.check(
                    candidate, functions, trial_inputs, device.metric, bounds[form], classifier
                )
                break
            except parity.ParityError as error:
                if form == forms[-1]:
                    raise
                notes.append(f"The weights are not written as {form!r}: {error.reason}.")
        note = _contract.missing_thresholds(device.distance, card)
        notes += [] if note is None else [note]
        total_bytes = size(candidate)
        latency_ms = litert.latency_ms(candidate, trial_inputs.timed)
    return Export(
        path=pathlib.Path(path),
        format="tflite",
        quantization=form,
        bytes=total_bytes,
        drift=drift,
        latency_ms=latency_ms,
        steps=kind.length(trial_inputs.timed),
        notes=tuple(notes),
    )


def _checked_recordings(representative, encoder, quantization):
    """Returns representative recordings as a list of arrays that fit the encoder."""
    representative = [] if representative is None else representative
    axes = len(encoder.inputs[0].shape)
    if not isinstance(representative, Iterable) or getattr(representative, "ndim", axes) != axes:
        text = repr(representative)
        if hasattr(representative, "shape"):
            text = f"one array of shape {representative.shape}"
        raise ValueError(
            Message(
                "{representative} is {value}, but it must be a list of arrays: recordings, "
                "matrices or images. Pass a single array as a list of one.",
                value=text,
            )
        )
    recordings = [real(f"Recording {i}", x) for i, x in enumerate(representative)]
    if recordings:
        # raises an error with the index of a recording that does not fit
        inference.embed(encoder, recordings, progress=False)
    elif quantization == "int8":
        raise ValueError(
            Message(
                "int8 needs {representative}: a list of about 100 arrays (time, channels), or of "
                "images, such as the device will record. They set the ranges of the numbers in "
                'the file. {quantization="dynamic"} needs no recordings.'
            )
        )
    return recordings


def _matrix_quantization(quantization):
    """Returns the quantization that is written for a model on matrices."""
    if quantization == "int8":
        raise ValueError(
            Message(
                "int8 cannot hold the small eigenvalues of matrices, on which the logarithms of "
                "the matrices depend. Export this model with {quantization=None}, which writes "
                'float32, or with {quantization="float16"}.'
            )
        )
    return None if quantization in ("auto", "dynamic") else quantization


def _write(candidate, module, kind, quantization, recordings, trial_inputs, contract):
    """Writes the file. If there are several candidates, it is the one with the smallest drift."""
    recordings = [recording.astype(np.float32) for recording in recordings]
    blobs = convert(module, kind, quantization, recordings, contract)
    drifts = []
    for blob in blobs if len(blobs) > 1 else []:
        candidate.write_bytes(blob)
        embeddings = litert.embed(candidate, trial_inputs.recordings[: trial_inputs.typical])
        expected = trial_inputs.embeddings[: trial_inputs.typical]
        drifts.append(parity.relative_rms(embeddings, expected))
    candidate.write_bytes(blobs[int(np.argmin(drifts)) if drifts else 0])
