"""Computes 95 % confidence intervals by a Bayesian bootstrap that draws people and adds one person.

A sample of ten to a hundred people rarely includes the few people whom a model confuses most. A
percentile bootstrap draws only from this sample, so its upper confidence bounds of error rates are
too low. This module raises the upper bounds in two steps:

- Each replicate gives every person an exponential random weight (Bayesian bootstrap, Rubin1981).
- Each replicate adds one person. For the upper confidence bound of an error rate, all genuine
  trials of the added person are rejected. For the lower confidence bound, no genuine trial of the
  added person is rejected.

If the metric is a mean over people with equal numbers of trials, the result is the confidence bound
of Gaffke2005. If no error occurs, the result is the bound of Clopper1934 (Clopper-Pearson).
The coverage of Gaffke's bound is not proven, and the EER is not a mean. Therefore,
`tests/bench/coverage.py --fresh` simulates the coverage in five populations that were not used to
design the method.

With fixed weights, an additional error never improves the metric. The upper confidence bound of an
error rate therefore never falls if an error is added. The order of the trials has no effect.

The following functions of this module use other methods:

- `replicates` draws people with replacement (percentile bootstrap), for paired differences of
  methods.
- `independent_pairs` estimates the effective number of independent pairs of people, by a jackknife
  that leaves out people. The function uses Satterthwaite's degrees of freedom, as Korn-Graubard
  intervals do.
- `interval_of_others` computes an interval for the false accept rate in a new group of people.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array
from scipy.special import ndtri, stdtrit

from keras_dml.evaluation._error_curves import WeightedCurves, area, crossing, last_point_within

DRAWS = 1000
PERCENTILES = (2.5, 97.5)
OUTSIDE = 0.05  # probability that a 95 % interval does not contain the true value
VALUES_AT_ONCE = 2**18  # weights in memory at once: 2 MiB of float64
# If no event occurs in n trials, the event rate is at most 3 / n with 95 % confidence
# (Jovanovic1997).
RULE_OF_THREE = 3
# Assumed false accept rate of the added person, as a multiple of the wanted false accept rate. The
# factor was chosen by the simulations of `tests/bench/coverage.py`.
FAR_OF_ONE_MORE = 10
# Assumed fraction of accepted trials among the trials in which the added person claims to be
# somebody else. The threshold is fixed. The coverage is simulated in
# `tests/evaluation/test_coverage.py`.
ACCEPTED_OF_ONE_MORE = 0.5


class WeightedReplicates:
    """Random weights of trials in replicates of the Bayesian bootstrap.

    Args:
        scores: Distances that `check_trials` returned, shape `(trials,)`.
        genuine: Booleans that `check_trials` returned, shape `(trials,)`.
        people: Tuple `(probe, claimed)` of person codes, or None. The codes are integers 0, 1, ...
            of shape `(trials,)`. The weight of a genuine trial is the weight of its person. The
            weight of an imposter trial is the product of the weights of its two people. If `people`
            is None, each trial has an independent weight.
        draws: Number of replicates.
        seed: Seed of the weights.

    Attributes:
        scores: Distances, sorted so that the order in which trials are passed has no effect.
        genuine: Booleans in the order of the attribute `scores`.
        people: Number of people. If the argument `people` is None, genuine trials and imposter
            trials are counted, and the attribute is the smaller count.
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
            Tuples `(weights, genuine_share, imposter_share)`. `weights` are the weights of the
            trials, shape `(count, trials)`. `genuine_share` is the fraction of the genuine trials
            that belong to the added person. `imposter_share` is the fraction of the imposter trials
            that belong to the added person. The shape of each share is `(count, 1)`.
        """
        rng = np.random.default_rng(self._seed)
        at_once = max(1, VALUES_AT_ONCE // self.genuine.size)
        draw = self._weights_of_trials if self._codes is None else self._weights_of_people
        for start in range(0, self._draws, at_once):
            yield draw(rng, min(at_once, self._draws - start))

    def _weights_of_trials(self, rng, count):
        drawn = rng.standard_exponential((count, self.genuine.size + 2))
        more, count = drawn[:, -2:], int(self.genuine.sum())
        # weights are assigned by the rank among the genuine trials or among the imposter trials, so
        # that an additional error does not change the weights of other trials
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
    """Returns the 2.5th percentile of `lower` and the 97.5th percentile of `upper`, two arrays of
    replicates."""
    return float(np.percentile(lower, PERCENTILES[0])), float(np.percentile(upper, PERCENTILES[1]))


def verification_intervals(scores, genuine, *, people, draws, fars, seed):
    """Computes 95 % confidence intervals of the AUC, the EER, and the TAR at each rate in `fars`.

    Args:
        scores: Distances that `check_trials` returned, shape `(trials,)`.
        genuine: Booleans that `check_trials` returned, shape `(trials,)`.
        people: See `WeightedReplicates`.
        draws: Number of replicates.
        fars: False accept rates at which the TAR is computed. The lower bound of the TAR uses a
            stricter threshold, which gives the wanted FAR after a person with ten times the wanted
            FAR is added.
        seed: Seed of the weights.

    Returns:
        Dict of intervals, `{"auc": (low, high), "eer": ..., "tar_at_far_0.01": ...}`.
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
    """Computes the AUC, the EER, and the TAR at each rate in `fars`, from error curves.

    Args:
        far: False accept rates of error curves, shape `(count, points)`.
        tar: True accept rates in the shape of `far`.
        fars: False accept rates at which the TAR is computed.

    Returns:
        Metrics of each curve, shape `(count, 2 + len(fars))`.
    """
    auc = area(far, tar)
    at_fars = (
        np.take_along_axis(tar, last_point_within(far, limit)[:, None], axis=1)[:, 0]
        for limit in fars
    )
    return np.stack([auc, crossing(far, tar)[0], *at_fars], axis=1)


