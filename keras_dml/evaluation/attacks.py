"""L-infinity attacks for `keras_dml.evaluation.robustness` (Monteiro2020, section 4.1.1).

Inputs lie in [0, 1]. Attacks use the raw logits of a network in inference mode. FGSM and
PGD run in Foolbox, which needs `pip install "keras-dml[robustness]"`.
"""

from __future__ import annotations

import dataclasses
import numbers

from keras_dml.evaluation import _square

LOSSES = ("cross_entropy", "margin")
FOOLBOX_STEP = 1 / 30  # step of Foolbox's PGD as a fraction of epsilon, if none is given


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
        loss: Loss to maximize: `"cross_entropy"`, or `"margin"`, the largest logit of another class
            minus that of the true class, whose gradient does not vanish where the network is sure.
        source: Head whose gradients are used, `"sim"` or `"dol"`, to transfer to the attacked one;
            None uses the attacked head itself.
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
        _check_epsilon(self.epsilon)
        for name in ("steps", "restarts"):
            _check_count(name, getattr(self, name))
        if self.step_size is not None and not self.step_size > 0:
            raise ValueError(f"`step_size` must be above 0. Received step_size={self.step_size!r}.")
        _check_loss(self.loss)

    @property
    def name(self):
        """Name in tables, such as `PGD-100 x 10` or `PGD-40 margin`."""
        times = f" x {self.restarts}" if self.restarts > 1 else ""
        return f"PGD-{self.steps}{times}{_traits(self)}"

    @property
    def step(self):
        """Change of an entry by a step."""
        return 2.5 * self.epsilon / self.steps if self.step_size is None else self.step_size

    def perturb(self, network, x, y, rng):
        """Adversarial examples of one restart.

        Args:
            network: Network with a method `gradient(x, y, loss, probabilities)`.
            x: Inputs, shape `(count, ...)`, in [0, 1].
            y: Class ids, shape `(count,)`.
            rng: NumPy generator of the start.

        Returns:
            Inputs of the shape of `x`, the number of gradients computed, and the number of their
            entries that were not finite.
        """
        return _ascend(self, network, x, y, self.steps, self.step, rng)


@dataclasses.dataclass(frozen=True)
class FGSM:
    """One step by the sign of the gradient, from the inputs themselves (Goodfellow2015).

    Args:
        epsilon: Size of the step.
        loss, source, probabilities: See `PGD`.
    """

    epsilon: float
    loss: str = "cross_entropy"
    source: str | None = None
    probabilities: bool = False
    restarts = 1  # it draws nothing

    def __post_init__(self):
        _check_epsilon(self.epsilon)
        _check_loss(self.loss)

    @property
    def name(self):
        """Name in tables."""
        return f"FGSM{_traits(self)}"

    def perturb(self, network, x, y, rng):
        """Adversarial examples, see `PGD.perturb`."""
        return _ascend(self, network, x, y, 1, self.epsilon, None)


@dataclasses.dataclass(frozen=True)
class Square:
    """The square attack (Andriushchenko2020): random search without gradients.

    Where it succeeds and PGD fails, gradients mislead. Foolbox has no such attack with few queries,
    so this is the library's own implementation.

    Args:
        epsilon: Largest change of an entry.
        queries: Largest number of queries per example. The paper uses 5,000; most successes come
            early.
        restarts: Number of searches.
    """

    epsilon: float
    queries: int = 1000
    restarts: int = 1
    source = None

    def __post_init__(self):
        _check_epsilon(self.epsilon)
        for name in ("queries", "restarts"):
            _check_count(name, getattr(self, name))

    @property
    def name(self):
        """Name in tables."""
        times = f" x {self.restarts}" if self.restarts > 1 else ""
        return f"Square-{self.queries}{times}"

    def perturb(self, network, x, y, rng):
        """Adversarial examples of one search, see `PGD.perturb`; counts queries, not gradients."""

        def margins(tried, rows):
            return network.margins(tried, y[rows])

        return *_square.search(margins, x, self.epsilon, self.queries, rng), 0


def protocol_paper(epsilon, steps=(40, 100)):
    """The weak attacks of the authors' code for Monteiro2020; reports must call them weak.

    Probabilities are taken for logits, and a step is a thirtieth of epsilon: 7 steps reach 7/30 of
    epsilon and 20 steps two thirds of it.

    Args:
        epsilon: Largest change of an entry.
        steps: Numbers of steps: (40, 100) for MNIST, (7, 20) for CIFAR-10.

    Returns:
        A tuple of attacks.
    """
    weak = {"probabilities": True}
    return (
        FGSM(epsilon, **weak),
        *(PGD(epsilon, count, step_size=FOOLBOX_STEP * epsilon, **weak) for count in steps),
    )


def _ascend(attack, network, x, y, steps, step_size, rng):
    try:
        from keras_dml.evaluation import _foolbox
    except ModuleNotFoundError as error:
        if error.name not in ("eagerpy", "foolbox"):
            raise
        raise ImportError(
            'FGSM and PGD run in Foolbox: pip install "keras-dml[robustness]".'
        ) from error

    def gradient(x, y):
        return network.gradient(x, y, attack.loss, attack.probabilities)

    adversarial, not_finite = _foolbox.ascend(
        network,
        gradient,
        x,
        y,
        epsilon=attack.epsilon,
        steps=steps,
        step_size=step_size,
        rng=rng,
    )
    return adversarial, steps * len(x), not_finite


def _traits(attack):
    """Settings that differ from the default, as a suffix of the name."""
    traits = "" if attack.loss == "cross_entropy" else f" {attack.loss}"
    if attack.source is not None:
        traits += f" from {attack.source}"
    return f"{traits} (weak)" if attack.probabilities else traits


def _check_epsilon(epsilon):
    if not (isinstance(epsilon, numbers.Real) and 0 < epsilon <= 1):
        raise ValueError(
            "`epsilon` must be above 0 and at most 1, since inputs lie in [0, 1]: 8 of 255 gray "
            f"levels are 8 / 255. Received epsilon={epsilon!r}."
        )


def _check_count(name, value):
    if not isinstance(value, numbers.Integral) or value < 1:
        raise ValueError(f"`{name}` must be an integer of at least 1. Received {name}={value!r}.")


def _check_loss(loss):
    if loss not in LOSSES:
        raise ValueError(f"`loss` must be one of {LOSSES}. Received loss={loss!r}.")
