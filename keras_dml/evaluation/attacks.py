"""Implements L-infinity attacks for `keras_dml.evaluation.robustness` (Monteiro2020, section
4.1.1).

`FGSM`, `PGD`, `APGD` and `TargetedAPGD` follow gradients. `Square` (Square Attack) is a random
search without gradients. `SquareAPGD` starts `APGD` from the results of a Square Attack. AutoAttack
(Croce2020) combines four attacks: APGD on the cross-entropy, APGD on the difference of logits
ratio, FAB and Square. The standard version of AutoAttack uses the targeted form of the difference
of logits ratio. This module implements all attacks of AutoAttack except FAB.

Inputs lie in [0, 1]. Attacks use the raw logits of a network in inference mode.
"""

from __future__ import annotations

import dataclasses
import math
import numbers
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from keras_dml.evaluation._robustness import Network

LOSSES = ("cross_entropy", "margin", "dlr")
WEAK_STEP = 1 / 30  # step as a fraction of epsilon in the authors' code for Monteiro2020
MOMENTUM = 0.75  # alpha in Croce2020, Algorithm 1
ENOUGH_RISES = 0.75  # rho in Croce2020, Eq. 3: fraction of steps that must raise the objective
FIRST_FRACTION = 0.8  # fraction of the entries in the first square (Andriushchenko2020, L-inf)
# After these numbers of squares, the fraction of the entries in a square is halved. The numbers are
# for a search that tries 10,000 squares.
HALVED_AFTER = (10, 50, 200, 500, 1000, 2000, 4000, 6000, 8000)
NO_CHANGE = 1e-7  # a square that changes less has no effect (code of Andriushchenko2020)

Perturbed = tuple[np.ndarray, int, int]
"""`(inputs, calls, not_finite)`, see `PGD.perturb`."""


@dataclasses.dataclass(frozen=True)
class PGD:
    """Projected gradient descent (PGD), which maximizes the loss by gradient steps from random
    starts (Madry2018).

    The attack evaluates the last iterate of each restart.

    Args:
        epsilon: Largest change of any entry of the input. Monteiro2020 uses 0.3 for MNIST and 8/255
            for CIFAR-10.
        steps: Number of steps per restart. Monteiro2020 uses 40 or 100 steps for MNIST, and 7 or 20
            steps for CIFAR-10.
        step_size: Change of an entry per step. The default is `2.5 epsilon / steps`. With the
            default, the steps can reach every point of the epsilon ball, even from its boundary.
        restarts: Number of random starts.
        loss: Loss to maximize. `"cross_entropy"` is the cross-entropy. `"margin"` is the largest
            logit of another class minus the logit of the true class. `"dlr"` is the difference of
            logits ratio, that is, the margin divided by the gap between the largest and the third
            largest logit. The gradients of `"margin"` and `"dlr"` do not vanish if the network is
            confident.
        source: Head whose gradients are used, `"sim"`, `"dol"` or `"cosine"` (cosine of embedding
            and prototypes). For a transfer attack, use a different head from the attacked head.
            Default: the attacked head.
        probabilities: Whether to pass probabilities to the loss as if they were logits, as the
            authors' code for Monteiro2020 does. If True, the attack is weak, because the
            gradients vanish if the network is confident.
    """

    epsilon: float
    steps: int = 40
    step_size: float | None = None
    restarts: int = 1
    loss: str = "cross_entropy"
    source: str | None = None
    probabilities: bool = False

    def __post_init__(self) -> None:
        _check(self, "steps", "restarts")
        if self.step_size is not None and not self.step_size > 0:
            raise ValueError(f"`step_size` must be above 0. Received step_size={self.step_size!r}.")

    @property
    def name(self) -> str:
        """Name of the attack in tables, such as `PGD-100 x 10` or `PGD-40 margin`."""
        return f"PGD-{self.steps}{_times(self.restarts)}{_traits(self)}"

    @property
    def step(self) -> float:
        """Largest amount by which one step changes an entry of the input."""
        return 2.5 * self.epsilon / self.steps if self.step_size is None else self.step_size

    def perturb(
        self, network: Network, x: np.ndarray, y: np.ndarray, rng: np.random.Generator
    ) -> Perturbed:
        """Returns adversarial examples of one restart.

        Args:
            network: `Network` that is attacked.
            x: Inputs, shape `(count, ...)`, in [0, 1].
            y: Class ids, shape `(count,)`.
            rng: NumPy random generator for the random start.

        Returns:
            Tuple `(inputs, gradients, not_finite)`. `inputs` are the adversarial inputs, same shape
            as `x`. `gradients` is the number of gradients that were computed. `not_finite` is the
            number of gradient entries that were not finite.
        """
        objective = _Objective(network, y, self.loss, self.source, self.probabilities)
        start = _random_start(x, self.epsilon, rng)
        adversarial = _pgd(objective, x, start, self.epsilon, self.step, self.steps)
        return adversarial, objective.calls, objective.not_finite


