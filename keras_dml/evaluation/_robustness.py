"""Accuracy of a classifier under adversarial attacks."""

from __future__ import annotations

import time

import numpy as np
from scipy import stats

from keras_dml._arrays import real, whole
from keras_dml.evaluation._attacked import HEADS, SOURCES, Network
from keras_dml.evaluation._robustness_checkpoint import Checkpoint, identity
from keras_dml.evaluation._robustness_result import AttackResult, Robustness
from keras_dml.progress import track

SECONDS_BETWEEN_CHECKPOINTS = 20.0


def robustness(
    model, x, y, attacks, *, head="sim", batch_size=256, seed=0, out=None, progress=True
):
    """Accuracy of a classifier under each attack and under the union of all attacks.

    An example is robust if it is classified correctly when clean and under every restart of every
    attack: broken by any attack, it counts as broken, so more attacks can only lower the accuracy.
    Attacks use raw logits in inference mode, and the model is not changed. A restart runs only on
    examples that are still robust under its attack.

    The union of few attacks is no robust accuracy yet. One to rely on has APGD on the cross-entropy
    and, from several starts, on the margin, `TargetedAPGD`, transfer from the other heads, and
    `Square`, which needs no gradients (Croce2020).

    Args:
        model: A `PrototypicalClassifier`, or any `keras.Model` whose output is logits, shape
            `(batch, classes)`. Inputs lie in [0, 1]; standardization is inside the model.
        x: Inputs, shape `(count, ...)`, in [0, 1].
        y: Class ids, shape `(count,)`.
        attacks: List of attacks from `keras_dml.evaluation.attacks`, with different names.
        head: Head that is attacked and evaluated, `"sim"` or `"dol"`; ignored for a model with one
            output.
        batch_size: Number of examples attacked at once.
        seed: Seed of the random starts; a resumed run draws the same ones.
        out: Path of a checkpoint, such as `robustness.npz`, written every 20 seconds. Called again
            with it, `robustness` runs only what is left. None writes nothing.
        progress: Whether to show progress on stderr.

    Returns:
        `Robustness`.

    Raises:
        ValueError: If inputs leave [0, 1], labels are none of the classes, two attacks have one
            name, or `out` holds another experiment.

    Example:
        >>> import keras
        >>> model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(2, use_bias=False)])
        >>> model.set_weights([np.eye(2)])
        >>> x = np.array([[0.9, 0.1], [0.6, 0.5]], "float32")
        >>> fgsm = keras_dml.evaluation.attacks.FGSM(epsilon=0.1)
        >>> found = robustness(model, x, [0, 0], [fgsm], progress=False)
        >>> found.clean_accuracy, found.worst_case
        (1.0, 0.5)
    """
    x, y = _checked(x, y)
    attacks = list(attacks)
    if not attacks:
        raise ValueError(
            "`attacks` is empty; give at least one of `keras_dml.evaluation.attacks`, such as "
            "`FGSM(epsilon=0.1)`."
        )
    _check_names(attacks)
    head = _checked_head(model, head, attacks)
    batch_size, seed = whole("batch_size", batch_size, 1), whole("seed", seed, 0)
    victim = _Victim(Network(model, head, batch_size), x, y, batch_size)
    checkpoint = Checkpoint(out, identity(model, x, y, head, seed))
    results = {}
    for attack in attacks:
        state = checkpoint.load(attack, victim.correct)
        while state["restarts"] < attack.restarts:
            _restart(attack, state, victim, seed, checkpoint, progress)
        results[attack.name] = AttackResult(
            attack.name,
            *_fraction(state["robust"]),
            *(state[name] for name in ("robust", "calls", "seconds", "not_finite")),
        )
    correct = victim.correct
    robust = np.logical_and.reduce([correct, *(one.robust for one in results.values())])
    return Robustness(head, *_fraction(correct), results, *_fraction(robust), correct, robust)


