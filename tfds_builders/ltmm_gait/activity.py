"""Selection of the minutes in which a person moved the most."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np


def minute_figures(minutes: Iterable[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Returns mean and variance of each channel in each minute. Only one minute is in memory at a
    time.

    Args:
        minutes: Samples of at least one minute, each of shape (T, channels) with the same T.

    Returns:
        Means and variances, each of shape (minutes, channels), float64. They are NaN if a sample is
        NaN.
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
    """Returns the minutes with the largest standard deviation over all channels.

    The variance of a minute is the mean of the variances of its channels. With `scaled`, the
    variance of each channel is first divided by its variance in the whole recording, because
    variances in different units cannot be averaged.

    Args:
        means: Means of the channels from `minute_figures`, shape (minutes, channels).
        variances: Variances of the channels from `minute_figures`, shape (minutes, channels).
        count: Number of minutes to select.
        scaled: Whether variances are first divided by the variance in the whole recording.

    Returns:
        Indices of `count` minutes, or of all minutes if there are fewer, in the order of time.
        Minutes with NaN are left out. If two minutes are equal, the earlier minute is selected.

    >>> means = np.zeros((3, 2))
    >>> variances = np.array([[1.0, 100.0], [9.0, 110.0], [2.0, 300.0]])
    >>> most_active(means, variances, 1).tolist(), most_active(means, variances, 1, False).tolist()
    ([1], [2])
    """
    complete = np.flatnonzero(np.isfinite(variances).all(axis=1))
    usable = variances[complete]  # (complete, channels)
    if scaled and len(usable):
        # the variance of all samples is the variance within minutes plus that between them
        whole = usable.mean(axis=0) + means[complete].var(axis=0)
        usable = np.divide(usable, whole, out=np.zeros_like(usable), where=whole > 0)
    order = np.argsort(-usable.mean(axis=1), kind="stable")
    return np.sort(complete[order[:count]])
