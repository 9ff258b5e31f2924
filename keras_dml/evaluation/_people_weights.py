"""95 % intervals of figures over people: people with random weights, and one more person.

Ten to a hundred people rarely include the few whom a model confuses most. A bootstrap that draws
only the people at hand therefore gives intervals that end too low. Here each replicate gives every
person an exponential weight, the Bayesian bootstrap (Rubin1981), and adds one more person: at the
upper end of an error rate that person errs in every genuine trial, at the lower end in none. For a
mean over people with equally many trials this is the bound of Gaffke2005, and for a rate of zero
the bound of Clopper1934. No proof is known that Gaffke's bound always has its level, and the EER is
not a mean. `tests/bench/coverage.py --fresh` simulates both in five worlds on which no rule was
tuned.

With fixed weights a figure moves only one way when an error is added, and so do its percentiles:
no error can narrow an interval at its far end. The order of the trials does not matter.
"""

from __future__ import annotations

import numpy as np

from keras_dml.evaluation._bootstrap import VALUES_AT_ONCE, Curves
from keras_dml.evaluation._equal_error_rate import crossing
from keras_dml.evaluation._thresholds import last_point_within

DRAWS = 1000
PERCENTILES = (2.5, 97.5)
# How much more often than the wanted rate the one more person is accepted, where a threshold is
# set at a false accept rate: simulated in `tests/bench/coverage.py`.
FAR_OF_ONE_MORE = 10
# Share of the claims by the one more person that a given threshold accepts, see
# `tests/evaluation/test_coverage.py`.
ACCEPTED_OF_ONE_MORE = 0.5


