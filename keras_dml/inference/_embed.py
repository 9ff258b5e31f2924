"""Embeddings of recordings of any lengths, of matrices and of images."""

import numpy as np

from keras_dml import progress as bars
from keras_dml._arrays import whole
from keras_dml.inference import _batches, _inputs
from keras_dml.models import parts
from keras_dml.zoo import reading


def embed(model, recordings, batch_size=32, *, rate_hz=None, progress=True):
    """Embeddings of recordings of any lengths, in their order.

    Recordings of similar length are padded to one batch under a mask, which leaves every embedding
    as it is alone: a recording is tried both ways first, and in a model where padding counts only
    recordings of equal length share a batch. Nothing is cut: one recording, one embedding.

    Several threads may call it at once. A process that was forked after the backend ran hangs in
    it, as in any call of TensorFlow or JAX: start workers by `spawn`
    (`multiprocessing.get_context("spawn")`).

    Args:
        model: A `keras.Model`, or the name of a zoo model; of a `PrototypicalClassifier` its
            encoder is asked.
        recordings: Arrays of shape `(time, channels)` in the units of the model's card, one a
            recording; for a model that begins with a layer on matrices, such as `BiMap`, symmetric
            arrays of shape `(n, n)`; for a model of images floats in [0, 1] of shape `(height,
            width, channels)`.
        batch_size: Greatest number of recordings in a batch; their lengths are within a factor of
            two.
        rate_hz: Samples a second of recordings of sound, to be compared with the rate that the
            model hears at; None: not compared.
        progress: Whether to report progress on stderr when it takes more than two seconds.

    Returns:
        NumPy array, shape `(recordings, ...)`.

    Raises:
        TypeError: If `model` is no model, `batch_size` no integer, or a recording does not hold
            real numbers: masked, complex, text.
        ValueError: If there are no recordings, or one is empty, not of shape `(time, channels)`,
            has another number of channels than the model, another length than a model of fixed
            length or its card takes, or holds NaN or infinity (in float32), or a matrix is not
            symmetric, or an image has another size or values outside [0, 1]; the message names its
            place in the list. Also for sound of another rate than the model's, and where the
            embedding is not finite.
    """
    batch_size = whole("batch_size", batch_size, 1)
    model = parts.encoder(reading.load(model) if isinstance(model, str) else model)
    _inputs.check_model(model)
    if rate_hz is not None:
        _inputs.check_rate(model, rate_hz)
    signals = _inputs.checked(model, recordings)
    _check_lengths(signals, *reading.limits(model))
    embeddings = None
    batches, is_padded = _batches.batches(model, signals, batch_size)
    for rows in bars.track(batches, "embedding") if progress else batches:
        chosen = [signals[row] for row in rows]
        batch = _batches.padded(chosen) if is_padded else (np.stack(chosen),)
        found = _batches.answer(model, *batch)
        _check_finite(found, rows, chosen)
        if embeddings is None:
            embeddings = np.empty((len(signals), *found.shape[1:]), found.dtype)
        embeddings[rows] = found
    return embeddings


def _check_lengths(signals, least, greatest):
    allowed = f"{least} or more" if greatest == float("inf") else f"{least} to {greatest}"
    for i, signal in enumerate(signals):
        if not least <= len(signal) <= greatest:
            raise ValueError(
                f"Recording {i} has {len(signal)} steps, the model's card allows {allowed}: of "
                "others its figures say nothing. Cut windows of a longer one, leave out a shorter."
            )


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
