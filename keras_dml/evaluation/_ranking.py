"""Figures of one ranking: closed-form means over all orders of tied entries.

Entries at one distance are a group of `size` entries, `hits` of them relevant, with `before`
entries strictly nearer, `hits_before` of them relevant. At rank k within the group, k - before of
its entries are drawn, and each order of them is as likely as any other.
"""

from __future__ import annotations

import numpy as np

STRIDE = 16  # stride of the sample that bounds the nearest distances


def ranking_figures(hits, starts, total, ks):
    """Recall at each k, MAP@R and R-precision of one query.

    Args:
        hits: Booleans, shape `(ranks,)`: whether the entry at each rank is relevant. There are at
            least as many ranks as `total` and the largest of `ks`.
        starts: First rank, counted from 0, of each group of tied entries, shape `(groups,)`; no
            group is cut off.
        total: R, the number of relevant entries to be ranked, at least 1.
        ks: Ranks for recall, none beyond the number of entries to be ranked.

    Returns:
        List of `len(ks) + 2` floats.
    """
    size = np.diff(starts, append=len(hits))
    group = np.repeat(np.arange(len(size)), size)  # of each rank from 1 on
    before, hits = starts, np.add.reduceat(hits.astype(np.int64), starts)  # (groups,)
    hits_before = np.cumsum(hits) - hits
    recalls = [
        1.0 if hits_before[g] else 1.0 - _chance_of_none(size[g], hits[g], k - before[g])
        for k, g in ((k, group[k - 1]) for k in ks)
    ]
    ranks, at = np.arange(1, total + 1), group[:total]
    chance = hits[at] / size[at]  # chance that the entry at a rank is relevant
    others = (ranks - before[at] - 1) * (hits[at] - 1) / np.maximum(size[at] - 1, 1)
    average = np.sum(chance * (hits_before[at] + 1 + others) / ranks) / total
    end = at[-1]
    precision = (hits_before[end] + (total - before[end]) * chance[-1]) / total
    return [*recalls, average, precision]


def in_order(distances, count):
    """Indices of the `count` nearest and of all tied with the last of them, nearest first,
    ties by index."""
    near = nearest(distances, count)
    return near[np.argsort(distances[near], kind="stable")]


def group_starts(ordered):
    """Start of each run of equal values in sorted values, shape `(groups,)`."""
    return np.flatnonzero(np.diff(ordered, prepend=-np.inf))


def nearest(distances, count):
    """Indices, ascending, of the `count` nearest and of all tied with the last of them.

    A sample bounds the distances to partition, which takes a fifth of the time for 100,000 of them.
    Where the bound is too low, all are partitioned.
    """
    sample = distances[::STRIDE]
    at = min(2 * count // STRIDE + STRIDE, len(sample) - 1)
    near = np.flatnonzero(distances <= np.partition(sample, at)[at])
    if len(near) < count:
        near = np.arange(len(distances))
    values = distances[near]
    return near[values <= np.partition(values, count - 1)[count - 1]]


def _chance_of_none(size, hits, drawn):
    """C(size - hits, drawn) / C(size, drawn), as a product of `drawn` ratios."""
    left = size - np.arange(drawn)
    return np.prod(np.maximum(left - hits, 0) / left)