class Replicates:
    """Weights of trials in random replicates.

    Args:
        scores: Checked distances, shape `(trials,)`.
        genuine: Checked booleans, shape `(trials,)`.
        people: None, or `(probe, claimed)` person codes 0, 1, ..., each of shape `(trials,)`. With
            them a genuine trial has the weight of its person, and an imposter trial the product of
            the weights of its two people. Without them each trial has its own weight.
        draws: Number of replicates.
        seed: Seed of the weights.

    Attributes:
        scores: Distances in a fixed order, whatever the order of the given ones.
        genuine: Booleans in this order.
        people: Number of people, or of trials of the rarer kind.
    """

    def __init__(self, scores, genuine, *, people, draws, seed):
        keys = (genuine, scores) if people is None else (*people, genuine, scores)
        order = np.lexsort(keys)
        self.scores, self.genuine = scores[order], genuine[order]
        self._codes = None if people is None else tuple(codes[order] for codes in people)
        self._draws, self._seed = draws, seed
        if people is None:
            self.people = int(min(genuine.sum(), (~genuine).sum()))
        else:
            self.people = int(max(codes.max() for codes in people)) + 1

    def __iter__(self):
        """Blocks of replicates.

        Yields:
            `(weights, genuine_share, imposter_share)`: weights of the trials, shape
            `(count, trials)`, and the shares of the genuine and the imposter trials that the one
            more person has, both of shape `(count, 1)`.
        """
        rng = np.random.default_rng(self._seed)
        at_once = max(1, VALUES_AT_ONCE // self.genuine.size)
        for start in range(0, self._draws, at_once):
            count = min(at_once, self._draws - start)
            yield (
                self._of_trials(rng, count) if self._codes is None else self._of_people(rng, count)
            )

    def _of_trials(self, rng, count):
        drawn = rng.standard_exponential((count, self.genuine.size + 2))
        more, count = drawn[:, -2:], int(self.genuine.sum())
        # by rank within each kind, so that an added error changes no other weight
        weights = np.empty((len(drawn), self.genuine.size))
        weights[:, self.genuine], weights[:, ~self.genuine] = np.split(drawn[:, :-2], [count], 1)
        totals = np.stack([weights @ kind for kind in (self.genuine, ~self.genuine)], axis=1)
        shares = more / (more + totals)
        return weights, shares[:, :1], shares[:, 1:]

    def _of_people(self, rng, count):
        drawn = rng.standard_exponential((count, self.people + 1))
        weights, more = drawn[:, :-1], drawn[:, -1:]
        probe, claimed = self._codes
        of_person = np.bincount(probe[self.genuine], minlength=self.people)  # genuine trials
        usual = of_person.sum() / np.count_nonzero(of_person)
        genuine_share = usual * more / (usual * more + weights @ of_person[:, None])
        imposter_share = more / drawn.sum(axis=1, keepdims=True)
        of_trials = weights[:, probe]
        of_trials *= np.where(self.genuine, 1.0, weights[:, claimed])
        return of_trials, genuine_share, imposter_share


def verification_intervals(scores, genuine, *, people, draws, fars, seed):
    """Computes 95 % intervals of AUC, EER and TAR at false accept rates.

    Args:
        scores: Checked distances, shape `(trials,)`.
        genuine: Checked booleans, shape `(trials,)`.
        people: See `Replicates`.
        draws: Number of replicates.
        fars: False accept rates for which the interval of the TAR is wanted. At its lower end the
            threshold leaves room for one more person who is accepted ten times as often.
        seed: Seed of the weights.

    Returns:
        `{"auc": (low, high), "eer": ..., "tar_at_far_0.01": ...}`.
    """
    replicates = Replicates(scores, genuine, people=people, draws=draws, seed=seed)
    curves = Curves(replicates.scores, replicates.genuine)
    stricter = [_with_one_more(far, replicates.people) for far in fars]
    worse, better = [], []
    for weights, share, _ in replicates:
        far, tar = curves(weights)
        rejected, accepted = (1 - share) * tar, share + (1 - share) * tar
        worse.append(_figures(far, rejected, stricter))
        better.append(_figures(far, accepted, fars))
    worse, better = np.concatenate(worse), np.concatenate(better)
    names = ("auc", "eer", *(f"tar_at_far_{far:g}" for far in fars))
    return {
        name: interval(better[:, i], worse[:, i])
        if name == "eer"
        else interval(worse[:, i], better[:, i])
        for i, name in enumerate(names)
    }


def eer_replicates(scores, genuine, *, people, draws, seed):
    """Computes equal error rates of replicates, arguments as in `Replicates`.

    Returns:
        `(better, worse)`, both of shape `(draws,)`: where the one more person errs in no genuine
        trial, and in every one.
    """
    replicates = Replicates(scores, genuine, people=people, draws=draws, seed=seed)
    curves = Curves(replicates.scores, replicates.genuine)
    better, worse = [], []
    for weights, share, _ in replicates:
        far, tar = curves(weights)
        better.append(crossing(far, share + (1 - share) * tar)[0])
        worse.append(crossing(far, (1 - share) * tar)[0])
    return np.concatenate(better), np.concatenate(worse)


def interval(lower, upper):
    """Returns the 2.5 percentile of one set of replicates and the 97.5 percentile of another."""
    return float(np.percentile(lower, PERCENTILES[0])), float(np.percentile(upper, PERCENTILES[1]))


def mean_interval(values, people, *, draws=DRAWS, seed=0):
    """Computes the 95 % interval of a mean of values from 0 to 1 over people.

    Args:
        values: Shape `(examples,)`.
        people: Person of each example, shape `(examples,)`, or None: each example is of another
            person.
        draws: Number of replicates.
        seed: Seed of the weights.

    Returns:
        `(low, high)`.
    """
    if people is None:
        sums, counts = np.sort(values), np.ones(len(values))
    else:
        codes = np.unique(people, return_inverse=True)[1]
        sums, counts = np.bincount(codes, values), np.bincount(codes)
    drawn = np.random.default_rng(seed).standard_exponential((draws, len(sums) + 1))
    more = counts.mean() * drawn[:, -1]
    sums, totals = drawn[:, :-1] @ sums, drawn[:, :-1] @ counts + more
    return interval(sums / totals, (sums + more) / totals)


def accept_intervals(accepted, genuine, *, people, draws, seed):
    """Computes 95 % intervals of the rates at which imposter and genuine trials are accepted.

    Args:
        accepted: Chance from 0 to 1 that each trial is accepted, shape `(trials,)`.
        genuine: Checked booleans, shape `(trials,)`.
        people: See `Replicates`.
        draws: Number of replicates.
        seed: Seed of the weights.

    Returns:
        `(far_ci95, tar_ci95)`.
    """
    replicates = Replicates(accepted, genuine, people=people, draws=draws, seed=seed)
    chances, genuine = replicates.scores, replicates.genuine
    accepted_of_one_more = 1.0 if people is None else ACCEPTED_OF_ONE_MORE
    far, tar = [], []
    for weights, genuine_share, imposter_share in replicates:
        for ends, kind, share, most in (
            (far, ~genuine, imposter_share, accepted_of_one_more),
            (tar, genuine, genuine_share, 1.0),
        ):
            rates = (weights @ (chances * kind) / (weights @ kind))[:, None]
            lower = rates * (1 - share)
            ends.append(np.hstack([lower, lower + np.maximum(rates, most) * share]))
    return interval(*np.concatenate(far).T), interval(*np.concatenate(tar).T)


def cost_interval(scores, genuine, *, people, draws, miss, false_accept):
    """Computes the 95 % interval of the minimum normalized detection cost.

    Args:
        scores: Checked distances, shape `(trials,)`.
        genuine: Checked booleans, shape `(trials,)`.
        people: See `Replicates`.
        draws: Number of replicates.
        miss: Cost of rejecting all genuine trials.
        false_accept: Cost of accepting all imposters.
    """
    replicates = Replicates(scores, genuine, people=people, draws=draws, seed=0)
    curves = Curves(replicates.scores, replicates.genuine)
    better, worse = [], []
    for weights, share, _ in replicates:
        far, tar = curves(weights)
        for accepted, costs in ((share, better), (0, worse)):
            lost = 1 - accepted - (1 - share) * tar
            costs.append((miss * lost + false_accept * far).min(axis=1))
    least = min(miss, false_accept)
    worse = np.minimum(np.concatenate(worse), least)  # accept or reject everybody
    return interval(np.concatenate(better) / least, worse / least)


def of_probes(people, genuine):
    """Person codes of trials in which only the probe is a person, for `Replicates`.

    Args:
        people: Person of each probe, shape `(trials,)`.
        genuine: Checked booleans, shape `(trials,)`.

    Returns:
        `(probe, claimed)`. All imposter trials claim one more code, whose weight cancels.
    """
    codes = np.unique(people, return_inverse=True)[1]
    return codes, np.where(genuine, codes, codes.max() + 1)


def _with_one_more(far, people):
    """The false accept rate of the people at hand that leaves room for one more."""
    share = min(1.0, 2 * FAR_OF_ONE_MORE * far / (people + 1))  # of the pairs of people
    return max(0.0, (far - share) / (1 - share)) if share < 1 else 0.0


def _figures(far, tar, fars):
    """AUC, EER and TAR at each of some false accept rates, shape `(count, 2 + fars)`."""
    auc = np.sum(np.diff(far, axis=1) * (tar[:, 1:] + tar[:, :-1]) / 2, axis=1)
    at_fars = (
        np.take_along_axis(tar, last_point_within(far, wanted)[:, None], axis=1)[:, 0]
        for wanted in fars
    )
    return np.stack([auc, crossing(far, tar)[0], *at_fars], axis=1)
