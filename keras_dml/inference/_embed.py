"""Embeddings of recordings of any lengths, of matrices and of images."""

import numpy as np

from keras_dml import inputs
from keras_dml import progress as bars
from keras_dml._arrays import whole
from keras_dml.inference import _batches
from keras_dml.zoo import reading


def embed(model, recordings, batch_size=32, *, rate_hz=None, progress=True):
    """Computes embeddings of recordings of any lengths, in their order.

    Recordings of similar length are padded to one batch under a mask, which leaves every embedding
    as it is alone. One recording is first embedded with and without padding; where the results
    differ, only recordings of equal length share a batch. Nothing is cut: one recording, one
    embedding.

    Recordings are checked by the model's contract, which a layer `InputContract` carries and the
    card of a zoo model names.

    Several threads may call it at once. A process that was forked after the backend ran hangs in
    it, as in any call of TensorFlow or JAX: start workers by `spawn`
    (`multiprocessing.get_context("spawn")`).

    Args:
        model: A `keras.Model`, or the name or path of a saved one (`keras_dml.zoo.load`). The
            encoder of a classifier embeds.
        recordings: Arrays of shape `(time, channels)` in the units of the model's contract, one a
            recording; for a model that begins with a layer on matrices, such as `BiMap`, symmetric
            arrays of shape `(n, n)`; for a model of images floats in [0, 1] of shape `(height,
            width, channels)`.
        batch_size: Largest number of recordings in a batch; their lengths are within a factor of
            two.
        rate_hz: Rate of the recordings, in steps a second, to be compared with the model's; None:
            not compared.
        progress: Whether to report progress on stderr when it takes more than two seconds.

    Returns:
        NumPy array, shape `(recordings, ...)`.

    Raises:
        TypeError: If `model` is not a model, `batch_size` is not an integer, or a recording does
            not hold real numbers: masked, complex, text.
        ValueError: If there are no recordings, or one is empty, not of shape `(time, channels)`,
            has another number of channels than the model, another length than a model of fixed
            length or its contract takes, ends in padding that a contract forbids, or holds NaN or
            infinity (in float32), or a matrix is not symmetric, or an image has another size or
            values outside [0, 1]; the message names its index. Also for another rate than the
            model's, and where the embedding is not finite.

    Warns:
        UserWarning: If most recordings have another magnitude than those of training, by the
            contract: m/s^2 were given for g.
    """
    batch_size = whole("batch_size", batch_size, 1)
    taken = inputs.of(reading.loaded(model))
    if rate_hz is not None:
        taken.check_rate(rate_hz)
    arrays = taken.read(recordings)
    embeddings = None
    batches, is_padded = _batches.batches(taken, arrays, batch_size)
    for rows in bars.track(batches, "embedding") if progress else batches:
        chosen = [arrays[row] for row in rows]
        batch = _batches.padded(taken, chosen) if is_padded else (np.stack(chosen),)
        found = _batches.embeddings(taken.model, *batch)
        _check_finite(found, rows, chosen)
        if embeddings is None:
            embeddings = np.empty((len(arrays), *found.shape[1:]), found.dtype)
        embeddings[rows] = found
    return embeddings


def _check_finite(embeddings, rows, signals):
    finite = np.isfinite(embeddings).reshape(len(embeddings), -1).all(axis=1)
    if not finite.all():
        first = np.flatnonzero(~finite)[np.argmin(rows[~finite])]
        signal = signals[first]
        raise ValueError(
            f"The embedding of recording {rows[first]} is not finite, although its numbers are: "
            f"shape {signal.shape}, from {signal.min():.3g} to {signal.max():.3g}. It is too short "
            "for the model, or not in its unit; the model's card says what it takes."
        )
