"""Embeddings of recordings of any lengths, of matrices and of images."""

import numpy as np

from keras_dml import inputs
from keras_dml import progress as bars
from keras_dml._arrays import whole
from keras_dml._backend import keras
from keras_dml._typing import ArrayLike, Path, Recordings
from keras_dml.inference import _batches
from keras_dml.zoo import reading


def embed(
    model: keras.Model | Path,
    recordings: ArrayLike | Recordings,
    batch_size: int = 32,
    *,
    rate_hz: float | None = None,
    progress: bool = True,
) -> np.ndarray:
    """Computes embeddings of recordings of any lengths, in their order.

    Recordings of similar length are padded to one batch under a mask, which does not change their
    embeddings. To verify that, one recording is first embedded with and without padding. If the
    results differ, only recordings of equal length share a batch. Recordings are not cut: each
    recording has one embedding.

    Recordings are checked against the model's contract, which is in a layer `InputContract` or on
    the card of a zoo model.

    Several threads may call it at once. A process that was forked after the backend ran hangs in
    this function, as in any call of TensorFlow or JAX. Start workers by `spawn`
    (`multiprocessing.get_context("spawn")`).

    Args:
        model: A `keras.Model`, or the name or path of a saved one (`keras_dml.zoo.load`). For a
            classifier, its encoder computes the embeddings.
        recordings: Arrays of shape `(time, channels)` in the units of the model's contract, one per
            recording. If the model begins with a layer on matrices, such as `BiMap`: symmetric
            arrays of shape `(n, n)`. If it takes images: floats in [0, 1] of shape `(height, width,
            channels)`.
        batch_size: Largest number of recordings in a batch, whose lengths are within a factor of
            two.
        rate_hz: Rate of the recordings in steps per second, which is compared with the rate of the
            model; None: not compared.
        progress: Whether to report progress on stderr when it takes more than two seconds.

    Returns:
        NumPy array, shape `(recordings, ...)`.

    Raises:
        TypeError: If `model` is not a model, `batch_size` is not an integer, or a recording does
            not hold real numbers, such as masked, complex or text arrays.
        ValueError: If `recordings` is empty, a recording is invalid, the rate differs from the rate
            of the model, or an embedding is not finite. A recording is invalid if it is empty, does
            not have shape `(time, channels)`, has another number of channels than the model, has a
            length that the model or its contract does not take, ends in padding that the contract
            forbids, or holds NaN or infinity (in float32). A matrix is invalid if it is not
            symmetric, and an image if it has another size or values outside [0, 1]. The message
            names the index.

    Warns:
        UserWarning: If most recordings have another magnitude than in training, according to the
            contract, for example if they are in m/s^2 instead of g.
    """
    batch_size = whole("batch_size", batch_size, 1)
    kind = inputs.from_model(reading.loaded(model))
    if rate_hz is not None:
        kind.check_rate(rate_hz)
    arrays = kind.read(recordings)
    embeddings = None
    batches, is_padded = _batches.batches(kind, arrays, batch_size)
    for rows in bars.track(batches, "embedding") if progress else batches:
        signals = [arrays[row] for row in rows]
        batch = _batches.padded(kind, signals) if is_padded else (np.stack(signals),)
        z = _batches.embeddings(kind.model, *batch)
        _check_finite(z, rows, signals)
        if embeddings is None:
            embeddings = np.empty((len(arrays), *z.shape[1:]), z.dtype)
        embeddings[rows] = z
    return embeddings


def _check_finite(embeddings, rows, signals):
    finite = np.isfinite(embeddings).reshape(len(embeddings), -1).all(axis=1)
    if not finite.all():
        first = np.flatnonzero(~finite)[np.argmin(rows[~finite])]
        signal = signals[first]
        raise ValueError(
            f"The embedding of recording {rows[first]} is not finite, although its numbers are: "
            f"shape {signal.shape}, from {signal.min():.3g} to {signal.max():.3g}. It is too short "
            "for the model, or not in its unit. See the model's card for lengths and units."
        )
