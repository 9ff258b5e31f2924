"""Computes thresholds and error rates from the scores or embeddings of any recognition system.

The system is only known by its scores: a table of trials with the two people and the score of each
trial, or embeddings with the person of each embedding. `embedding_trials` converts embeddings to
trials, and `thresholds_of` computes the report.
"""

from __future__ import annotations

import dataclasses
import math
import numbers
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from keras_dml import _figures
from keras_dml._arrays import real, whole
from keras_dml._messages import Message
from keras_dml._typing import ArrayLike
from keras_dml.evaluation._calibration import cllr, logistic_calibration, min_cllr
from keras_dml.evaluation._checks import PeopleOfTrials, check_finite, ids, ids_of_trials
from keras_dml.evaluation._intervals import (
    DRAWS,
    eer_replicates,
    interval,
    interval_of_others,
    mean_interval,
)
from keras_dml.evaluation._thresholds import (
    ImposterPairs,
    check_far,
    false_accepts_for,
    false_accepts_of_pairs,
)
from keras_dml.evaluation._verification import SUSPECT_AUC, Verification, verification_figures

FARS = (0.1, 0.01, 0.001)
MOST_TRIALS = 25 * 10**6  # trials of embeddings; 25 million take 1 GB of memory
MOST_GROUPS = 100
# The interval of the EER uses at most this number of genuine and of imposter trials. A replicate of
# the bootstrap takes time in proportion to the trials, but the interval depends on the people.
MOST_RESAMPLED = 20_000
# Relative to the range of all scores, genuine scores within this distance of the best score count
# as equal to the best score. Cosines of equal vectors differ from 1 by about 1e-7 in float32.
EQUAL = 1e-6
SELF_COMPARED = 0.5  # fraction of people with a genuine trial at the best score that is suspect
TIED = 0.5  # fraction of the wanted FAR below which ties are reported
# Largest probability that independent trials with ties look like a table with repeated trials.
CHANCE_OF_REPEATS = 0.05
NO_GROUP = ""


class EmbeddingTrials(NamedTuple):
    """Trials between all pairs of embeddings. `thresholds_of` takes the three values.

    Attributes:
        scores: Distances of the trials, float64, shape `(trials,)`.
        people: Tuple with the ids of the two people in each trial, two arrays of shape `(trials,)`.
        groups: Group of each trial, an array of strings of shape `(trials,)`, or None. The group of
            a trial between people of different groups is the empty string.
    """

    scores: np.ndarray
    people: tuple[np.ndarray, np.ndarray]
    groups: np.ndarray | None = None


@dataclass(frozen=True)
class GroupRates:
    """Error rates within a group of people at a threshold.

    Attributes:
        group: Name of the group.
        people: Number of people in the trials of the group.
        genuine: Number of genuine trials of the group.
        imposter: Number of imposter trials between people of the group.
        far: False accept rate within the group, averaged over pairs of people. None if the group
            has no imposter trials.
        far_ci95: 95 % interval for the rate of another group with the same number of people.
        tar: True accept rate of the group. None if the group has no genuine trials.
        tar_ci95: 95 % confidence interval of the true accept rate.
    """

    group: str
    people: int
    genuine: int
    imposter: int
    far: float | None
    far_ci95: tuple[float, float] | None
    tar: float | None
    tar_ci95: tuple[float, float] | None


@dataclass(frozen=True)
class ThresholdRates:
    """Threshold, and the error rates at this threshold.

    Attributes:
        threshold: Threshold, in units of the scores.
        wanted_far: False accept rate for which the threshold was computed. None if the caller chose
            the threshold.
        far: False accept rate of the trials, averaged over pairs of people.
        far_ci95: 95 % interval for the false accept rate of another group with the same number of
            people, see `false_accepts`.
        tar: True accept rate, the fraction of the genuine trials that are accepted.
        tar_ci95: 95 % confidence interval of the true accept rate. The bootstrap draws people.
        printed: Threshold as a decimal number. The number has as many digits as are needed to
            accept the same trials of the sample as the threshold. See `_figures.threshold`.
        groups: Rates within each group of people. Empty if the trials have no groups.
    """

    threshold: float
    wanted_far: float | None
    far: float
    far_ci95: tuple[float, float]
    tar: float
    tar_ci95: tuple[float, float]
    printed: str
    groups: tuple[GroupRates, ...] = ()

    @property
    def worst_far(self) -> GroupRates | None:
        """Group with the highest false accept rate, or None if the trials have no groups."""
        groups = [group for group in self.groups if group.far is not None]
        return max(groups, key=lambda group: group.far, default=None)

    @property
    def worst_tar(self) -> GroupRates | None:
        """Group with the lowest true accept rate, or None if the trials have no groups."""
        groups = [group for group in self.groups if group.tar is not None]
        return min(groups, key=lambda group: group.tar, default=None)

    def __str__(self) -> str:
        wanted = "" if self.wanted_far is None else f" for FAR {100 * self.wanted_far:g} %"
        return (
            f"threshold {self.printed}{wanted}: FAR {100 * self.far:.3g} % "
            f"[{_figures.interval(self.far_ci95)}], TAR {100 * self.tar:.3g} % "
            f"[{_figures.interval(self.tar_ci95)}]"
        )


