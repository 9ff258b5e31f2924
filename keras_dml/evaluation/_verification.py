"""Computes metrics of verification, which checks a claimed identity. The metrics are AUC, EER, TAR
at a FAR, ROC and DET."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from keras_dml._arrays import whole
from keras_dml._typing import ArrayLike
from keras_dml.evaluation._checks import PeopleOfTrials, check_trials, person_codes
from keras_dml.evaluation._error_curves import area, crossing, crossing_threshold, error_curve
from keras_dml.evaluation._intervals import verification_intervals
from keras_dml.evaluation._thresholds import TarAtFar, min_imposters, tar_at_far

FARS = (0.01, 0.001)  # false accept rates that publications usually report
SUSPECT_AUC = 0.25  # uninformative scores of few people often have an AUC between 0.25 and 0.75


class Roc(NamedTuple):
    """Receiver operating characteristic (ROC) curve. Points are ordered by ascending threshold.

    Attributes:
        far: False accept rate at each threshold, shape `(points,)`.
        tar: True accept rate at each threshold, shape `(points,)`.
        thresholds: Thresholds, shape `(points,)`.
    """

    far: np.ndarray
    tar: np.ndarray
    thresholds: np.ndarray


class Det(NamedTuple):
    """Detection error tradeoff (DET) curve. Points are ordered by ascending threshold.

    Attributes:
        far: False accept rate at each threshold, shape `(points,)`.
        frr: False reject rate at each threshold, shape `(points,)`.
        thresholds: Thresholds, shape `(points,)`.
    """

    far: np.ndarray
    frr: np.ndarray
    thresholds: np.ndarray


class TrialCounts(NamedTuple):
    """Number of genuine trials and number of imposter trials."""

    genuine: int
    imposter: int

    def __str__(self) -> str:
        return f"{self.genuine:,} genuine, {self.imposter:,} imposter trials"


@dataclass(frozen=True, eq=False)
class Verification:
    """Metrics of a list of verification trials.

    Attributes:
        auc: Area under the ROC curve. The AUC is the probability that a genuine score is below an
            imposter score, plus half the probability that the two scores are equal.
        eer: Equal error rate, by linear interpolation between the points of the ROC curve.
        eer_threshold: Threshold at the equal error rate, in units of the scores.
        tar_at_far: Dict that maps the false accept rates 0.01 and 0.001 to `TarAtFar`.
        trials: Numbers of genuine and imposter trials.
        roc: `Roc` with a point at the threshold -inf and at every distinct score.
        det: `Det` with the same points as `roc`.
        intervals: Dict that maps the name of a metric (`"auc"`, `"eer"`, `"tar_at_far_0.01"`) to
            its 95 % confidence interval. The dict is empty if no bootstrap was run.
        scores: Distances of the trials, shape `(trials,)`.
        genuine: Booleans, shape `(trials,)`, True if the probe person is the claimed person.
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
        """Returns the false accept rate (FAR) and the false reject rate (FRR) at a threshold.

        Trials with `score <= threshold` are accepted.

        Args:
            threshold: Threshold, in units of the scores.

        Returns:
            Tuple `(far, frr)` of two fractions.
        """
        point = np.searchsorted(self.det.thresholds, threshold, side="right") - 1
        return float(self.det.far[point]), float(self.det.frr[point])

    def __str__(self) -> str:
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

    The same threshold applies to all trials (Abdelwahab2019, section 5.2). Trials with
    `score <= threshold` are accepted.

    Args:
        scores: Distances of the trials, any shape. Smaller is closer. For a similarity `S`, pass
            `-S` as the scores.
        genuine: Booleans in the shape of `scores`, True if the probe person is the claimed person.
        people: Tuple `(probe_ids, claimed_ids)` with the ids of the two people in each trial. The
            shape of each array must broadcast to the shape of `scores`. If `people` is given, the
            bootstrap draws a random weight for each person, because trials that share a person are
            not independent. If `people` is None, the bootstrap draws a random weight for each
            trial. Without `people`, the intervals are too narrow if people occur in several trials.
        bootstrap: Number of replicates for the 95 % confidence intervals. If `bootstrap` is 0, no
            intervals are computed. A usual value is 1000. The Bayesian bootstrap (Rubin1981) gives
            people random weights and adds one person. For the worse bound of a metric, every
            genuine trial of the added person is rejected. For the better bound, no genuine trial of
            the added person is rejected (Gaffke2005). An additional error never improves a bound.
            If no error occurs for n people, the upper bound of the EER is `1 - 0.025**(1 / n)`
            (Clopper-Pearson, Clopper1934). In simulations with 10 to 100 people
            (`tests/bench/coverage.py`), 95 to 100 % of the 95 % intervals contained the EER of the
            population.
        seed: Seed of the bootstrap.

    Returns:
        `Verification`.

    Warns:
        UserWarning: If the AUC is below 0.25. Uninformative scores have an AUC of about 0.5. A much
            lower AUC usually means that `scores` are similarities instead of distances.

    Raises:
        TypeError: If `genuine` is not boolean, or if `bootstrap` or `seed` is not a whole number.
        ValueError: If shapes differ, if a score is not finite, if genuine trials or imposter trials
            are missing, if `people` contradicts `genuine`, or if `bootstrap` or `seed` is negative.

    >>> import numpy as np
    >>> scores = np.array([0.1, 0.2, 0.2, 0.6, 0.2, 0.5, 0.6, 0.7, 0.9])
    >>> figures = verification(scores, np.arange(9) < 4)
    >>> round(figures.auc, 3), figures.eer, figures.trials.imposter
    (0.825, 0.25, 5)
    """
    figures = verification_figures(scores, genuine, people=people, bootstrap=bootstrap, seed=seed)
    if figures.auc < SUSPECT_AUC:
        warnings.warn(
            "`scores` may be similarities. Received scores that are larger for genuine trials "
            f"than for imposter trials (AUC {figures.auc:.3f}). Expected distances, for which "
            "smaller is closer. If `scores` are similarities, pass `-scores`. If they are "
            "distances, check that `genuine` is in the order of `scores`.",
            stacklevel=2,
        )
    return figures


def verification_figures(scores, genuine, *, people=None, bootstrap=0, seed=0):
    """Computes the same result as `verification`, but does not warn about a low AUC.

    Functions of this package call `verification_figures` if the scores are known to be distances.
    With few trials, the AUC of distances may be far below 0.5 by chance, and a warning would be
    misleading.
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
        auc=float(area(far, tar)),
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
