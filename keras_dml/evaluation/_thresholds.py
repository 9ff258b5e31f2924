"""Computes thresholds for a false accept rate (FAR), and the error rates of a given threshold.

A threshold accepts trials with `score <= threshold`. Three public functions compute a threshold for
a wanted FAR. The functions make different statements about the FAR of people outside the sample:

- `threshold_at_far` (empirical threshold) returns the largest observed score at which at most the
  wanted fraction of the imposter trials is accepted. `threshold_at_far` does not estimate the FAR
  of other people, because its Clopper-Pearson interval assumes that trials are independent.
  `threshold_at_far` needs at least 1 / far imposter trials. Use `threshold_at_far` to report the
  point of a ROC curve at a fixed FAR.
- `certificate` (threshold with a confidence interval for other people) computes the same quantile
  of the imposter scores, but gives all pairs of people the same weight. `certificate` also computes
  a 95 % interval for the FAR in another group with the same number of people. The function raises
  an error if the sample of people is too small for the wanted FAR. The smallest allowed FAR is 3
  divided by the effective number of independent pairs (rule of three). If all pairs of people are
  independent, `certificate` needs about `sqrt(6 / far)` people. If pairs are as dependent as
  possible, `certificate` needs at most `6 / far` people. Use `certificate` if the FAR should be the
  wanted rate on average.
- `promise` (conformal threshold) computes a stricter threshold. On average, the FAR of two new
  people is at most the wanted rate, for any distribution of the scores. The threshold is therefore
  distribution-free, but it assumes that people are exchangeable. `promise` needs about 1 / far
  people and at least one trial between every two people. Use `promise` if it is more important to
  keep the FAR below the wanted rate than to accept genuine trials.

Three functions compute error rates of a given threshold. `accept_rates` uses genuine and imposter
trials. `false_accepts` uses only imposter trials, and gives all pairs of people the same weight.
`best_of_tries` computes the rates if a person may try several times.
"""

from __future__ import annotations

import bisect
import math
import numbers
from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv, boxcox, inv_boxcox, ndtr, ndtri

from keras_dml import _figures
from keras_dml._arrays import real, whole
from keras_dml._messages import Message
from keras_dml._typing import ArrayLike
from keras_dml.evaluation._checks import (
    PeopleOfTrials,
    check_finite,
    check_trials,
    ids_of_trials,
    person_codes,
)
from keras_dml.evaluation._error_curves import error_curve, last_point_within
from keras_dml.evaluation._intervals import (
    ACCEPTED_OF_ONE_MORE,
    DRAWS,
    RULE_OF_THREE,
    accept_intervals,
    independent_pairs,
    interval_of_others,
)

COUNTED = "counted over people"
EXTRAPOLATED = "extrapolated by a generalized Pareto tail"
REACH = 10  # the tail model extrapolates to a tenth of the lowest rate that the sample supports
TAIL_FRACTION = 0.1  # the tail model is fitted to this fraction of the scores, the lowest ones
TAIL_DRAWS, TAIL_SEED = 1000, 0
# Percentiles of an interval that contains the rate of another group of people. The difference
# between the rates of two groups has twice the variance of one group's rate.
PERCENTILES_OF_OTHERS = 100 * ndtr(np.sqrt(2) * ndtri([0.025, 0.975]))
# Largest accepted fraction of the trials between a new person and everybody else. The limit is the
# mean of two assumed fractions: 1/2 of the trials in which the new person claims to be somebody
# else, and 0 of the trials in which somebody else claims to be the new person.
ACCEPTED_OF_NEW_PERSON = ACCEPTED_OF_ONE_MORE / 2


def check_far(far):
    """Checks that a false accept rate is a fraction above 0 and below 1."""
    if not isinstance(far, numbers.Real) or not 0.0 < far < 1.0:
        raise ValueError(
            Message(
                "{far} is {value!r}, but it must be a fraction above 0 and below 1, such as 0.01 "
                "for 1 %.",
                value=far,
            )
        )


def _check_threshold(threshold):
    if not isinstance(threshold, numbers.Real) or np.isnan(threshold):
        raise ValueError(
            f"`threshold` must be a number in the unit of the scores. Received {threshold!r}."
        )


# ---- empirical threshold ----


@dataclass(frozen=True)
class TarAtFar:
    """True accept rate at a wanted false accept rate.

    Attributes:
        far: Wanted false accept rate.
        tar: Highest true accept rate among all thresholds whose FAR is at most `far`. The value is
            NaN if there are too few imposter trials.
        threshold: Threshold with the true accept rate `tar`, in units of the scores. The value is
            NaN if there are too few imposter trials.
        imposter: Number of imposter trials.
    """

    far: float
    tar: float
    threshold: float
    imposter: int

    @property
    def measurable(self) -> bool:
        """True if there are enough imposter trials, so that a single false accept does not exceed
        the wanted rate."""
        return self.imposter >= min_imposters(self.far)

    def __str__(self) -> str:
        if not self.measurable:
            return (
                f"TAR at FAR {100 * self.far:g} % not measurable: {self.imposter:,} imposter "
                f"trials, at least {min_imposters(self.far):,} needed"
            )
        return f"TAR {100 * self.tar:.1f} % at FAR {100 * self.far:g} %"


@dataclass(frozen=True)
class FarThreshold:
    """Threshold for a wanted false accept rate, with a Clopper-Pearson interval of the rate.

    Attributes:
        far: Wanted false accept rate.
        value: The threshold, in units of the scores.
        trials: Number of imposter trials.
        far_ci95: 95 % Clopper-Pearson interval of the false accept rate. The interval assumes that
            trials are independent.
    """

    far: float
    value: float
    trials: int
    far_ci95: tuple[float, float]

    def __str__(self) -> str:
        return (
            f"threshold {self.value:.4g} for FAR {100 * self.far:g} % (95 % interval "
            f"{_figures.interval(self.far_ci95)}, {self.trials:,} imposter trials)"
        )


