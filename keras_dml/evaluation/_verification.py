"""Verification figures (AUC, EER, TAR at FAR, ROC, DET): is this the person they claim to be?"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from sklearn.metrics import auc

from keras_dml._arrays import whole
from keras_dml._typing import ArrayLike
from keras_dml.evaluation._checks import PeopleOfTrials, check_trials, person_codes
from keras_dml.evaluation._error_curves import crossing, crossing_threshold, error_curve
from keras_dml.evaluation._intervals import verification_intervals
from keras_dml.evaluation._thresholds import TarAtFar, min_imposters, tar_at_far

FARS = (0.01, 0.001)  # the rates that published figures quote
SUSPECT_AUC = 0.25  # uninformative scores of few people often have an AUC between 0.25 and 0.75


class Roc(NamedTuple):
    """Receiver operating characteristic (ROC), in ascending order of the threshold.

    Attributes:
        far: False accept rate at each threshold, shape `(points,)`.
        tar: True accept rate at each threshold, same shape.
        thresholds: Thresholds, same shape.
    """

    far: np.ndarray
    tar: np.ndarray
    thresholds: np.ndarray


class Det(NamedTuple):
    """Detection error tradeoff (DET), in ascending order of the threshold.

    Attributes:
        far: False accept rate at each threshold, shape `(points,)`.
        frr: False reject rate at each threshold, same shape.
        thresholds: Thresholds, same shape.
    """

    far: np.ndarray
    frr: np.ndarray
    thresholds: np.ndarray


class TrialCounts(NamedTuple):
    """Numbers of genuine and of imposter trials."""

    genuine: int
    imposter: int

    def __str__(self):
        return f"{self.genuine:,} genuine, {self.imposter:,} imposter trials"


@dataclass(frozen=True, eq=False)
class Verification:
    """Figures of a list of verification trials; prints as sentences.

    Attributes:
        auc: P(genuine < imposter) + P(genuine = imposter) / 2.
        eer: Equal error rate, on straight lines between the points of the curve.
        eer_threshold: Threshold at the equal error rate, in units of the scores.
        tar_at_far: `TarAtFar` by its false accept rate, for the rates 0.01 and 0.001.
        trials: Numbers of genuine and imposter trials.
        roc: Arrays `far`, `tar`, `thresholds` at -inf and at all distinct scores.
        det: Arrays `far`, `frr`, `thresholds` of the same points.
        intervals: 95 % intervals by name (`"auc"`, `"eer"`, `"tar_at_far_0.01"`); empty without a
            bootstrap.
        scores: The distances, shape `(trials,)`.
        genuine: The booleans, shape `(trials,)`.
    """

    auc: float
    eer: float
    eer_threshold: float
    tar_at_far: dict[float, TarAtFar]
    trials: TrialCounts
    roc: Roc = field(repr=False)
    det: Det = field(repr=False)
    intervals: dict[str, tuple[float, float]] = field(default_factory=dict)
    scores: np.ndarray = field(default_factory=lambda: np.empty(0), repr=False)
    genuine: np.ndarray = field(default_factory=lambda: np.empty(0), repr=False)

    def errors_at(self, threshold: float) -> tuple[float, float]:
        """Returns FAR and FRR if trials with `score <= threshold` are accepted.

        Args:
            threshold: Threshold, in units of the scores.

        Returns:
            Two fractions, `(far, frr)`.
        """
        point = np.searchsorted(self.det.thresholds, threshold, side="right") - 1
        return float(self.det.far[point]), float(self.det.frr[point])

    def __str__(self):
        eer = f"EER {100 * self.eer:.1f} %{self._interval('eer', 100, '.1f', ' %')}"
        auc = f"AUC {self.auc:.4f}{self._interval('auc', 1, '.4f', '')}"
        lines = [f"{eer} at threshold {self.eer_threshold:.4g}, {auc} ({self.trials})"]
        for far, point in self.tar_at_far.items():
            lines.append(f"{point}{self._interval(f'tar_at_far_{far:g}', 100, '.1f', ' %')}")
        return "\n".join(lines)

    def _interval(self, name, scale, digits, unit):
        if name not in self.intervals:
            return ""
        low, high = (format(scale * bound, digits) for bound in self.intervals[name])
        return f" [{low} to {high}{unit}]"


def verification(
    scores: ArrayLike,
    genuine: ArrayLike,
    *,
    people: PeopleOfTrials | None = None,
    bootstrap: int = 0,
    seed: int = 0,
) -> Verification:
    """Computes AUC, equal error rate, true accept rates, ROC and DET of verification trials.

    One threshold serves all trials (Abdelwahab2019, section 5.2): trials with `score <= threshold`
    are accepted.

    Args:
        scores: Distances of the trials, any shape; smaller is closer. A similarity S enters as -S.
        genuine: Booleans of the same shape, True if probe and claim are one person.
        people: `(probe_ids, claimed_ids)`, the two people of each trial, each of a shape that
            broadcasts to the shape of `scores`. With `people` the bootstrap weights people, because
            trials that share a person are not independent. Without `people` it weights trials, and
            its intervals are too narrow if people recur.
        bootstrap: Number of replicates for the 95 % intervals. 0 computes no intervals, and 1000 is
            usual. The Bayesian bootstrap (Rubin1981) weights people at random and adds one person.
            At the bad end of an interval this person errs in every genuine trial, at the good end
            in none (Gaffke2005). An additional error never moves an end to a better rate. If n
            people have no error, the interval of the EER ends at `1 - 0.025**(1 / n)`
            (Clopper-Pearson, Clopper1934). In simulations with 10 to 100 people the intervals of
            the EER covered 95 to 100 %, see `tests/bench/coverage.py`.
        seed: Seed of the bootstrap.

    Returns:
        `Verification`.

    Warns:
        UserWarning: If the AUC is below 0.25. Scores without information have an AUC of about 0.5,
            so the usual cause is that `scores` are similarities.

    Raises:
        TypeError: If `genuine` is not boolean, or `bootstrap` or `seed` is not a whole number.
        ValueError: If shapes differ, a score is not finite, one kind of trial is missing, `people`
            contradicts `genuine`, or `bootstrap` or `seed` is negative.

    >>> import numpy as np
    >>> scores = np.array([0.1, 0.2, 0.2, 0.6, 0.2, 0.5, 0.6, 0.7, 0.9])
    >>> figures = verification(scores, np.arange(9) < 4)
    >>> round(figures.auc, 3), figures.eer, figures.trials.imposter
    (0.825, 0.25, 5)
    """
    figures = verification_figures(scores, genuine, people=people, bootstrap=bootstrap, seed=seed)
    if figures.auc < SUSPECT_AUC:
        warnings.warn(
            "`scores` may be similarities. Received scores that are larger for genuine trials than "
            f"for imposter trials (AUC {figures.auc:.3f}); expected distances, smaller is closer. "
            "Pass `-scores` if they are similarities. If they are distances, check that `genuine` "
            "is in the order of `scores`.",
            stacklevel=2,
        )
    return figures


def verification_figures(scores, genuine, *, people=None, bootstrap=0, seed=0):
    """Computes the result of `verification`, with its arguments, and never warns.

    Other figures use it: their trials may be so few that the AUC is far below 0.5 by chance, and
    the direction of their scores is fixed.
    """
    bootstrap = whole("bootstrap", bootstrap, minimum=0)
    seed = whole("seed", seed, minimum=0)
    shape = np.shape(scores)
    scores, genuine = check_trials(scores, genuine)
    codes = person_codes(people, genuine, shape)
    thresholds, far, tar = error_curve(scores, genuine)
    rate, index = crossing(far, tar)
    count = int(genuine.sum())
    trials = TrialCounts(count, genuine.size - count)
    intervals = {}
    if bootstrap:
        fars = [limit for limit in FARS if trials.imposter >= min_imposters(limit)]
        intervals = verification_intervals(
            scores, genuine, people=codes, draws=bootstrap, fars=fars, seed=seed
        )
    return Verification(
        auc=float(auc(far, tar)),
        eer=float(rate),
        eer_threshold=float(crossing_threshold(thresholds, far, tar, index)),
        tar_at_far={
            limit: tar_at_far(thresholds, far, tar, limit, trials.imposter) for limit in FARS
        },
        trials=trials,
        roc=Roc(far, tar, thresholds),
        det=Det(far, 1.0 - tar, thresholds),
        intervals=intervals,
        scores=scores,
        genuine=genuine,
    )
