"""Accuracy of a classifier under adversarial attacks, with its results and checkpoints."""

from __future__ import annotations

import functools
import hashlib
import json
import pathlib
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy import stats

from keras_dml._arrays import real, whole
from keras_dml._backend import keras, ops
from keras_dml._backend.gradients import compiled, value_and_gradient
from keras_dml._files import staged
from keras_dml._typing import ArrayLike, Path
from keras_dml.geometry import vector
from keras_dml.losses import robust
from keras_dml.progress import track

SECONDS_BETWEEN_CHECKPOINTS = 20.0
HEADS = ("sim", "dol")
SOURCES = (*HEADS, "cosine")
LOSSES = {"cross_entropy": robust.cross_entropy, "margin": robust.margin, "dlr": robust.dlr}
SMALLEST_BATCH = 32
MASKS = ("robust", "pending")


@dataclass(frozen=True, eq=False)
class AttackResult:
    """Accuracy of a classifier under one attack.

    Attributes:
        name: Name of the attack, with its number of restarts.
        accuracy: Fraction of examples classified correctly when clean and under every restart.
        interval: 95 % Wilson interval of the accuracy.
        robust: Booleans of shape `(count,)`, True for these examples.
        calls: Number of gradients, or queries, computed.
        seconds: Time for all restarts.
        not_finite: Number of gradient entries that were not finite and were set to 0. More than a
            few mean that the attack had no gradient to follow.
    """

    name: str
    accuracy: float
    interval: tuple[float, float]
    robust: np.ndarray = field(repr=False)
    calls: int
    seconds: float
    not_finite: int

    def __str__(self):
        return _line(self.name, self.accuracy, self.interval)


@dataclass(frozen=True, eq=False)
class Robustness:
    """Accuracy of a classifier under several attacks; prints as a line for each attack.

    Attributes:
        head: Head that was attacked; None for a model with one output.
        clean_accuracy: Fraction of clean examples classified correctly.
        clean_interval: 95 % Wilson interval of the clean accuracy.
        attacks: `AttackResult` by name of the attack.
        worst_case: Fraction of examples classified correctly under every attack.
        worst_interval: 95 % Wilson interval of the worst case.
        correct: Booleans of shape `(count,)`, True if the clean example is classified correctly.
        robust: Booleans of the same shape, True if no attack succeeds.
    """

    head: str | None
    clean_accuracy: float
    clean_interval: tuple[float, float]
    attacks: dict[str, AttackResult]
    worst_case: float
    worst_interval: tuple[float, float]
    correct: np.ndarray = field(repr=False)
    robust: np.ndarray = field(repr=False)

    def table(self) -> dict[str, list]:
        """Returns the figures as columns: clean accuracy, one row per attack, and the worst case.

        Returns:
            Lists by name: `attack`, `accuracy`, `low`, `high`, `calls`, `seconds`, `not_finite`.
        """
        results = self.attacks.values()
        rows = [
            ("clean", self.clean_accuracy, self.clean_interval),
            *((result.name, result.accuracy, result.interval) for result in results),
            ("worst case", self.worst_case, self.worst_interval),
        ]
        table = {
            "attack": [name for name, *_ in rows],
            "accuracy": [value for _, value, _ in rows],
            "low": [low for *_, (low, _) in rows],
            "high": [high for *_, (_, high) in rows],
        }
        for column in ("calls", "seconds", "not_finite"):
            counts = [getattr(result, column) for result in results]
            table[column] = [0, *counts, sum(counts)]
        return table

    def __str__(self):
        table = self.table()
        rows = zip(table["attack"], table["accuracy"], table["low"], table["high"], strict=True)
        count = f"{self.correct.size:,} examples"
        lines = (_line(name, accuracy, bounds) for name, accuracy, *bounds in rows)
        return "\n".join((f"Accuracy on {count}, with 95 % intervals", *lines))


def _line(name, accuracy, bounds):
    return f"{name}: {100 * accuracy:.2f} % [{100 * bounds[0]:.2f}, {100 * bounds[1]:.2f}]"


