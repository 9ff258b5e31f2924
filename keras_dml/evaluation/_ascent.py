"""Ascent by the sign of a gradient within an L-infinity ball, in NumPy: PGD and APGD.

An objective is a function of points, shape `(count, ...)`, and their rows in the batch, shape
`(count,)`. It returns what is maximized, shape `(count,)`, its gradient, of the shape of the
points, and whether each point is misclassified.
"""

from __future__ import annotations

import math

import numpy as np

MOMENTUM = 0.75  # alpha in Croce2020, Algorithm 1
ENOUGH_RISES = 0.75  # rho in Croce2020, Eq. 3: fraction of steps that must raise the objective


def pgd(objective, x, start, epsilon, step_size, steps):
    """Projected gradient ascent with a fixed step (Madry2018).

    Args:
        objective: See above.
        x: Inputs, shape `(batch, ...)`, in [0, 1].
        start: Points where it begins, same shape.
        epsilon: Largest change of an entry.
        step_size: Change of an entry by a step.
        steps: Number of steps.

    Returns:
        The last iterates, shape of `x`.
    """
    point, rows = start, np.arange(len(x))
    for _ in range(steps):
        _, gradient, _ = objective(point, rows)
        point = project(point + step_size * np.sign(gradient), x, epsilon)
    return point


def apgd(objective, x, start, epsilon, steps):
    """Auto-PGD (Croce2020, Algorithm 1): momentum, and a step that adapts to each row.

    The step begins at `2 epsilon`. It is halved at a checkpoint, and the row goes on from its best
    point, if fewer than three quarters of the steps since the last checkpoint raised the objective,
    or if neither the step nor the best value has changed since. A row is done as soon as its point
    is misclassified; the objective is not asked for it again.

    Args:
        objective, x, start, epsilon, steps: See `pgd`.

    Returns:
        The first misclassified iterates, and the points of the highest value where there is none;
        and whether an iterate is misclassified, shape `(batch,)`.
    """
    point, done = start.copy(), np.zeros(len(x), bool)
    value, gradient = np.zeros(len(x)), np.zeros_like(start)

    def evaluate():
        rows = np.flatnonzero(~done)
        value[rows], gradient[rows], done[rows] = objective(point[rows], rows)

    evaluate()
    best = _Best(point, value, gradient)
    before, reference = point.copy(), best.value.copy()
    step = np.full((len(x), *(1,) * (x.ndim - 1)), 2 * epsilon, x.dtype)
    rises, halved = np.zeros(len(x), int), np.ones(len(x), bool)
    marks = checkpoints(steps)
    since = 0
    for i in range(1, steps + 1):
        if done.all():
            break
        ahead = project(point + step * np.sign(gradient), x, epsilon)
        if i > 1:
            ahead = point + MOMENTUM * (ahead - point) + (1 - MOMENTUM) * (point - before)
            ahead = project(ahead, x, epsilon)
        before, last = point, value.copy()
        point = np.where(_as_rows(done, x), point, ahead)
        evaluate()
        rises += value > last
        best.update(point, value, gradient, done)
        if i in marks:
            halve = rises < ENOUGH_RISES * (i - since)
            halve |= ~halved & (best.value <= reference)
            halve &= ~done
            step[halve] /= 2
            point[halve], gradient[halve] = best.point[halve], best.gradient[halve]
            value[halve] = best.value[halve]
            since, halved, reference = i, halve, best.value.copy()
            rises[:] = 0
    return best.point, done


def checkpoints(steps):
    """Numbers of steps after which `apgd` may halve its step (Croce2020, section 3)."""
    fractions = [0.0, 0.22]
    while fractions[-1] <= 1:
        fractions.append(fractions[-1] + max(fractions[-1] - fractions[-2] - 0.03, 0.06))
    return {math.ceil(round(fraction * steps, 6)) for fraction in fractions[1:-1]}


def project(point, center, epsilon):
    """The nearest points within `epsilon` of the centers and in [0, 1]."""
    low, high = np.maximum(center - epsilon, 0), np.minimum(center + epsilon, 1)
    return np.clip(point, low, high)


class _Best:
    """The points of the highest value so far, with their values and gradients."""

    def __init__(self, point, value, gradient):
        self.point, self.value, self.gradient = point.copy(), value.copy(), gradient.copy()

    def update(self, point, value, gradient, done):
        """Takes over the rows that rose, and those that are done, whatever their value."""
        rows = (value > self.value) | done
        self.point[rows], self.value[rows] = point[rows], value[rows]
        self.gradient[rows] = gradient[rows]


def _as_rows(mask, x):
    return mask.reshape(-1, *(1,) * (x.ndim - 1))
