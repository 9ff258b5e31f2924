"""Computes equal error rates (EER) of one method, and compares the EERs of two or more methods.

The EER is the error rate at the threshold for which the false accept rate (FAR) equals the false
reject rate (FRR).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from keras_dml._arrays import whole
from keras_dml._typing import ArrayLike
from keras_dml.evaluation._checks import PeopleOfTrials, check_trials, person_codes
from keras_dml.evaluation._error_curves import (
    WeightedCurves,
    crossing,
    crossing_threshold,
    error_curve,
)
from keras_dml.evaluation._intervals import (
    eer_replicates,
    interval,
    percentiles,
    rate_without_errors,
    replicates,
)


@dataclass(frozen=True)
class EqualErrorRate:
    """Equal error rate of a list of trials, and the threshold at which the rate occurs.

    Attributes:
        rate: Equal error rate, a fraction.
        threshold: Threshold at which FAR equals FRR, in units of the scores. If FAR equals FRR at
            all thresholds of an interval, `threshold` is the middle of the interval.
        genuine: Number of genuine trials.
        imposter: Number of imposter trials.
    """

    rate: float
    threshold: float
    genuine: int
    imposter: int

    def __str__(self) -> str:
        return (
            f"EER {100 * self.rate:.1f} % at threshold {self.threshold:.4g} ({self.genuine:,} "
            f"genuine, {self.imposter:,} imposter trials)"
        )


def equal_error_rate(scores: ArrayLike, genuine: ArrayLike) -> EqualErrorRate:
    """Computes the error rate at which FAR equals FRR, with linear interpolation.

    Each threshold gives a point (FAR, FRR), from (0, 1) at the threshold -inf to (1, 0) at the
    largest score. Straight lines connect the points of neighboring thresholds. The EER is the FAR
    at the point where the lines cross the diagonal FAR = FRR. Other definitions of the EER use the
    nearest point or the convex hull of the ROC curve. If there are few trials, different
    definitions give different values.

    Args:
        scores: Distances of the trials, any shape. Smaller is closer. Trials with
            `score <= threshold` are accepted. For a similarity S, pass -S as the scores.
        genuine: Booleans in the shape of `scores`, True if the probe person is the claimed person.

    Returns:
        `EqualErrorRate`.

    Raises:
        TypeError: If `genuine` is not boolean.
        ValueError: If shapes differ, if a score is not finite, or if genuine trials or imposter
            trials are missing.

    >>> import numpy as np
    >>> scores, genuine = np.array([0.1, 0.25, 0.75, 0.9]), np.array([1, 1, 0, 0], bool)
    >>> equal_error_rate(scores, genuine)
    EqualErrorRate(rate=0.0, threshold=0.5, genuine=2, imposter=2)
    """
    scores, genuine = check_trials(scores, genuine)
    thresholds, far, tar = error_curve(scores, genuine)
    rate, index = crossing(far, tar)
    count = int(genuine.sum())
    return EqualErrorRate(
        rate=float(rate),
        threshold=float(crossing_threshold(thresholds, far, tar, index)),
        genuine=count,
        imposter=genuine.size - count,
    )


@dataclass(frozen=True)
class EerDifference:
    """Difference of the equal error rates of two methods, with a paired confidence interval.

    Attributes:
        value: Equal error rate of the first method minus the equal error rate of the second method.
            The difference is negative if the first method is better.
        ci95: 95 % confidence interval of the difference.
        first: Equal error rate of the first method.
        second: Equal error rate of the second method.
    """

    value: float
    ci95: tuple[float, float]
    first: float
    second: float

    def __str__(self) -> str:
        return (
            f"EER {100 * self.first:.1f} % and {100 * self.second:.1f} %, difference "
            f"{100 * self.value:+.1f} % [{_signed(self.ci95)} %]"
        )


def eer_difference(
    first: ArrayLike,
    second: ArrayLike,
    genuine: ArrayLike,
    *,
    people: PeopleOfTrials | None = None,
    bootstrap: int = 1000,
    seed: int = 0,
) -> EerDifference:
    """Computes the difference of the equal error rates of two methods on the same trials.

    Each replicate of the bootstrap draws people once and evaluates the two methods on the same
    draw. If some people are difficult for the two methods, the interval of the difference therefore
    does not become wider.

    Args:
        first: Distances that the first method computes for the trials, any shape. Smaller is
            closer.
        second: Distances that the second method computes for the same trials, in the shape of
            `first`. The two methods may use different units.
        genuine: Booleans in the shape of `first`, True if the probe person is the claimed person.
        people: Tuple `(probe_ids, claimed_ids)` with the ids of the two people in each trial (see
            `verification`). If `people` is given, the bootstrap draws people. If `people` is None,
            the bootstrap draws trials.
        bootstrap: Number of replicates, at least 1.
        seed: Seed of the bootstrap.

    Returns:
        `EerDifference`. If the two methods make no error on n people, the interval of the
        difference is -3 / n to 3 / n (rule of three).

    Raises:
        TypeError: If the trials are invalid (see `verification`).
        ValueError: If the trials are invalid (see `verification`), or if `bootstrap` is not a whole
            number of at least 1.

    >>> import numpy as np
    >>> genuine = np.arange(8) < 4
    >>> print(eer_difference(np.arange(8), [1, 2, 3, 5, 4, 6, 7, 8], genuine, bootstrap=100))
    EER 0.0 % and 25.0 %, difference -25.0 % [-50.0 to +0.0 %]
    """
    bootstrap = whole("bootstrap", bootstrap, minimum=1)
    seed = whole("seed", seed, minimum=0)
    shape = np.shape(first)
    first, _ = check_trials(first, genuine)
    second, genuine = check_trials(second, genuine)
    codes = person_codes(people, genuine, shape)
    curves = [WeightedCurves(scores, genuine) for scores in (first, second)]
    drawn = []
    for weights in replicates(genuine, people=codes, draws=bootstrap, seed=seed):
        rates = [crossing(*curve(weights))[0] for curve in curves]
        drawn.append(rates[0] - rates[1])
    rates = [equal_error_rate(scores, genuine).rate for scores in (first, second)]
    low, high = percentiles(np.concatenate(drawn))
    if not any(rates):
        high = rate_without_errors(codes, genuine)
        low = -high
    return EerDifference(rates[0] - rates[1], (low, high), *rates)


@dataclass(frozen=True)
class ComparedEer:
    """Equal error rate of a method that is compared with other methods. The confidence intervals
    are computed by a bootstrap that draws people and seeds.

    Attributes:
        value: Equal error rate of the method, averaged over its training seeds.
        ci95: 95 % confidence interval of `value`.
        difference: Equal error rate of the first method minus `value`. `difference` is negative if
            the first method is better, and None for the first method itself.
        difference_ci95: Paired 95 % confidence interval of `difference`. None for the first method.
    """

    value: float
    ci95: tuple[float, float]
    difference: float | None = None
    difference_ci95: tuple[float, float] | None = None

    def __str__(self) -> str:
        low, high = (100 * bound for bound in self.ci95)
        text = f"EER {100 * self.value:.1f} % [{low:.1f} to {high:.1f} %]"
        if self.difference is None:
            return text
        return (
            f"{text}, first method minus this method {100 * self.difference:+.1f} % "
            f"[{_signed(self.difference_ci95)} %]"
        )


class EerComparison(dict[str, ComparedEer]):
    """Dict that maps the name of each method to its `ComparedEer`, in the order of the arguments.

    The text that `print` shows has one sentence for each method.
    """

    def __str__(self) -> str:
        return "\n".join(self._sentence(name) for name in self)

    def _sentence(self, name):
        first, method = next(iter(self)), self[name]
        low, high = (100 * bound for bound in method.ci95)
        rate = (
            f"{name} has an EER of {100 * method.value:.1f} % "
            f"(95 % interval: {low:.1f} to {high:.1f} %)"
        )
        if method.difference is None:
            return f"{rate}."
        word = "lower" if method.difference < 0 else "higher"
        is_significant = method.difference_ci95[0] > 0 or method.difference_ci95[1] < 0
        return (
            f"{rate}. The EER of {first} is {abs(100 * method.difference):.1f} percentage points "
            f"{word} (95 % interval of {first} minus {name}: {_signed(method.difference_ci95)}). "
            f"This difference is {'' if is_significant else 'not '}significant."
        )


def eer_comparison(
    scores: Mapping[str, Sequence[ArrayLike]],
    genuine: ArrayLike,
    *,
    people: PeopleOfTrials | None = None,
    bootstrap: int = 1000,
    seed: int = 0,
) -> EerComparison:
    """Compares the equal error rates of methods that were trained with one or more seeds.

    All methods are evaluated on the same trials. Each replicate of the bootstrap draws people and
    seeds once for all methods. If some people are difficult for all methods, or some seeds are good
    for all methods, the intervals of the differences therefore do not become wider.

    Args:
        scores: Dict that maps the name of each method to a list of arrays. The list has one array
            for each training seed. Each array holds the distances of all trials, and all arrays
            have the same shape. A method that does not depend on a seed has one array.
        genuine: Booleans in the shape of each array in `scores`, True if the probe person is the
            claimed person.
        people: Tuple `(probe_ids, claimed_ids)` with the ids of the two people in each trial (see
            `verification`). If `people` is given, the bootstrap draws people. If `people` is None,
            the bootstrap draws trials.
        bootstrap: Number of replicates, at least 1.
        seed: Seed of the bootstrap.

    Returns:
        `EerComparison`, a dict that maps the name of each method to its `ComparedEer`. The interval
        of an EER is computed as in `verification`, but the bootstrap also draws seeds. The interval
        of a difference is computed by a percentile bootstrap that draws people and seeds. If the
        two methods make no error on n people, the interval of their difference is -3 / n to 3 / n
        (rule of three).

    Raises:
        TypeError: If the trials are invalid (see `verification`).
        ValueError: If the trials are invalid (see `verification`), if `scores` is empty, if
            `bootstrap` is not a whole number of at least 1, or if methods have different numbers of
            seeds.

    >>> genuine = np.arange(8) < 4
    >>> worse = [1, 2, 3, 5, 4, 6, 7, 8]
    >>> result = eer_comparison({"a": [np.arange(8)], "b": [worse]}, genuine, bootstrap=100)
    >>> result["a"].value, result["b"].difference, result["b"].difference_ci95
    (0.0, -0.25, (-0.5, 0.0))
    """
    bootstrap = whole("bootstrap", bootstrap, minimum=1)
    seed = whole("seed", seed, minimum=0)
    seeds = _number_of_seeds(scores)
    shape = np.shape(genuine)
    checked = {
        name: [check_trials(run, genuine)[0] for run in runs] for name, runs in scores.items()
    }
    genuine = np.asarray(genuine).ravel()
    codes = person_codes(people, genuine, shape)
    drawn = _drawn_rates(checked, genuine, codes, seeds, bootstrap, seed)
    values = {
        name: float(np.mean([equal_error_rate(run, genuine).rate for run in runs]))
        for name, runs in checked.items()
    }
    first, comparison = next(iter(values)), EerComparison()
    for name, value in values.items():
        bounds = _interval_of_rate(checked[name], genuine, codes, bootstrap, seed)
        if name == first:
            comparison[name] = ComparedEer(value, bounds)
            continue
        difference_bounds = tuple(percentiles(drawn[first] - drawn[name]))
        if not value and not values[first]:
            most = rate_without_errors(codes, genuine)
            difference_bounds = (-most, most)
        comparison[name] = ComparedEer(value, bounds, values[first] - value, difference_bounds)
    return comparison


def _drawn_rates(scores, genuine, codes, seeds, draws, seed):
    """Returns a dict that maps each method to an array `(draws,)`, which holds one EER per
    bootstrap draw. The EER is averaged over the drawn seeds."""
    curves = {name: [WeightedCurves(run, genuine) for run in runs] for name, runs in scores.items()}
    drawn, rng = {name: [] for name in scores}, np.random.default_rng([seed, 1])
    for weights in replicates(genuine, people=codes, draws=draws, seed=seed):
        drawn_seeds = rng.integers(seeds, size=(len(weights), seeds))
        for name, curves_of_method in curves.items():
            rates = np.stack([crossing(*curve(weights))[0] for curve in curves_of_method], axis=1)
            if len(curves_of_method) > 1:
                rates = np.take_along_axis(rates, drawn_seeds, axis=1)
            drawn[name].append(rates.mean(axis=1))
    return {name: np.concatenate(parts) for name, parts in drawn.items()}


def _interval_of_rate(runs, genuine, codes, draws, seed):
    """Computes the confidence interval of the EER averaged over several training runs. The
    bootstrap draws people and runs."""
    ends = [eer_replicates(run, genuine, people=codes, draws=draws, seed=seed) for run in runs]
    drawn_runs = np.random.default_rng([seed, 1]).integers(len(runs), size=(len(runs), draws))
    better, worse = (
        np.take_along_axis(np.stack(end), drawn_runs, axis=0).mean(axis=0)
        for end in zip(*ends, strict=True)
    )
    return interval(better, worse)


def _number_of_seeds(scores):
    if not scores:
        raise ValueError("Received `scores` without a method. Expected at least one method.")
    counts = {name: len(runs) for name, runs in scores.items()}
    most = max(counts.values())
    if not set(counts.values()) <= {1, most} or 0 in counts.values():
        raise ValueError(
            f"Received `scores` with these numbers of entries: {counts}. All methods with seeds "
            "must have the same number of entries, one for each seed. A method without seeds must "
            "have one entry."
        )
    return most


def _signed(bounds):
    """Formats an interval of differences in percent, such as `-50.0 to +0.0`."""
    low, high = (100 * bound for bound in bounds)
    return f"{low:+.1f} to {high:+.1f}"
