"""Computes the difference of two methods' true accept rates at one false accept rate, with a paired
interval."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from keras_dml._arrays import whole
from keras_dml._typing import ArrayLike
from keras_dml.evaluation._checks import PeopleOfTrials, check_trials, person_codes
from keras_dml.evaluation._error_curves import WeightedCurves, last_point_within
from keras_dml.evaluation._intervals import percentiles, rate_without_errors, replicates
from keras_dml.evaluation._thresholds import check_far


@dataclass(frozen=True)
class TarDifference:
    """Difference of the true accept rates (TAR) of two methods, each at its own threshold for the
    same false accept rate (FAR), with a paired confidence interval.

    Attributes:
        value: TAR of the first method minus the TAR of the second method. The difference is
            positive if the first method is better.
        ci95: 95 % confidence interval of the difference.
        first: TAR of the first method.
        second: TAR of the second method.
        far: Wanted FAR.
    """

    value: float
    ci95: tuple[float, float]
    first: float
    second: float
    far: float


def tar_difference(
    first: ArrayLike,
    second: ArrayLike,
    genuine: ArrayLike,
    far: float,
    *,
    people: PeopleOfTrials | None = None,
    bootstrap: int = 1000,
    seed: int = 0,
) -> TarDifference:
    """Computes the difference of the true accept rates of two methods on the same trials.

    The threshold of each method is the largest threshold that accepts at most the fraction `far` of
    the imposter trials. Each replicate of the bootstrap draws people once, and computes the
    thresholds and the rates of the two methods on the same draw, see `eer_difference`.

    Args:
        first: Distances that the first method computes for the trials, any shape. Smaller is
            closer.
        second: Distances that the second method computes for the same trials, in the shape of
            `first`. The two methods may use different units.
        genuine: Booleans in the shape of `first`, True if the probe person is the claimed person.
        far: Wanted false accept rate, above 0 and below 1, such as 0.01.
        people: Tuple `(probe_ids, claimed_ids)` with the ids of the two people in each trial (see
            `verification`). If `people` is given, the bootstrap draws people. If `people` is None,
            the bootstrap draws trials.
        bootstrap: Number of replicates, at least 1.
        seed: Seed of the bootstrap.

    Returns:
        `TarDifference`. If the two methods reject no genuine trial of n people, the interval of the
        difference is -3 / n to 3 / n (rule of three).

    Raises:
        TypeError: If the trials are invalid (see `verification`).
        ValueError: If the trials are invalid (see `verification`), if `far` is not above 0 and
            below 1, or if `bootstrap` is not a whole number of at least 1.

    >>> import numpy as np
    >>> genuine = np.arange(8) < 4
    >>> difference = tar_difference(
    ...     np.arange(8), [1, 2, 3, 5, 4, 6, 7, 8], genuine, 0.01, bootstrap=100
    ... )
    >>> print(difference.first, difference.second)
    1.0 0.75
    """
    bootstrap = whole("bootstrap", bootstrap, minimum=1)
    seed = whole("seed", seed, minimum=0)
    check_far(far)
    shape = np.shape(first)
    first, _ = check_trials(first, genuine)
    second, genuine = check_trials(second, genuine)
    codes = person_codes(people, genuine, shape)
    curves = [WeightedCurves(scores, genuine) for scores in (first, second)]

    def rates(weights):
        return np.stack([_tar(*curve(weights), far) for curve in curves])  # (2, draws)

    blocks = replicates(genuine, people=codes, draws=bootstrap, seed=seed)
    drawn = np.concatenate([rates(weights) for weights in blocks], axis=1)
    low, high = percentiles(drawn[0] - drawn[1])
    values = rates(np.ones((1, genuine.size)))[:, 0].tolist()
    if min(values) == 1:
        high = rate_without_errors(codes, genuine)
        low = -high
    return TarDifference(values[0] - values[1], (low, high), *values, far)


def _tar(far, tar, limit):
    return np.take_along_axis(tar, last_point_within(far, limit)[:, None], axis=1)[:, 0]
