"""Accuracy of a classifier under adversarial attacks."""

from __future__ import annotations

import time

import numpy as np
from scipy import stats

from keras_dml._arrays import real, whole
from keras_dml._backend import ops
from keras_dml.evaluation._attacked import Network
from keras_dml.evaluation._robustness_checkpoint import Checkpoint, identity
from keras_dml.evaluation._robustness_result import AttackResult, Robustness
from keras_dml.progress import track

HEADS = ("sim", "dol")


def robustness(
    model, x, y, attacks, *, head="sim", batch_size=256, seed=0, out=None, progress=True
):
    """Accuracy of a classifier under each attack and under the worst of all attacks.

    An example is robust if it is classified correctly when clean and under every restart of every
    attack, so more attacks can only lower the accuracy. Attacks use raw logits in inference mode,
    and the model is not changed. A restart runs only on examples that are still robust.

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
        out: Path of a checkpoint, such as `robustness.npz`, written after each restart. Called
            again with it, `robustness` runs only what is left. None writes nothing.
        progress: Whether to show progress on stderr.

    Returns:
        `Robustness`.

    Raises:
        ValueError: If inputs leave [0, 1], labels are none of the classes, two attacks have one
            name, or `out` holds another experiment.
        ImportError: If an attack needs Foolbox and it is not installed.

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
    heads = {one.source or head for one in attacks} | {head}
    if hasattr(model, "scores"):
        if head not in HEADS:
            raise ValueError(f"`head` must be one of {HEADS}. Received head={head!r}.")
    else:
        if sources := [one.source for one in attacks if one.source]:
            raise ValueError(
                f"`source` of an attack names a head, and a {type(model).__name__} has one output "
                f"only. Received source={sources[0]!r}; leave `source` out."
            )
        head, heads = None, {None}
    batch_size = whole("batch_size", batch_size, minimum=1)
    networks = {one: Network(model, one, batch_size) for one in heads}
    victim = _Victim(networks[head], x, y, batch_size)
    checkpoint = Checkpoint(out, identity(model, x, y, head, seed))
    results = {}
    for attack in attacks:
        state = checkpoint.load(attack, victim.correct)
        source = networks[head if attack.source is None else attack.source]
        while state["restarts"] < attack.restarts:
            _restart(attack, state, source, victim, seed, progress)
            checkpoint.save(attack, state)
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
        logits = np.asarray(ops.convert_to_numpy(self.network.logits(x)))
        if self.y[rows].max() >= logits.shape[1]:
            raise ValueError(
                f"`y` must be class ids from 0 to {logits.shape[1] - 1}. Received "
                f"{int(self.y[rows].max())}."
            )
        return np.argmax(logits, axis=1) == self.y[rows]


def _restart(attack, state, source, victim, seed, progress):
    """Runs one more restart on the examples that are still robust, and updates `state`."""
    start = time.monotonic()
    batches = victim.batches(np.flatnonzero(state["robust"]))
    if progress:
        description = f"{attack.name}, {state['restarts'] + 1} of {attack.restarts}"
        batches = track(batches, description, len(batches))
    for rows in batches:
        if not len(rows):
            continue
        # the same starts for all attacks, so that they differ by their steps and restarts only
        rng = np.random.default_rng([seed, state["restarts"], int(rows[0])])
        adversarial, calls, not_finite = attack.perturb(source, victim.x[rows], victim.y[rows], rng)
        state["robust"][rows] = victim.classifies(adversarial, rows)
        state["calls"] += int(calls)
        state["not_finite"] += int(not_finite)
    state["restarts"] += 1
    state["seconds"] += time.monotonic() - start


def _fraction(mask):
    """Fraction of a mask that is True, and Wilson's 95 % interval."""
    found = stats.binomtest(int(mask.sum()), mask.size).proportion_ci(method="wilson")
    return float(mask.mean()), (float(found.low), float(found.high))


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
