"""Exports a model as a SavedModel, which TensorFlow runs without Keras."""

import pathlib

import numpy as np

from keras_dml import inputs
from keras_dml._backend import keras
from keras_dml._backend.tensorflow import tensorflow
from keras_dml._files import replaceable_saved_model, size, staged
from keras_dml._typing import Path
from keras_dml.distances import Distance
from keras_dml.export import _contract, _devices, _padding, litert, parity, signatures
from keras_dml.export._quiet import quiet
from keras_dml.export.result import Export
from keras_dml.export.trials import trials
from keras_dml.zoo import reading


def saved_model(
    model: keras.Model | Path, path: Path, *, distance: Distance | str | None = None
) -> Export:
    """Writes a model as a SavedModel for batches of any size and recordings of any length.

    The SavedModel has two signatures:

    - `embed(signal, length)` receives recordings as a float32 array (n, time, channels), padded to
      one length, and their lengths as an int32 array (n,). The returned `embedding` (n, ...) does
      not depend on padding. A model that takes matrices has `embed(matrix)` with a float32 array
      (n, size, size). A model that takes images has `embed(image)` with a float32 array (n, height,
      width, channels) of numbers in [0, 1].
    - `distance(embedding, gallery)` receives embeddings (n, ...) and (m, ...), and returns
      `distance` (n, m). The smaller the distance, the more similar are two recordings.

    A `PrototypicalClassifier` has two more signatures, and its distance is the negative of `score`:

    - `score(embedding, prototypes)` receives embeddings (n, features) and prototypes (m, features),
      and returns `similarity` (n, m). The higher the similarity, the more similar are the embedding
      and the prototype. The caller passes the prototypes, so classes can be added without a new
      file. Classes that were used in training get higher similarities than added classes. Therefore
      do not compare similarities of training classes with similarities of added classes.
    - `classify` receives the arguments of `embed`, and returns `scores` (n, classes) for the
      prototypes of the model. The scores are balanced between the training classes and the classes
      that were added before the export.

    `embed` is also the default signature, `serving_default`. The embedding of a recording is NaN if
    the recording holds NaN or infinity, or if its length is outside the contract or longer than the
    signal. An invalid recording does not change the embeddings of other recordings. The distance is
    NaN if an embedding is NaN.

    The SavedModel needs only TensorFlow: `tf.saved_model.load(path).signatures["embed"](signal=...,
    length=...)["embedding"]`. The function loads the new SavedModel and compares it with Keras
    before it replaces an existing SavedModel at `path`.

    Args:
        model: A `keras.Model`, a `PrototypicalClassifier`, or the name or path of a saved model. A
            `keras.Model` must have one input: recordings `(batch, time, channels)`, symmetric
            matrices `(batch, size, size)`, or images `(batch, height, width, channels)`.
        path: Path of the folder to write. An existing SavedModel at this path is replaced.
        distance: Distance or name of a distance, for models whose last layer defines no distance.

    Returns:
        `Export` with path, size, drift and latency. The latency is measured on all threads.

    Raises:
        ValueError: If a layer has a name that TensorFlow does not accept. If `path` is a folder
            that is not a SavedModel, or if the model has no distance
            or is not built. If the SavedModel does not agree with Keras, the error is a
            `parity.ParityError`.
        RuntimeError: If Keras does not run on TensorFlow.
        OSError: If the folder cannot be written.
    """
    tf = tensorflow()
    with staged(path, replaceable_saved_model) as candidate:
        encoder, classifier = signatures.parts(model)
        signatures.check_names(encoder)
        metric = signatures.metric_of(classifier or encoder, distance)
        trial_inputs = trials(encoder)
        kind = inputs.from_model(encoder)
        with quiet():
            signatures.write(signatures.for_batches(encoder, metric, classifier), candidate)
        card = reading.card_of(encoder)
        contract = _contract.contract_json(kind, metric.name, card)
        if contract is not None:
            file = candidate / _contract.ASSET
            file.parent.mkdir(exist_ok=True)
            file.write_bytes(contract)
        functions = _signature_functions(tf.saved_model.load(str(candidate)).signatures, kind)
        drift = _drift(candidate, functions, trial_inputs, metric, encoder, classifier)
        latency_ms = litert.median_ms(lambda: functions["embed"]([trial_inputs.timed]))
        total_bytes = size(candidate)
    note = _contract.missing_thresholds(metric.name, card)
    return Export(
        path=pathlib.Path(path),
        format="saved_model",
        quantization=None,
        bytes=total_bytes,
        drift=drift,
        latency_ms=latency_ms,
        steps=kind.length(trial_inputs.timed),
        notes=() if note is None else (note,),
    )


def _signature_functions(signatures, kind):
    """Returns functions that call the signatures of a loaded SavedModel, for `parity.check`."""

    def output(name, **arguments):
        (value,) = signatures[name](**arguments).values()
        return value.numpy()

    def of_recordings(name):
        return lambda recordings: output(name, **kind.batch(recordings))

    def of_embeddings(name, second):
        return lambda x, y: output(name, embedding=x, **{second: y})

    return {
        "embed": of_recordings("embed"),
        "distance": of_embeddings("distance", "gallery"),
        "score": of_embeddings("score", "prototypes"),
        "classify": of_recordings("classify"),
    }


def _drift(candidate, functions, trial_inputs, metric, encoder, classifier):
    on_matrices = _devices.works_on_matrices(encoder)
    bounds = (parity.BOUNDS_ON_MATRICES if on_matrices else parity.BOUNDS)[None]
    try:
        functions["embed"](trial_inputs.recordings)
    except tensorflow().errors.InvalidArgumentError as error:
        raise parity.ParityError(
            f"TensorFlow cannot run {candidate.name} on recordings of different lengths: "
            f"{_padding.reason(error.message)} Nothing was written. {_padding.cause(encoder)} "
            "Alternatively, export a TFLite file for any number of steps, which needs no masks."
        ) from error
    try:
        return parity.check(candidate, functions, trial_inputs, metric, bounds, classifier)
    except parity.ParityError as error:
        if not _is_padding(functions["embed"], trial_inputs, bounds.embedding):
            raise
        raise parity.ParityError(
            f"{error} Padding changes the embeddings. {_padding.cause(encoder)} "
            "Alternatively, export a TFLite file for any number of steps, which needs no masks."
        ) from None


def _is_padding(embed, trial_inputs, bound):
    """Returns whether the embeddings agree with Keras for single recordings but not for a padded
    batch."""
    recordings = trial_inputs.recordings[: trial_inputs.typical]
    expected = trial_inputs.embeddings[: trial_inputs.typical]
    unpadded = np.concatenate([embed([recording]) for recording in recordings])
    drift_unpadded = parity.relative_rms(unpadded, expected)
    drift = parity.relative_rms(embed(recordings), expected)
    return drift_unpadded <= bound and not drift <= bound