@dataclasses.dataclass(frozen=True)
class FGSM:
    """Fast gradient sign method (FGSM), an attack with one step from the clean inputs
    (Goodfellow2015).

    Args:
        epsilon: Size of the step.
        loss, source, probabilities: Loss to maximize, head whose gradients are used, and whether
            the loss receives probabilities (see `PGD`).
    """

    epsilon: float
    loss: str = "cross_entropy"
    source: str | None = None
    probabilities: bool = False
    restarts = 1  # the start is not random

    def __post_init__(self) -> None:
        _check(self)

    @property
    def name(self) -> str:
        """Name in tables."""
        return f"FGSM{_traits(self)}"

    def perturb(
        self, network: Network, x: np.ndarray, y: np.ndarray, rng: np.random.Generator | None
    ) -> Perturbed:
        """Returns adversarial examples (see `PGD.perturb`). FGSM does not use the argument
        `rng`."""
        objective = _Objective(network, y, self.loss, self.source, self.probabilities)
        adversarial = _pgd(objective, x, x, self.epsilon, self.epsilon, 1)
        return adversarial, objective.calls, objective.not_finite


@dataclasses.dataclass(frozen=True)
class APGD:
    """Auto-PGD (APGD, Croce2020), a variant of PGD with momentum and a step size that adapts to
    each image.

    The attack on an image stops if an iterate is misclassified. If no iterate is misclassified, the
    point with the highest loss is evaluated.

    Args:
        epsilon: Largest change of any entry of the input.
        steps: Number of steps per restart.
        restarts: Number of random starts.
        loss, source: Loss to maximize, and head whose gradients are used. The allowed values are
            the same as in `PGD`.
    """

    epsilon: float
    steps: int = 100
    restarts: int = 1
    loss: str = "cross_entropy"
    source: str | None = None

    def __post_init__(self) -> None:
        _check(self, "steps", "restarts")

    @property
    def name(self) -> str:
        """Name of the attack in tables, such as `APGD-100 dlr`."""
        return f"APGD-{self.steps}{_times(self.restarts)}{_traits(self)}"

    def perturb(
        self, network: Network, x: np.ndarray, y: np.ndarray, rng: np.random.Generator
    ) -> Perturbed:
        """Returns adversarial examples of one restart (see `PGD.perturb`)."""
        objective = _Objective(network, y, self.loss, self.source)
        start = _random_start(x, self.epsilon, rng)
        adversarial, _ = _apgd(objective, x, start, self.epsilon, self.steps)
        return adversarial, objective.calls, objective.not_finite


@dataclasses.dataclass(frozen=True)
class TargetedAPGD:
    """Auto-PGD on the targeted difference of logits ratio (APGD-T, Croce2020).

    The targets are the wrong classes that have the largest logits for the clean image. If the
    attack on an image succeeds for one target, the remaining targets of this image are skipped.

    Args:
        epsilon: Largest change of any entry of the input.
        steps: Number of steps per target.
        targets: Number of targets, less than the number of classes.
        restarts: Number of random starts per target.
        source: Head whose gradients are used, as in `PGD`. Default: the attacked head.
    """

    epsilon: float
    steps: int = 100
    targets: int = 9
    restarts: int = 1
    source: str | None = None
    loss = "dlr"

    def __post_init__(self) -> None:
        _check(self, "steps", "targets", "restarts")

    @property
    def name(self) -> str:
        """Name of the attack in tables, such as `APGD-100 to 9 targets`."""
        source = "" if self.source is None else f" from {self.source}"
        return f"APGD-{self.steps} to {self.targets} targets{_times(self.restarts)}{source}"

    def perturb(
        self, network: Network, x: np.ndarray, y: np.ndarray, rng: np.random.Generator
    ) -> Perturbed:
        """Attacks each target in one restart, and returns the adversarial examples (see
        `PGD.perturb`)."""
        logits = network.logits(x).copy()
        if self.targets >= logits.shape[1]:
            raise ValueError(
                f"`targets` must be at most {logits.shape[1] - 1}, the number of wrong classes. "
                f"Received targets={self.targets}."
            )
        logits[np.arange(len(x)), y] = -np.inf
        ranked = np.argsort(-logits, axis=1, kind="stable")
        adversarial, rows, calls, not_finite = x.copy(), np.arange(len(x)), 0, 0
        for rank in range(self.targets):
            start = _random_start(x, self.epsilon, rng)[rows]
            targets = ranked[rows, rank]
            objective = _Objective(network, y[rows], self.loss, self.source, targets=targets)
            adversarial[rows], broken = _apgd(objective, x[rows], start, self.epsilon, self.steps)
            calls, not_finite = calls + objective.calls, not_finite + objective.not_finite
            rows = rows[~broken]
            if not len(rows):
                break
        return adversarial, calls, not_finite


