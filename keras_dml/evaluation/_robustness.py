"""How often a classifier is right when its inputs are attacked."""

from __future__ import annotations

import hashlib
import json
import pathlib
import time
from dataclasses import dataclass, field

import numpy as np
from scipy import stats

from keras_dml._arrays import real, whole
from keras_dml._backend import ops
from keras_dml._files import staged
from keras_dml.evaluation._attacked import Network
from keras_dml.progress import track

HEADS = ("sim", "dol")


@dataclass(frozen=True, eq=False)
class AttackResult:
    """What one attack left.

    Attributes:
        name: Of the attack, restarts told.
        accuracy: Share of examples that are right when clean and under every restart.
        interval: Wilson's 95 % interval of it.
        robust: Which ones these are, booleans of shape `(count,)`.
        calls: Gradients, or queries, that were computed.
        seconds: For all of it.
        not_finite: Entries of gradients that were not finite, which count as 0; above a few they
            mean that the attack was blind.
    """

    name: str
    accuracy: float
    interval: tuple[float, float]
    robust: np.ndarray = field(repr=False)
    calls: int
    seconds: float
    not_finite: int


@dataclass(frozen=True, eq=False)
class Robustness:
    """What several attacks left of a classifier.

    Attributes:
        head: The head that was attacked; None for a model with one answer.
        clean_accuracy: Share of examples that are right as they are.
        clean_interval: Wilson's 95 % interval of it.
        attacks: `AttackResult` by name.
        worst_case: Share of examples that are right under every attack.
        worst_interval: Wilson's 95 % interval of it.
        correct: Which ones are right when clean, booleans of shape `(count,)`.
        robust: Which ones are right under every attack, same shape.
    """

    head: str | None
    clean_accuracy: float
    clean_interval: tuple[float, float]
    attacks: dict[str, AttackResult]
    worst_case: float
    worst_interval: tuple[float, float]
    correct: np.ndarray = field(repr=False)
    robust: np.ndarray = field(repr=False)

    def table(self):
        """Columns `attack`, `accuracy`, `low`, `high`, `calls`, `seconds`, `not_finite`: the clean
        row, one an attack, and the worst case."""
        ends = (("clean", self.clean_accuracy, self.clean_interval),)
        attacked = [(one.name, one.accuracy, one.interval) for one in self.attacks.values()]
        rows = [*ends, *attacked, ("worst case", self.worst_case, self.worst_interval)]
        table = {
            "attack": [name for name, *_ in rows],
            "accuracy": [value for _, value, _ in rows],
            "low": [low for *_, (low, _) in rows],
            "high": [high for *_, (_, high) in rows],
        }
        for column in ("calls", "seconds", "not_finite"):
            told = [getattr(one, column) for one in self.attacks.values()]
            table[column] = [0, *told, sum(told)]
        return table

    def __str__(self):
        table = self.table()
        rows = zip(table["attack"], table["accuracy"], table["low"], table["high"], strict=True)
        count = f"{self.correct.size:,} examples"
        lines = (
            f"{name}: {100 * x:.2f} % [{100 * a:.2f}, {100 * b:.2f}]" for name, x, a, b in rows
        )
        return "\n".join((f"Right, of {count}, with 95 % intervals", *lines))