@dataclass(frozen=True)
class UnsupportedRate:
    """False accept rate for which the trials have too few people.

    Attributes:
        wanted_far: The false accept rate.
        strictest: Lowest false accept rate that the people support.
        people_needed: Lower and upper bound for the number of people that the rate needs, see
            `Certificate.people_needed`.
    """

    wanted_far: float
    strictest: float
    people_needed: tuple[int, int]

    def __str__(self) -> str:
        fewest, most = self.people_needed
        count = f"{most:,}" if fewest == most else f"{fewest:,} to {most:,}"
        return (
            f"no threshold for FAR {100 * self.wanted_far:g} %: it needs {count} people, and these "
            f"support {_figures.percent_rounded_up(self.strictest)} or more"
        )


@dataclass(frozen=True)
class ScoreReport:
    """Thresholds and error rates of a recognition system, computed from its scores.

    Attributes:
        higher_is_closer: Whether larger scores mean more alike. If so, trials with
            `score >= threshold` are accepted, and otherwise trials with `score <= threshold`.
        people: Number of people in the trials.
        genuine_people: Number of people with genuine trials.
        genuine: Number of genuine trials.
        imposter: Number of imposter trials.
        pairs: Number of pairs of people with imposter trials.
        eer: Equal error rate.
        eer_ci95: 95 % confidence interval of the equal error rate. The bootstrap draws people.
        eer_threshold: Threshold at the equal error rate, in units of the scores.
        cllr: Cost of log likelihood ratios in bits. Half of the people calibrate the scores of the
            other half by logistic regression. None if the people are too few, if the scores
            separate the trials, or if scikit-learn is not installed.
        min_cllr: Least cost that an increasing map of the same ratios has, see `min_cllr`. If
            `cllr` is None, the least cost on all trials. None if scikit-learn is not installed.
        thresholds: Thresholds for the wanted rates that the people support, by descending rate.
        unsupported: Wanted rates that the people do not support, by descending rate.
        checks: Rates at the thresholds that the caller chose.
        notes: Sentences about properties of the trials that may be mistakes.
        verification: `Verification` of the trials, with error curves and scores. Its scores are
            distances: similarities are multiplied by -1.
    """

    higher_is_closer: bool
    people: int
    genuine_people: int
    genuine: int
    imposter: int
    pairs: int
    eer: float
    eer_ci95: tuple[float, float]
    eer_threshold: float
    cllr: float | None
    min_cllr: float | None
    thresholds: tuple[ThresholdRates, ...]
    unsupported: tuple[UnsupportedRate, ...]
    checks: tuple[ThresholdRates, ...]
    notes: tuple[str, ...]
    verification: Verification = field(repr=False, compare=False)

    @property
    def printed_eer_threshold(self) -> str:
        """Threshold at the equal error rate with the digits that are needed to accept the same
        trials."""
        return _figures.threshold(
            self.eer_threshold, self.verification.det.thresholds, self.higher_is_closer
        )

    @property
    def counts_in_words(self) -> str:
        """Numbers of people, of trials and of pairs of people."""
        people = _figures.counted(self.people, "person", "people")
        genuine = _figures.counted(self.genuine, "genuine trial")
        of_people = _figures.counted(self.genuine_people, "person", "people")
        imposter = _figures.counted(self.imposter, "imposter trial")
        pairs = _figures.counted(self.pairs, "pair of people", "pairs of people")
        return f"{people}, {genuine} of {of_people}, {imposter} of {pairs}"

    def __str__(self) -> str:
        lines = [
            self.counts_in_words,
            f"EER {100 * self.eer:.3g} % [{_figures.interval(self.eer_ci95)}] at threshold "
            f"{self.printed_eer_threshold}",
        ]
        return "\n".join([*lines, *map(str, (*self.thresholds, *self.unsupported, *self.checks))])

    def to_dict(self) -> dict:
        """Returns the report as a dictionary of plain values for JSON, without the trials."""
        values = {
            entry.name: getattr(self, entry.name)
            for entry in dataclasses.fields(self)
            if entry.name != "verification"
        }
        for name in ("thresholds", "unsupported", "checks"):
            values[name] = [dataclasses.asdict(entry) for entry in values[name]]
        return values