@dataclasses.dataclass(frozen=True)
class Square:
    """Square Attack (Andriushchenko2020), a random search without gradients.

    If the Square Attack succeeds and gradient attacks fail, the network has misleading gradients
    (gradient masking).

    Args:
        epsilon: Largest change of any entry of the input.
        queries: Largest number of queries per example. The paper uses 5,000.
        restarts: Number of independent searches.
    """

    epsilon: float
    queries: int = 1000
    restarts: int = 1
    source = None

    def __post_init__(self) -> None:
        _check(self, "queries", "restarts")

    @property
    def name(self) -> str:
        """Name in tables."""
        return f"Square-{self.queries}{_times(self.restarts)}"

    def perturb(
        self, network: Network, x: np.ndarray, y: np.ndarray, rng: np.random.Generator
    ) -> Perturbed:
        """Returns adversarial examples of one search (see `PGD.perturb`).

        The second entry of the result is the number of queries.
        """

        def margins(candidates, rows):
            return network.margins(candidates, y[rows])

        return *_square_search(margins, x, self.epsilon, self.queries, rng), 0


@dataclasses.dataclass(frozen=True)
class SquareAPGD:
    """APGD that starts from the results of a Square Attack. The attack is made for networks with
    masked gradients.

    If a network thresholds pixels, the gradient is zero at most points of the epsilon ball. In a
    test, APGD on the margin attacked five training images of the model `mnist_proto_sim_at`. A
    Square Attack with 5,000 queries succeeds on these five images. APGD from random starts
    succeeded in 0 to 2 % of the runs. APGD from the points that a Square Attack reached after 500
    queries succeeded in 8 to 100 % of the runs.

    Args:
        epsilon: Largest change of any entry of the input.
        queries: Number of queries of the Square Attack.
        steps, restarts, loss: Number of steps per restart, number of random starts, and loss to
            maximize (see `APGD`).
    """

    epsilon: float
    queries: int = 500
    steps: int = 100
    restarts: int = 1
    loss: str = "margin"
    source = None

    def __post_init__(self) -> None:
        _check(self, "queries", "steps", "restarts")

    @property
    def name(self) -> str:
        """Name of the attack in tables, such as `Square-500 + APGD-100 margin`."""
        return f"Square-{self.queries} + APGD-{self.steps}{_times(self.restarts)}{_traits(self)}"

    def perturb(
        self, network: Network, x: np.ndarray, y: np.ndarray, rng: np.random.Generator
    ) -> Perturbed:
        """Returns adversarial examples (see `PGD.perturb`).

        The second entry of the result is the number of queries plus the number of gradients.
        """
        start, queries, _ = Square(self.epsilon, self.queries).perturb(network, x, y, rng)
        objective = _Objective(network, y, self.loss, self.source)
        adversarial, _ = _apgd(objective, x, start, self.epsilon, self.steps)
        return adversarial, queries + objective.calls, objective.not_finite


def protocol_paper(epsilon: float, steps: Sequence[int] = (40, 100)) -> tuple[FGSM | PGD, ...]:
    """Returns the weak attacks that the authors' code for Monteiro2020 uses.

    The attacks pass probabilities instead of logits to the loss. The steps are short: 7 steps
    change an entry by at most 7/30 of epsilon, and 20 steps change an entry by at most two thirds
    of epsilon. If you report the results, state that the attacks are weak.

    Args:
        epsilon: Largest change of any entry of the input.
        steps: Numbers of steps, (40, 100) for MNIST and (7, 20) for CIFAR-10.

    Returns:
        Tuple of attacks.
    """
    weak = {"probabilities": True}
    return (
        FGSM(epsilon, **weak),
        *(PGD(epsilon, count, step_size=WEAK_STEP * epsilon, **weak) for count in steps),
    )


def _times(restarts):
    return f" x {restarts}" if restarts > 1 else ""


def _traits(attack):
    """Returns a suffix for an attack's name. The suffix lists the settings that differ from the
    defaults."""
    traits = "" if attack.loss == "cross_entropy" else f" {attack.loss}"
    if attack.source is not None:
        traits += f" from {attack.source}"
    return f"{traits} (weak)" if getattr(attack, "probabilities", False) else traits