def robustness(
    model: keras.Model,
    x: ArrayLike,
    y: ArrayLike,
    attacks: Sequence,
    *,
    head: str = "sim",
    batch_size: int = 256,
    seed: int = 0,
    out: Path | None = None,
    progress: bool = True,
) -> Robustness:
    """Computes the accuracy of a classifier under each attack and under the union of all attacks.

    An example is robust if it is classified correctly when clean and under every restart of every
    attack. One successful attack breaks an example, so more attacks can only lower the accuracy.
    Attacks use raw logits in inference mode, and the model is not changed. A restart runs only on
    examples that are still robust under its attack.

    The union of a few attacks overestimates the robust accuracy. For a figure to rely on, combine
    APGD on the cross-entropy, APGD on the margin from several starts, `TargetedAPGD`, transfer from
    the other heads, and `Square`, which needs no gradients. AutoAttack is such a combination
    (Croce2020).

    Args:
        model: A `PrototypicalClassifier`, or any `keras.Model` whose output is logits, shape
            `(batch, classes)`. Inputs lie in [0, 1]; standardization is inside the model.
        x: Inputs, shape `(count, ...)`, in [0, 1].
        y: Class ids, shape `(count,)`.
        attacks: List of attacks from `keras_dml.evaluation.attacks`, with different names.
        head: Head that is attacked and evaluated, `"sim"` or `"dol"`; ignored for a model with one
            output.
        batch_size: Number of examples attacked at once.
        seed: Seed of the random starts. A resumed run draws the same starts.
        out: Path of a checkpoint, such as `robustness.npz`, written every 20 seconds. A call with
            the path of an earlier run continues that run. None writes no file.
        progress: Whether to show progress on stderr.

    Returns:
        `Robustness`.

    Raises:
        ValueError: If inputs leave [0, 1], labels are not class ids, two attacks have the same
            name, or `out` contains another experiment.

    Example:
        >>> import keras
        >>> model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(2, use_bias=False)])
        >>> model.set_weights([np.eye(2)])
        >>> x = np.array([[0.9, 0.1], [0.6, 0.5]], "float32")
        >>> fgsm = keras_dml.evaluation.attacks.FGSM(epsilon=0.1)
        >>> result = robustness(model, x, [0, 0], [fgsm], progress=False)
        >>> result.clean_accuracy, result.worst_case
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
    checkpoint = _Checkpoint(out, _digest(model, x, y, head, seed))
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
    is_robust = np.logical_and.reduce([correct, *(result.robust for result in results.values())])
    return Robustness(head, *_fraction(correct), results, *_fraction(is_robust), correct, is_robust)


class _Victim:
    """Attacked head and the examples on which it is evaluated.

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
        """Splits rows into batches."""
        return np.split(rows, range(self.batch_size, len(rows), self.batch_size))

    def classifies(self, x, rows):
        """Returns whether each input gets the label of its row; the lowest class wins a tie."""
        logits = self.network.logits(x)
        if self.y[rows].max() >= logits.shape[1]:
            raise ValueError(
                f"`y` must be class ids from 0 to {logits.shape[1] - 1}. Received "
                f"{int(self.y[rows].max())}."
            )
        return np.argmax(logits, axis=1) == self.y[rows]


def _restart(attack, state, victim, seed, checkpoint, progress):
    """Runs the rest of a restart on the examples that are still robust, and updates `state`."""
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
    """Returns the fraction of a mask that is True, and its 95 % Wilson interval."""
    interval = stats.binomtest(int(mask.sum()), mask.size).proportion_ci(method="wilson")
    return float(mask.mean()), (float(interval.low), float(interval.high))


def _checked_head(model, head, attacks):
    """Checks the heads and returns the attacked head, or None for a model with one output."""
    sources = [attack.source for attack in attacks if attack.source is not None]
    if not hasattr(model, "head_scores"):
        if sources:
            raise ValueError(
                f"`source` of an attack names a head, and a {type(model).__name__} has one output "
                f"only. Received source={sources[0]!r}; leave `source` out."
            )
        return None
    for name, values, allowed in (("head", [head], HEADS), ("source", sources, SOURCES)):
        if unknown := [value for value in values if value not in allowed]:
            raise ValueError(f"`{name}` must be one of {allowed}. Received {name}={unknown[0]!r}.")
    return head


def _check_names(attacks):
    names = [attack.name for attack in attacks]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(
            f"`attacks` must have different names. These come twice: {twice}. Evaluate attacks "
            "with the same name in separate calls."
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
            f"`x` must lie in [0, 1]. Received values from {x.min():g} to {x.max():g}. "
            "Standardization belongs inside the model."
        )
    if y.shape != (len(x),) or not np.issubdtype(y.dtype, np.integer) or y.min() < 0:
        raise ValueError(
            f"`y` must be one class id per example, integers from 0, shape ({len(x)},). Received "
            f"{y.dtype} of shape {y.shape}."
        )
    return x.astype(np.float32), y.astype(np.int64)


