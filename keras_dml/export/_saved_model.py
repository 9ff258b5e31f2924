"""One model as a SavedModel for TensorFlow, without Keras at the other end."""

import os
import pathlib
import time

import numpy as np

from keras_dml import inputs
from keras_dml._backend import keras
from keras_dml._backend.tensorflow import tensorflow
from keras_dml._files import replaceable_saved_model, size, staged
from keras_dml.export import _contract, _devices, parity, signatures
from keras_dml.export._quiet import quiet
from keras_dml.export.result import Export
from keras_dml.export.trials import trials
from keras_dml.zoo import reading

RUNS = 21  # of which the median counts
WARM_UPS = 3


def saved_model(model, path: str | os.PathLike, *, distance=None) -> Export:
    """Writes a model as a SavedModel with the signatures `embed` and `distance`, for any batch and
    length.

    - `embed(signal, length)`: signal (n, time, channels) float32, recordings padded to one length;
      length (n,) int32. Gives `embedding` (n, ...), which padding does not change. A model of
      matrices has `embed(matrix)`: (n, size, size) float32; one of images `embed(image)`: (n,
      height, width, channels) float32 in [0, 1].
    - `distance(embedding, gallery)`: (n, ...) and (m, ...), gives `distance` (n, m), smaller is
      closer.

    A `PrototypicalClassifier` has two more, and its distance is the negative of `score`:

    - `score(embedding, prototypes)`: (n, features) and (m, features), gives `similarity` (n, m),
      higher is more similar. The prototypes are the caller's, so classes can be added without a new
      file. These are similarities alone, which prefer the classes of training: compare them among
      classes of training or among added ones.
    - `classify`, with the arguments of `embed`: gives `scores` (n, classes) by the model's own
      prototypes, in which classes added before the export are balanced against the others.

    `embed` is also the default signature, `serving_default`. A recording whose length is below the
    contract's, above it or beyond the signal, and a recording that holds NaN or infinity, gets NaN;
    the others of its batch are not affected. The distance of such an embedding is NaN too.

    It needs TensorFlow alone: `tf.saved_model.load(path).signatures["embed"](signal=...,
    length=...)["embedding"]`. It is loaded and compared with Keras before it takes the place of
    what `path` held.

    Args:
        model: A `keras.Model` of one input, `(batch, time, channels)`, of symmetric matrices
            `(batch, size, size)`, or of images `(batch, height, width, channels)`; a
            `PrototypicalClassifier`; or the name or path of a saved one.
        path: The folder to write; a SavedModel there is replaced.
        distance: A distance or its name, for a model whose last layer names none.

    Returns:
        `Export`: path, size, drift, latency (on all threads).

    Raises:
        ValueError: If `path` is a folder that holds something else, or the model has no distance or
            is not built; `parity.ParityError` if the SavedModel does not agree with Keras.
        RuntimeError: If Keras does not run on TensorFlow.
        OSError: If the folder cannot be written.
    """
    tf = tensorflow()
    with staged(path, replaceable_saved_model) as candidate:
        encoder, classifier = signatures.parts(model)
        metric = signatures.metric_of(classifier or encoder, distance)
        tried = trials(encoder)
        taken = inputs.from_model(encoder)
        with quiet():
            signatures.write(signatures.for_batches(encoder, metric, classifier), candidate)
        card = reading.card_of(encoder)
        _carry(candidate, _contract.carried(taken, metric.name, card))
        ask = _asker(tf.saved_model.load(str(candidate)).signatures, taken)
        drift = _drift(candidate, ask, tried, metric, encoder, classifier)
        latency_ms = _latency_ms(ask["embed"], tried.timed)
        written = size(candidate)
    steps = taken.length(tried.timed)
    unset = _contract.missing_thresholds(metric.name, card)
    notes = () if unset is None else (unset,)
    return Export(pathlib.Path(path), "saved_model", None, written, drift, latency_ms, steps, notes)


def _carry(candidate, contract):
    if contract is not None:
        file = candidate / _contract.ASSET
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(contract)


def _asker(loaded, taken):
    """Functions that ask a loaded SavedModel, by signature; see `parity.check`."""

    def output(name, **given):
        (only,) = loaded[name](**given).values()
        return only.numpy()

    def of_recordings(name):
        return lambda recordings: output(name, **taken.batch(recordings))

    def of_embeddings(name, others):
        return lambda x, y: output(name, embedding=x, **{others: y})

    return {
        "embed": of_recordings("embed"),
        "distance": of_embeddings("distance", "gallery"),
        "score": of_embeddings("score", "prototypes"),
        "classify": of_recordings("classify"),
    }


def _drift(candidate, ask, tried, metric, encoder, classifier):
    on_matrices = _devices.works_on_matrices(encoder)
    bounds = (parity.BOUNDS_ON_MATRICES if on_matrices else parity.BOUNDS)[None]
    try:
        return parity.check(candidate, ask, tried, metric, bounds, classifier)
    except parity.ParityError as error:
        is_padding = _is_padding(ask["embed"], tried, bounds.embedding)
        raise parity.ParityError(f"{error}{_masks(encoder) if is_padding else ''}") from None


def _is_padding(embed, tried, bound):
    """Whether embeddings are Keras's but for what fills recordings up to one length."""
    recordings, expected = tried.recordings[: tried.typical], tried.embeddings[: tried.typical]
    alone = np.concatenate([embed([recording]) for recording in recordings])
    drift_alone, drift = (parity.relative_rms(x, expected) for x in (alone, embed(recordings)))
    return drift_alone <= bound and not drift <= bound


def _masks(model):
    """How padding changes an embedding."""
    without = [layer.name for layer in _layers(model) if not layer.supports_masking]
    cause = (
        f"through layers that drop masks: {', '.join(without)}"
        if without
        else "though all layers say that they keep masks: one that normalizes or averages over "
        "time may count it"
    )
    return (
        f" Padding reaches the embedding {cause}. Use layers that leave it out, such as "
        "`keras_dml.layers.MaskedConv1D`; a TFLite file needs no masks."
    )


def _layers(model):
    """Layers that compute, those of models inside too."""
    for layer in model.layers:
        if isinstance(layer, keras.Model):
            yield from _layers(layer)
        elif not isinstance(layer, keras.layers.InputLayer):
            yield layer


def _latency_ms(embed, recording):
    seconds = []
    for _ in range(WARM_UPS + RUNS):
        start = time.perf_counter()
        embed([recording])
        seconds.append(time.perf_counter() - start)
    return float(1000 * np.median(seconds[WARM_UPS:]))
