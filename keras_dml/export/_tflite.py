"""One model as a .tflite file for devices."""

import functools
import os
import pathlib
from collections.abc import Iterable

import numpy as np

from keras_dml import inference, inputs
from keras_dml._arrays import real
from keras_dml._backend.tensorflow import tensorflow
from keras_dml._files import size, staged
from keras_dml.export import _contract, _devices, litert, operators, parity, signatures
from keras_dml.export._convert import convert
from keras_dml.export.result import Export
from keras_dml.export.trials import trials
from keras_dml.zoo import reading

QUANTIZATIONS = ("auto", *parity.BOUNDS)
EIGHT_BITS = "The weights are float32: 8 bits do not hold the small eigenvalues of matrices."
AUTO = ("dynamic", "float16", None)  # in this order, the first that agrees with Keras


def tflite(
    model,
    path: str | os.PathLike,
    quantization: str | None = "auto",
    representative: Iterable[np.ndarray] | None = None,
    *,
    distance=None,
) -> Export:
    """Writes a model as one .tflite file of builtin operators with the signatures `embed` and
    `distance`.

    - `embed(signal, length)`: signal (1, time, channels) float32, length a scalar int32 from 1 to
      time; steps from `length` on are cut off, so a buffer of fixed size serves recordings of any
      length. Gives `embedding` (1, ...). A model of matrices has `embed(matrix)`: (1, n, n)
      float32; one of images `embed(image)`: (1, height, width, channels) float32 in [0, 1].
    - `distance(embedding, gallery)`: (1, ...) and (n, ...), gives `distance` (n,), smaller is
      closer.

    The embedding is NaN if `length` is below the contract's steps, above them or beyond the signal,
    or if the input holds NaN or infinity before `length`. The distance of such an embedding is NaN
    too. A batch of two, or another number of channels, is an error of LiteRT at run time.

    A `PrototypicalClassifier` has two more, and its distance is the negative of `score`:

    - `score(embedding, prototypes)`: (1, features) and (n, features), gives `similarity` (n,),
      higher is more similar. The prototypes are the caller's, so classes can be added without a new
      file. These are similarities alone, which prefer the classes of training: compare them among
      classes of training or among added ones.
    - `classify`, with the arguments of `embed`: gives `scores` (classes,) by the model's own
      prototypes, in which classes added before the export are balanced against the others.

    A model on matrices is written with the polynomial solver, since no device has an
    eigendecomposition, and with float32 weights for `"auto"` and `"dynamic"`, since 8 bits do not
    hold small eigenvalues. Where no device can compute the distance of its matrices, the file's
    embedding is their tangent vector, and its distance the log-Euclidean one. The file carries the
    card's thresholds of that distance.

    The file is run by LiteRT in a process of its own, on recordings of several lengths, silence and
    a constant one, and compared with Keras; only then does it replace an existing file at `path`.

    Args:
        model: A `keras.Model` of one input, `(batch, time, channels)`, of symmetric matrices
            `(batch, n, n)`, or of images `(batch, height, width, channels)`; a
            `PrototypicalClassifier`; or the name or path of a saved one.
        path: The file to write.
        quantization: What the weights become.

            - `"auto"`: `"dynamic"` if the file then agrees with Keras, else `"float16"`, else
              float32. `Export.quantization` is what was written, `Export.notes` says why.
            - `"dynamic"`: int8 weights, activations quantized on the fly: a quarter of the size,
              and the fastest on a CPU.
            - `"float16"`: half the size, differences of a thousandth.
            - `"int8"`: the encoder in int8 throughout, for hardware that has nothing else; what
              stands before its first convolution (normalization, mel bands), read-out, distance
              and similarity stay float. Slower than `"dynamic"` on a CPU.
            - `None`: float32, as exact as Keras.
        representative: Some 100 recordings `(time, channels)` (or matrices, or images), as the
            device will see them, in the model's units; needed by `"int8"`, whose ranges they set.
            With any quantization a few of them serve as further trials.
        distance: A distance or its name, for a model whose last layer names none.

    Returns:
        `Export`: path, size, drift, latency, notes.

    Raises:
        ValueError: If the quantization is unknown, `"int8"` has no recordings, a recording does not
            fit the model, or the model has no distance or no builtin counterpart;
            `parity.ParityError` if the file does not agree with Keras. Also if `path` names no
            file, or there is something other than a regular file.
        TypeError: If a recording is masked, complex or no array of numbers.
        RuntimeError: If Keras does not run on TensorFlow, or LiteRT cannot run the file.
        OSError: If the file cannot be written.
        ImportError: If LiteRT is not installed.
    """
    if quantization not in QUANTIZATIONS:
        raise ValueError(
            f"`quantization` must be one of {QUANTIZATIONS}. Received {quantization!r}."
        )
    tensorflow()
    litert.require()
    with staged(path) as candidate:
        encoder, classifier = signatures.parts(model)
        taken, card = inputs.from_model(encoder), reading.card_of(encoder)
        metric = signatures.metric_of(classifier or encoder, distance)
        device = _devices.device_model(encoder, metric)
        own = _recordings(representative, device.encoder, quantization)
        bounds = parity.BOUNDS
        forms, notes = AUTO if quantization == "auto" else (quantization,), []
        if device.on_matrices:
            forms, bounds = [_of_matrices(quantization)], parity.BOUNDS_ON_MATRICES
            if quantization in ("auto", "dynamic"):
                notes.append(EIGHT_BITS)
        tried = trials(device.exact, own, only_own=quantization == "int8")
        module = signatures.for_one(device.runs, device.metric, classifier)
        carried = _contract.carried(taken, device.distance, card)
        ask = {
            name: functools.partial(getattr(litert, name), candidate)
            for name in signatures.names(module)
        }
        for form in forms:
            _write(candidate, module, taken, form, own, tried, carried)
            operators.check_builtin(candidate)
            try:
                drift = parity.check(candidate, ask, tried, device.metric, bounds[form], classifier)
                break
            except parity.ParityError as error:
                if form == forms[-1]:
                    raise
                notes.append(f"The weights are not written as {form!r}: {error.reason}.")
        unset = _contract.missing_thresholds(device.distance, card)
        notes += [] if unset is None else [unset]
        measured = {
            "bytes": size(candidate),
            "latency_ms": litert.latency_ms(candidate, tried.timed),
        }
    return Export(
        path=pathlib.Path(path),
        format="tflite",
        quantization=form,
        drift=drift,
        steps=taken.length(tried.timed),
        notes=tuple(notes),
        **measured,
    )


