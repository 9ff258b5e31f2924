"""L-infinity attacks for `keras_dml.evaluation.robustness` (Monteiro2020, section 4.1.1).

Inputs lie in [0, 1]. All are made against the raw logits of a network in inference mode. FGSM and
PGD run in Foolbox, which needs `pip install "keras-dml[robustness]"`.
"""

from __future__ import annotations

import dataclasses
import numbers

from keras_dml.evaluation import _square

LOSSES = ("cross_entropy", "margin")
FOOLBOX_STEP = 1 / 30  # step of Foolbox's PGD as a share of epsilon, when none is given


@dataclasses.dataclass(frozen=True)
class PGD:
    """Projected gradient ascent from random starts (Madry2018).

    A restart is judged by its last iterate.

    Args:
        epsilon: Greatest change of an entry: 0.3 for MNIST, 8/255 for CIFAR-10 in Monteiro2020.
        steps: Of each restart: 40 and 100 for MNIST, 7 and 20 for CIFAR-10 in Monteiro2020.
        step_size: Change of an entry by a step; None: `2.5 epsilon / steps`, which reaches the rim
            of the ball and comes back.
        restarts: Number of starts.
        loss: What is raised: `"cross_entropy"`, or `"margin"`, the best other class's logit minus
            the own one's, whose gradient does not vanish where the network is sure.
        source: Head that the examples are made against, `"sim"` or `"dol"`, when another one is
            attacked (transfer); None: the attacked one.
        probabilities: Whether to hand the loss probabilities as if they were logits, as the
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
        """What tables call it: `PGD-100 x 10`, `PGD-40 margin`, ..."""
        times = f" x {self.restarts}" if self.restarts > 1 else ""
        return f"PGD-{self.steps}{times}{_traits(self)}"

    @property
    def step(self):
        """Change of an entry by a step."""
        return 2.5 * self.epsilon / self.steps if self.step_size is None else self.step_size

    def twins(self, network, x, y, rng):
        """Adversarial examples of one restart.

        Args:
            network: Of the head that is attacked: gives `gradient(x, y, loss, probabilities)`.
            x: Inputs, shape `(count, ...)`, in [0, 1].
            y: Class ids, shape `(count,)`.
            rng: NumPy generator of the start.

        Returns:
            Inputs, shape as of `x`; the number of gradients computed, and that of their entries
            that were not finite.
        """
        return _ascend(self, network, x, y, self.steps, self.step, rng)


@dataclasses.dataclass(frozen=True)
class FGSM:
    """One step by the sign of the gradient, from the inputs themselves (Goodfellow2015).

    Args:
        epsilon: Size of the step.
        loss, source, probabilities: As of `PGD`.
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
        """What tables call it."""
        return f"FGSM{_traits(self)}"

    def twins(self, network, x, y, rng):
        """Adversarial examples; as of `PGD`."""
        return _ascend(self, network, x, y, 1, self.epsilon, None)


@dataclasses.dataclass(frozen=True)
class Square:
    """The square attack (Andriushchenko2020): random search without gradients.

    What it breaks and PGD does not shows gradients that mislead. Foolbox has nothing of the kind
    that gets by with few queries, so this one is the library's own.

    Args:
        epsilon: Greatest change of an entry.
        queries: Asked for each example at most; its paper has 5,000, and most of what falls falls
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
        """What tables call it."""
        times = f" x {self.restarts}" if self.restarts > 1 else ""
        return f"Square-{self.queries}{times}"

    def twins(self, network, x, y, rng):
        """Adversarial examples of one search; as of `PGD`, queries in place of gradients."""

        def margins(tried, rows):
            return network.margins(tried, y[rows])

        return *_square.search(margins, x, self.epsilon, self.queries, rng), 0


def protocol_paper(epsilon, steps=(40, 100)):
    """The attacks as the authors' code for Monteiro2020 makes them, to be named weak wherever they
    are told.

    Probabilities go for logits and a step is a thirtieth of epsilon, so 7 steps reach 7/30 of the
    budget and 20 steps two thirds of it.

    Args:
        epsilon: Greatest change of an entry.
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

    twins, not_finite = _foolbox.ascend(
        network,
        gradient,
        x,
        y,
        epsilon=attack.epsilon,
        steps=steps,
        step_size=step_size,
        rng=rng,
    )
    return twins, steps * len(x), not_finite


def _traits(attack):
    """What sets an attack apart from the usual one, for its name."""
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
        raise ValueError(
            f"`{name}` must be a whole number of at least 1. Received {name}={value!r}."
        )


def _check_loss(loss):
    if loss not in LOSSES:
        raise ValueError(f"`loss` must be one of {LOSSES}. Received loss={loss!r}.")
