"""Bootstrap intervals of error rates, over people where they are known."""

from __future__ import annotations

import numpy as np
from scipy.integrate import trapezoid

from keras_dml.evaluation._equal_error_rate import crossing
from keras_dml.evaluation._thresholds import last_point_within

VALUES_AT_ONCE = 2**22  # weights held in memory: 32 MiB of float64


def bootstrap_intervals(scores, genuine, *, people, draws, fars, seed):
    """95 % intervals of AUC, EER and TAR: the 2.5 and 97.5 percentiles over resampled trials.

    Args:
        scores: Checked distances, shape `(trials,)`.
        genuine: Checked booleans, shape `(trials,)`.
        people: None, or `(probe, claimed)` person codes 0, 1, ..., each of shape `(trials,)`. With
            them a replicate draws people with replacement: a genuine trial counts as often as its
            person was drawn, an imposter trial as the product of its two. Without them it draws
            genuine trials among genuine ones and imposter trials among imposter ones.
        draws: Number of replicates. One without both kinds of trial is drawn again.
        fars: False accept rates for which the interval of the TAR is wanted.
        seed: Seed of the draws.

    Returns:
        `{"auc": (low, high), "eer": ..., "tar_at_far_0.01": ...}`.
    """
    rng = np.random.default_rng(seed)
    order = np.argsort(scores, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(scores[order])), scores.size - 1)  # last of a run
    at_once = max(1, VALUES_AT_ONCE // scores.size)
    replicates = []
    for start in range(0, draws, at_once):
        count = min(at_once, draws - start)
        weights = np.stack([_draw(rng, genuine, people) for _ in range(count)])  # (count, trials)
        far, tar = _weighted_curves(weights[:, order], genuine[order], ends)
        replicates.append(_figures(far, tar, fars))
    names = ("auc", "eer", *(f"tar_at_far_{far:g}" for far in fars))
    bounds = np.percentile(np.concatenate(replicates), [2.5, 97.5], axis=0).T.tolist()
    return {name: tuple(pair) for name, pair in zip(names, bounds, strict=True)}


def _draw(rng, genuine, people):
    """How often each trial counts in one replicate, shape `(trials,)`."""
    if people is None:
        weights = np.empty(genuine.size)
        for kind in (genuine, ~genuine):
            size = int(kind.sum())
            weights[kind] = np.bincount(rng.integers(size, size=size), minlength=size)
        return weights
    while True:
        weights = trial_weights(genuine, people, _multiplicities(rng, people))
        if weights[genuine].any() and weights[~genuine].any():
            return weights


def _multiplicities(rng, people):
    size = int(max(codes.max() for codes in people)) + 1
    return np.bincount(rng.integers(size, size=size), minlength=size)


def trial_weights(genuine, people, multiplicities):
    """Weight of each trial when person a was drawn `multiplicities[a]` times."""
    probe, claimed = (multiplicities[codes] for codes in people)
    return np.where(genuine, probe, probe * claimed).astype(np.float64)


def _weighted_curves(weights, genuine, ends):
    """FAR and TAR at -inf and at the end of each run of equal scores, shape `(count, points)`."""
    rates = []
    for kind in (~genuine, genuine):
        counted = np.cumsum(weights * kind, axis=1)[:, ends]
        accepted = np.pad(counted, ((0, 0), (1, 0)))
        rates.append(accepted / accepted[:, -1:])
    return rates


def _figures(far, tar, fars):
    at_fars = (
        np.take_along_axis(tar, last_point_within(far, wanted)[:, None], axis=1)[:, 0]
        for wanted in fars
    )
    return np.stack([trapezoid(tar, far, axis=1), crossing(far, tar)[0], *at_fars], axis=1)