def min_imposters(far):
    """Returns the smallest number n of imposter trials for which 1 / n is at most `far`. A single
    false accept has the rate 1 / n."""
    return math.ceil(1.0 / far - 1e-9)


def tar_at_far(thresholds, far, tar, limit, imposter):
    """Returns the highest true accept rate among the points of an error curve whose FAR is at most
    `limit`.

    Args:
        thresholds, far, tar: Thresholds, false accept rates and true accept rates of an error
            curve, each of shape `(points,)`.
        limit: Largest false accept rate.
        imposter: Number of imposter trials.

    Returns:
        `TarAtFar`.
    """
    if imposter < min_imposters(limit):
        return TarAtFar(limit, math.nan, math.nan, imposter)
    index = last_point_within(far, limit)
    return TarAtFar(limit, float(tar[index]), float(thresholds[index]), imposter)


def threshold_at_far(scores: ArrayLike, genuine: ArrayLike, far: float) -> FarThreshold:
    """Computes the largest observed score at which at most the fraction `far` of the imposter
    trials is accepted.

    The result includes the exact binomial confidence interval (Clopper-Pearson, Clopper1934) of the
    false accept rate at this threshold. The interval assumes that trials are independent. Trials
    that share people are not independent, so pass one trial for each pair of people, or use
    `certificate`. `dataclasses.asdict(threshold_at_far(...))` has the same keys as an entry of
    `thresholds` in a model card.

    Args:
        scores: Distances of the trials, any shape. Smaller is closer.
        genuine: Booleans in the shape of `scores`, True if the probe person is the claimed person.
        far: Wanted false accept rate, above 0 and below 1.

    Returns:
        `FarThreshold`.

    Raises:
        TypeError: If `genuine` is not boolean.
        ValueError: If `far` is not between 0 and 1, if there are fewer than 1 / `far` imposter
            trials, or if so many imposter trials share the smallest score that their fraction
            exceeds `far`.

    >>> import numpy as np
    >>> scores = np.r_[0.1, 0.3, np.arange(1, 21) / 10]
    >>> threshold_at_far(scores, np.arange(22) < 2, far=0.05).value
    0.1
    """
    check_far(far)
    scores, genuine = check_trials(scores, genuine)
    imposters = scores[~genuine]
    if imposters.size < min_imposters(far):
        raise ValueError(
            f"Received {imposters.size:,} imposter trials. A threshold for FAR {100 * far:g} % "
            f"needs at least {min_imposters(far):,} imposter trials. Use more people, or a larger "
            "`far`."
        )
    thresholds, far_curve, _ = error_curve(scores, genuine)
    value = float(thresholds[last_point_within(far_curve, far)])
    if value == -math.inf:
        raise ValueError(
            f"{int((imposters == scores.min()).sum()):,} of {imposters.size:,} imposter trials "
            f"have the smallest score, {scores.min():g}. Every threshold that accepts any trial "
            f"exceeds FAR {100 * far:g} %. The scores do not separate people. Use a better model."
        )
    accepted = int((imposters <= value).sum())
    return FarThreshold(
        far=float(far),
        value=value,
        trials=int(imposters.size),
        far_ci95=_clopper_pearson(accepted, imposters.size),
    )


def _clopper_pearson(events, trials):
    """Returns the 95 % confidence interval of the probability of an event (Clopper1934)."""
    low = betaincinv(events, trials - events + 1, 0.025) if events else 0.0
    high = betaincinv(events + 1, trials - events, 0.975) if events < trials else 1.0
    return float(low), float(high)


# ---- rates of a given threshold ----


@dataclass(frozen=True)
class AcceptRates:
    """False accept rate and true accept rate at a threshold, with 95 % confidence intervals.

    Attributes:
        threshold: Threshold, in units of the scores. Trials with `score <= threshold` are accepted.
        far: False accept rate, the fraction of the imposter trials that are accepted.
        far_ci95: 95 % confidence interval of `far`.
        tar: True accept rate, the fraction of the genuine trials that are accepted.
        tar_ci95: 95 % confidence interval of `tar`.
        genuine: Number of genuine trials.
        imposter: Number of imposter trials.
    """

    threshold: float
    far: float
    far_ci95: tuple[float, float]
    tar: float
    tar_ci95: tuple[float, float]
    genuine: int
    imposter: int

    def __str__(self) -> str:
        rates = [
            f"{name} {100 * rate:.3g} % [{_figures.interval(bounds)}]"
            for name, rate, bounds in (
                ("FAR", self.far, self.far_ci95),
                ("TAR", self.tar, self.tar_ci95),
            )
        ]
        return (
            f"{', '.join(rates)} at threshold {self.threshold:.4g} ({self.genuine:,} genuine, "
            f"{self.imposter:,} imposter trials)"
        )


