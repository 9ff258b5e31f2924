"""Independent reference implementations of metrics: slow loops written from the definitions."""

import collections
import itertools
import math

import numpy as np


def auc(genuine, imposter):
    """Computes P(genuine < imposter) + P(genuine = imposter) / 2 over all pairs of scores."""
    wins = sum((g < i) + 0.5 * (g == i) for g in genuine for i in imposter)
    return wins / (len(genuine) * len(imposter))


def rates(genuine, imposter, threshold):
    """Computes the false accept rate (FAR) and the false reject rate (FRR) at a threshold by
    counting accepted trials."""
    far = sum(score <= threshold for score in imposter) / len(imposter)
    return far, sum(score > threshold for score in genuine) / len(genuine)


def eer(genuine, imposter):
    """Computes the equal error rate, at which FAR = FRR on the error curve, with a loop over
    thresholds."""
    before = (0.0, 1.0)
    for threshold in sorted({*genuine, *imposter}):
        after = rates(genuine, imposter, threshold)
        if after[0] >= after[1] - 1e-12:
            break
        before = after
    gap_before, gap_after = before[1] - before[0], after[0] - after[1]
    return before[0] + gap_before / (gap_before + gap_after) * (after[0] - before[0])


def person_distances(distances, observed, enrolled):
    """Computes the distance of each probe to each person.

    A probe is a set of new recordings (`observed`). For each of these recordings, the function
    computes the distance to the nearest enrolled recording of the person. The result is the mean
    of these distances.
    """
    return [
        np.mean([min(distances[row, column] for column in columns) for row in observed])
        for columns in enrolled
    ]


def accuracy(matrix, right):
    """Computes the fraction of probes whose correct person is nearest. If c people are equally
    near, the probe counts as 1 / c."""
    total = 0.0
    for row, person in zip(matrix, right, strict=True):
        tied = [index for index, value in enumerate(row) if value == min(row)]
        total += (person in tied) / len(tied)
    return total / len(matrix)


def retrieval(matrix, labels, entry_labels, ks, skip=None):
    """Computes Recall@k, MAP@R and R-precision of each query, averaged over all orders of tied
    entries.

    The entry with the index `skip` is left out. For a query without a relevant entry, the result is
    None.
    """
    rows = []
    for query, (distances, label) in enumerate(zip(matrix, labels, strict=True)):
        items = [i for i in range(len(entry_labels)) if skip is None or i != skip[query]]
        total = sum(entry_labels[i] == label for i in items)
        found = [
            _ranking_figures([entry_labels[i] == label for i in order], total, ks)
            for order in _orders(distances, items)
        ]
        rows.append(np.mean(found, axis=0).tolist() if total else None)
    return rows


def _orders(distances, items):
    groups = [
        [i for i in items if distances[i] == value]
        for value in sorted({distances[i] for i in items})
    ]
    for parts in itertools.product(*map(itertools.permutations, groups)):
        yield [i for part in parts for i in part]


def _ranking_figures(hits, total, ks):
    if not total:
        return None
    average = sum(sum(hits[: i + 1]) / (i + 1) for i in range(total) if hits[i]) / total
    return [*(float(any(hits[:k])) for k in ks), average, sum(hits[:total]) / total]


def pairs(labels, clusters):
    """Counts pairs of samples that are true positive, false positive and false negative."""
    counts = [0, 0, 0]
    for i, j in itertools.combinations(range(len(labels)), 2):
        same, together = labels[i] == labels[j], clusters[i] == clusters[j]
        counts[0] += same and together
        counts[1] += together and not same
        counts[2] += same and not together
    return tuple(counts)


def nmi(labels, clusters):
    """Computes the normalized mutual information from its definition: the mutual information
    divided by the mean entropy."""

    def entropy(*columns):
        counts = collections.Counter(zip(*columns, strict=True)).values()
        return -sum(n / len(labels) * math.log(n / len(labels)) for n in counts)

    both = entropy(labels) + entropy(clusters)
    return 2 * (both - entropy(labels, clusters)) / both if both > 0 else 1.0
