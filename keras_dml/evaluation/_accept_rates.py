"""How often a given threshold accepts, with intervals over people."""

from __future__ import annotations

import numbers
from dataclasses import dataclass

import numpy as np

from keras_dml._arrays import whole
from keras_dml.evaluation._checks import check_trials, person_codes
from keras_dml.evaluation._people_weights import (
    ACCEPTED_OF_ONE_MORE,
    Replicates,
    interval,
)


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
            f"{name} {100 * rate:.3g} % [{100 * low:.2g} to {100 * high:.3g} %]"
            for name, rate, (low, high) in (
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
    far_replicates, tar_replicates = [], []
    replicates = Replicates(scores, genuine, people=codes, draws=bootstrap, seed=seed)
    accepted = replicates.scores <= threshold
    accepted_share = 1.0 if codes is None else ACCEPTED_OF_ONE_MORE
    for weights, genuine_share, imposter_share in replicates:
        far = _rate(weights, accepted, ~replicates.genuine) * (1 - imposter_share)
        tar = _rate(weights, accepted, replicates.genuine) * (1 - genuine_share)
        far_replicates.append(np.hstack([far, far + accepted_share * imposter_share]))
        tar_replicates.append(np.hstack([tar, tar + genuine_share]))
    accepted = scores <= threshold
    return AcceptRates(
        threshold=float(threshold),
        far=float(accepted[~genuine].mean()),
        far_ci95=interval(*np.concatenate(far_replicates).T),
        tar=float(accepted[genuine].mean()),
        tar_ci95=interval(*np.concatenate(tar_replicates).T),
        genuine=int(genuine.sum()),
        imposter=int((~genuine).sum()),
    )


def _rate(weights, accepted, kind):
    """Weighted fraction of the trials of a kind that are accepted, shape `(count, 1)`."""
    return (weights @ (accepted & kind) / (weights @ kind))[:, None]