def accept_rates(
    scores: ArrayLike,
    genuine: ArrayLike,
    threshold: float,
    *,
    people: PeopleOfTrials | None = None,
    bootstrap: int = 1000,
    seed: int = 0,
) -> AcceptRates:
    """Computes the fractions of genuine and of imposter trials that a threshold accepts.

    Args:
        scores: Distances of the trials, any shape. Smaller is closer.
        genuine: Booleans in the shape of `scores`, True if the probe person is the claimed person.
        threshold: Threshold, in units of the scores.
        people: Tuple `(probe_ids, claimed_ids)` with the ids of the two people in each trial (see
            `verification`). If `people` is given, the bootstrap draws a random weight for each
            person. If `people` is None, the bootstrap draws a random weight for each trial.
        bootstrap: Number of replicates, at least 1.
        seed: Seed of the bootstrap.

    Returns:
        `AcceptRates`. The bootstrap adds one person (see `verification`). The upper confidence
        bound of the FAR assumes that half of the false claims by the added person are accepted. If
        `people` is None, the bootstrap adds one accepted imposter trial.

    Raises:
        TypeError: If the trials are invalid (see `verification`).
        ValueError: If the trials are invalid, if `threshold` is not a number, or if `bootstrap` is
            not a whole number of at least 1.

    >>> import numpy as np
    >>> scores, genuine = np.array([0.1, 0.4, 0.3, 0.8]), np.array([1, 1, 0, 0], bool)
    >>> rates = accept_rates(scores, genuine, 0.3)
    >>> rates.far, rates.tar
    (0.5, 0.5)
    """
    bootstrap = whole("bootstrap", bootstrap, minimum=1)
    seed = whole("seed", seed, minimum=0)
    _check_threshold(threshold)
    shape = np.shape(scores)
    scores, genuine = check_trials(scores, genuine)
    codes = person_codes(people, genuine, shape)
    accepted = scores <= threshold
    far_ci95, tar_ci95 = accept_intervals(
        accepted.astype(np.float64), genuine, people=codes, draws=bootstrap, seed=seed
    )
    return AcceptRates(
        threshold=float(threshold),
        far=float(accepted[~genuine].mean()),
        far_ci95=far_ci95,
        tar=float(accepted[genuine].mean()),
        tar_ci95=tar_ci95,
        genuine=int(genuine.sum()),
        imposter=int((~genuine).sum()),
    )


@dataclass(frozen=True)
class BestOfTries:
    """False accept rate and true accept rate at a threshold if a person may try several times.

    Attributes:
        threshold: Threshold of a single try. A try with `score <= threshold` is accepted.
        tries: Number of tries. A claim is accepted if at least one try is accepted.
        far: Fraction of false claims that are accepted, averaged over pairs of people.
        far_ci95: 95 % confidence interval of `far`.
        tar: Fraction of true claims that are accepted, averaged over people.
        tar_ci95: 95 % confidence interval of `tar`.
        far_once: False accept rate of a single try for the same pairs of people.
        tar_once: True accept rate of a single try for the same people.
        people: Number of people with enough genuine trials.
        pairs: Number of pairs (probe person, claimed person) with enough imposter trials.
    """

    threshold: float
    tries: int
    far: float
    far_ci95: tuple[float, float]
    tar: float
    tar_ci95: tuple[float, float]
    far_once: float
    tar_once: float
    people: int
    pairs: int

    def __str__(self) -> str:
        rates = [
            f"{name} {100 * rate:.3g} % [{_figures.interval(bounds)}] ({100 * once:.3g} % once)"
            for name, rate, bounds, once in (
                ("FAR", self.far, self.far_ci95, self.far_once),
                ("TAR", self.tar, self.tar_ci95, self.tar_once),
            )
        ]
        return (
            f"best of {self.tries}: {', '.join(rates)} at threshold {self.threshold:.4g} "
            f"({self.people:,} people, {self.pairs:,} pairs of people)"
        )


def best_of_tries(
    scores: ArrayLike,
    genuine: ArrayLike,
    threshold: float,
    *,
    people: PeopleOfTrials,
    tries: int = 3,
    bootstrap: int = DRAWS,
) -> BestOfTries:
    """Computes FAR and TAR at a threshold if a person may try several times.

    A claim is accepted if at least one try is accepted. Allowing several tries therefore raises
    both FAR and TAR. The FAR of three independent tries is nearly three times the FAR of one try.
    The tries of a claim are different recordings of one person. Let `m` be the number of trials
    between a probe person and a claimed person, and let `a` be the number of accepted trials among
    these trials. If `k` of the `m` trials are drawn without replacement, at least one of the k
    trials is accepted with probability `1 - C(m - a, k) / C(m, k)`. Pairs of people with fewer than
    k trials are left out.

    Args:
        scores: Distances of the trials, any shape. Smaller is closer. Each trial compares a
            different recording of the probe person with all enrolled recordings of the claimed
            person.
        genuine: Booleans in the shape of `scores`, True if the probe person is the claimed person.
        threshold: Threshold of a single try, in units of the scores.
        people: Tuple `(probe_ids, claimed_ids)` with the ids of the two people in each trial (see
            `verification`).
        tries: Number of tries k, at least 1.
        bootstrap: Number of bootstrap replicates for the 95 % confidence intervals (see
            `verification`), at least 1. The bootstrap draws people.

    Returns:
        `BestOfTries`. Printing the result shows the rates for `tries` tries and for a single try.

    Raises:
        TypeError: If `genuine` is not boolean, if `people` is None, or if `tries` or `bootstrap` is
            not a whole number.
        ValueError: If the trials are invalid (see `verification`), if `threshold` is not a number,
            if no person has `tries` genuine trials, or if no pair of people has `tries` imposter
            trials.

    >>> scores = np.array([0.1, 0.4, 0.9, 0.3, 0.8, 0.7])
    >>> genuine = np.arange(6) < 3
    >>> people = ["ann"] * 6, ["ann"] * 3 + ["bob"] * 3
    >>> result = best_of_tries(scores, genuine, 0.3, people=people, tries=2)
    >>> round(result.far_once, 3), round(result.far, 3)
    (0.333, 0.667)
    """
    tries = whole("tries", tries, minimum=1)
    bootstrap = whole("bootstrap", bootstrap, minimum=1)
    _check_threshold(threshold)
    if people is None:
        raise TypeError(
            "`people` must be the pair (probe_ids, claimed_ids). Received None. All tries of a "
            "claim are recordings of one person, so the ids of the people are needed."
        )
    shape = np.shape(scores)
    scores, genuine = check_trials(scores, genuine)
    probe, claimed = person_codes(people, genuine, shape)
    pairs, pair = np.unique(np.stack([probe, claimed]), axis=1, return_inverse=True)
    pair = pair.ravel()
    trials = np.bincount(pair)
    accepted = np.bincount(pair, scores <= threshold)
    has_enough = trials >= tries
    is_genuine = pairs[0] == pairs[1]
    for kind, name in ((is_genuine, "genuine"), (~is_genuine, "imposter")):
        if not has_enough[kind].any():
            raise ValueError(
                f"The largest number of {name} trials with the same probe person and the same "
                f"claimed person is {int(trials[kind].max())}. {tries} tries need at least {tries} "
                "such trials. Score more recordings of each person, or lower `tries`."
            )
    trials, accepted, is_genuine = (x[has_enough] for x in (trials, accepted, is_genuine))
    drawn = np.arange(tries)[:, None]
    all_rejected = np.prod(np.maximum(trials - accepted - drawn, 0) / (trials - drawn), axis=0)
    chance, once = 1 - all_rejected, accepted / trials
    far_ci95, tar_ci95 = accept_intervals(
        chance, is_genuine, people=tuple(pairs[:, has_enough]), draws=bootstrap, seed=0
    )
    return BestOfTries(
        threshold=float(threshold),
        tries=tries,
        far=float(chance[~is_genuine].mean()),
        far_ci95=far_ci95,
        tar=float(chance[is_genuine].mean()),
        tar_ci95=tar_ci95,
        far_once=float(once[~is_genuine].mean()),
        tar_once=float(once[is_genuine].mean()),
        people=int(is_genuine.sum()),
        pairs=int((~is_genuine).sum()),
    )


