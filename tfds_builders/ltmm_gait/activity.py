"""Functions that select the minutes in which a person moved the most."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np


def minute_figures(minutes: Iterable[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Returns the mean and the variance of each channel in each minute. The function holds only one
    minute in memory at a time.

    Args:
        minutes: Arrays of samples, one array per minute. All arrays have the same shape (T,
            channels). There must be at least one array.

    Returns:
        Means and variances, each of shape (minutes, channels), float64. If a minute has a NaN
        sample, the means and variances of the minute are NaN.
    """
    figures = [
        (np.mean(minute, axis=0, dtype=np.float64), np.var(minute, axis=0, dtype=np.float64))
        for minute in minutes
    ]
    means, variances = zip(*figures, strict=True)
    return np.stack(means), np.stack(variances)


def most_active(
    means: np.ndarray, variances: np.ndarray, count: int, scaled: bool = True
) -> np.ndarray:
    """Returns the minutes with the largest variance.

    The variance of a minute is the mean of the variances of its channels. If `scaled` is True, each
    variance is first divided by the variance of the channel in the whole recording. Without this
    division, the mean would be of variances in different units, which is meaningless.

    Args:
        means: Means of the channels from `minute_figures`, shape (minutes, channels).
        variances: Variances of the channels from `minute_figures`, shape (minutes, channels).
        count: Number of minutes to select.
        scaled: Whether to divide each variance by the variance of the channel in the whole
            recording.

    Returns:
        Indices of `count` minutes, in the order of time. Minutes with NaN are left out. If fewer
        than `count` minutes remain, all remaining minutes are selected. If two minutes have the
        same variance, the earlier minute is selected.

    >>> means = np.zeros((3, 2))
    >>> variances = np.array([[1.0, 100.0], [9.0, 110.0], [2.0, 300.0]])
    >>> most_active(means, variances, 1).tolist(), most_active(means, variances, 1, False).tolist()
    ([1], [2])
    """
    complete = np.flatnonzero(np.isfinite(variances).all(axis=1))
    usable = variances[complete]  # (complete, channels)
    if scaled and len(usable):
        # variance of all samples = mean variance within minutes + variance of the minutes' means
        whole = usable.mean(axis=0) + means[complete].var(axis=0)
        usable = np.divide(usable, whole, out=np.zeros_like(usable), where=whole > 0)
    order = np.argsort(-usable.mean(axis=1), kind="stable")
    return np.sort(complete[order[:count]])