def robustness(
    model, x, y, attacks, *, head="sim", batch_size=256, seed=0, out=None, progress=True
):
    """Accuracy of a classifier under attacks, each one alone and the worst case of all.

    An example counts as robust that is right when clean and under every restart of every attack, so
    more attacks can only lower the figure. Attacks are made against raw logits in inference mode;
    nothing of the model is changed. A restart is spent only on what the ones before it left.

    Args:
        model: A `PrototypicalClassifier`, or any `keras.Model` whose answer is logits, shape
            `(batch, classes)`. Inputs lie in [0, 1]; standardization is inside the model.
        x: Inputs, shape `(count, ...)`, in [0, 1].
        y: Class ids, shape `(count,)`.
        attacks: List of those of `keras_dml.evaluation.attacks`, of different names.
        head: Which head is attacked and judged, `"sim"` or `"dol"`; no matter for a model with one
            answer.
        batch_size: Examples that are attacked at once.
        seed: Of the random starts; a resumption changes none of them.
        out: File, such as `robustness.npz`, that keeps what is done after each restart; given
            again, only the rest is run. None: nothing is kept.
        progress: Whether progress is told on stderr.

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
                f"`source` of an attack names a head, and a {type(model).__name__} has one answer "
                f"only. Received source={sources[0]!r}; make the attack without."
            )
        head, heads = None, {None}
    batch_size = whole("batch_size", batch_size, least=1)
    networks = {one: Network(model, one, batch_size) for one in heads}
    judge = _Judge(networks[head], x, y, batch_size)
    kept = _Kept(out, _identity(model, x, y, head, seed))
    results = {}
    for attack in attacks:
        state = kept.find(attack, judge.correct)
        source = networks[head if attack.source is None else attack.source]
        while state["restarts"] < attack.restarts:
            _restart(attack, state, source, judge, seed, progress)
            kept.put(attack, state)
        results[attack.name] = AttackResult(
            attack.name,
            *_share(state["robust"]),
            *(state[name] for name in ("robust", "calls", "seconds", "not_finite")),
        )
    robust = np.logical_and.reduce([judge.correct, *(one.robust for one in results.values())])
    return Robustness(head, *_share(judge.correct), results, *_share(robust), judge.correct, robust)


class _Judge:
    """Who is right: the examples, and the head that is asked.

    Args:
        network: A `Network`.
        x: Inputs, shape `(count, ...)`.
        y: Class ids, shape `(count,)`.
        batch_size: Rows of a call.
    """

    def __init__(self, network, x, y, batch_size):
        self.network, self.x, self.y, self.batch_size = network, x, y, batch_size
        everyone = np.arange(len(x))
        self.correct = np.concatenate(
            [self.right(x[rows], rows) for rows in self.batches(everyone)]
        )

    def batches(self, rows):
        """Rows, some at a time."""
        return np.split(rows, range(self.batch_size, len(rows), self.batch_size))

    def right(self, x, rows):
        """Which of some inputs get the label of their row; the lowest class wins a tie."""
        logits = np.asarray(ops.convert_to_numpy(self.network.logits(x)))
        if self.y[rows].max() >= logits.shape[1]:
            raise ValueError(
                f"`y` must be class ids from 0 to {logits.shape[1] - 1}. Received "
                f"{int(self.y[rows].max())}."
            )
        return np.argmax(logits, axis=1) == self.y[rows]


def _restart(attack, state, source, judge, seed, progress):
    """One more start on the examples that are left; `state` is changed."""
    start = time.monotonic()
    batches = judge.batches(np.flatnonzero(state["robust"]))
    if progress:
        told = f"{attack.name}, {state['restarts'] + 1} of {attack.restarts}"
        batches = track(batches, told, len(batches))
    for rows in batches:
        if not len(rows):
            continue
        # the same starts for all attacks, so that more steps or restarts are seen alone
        rng = np.random.default_rng([seed, state["restarts"], int(rows[0])])
        twins, calls, not_finite = attack.twins(source, judge.x[rows], judge.y[rows], rng)
        state["robust"][rows] = judge.right(twins, rows)
        state["calls"] += int(calls)
        state["not_finite"] += int(not_finite)
    state["restarts"] += 1
    state["seconds"] += time.monotonic() - start


class _Kept:
    """What is done of an experiment, in a file that is whole or not there.

    Args:
        path: The file; None: nothing is kept.
        identity: Digest of what the experiment is about.
    """

    def __init__(self, path, identity):
        self.path = None if path is None else pathlib.Path(path)
        self.arrays = {"identity": np.array(identity)}
        if self.path is None or not self.path.exists():
            return
        try:
            with np.load(self.path, allow_pickle=False) as found:
                self.arrays = {name: found[name] for name in found.files}
            same = str(self.arrays["identity"]) == identity
        except (KeyError, OSError, ValueError) as error:
            raise ValueError(f"{self.path} is damaged ({error}). Delete it.") from error
        if not same:
            raise ValueError(
                f"{self.path} was made with another model, other examples, another head or seed. "
                "Delete it, or give another `out`."
            )

    def find(self, attack, correct):
        """The state of an attack: who is left, and what it took so far."""
        name = repr(attack)
        if name not in self.arrays:
            counts = {"restarts": 0, "calls": 0, "seconds": 0.0, "not_finite": 0}
            return {"robust": correct.copy(), **counts}
        counts = json.loads(str(self.arrays[f"counts of {name}"]))
        return {"robust": self.arrays[name].copy(), **counts}

    def put(self, attack, state):
        """Keeps the state of an attack."""
        if self.path is None:
            return
        name = repr(attack)
        counts = {key: value for key, value in state.items() if key != "robust"}
        self.arrays[name] = state["robust"].copy()
        self.arrays[f"counts of {name}"] = np.array(json.dumps(counts))
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with staged(self.path) as candidate, candidate.open("wb") as file:
            np.savez_compressed(file, **self.arrays)


def _share(mask):
    """Share of what is true, and Wilson's 95 % interval."""
    found = stats.binomtest(int(mask.sum()), mask.size).proportion_ci(method="wilson")
    return float(mask.mean()), (float(found.low), float(found.high))


def _identity(model, x, y, head, seed):
    digest = hashlib.sha256(f"{head} {seed} {x.shape}".encode())
    for array in (x, y, *model.get_weights()):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


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
