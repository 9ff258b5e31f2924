"""What the attacks of `attacks` share: the loss that they maximize, their start, their checks."""

from __future__ import annotations

import numbers

import numpy as np

LOSSES = ("cross_entropy", "margin", "dlr")


class Objective:
    """The loss that an attack maximizes, as `_ascent` calls it; counts what it costs."""

    def __init__(self, network, y, loss, source, probabilities=False, targets=None):
        self.network, self.y, self.loss, self.targets = network, y, loss, targets
        self.options = {"source": source, "probabilities": probabilities}
        self.calls = self.not_finite = 0

    def __call__(self, x, rows):
        targets = None if self.targets is None else self.targets[rows]
        values, gradient, margins, not_finite = self.network.gradient(
            x, self.y[rows], self.loss, targets=targets, **self.options
        )
        self.calls += len(x)
        self.not_finite += not_finite
        return values, gradient, margins > 0


def random_start(x, epsilon, rng):
    """Points drawn uniformly from the ball and clipped to [0, 1]."""
    shift = rng.uniform(-epsilon, epsilon, size=x.shape)
    return np.clip(x + shift, 0, 1).astype(np.float32)


def check(attack, *counts):
    """Checks the epsilon, the loss and the named counts of an attack."""
    epsilon = attack.epsilon
    if not (isinstance(epsilon, numbers.Real) and 0 < epsilon <= 1):
        raise ValueError(
            "`epsilon` must be above 0 and at most 1, since inputs lie in [0, 1]: 8 of 255 gray "
            f"levels are 8 / 255. Received epsilon={epsilon!r}."
        )
    for name in counts:
        value = getattr(attack, name)
        if not isinstance(value, numbers.Integral) or value < 1:
            raise ValueError(
                f"`{name}` must be an integer of at least 1. Received {name}={value!r}."
            )
    if getattr(attack, "loss", LOSSES[0]) not in LOSSES:
        raise ValueError(f"`loss` must be one of {LOSSES}. Received loss={attack.loss!r}.")
