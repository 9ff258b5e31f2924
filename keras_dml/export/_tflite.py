"""Exports a model as a .tflite file for devices."""

import functools
import pathlib
from collections.abc import Iterable

import numpy as np

from keras_dml import inference, inputs, quality
from keras_dml._arrays import real, whole
from keras_dml._backend import keras
from keras_dml._backend.tensorflow import tensorflow
from keras_dml._files import size, staged
from keras_dml._messages import Message
from keras_dml._typing import Path
from keras_dml.distances import Distance
from keras_dml.export import (
    _contract,
    _devices,
    _padding,
    edge_metadata,
    litert,
    operators,
    parity,
    signatures,
)
from keras_dml.export._convert import convert
from keras_dml.export.result import Export
from keras_dml.export.trials import trials
from keras_dml.zoo import reading

QUANTIZATIONS = ("auto", *parity.BOUNDS)
EIGHT_BITS = "The weights are float32, because 8 bits cannot hold small eigenvalues of matrices."
MOST_COMPARED = 220  # recordings whose pairs are counted as decisions
AUTO = ("dynamic", "float16", None)  # `"auto"` writes the first form that agrees with Keras


def tflite(
    model: keras.Model | Path,
    path: Path,
    quantization: str | None = "auto",
    representative: Iterable[np.ndarray] | None = None,
    *,
    distance: Distance | str | None = None,
    steps: int | None = None,
    gallery: int | None = None,
) -> Export:
    """Writes a model as one .tflite file that has only builtin operators.

    The file has two signatures:

    - `embed(signal, length)` receives a float32 array `signal` (1, time, channels) and an int32
      scalar `length` from 1 to time. The signature ignores all time steps after the first `length`
      steps, so recordings of any length fit into a buffer of fixed size. The returned `embedding`
      has shape (1, ...). A model that takes matrices has `embed(matrix)` with a float32 array (1,
      n, n). A model that takes images has `embed(image)` with a float32 array (1, height, width,
      channels) of numbers in [0, 1].
    - `distance(embedding, gallery)` receives an embedding (1, ...) and embeddings (n, ...), and
      returns `distance` (n,). The smaller the distance, the more similar are two recordings.

    By default, time and n may be any number, and the runtime resizes the inputs. With `steps`, the
    signal has exactly `steps` time steps, and with `gallery`, n is exactly `gallery`. Some runtimes
    need these fixed shapes, such as LiteRT in a browser and accelerators. A file with `steps` takes
    every recording of at most `steps` time steps. Fill the rest of the signal with any values. The
    file masks these values, so its embeddings equal the embeddings of a file without `steps`,
    except for rounding. Fill the rest of a gallery with copies of a row, and ignore their
    distances. A row of zeros is not an embedding.

    The embedding is NaN if `length` is outside the contract or longer than the signal, or if the
    input holds NaN or infinity within the first `length` steps. The distance is NaN if an embedding
    is NaN. LiteRT raises an error at run time if a batch contains two recordings or if the number
    of channels is wrong.

    A `PrototypicalClassifier` has two more signatures, and its distance is the negative of `score`:

    - `score(embedding, prototypes)` receives an embedding (1, features) and prototypes (n,
      features), and returns `similarity` (n,). The higher the similarity, the more similar are the
      embedding and the prototype. The caller passes the prototypes, so classes can be added without
      a new file. Classes that were used in training get higher similarities than added classes.
      Therefore do not compare similarities of training classes with similarities of added classes.
    - `classify` receives the arguments of `embed`, and returns `scores` (classes,) for the
      prototypes of the model. The scores are balanced between the training classes and the classes
      that were added before the export.

    If the model takes matrices, the file uses the polynomial solver, because runtimes on devices
    have no eigendecomposition. The weights of the file are float32 with `"auto"` and `"dynamic"`,
    because 8 bits are too few for small eigenvalues. If devices cannot compute the model's distance
    between matrices, the embeddings of the file are tangent vectors, and its distance is the
    log-Euclidean distance. The file then contains those thresholds of the model card that apply to
    the log-Euclidean distance. A file with `"dynamic"` or `"int8"` weights contains no thresholds,
    because the thresholds of the card were measured with float32 weights. `bundle` measures
    thresholds of such a file.

    Before the file replaces an existing file at `path`, LiteRT runs it in a separate process on
    recordings of several lengths, on silence and on a constant recording. The file must agree with
    Keras on these recordings. With `steps`, the recordings end in NaN, and the export also checks
    that padding does not change the embeddings before the weights are quantized.

    Args:
        model: A `keras.Model`, a `PrototypicalClassifier`, or the name or path of a saved model. A
            `keras.Model` must have one input: recordings `(batch, time, channels)`, symmetric
            matrices `(batch, n, n)`, or images `(batch, height, width, channels)`.
        path: Path of the file to write.
        quantization: Type of the weights.

            - `"auto"`: The first of `"dynamic"`, `"float16"` and float32 for which the file agrees
              with Keras. `Export.quantization` names the type that was written, and `Export.notes`
              gives the reason.
            - `"dynamic"`: int8 weights, and activations that are quantized at run time. The file
              has a quarter of the float32 size and is the fastest file on a CPU.
            - `"float16"`: float16 weights. The file has half of the float32 size, and its
              embeddings differ from the float32 embeddings by about 0.1 %.
            - `"int8"`: int8 weights and activations of the encoder, for hardware without floats.
              Four parts stay float: the layers before the first convolution (such as normalization
              and mel bands), the pooling, the distance and the similarity. The file is slower than
              `"dynamic"` on a CPU.
            - `None`: float32 weights. The file is as exact as Keras.
        representative: List of about 100 recordings `(time, channels)`, matrices or images that are
            typical of the inputs on the device, in the units of the model. `"int8"` requires
            `representative`, because these inputs determine the int8 ranges of the activations. For
            any quantization, the file must also agree with Keras on some of these inputs. If the
            model card has thresholds for the distance of the file, `Export.flips` counts the
            decisions about pairs of these inputs that differ between the file and Keras.
        distance: Distance or name of a distance, for models whose last layer defines no distance.
        steps: Number of time steps of `signal`, for models that take recordings. Default: any
            number. A call takes as long as for a recording of `steps` time steps, also if the
            recording is shorter.
        gallery: Number of rows of `gallery` and `prototypes`. Default: any number.

    Returns:
        `Export` with path, size, drift, latency and notes.

    Raises:
        ValueError: If a layer has a name that TensorFlow does not accept, or computes in another
            dtype than float32. If the quantization is unknown, if `"int8"` has no recordings, if a
            recording does not fit the model, if the model has no distance, if an operator has no
            builtin counterpart, or if `path` cannot be a regular file. Also if `steps` is given for
            a model that takes matrices, images or recordings of a fixed length, or if `steps` is
            below the smallest number of time steps that the model accepts. If the file does not
            agree with Keras, or if padding changes its embeddings, the error is a
            `parity.ParityError`.
        TypeError: If a recording is masked, complex or not an array of numbers, or if `steps` or
            `gallery` is not an integer.
        RuntimeError: If Keras does not run on TensorFlow, or if LiteRT cannot run the file.
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
        signatures.check_names(encoder)
        signatures.check_precision(encoder)
        kind, card = inputs.from_model(encoder), reading.card_of(encoder)
        metric = signatures.metric_of(classifier or encoder, distance)
        steps = _checked_steps(steps, kind)
        gallery = gallery if gallery is None else whole("gallery", gallery, 1)
        device = _devices.device_model(encoder, metric)
        bounds = parity.BOUNDS
        forms, notes = AUTO if quantization == "auto" else (quantization,), []
        if device.on_matrices:
            forms, bounds = [_matrix_quantization(quantization)], parity.BOUNDS_ON_MATRICES
            if quantization in ("auto", "dynamic"):
                notes.append(EIGHT_BITS)
        recordings = _checked_recordings(representative, device.encoder, quantization, steps)
        only_real = quantization == "int8"
        trial_inputs = trials(device.exact, recordings, only_real, steps)
        module = signatures.for_one(device.runs, device.metric, classifier, steps, gallery)
        gate, covariances = quality.gate_of(encoder), None
        if gate is not None and gate.potato is not None:
            covariances = quality.covariances_of(device.runs)
            signatures.add_covariance(module, covariances)
        if steps is not None:
            runs = inputs.from_model(device.runs)
            _padding.check(module, runs, trial_inputs, bounds[None].embedding)
        knots = trial_inputs.embeddings[0, -1] if metric.name == "wasserstein" else None
        fingerprint = inference.fingerprint(encoder, metric)
        metadata = edge_metadata.entries(encoder, metric, fingerprint, knots, gate, steps)
        functions = {
            name: functools.partial(getattr(litert, name), candidate)
            for name in signatures.names(module)
        }
        for form in forms:
            contract = _contract.contract_json(
                kind, device.distance, card, steps, quantization=form
            )
            if contract is not None:
                metadata[_contract.METADATA] = contract
            _write(candidate, module, kind, form, recordings, trial_inputs, metadata)
            operators.check_builtin(candidate)
            try:
                drift = parity.check(
                    candidate,
                    functions,
                    trial_inputs,
                    device.metric,
                    bounds[form],
                    classifier,
                    covariances,
                )
                break
            except parity.ParityError as error:
                if form == forms[-1]:
                    raise
                notes.append(f"The weights are not written as {form!r}: {error.reason}.")
        note = _contract.missing_thresholds(device.distance, card, quantization=form)
        notes += [] if note is None else [note]
        thresholds = [row["value"] for row in _contract.thresholds(device.distance, card)]
        flips, decisions = _flips(candidate, device, recordings, thresholds)
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
        flips=flips,
        decisions=decisions,
    )


def _flips(candidate, device, recordings, thresholds):
    """Counts decisions that differ between a file and Keras.

    Args:
        candidate: Path of the file.
        device: `DeviceModel`.
        recordings: Real recordings, or an empty list. At most `MOST_COMPARED` are used.
        thresholds: Thresholds for the distance of the file.

    Returns:
        Tuple `(flips, decisions)`, as in `Export`.
    """
    if len(recordings) < 2 or not thresholds:
        return None, 0
    rows = np.linspace(0, len(recordings) - 1, min(MOST_COMPARED, len(recordings))).astype(int)
    arrays = [recordings[row].astype(np.float32) for row in rows]
    pairs = np.triu_indices(len(arrays), 1)
    z = litert.embed(candidate, arrays)
    actual = litert.distance(candidate, z, z)[pairs]
    y = inference.embed(device.exact, arrays, progress=False)
    expected = inference.distance(device.metric, y, y)[pairs]
    limits = np.array(thresholds)[:, None]
    return int(((actual <= limits) != (expected <= limits)).sum()), len(thresholds) * len(expected)


def _checked_steps(steps, kind):
    """Returns the number of time steps of a file's signal, or None for any number of steps."""
    if steps is None:
        return None
    if not isinstance(kind, inputs.Signals):
        raise ValueError(
            Message(
                "{steps} is {value}, but the model takes {name}, which have no time axis. Leave "
                "out {steps}.",
                value=steps,
                name="images" if isinstance(kind, inputs.Images) else "matrices",
            )
        )
    steps, lengths = whole("steps", steps, 1), signatures.limits(kind)
    if not kind.has_any_length:
        raise ValueError(
            Message(
                "{steps} is {value}, but the model takes recordings of {length} steps only. Leave "
                "out {steps}, because the file has this fixed number of steps without it.",
                value=steps,
                length=kind.shape[0],
            )
        )
    if steps < lengths.least:
        raise ValueError(
            Message(
                "{steps} is {value}, but the model needs recordings of at least {least} steps. Set "
                "{steps} to the number of steps of the longest recording on the device.",
                value=steps,
                least=lengths.least,
            )
        )
    return steps