def thresholds_of(
    scores: ArrayLike,
    people: PeopleOfTrials,
    groups: ArrayLike | None = None,
    *,
    fars: float | Sequence[float] = FARS,
    check: float | Sequence[float] = (),
    higher_is_closer: bool = False,
    seed: int = 0,
) -> ScoreReport:
    """Computes thresholds and error rates from the scores of any recognition system.

    A trial is genuine if its two people are equal. The false accept rates give all pairs of people
    the same weight, and their intervals are intervals for another group with the same number of
    people (see `certificate`). If the people are too few for a wanted rate, the report contains the
    number of people that the rate needs instead of a threshold.

    Args:
        scores: Scores of the trials, any shape. By default, scores are distances, so smaller is
            closer.
        people: Tuple `(a, b)` with the ids of the two people in each trial. The order of the two
            people does not matter. The shape of each array must broadcast to the shape of `scores`.
        groups: Group of each trial, such as an age or a sensor, in the shape of `scores`. A trial
            with an empty group belongs to no group, such as a trial between people of different
            groups. The error rates of each group follow ISO/IEC 19795-10.
        fars: Wanted false accept rate or rates, each above 0 and below 1.
        check: Threshold or thresholds whose error rates are computed, in units of the scores, such
            as a threshold that was copied from another data set.
        higher_is_closer: Whether the scores are similarities, so that larger is closer.
        seed: Seed of the bootstrap of the EER, and of the halves of people for the Cllr.

    Returns:
        `ScoreReport`.

    Raises:
        TypeError: If the scores are not numbers, or if the ids of people are invalid.
        ValueError: If a score is not finite, if genuine or imposter trials are missing, if all
            scores are equal, if `fars` or `check` contains invalid numbers, if there are more than
            100 groups, or if the scores are larger for genuine trials although smaller is closer,
            or the other way round.

    >>> rng = np.random.default_rng(0)
    >>> people = np.repeat(np.arange(40), 3)
    >>> vectors = rng.normal(size=(40, 16))[people] + 0.7 * rng.normal(size=(120, 16))
    >>> report = thresholds_of(*embedding_trials(vectors, people), fars=[0.05, 0.001], check=[0.25])
    >>> print(report)
    40 people, 120 genuine trials of 40 people, 7,020 imposter trials of 780 pairs of people
    EER 4.46 % [2.7 to 10 %] at threshold 0.571
    threshold 0.5834 for FAR 5 %: FAR 5 % [2.8 to 10 %], TAR 96.7 % [87 to 99 %]
    no threshold for FAR 0.1 %: it needs 78 to 6,000 people, and these support 0.39 % or more
    threshold 0.25: FAR 0.0285 % [0 to 5.9 %], TAR 35.8 % [25 to 49 %]
    """
    signs = -1.0 if higher_is_closer else 1.0
    scores = real("`scores`", scores, np.float64)
    check_finite("scores", scores)
    fars = sorted({_check_far(far) for far in np.atleast_1d(fars).tolist()}, reverse=True)
    check = [_check_threshold(threshold) for threshold in np.atleast_1d(check).tolist()]
    seed = whole("seed", seed, minimum=0)
    names, (first, second) = _codes_of(people, scores.shape)
    labels = None if groups is None else _labels_of(groups, scores.shape)
    distances = signs * scores.ravel()
    genuine = first == second
    _check_kinds(genuine, names)
    if distances.min() == distances.max():
        raise ValueError(
            Message(
                "All scores are equal ({value:g}). Thresholds need scores that differ. Check that "
                "{scores} are the scores of the system.",
                value=signs * distances[0],
            )
        )
    rows, notes = _without_repeated(distances, first, second, genuine)
    # The order of the rows and of the two people must not change the results.
    low, high = np.minimum(first, second)[rows], np.maximum(first, second)[rows]
    rows = rows[np.lexsort((distances[rows], high, low))]
    distances, genuine = distances[rows], genuine[rows]
    first, second = np.minimum(first, second)[rows], np.maximum(first, second)[rows]
    labels = None if labels is None else labels[rows]
    figures = verification_figures(distances, genuine)
    _check_direction(figures.auc, higher_is_closer)
    notes += _self_comparisons(distances, genuine, first)
    trials = _Trials(distances, first, second, genuine, labels)
    pairs = trials.pairs
    thresholds, unsupported = [], []
    for far in fars:
        rates = false_accepts_for(pairs, far)
        if far < rates.strictest:
            unsupported.append(UnsupportedRate(far, rates.strictest, rates.people_needed(far)))
        else:
            thresholds.append(trials.rates(rates, signs, far))
            notes += _ties(pairs, thresholds[-1], signs)
    notes += _ties_of_best(trials, [row.wanted_far for row in unsupported], signs)
    checks = [
        trials.rates(false_accepts_of_pairs(pairs, signs * threshold), signs) for threshold in check
    ]
    cost, least = _costs(distances, genuine, first, second, seed)
    return ScoreReport(
        higher_is_closer=bool(higher_is_closer),
        people=len(names),
        genuine_people=int(np.unique(first[genuine]).size),
        genuine=int(genuine.sum()),
        imposter=int((~genuine).sum()),
        pairs=len(pairs.members),
        eer=figures.eer,
        eer_ci95=_eer_interval(figures, first, second, seed),
        eer_threshold=signs * figures.eer_threshold,
        cllr=cost,
        min_cllr=least,
        thresholds=tuple(thresholds),
        unsupported=tuple(unsupported),
        checks=tuple(checks),
        notes=tuple(notes),
        verification=figures,
    )


