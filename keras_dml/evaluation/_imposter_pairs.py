"""Imposter trials by the pair of people in them, every pair counted alike."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array
from scipy.stats import norm
from scipy.stats import t as student

from keras_dml._arrays import real
from keras_dml.evaluation._checks import both_people, check_finite
from keras_dml.evaluation._people_weights import ACCEPTED_OF_ONE_MORE, DRAWS, interval

OUTSIDE = 0.05  # of the intervals


class ImposterPairs:
    """Trials of people who claim to be others, gathered by unordered pairs of people.

    Args:
        scores: Distances of imposter trials, any shape; smaller is closer.
        people: `(probe_ids, claimed_ids)`, the two people of each trial, each of a shape that
            broadcasts to that of `scores`.

    Attributes:
        people: Number of people.
        trials: Number of trials.
        members: The two people of each pair as codes, shape `(pairs, 2)`.

    Raises:
        TypeError: If the scores are not real numbers, or names are of several kinds.
        ValueError: If there is no trial, a score is not finite, or a trial is of one person alone.
    """

    def __init__(self, scores, people):
        scores = real("`scores`", scores, np.float64)
        check_finite("scores", scores)
        probe, claimed = both_people(people, scores.shape)
        self._scores = scores.ravel()
        if not scores.size:
            raise ValueError("`scores` is empty; give the distances of imposter trials.")
        own = int((probe == claimed).sum())
        if own:
            raise ValueError(
                "`scores` must be of imposter trials alone, of two people each. Received "
                f"{own:,} of {scores.size:,} whose two people are one. Leave them out: "
                "`scores[probes != claims]`."
            )
        names, codes = np.unique(np.concatenate([probe, claimed]), return_inverse=True)
        both = np.sort(codes.reshape(2, -1), axis=0)
        pairs, self._pair = np.unique(both[0] * len(names) + both[1], return_inverse=True)
        self.members = np.stack(np.divmod(pairs, len(names)), axis=1)
        self.people, self.trials = len(names), scores.size
        self._of_pair = np.bincount(self._pair)

    @property
    def is_complete(self):
        """Whether there is a trial of every two people."""
        return len(self.members) == self.people * (self.people - 1) // 2

    @property
    def weights(self):
        """Weight of each trial, shape `(trials,)`, the same sum for each pair, 1 in all."""
        return 1 / (self._of_pair[self._pair] * len(self.members))

    @property
    def scores(self):
        """Distances of the trials, shape `(trials,)`."""
        return self._scores

    def weights_of_draw(self, drawn):
        """Weights of the trials when person a was drawn `drawn[a]` times, 1 in all."""
        weights = self.weights * drawn[self.members].prod(axis=1)[self._pair]
        return weights / weights.sum()

    def accepted(self, threshold):
        """Fraction of each pair's trials that a threshold accepts, shape `(pairs,)`."""
        return np.bincount(self._pair, self._scores <= threshold) / self._of_pair

    def threshold(self, far):
        """The largest observed score that accepts at most a fraction; below all scores where the
        smallest one accepts more."""
        order = np.argsort(self._scores, kind="stable")
        scores, accepted = self._scores[order], np.cumsum(self.weights[order])
        ends = np.append(np.flatnonzero(np.diff(scores)), scores.size - 1)  # last of a run
        within = ends[accepted[ends] <= far * (1 + 1e-9)]
        return float(scores[within[-1]] if within.size else np.nextafter(scores[0], -np.inf))


def independent_pairs(accepted, members, people):
    """How many independent pairs of people would show the rate as well as these do.

    Args:
        accepted: Fraction accepted of each pair, shape `(pairs,)`.
        members: People of each pair, codes of shape `(pairs, 2)`.
        people: Number of people.

    Returns:
        A number from `people / 2`, of pairs that share nobody, to the number of pairs.

    The rate p is a mean over pairs, which share people: a U-statistic (Hoeffding1948). With R_i the
    sum over the pairs of person i of what they exceed p by, `V = sum(R_i^2) / pairs^2` is the
    variance between people, expected to be too large rather than too small, since each pair's own
    part is in both its people (Efron1981). So many independent pairs have this variance:
    `p (1 - p) / V`, less where few people make it uncertain (Korn1998), by the freedom that is left
    where few bear the errors: `sum(R_i^2)^2 / sum(R_i^4)` (Satterthwaite1946). Of a U-statistic of
    two people it is at least that of `people / 2` pairs.
    """
    rate = accepted.mean()
    least, most = people / 2, max(len(accepted), people / 2)
    if rate in (0, 1):  # nothing is seen of how people differ
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
    """Computes the 95 % interval of the rate of as many other people.

    Random weights of people, as in `_people_weights`, with two differences. The weights have a
    gamma distribution of shape 1/2, whose variance is twice that of exponential ones: the rates of
    two groups of people differ by twice the variance of one. The one more person makes a pair with
    everybody. At the upper end `1 / 4 + 1 / n` of the trials of such a pair are accepted: half of
    the claims that this person makes, and more if few people say little about the next person. If
    the fraction of the n people is larger, that fraction is taken. At the lower end none are
    accepted.

    With fixed weights both ends only rise when one more trial is accepted. The interval by Korn and
    Graubard does not have this property: it ended at 60 % if none of 450 trials of 10 people was
    accepted, and at 16 % if one trial was. This one ends at 23 % in both cases.

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
    sums = _over_pairs(weights, accepted, members)
    if len(members) == people * (people - 1) // 2:
        totals = (everybody**2 - np.square(weights).sum(axis=1)) / 2
    else:
        totals = _over_pairs(weights, np.ones(len(members)), members)
    rates, more = np.minimum(sums / totals, 1), more * everybody
    of_one_more = np.maximum(rates, min(1, ACCEPTED_OF_ONE_MORE / 2 + 1 / people))
    whole = totals + more
    return interval(rates * totals / whole, (rates * totals + of_one_more * more) / whole)


def _over_pairs(weights, values, members):
    """Sums of values of pairs, weighted by both people, shape `(draws,)`."""
    people, counts = weights.shape[1], values > 0
    table = csr_array((values[counts], members[counts].T), shape=(people, people))
    return ((weights @ table) * weights).sum(axis=1)