def _check(attack, *counts):
    """Checks the attributes `epsilon` and `loss` of an attack, and the integer attributes whose
    names are in `counts`."""
    epsilon = attack.epsilon
    if not (isinstance(epsilon, numbers.Real) and 0 < epsilon <= 1):
        raise ValueError(
            f"Received epsilon={epsilon!r}. `epsilon` must be above 0 and at most 1, because "
            "inputs lie in [0, 1]. For 8 of 255 gray levels, pass `8 / 255`."
        )
    for name in counts:
        value = getattr(attack, name)
        if not isinstance(value, numbers.Integral) or value < 1:
            raise ValueError(
                f"`{name}` must be an integer of at least 1. Received {name}={value!r}."
            )
    if getattr(attack, "loss", LOSSES[0]) not in LOSSES:
        raise ValueError(f"`loss` must be one of {LOSSES}. Received loss={attack.loss!r}.")


# ---- gradient ascent: PGD and APGD ----


class _Objective:
    """Loss that an attack maximizes. The object counts the gradients computed so far.

    A call takes points, shape `(count, ...)`, and their row indices in the batch, shape `(count,)`.
    The call returns the losses, the gradients, and booleans that are True for misclassified points.
    The gradients have the shape of the points. The losses and the booleans have the shape
    `(count,)`.
    """

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


def _random_start(x, epsilon, rng):
    """Draws points uniformly from the epsilon ball and clips them to [0, 1]."""
    shift = rng.uniform(-epsilon, epsilon, size=x.shape)
    return np.clip(x + shift, 0, 1).astype(np.float32)


def _pgd(objective, x, start, epsilon, step_size, steps):
    """Runs projected gradient ascent with a fixed step (Madry2018).

    Args:
        objective: `_Objective` that the attack maximizes.
        x: Inputs, shape `(batch, ...)`, in [0, 1].
        start: Points from which the ascent starts, same shape as `x`.
        epsilon: Largest change of any entry of the input.
        step_size: Change of an entry per step.
        steps: Number of steps.

    Returns:
        Last iterates, same shape as `x`.
    """
    point, rows = start, np.arange(len(x))
    for _ in range(steps):
        _, gradient, _ = objective(point, rows)
        point = _project(point + step_size * np.sign(gradient), x, epsilon)
    return point