def embedding_trials(
    embeddings: ArrayLike,
    people: ArrayLike,
    groups: ArrayLike | None = None,
    *,
    metric: str = "cosine",
) -> EmbeddingTrials:
    """Computes the distances between all pairs of embeddings as trials for `thresholds_of`.

    An embedding is not compared with itself. Each pair is compared once.

    Args:
        embeddings: Embeddings, shape `(embeddings, dimensions)`.
        people: Id of the person of each embedding, shape `(embeddings,)`.
        groups: Group of the person of each embedding, or None. All embeddings of a person must have
            the same group.
        metric: Distance, by its name in `scipy.spatial.distance.pdist`, such as `"cosine"` (1 minus
            the cosine), `"euclidean"` or `"cityblock"`.

    Returns:
        `EmbeddingTrials`.

    Raises:
        TypeError: If the embeddings are not numbers.
        ValueError: If shapes differ, if a number is not finite, if an embedding is zero and the
            metric is `"cosine"`, if there are more than 25 million pairs, or if a person has two
            groups.

    >>> trials = embedding_trials([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0]], ["ann", "ann", "bob"])
    >>> trials.scores
    array([0., 1., 1.])
    >>> trials.people[1].tolist()
    ['ann', 'bob', 'bob']
    """
    from scipy.spatial.distance import pdist

    embeddings = real("`embeddings`", embeddings, np.float64)
    people = ids("`people`", people)
    if embeddings.ndim != 2 or people.shape != embeddings.shape[:1]:
        raise ValueError(
            f"Received `embeddings` of shape {embeddings.shape} and `people` of shape "
            f"{people.shape}. Expected `embeddings` of shape (embeddings, dimensions), and one id "
            "of a person for each embedding."
        )
    check_finite("embeddings", embeddings)
    count = len(embeddings) * (len(embeddings) - 1) // 2
    if count > MOST_TRIALS:
        raise ValueError(
            Message(
                "{embeddings} holds {rows:,} embeddings, which have {count:,} pairs. At most "
                "{most:,} pairs are allowed. Use fewer embeddings per person.",
                rows=len(embeddings),
                count=count,
                most=MOST_TRIALS,
            )
        )
    zeros = np.flatnonzero(~embeddings.any(axis=1))
    if metric == "cosine" and zeros.size:
        raise ValueError(
            f"{zeros.size} embeddings are zero, the first in row {zeros[0]}. The cosine of a zero "
            "vector does not exist. Leave these embeddings out."
        )
    first, second = np.triu_indices(len(embeddings), 1)
    labels = None
    if groups is not None:
        group = _labels_of(groups, people.shape)
        names, codes = np.unique(people, return_inverse=True)
        of_person = np.empty(len(names), group.dtype)
        of_person[codes] = group
        mixed = np.flatnonzero(of_person[codes] != group)
        if mixed.size:
            raise ValueError(
                f"The embeddings of {people[mixed[0]]!s} have the groups {group[mixed[0]]!s} and "
                f"{of_person[codes[mixed[0]]]!s}. Expected one group for each person. Correct the "
                "groups."
            )
        labels = np.where(group[first] == group[second], group[first], NO_GROUP)
    scores = np.maximum(pdist(embeddings, metric), 0.0)
    return EmbeddingTrials(scores, (people[first], people[second]), labels)


