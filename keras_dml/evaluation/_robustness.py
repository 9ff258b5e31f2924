"""Computes the accuracy of a classifier under adversarial attacks. An interrupted run resumes from
a checkpoint."""

from __future__ import annotations

import functools
import hashlib
import json
import pathlib
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

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
        accuracy: Fraction of the examples that are classified correctly without an attack and
            after every restart of the attack.
        interval: 95 % Wilson confidence interval of the accuracy.
        robust: Booleans of shape `(count,)`. A boolean is True if its example is classified
            correctly without an attack and after every restart.
        calls: Number of gradients or queries that the attack computed.
        seconds: Time for all restarts, in seconds.
        not_finite: Number of gradient entries that were not finite and were set to 0. If many
            entries were not finite, the attack could not follow the gradient.
    """

    name: str
    accuracy: float
    interval: tuple[float, float]
    robust: np.ndarray = field(repr=False)
    calls: int
    seconds: float
    not_finite: int

    def __str__(self) -> str:
        return _line(self.name, self.accuracy, self.interval)


@dataclass(frozen=True, eq=False)
class Robustness:
    """Accuracy of a classifier under several attacks. Printing the result shows one line for each
    attack.

    Attributes:
        head: Classification head that was attacked. None for a model with one output.
        clean_accuracy: Fraction of the examples that are classified correctly without an attack.
        clean_interval: 95 % Wilson confidence interval of `clean_accuracy`.
        attacks: Dict that maps the name of each attack to its `AttackResult`.
        worst_case: Fraction of the examples that are classified correctly under every attack.
        worst_interval: 95 % Wilson confidence interval of `worst_case`.
        correct: Booleans of shape `(count,)`. A boolean is True if its example is classified
            correctly without an attack.
        robust: Booleans of shape `(count,)`. A boolean is True if its example is classified
            correctly without an attack and under every attack.
    """

    head: str | None
    clean_accuracy: float
    clean_interval: tuple[float, float]
    attacks: dict[str, AttackResult]
    worst_case: float
    worst_interval: tuple[float, float]
    correct: np.ndarray = field(repr=False)
    robust: np.ndarray = field(repr=False)

    def table(self) -> dict[str, list[Any]]:
        """Returns a table of accuracies, with a row for the clean accuracy, one row for each
        attack, and a row for the worst case.

        Returns:
            Dict that maps the name of each column to a list. The columns are `attack`, `accuracy`,
            `low`, `high`, `calls`, `seconds` and `not_finite`.
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

    def __str__(self) -> str:
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
    attacks: Sequence[Any],
    *,
    head: str = "sim",
    batch_size: int = 256,
    seed: int = 0,
    out: Path | None = None,
    progress: bool = True,
) -> Robustness:
    """Computes the accuracy of a classifier under each attack, and the fraction of examples that
    withstand all attacks.

    An example is robust if it is classified correctly without an attack and after every restart of
    every attack. Additional attacks can therefore only lower the accuracy. Attacks use raw logits
    in inference mode and do not change the model. A restart attacks only the examples that are
    still classified correctly after all earlier restarts of the same attack.

    If only a few attacks are run, the accuracy under these attacks overestimates the robust
    accuracy. For a reliable estimate, combine five attacks: APGD on the cross-entropy, APGD on the
    margin from several starts, `TargetedAPGD`, `Square`, and transfer attacks from other heads of
    the model. `Square` needs no gradients. AutoAttack (Croce2020) is a similar combination.

    Args:
        model: A `PrototypicalClassifier`, or a `keras.Model` whose output is logits of shape
            `(batch, classes)`. The model takes inputs in [0, 1] and standardizes them itself.
        x: Inputs, shape `(count, ...)`, in [0, 1].
        y: Class ids, shape `(count,)`.
        attacks: List of attacks from `keras_dml.evaluation.attacks`, with different names.
        head: Head that is attacked and evaluated, `"sim"` or `"dol"`. `head` is ignored if the
            model has one output.
        batch_size: Number of examples that are attacked at once.
        seed: Seed of the random starts. A resumed run draws the same random starts as a run without
            interruption.
        out: Path of a checkpoint file, such as `robustness.npz`, that is written every 20 seconds.
            If the file exists, the call resumes the run that wrote it. Default: no file.
        progress: Whether to show progress on stderr.

    Returns:
        `Robustness`.

    Raises:
        ValueError: If an input is outside [0, 1], if labels are not class ids, if two attacks have
            the same name, or if `out` belongs to another experiment.

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
            "`attacks` is empty. Pass at least one attack from `keras_dml.evaluation.attacks`, "
            "such as `FGSM(epsilon=0.1)`."
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
    """Attacked network and the examples on which the network is evaluated.

    Args:
        network: `Network` that is attacked.
        x: Inputs, shape `(count, ...)`.
        y: Class ids, shape `(count,)`.
        batch_size: Largest number of examples in a batch.
    """

    def __init__(self, network, x, y, batch_size):
        self.network, self.x, self.y, self.batch_size = network, x, y, batch_size
        batches = self.batches(np.arange(len(x)))
        self.correct = np.concatenate([self.classifies(x[rows], rows) for rows in batches])

    def batches(self, rows):
        """Splits row indices into batches."""
        return np.split(rows, range(self.batch_size, len(rows), self.batch_size))

    def classifies(self, x, rows):
        """Returns whether the network classifies each input correctly.

        If two logits are equal, the lower class id is predicted.

        Args:
            x: Inputs, shape `(len(rows), ...)`.
            rows: Index of the example from which each input was made.
        """
        logits = self.network.logits(x)
        if self.y[rows].max() >= logits.shape[1]:
            raise ValueError(
                f"`y` must be class ids from 0 to {logits.shape[1] - 1}. Received "
                f"{int(self.y[rows].max())}."
            )
        return np.argmax(logits, axis=1) == self.y[rows]


def _restart(attack, state, victim, seed, checkpoint, progress):
    """Runs one restart of an attack on the remaining examples, in batches, and updates `state`."""
    start = time.monotonic()
    batches = victim.batches(np.flatnonzero(state["pending"]))
    if progress:
        description = f"{attack.name}, {state['restarts'] + 1} of {attack.restarts}"
        batches = track(batches, description, len(batches))
    for rows in batches:
        if not len(rows):
            continue
        # all attacks start from the same random points, so that they differ only in steps and
        # restarts
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
    """Returns the fraction of entries of a mask that are True, and the 95 % Wilson interval of this
    fraction."""
    interval = stats.binomtest(int(mask.sum()), mask.size).proportion_ci(method="wilson")
    return float(mask.mean()), (float(interval.low), float(interval.high))


def _checked_head(model, head, attacks):
    """Checks the heads and returns the attacked head, or None for a model with one output."""
    sources = [attack.source for attack in attacks if attack.source is not None]
    if not hasattr(model, "head_scores"):
        if sources:
            raise ValueError(
                f"Received an attack with source={sources[0]!r}, which names a head. A "
                f"{type(model).__name__} has only one output. Leave `source` out."
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
            f"Received `attacks` in which these names occur more than once: {twice}. Names of "
            "attacks must differ. Evaluate attacks with the same name in separate calls."
        )


def _checked(x, y):
    x, y = real("`x`", x), real("`y`", y)
    if not np.issubdtype(x.dtype, np.floating) or not len(x):
        raise ValueError(
            f"Received `x` of dtype {x.dtype} and shape {x.shape}. Expected floats in [0, 1] and "
            "at least one example. Divide gray levels by 255."
        )
    if not (x.min() >= 0 and x.max() <= 1):
        raise ValueError(
            f"`x` must lie in [0, 1]. Received values from {x.min():g} to {x.max():g}. If the "
            "model needs standardized inputs, add a standardization layer to the model."
        )
    if y.shape != (len(x),) or not np.issubdtype(y.dtype, np.integer) or y.min() < 0:
        raise ValueError(
            f"Received `y` of dtype {y.dtype} and shape {y.shape}. Expected integers of at least "
            f"0, one class id for each example, shape ({len(x)},)."
        )
    return x.astype(np.float32), y.astype(np.int64)


class Network:
    """Model in inference mode that computes logits and gradients for attacks on one of its heads.

    If the weights of the model change after the first call, the results do not change. Batches are
    padded to `batch_size` rows or to a power of two, so that few shapes are compiled.

    Args:
        model: A model with `embed(x)` and `head_scores(z, head)`, or a model whose output is
            logits.
        head: Attacked head, `"sim"` or `"dol"`. None for a model with one output.
        batch_size: Largest number of rows in a call.
    """

    def __init__(self, model: keras.Model, head: str | None, batch_size: int) -> None:
        self.model = model
        self.head = head
        self.batch_size = batch_size
        self._logits = compiled(lambda x: self._scores(x, head)[0])
        self._gradients = {}

    def logits(self, x: np.ndarray) -> np.ndarray:
        """Returns raw logits of a batch as a NumPy array of shape `(count, classes)`."""
        return np.asarray(self._logits(self._padded(x)))[: len(x)]

    def margins(self, x: np.ndarray, y: ArrayLike) -> np.ndarray:
        """Returns the margin of each input as a NumPy array of shape `(count,)`. The margin is
        above 0 if the input is misclassified."""
        return np.array(robust.margin(np.asarray(y, np.int32), self.logits(x)))

    def gradient(
        self,
        x: np.ndarray,
        y: ArrayLike,
        loss: Any,
        *,
        source: Any = None,
        probabilities: bool = False,
        targets: Any = None,
    ) -> tuple[np.ndarray, ...]:
        """Computes the loss and the margin of each example, and the gradient of the loss.

        Entries of the gradient that are not finite are set to 0.

        Args:
            x: Inputs, shape `(count, ...)`.
            y: Class ids, shape `(count,)`.
            loss: Name of the loss, one of `LOSSES`.
            source: Head whose outputs are used to compute the loss, one of `SOURCES`. The default
                is the attacked head.
            probabilities: Whether to pass probabilities instead of logits to the loss.
            targets: Target class ids, shape `(count,)`. If `targets` is passed, the loss is the
                targeted DLR (difference of logits ratio) instead of `loss`.

        Returns:
            Tuple `(values, gradient, margins, not_finite)`. `values` are the losses, a NumPy array
            of shape `(count,)`. `gradient` has the shape of `x`. `margins` are the margins of the
            attacked head, shape `(count,)`. `not_finite` is the number of gradient entries that
            were not finite.
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
        """Computes loss values, gradients, and margins of the attacked head in one pass."""

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
        """Computes the logits of several heads from one forward pass."""
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
    """Checkpoint file that stores the progress of each attack, so that an interrupted run can
    resume.

    The file is written atomically.

    Args:
        path: Path of the `.npz` file. None stores nothing.
        digest: Result of `_digest` for the model, the examples, the attacked head and the seed.

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
            raise ValueError(f"{self.path} is damaged ({error}). Delete the file.") from error
        if stored != digest:
            raise ValueError(
                f"{self.path} was written for another model, other examples, another head or "
                "another seed. Delete the file, or pass another path as `out`."
            )

    def load(self, attack, correct):
        """Returns the stored state of an attack, or the initial state if no state is stored.

        Args:
            attack: Attack from `keras_dml.evaluation.attacks`.
            correct: Booleans of shape `(count,)`. A boolean is True if its example is classified
                correctly without an attack.

        Returns:
            Dict with the boolean arrays `robust` and `pending`, each of shape `(count,)`, and the
            numbers `restarts`, `calls`, `seconds` and `not_finite`. `pending` is True for examples
            that the current restart has not attacked yet.
        """
        name = repr(attack)
        if name not in self.arrays:
            counts = {"restarts": 0, "calls": 0, "seconds": 0.0, "not_finite": 0}
            return {**{mask: correct.copy() for mask in MASKS}, **counts}
        counts = json.loads(str(self.arrays[f"counts of {name}"]))
        return {**dict(zip(MASKS, self.arrays[name].copy(), strict=True)), **counts}

    def save(self, attack, state):
        """Stores the state of an attack (see `load`)."""
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
