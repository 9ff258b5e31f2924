"""95 % intervals of figures over people, by the Bayesian bootstrap with one additional person.

Ten to a hundred people rarely include the few whom a model confuses most. A percentile bootstrap
draws only from the people at hand, so its intervals end too low. The intervals of this module use
two steps instead:

- Each replicate gives every person an exponential random weight (Bayesian bootstrap, Rubin1981).
- Each replicate adds one more person. At the upper end of an error rate this person errs in every
  genuine trial, at the lower end in none.

For a mean over people with equally many trials this is the bound of Gaffke2005, and for a rate of
zero it is the bound of Clopper1934 (Clopper-Pearson). It is not proved that Gaffke's bound always
has its level, and the EER is not a mean. `tests/bench/coverage.py --fresh` therefore simulates the
coverage in five worlds that were not used to tune any rule.

With fixed weights, adding an error moves a figure in one direction only, and so do its percentiles:
no additional error narrows an interval at its far end. The order of the trials does not matter.

Three other methods stand in this module for other questions:

- `replicates` draws people with replacement (percentile bootstrap), for paired differences.
- `independent_pairs` uses the jackknife over people with the degrees of freedom of Satterthwaite,
  as Korn-Graubard intervals do, to count how many independent pairs of people the trials are worth.
- `interval_of_others` is the interval of the false accept rate of as many other people.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array
from scipy.stats import norm
from scipy.stats import t as student

from keras_dml.evaluation._error_curves import WeightedCurves, crossing, last_point_within

DRAWS = 1000
PERCENTILES = (2.5, 97.5)
OUTSIDE = 0.05  # probability outside an interval
VALUES_AT_ONCE = 2**22  # weights in memory at once: 32 MiB of float64
# No event in n trials: the rate is at most 3 / n with 95 % confidence (Jovanovic1997).
RULE_OF_THREE = 3
# The additional person is accepted this many times as often as the wanted false accept rate when a
# threshold is set at that rate: simulated in `tests/bench/coverage.py`.
FAR_OF_ONE_MORE = 10
# Fraction of the claims by the additional person that a fixed threshold accepts, see
# `tests/evaluation/test_coverage.py`.
ACCEPTED_OF_ONE_MORE = 0.5


class WeightedReplicates:
    """Random weights of trials, in replicates of the Bayesian bootstrap.

    Args:
        scores: Checked distances, shape `(trials,)`.
        genuine: Checked booleans, shape `(trials,)`.
        people: None, or `(probe, claimed)` person codes 0, 1, ..., each of shape `(trials,)`. With
            them a genuine trial has the weight of its person, and an imposter trial the product of
            the weights of its two people. Without them each trial has its own weight.
        draws: Number of replicates.
        seed: Seed of the weights.

    Attributes:
        scores: Distances in an order that does not depend on the order of the arguments.
        genuine: Booleans in this order.
        people: Number of people; without `people` the number of trials of the rarer kind.
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
        """Draws blocks of replicates.

        Yields:
            `(weights, genuine_share, imposter_share)`: weights of the trials, shape
            `(count, trials)`, and the shares of the genuine and the imposter trials that belong to
            the additional person, both of shape `(count, 1)`.
        """
        rng = np.random.default_rng(self._seed)
        at_once = max(1, VALUES_AT_ONCE // self.genuine.size)
        draw = self._weights_of_trials if self._codes is None else self._weights_of_people
        for start in range(0, self._draws, at_once):
            yield draw(rng, min(at_once, self._draws - start))

    def _weights_of_trials(self, rng, count):
        drawn = rng.standard_exponential((count, self.genuine.size + 2))
        more, count = drawn[:, -2:], int(self.genuine.sum())
        # by rank within each kind, so that an added error changes no other weight
        weights = np.empty((len(drawn), self.genuine.size))
        weights[:, self.genuine], weights[:, ~self.genuine] = np.split(drawn[:, :-2], [count], 1)
        totals = np.stack([weights @ kind for kind in (self.genuine, ~self.genuine)], axis=1)
        shares = more / (more + totals)
        return weights, shares[:, :1], shares[:, 1:]

    def _weights_of_people(self, rng, count):
        drawn = rng.standard_exponential((count, self.people + 1))
        weights, more = drawn[:, :-1], drawn[:, -1:]
        probe, claimed = self._codes
        genuine_trials = np.bincount(probe[self.genuine], minlength=self.people)  # (people,)
        usual = genuine_trials.sum() / np.count_nonzero(genuine_trials)
        genuine_share = usual * more / (usual * more + weights @ genuine_trials[:, None])
        imposter_share = more / drawn.sum(axis=1, keepdims=True)
        trial_weights = weights[:, probe]
        trial_weights *= np.where(self.genuine, 1.0, weights[:, claimed])
        return trial_weights, genuine_share, imposter_share


def interval(lower, upper):
    """Returns the 2.5 percentile of one set of replicates and the 97.5 percentile of another."""
    return float(np.percentile(lower, PERCENTILES[0])), float(np.percentile(upper, PERCENTILES[1]))


def verification_intervals(scores, genuine, *, people, draws, fars, seed):
    """Computes 95 % intervals of the AUC, the EER and the TAR at some false accept rates.

    Args:
        scores: Checked distances, shape `(trials,)`.
        genuine: Checked booleans, shape `(trials,)`.
        people: See `WeightedReplicates`.
        draws: Number of replicates.
        fars: False accept rates at which the TAR is computed. At the lower end of its interval the
            threshold leaves room for one more person who is accepted ten times as often.
        seed: Seed of the weights.

    Returns:
        `{"auc": (low, high), "eer": ..., "tar_at_far_0.01": ...}`.
    """
    replicates = WeightedReplicates(scores, genuine, people=people, draws=draws, seed=seed)
    curves = WeightedCurves(replicates.scores, replicates.genuine)
    stricter = [_with_one_more(far, replicates.people) for far in fars]
    worse, better = [], []
    for weights, share, _ in replicates:
        far, tar = curves(weights)
        rejected, accepted = (1 - share) * tar, share + (1 - share) * tar
        worse.append(curve_figures(far, rejected, stricter))
        better.append(curve_figures(far, accepted, fars))
    worse, better = np.concatenate(worse), np.concatenate(better)
    names = ("auc", "eer", *(f"tar_at_far_{far:g}" for far in fars))
    return {
        name: interval(better[:, i], worse[:, i])
        if name == "eer"
        else interval(worse[:, i], better[:, i])
        for i, name in enumerate(names)
    }


def curve_figures(far, tar, fars):
    """Computes the AUC, the EER and the TAR at some false accept rates.

    Args:
        far: False accept rates of error curves, shape `(count, points)`.
        tar: True accept rates, same shape.
        fars: False accept rates at which the TAR is computed.

    Returns:
        Shape `(count, 2 + fars)`.
    """
    auc = np.sum(np.diff(far, axis=1) * (tar[:, 1:] + tar[:, :-1]) / 2, axis=1)
    at_fars = (
        np.take_along_axis(tar, last_point_within(far, limit)[:, None], axis=1)[:, 0]
        for limit in fars
    )
    return np.stack([auc, crossing(far, tar)[0], *at_fars], axis=1)


def _with_one_more(far, people):
    """Returns the false accept rate of the people at hand that leaves room for one more person."""
    share = min(1.0, 2 * FAR_OF_ONE_MORE * far / (people + 1))  # of the pairs of people
    return max(0.0, (far - share) / (1 - share)) if share < 1 else 0.0


def eer_replicates(scores, genuine, *, people, draws, seed):
    """Computes equal error rates of replicates; the arguments are those of `WeightedReplicates`.

    Returns:
        `(better, worse)`, both of shape `(draws,)`: rates if the additional person errs in no
        genuine trial, and in every genuine trial.
    """
    replicates = WeightedReplicates(scores, genuine, people=people, draws=draws, seed=seed)
    curves = WeightedCurves(replicates.scores, replicates.genuine)
    better, worse = [], []
    for weights, share, _ in replicates:
        far, tar = curves(weights)
        better.append(crossing(far, share + (1 - share) * tar)[0])
        worse.append(crossing(far, (1 - share) * tar)[0])
    return np.concatenate(better), np.concatenate(worse)


def mean_interval(values, people, *, draws=DRAWS, seed=0):
    """Computes the 95 % interval of a mean of values from 0 to 1 over people.

    Args:
        values: Shape `(examples,)`.
        people: Person of each example, shape `(examples,)`. None: no two examples share a person.
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
        people: See `WeightedReplicates`.
        draws: Number of replicates.
        seed: Seed of the weights.

    Returns:
        `(far_ci95, tar_ci95)`.
    """
    replicates = WeightedReplicates(accepted, genuine, people=people, draws=draws, seed=seed)
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
    """Computes the 95 % interval of the minimum normalized detection cost (minDCF).

    Args:
        scores: Checked distances, shape `(trials,)`.
        genuine: Checked booleans, shape `(trials,)`.
        people: See `WeightedReplicates`.
        draws: Number of replicates.
        miss: Cost of rejecting all genuine trials.
        false_accept: Cost of accepting all imposters.
    """
    replicates = WeightedReplicates(scores, genuine, people=people, draws=draws, seed=0)
    curves = WeightedCurves(replicates.scores, replicates.genuine)
    better, worse = [], []
    for weights, share, _ in replicates:
        far, tar = curves(weights)
        for accepted, costs in ((share, better), (0, worse)):
            lost = 1 - accepted - (1 - share) * tar
            costs.append((miss * lost + false_accept * far).min(axis=1))
    least = min(miss, false_accept)
    worse = np.minimum(np.concatenate(worse), least)  # accept or reject everybody
    return interval(np.concatenate(better) / least, worse / least)


def probe_codes(people, genuine):
    """Returns person codes for `WeightedReplicates` of trials in which only the probe is a person.

    Args:
        people: Person of each probe, shape `(trials,)`.
        genuine: Checked booleans, shape `(trials,)`.

    Returns:
        `(probe, claimed)`. All imposter trials claim one additional code, whose weight cancels.
    """
    codes = np.unique(people, return_inverse=True)[1]
    return codes, np.where(genuine, codes, codes.max() + 1)


def replicates(genuine, *, people, draws, seed):
    """Draws replicates of the percentile bootstrap, which differences of methods are paired by.

    Args:
        genuine: Checked booleans, shape `(trials,)`.
        people: None, or `(probe, claimed)` person codes 0, 1, ..., each of shape `(trials,)`. With
            them a replicate draws people with replacement: a genuine trial counts as often as its
            person was drawn, and an imposter trial as often as the product for its two people.
            Without them it draws genuine trials from genuine trials and imposter trials from
            imposter trials.
        draws: Number of replicates. A replicate that lacks a kind of trial is drawn again.
        seed: Seed of the draws.

    Yields:
        Blocks of shape `(count, trials)`: how often each trial counts in each replicate.
    """
    rng = np.random.default_rng(seed)
    at_once = max(1, VALUES_AT_ONCE // genuine.size)
    for start in range(0, draws, at_once):
        count = min(at_once, draws - start)
        yield np.stack([_draw(rng, genuine, people) for _ in range(count)])


def _draw(rng, genuine, people):
    """Draws how often each trial counts in one replicate, shape `(trials,)`."""
    if people is None:
        weights = np.empty(genuine.size)
        for kind in (genuine, ~genuine):
            size = int(kind.sum())
            weights[kind] = np.bincount(rng.integers(size, size=size), minlength=size)
        return weights
    count = int(max(codes.max() for codes in people)) + 1
    while True:
        multiplicities = np.bincount(rng.integers(count, size=count), minlength=count)
        weights = trial_weights(genuine, people, multiplicities)
        if weights[genuine].any() and weights[~genuine].any():
            return weights


def trial_weights(genuine, people, multiplicities):
    """Returns the weight of each trial if person a was drawn `multiplicities[a]` times."""
    probe, claimed = (multiplicities[codes] for codes in people)
    return np.where(genuine, probe, probe * claimed).astype(np.float64)


def percentiles(values):
    """Returns the 2.5 and 97.5 percentiles of each column as pairs of floats."""
    return np.percentile(values, PERCENTILES, axis=0).T.tolist()


def rate_without_errors(people, genuine):
    """Returns the upper bound of an error rate if no error was observed, by the rule of three.

    Args:
        people: None, or `(probe, claimed)` person codes, each of shape `(trials,)`.
        genuine: Booleans, shape `(trials,)`.

    Returns:
        3 / n, at most 1. n is the number of people with genuine trials; without `people` it is the
        number of genuine trials.
    """
    count = int(genuine.sum()) if people is None else np.unique(people[0][genuine]).size
    return min(1.0, RULE_OF_THREE / count)


def independent_pairs(accepted, members, people):
    """Estimates how many independent pairs of people would give the rate the same variance.

    The rate p is a mean over pairs, and pairs share people: it is a U-statistic (Hoeffding1948).
    R_i is the sum of `accepted - p` over the pairs of person i. The jackknife estimate of the
    variance between people is `V = sum(R_i^2) / pairs^2`. Its expectation is too large rather than
    too small, because the part that is specific to a pair enters for both of its people
    (Efron1981). `p (1 - p) / V` independent pairs have this variance.

    This number is reduced if few people make the variance uncertain (Korn1998, Korn-Graubard): the
    degrees of freedom are `sum(R_i^2)^2 / sum(R_i^4)` (Satterthwaite1946), which is small if few
    people cause most errors. The variance of a U-statistic of two people is at least that of
    `people / 2` pairs, which bounds the number from below.

    Args:
        accepted: Fraction accepted of each pair, shape `(pairs,)`.
        members: People of each pair, codes of shape `(pairs, 2)`.
        people: Number of people.

    Returns:
        A number from `people / 2` (pairs that share nobody) to the number of pairs.
    """
    rate = accepted.mean()
    least, most = people / 2, max(len(accepted), people / 2)
    if rate in (0, 1):  # the pairs show nothing about how people differ
        return least
    beyond = np.bincount(members.ravel(), np.repeat(accepted - rate, 2), minlength=people)
    squares = np.square(beyond)
    if not squares.any():
        return most
    freedom = min(people - 1, squares.sum() ** 2 / np.square(squares).sum())
    certain = (norm.isf(OUTSIDE / 2) / student.isf(OUTSIDE / 2, freedom)) ** 2
    variance = squares.sum() / len(accepted) ** 2
    return float(np.clip(certain * rate * (1 - rate) / variance, least, most))


def interval_of_others(accepted, members, people):
    """Computes the 95 % interval of the false accept rate of as many other people.

    People get random weights as in the rest of this module, with two differences:

    - The weights have a gamma distribution of shape 1/2. Its variance is twice that of exponential
      weights, because the rates of two groups of people differ by twice the variance of one rate.
    - The additional person makes a pair with everybody. At the upper end `1 / 4 + 1 / n` of the
      trials of such a pair are accepted: half of the claims that this person makes, and more if few
      people say little about the next person. If the fraction of the n people is larger, that
      fraction is used. At the lower end no trial of this person is accepted.

    With fixed weights both ends can only rise if one more trial is accepted. The interval of Korn
    and Graubard does not have this property: it ended at 60 % if none of 450 trials of 10 people
    was accepted, and at 16 % if one trial was. This interval ends at 23 % in both cases.

    Args:
        accepted: Fraction accepted of each pair, shape `(pairs,)`.
        members: People of each pair, codes of shape `(pairs, 2)`.
        people: Number of people.

    Returns:
        `(low, high)`.
    """
    weights = np.random.default_rng(0).gamma(0.5, size=(DRAWS, people + 1))
    weights, more = weights[:, :-1], weights[:, -1]
    everybody = weights.sum(axis=1)
    sums = _sums_over_pairs(weights, accepted, members)
    if len(members) == people * (people - 1) // 2:
        totals = (everybody**2 - np.square(weights).sum(axis=1)) / 2
    else:
        totals = _sums_over_pairs(weights, np.ones(len(members)), members)
    rates, more = np.minimum(sums / totals, 1), more * everybody
    rates_of_one_more = np.maximum(rates, min(1, ACCEPTED_OF_ONE_MORE / 2 + 1 / people))
    whole = totals + more
    return interval(rates * totals / whole, (rates * totals + rates_of_one_more * more) / whole)


def _sums_over_pairs(weights, values, members):
    """Sums values of pairs, weighted by both people of each pair, shape `(draws,)`."""
    people, counts = weights.shape[1], values > 0
    table = csr_array((values[counts], members[counts].T), shape=(people, people))
    return ((weights @ table) * weights).sum(axis=1)