class _Trials:
    """Trials with person codes, which computes the rates at thresholds."""

    def __init__(self, distances, first, second, genuine, labels):
        self.distances, self.first, self.second = distances, first, second
        self.genuine, self.labels = genuine, labels
        self.values = np.unique(distances)
        self.pairs = self._imposter_pairs(~genuine)
        self.groups = []
        if labels is not None:
            for name in np.unique(labels[labels != NO_GROUP]):
                inside = labels == name
                imposter = inside & ~genuine
                pairs = self._imposter_pairs(imposter) if imposter.any() else None
                self.groups.append((str(name), inside & genuine, pairs))

    def _imposter_pairs(self, chosen):
        return ImposterPairs(self.distances[chosen], (self.first[chosen], self.second[chosen]))

    def rates(self, false_accepts, signs, wanted_far=None):
        """Returns the `ThresholdRates` at the threshold of `FalseAccepts`. `signs` is -1 if the
        scores are similarities, and 1 otherwise."""
        limit = false_accepts.threshold
        threshold = signs * limit + 0.0
        tar, tar_ci95 = self._tar(self.genuine, limit)
        return ThresholdRates(
            threshold=threshold,
            wanted_far=wanted_far,
            far=false_accepts.rate,
            far_ci95=false_accepts.ci95,
            tar=tar,
            tar_ci95=tar_ci95,
            printed=(
                _figures.shortest(threshold)
                if wanted_far is None
                else _figures.threshold(threshold, self.values, signs < 0)
            ),
            groups=tuple(self._group(*group, limit) for group in self.groups),
        )

    def _tar(self, chosen, limit):
        accepted = self.distances[chosen] <= limit
        return float(accepted.mean()), mean_interval(accepted.astype(float), self.first[chosen])

    def _group(self, name, genuine, pairs, limit):
        people, far, far_ci95, tar, tar_ci95 = set(self.first[genuine].tolist()), *(None,) * 4
        if pairs is not None:
            accepted = pairs.accepted(limit)
            far = float(accepted.mean())
            far_ci95 = interval_of_others(accepted, pairs.members, pairs.people)
        if genuine.any():
            tar, tar_ci95 = self._tar(genuine, limit)
        return GroupRates(
            group=name,
            people=max(len(people), 0 if pairs is None else pairs.people),
            genuine=int(genuine.sum()),
            imposter=0 if pairs is None else pairs.trials,
            far=far,
            far_ci95=far_ci95,
            tar=tar,
            tar_ci95=tar_ci95,
        )


def _check_far(far):
    check_far(far)
    return float(far)


def _check_threshold(threshold):
    if isinstance(threshold, bool) or not isinstance(threshold, numbers.Real):
        raise TypeError(Message("{check} is {value!r}, but must be a number.", value=threshold))
    if not math.isfinite(threshold):
        raise ValueError(
            Message(
                "{check} is {value}, but a threshold must be finite. Pass a number in the unit of "
                "the scores.",
                value=threshold,
            )
        )
    return float(threshold)


def _codes_of(people, shape):
    """Returns the names of all people, and the codes of the two people in each trial."""
    first, second = ids_of_trials(people, shape)
    names, codes = np.unique(np.concatenate([first, second]), return_inverse=True)
    return names, (codes[: first.size], codes[first.size :])


