"""Checks recordings and examples. The constructors of samplers call the checks."""

import numpy as np

from keras_dml._arrays import real, refuse_masked
from keras_dml._typing import ArrayLike, Recordings


def as_recordings(x: ArrayLike | Recordings) -> list[np.ndarray]:
    """Checks recordings. Returns a list of finite arrays `(time, channels)`, all with the same
    number of channels.

    Args:
        x: Recordings, shape `(recordings, time, channels)`, or a list (or object array) of arrays
            `(time_i, channels)`.

    Returns:
        List of arrays. If `x` holds arrays, the list contains views of these arrays.

    Raises:
        TypeError: If a recording does not hold real numbers.
        ValueError: If `x` is empty, if a recording has a wrong rank or no values, if recordings
            have different numbers of channels, or if a recording holds NaN or infinite values. The
            error message contains the index of the recording.
    """
    if hasattr(x, "__array__"):
        refuse_masked("`x`", x)
        x = np.asarray(x)
        if x.ndim != 3 and x.dtype.kind != "O":
            raise ValueError(
                "`x` must hold recordings, shape (recordings, time, channels), or be a list of "
                f"arrays (time, channels). Received shape {x.shape}. For one channel "
                "pass `x[..., None]`."
            )
    if not hasattr(x, "__iter__"):
        raise TypeError(
            f"`x` must hold recordings, which are arrays (time, channels). Received {x!r}."
        )
    recordings = [real(f"Recording {index} of `x`", array) for index, array in enumerate(x)]
    if not recordings:
        raise ValueError("`x` must hold at least one recording. Received none.")
    for index, recording in enumerate(recordings):
        _check_recording(index, recording)
        if recording.shape[1] != recordings[0].shape[1]:
            raise ValueError(
                f"`x` must hold recordings with the same channels. Recording {index} has "
                f"{recording.shape[1]} channels, and recording 0 has {recordings[0].shape[1]}."
            )
    return recordings


def as_examples(x: ArrayLike) -> np.ndarray:
    """Checks examples, and returns them as a finite array.

    Args:
        x: Examples, shape `(examples, ...)`.

    Raises:
        TypeError: If the examples do not hold real numbers.
        ValueError: If `x` is empty or has only one axis, or if an example has NaN or infinite
            values. The error message contains the index of the example.
    """
    x = real("`x`", x)
    if x.ndim < 2 or x.size == 0:
        raise ValueError(
            "`x` must hold at least one example, and all examples must have the same shape. "
            "Expected shape (examples, ...). Received "
            f"shape {x.shape}."
        )
    for index, example in enumerate(x):
        _check_finite(f"Example {index} of `x`", example)
    return x


def batch_length(recordings: list[np.ndarray], length: int | None) -> int:
    """Returns the number of time steps in each row of a batch. The number is `length`, or the
    common length of all recordings if `length` is None.

    Raises:
        ValueError: If a recording is shorter than `length`, or if `length` is None and the
            recordings have different lengths.
    """
    lengths = [len(recording) for recording in recordings]
    if length is None:
        if min(lengths) != max(lengths):
            raise ValueError(
                f"`x` holds recordings of {min(lengths)} to {max(lengths)} time steps, but a "
                f"batch needs one length. Pass `length` (at most {min(lengths)}) to cut each "
                "recording by a random crop."
            )
        return lengths[0]
    for index, steps in enumerate(lengths):
        if steps < length:
            raise ValueError(
                f"Recording {index} has {steps} time steps, fewer than length={length}. Leave the "
                f"recording out, or pass at most `length={min(lengths)}`."
            )
    return length


def _check_recording(index, recording):
    """Checks that a recording has two axes, is not empty and holds finite values."""
    if recording.ndim != 2:
        raise ValueError(
            f"Recording {index} of `x` must have shape (time, channels). Received shape "
            f"{recording.shape}. One channel has shape (time, 1)."
        )
    if recording.size == 0:
        raise ValueError(
            f"Recording {index} of `x` is empty. Received shape {recording.shape}. Leave the "
            "recording out."
        )
    _check_finite(f"Recording {index} of `x`", recording)


def _check_finite(name, values):
    with np.errstate(over="ignore"):  # batches are float32, where larger values are infinite
        finite = np.isfinite(values.astype(np.float32, copy=False))
    if not finite.all():
        raise ValueError(
            f"{name} holds NaN or infinite values ({(~finite).sum()} of {finite.size} in float32). "
            "Replace these values, or leave the recording or example out."
        )