def _with_one_more(far, people):
    """Returns the FAR that the measured people may have if one more person, with an assumed FAR of
    `10 far`, must not raise the FAR of all people above `far`."""
    share = min(1.0, 2 * FAR_OF_ONE_MORE * far / (people + 1))  # fraction of the pairs of people
    return max(0.0, (far - share) / (1 - share)) if share < 1 else 0.0


def eer_replicates(scores, genuine, *, people, draws, seed):
    """Computes the equal error rate in each replicate of the Bayesian bootstrap. The arguments are
    the same as in `WeightedReplicates`.

    Returns:
        Tuple `(better, worse)` of equal error rates, both of shape `(draws,)`. `better` assumes
        that all genuine trials of the added person are accepted, and `worse` assumes that all these
        trials are rejected.
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
    """Computes the 95 % confidence interval of a mean of values from 0 to 1. The bootstrap draws
    people.

    Args:
        values: Value of each example, shape `(examples,)`.
        people: Person of each example, shape `(examples,)`. None if all examples are of different
            people.
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
    """Computes 95 % confidence intervals of the false accept rate and of the true accept rate.

    Args:
        accepted: Probability that each trial is accepted, shape `(trials,)`.
        genuine: Booleans that `check_trials` returned, shape `(trials,)`.
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
    """Computes the 95 % confidence interval of the minimum normalized detection cost (minDCF).

    Args:
        scores: Distances that `check_trials` returned, shape `(trials,)`.
        genuine: Booleans that `check_trials` returned, shape `(trials,)`.
        people: See `WeightedReplicates`.
        draws: Number of replicates.
        miss: Cost of rejecting all genuine trials.
        false_accept: Cost of accepting all imposter trials.

    Returns:
        `(low, high)`.
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
    worse = np.minimum(np.concatenate(worse), least)  # a system may accept or reject all trials
    return interval(np.concatenate(better) / least, worse / least)


def probe_codes(people, genuine):
    """Returns person codes for `WeightedReplicates`. With the returned codes, the weight of a trial
    depends only on the person of its probe.

    Args:
        people: Person of each probe, shape `(trials,)`.
        genuine: Booleans that `check_trials` returned, shape `(trials,)`.

    Returns:
        `(probe, claimed)` person codes. In all imposter trials, the claimed person is the same
        additional person. The weight of this additional person has no effect, because all imposter
        trials are multiplied by the same weight.
    """
    codes = np.unique(people, return_inverse=True)[1]
    return codes, np.where(genuine, codes, codes.max() + 1)


