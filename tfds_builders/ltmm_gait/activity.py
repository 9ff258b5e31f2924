"""Which minutes of three days a person moved most in."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np


def minute_figures(minutes: Iterable[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Returns mean and variance of each channel in each minute, of one minute at a time in memory.

    Args:
        minutes: (T, channels) samples of each minute, all of one length; at least one.

    Returns:
        Means and variances, (minutes, channels) float64; NaN where a sample is NaN.
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

    The variance of a minute is the mean over its channels. With `scaled`, each channel is first
    divided by its variance in the whole recording, as channels of two units cannot be averaged.

    Args:
        means: (minutes, channels) means of the channels, from `minute_figures`.
        variances: (minutes, channels) variances.
        count: Number of minutes wanted.
        scaled: Whether the channels are brought to one unit.

    Returns:
        Indices of the minutes in the order of time: `count`, or all where there are fewer. A minute
        with NaN is left out; of equals the earlier is taken.

    >>> means = np.zeros((3, 2))
    >>> variances = np.array([[1.0, 100.0], [9.0, 110.0], [2.0, 300.0]])
    >>> most_active(means, variances, 1).tolist(), most_active(means, variances, 1, False).tolist()
    ([1], [2])
    """
    complete = np.flatnonzero(np.isfinite(variances).all(axis=1))
    kept = variances[complete]  # (complete, channels)
    if scaled and len(kept):
        # the variance of all samples: within minutes of one length, and between them
        whole = kept.mean(axis=0) + means[complete].var(axis=0)
        kept = np.divide(kept, whole, out=np.zeros_like(kept), where=whole > 0)
    order = np.argsort(-kept.mean(axis=1), kind="stable")
    return np.sort(complete[order[:count]])