class _Victim:
    """The attacked head and the examples on which it is evaluated.

    Args:
        network: A `Network`.
        x: Inputs, shape `(count, ...)`.
        y: Class ids, shape `(count,)`.
        batch_size: Largest number of rows in a call.
    """

    def __init__(self, network, x, y, batch_size):
        self.network, self.x, self.y, self.batch_size = network, x, y, batch_size
        batches = self.batches(np.arange(len(x)))
        self.correct = np.concatenate([self.classifies(x[rows], rows) for rows in batches])

    def batches(self, rows):
        """Rows, split into batches."""
        return np.split(rows, range(self.batch_size, len(rows), self.batch_size))

    def classifies(self, x, rows):
        """Whether each input gets the label of its row; the lowest class wins a tie."""
        logits = self.network.logits(x)
        if self.y[rows].max() >= logits.shape[1]:
            raise ValueError(
                f"`y` must be class ids from 0 to {logits.shape[1] - 1}. Received "
                f"{int(self.y[rows].max())}."
            )
        return np.argmax(logits, axis=1) == self.y[rows]


def _restart(attack, state, victim, seed, checkpoint, progress):
    """Runs what is left of a restart on the examples that are still robust, and updates `state`."""
    start = time.monotonic()
    batches = victim.batches(np.flatnonzero(state["pending"]))
    if progress:
        description = f"{attack.name}, {state['restarts'] + 1} of {attack.restarts}"
        batches = track(batches, description, len(batches))
    for rows in batches:
        if not len(rows):
            continue
        # the same starts for all attacks, so that they differ by their steps and restarts only
        rng = np.random.default_rng([seed, state["restarts"], int(rows[0])])
        adversarial, calls, not_finite = attack.perturb(
            victim.network, victim.x[rows], victim.y[rows], rng
        )
        state["robust"][rows] = victim.classifies(adversarial, rows)
        state["pending"][rows] = False
        state["calls"] += int(calls)
        state["not_finite"] += int(not_finite)
        if time.monotonic() - start > SECONDS_BETWEEN_CHECKPOINTS:
            state["seconds"] += time.monotonic() - start
            start = time.monotonic()
            checkpoint.save(attack, state)
    state["restarts"] += 1
    state["pending"] = state["robust"].copy()
    state["seconds"] += time.monotonic() - start
    checkpoint.save(attack, state)


def _fraction(mask):
    """Fraction of a mask that is True, and Wilson's 95 % interval."""
    found = stats.binomtest(int(mask.sum()), mask.size).proportion_ci(method="wilson")
    return float(mask.mean()), (float(found.low), float(found.high))


def _checked_head(model, head, attacks):
    """The attacked head, None for a model with one output; refuses heads that are not there."""
    sources = [one.source for one in attacks if one.source is not None]
    if not hasattr(model, "head_scores"):
        if sources:
            raise ValueError(
                f"`source` of an attack names a head, and a {type(model).__name__} has one output "
                f"only. Received source={sources[0]!r}; leave `source` out."
            )
        return None
    for name, given, known in (("head", [head], HEADS), ("source", sources, SOURCES)):
        if unknown := [one for one in given if one not in known]:
            raise ValueError(f"`{name}` must be one of {known}. Received {name}={unknown[0]!r}.")
    return head


def _check_names(attacks):
    names = [one.name for one in attacks]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(
            f"`attacks` must have different names. These come twice: {twice}. Measure attacks of "
            "one name in calls of their own."
        )


def _checked(x, y):
    x, y = real("`x`", x), real("`y`", y)
    if not np.issubdtype(x.dtype, np.floating) or not len(x):
        raise ValueError(
            "`x` must be floats in [0, 1], at least one example. Received "
            f"{x.dtype} of shape {x.shape}. Gray levels are divided by 255 first."
        )
    if not (x.min() >= 0 and x.max() <= 1):
        raise ValueError(
            f"`x` must lie in [0, 1], where attacks keep it. Received values from {x.min():g} to "
            f"{x.max():g}; standardization belongs inside the model."
        )
    if y.shape != (len(x),) or not np.issubdtype(y.dtype, np.integer) or y.min() < 0:
        raise ValueError(
            f"`y` must be one class id an example, integers from 0, shape ({len(x)},). Received "
            f"{y.dtype} of shape {y.shape}."
        )
    return x.astype(np.float32), y.astype(np.int64)