class Network:
    """Model in inference mode, one head of which is attacked.

    The weights are those at the first call. Batches are padded to a power of two rows or to
    `batch_size`, so that few shapes are compiled.

    Args:
        model: A model with `embed(x)` and `head_scores(z, head)`, or a model whose output is
            logits.
        head: The attacked head, `"sim"` or `"dol"`; None for a model with one output.
        batch_size: Largest number of rows in a call.
    """

    def __init__(self, model, head, batch_size):
        self.model, self.head, self.batch_size = model, head, batch_size
        self._logits = compiled(lambda x: self._scores(x, head)[0])
        self._gradients = {}

    def logits(self, x):
        """Returns raw logits of a batch, NumPy of shape `(count, classes)`."""
        return np.asarray(self._logits(self._padded(x)))[: len(x)]

    def margins(self, x, y):
        """Returns margins, NumPy of shape `(count,)`; above 0 if the input is misclassified."""
        return np.array(robust.margin(np.asarray(y, np.int32), self.logits(x)))

    def gradient(self, x, y, loss, *, source=None, probabilities=False, targets=None):
        """Computes the loss of each example, its gradient in the inputs, and the margin.

        Entries of the gradient that are not finite are set to 0.

        Args:
            x: Inputs, shape `(count, ...)`.
            y: Class ids, shape `(count,)`.
            loss: Name in `LOSSES`.
            source: Head whose loss is used, one of `SOURCES`; None: the attacked head.
            probabilities: Whether to pass probabilities to the loss in place of logits.
            targets: Class ids, shape `(count,)`, for the targeted DLR in place of `loss`.

        Returns:
            Values, shape `(count,)`; gradient, of the shape of `x`; margins of the attacked head,
            shape `(count,)`; number of entries of the gradient that were not finite. All NumPy.
        """
        key = (loss, source or self.head, probabilities, targets is not None)
        if key not in self._gradients:
            self._gradients[key] = compiled(functools.partial(self._gradient, *key))
        arguments = (
            x,
            np.asarray(y, np.int32),
            np.asarray(y if targets is None else targets, np.int32),
        )
        outputs = self._gradients[key](*map(self._padded, arguments))
        values, gradient, margins = (np.asarray(output)[: len(x)] for output in outputs)
        finite = np.isfinite(gradient)
        if finite.all():
            return values, gradient, margins, 0
        return values, np.where(finite, gradient, 0), margins, int(np.sum(~finite))

    def _gradient(self, loss, source, probabilities, targeted, x, y, targets):
        """Computes values, gradient, and margins of the attacked head in one pass."""

        def loss_values(x):
            attacked, scores = self._scores(x, self.head, source)
            margins = robust.margin(y, attacked)
            if probabilities:
                scores = ops.softmax(scores, axis=1)
            if targeted:
                return robust.targeted_dlr(y, targets, scores), margins
            return LOSSES[loss](y, scores), margins

        (values, margins), gradient = value_and_gradient(loss_values, x, has_aux=True)
        return values, gradient, margins

    def _scores(self, x, *heads):
        """Computes the logits of heads on one embedding."""
        if self.head is None:
            return [self.model(x, training=False)] * len(heads)
        z = self.model.embed(x)
        return [self._head_scores(z, head) for head in heads]

    def _head_scores(self, z, head):
        if head == "cosine":
            return vector.cosine(z, ops.convert_to_tensor(self.model.prototypes_layer.prototypes))
        return self.model.head_scores(z, head)

    def _padded(self, values):
        rows = len(values)
        size = max(min(self.batch_size, SMALLEST_BATCH), 1 << (rows - 1).bit_length())
        size = max(rows, min(self.batch_size, size))
        padding = [(0, size - rows)] + [(0, 0)] * (np.ndim(values) - 1)
        return ops.convert_to_tensor(np.pad(values, padding))


class _Checkpoint:
    """Progress of each attack in a file, so that finished work is not repeated.

    The file is written atomically.

    Args:
        path: Path of the file, `.npz`; None stores nothing.
        digest: Digest of the experiment, see `_digest`.

    Raises:
        ValueError: If the file is damaged, or belongs to another experiment.
    """

    def __init__(self, path, digest):
        self.path = None if path is None else pathlib.Path(path)
        self.arrays = {"identity": np.array(digest)}
        if self.path is None or not self.path.exists():
            return
        try:
            with np.load(self.path, allow_pickle=False) as file:
                self.arrays = {name: file[name] for name in file.files}
            stored = str(self.arrays["identity"])
        except (KeyError, OSError, ValueError) as error:
            raise ValueError(f"{self.path} is damaged ({error}). Delete it.") from error
        if stored != digest:
            raise ValueError(
                f"{self.path} belongs to another model, other examples, another head or another "
                "seed. Delete it, or give another `out`."
            )

    def load(self, attack, correct):
        """Returns the stored state of an attack, or its initial state.

        Args:
            attack: One of `keras_dml.evaluation.attacks`.
            correct: Booleans of shape `(count,)`, True if the clean example is classified
                correctly.

        Returns:
            A dict of `robust` and `pending`, booleans of shape `(count,)`; `pending` are the
            examples that the present restart has not attacked yet. The dict also has the counts
            `restarts`, `calls`, `seconds` and `not_finite`.
        """
        name = repr(attack)
        if name not in self.arrays:
            counts = {"restarts": 0, "calls": 0, "seconds": 0.0, "not_finite": 0}
            return {**{mask: correct.copy() for mask in MASKS}, **counts}
        counts = json.loads(str(self.arrays[f"counts of {name}"]))
        return {**dict(zip(MASKS, self.arrays[name].copy(), strict=True)), **counts}

    def save(self, attack, state):
        """Stores the state of an attack, see `load`."""
        if self.path is None:
            return
        name = repr(attack)
        counts = {key: value for key, value in state.items() if key not in MASKS}
        self.arrays[name] = np.stack([state[mask] for mask in MASKS])
        self.arrays[f"counts of {name}"] = np.array(json.dumps(counts))
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with staged(self.path) as candidate, candidate.open("wb") as file:
            np.savez_compressed(file, **self.arrays)


def _digest(model, x, y, head, seed):
    """Computes a digest of the model's weights, the examples, the attacked head and the seed."""
    digest = hashlib.sha256(f"{head} {seed} {x.shape}".encode())
    for array in (x, y, *model.get_weights()):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