def _apgd(objective, x, start, epsilon, steps):
    """Runs Auto-PGD (Croce2020, Algorithm 1), which is PGD with momentum and a step size for each
    example.

    The step size begins at `2 epsilon`. At a checkpoint, the step size is halved if fewer than
    three quarters of the steps since the last checkpoint raised the objective. The step size is
    also halved if neither the step size nor the best value has changed since the last checkpoint.
    After a halving, the search continues from the best point. The search for an example ends when
    an iterate is misclassified.

    Args:
        objective, x, start, epsilon, steps: The objective to maximize, the inputs, the first
            points, the largest change of an entry, and the number of steps (see `_pgd`).

    Returns:
        `(points, broken)`. `points` has the shape of `x` and holds the first misclassified iterate
        of each example, or the point with the highest objective if no iterate is misclassified.
        `broken` has shape `(batch,)` and is True if an iterate is misclassified.
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
    checkpoints = _apgd_checkpoints(steps)
    last_checkpoint = 0
    for i in range(1, steps + 1):
        if done.all():
            break
        ahead = _project(point + step * np.sign(gradient), x, epsilon)
        if i > 1:
            ahead = point + MOMENTUM * (ahead - point) + (1 - MOMENTUM) * (point - before)
            ahead = _project(ahead, x, epsilon)
        before, last = point, value.copy()
        point = np.where(done.reshape(-1, *(1,) * (x.ndim - 1)), point, ahead)
        evaluate()
        rises += value > last
        best.update(point, value, gradient, done)
        if i in checkpoints:
            halve = rises < ENOUGH_RISES * (i - last_checkpoint)
            halve |= ~halved & (best.value <= reference)
            halve &= ~done
            step[halve] /= 2
            point[halve], gradient[halve] = best.point[halve], best.gradient[halve]
            value[halve] = best.value[halve]
            last_checkpoint, halved, reference = i, halve, best.value.copy()
            rises[:] = 0
    return best.point, done


class _Best:
    """Points with the highest objective so far, and the objectives and gradients at these
    points."""

    def __init__(self, point, value, gradient):
        self.point, self.value, self.gradient = point.copy(), value.copy(), gradient.copy()

    def update(self, point, value, gradient, done):
        """Replaces each stored point by the new point if the objective rose or the new point is
        misclassified."""
        rows = (value > self.value) | done
        self.point[rows], self.value[rows] = point[rows], value[rows]
        self.gradient[rows] = gradient[rows]


def _apgd_checkpoints(steps):
    """Returns the checkpoints: the numbers of steps after which APGD may halve the step size.

    The checkpoints follow Croce2020, section 3.
    """
    fractions = [0.0, 0.22]
    while fractions[-1] <= 1:
        fractions.append(fractions[-1] + max(fractions[-1] - fractions[-2] - 0.03, 0.06))
    return {math.ceil(round(fraction * steps, 6)) for fraction in fractions[1:-1]}


def _project(point, center, epsilon):
    """Projects each point onto the epsilon ball around its center, restricted to [0, 1]."""
    low, high = np.maximum(center - epsilon, 0), np.minimum(center + epsilon, 1)
    return np.clip(point, low, high)


# ---- random search: Square Attack ----


def _square_search(margins, x, epsilon, queries, rng):
    """Runs the Square Attack, a random search over squares of changed pixels.

    The search follows Andriushchenko2020, Algorithms 1 and 2. All changes are -epsilon or +epsilon.
    The search starts from vertical stripes, tries smaller and smaller squares, and keeps squares
    that raise the margin. If a square would change no entry, it is drawn again. The search for an
    example ends when the margin is above 0.

    Args:
        margins: Function that takes inputs, shape `(count, ...)`, and their row indices in `x`,
            shape `(count,)`. The function returns the margin of each input. The margin is above 0
            if the input is misclassified.
        x: Inputs, shape `(count, height, width, channels)` or `(count, features)`, in [0, 1].
        epsilon: Largest change of any entry of the input.
        queries: Largest number of queries per example.
        rng: NumPy generator.

    Returns:
        Tuple `(inputs, queries)`. `inputs` are the adversarial inputs, same shape as `x`. `queries`
        is the number of queries.
    """
    shape = x.shape
    x = x.reshape(shape if x.ndim == 4 else (len(x), -1, 1, 1))
    count, height, width, channels = x.shape
    stripes = (count, 1 if width > 1 else height, width, channels)
    best = _clipped(x + rng.choice([-epsilon, epsilon], size=stripes))
    rows = np.arange(count)
    values = margins(best.reshape(shape), rows)
    asked = count
    for square in range(queries - 1):
        rows = rows[values[rows] <= 0]
        if not len(rows):
            break
        side = _square_side(square / queries, x[0])
        candidates = _with_square(x[rows], best[rows], epsilon, side, rng)
        margins_of_candidates = margins(candidates.reshape(-1, *shape[1:]), rows)
        asked += len(rows)
        better = margins_of_candidates > values[rows]
        best[rows[better]] = candidates[better]
        values[rows[better]] = margins_of_candidates[better]
    return best.reshape(shape), asked


def _square_side(progress, image):
    """Returns the side length of the square after a given fraction of the queries has been made.

    The square covers a fraction of the image. The schedule of Andriushchenko2020 halves the
    fraction several times. For 10,000 queries, the schedule halves the fraction after 10, 50, 200,
    500, ... squares. For other numbers of queries, the schedule is scaled in proportion.

    Args:
        progress: Fraction of the queries that have been made.
        image: Image, shape `(height, width, channels)`.
    """
    halvings = sum(int(10_000 * progress) > after for after in HALVED_AFTER)
    height, width, _ = image.shape
    return max(1, round(math.sqrt(FIRST_FRACTION / 2**halvings * height * width)))


def _with_square(x, best, epsilon, side, rng):
    """Adds a random square to each of the best points. Every square changes at least one entry."""
    count, height, width, channels = x.shape
    tall, wide = min(side, height), min(side, width)
    tops = rng.integers(height - tall + 1, size=count)
    lefts = rng.integers(width - wide + 1, size=count)
    inside = _window(tops, tall, height)[:, :, None] & _window(lefts, wide, width)[:, None]
    candidates, rows = best.copy(), np.arange(count)
    while len(rows):
        signs = rng.choice([-epsilon, epsilon], size=(len(rows), 1, 1, channels))
        candidates[rows] = np.where(inside[rows, ..., None], _clipped(x[rows] + signs), best[rows])
        change = np.abs(candidates[rows] - best[rows]).max(axis=(1, 2, 3))
        rows = rows[change <= NO_CHANGE]
    return candidates


def _window(starts, length, size):
    positions = np.arange(size)[None]
    return (positions >= starts[:, None]) & (positions < starts[:, None] + length)


def _clipped(x):
    return np.clip(x, 0.0, 1.0).astype(np.float32)