# ---- rates over pairs of people ----


class ImposterPairs:
    """Imposter trials, grouped by the pair of people that a trial compares. The order of the two
    people does not matter. All pairs have equal weights.

    Args:
        scores: Distances of imposter trials, any shape. Smaller is closer.
        people: Tuple `(probe_ids, claimed_ids)` with the ids of the two people in each trial. The
            shape of each array must broadcast to the shape of `scores`.

    Attributes:
        people: Number of people.
        trials: Number of trials.
        scores: Distances of the trials, shape `(trials,)`.
        members: Person codes of each pair, shape `(pairs, 2)`.

    Raises:
        TypeError: If the scores are not real numbers, or if the ids are invalid.
        ValueError: If there is no trial, if a score is not finite, or if a trial compares a person
            with the same person.
    """

    def __init__(self, scores, people):
        scores = real("`scores`", scores, np.float64)
        check_finite("scores", scores)
        probe, claimed = ids_of_trials(people, scores.shape)
        self.scores = scores.ravel()
        if not scores.size:
            raise ValueError("`scores` is empty. Pass the distances of imposter trials.")
        genuine = int((probe == claimed).sum())
        if genuine:
            raise ValueError(
                f"Received {genuine:,} of {scores.size:,} trials that compare a person with the "
                "same person. `scores` must contain imposter trials only. To leave genuine trials "
                "out, pass `scores[probes != claims]`."
            )
        names, codes = np.unique(np.concatenate([probe, claimed]), return_inverse=True)
        ordered = np.sort(codes.reshape(2, -1), axis=0)
        pairs, self._pair = np.unique(ordered[0] * len(names) + ordered[1], return_inverse=True)
        self.members = np.stack(np.divmod(pairs, len(names)), axis=1)
        self.people, self.trials = len(names), scores.size
        self._trials_of_pair = np.bincount(self._pair)

    @property
    def is_complete(self):
        """True if every two people have at least one trial with each other."""
        return len(self.members) == self.people * (self.people - 1) // 2

    @property
    def weights(self):
        """Weight of each trial, shape `(trials,)`. The weights sum to 1, and all pairs have the
        same weight."""
        return 1 / (self._trials_of_pair[self._pair] * len(self.members))

    def weights_of_draw(self, drawn):
        """Returns the weights of the trials in a bootstrap replicate. `drawn[a]` is the number of
        times that person `a` was drawn. The weights sum to 1."""
        weights = self.weights * drawn[self.members].prod(axis=1)[self._pair]
        return weights / weights.sum()

    def accepted(self, threshold):
        """Returns the accepted fraction of the trials of each pair, shape `(pairs,)`."""
        return np.bincount(self._pair, self.scores <= threshold) / self._trials_of_pair

    def threshold(self, far):
        """Returns the largest observed score at which at most the fraction `far` of the trials is
        accepted.

        If the fraction of trials with the smallest score is larger than `far`, the result is the
        largest floating-point number below the smallest score, which accepts no trial.
        """
        order = np.argsort(self.scores, kind="stable")
        scores, accepted = self.scores[order], np.cumsum(self.weights[order])
        # index of the last trial with each distinct score
        ends = np.append(np.flatnonzero(np.diff(scores)), scores.size - 1)
        within = ends[accepted[ends] <= far * (1 + 1e-9)]
        return float(scores[within[-1]] if within.size else np.nextafter(scores[0], -np.inf))


