"""How often a given threshold accepts, with intervals over people."""

from __future__ import annotations

import numbers
from dataclasses import dataclass

import numpy as np

from keras_dml import _percents
from keras_dml._arrays import whole
from keras_dml.evaluation._checks import check_trials, person_codes
from keras_dml.evaluation._people_weights import accept_intervals


@dataclass(frozen=True)
class AcceptRates:
    """False and true accept rate of a threshold, with 95 % intervals.

    Attributes:
        threshold: Accepted where `score <= threshold`.
        far: Fraction of imposter trials accepted.
        far_ci95: Its interval.
        tar: Fraction of genuine trials accepted.
        tar_ci95: Its interval.
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

    def __str__(self):
        rates = [
            f"{name} {100 * rate:.3g} % [{_percents.interval(bounds)}]"
            for name, rate, bounds in (
                ("FAR", self.far, self.far_ci95),
                ("TAR", self.tar, self.tar_ci95),
            )
        ]
        return (
            f"{', '.join(rates)} at threshold {self.threshold:.4g} ({self.genuine:,} genuine, "
            f"{self.imposter:,} imposter trials)"
        )


def accept_rates(scores, genuine, threshold, *, people=None, bootstrap=1000, seed=0):
    """The rates at which a threshold accepts genuine and imposter trials.

    Args:
        scores: Distances of the trials, any shape; smaller is closer.
        genuine: Booleans of the same shape, True where probe and claim are one person.
        threshold: Threshold, in units of the scores.
        people: As in `verification`: with them the bootstrap weights people.
        bootstrap: Number of replicates, at least 1.
        seed: Seed of the bootstrap.

    Returns:
        `AcceptRates`. The intervals count one more person, see `verification`. At the upper end of
        the FAR this person is accepted in half of the trials as a probe; without `people` one more
        imposter trial is accepted.

    Raises:
        TypeError, ValueError: As in `verification`, or `threshold` is not a number, or `bootstrap`
            is not a whole number of at least 1.

    >>> import numpy as np
    >>> scores, genuine = np.array([0.1, 0.4, 0.3, 0.8]), np.array([1, 1, 0, 0], bool)
    >>> found = accept_rates(scores, genuine, 0.3)
    >>> found.far, found.tar
    (0.5, 0.5)
    """
    bootstrap = whole("bootstrap", bootstrap, minimum=1)
    seed = whole("seed", seed, minimum=0)
    if not isinstance(threshold, numbers.Real) or np.isnan(threshold):
        raise ValueError(f"`threshold` must be a number, a distance. Received {threshold!r}.")
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
