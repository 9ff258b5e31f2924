"""Computes the accuracy of a classifier with its confidence interval, and compares methods."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.stats import binomtest

IMAGES = "images"
BOOTSTRAP, SEED = 1000, 0
RULE_OF_THREE = 3


@dataclasses.dataclass(frozen=True, eq=False)
class Answers:
    """Answers of a classifier, each of which is correct or wrong.

    Attributes:
        right: Boolean array `(answers,)` that is True for each correct answer.
        groups: Group of each answer, such as the alphabet of a character. With groups, the
            bootstrap resamples groups. Use None if there is one answer per image.
        unit: Plural noun for what the bootstrap resamples, such as `"images"` or `"alphabets"`.
    """

    right: np.ndarray
    groups: np.ndarray | None = None
    unit: str = IMAGES

    @property
    def headline(self) -> dict[str, Any]:
        """Returns the measured part of a card's `headline`."""
        unit = {} if self.groups is None else {"unit": self.unit, self.unit: self._sums()[1].size}
        return {"images": len(self.right), **unit, "rows": self.rows()}

    def rows(self) -> list[dict[str, Any]]:
        """Returns the accuracy with a 95 % confidence interval.

        If the answers have no groups, the interval is the Wilson interval over images. If the
        answers have groups, the interval comes from a bootstrap over groups.
        """
        if self.groups is None:
            test = binomtest(int(self.right.sum()), len(self.right))
            wilson = test.proportion_ci(method="wilson")
            interval = [float(wilson.low), float(wilson.high)]
        else:
            interval = self._bootstrap(self.right)
        return [{"metric": "accuracy", "value": float(self.right.mean()), "ci95": interval}]

    def baselines(self, methods: Mapping[str, tuple[Any, ...]]) -> list[dict[str, Any]]:
        """Returns a card's `baselines`.

        Args:
            methods: Dict `{name: (what, kind, right)}`. `what` describes the method. `kind` is a
                kind that `keras_dml.training.pooled.baseline` accepts. `right` is a boolean array
                that says which questions the method answers correctly.
        """
        return [
            {
                "name": name,
                "what": what,
                "kind": kind,
                "rows": dataclasses.replace(self, right=np.asarray(right)).rows(),
                "difference": self._difference(np.asarray(right)),
            }
            for name, (what, kind, right) in methods.items()
        ]

    def _difference(self, right):
        gap = self.right.astype(int) - right
        if gap.any():
            interval = self._bootstrap(gap)
        else:
            most = RULE_OF_THREE / self._sums()[1].size
            interval = [-most, most]
        row = {"metric": "accuracy", "value": float(gap.mean()), "ci95": interval}
        return row if self.groups is not None else {**row, "mcnemar_p": _mcnemar(gap)}

    def _sums(self, values=None):
        """Returns the sum of the values of each group, and the number of answers of each group."""
        groups = np.arange(len(self.right)) if self.groups is None else self.groups
        codes = np.unique(groups, return_inverse=True)[1]
        values = self.right if values is None else values
        return np.bincount(codes, weights=values), np.bincount(codes)

    def _bootstrap(self, values):
        """Returns the interval of the mean of `values`, by a bootstrap over the groups."""
        sums, counts = self._sums(values)
        rng, size = np.random.default_rng(SEED), sums.size
        drawn = [rng.integers(size, size=size) for _ in range(BOOTSTRAP)]
        means = [sums[rows].sum() / counts[rows].sum() for rows in drawn]
        return np.percentile(means, [2.5, 97.5]).tolist()


def _mcnemar(gap):
    """Returns the two-sided p-value of McNemar's exact test.

    Args:
        gap: Array with a number for each answer: 1 if only the first method is right, -1 if only
            the second method is right, and 0 otherwise.
    """
    first, second = int(np.sum(gap > 0)), int(np.sum(gap < 0))
    return float(binomtest(first, first + second).pvalue) if first + second else 1.0
