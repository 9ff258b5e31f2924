"""Computes embeddings of recordings of any length, matrices and images."""

import numpy as np

from keras_dml import embeddings, inputs
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
    """Computes embeddings of recordings of any length, one embedding per recording.

    The function pads recordings with similar lengths, stacks them to a batch, and masks the
    padding. Padding must not change embeddings, so the function first embeds one recording with and
    without padding. If the two embeddings differ, only recordings of equal length share a batch.
    Recordings are never cut.

    The function checks recordings against the input contract of the model. The contract is stored
    in a layer `InputContract` or on the model card in the zoo.

    Several threads may call the function at the same time. Like all calls of TensorFlow and JAX,
    the function hangs in a process that was forked after the backend had run. Therefore start
    worker processes with `multiprocessing.get_context("spawn")`.

    Args:
        model: A `keras.Model`, or the name or path of a saved model (`keras_dml.zoo.load`). If the
            model is a classifier, its encoder computes the embeddings.
        recordings: Arrays of shape `(time, channels)` in the units of the model's contract, one per
            recording. If the first layer of the model takes matrices, such as `BiMap`, pass
            symmetric arrays of shape `(n, n)`. If the model takes images, pass floats in [0, 1] of
            shape `(height, width, channels)`.
        batch_size: Largest number of recordings per batch. In a batch, the longest recording is at
            most twice as long as the shortest recording.
        rate_hz: Sample rate of the recordings in time steps per second, which must equal the rate
            of the model. By default, the rate is not checked.
        progress: Whether to report progress on stderr if the call takes more than two seconds.

    Returns:
        Embeddings in the order of the recordings, a NumPy array of shape `(recordings, ...)`.

    Raises:
        TypeError: If `model` is not a model, if `batch_size` is not an integer, or if a recording
            does not hold real numbers (for example masked, complex or text arrays).
        ValueError: If `recordings` is empty, if a recording is invalid, if `rate_hz` differs from
            the rate of the model, or if an embedding is not finite. A recording is invalid if it is
            empty, does not have shape `(time, channels)` or has a wrong number of channels. A
            recording is also invalid if the model or its contract does not allow its length, if it
            ends in padding and the contract forbids padding, or if it holds NaN or infinity (in
            float32). A matrix is invalid if it is not symmetric. An image is invalid if it has a
            wrong size or values outside [0, 1]. The message contains the index of the recording.

    Warns:
        UserWarning: If the magnitude of most recordings is outside the range that the contract
            states for the training data, for example because recordings are in m/s^2 instead of g.
    """
    batch_size = whole("batch_size", batch_size, 1)
    kind = inputs.from_model(reading.loaded(model))
    if rate_hz is not None:
        kind.check_rate(rate_hz)
    arrays = kind.read(recordings)
    result = None
    batches, is_padded = _batches.batches(kind, arrays, batch_size)
    for rows in bars.track(batches, "embedding") if progress else batches:
        signals = [arrays[row] for row in rows]
        batch = _batches.padded(kind, signals) if is_padded else (np.stack(signals),)
        z = _batches.embeddings(kind.model, *batch)
        embeddings.check_embedded(z, rows, signals)
        if result is None:
            result = np.empty((len(arrays), *z.shape[1:]), z.dtype)
        result[rows] = z
    return result