def _labels_of(groups, shape):
    """Returns groups as a flat array of strings, in which missing groups are empty."""
    array = np.asarray(groups)
    if array.shape != shape:
        raise ValueError(
            f"Received `groups` of shape {array.shape}. Expected the shape {shape}, with one group "
            "for each score or embedding."
        )
    missing = np.array([value is None or value != value for value in array.ravel().tolist()], bool)
    labels = np.where(missing, NO_GROUP, array.ravel().astype(str))
    names = np.unique(labels)
    if len(names) > MOST_GROUPS:
        raise ValueError(
            Message(
                "{groups} has {count:,} different groups, such as {name!r}. At most {most} groups "
                "are allowed. Use larger groups.",
                count=len(names),
                name=str(names[-1]),
                most=MOST_GROUPS,
            )
        )
    return labels


def _check_kinds(genuine, names):
    """Checks that there are genuine and imposter trials."""
    if genuine.any() and not genuine.all():
        return
    if not genuine.size:
        raise ValueError(
            Message("{scores} is empty. Expected at least one genuine and one imposter trial.")
        )
    if len(names) == 1:
        raise ValueError(
            f"All {genuine.size:,} trials are trials of one person. Error rates need trials "
            "between different people as well. Add trials of other people."
        )
    if genuine.all():
        raise ValueError(
            f"All {genuine.size:,} trials compare a person with the same person. Error rates need "
            "trials between different people as well. Add imposter trials."
        )
    raise ValueError(
        f"None of the {genuine.size:,} trials compares two recordings of one person. Error rates "
        "need genuine trials as well. Add trials in which the two people are equal, and write the "
        "name of a person in the same way in both columns."
    )


def _check_direction(auc, higher_is_closer):
    if auc >= SUSPECT_AUC:
        return
    larger, smaller = ("larger", "smaller") if higher_is_closer else ("smaller", "larger")
    raise ValueError(
        Message(
            "{larger} scores were expected to be closer, but {smaller} scores are closer: "
            "in {percent:.0f} % of the comparisons of a genuine trial with an imposter trial, "
            "the genuine trial has the {smaller} score. Remove {higher_is_closer}."
            if higher_is_closer
            else "{larger} scores were expected to be closer, but {smaller} scores are closer: "
            "in {percent:.0f} % of the comparisons of a genuine trial with an imposter trial, "
            "the genuine trial has the {smaller} score. Set {higher_is_closer}.",
            larger=larger.capitalize(),
            smaller=smaller,
            percent=100 * (1 - auc),
        )
    )


def _without_repeated(distances, first, second, genuine):
    """Finds tables in which each trial occurs twice, either in both orders or in the same order.

    A table has each trial in both orders if each imposter trial occurs equally often with its two
    people in either order and the same score, and if each genuine score of a person occurs an even
    number of times. A table has each trial twice in the same order if each combination of two
    people and a score occurs an even number of times. Independent trials with few different scores
    may look alike, so nothing is removed if that is probable.

    Returns:
        Indices of the trials without repeated trials, and a list with notes.
    """
    rows, notes = np.arange(distances.size), []
    values = np.unique(distances, return_inverse=True)[1]
    low, high, is_reversed = np.minimum(first, second), np.maximum(first, second), first > second
    if 2 * np.count_nonzero(is_reversed) == np.count_nonzero(~genuine):
        # sorted by pair and score, then by the order of the two people
        order = np.lexsort((is_reversed, values, high, low))
        starts, counts = _runs(low[order], high[order], values[order])
        reversed_counts = np.add.reduceat(is_reversed[order].astype(int), starts)
        is_genuine = genuine[order][starts]
        is_mirrored = np.where(is_genuine, counts % 2 == 0, 2 * reversed_counts == counts)
        if is_mirrored.all() and not _is_chance(values[~genuine]):
            rows = np.sort(_first_halves(order, starts, counts))
            notes.append(
                f"Each of the {distances.size:,} trials occurs twice, as (a, b) and as (b, a). "
                "Each pair is counted once."
            )
    order = rows[np.lexsort((values[rows], second[rows], first[rows]))]
    starts, counts = _runs(first[order], second[order], values[order])
    if not (counts % 2).any() and not _is_chance(values[rows][~genuine[rows]]):
        notes.append(
            f"Each of the {rows.size:,} trials occurs twice in the same order. Each trial is "
            "counted once."
        )
        rows = np.sort(_first_halves(order, starts, counts))
    return rows, notes


def _runs(*keys):
    """Returns the start and the length of each run of equal keys."""
    starts = np.flatnonzero(np.r_[True, (np.diff(np.stack(keys)) != 0).any(axis=0)])
    return starts, np.diff(np.append(starts, keys[0].size))


