"""L-infinity attacks for `keras_dml.evaluation.robustness` (Monteiro2020, section 4.1.1).

Inputs lie in [0, 1]. Attacks use the raw logits of a network in inference mode.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from keras_dml.evaluation import _ascent, _square
from keras_dml.evaluation._objective import Objective, check, random_start

WEAK_STEP = 1 / 30  # step as a fraction of epsilon in the authors' code for Monteiro2020


@dataclasses.dataclass(frozen=True)
class PGD:
    """Projected gradient ascent from random starts (Madry2018).

    Each restart is evaluated at its last iterate.

    Args:
        epsilon: Largest change of an entry: 0.3 for MNIST, 8/255 for CIFAR-10 in Monteiro2020.
        steps: Steps of a restart: 40 and 100 for MNIST, 7 and 20 for CIFAR-10 in Monteiro2020.
        step_size: Change of an entry by a step; None: `2.5 epsilon / steps`, which reaches the
            boundary of the ball and returns.
        restarts: Number of starts.
        loss: Loss to maximize: `"cross_entropy"`; `"margin"`, the largest logit of another class
            minus that of the true class; or `"dlr"`, the margin over the gap between the largest
            and the third largest logit. The gradient of the last two does not vanish where the
            network is sure.
        source: Head whose gradients are used, `"sim"`, `"dol"` or `"cosine"` (embedding to
            prototypes), to transfer to the attacked one; None uses the attacked head itself.
        probabilities: Whether to pass probabilities to the loss as if they were logits, as the
            authors' code for Monteiro2020 does. A weak attack: its gradients vanish where the
            network is sure.
    """

    epsilon: float
    steps: int = 40
    step_size: float | None = None
    restarts: int = 1
    loss: str = "cross_entropy"
    source: str | None = None
    probabilities: bool = False

    def __post_init__(self):
        check(self, "steps", "restarts")
        if self.step_size is not None and not self.step_size > 0:
            raise ValueError(f"`step_size` must be above 0. Received step_size={self.step_size!r}.")

    @property
    def name(self):
        """Name in tables, such as `PGD-100 x 10` or `PGD-40 margin`."""
        return f"PGD-{self.steps}{_times(self.restarts)}{_traits(self)}"

    @property
    def step(self):
        """Change of an entry by a step."""
        return 2.5 * self.epsilon / self.steps if self.step_size is None else self.step_size

    def perturb(self, network, x, y, rng):
        """Adversarial examples of one restart.

        Args:
            network: `Network` that is attacked.
            x, y: Inputs, shape `(count, ...)`, in [0, 1]; class ids, shape `(count,)`.
            rng: NumPy generator of the start.

        Returns:
            Inputs of the shape of `x`, the number of gradients computed, and the number of their
            entries that were not finite.
        """
        objective = Objective(network, y, self.loss, self.source, self.probabilities)
        start = random_start(x, self.epsilon, rng)
        found = _ascent.pgd(objective, x, start, self.epsilon, self.step, self.steps)
        return found, objective.calls, objective.not_finite


@dataclasses.dataclass(frozen=True)
class FGSM:
    """One step by the sign of the gradient, from the inputs themselves (Goodfellow2015).

    Args:
        epsilon: Size of the step.
        loss, source, probabilities: Same as in `PGD`.
    """

    epsilon: float
    loss: str = "cross_entropy"
    source: str | None = None
    probabilities: bool = False
    restarts = 1  # it draws nothing

    def __post_init__(self):
        check(self)

    @property
    def name(self):
        """Name in tables."""
        return f"FGSM{_traits(self)}"

    def perturb(self, network, x, y, rng):
        """Adversarial examples, see `PGD.perturb`."""
        objective = Objective(network, y, self.loss, self.source, self.probabilities)
        found = _ascent.pgd(objective, x, x, self.epsilon, self.epsilon, 1)
        return found, objective.calls, objective.not_finite


@dataclasses.dataclass(frozen=True)
class APGD:
    """Auto-PGD (Croce2020): projected gradient ascent with momentum and a step that adapts to each
    image, so that no step has to be chosen.

    An image is broken by any misclassified iterate; without one, the best point is evaluated.

    Args:
        epsilon: Largest change of an entry.
        steps: Steps of a restart.
        restarts: Number of random starts.
        loss, source: See `PGD`.
    """

    epsilon: float
    steps: int = 100
    restarts: int = 1
    loss: str = "cross_entropy"
    source: str | None = None

    def __post_init__(self):
        check(self, "steps", "restarts")

    @property
    def name(self):
        """Name in tables, such as `APGD-100 dlr`."""
        return f"APGD-{self.steps}{_times(self.restarts)}{_traits(self)}"

    def perturb(self, network, x, y, rng):
        """Adversarial examples of one restart, see `PGD.perturb`."""
        objective = Objective(network, y, self.loss, self.source)
        start = random_start(x, self.epsilon, rng)
        found, _ = _ascent.apgd(objective, x, start, self.epsilon, self.steps)
        return found, objective.calls, objective.not_finite


@dataclasses.dataclass(frozen=True)
class TargetedAPGD:
    """Auto-PGD on the targeted difference of logits ratio, once for each target (Croce2020).

    Targets are the classes with the largest logits of the clean image after its own; an image that
    is broken is not attacked with the targets that follow.

    Args:
        epsilon: Largest change of an entry.
        steps: Steps toward a target.
        targets: Number of targets, at most the number of classes less 1.
        restarts: Number of random starts toward each target.
        source: See `PGD`.
    """

    epsilon: float
    steps: int = 100
    targets: int = 9
    restarts: int = 1
    source: str | None = None
    loss = "dlr"

    def __post_init__(self):
        check(self, "steps", "targets", "restarts")

    @property
    def name(self):
        """Name in tables, such as `APGD-100 to 9 targets`."""
        source = "" if self.source is None else f" from {self.source}"
        return f"APGD-{self.steps} to {self.targets} targets{_times(self.restarts)}{source}"

    def perturb(self, network, x, y, rng):
        """Adversarial examples of one restart toward each target, see `PGD.perturb`."""
        logits = network.logits(x).copy()
        if self.targets >= logits.shape[1]:
            raise ValueError(
                f"`targets` must be at most {logits.shape[1] - 1}, the number of other classes. "
                f"Received targets={self.targets}."
            )
        logits[np.arange(len(x)), y] = -np.inf
        ranked = np.argsort(-logits, axis=1, kind="stable")
        adversarial, rows, calls, not_finite = x.copy(), np.arange(len(x)), 0, 0
        for rank in range(self.targets):
            start = random_start(x, self.epsilon, rng)[rows]
            targets = ranked[rows, rank]
            objective = Objective(network, y[rows], self.loss, self.source, targets=targets)
            found = _ascent.apgd(objective, x[rows], start, self.epsilon, self.steps)
            adversarial[rows], broken = found
            calls, not_finite = calls + objective.calls, not_finite + objective.not_finite
            rows = rows[~broken]
            if not len(rows):
                break
        return adversarial, calls, not_finite


@dataclasses.dataclass(frozen=True)
class Square:
    """The square attack (Andriushchenko2020): random search without gradients. Where it succeeds
    and attacks by gradients fail, gradients mislead.

    Args:
        epsilon: Largest change of an entry.
        queries: Largest number of queries per example; 5,000 in the paper.
        restarts: Number of searches.
    """

    epsilon: float
    queries: int = 1000
    restarts: int = 1
    source = None

    def __post_init__(self):
        check(self, "queries", "restarts")

    @property
    def name(self):
        """Name in tables."""
        return f"Square-{self.queries}{_times(self.restarts)}"

    def perturb(self, network, x, y, rng):
        """Adversarial examples of one search, see `PGD.perturb`; counts queries, not gradients."""

        def margins(tried, rows):
            return network.margins(tried, y[rows])

        return *_square.search(margins, x, self.epsilon, self.queries, rng), 0


@dataclasses.dataclass(frozen=True)
class SquareAPGD:
    """APGD from the points where a search by squares ends: for networks that hide gradients.

    Where a network thresholds pixels, much of the ball has no gradient to follow. On five training
    images of `mnist_proto_sim_at` that Square-5000 breaks, APGD on the margin succeeded from 0 to
    2 % of its random starts, and from 8 to 100 % of the points after 500 queries.

    Args:
        epsilon: Largest change of an entry.
        queries: Queries of the search; see `Square`.
        steps, restarts, loss: See `APGD`.
    """

    epsilon: float
    queries: int = 500
    steps: int = 100
    restarts: int = 1
    loss: str = "margin"
    source = None

    def __post_init__(self):
        check(self, "queries", "steps", "restarts")

    @property
    def name(self):
        """Name in tables, such as `Square-500 + APGD-100 margin`."""
        return f"Square-{self.queries} + APGD-{self.steps}{_times(self.restarts)}{_traits(self)}"

    def perturb(self, network, x, y, rng):
        """Adversarial examples of one restart, see `PGD.perturb`; counts queries and gradients."""
        start, queries, _ = Square(self.epsilon, self.queries).perturb(network, x, y, rng)
        objective = Objective(network, y, self.loss, self.source)
        found, _ = _ascent.apgd(objective, x, start, self.epsilon, self.steps)
        return found, queries + objective.calls, objective.not_finite


def protocol_paper(epsilon, steps=(40, 100)):
    """The weak attacks of the authors' code for Monteiro2020; reports must call them weak.
    Probabilities are taken for logits, and 7 steps reach 7/30 of epsilon, 20 two thirds of it.

    Args:
        epsilon: Largest change of an entry.
        steps: Numbers of steps: (40, 100) for MNIST, (7, 20) for CIFAR-10.

    Returns:
        A tuple of attacks.
    """
    weak = {"probabilities": True}
    return (
        FGSM(epsilon, **weak),
        *(PGD(epsilon, count, step_size=WEAK_STEP * epsilon, **weak) for count in steps),
    )


def _times(restarts):
    return f" x {restarts}" if restarts > 1 else ""


def _traits(attack):
    """Settings that differ from the default, as a suffix of the name."""
    traits = "" if attack.loss == "cross_entropy" else f" {attack.loss}"
    if attack.source is not None:
        traits += f" from {attack.source}"
    return f"{traits} (weak)" if getattr(attack, "probabilities", False) else traits
