"""Difference of the equal error rates of two methods on the same trials."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from keras_dml._arrays import whole
from keras_dml.evaluation._bootstrap import Curves, percentiles, replicates, without_errors
from keras_dml.evaluation._checks import check_trials, person_codes
from keras_dml.evaluation._equal_error_rate import crossing, equal_error_rate


@dataclass(frozen=True)
class EerDifference:
    """Equal error rate of a method less that of another, with a paired 95 % interval.

    Attributes:
        value: The difference; negative where the first method is better.
        ci95: Its interval.
        first: Equal error rate of the first method.
        second: That of the second.
    """

    value: float
    ci95: tuple[float, float]
    first: float
    second: float

    def __str__(self):
        low, high = (100 * bound for bound in self.ci95)
        return (
            f"EER {100 * self.first:.1f} % and {100 * self.second:.1f} %, difference "
            f"{100 * self.value:+.1f} % [{low:+.1f} to {high:+.1f} %]"
        )


def eer_difference(first, second, genuine, *, people=None, bootstrap=1000, seed=0):
    """How much larger the equal error rate of one method is than that of another.

    Both methods score the same trials. Each replicate of the bootstrap draws people once for both,
    so that what makes a person hard for either cancels out.

    Args:
        first: Distances of the trials by the first method, any shape; smaller is closer.
        second: Distances by the second method, same shape; its unit may differ.
        genuine: Booleans of the same shape, True where probe and claim are one person.
        people: As in `verification`: with them the bootstrap draws people.
        bootstrap: Number of replicates, at least 1.
        seed: Seed of the bootstrap.

    Returns:
        `EerDifference`. Where neither method has an error, the interval is that of the rule of
        three, plus or minus 3 / n for n people.

    Raises:
        TypeError, ValueError: As in `verification`, or `bootstrap` is not a whole number of
            at least 1.

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
    curves = [Curves(scores, genuine) for scores in (first, second)]
    drawn = []
    for weights in replicates(genuine, people=codes, draws=bootstrap, seed=seed):
        rates = [crossing(*of_one(weights))[0] for of_one in curves]
        drawn.append(rates[0] - rates[1])
    rates = [equal_error_rate(scores, genuine).rate for scores in (first, second)]
    low, high = percentiles(np.concatenate(drawn))
    if not any(rates):
        high = without_errors(codes, genuine)
        low = -high
    return EerDifference(rates[0] - rates[1], (low, high), *rates)