@dataclass(frozen=True)
class FalseAccepts:
    """False accept rate at a threshold, with an interval for another group of people.

    Attributes:
        threshold: Threshold, in units of the scores. Trials with `score <= threshold` are accepted.
        rate: False accept rate, averaged over pairs of people.
        ci95: 95 % interval for the false accept rate in another group with the same number of
            people.
        people: Number of people.
        trials: Number of imposter trials.
        independent: Effective number of independent pairs of people, that is, the number of
            independent pairs that would give the rate the same variance as the pairs of the sample.
    """

    threshold: float
    rate: float
    ci95: tuple[float, float]
    people: int
    trials: int
    independent: float

    @property
    def strictest(self) -> float:
        """Lowest false accept rate for which the sample has enough people, as a fraction."""
        return _strictest_supported(self.independent)

    def people_needed(self, far: float) -> tuple[int, int]:
        """Returns the smallest and the largest number of people that a rate may need (see
        `Certificate.people_needed`)."""
        return _people_needed(far, self.people, self.independent)

    def __str__(self) -> str:
        bounds = _figures.interval(self.ci95)
        return f"FAR {100 * self.rate:.3g} % [{bounds}] at threshold {self.threshold:.4g}"


def false_accepts(scores: ArrayLike, people: PeopleOfTrials, threshold: float) -> FalseAccepts:
    """Computes the false accept rate at a threshold, with an interval for another group of people.

    Every pair of people has the same weight, even if the pairs have different numbers of trials.
    The 95 % interval is an interval for the rate of another group with the same number of people.
    The interval is computed by a bootstrap that gives people random weights and adds one person
    (see `verification`). The upper bound assumes that at least half of the false claims by the
    added person are accepted. The lower bound assumes that no trial of the added person is
    accepted. An additional false accept never lowers a bound.

    Args:
        scores: Distances of imposter trials, any shape. Smaller is closer. Pass trials between
            every two people, or between every two people of the same group.
        people: Tuple `(probe_ids, claimed_ids)` with the ids of the two people in each trial. The
            shape of each array must broadcast to the shape of `scores`.
        threshold: Threshold, in units of the scores.

    Returns:
        `FalseAccepts`.

    Raises:
        TypeError: If the scores are not real numbers, or if the ids are invalid.
        ValueError: If there is no trial, if a score is not finite, if the two people of a trial are
            identical, or if `threshold` is not a number.

    >>> rng = np.random.default_rng(0)
    >>> people = np.arange(20)
    >>> scores = rng.normal(size=(20, 20))
    >>> is_imposter = people[:, None] != people
    >>> probes, claims = np.nonzero(is_imposter)
    >>> print(false_accepts(scores[is_imposter], (probes, claims), -2.0))
    FAR 2.37 % [0.39 to 14 %] at threshold -2
    >>> print(false_accepts(scores[is_imposter], (probes, claims), -9.0))
    FAR 0 % [0 to 13 %] at threshold -9
    """
    _check_threshold(threshold)
    return false_accepts_of_pairs(ImposterPairs(scores, people), threshold)


def false_accepts_of_pairs(pairs, threshold):
    accepted = pairs.accepted(threshold)
    return FalseAccepts(
        threshold=float(threshold),
        rate=float(accepted.mean()),
        ci95=interval_of_others(accepted, pairs.members, pairs.people),
        people=pairs.people,
        trials=pairs.trials,
        independent=independent_pairs(accepted, pairs.members, pairs.people),
    )


def _strictest_supported(independent):
    """Returns the lowest FAR that an effective number of independent pairs supports."""
    return min(1.0, RULE_OF_THREE / independent)


def _people_needed(far, people, independent):
    """Returns a lower and an upper bound for the number of people that a false accept rate needs.

    The lower bound assumes that the effective number of independent pairs grows as the square of
    the number of people. The upper bound assumes that the effective number is only half the number
    of people, which is the smallest possible value.

    Args:
        far: False accept rate.
        people: Number of people in the sample.
        independent: Effective number of independent pairs in the sample.
    """
    most = math.ceil(2 * RULE_OF_THREE / far * (1 - 1e-9))
    pairs = RULE_OF_THREE / far * people * (people - 1) / (2 * independent)
    fewest = math.ceil((1 + math.sqrt(1 + 8 * pairs)) / 2 * (1 - 1e-9))
    return min(fewest, most), most


def _people_in_words(counts):
    fewest, most = counts
    return f"{most:,}" if fewest == most else f"{fewest:,} to {most:,}"


# ---- certificate ----


@dataclass(frozen=True)
class Certificate:
    """Threshold for a false accept rate, with a confidence interval for other people.

    Attributes:
        far: Wanted false accept rate.
        threshold: Threshold, in units of the scores. Trials with `score <= threshold` are accepted.
        ci95: 95 % interval for the false accept rate in another group with the same number of
            people. If the threshold is extrapolated, `ci95` is an interval for the rate that the
            model of the tail predicts, computed by a bootstrap that draws people.
        people: Number of people.
        trials: Number of imposter trials.
        independent: Effective number of independent pairs of people, that is, the number of
            independent pairs that would give the rate the same variance as the pairs of the sample.
        method: Text that describes how the threshold was computed. If the threshold is an observed
            quantile, the text is "counted over people". If the threshold is extrapolated, the text
            names the model of the tail.
    """

    far: float
    threshold: float
    ci95: tuple[float, float]
    people: int
    trials: int
    independent: float
    method: str

    @property
    def strictest(self) -> float:
        """Lowest false accept rate for which the sample has enough people, as a fraction."""
        return _strictest_supported(self.independent)

    def people_needed(self, far: float) -> tuple[int, int]:
        """Returns a lower and an upper bound for the number of people that are needed for another
        false accept rate.

        The lower bound is enough if the pairs in a larger sample are as independent as the pairs in
        the current sample. The upper bound is always enough. The range is wide because a small
        sample says little about the variance between people. For example, estimates of the lower
        bound from different groups of 15 people ranged from 86 to 1,200 people.

        Args:
            far: False accept rate.

        Returns:
            Tuple `(fewest, most)` of the lower and the upper bound.
        """
        return _people_needed(far, self.people, self.independent)

    def __str__(self) -> str:
        stricter = self.far / 10
        bounds = _figures.interval(self.ci95)
        return (
            f"threshold {self.threshold:.4g} for FAR {100 * self.far:g} % [{bounds}], "
            f"{self.method}: {self.people} people, {self.trials:,} imposter trials worth "
            f"{self.independent:,.0f} independent pairs of people. They support FAR "
            f"{_figures.percent_rounded_up(self.strictest)} or more. FAR {100 * stricter:g} % "
            f"would need about {_people_in_words(self.people_needed(stricter))} people"
        )


