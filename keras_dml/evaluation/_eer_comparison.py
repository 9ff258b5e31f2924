"""Equal error rates of several methods on the same trials, each trained from several seeds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from keras_dml._arrays import whole
from keras_dml.evaluation import _people_weights
from keras_dml.evaluation._bootstrap import Curves, percentiles, replicates, without_errors
from keras_dml.evaluation._checks import check_trials, person_codes
from keras_dml.evaluation._equal_error_rate import crossing, equal_error_rate


@dataclass(frozen=True)
class ComparedEer:
    """Equal error rate of one of several methods, with 95 % intervals over people and seeds.

    Attributes:
        value: Mean over the method's seeds.
        ci95: Its interval.
        difference: That of the first method less this one's, negative where the first is better;
            None of the first itself.
        difference_ci95: Its paired interval, None of the first.
    """

    value: float
    ci95: tuple[float, float]
    difference: float | None = None
    difference_ci95: tuple[float, float] | None = None


def eer_comparison(scores, genuine, *, people=None, bootstrap=1000, seed=0):
    """Compares methods that were trained from several seeds on the same trials.

    Each replicate of the bootstrap draws people and seeds once for all methods, so that what makes
    a person hard for all of them, and a start good for all, cancels out of the differences.

    Args:
        scores: By the method's name a list of distances of the trials, one for each seed, all of
            one shape; smaller is closer. A method that has no seeds has one entry.
        genuine: Booleans of that shape, True where probe and claim are one person.
        people: As in `verification`: with them the bootstrap draws people.
        bootstrap: Number of replicates, at least 1.
        seed: Seed of the bootstrap.

    Returns:
        Dict of `ComparedEer` by the method's name. The interval of a rate is that of
        `verification`, with drawn seeds. The interval of a difference draws people; if neither
        method has an error, it is that of the rule of three.

    Raises:
        TypeError, ValueError: As in `verification`; or there is no method, `bootstrap` is not a
            whole number of at least 1, or methods have different numbers of seeds.

    >>> genuine = np.arange(8) < 4
    >>> worse = [1, 2, 3, 5, 4, 6, 7, 8]
    >>> found = eer_comparison({"a": [np.arange(8)], "b": [worse]}, genuine, bootstrap=100)
    >>> found["a"].value, found["b"].difference, found["b"].difference_ci95
    (0.0, -0.25, (-0.5, 0.0))
    """
    bootstrap = whole("bootstrap", bootstrap, minimum=1)
    seed = whole("seed", seed, minimum=0)
    seeds = _seeds(scores)
    shape = np.shape(genuine)
    checked = {
        name: [check_trials(one, genuine)[0] for one in runs] for name, runs in scores.items()
    }
    genuine = np.asarray(genuine).ravel()
    codes = person_codes(people, genuine, shape)
    curves = {name: [Curves(one, genuine) for one in runs] for name, runs in checked.items()}
    drawn, rng = {name: [] for name in scores}, np.random.default_rng([seed, 1])
    for weights in replicates(genuine, people=codes, draws=bootstrap, seed=seed):
        chosen = rng.integers(seeds, size=(len(weights), seeds))
        for name, own in curves.items():
            rates = np.stack([crossing(*curve(weights))[0] for curve in own], axis=1)
            if len(own) > 1:
                rates = np.take_along_axis(rates, chosen, axis=1)
            drawn[name].append(rates.mean(axis=1))
    drawn = {name: np.concatenate(parts) for name, parts in drawn.items()}
    values = {
        name: float(np.mean([equal_error_rate(one, genuine).rate for one in runs]))
        for name, runs in checked.items()
    }
    intervals = {
        name: _interval_of_rate(runs, genuine, codes, bootstrap, seed)
        for name, runs in checked.items()
    }
    return _compared(values, intervals, drawn, without_errors(codes, genuine))


def _interval_of_rate(runs, genuine, codes, draws, seed):
    """Interval of the mean over runs, over people and drawn runs."""
    ends = [
        _people_weights.eer_replicates(run, genuine, people=codes, draws=draws, seed=seed)
        for run in runs
    ]
    chosen = np.random.default_rng([seed, 1]).integers(len(runs), size=(len(runs), draws))
    better, worse = (
        np.take_along_axis(np.stack(end), chosen, axis=0).mean(axis=0)
        for end in zip(*ends, strict=True)
    )
    return _people_weights.interval(better, worse)


def _seeds(scores):
    if not scores:
        raise ValueError("`scores` must hold at least one method. Received none.")
    counts = {name: len(runs) for name, runs in scores.items()}
    most = max(counts.values())
    if not set(counts.values()) <= {1, most} or 0 in counts.values():
        raise ValueError(
            "Each method of `scores` must have one entry a seed, the same number for all, or one "
            f"entry where it has no seeds. Received {counts}."
        )
    return most


def _compared(values, intervals, drawn, most):
    """`ComparedEer` by name; `most` is the bound of a difference where nobody had an error."""
    first, found = next(iter(values)), {}
    for name, value in values.items():
        interval = intervals[name]
        if name == first:
            found[name] = ComparedEer(value, interval)
            continue
        apart = _interval(drawn[first] - drawn[name])
        if not value and not values[first]:
            apart = (-most, most)
        found[name] = ComparedEer(value, interval, values[first] - value, apart)
    return found


def _interval(values):
    return tuple(percentiles(values[:, None])[0])
