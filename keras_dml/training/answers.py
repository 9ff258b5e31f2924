"""Accuracy of a classifier on images, its interval, and other methods on the same images."""

from __future__ import annotations

import dataclasses

import numpy as np
from scipy.stats import binomtest

IMAGES = "images"
BOOTSTRAP, SEED = 1000, 0
RULE_OF_THREE = 3


@dataclasses.dataclass(frozen=True, eq=False)
class Answers:
    """Which answers of a classifier are right.

    Attributes:
        right: Booleans, shape `(answers,)`.
        groups: What each answer belongs to, such as the alphabet of a character, same shape; with
            it the bootstrap draws groups. None: images, one answer each.
        unit: What is drawn: `"images"`, `"alphabets"`.
    """

    right: np.ndarray
    groups: np.ndarray | None = None
    unit: str = IMAGES

    @property
    def headline(self):
        """The measured part of a card's `headline`."""
        unit = {} if self.groups is None else {"unit": self.unit, self.unit: self._sums()[1].size}
        return {"images": len(self.right), **unit, "rows": self.rows()}

    def rows(self):
        """The accuracy with its 95 % interval: that of Wilson over images, else of the bootstrap
        over groups."""
        if self.groups is None:
            found = binomtest(int(self.right.sum()), len(self.right)).proportion_ci(method="wilson")
            interval = [float(found.low), float(found.high)]
        else:
            interval = self._bootstrap(self.right)
        return [{"metric": "accuracy", "value": float(self.right.mean()), "ci95": interval}]

    def baselines(self, others):
        """A card's `baselines`.

        Args:
            others: `{name: (what, kind, right)}`, with the answers of another method to the same
                questions; kind is one of those of `pooled`.
        """
        return [
            {
                "name": name,
                "what": what,
                "kind": kind,
                "rows": dataclasses.replace(self, right=np.asarray(right)).rows(),
                "difference": self._difference(np.asarray(right)),
            }
            for name, (what, kind, right) in others.items()
        ]

    def _difference(self, right):
        gap = self.right.astype(int) - right
        if gap.any():
            interval = self._bootstrap(gap)
        else:
            most = RULE_OF_THREE / self._sums()[1].size
            interval = [-most, most]
        found = {"metric": "accuracy", "value": float(gap.mean()), "ci95": interval}
        return found if self.groups is not None else {**found, "mcnemar_p": _mcnemar(gap)}

    def _sums(self, values=None):
        """Sum of the values and number of answers in each unit."""
        groups = np.arange(len(self.right)) if self.groups is None else self.groups
        codes = np.unique(groups, return_inverse=True)[1]
        values = self.right if values is None else values
        return np.bincount(codes, weights=values), np.bincount(codes)

    def _bootstrap(self, values):
        """Interval of the mean of values, where units are drawn with replacement."""
        sums, counts = self._sums(values)
        rng, size = np.random.default_rng(SEED), sums.size
        drawn = [rng.integers(size, size=size) for _ in range(BOOTSTRAP)]
        means = [sums[rows].sum() / counts[rows].sum() for rows in drawn]
        return np.percentile(means, [2.5, 97.5]).tolist()


def _mcnemar(gap):
    """The p of McNemar's exact test, two-sided: how likely two methods of the same accuracy are to
    differ by as many answers.

    Args:
        gap: Of each answer 1 where the first method alone is right, -1 where the second alone is, 0
            elsewhere.
    """
    first, second = int(np.sum(gap > 0)), int(np.sum(gap < 0))
    return float(binomtest(first, first + second).pvalue) if first + second else 1.0