def certificate(
    scores: ArrayLike, people: PeopleOfTrials, far: float, *, extrapolate: bool = False
) -> Certificate:
    """Computes a threshold for a false accept rate, with a confidence interval for other people.

    The threshold is a quantile of the imposter scores with equal weights for all pairs of people.
    The interval of the false accept rate at the threshold is computed as in `false_accepts`. The
    threshold and the interval are computed from the same scores. Although the scores are used
    twice, the interval contained the rate of another group of the same size in simulations (see
    `tests/evaluation/test_monotone.py`).

    Trials that share a person are not independent. The function estimates the effective number N of
    independent pairs from the variance between people. For n people, N lies between n / 2 (pairs as
    dependent as possible) and n (n - 1) / 2 (all pairs independent). If no trial of N independent
    pairs is accepted, the rate can still be 3 / N (rule of three, Jovanovic1997). The function
    therefore raises an error if `far` is below 3 / N, because the sample is too small for such a
    low rate.

    Args:
        scores: Distances of imposter trials, any shape. Smaller is closer. Pass trials between
            every two people, or between every two people of the same group.
        people: Tuple `(probe_ids, claimed_ids)` with the ids of the two people in each trial. The
            shape of each array must broadcast to the shape of `scores`.
        far: Wanted false accept rate, above 0 and below 1.
        extrapolate: Whether to extrapolate the threshold if `far` is below the lowest rate that the
            sample supports. With extrapolation, `far` may be as small as a tenth of the lowest
            supported rate. A generalized Pareto distribution is fitted to the lowest tenth of the
            scores (extreme value theory, as in ISO/IEC 5152:2024). The extrapolated rate comes from
            the fitted distribution, not from observed trials. In a test with gait and speech data
            sets, each data set was split into two groups of people. The threshold was computed for
            one group. The false accept rate of the other group was 1.1 to 2.5 times the wanted
            rate, and 81 to 99 % of the intervals contained the rate of the other group.

    Returns:
        `Certificate`.

    Raises:
        TypeError: If the scores are not real numbers, or if the ids are invalid.
        ValueError: If `far` is not between 0 and 1, if there is no trial, if a score is not finite,
            if the two people of a trial are identical, or if the sample does not support the rate.
            If the sample is too small, the error message contains the number of people that are
            needed for `far`.

    >>> import numpy as np
    >>> people = np.arange(40)
    >>> scores = np.random.default_rng(0).normal(size=(40, 40))
    >>> is_imposter = people[:, None] != people
    >>> result = certificate(scores[is_imposter], np.nonzero(is_imposter), 0.05)
    >>> round(result.threshold, 2), result.people, result.people_needed(0.005)
    (-1.57, 40, (41, 1200))
    >>> certificate(scores[is_imposter], np.nonzero(is_imposter), 0.001)
    Traceback (most recent call last):
    ValueError: FAR 0.1 % is beyond what these 40 people support. ...
    """
    check_far(far)
    pairs = ImposterPairs(scores, people)
    rates = false_accepts_for(pairs, far)
    threshold, interval, method = rates.threshold, rates.ci95, COUNTED
    if far < rates.strictest:
        if not extrapolate:
            hint = Message(
                "{extrapolate=True} extrapolates a model of the tail, but does not guarantee the "
                "rate"
            )
            raise ValueError(_refusal(far, rates, hint))
        if far * REACH < rates.strictest:
            hint = f"A model of the tail cannot extrapolate below 1/{REACH} of the supported rate"
            raise ValueError(_refusal(far, rates, hint))
        start = pairs.threshold(max(TAIL_FRACTION, rates.strictest))
        model = fit_tail(pairs.scores, pairs.weights, start)
        if model is None or model.rate < far:  # ties leave fewer scores below the start
            hint = "Too few of the lowest scores differ to fit a tail"
            raise ValueError(_refusal(far, rates, hint))
        threshold, method = model.threshold(far), EXTRAPOLATED
        interval = _interval_of_tail(pairs, threshold, start)
    return Certificate(
        far=float(far),
        threshold=threshold,
        ci95=interval,
        people=pairs.people,
        trials=pairs.trials,
        independent=rates.independent,
        method=method,
    )


def false_accepts_for(pairs, far):
    """Returns the `FalseAccepts` of `ImposterPairs` at the largest observed score that accepts at
    most the fraction `far` of the trials.

    If even independent pairs would not support the rate `far`, the function uses the lowest rate
    that independent pairs support. In both cases, `far` is supported if it is at least
    `FalseAccepts.strictest`.
    """
    finest = min(1.0, RULE_OF_THREE / len(pairs.members))  # lowest rate for independent pairs
    return false_accepts_of_pairs(pairs, pairs.threshold(max(far, finest)))


def _refusal(far, rates, hint):
    return Message(
        "FAR {percent:g} % is beyond what these {people} people support. They support FAR "
        "{strictest} or more, because their {trials:,} imposter trials carry as much information "
        "as {independent:,.0f} independent pairs of people. FAR {percent:g} % would need about "
        "{count} people. Give more people, or a larger {far}. {hint}.",
        percent=100 * far,
        people=rates.people,
        strictest=_figures.percent_rounded_up(rates.strictest),
        trials=rates.trials,
        independent=rates.independent,
        count=_people_in_words(rates.people_needed(far)),
        hint=hint,
    )