def _checked_recordings(representative, encoder, quantization, steps):
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
                "matrices or images. Pass a single array as a list with one element.",
                value=text,
            )
        )
    recordings = [real(f"Recording {i}", x) for i, x in enumerate(representative)]
    if recordings:
        # For an invalid recording, this call raises an error with the index of the recording.
        inference.embed(encoder, recordings, progress=False)
        longest = max(map(len, recordings))
        if steps is not None and longest > steps:
            raise ValueError(
                Message(
                    "The longest recording of {representative} has {longest} steps, but {steps} is "
                    "{value}. Cut windows of at most {value} steps, or increase {steps}.",
                    longest=longest,
                    value=steps,
                )
            )
    elif quantization == "int8":
        raise ValueError(
            Message(
                "The quantization int8 needs {representative}, a list of about 100 recordings "
                "(time, channels) or images that are similar to those of the device. The ranges of "
                'numbers in the file depend on this list. {quantization="dynamic"} needs no list.'
            )
        )
    return recordings


def _matrix_quantization(quantization):
    """Returns the quantization of the file for a model that takes matrices."""
    if quantization == "int8":
        raise ValueError(
            Message(
                "int8 cannot hold the small eigenvalues of matrices, on which the logarithms of "
                "the matrices depend. Export this model with {quantization=None}, which writes "
                'float32, or with {quantization="float16"}.'
            )
        )
    return None if quantization in ("auto", "dynamic") else quantization


def _write(candidate, module, kind, quantization, recordings, trial_inputs, metadata):
    """Writes the candidate with the smallest drift to the file."""
    recordings = [recording.astype(np.float32) for recording in recordings]
    blobs = convert(module, kind, quantization, recordings, metadata)
    drifts = []
    for blob in blobs if len(blobs) > 1 else []:
        candidate.write_bytes(blob)
        embeddings = litert.embed(candidate, trial_inputs.recordings[: trial_inputs.typical])
        expected = trial_inputs.embeddings[: trial_inputs.typical]
        drifts.append(parity.relative_rms(embeddings, expected))
    candidate.write_bytes(blobs[int(np.argmin(drifts)) if drifts else 0])