def replicates(genuine, *, people, draws, seed):
    """Draws replicates of the percentile bootstrap, for paired differences of methods.

    Args:
        genuine: Booleans that `check_trials` returned, shape `(trials,)`.
        people: Person codes `(probe, claimed)`, each an array of integers 0, 1, ... of shape
            `(trials,)`, or None. If `people` is given, a replicate draws people with replacement.
            If person `a` is drawn A times and person `b` is drawn B times, a genuine trial of `a`
            counts A times, and an imposter trial between `a` and `b` counts A * B times. If
            `people` is None, a replicate draws genuine trials and imposter trials separately.
        draws: Number of replicates. If a replicate has no genuine trials or no imposter trials, it
            is drawn again.
        seed: Seed of the draws.

    Yields:
        Integer arrays of shape `(count, trials)`, which hold the number of times that each trial
        counts in each of `count` replicates.
    """
    rng = np.random.default_rng(seed)
    at_once = max(1, VALUES_AT_ONCE // genuine.size)
    for start in range(0, draws, at_once):
        count = min(at_once, draws - start)
        yield np.stack([_draw(rng, genuine, people) for _ in range(count)])


def _draw(rng, genuine, people):
    """Draws one replicate. Returns the number of times that each trial counts, shape
    `(trials,)`."""
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
    """Returns the weight of each trial in a replicate. `multiplicities[a]` is the number of times
    that person `a` was drawn."""
    probe, claimed = (multiplicities[codes] for codes in people)
    return np.where(genuine, probe, probe * claimed).astype(np.float64)


def percentiles(values):
    """Returns the 2.5th and the 97.5th percentile of each column as a pair of floats."""
    return np.percentile(values, PERCENTILES, axis=0).T.tolist()


def rate_without_errors(people, genuine):
    """Returns the upper confidence bound of an error rate if no error was observed (rule of three).

    Args:
        people: `(probe, claimed)` person codes, each of shape `(trials,)`, or None.
        genuine: Booleans, shape `(trials,)`.

    Returns:
        The smaller of 3 / n and 1. Here n is the number of people with genuine trials, or the
        number of genuine trials if `people` is None.
    """
    count = int(genuine.sum()) if people is None else np.unique(people[0][genuine]).size
    return min(1.0, RULE_OF_THREE / count)


def independent_pairs(accepted, members, people):
    """Estimates the number of independent pairs of people that would give the false accept rate the
    same variance as the pairs of the sample.

    The estimate is called the effective number of independent pairs. The rate p is a mean over
    pairs, and pairs share people, so p is a U-statistic (Hoeffding1948). Let R_i be the sum of
    `accepted - p` over the pairs of person i. The jackknife estimate of the variance between people
    is `V = sum(R_i^2) / pairs^2`. V overestimates the variance on average, because variation that
    is specific to one pair is counted twice, once for each of its people (Efron1981). A rate that
    is measured on `p (1 - p) / V` independent pairs also has the variance V.

    Because the estimate V is uncertain in small samples, the effective number is reduced for small
    samples (Korn1998, Korn-Graubard). The number of degrees of freedom for this reduction is
    `sum(R_i^2)^2 / sum(R_i^4)` (Satterthwaite1946). The number is small if few people cause most
    errors. The effective number is at least `people / 2`. The reason is that a U-statistic over all
    pairs has at most the variance of a mean over `people / 2` disjoint pairs.

    Args:
        accepted: Fraction of accepted trials for each pair, shape `(pairs,)`.
        members: Person codes of each pair, shape `(pairs, 2)`.
        people: Number of people.

    Returns:
        Effective number of independent pairs, from `people / 2` to the number of pairs.
    """
    rate = accepted.mean()
    least, most = people / 2, max(len(accepted), people / 2)
    if rate in (0, 1):  # all pairs have the same rate, so the variance between people is unknown
        return least
    beyond = np.bincount(members.ravel(), np.repeat(accepted - rate, 2), minlength=people)
    squares = np.square(beyond)
    if not squares.any():
        return most
    freedom = min(people - 1, squares.sum() ** 2 / np.square(squares).sum())
    certain = (ndtri(OUTSIDE / 2) / stdtrit(freedom, OUTSIDE / 2)) ** 2  # normal to Student's t
    variance = squares.sum() / len(accepted) ** 2
    return float(np.clip(certain * rate * (1 - rate) / variance, least, most))


def interval_of_others(accepted, members, people):
    """Computes a 95 % interval for the false accept rate in a new group with the same number of
    people.

    Each replicate gives people random weights, as in the rest of this module, with two differences:

    - The weights have a gamma distribution with shape 1/2, whose variance is twice the variance of
      exponential weights. The variance is doubled because the difference between the rates of two
      groups has twice the variance of one rate.
    - The added person forms a pair with each of the n people. For the upper confidence bound, the
      fraction `1 / 4 + 1 / n` of the trials of the added person is accepted. The term 1 / 4 follows
      from two assumptions. First, half of the false claims by the added person are accepted.
      Second, no false claim to be the added person is accepted. The term 1 / n accounts for the
      uncertainty of a small sample. If the observed rate of the n people is larger than
      `1 / 4 + 1 / n`, the observed rate replaces this fraction. For the lower confidence bound, no
      trial of the added person is accepted.

    With fixed weights, an additional accepted trial never lowers the upper or the lower bound. The
    upper bound of the Korn-Graubard interval, however, may fall if one more trial is accepted. For
    450 trials of 10 people, the Korn-Graubard bound was 60 % if no trial was accepted, and 16 % if
    one trial was accepted. For these 450 trials, the upper bound of this function is 23 % if no
    trial is accepted, and 23 % if one trial is accepted.

    Args:
        accepted: Fraction of accepted trials for each pair, shape `(pairs,)`.
        members: Person codes of each pair, shape `(pairs, 2)`.
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
    """Multiplies the value of each pair by the weights of its two people, and sums the products.

    Returns:
        Sums, shape `(draws,)`.
    """
    people, counts = weights.shape[1], values > 0
    table = csr_array((values[counts], members[counts].T), shape=(people, people))
    return ((weights @ table) * weights).sum(axis=1)