@dataclass(frozen=True)
class Tail:
    """Model of the lower tail of the scores, `P(score <= t) = rate * sf(start - t)` for t <= start.

    `sf` is the survival function of a generalized Pareto distribution.

    Attributes:
        start: Largest score at which the model holds.
        rate: Fraction of the imposter trials with a score below `start`.
        shape: Shape of the generalized Pareto distribution. If the shape is negative, the modeled
            scores have a lower bound.
        scale: Scale of the generalized Pareto distribution, in units of the scores.
    """

    start: float
    rate: float
    shape: float
    scale: float

    def far(self, threshold):
        """Returns the false accept rate of a threshold at or below `start`."""
        excess = (self.start - threshold) / self.scale
        if self.shape < 0 and excess >= -1 / self.shape:  # beyond the lower bound of the scores
            return 0.0
        return float(self.rate * inv_boxcox(-excess, -self.shape))

    def threshold(self, far):
        """Returns the threshold for the false accept rate `far`, which is at most `rate`."""
        return float(self.start + self.scale * boxcox(far / self.rate, -self.shape))


def fit_tail(scores, weights, start):
    """Fits a model to the lower tail of weighted scores, by probability-weighted moments.

    Let `x = start - score` be the excess of a score below `start`. The moments `a0 = mean(x)` and
    `a1 = mean(x (1 - F(x)))` give the shape `2 - a0 / (a0 - 2 a1)` and the scale
    `2 a0 a1 / (a0 - 2 a1)` of the generalized Pareto distribution (Hosking1987). Moment estimates
    also exist for small samples, for which the likelihood often has no maximum.

    Args:
        scores: Scores, shape `(trials,)`.
        weights: Weight of each score. The weights sum to 1.
        start: Largest score at which the model holds. At least one score must be below `start`.

    Returns:
        `Tail`, or None if all scores below `start` are equal.
    """
    below = scores < start
    order = np.argsort(-scores[below], kind="stable")
    excess, share = (start - scores[below])[order], weights[below][order]
    rate = share.sum()
    if rate == 0:
        return None
    share = share / rate
    beyond = 1 - np.cumsum(share) + share / 2
    first, second = share @ excess, share @ (excess * beyond)
    spread = first - 2 * second
    if spread <= 0:
        return None
    return Tail(
        float(start), float(rate), float(2 - first / spread), float(2 * first * second / spread)
    )


def _interval_of_tail(pairs, threshold, start):
    """Returns the 95 % interval of the modeled false accept rate at a threshold.

    The interval is computed by a percentile bootstrap that draws people.

    Args:
        pairs: `ImposterPairs` with the scores of the imposter trials.
        threshold: Threshold below `start`.
        start: Largest score at which the model of the tail holds.
    """
    rng, rates = np.random.default_rng(TAIL_SEED), []
    while len(rates) < TAIL_DRAWS:
        drawn = np.bincount(rng.integers(pairs.people, size=pairs.people), minlength=pairs.people)
        if drawn[pairs.members].all(axis=1).any():
            tail = fit_tail(pairs.scores, pairs.weights_of_draw(drawn), start)
            rates.append(0.0 if tail is None else tail.far(threshold))
    low, high = np.percentile(rates, PERCENTILES_OF_OTHERS)
    return float(low), float(high)


# ---- promise ----


@dataclass(frozen=True)
class Promise:
    """Conformal threshold, which guarantees an upper bound for the average false match rate of new
    people.

    Attributes:
        far: Upper bound for the false match rate of two new people. The rate is averaged over
            random samples of people, and each threshold is computed from the trials of one sample.
        threshold: Threshold, in units of the scores. Trials with `score <= threshold` are accepted.
        rate: Fraction of the sample's imposter trials that are accepted, averaged over pairs of
            people.
        ci95: 95 % interval for the false match rate in another group with the same number of
            people.
        people: Number of people.
        trials: Number of imposter trials.
    """

    far: float
    threshold: float
    rate: float
    ci95: tuple[float, float]
    people: int
    trials: int

    @property
    def strictest(self) -> float:
        """Lowest false match rate that can be guaranteed with this number of people, as a
        fraction."""
        return 4 * ACCEPTED_OF_NEW_PERSON / (self.people + 2)

    def people_needed(self, far: float) -> int:
        """Returns the number of people needed to guarantee the rate `far`."""
        return _people_to_promise(far)

    def __str__(self) -> str:
        bounds = _figures.interval(self.ci95)
        return (
            f"threshold {self.threshold:.4g} for FAR at most {100 * self.far:g} %: "
            f"{100 * self.rate:.3g} % [{bounds}] of {self.trials:,} imposter trials are accepted. "
            f"The {self.people} people are enough to guarantee FAR "
            f"{_figures.percent_rounded_up(self.strictest)} or more"
        )


