"""Bootstrap replicates of trials, over people where they are known, for paired differences."""

from __future__ import annotations

import numpy as np

VALUES_AT_ONCE = 2**22  # weights held in memory: 32 MiB of float64
RULE_OF_THREE = 3  # none in n: the rate is at most 3 / n with 95 % confidence (Jovanovic1997)


def replicates(genuine, *, people, draws, seed):
    """Yields how often each trial counts in each replicate, in parts of shape `(count, trials)`.

    Args:
        genuine: Checked booleans, shape `(trials,)`.
        people: None, or `(probe, claimed)` person codes 0, 1, ..., each of shape `(trials,)`. With
            them a replicate draws people with replacement: a genuine trial counts as often as its
            person was drawn, an imposter trial as the product of its two. Without them it draws
            genuine trials among genuine ones and imposter trials among imposter ones.
        draws: Number of replicates. A replicate without both kinds of trial is drawn again.
        seed: Seed of the draws.
    """
    rng = np.random.default_rng(seed)
    at_once = max(1, VALUES_AT_ONCE // genuine.size)
    for start in range(0, draws, at_once):
        count = min(at_once, draws - start)
        yield np.stack([_draw(rng, genuine, people) for _ in range(count)])


def percentiles(values):
    """The 2.5 and 97.5 percentiles of each column, pairs of floats."""
    return np.percentile(values, [2.5, 97.5], axis=0).T.tolist()


def without_errors(people, genuine):
    """Upper bound of an error rate of which nobody had one, by the rule of three.

    Args:
        people: None, or `(probe, claimed)` person codes, each of shape `(trials,)`.
        genuine: Booleans, shape `(trials,)`.

    Returns:
        3 / n, at most 1; n counts the people with genuine trials, or these trials where people
        are not known.
    """
    count = int(genuine.sum()) if people is None else np.unique(people[0][genuine]).size
    return min(1.0, RULE_OF_THREE / count)


class Curves:
    """Error curves of replicates, FAR and TAR of shape `(count, points)`, from their weights.

    Args:
        scores: Checked distances, shape `(trials,)`.
        genuine: Checked booleans, shape `(trials,)`.
    """

    def __init__(self, scores, genuine):
        self.order = np.argsort(scores, kind="stable")
        ordered = scores[self.order]
        self.genuine = genuine[self.order]
        self.ends = np.append(np.flatnonzero(np.diff(ordered)), scores.size - 1)  # last of a run

    def __call__(self, weights):
        return _weighted_curves(weights[:, self.order], self.genuine, self.ends)


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
