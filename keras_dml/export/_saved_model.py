"""One model as a SavedModel for TensorFlow, without Keras at the other end."""

import os
import pathlib
import time

import numpy as np

from keras_dml.export import _devices, parity, signatures
from keras_dml.export._files import size, staged
from keras_dml.export._quiet import quiet
from keras_dml.export.result import Export
from keras_dml.export.trials import trials

RUNS = 21  # of which the median counts
WARM_UPS = 3


def saved_model(model, path: str | os.PathLike, *, distance=None) -> Export:
    """Writes a model as a SavedModel with the signatures `embed` and `distance`, for any batch and
    length.

    - `embed(signal, length)`: signal (n, time, channels) float32, recordings padded to one length;
    length (n,)
      int32. Gives `embedding` (n, ...), which padding does not change. A model of matrices has
      `embed(matrix)`: (n, size, size) float32.
    - `distance(embedding, gallery)`: (n, ...) and (m, ...), gives `distance` (n, m), small is near.

    It needs TensorFlow alone: `tf.saved_model.load(path).signatures["embed"](signal=...,
    length=...)["embedding"]`. It is loaded and compared with Keras before it takes the place of
    what `path` held.

    Args:
        model: A `keras.Model` of one input, `(batch, time, channels)` or, of symmetric matrices,
            `(batch, size, size)`; or the name of a zoo model.
        path: The folder to write.
        distance: A distance or its name, for a model whose last layer names none.

    Returns:
        `Export`: path, size, drift, latency (on all threads).

    Raises:
        ValueError: If `path` is a folder that holds something else, or the model has no distance or
            is not built; `parity.ParityError` if the SavedModel would not answer as Keras does.
        RuntimeError: If Keras does not run on TensorFlow.
    """
    tf = signatures.tensorflow()
    path = pathlib.Path(path)
    _check_place(path)
    model = signatures.encoder(model)
    metric = signatures.metric_of(model, distance)
    tried = trials(model)
    with staged(path) as candidate:
        with quiet():
            signatures.write(signatures.for_batches(model, metric), candidate)
        loaded = tf.saved_model.load(str(candidate)).signatures
        drift = _drift(candidate, loaded, tried, metric, model)
        latency_ms = _latency_ms(loaded["embed"], signatures.batch(model, [tried.timed]))
    return Export(path, "saved_model", None, size(path), drift, latency_ms, len(tried.timed))


def _check_place(path):
    if path.is_file() or (
        path.is_dir() and any(path.iterdir()) and not (path / "saved_model.pb").exists()
    ):
        raise ValueError(
            f"{str(path)!r} is there and is no SavedModel, so it is left as it is. Give a folder "
            "that does not exist, is empty or holds a SavedModel, which is replaced."
        )


def _drift(candidate, loaded, tried, metric, model):
    on_matrices = _devices.works_on_matrices(model)
    bounds = (parity.BOUNDS_ON_MATRICES if on_matrices else parity.BOUNDS)[None]
    embeddings = loaded["embed"](**signatures.batch(model, tried.recordings))["embedding"].numpy()
    try:
        drift = parity.check_embeddings(candidate, embeddings, tried, metric, bounds.embedding)
    except parity.ParityError as error:
        raise parity.ParityError(f"{error}{_masks(model)}") from None
    gallery = parity.gallery(embeddings, metric)
    found = loaded["distance"](embedding=gallery, gallery=gallery)["distance"].numpy()
    parity.check_distances(candidate, found, gallery, metric, bounds.distance)
    return drift


def _masks(model):
    """The likely cause where padding changes an embedding."""
    without = [layer.name for layer in model.layers if not layer.supports_masking]
    if not without:
        return ""
    return (
        f" Padding reaches the embedding through layers that drop masks: {', '.join(without)}. "
        "Use layers that keep them, such as `keras_dml.layers.MaskedConv1D`; a TFLite file needs "
        "no masks."
    )


def _latency_ms(embed, one):
    seconds = []
    for _ in range(WARM_UPS + RUNS):
        start = time.perf_counter()
        embed(**one)["embedding"].numpy()
        seconds.append(time.perf_counter() - start)
    return float(1000 * np.median(seconds[WARM_UPS:]))