def _recordings(representative, encoder, quantization):
    """The recordings that a caller gives, as a list of arrays that the encoder takes."""
    given = [] if representative is None else representative
    axes = len(encoder.inputs[0].shape)
    if not isinstance(given, Iterable) or getattr(given, "ndim", axes) != axes:
        what = f"one array of shape {given.shape}" if hasattr(given, "shape") else repr(given)
        raise ValueError(
            "`representative` is a list of arrays, a recording, matrix or image each. Received "
            f"{what}. A single one goes in as a list of one."
        )
    own = [real(f"Recording {i}", recording) for i, recording in enumerate(given)]
    if own:
        inference.embed(encoder, own, progress=False)  # refuses what does not fit, with its index
    elif quantization == "int8":
        raise ValueError(
            "int8 needs `representative=`: some 100 recordings, a list of arrays (time, "
            "channels), or images, as the device will see them. Their ranges are built into the "
            'file. `quantization="dynamic"` needs none.'
        )
    return own


def _of_matrices(quantization):
    """How the weights of a model on matrices are written."""
    if quantization == "int8":
        raise ValueError(
            "int8 does not hold the small eigenvalues of matrices, on which their logarithms rest. "
            'Export this model with quantization=None (float32) or "float16".'
        )
    return None if quantization in ("auto", "dynamic") else quantization


def _write(candidate, module, taken, quantization, own, tried, carried):
    """Writes the file, of several candidates the one that drifts least."""
    recordings = [recording.astype(np.float32) for recording in own]
    blobs = convert(module, taken, quantization, recordings, carried)
    drifts = []
    for blob in blobs if len(blobs) > 1 else []:
        candidate.write_bytes(blob)
        found = litert.embed(candidate, tried.recordings[: tried.typical])
        drifts.append(parity.relative_rms(found, tried.embeddings[: tried.typical]))
    candidate.write_bytes(blobs[int(np.argmin(drifts)) if drifts else 0])
