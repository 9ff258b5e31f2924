"""Figures of verification: is this the person they claim to be?"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from sklearn.metrics import auc

from keras_dml._arrays import whole
from keras_dml.evaluation._checks import check_trials, person_codes
from keras_dml.evaluation._equal_error_rate import crossing, crossing_threshold, error_curve
from keras_dml.evaluation._people_weights import verification_intervals
from keras_dml.evaluation._thresholds import TarAtFar, tar_at_far

FARS = (0.01, 0.001)  # the rates that published figures quote


class Roc(NamedTuple):
    """Rates at each threshold, all of shape `(points,)`, ascending in the threshold."""

    far: np.ndarray
    tar: np.ndarray
    thresholds: np.ndarray


class Det(NamedTuple):
    """Both error rates at each threshold, all of shape `(points,)`, ascending in the threshold."""

    far: np.ndarray
    frr: np.ndarray
    thresholds: np.ndarray


class TrialCounts(NamedTuple):
    """How many trials a figure rests on."""

    genuine: int
    imposter: int

    def __str__(self):
        return f"{self.genuine:,} genuine, {self.imposter:,} imposter trials"


@dataclass(frozen=True, eq=False)
class Verification:
    """Figures of a list of verification trials.

    Attributes:
        auc: P(genuine < imposter) + P(genuine = imposter) / 2.
        eer: Equal error rate, on straight lines between the points of the curve.
        eer_threshold: Threshold at the equal error rate, in units of the scores.
        tar_at_far: `TarAtFar` for the false accept rates 0.01 and 0.001, by that rate.
        trials: Numbers of genuine and imposter trials.
        roc: Arrays `far`, `tar`, `thresholds` over all distinct scores, from -inf on.
        det: Arrays `far`, `frr`, `thresholds` of the same points.
        intervals: 95 % intervals by name (`"auc"`, `"eer"`, `"tar_at_far_0.01"`); empty when no
            bootstrap was asked for.
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
    scores: np.ndarray = field(default=None, repr=False)
    genuine: np.ndarray = field(default=None, repr=False)

    def errors_at(self, threshold):
        """FAR and FRR when trials with `score <= threshold` are accepted.

        Args:
            threshold: Threshold, in units of the scores.

        Returns:
            Two fractions, `(far, frr)`.
        """
        at = np.searchsorted(self.det.thresholds, threshold, side="right") - 1
        return float(self.det.far[at]), float(self.det.frr[at])

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


def verification(scores, genuine, *, people=None, bootstrap=0, seed=0):
    """AUC, equal error rate, true accept rates and curves of verification trials.

    One threshold serves all trials (Abdelwahab2019, section 5.2): accepted where
    `score <= threshold`.

    Args:
        scores: Distances of the trials, any shape; smaller is closer. A similarity S enters as -S.
        genuine: Booleans of the same shape, True where probe and claim are one person.
        people: `(probe_ids, claimed_ids)`, the two people of each trial, each of a shape that
            broadcasts to that of `scores`. With them the bootstrap weights people, because trials
            that share a person are not independent. Without them it weights trials, and its
            intervals are too narrow if people recur.
        bootstrap: Number of replicates for the 95 % intervals; 0 for none, 1000 is usual. The
            Bayesian bootstrap (Rubin1981) weights people at random and adds one more person, who
            errs in every genuine trial at the bad end of an interval, and in none at the good end
            (Gaffke2005). An added error never moves an end to a better rate. Without any error in
            n people the EER ends at `1 - 0.025**(1 / n)` (Clopper1934). In simulations of 10 to
            100 people the intervals of the EER covered 95 to 100 %, see `tests/bench/coverage.py`.
        seed: Seed of the bootstrap.

    Returns:
        `Verification`; printing it shows the figures and their trial counts.

    Raises:
        TypeError: `genuine` is not boolean, or `bootstrap` or `seed` is not a whole number.
        ValueError: Shapes differ, a score is not finite, one kind of trial is missing, `people`
            contradicts `genuine`, or `bootstrap` or `seed` is negative.

    >>> import numpy as np
    >>> scores = np.array([0.1, 0.2, 0.2, 0.6, 0.2, 0.5, 0.6, 0.7, 0.9])
    >>> figures = verification(scores, np.arange(9) < 4)
    >>> round(figures.auc, 3), figures.eer, figures.trials.imposter
    (0.825, 0.25, 5)
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
    points = {wanted: tar_at_far(thresholds, far, tar, wanted, trials.imposter) for wanted in FARS}
    fars = [wanted for wanted, point in points.items() if not math.isnan(point.tar)]
    intervals = {}
    if bootstrap:
        intervals = verification_intervals(
            scores, genuine, people=codes, draws=bootstrap, fars=fars, seed=seed
        )
    return Verification(
        auc=float(auc(far, tar)),
        eer=float(rate),
        eer_threshold=float(crossing_threshold(thresholds, far, tar, index)),
        tar_at_far=points,
        trials=trials,
        roc=Roc(far, tar, thresholds),
        det=Det(far, 1.0 - tar, thresholds),
        intervals=intervals,
        scores=scores,
        genuine=genuine,
    )
