"""What `robustness` gives: accuracy under each attack and in the worst case."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True, eq=False)
class AttackResult:
    """Accuracy of a classifier under one attack.

    Attributes:
        name: Name of the attack, with its number of restarts.
        accuracy: Fraction of examples classified correctly when clean and under every restart.
        interval: Wilson's 95 % interval of the accuracy.
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


@dataclass(frozen=True, eq=False)
class Robustness:
    """Accuracy of a classifier under several attacks.

    Attributes:
        head: Head that was attacked; None for a model with one output.
        clean_accuracy: Fraction of clean examples classified correctly.
        clean_interval: Wilson's 95 % interval of the clean accuracy.
        attacks: `AttackResult` by name of the attack.
        worst_case: Fraction of examples classified correctly under every attack.
        worst_interval: Wilson's 95 % interval of the worst case.
        correct: Booleans of shape `(count,)`, True where the clean example is classified correctly.
        robust: Booleans of the same shape, True where no attack succeeds.
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
        """The figures as columns: clean accuracy, one row per attack, and the worst case.

        Returns:
            Lists by name: `attack`, `accuracy`, `low`, `high`, `calls`, `seconds`, `not_finite`.
        """
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
            counts = [getattr(one, column) for one in self.attacks.values()]
            table[column] = [0, *counts, sum(counts)]
        return table

    def __str__(self):
        table = self.table()
        rows = zip(table["attack"], table["accuracy"], table["low"], table["high"], strict=True)
        count = f"{self.correct.size:,} examples"
        lines = (
            f"{name}: {100 * x:.2f} % [{100 * a:.2f}, {100 * b:.2f}]" for name, x, a, b in rows
        )
        return "\n".join((f"Accuracy on {count}, with 95 % intervals", *lines))