def _first_halves(order, starts, counts):
    """Returns the first half of each run."""
    rank = np.arange(order.size) - np.repeat(starts, counts)
    return order[rank < np.repeat(counts // 2, counts)]


def _is_chance(values):
    """Returns whether ties alone may explain that the second half of the scores repeats the
    first half.

    Args:
        values: Code of the score of each imposter trial, shape `(trials,)`.
    """
    frequencies = np.bincount(values) / values.size
    return np.square(frequencies).sum() ** (values.size // 2) > CHANCE_OF_REPEATS


def _eer_interval(figures, first, second, seed):
    """Returns the 95 % confidence interval of the equal error rate. The bootstrap draws people."""
    rng = np.random.default_rng(seed)
    rows = []
    for kind in (figures.genuine, ~figures.genuine):
        indices = np.flatnonzero(kind)
        if indices.size > MOST_RESAMPLED:
            indices = rng.choice(indices, MOST_RESAMPLED, replace=False)
        rows.append(indices)
    rows = np.concatenate(rows)
    codes = np.unique(np.concatenate([first[rows], second[rows]]), return_inverse=True)[1]
    low, high = interval(
        *eer_replicates(
            figures.scores[rows],
            figures.genuine[rows],
            people=(codes[: rows.size], codes[rows.size :]),
            draws=DRAWS,
            seed=seed,
        )
    )
    return min(low, figures.eer), max(high, figures.eer)


def _self_comparisons(distances, genuine, first):
    """Returns a note if many people have a genuine trial with the best possible score."""
    scores = distances[genuine]
    best = distances.min()
    at_best = scores <= best + EQUAL * np.ptp(distances)
    people = np.unique(first[genuine]).size
    matched = np.unique(first[genuine][at_best]).size
    if people < 3 or matched < SELF_COMPARED * people:
        return []
    return [
        f"{int(at_best.sum()):,} genuine trials of {matched:,} people have the best score of all "
        "trials. If these trials compare a recording with itself, leave them out, because they "
        "make the true accept rates too high."
    ]


def _ties(pairs, row, signs):
    """Returns a note if equal scores keep the FAR far below the wanted rate."""
    if row.far >= TIED * row.wanted_far:
        return []
    following = pairs.scores[pairs.scores > signs * row.threshold].min()
    count = int((pairs.scores == following).sum())
    return [
        f"FAR {100 * row.wanted_far:g} % was wanted, but FAR {100 * row.far:.2g} % is measured at "
        f"threshold {row.printed}. {count:,} imposter trials have the next score, "
        f"{_figures.shortest(signs * following)}. Use scores with more digits."
    ]


def _ties_of_best(trials, fars, signs):
    """Returns a note if thresholds for some of the rates reject all trials because of ties at the
    best score, however many people there are."""
    pairs = trials.pairs
    best = trials.distances.min()
    is_best = pairs.scores == best
    fars = [far for far in fars if pairs.weights[is_best].sum() > far]
    if is_best.sum() < 2 or not fars:
        return []
    return [
        f"{int(is_best.sum()):,} imposter trials have the best score of all trials, "
        f"{_figures.shortest(signs * best)}, so a threshold for FAR {100 * max(fars):g} % rejects "
        "all trials. More people do not help, because the scores have too few different values. "
        "Use scores with more digits."
    ]


def _costs(distances, genuine, first, second, seed):
    """Returns the Cllr of scores that were calibrated on other people, and the min Cllr of the same
    ratios. If the Cllr cannot be measured, the min Cllr uses all trials. Both are None if
    scikit-learn is not installed."""
    try:
        least = min_cllr(distances, genuine)
    except ImportError:
        return None, None
    people = int(max(first.max(), second.max())) + 1
    half = np.random.default_rng(seed).permutation(people) % 2
    ratios, kinds = [], []
    for side in (0, 1):
        fit, test = ((half[first] == each) & (half[second] == each) for each in (1 - side, side))
        try:
            calibration = logistic_calibration(distances[fit], genuine[fit])
        except ValueError:  # too few people, or the scores separate the trials
            return None, least
        if genuine[test].all() or not genuine[test].any():
            return None, least
        ratios.append(calibration(distances[test]))
        kinds.append(genuine[test])
    ratios, kinds = np.concatenate(ratios), np.concatenate(kinds)
    return cllr(ratios, kinds), min_cllr(-ratios, kinds)