def promise(scores: ArrayLike, people: PeopleOfTrials, far: float) -> Promise:
    """Computes a conformal threshold, which bounds the average false match rate of two new people.

    As in conformal prediction, the guarantee is distribution-free, which means that it holds for
    any distribution of the scores. The n people of the sample and the two people of a later trial
    must be exchangeable. The method also assumes a limit c for new people: at most the fraction c
    of the trials between a new person and everybody else is accepted. If a threshold accepts the
    fraction p of the trials between the n people, the rate of two new people is at most
    `2 (n p + min(1, 2 c)) / (n + 2)` on average. The function returns the largest threshold for
    which the upper bound of the rate is at most `far`.

    The default c = 1/4 follows from the same assumption as in `false_accepts`: at most half of the
    false claims by a new person are accepted. If the accepted fraction for one of the n people is
    larger than c, this fraction replaces c. If c is 1/2 or more, the bound holds without the
    assumption about c.

    Without the assumption that c limits the accepted trials of a new person, a method would need
    twice as many people and stricter thresholds. In simulations with 38 people and `far` = 5 %,
    thresholds that do not rely on the assumption had a false match rate of 0.05 to 0.26 % and a
    true accept rate of 12 to 50 %. In the same simulations, the thresholds of `promise` with c =
    1/4 had a false match rate of 1.3 to 2.0 % and a true accept rate of 78 to 92 %. The false match
    rate at the thresholds of `promise` was at most 5 % in 83 to 100 % of the simulated groups of 38
    people. The false match rate for one particular sample varies around the average. `Promise.ci95`
    is the 95 % interval of the rate for one sample.

    Proof: Let N = n + 2 people be exchangeable, and let e be the pair of the two new people. Let
    t_e be the threshold computed without the pair e, and let b_e be the fraction of the trials
    between the two people of e that t_e accepts. The rate is the mean of b_e over all
    `N (N - 1) / 2` pairs. Let W be the sum of b_e over all pairs. Consider two pairs e and f
    without a common person and with `t_f <= t_e`. Then f is one of the pairs from which t_e was
    computed. The accepted fractions of all pairs from which t_e was computed sum to at most
    `m = p n (n - 1) / 2`. Therefore, the sum of `b_e b_f` over all e and f without a common person
    is at most `2 m W`. Let d_v be the sum of b_e over all pairs that include person v. The sum of
    `b_e b_f` over all e and f with a common person is at most `sum(d_v^2)`. Each d_v is at most
    `c (N - 1)`, and the sum of all d_v is 2 W. Together, these bounds give
    `W^2 <= 2 m W + 2 c (N - 1) W` and therefore `W <= p n (n - 1) + 2 c (n + 1)`.

    A proof that does not assume a limit c uses a matrix with one row and one column for each pair.
    An entry of the matrix is the number of people that belong to the pair of the row and to the
    pair of the column. The eigenvalues of the matrix are 2 (N - 1) for the constant vector, and N -
    2 and 0 for the other eigenvectors. Therefore
    `sum(d_v^2) <= (N - 2) sum(b_e^2) + 2 W^2 / (N - 1)`. With `sum(b_e^2) <= W` this gives the
    bound `W <= (n + 1) (1 + n p)`.

    Args:
        scores: Distances of imposter trials, any shape. Smaller is closer. If a recording is scored
            several times before it is complete, pass the smallest of its distances.
        people: Tuple `(probe_ids, claimed_ids)` with the ids of the two people in each trial. The
            shape of each array must broadcast to the shape of `scores`. Every two people must have
            a trial with each other.
        far: False match rate to guarantee, above 0 and below 1.

    Returns:
        `Promise`.

    Raises:
        TypeError: If the scores are not real numbers, or if the ids are invalid.
        ValueError: If `far` is out of range, if `scores` is empty, if a score is not finite, if the
            two people of a trial are identical, if two people have no trial with each other, or if
            there are too few people for the rate. If there are too few people, the error message
            contains the number of people that are needed for `far`.

    >>> import numpy as np
    >>> people = np.arange(40)
    >>> scores = np.random.default_rng(0).normal(size=(40, 40))
    >>> is_imposter = people[:, None] != people
    >>> result = promise(scores[is_imposter], np.nonzero(is_imposter), 0.1)
    >>> round(result.rate, 3), round(result.strictest, 3), result.people_needed(0.01)
    (0.04, 0.024, 98)
    """
    check_far(far)
    pairs = ImposterPairs(scores, people)
    n = pairs.people
    if not pairs.is_complete:
        raise ValueError(
            f"Received trials of only {len(pairs.members):,} of {n * (n - 1) // 2:,} pairs of "
            f"people. Each pair of the {n} people must have at least one trial. Compute scores for "
            "the missing pairs."
        )
    if n < _people_to_promise(far):
        strictest = _figures.percent_rounded_up(4 * ACCEPTED_OF_NEW_PERSON / (n + 2))
        raise ValueError(
            Message(
                "The trials of {people} people cannot guarantee FAR {percent:g} % for new people. "
                "These trials can guarantee FAR {strictest}. A guarantee of FAR {percent:g} % "
                "needs {needed:,} people. Give more people, or a larger {far}.",
                people=n,
                percent=100 * far,
                strictest=strictest,
                needed=_people_to_promise(far),
            )
        )
    thresholds = np.unique(pairs.scores)
    below = float(np.nextafter(thresholds[0], -np.inf))
    count = bisect.bisect_right(
        thresholds, far * (1 + 1e-9), key=lambda threshold: _promised_rate(pairs, threshold)
    )
    rates = false_accepts_of_pairs(pairs, float(thresholds[count - 1]) if count else below)
    return Promise(
        far=float(far),
        threshold=rates.threshold,
        rate=rates.rate,
        ci95=rates.ci95,
        people=n,
        trials=pairs.trials,
    )


def _promised_rate(pairs, threshold):
    """Returns the upper bound of the average false match rate of two new people at a threshold."""
    accepted, n = pairs.accepted(threshold), pairs.people
    accepted_of_people = np.bincount(pairs.members.ravel(), np.repeat(accepted, 2)) / (n - 1)
    accepted_of_new_person = max(ACCEPTED_OF_NEW_PERSON, accepted_of_people.max())
    return 2 * (n * accepted.mean() + min(1, 2 * accepted_of_new_person)) / (n + 2)


def _people_to_promise(far):
    """Returns the number of people needed to guarantee a false match rate."""
    return max(2, math.ceil(4 * ACCEPTED_OF_NEW_PERSON / far * (1 - 1e-9)) - 2)
