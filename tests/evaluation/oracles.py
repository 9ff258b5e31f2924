"""Slow loops straight from the definitions, as independent references."""

import numpy as np


def auc(genuine, imposter):
    """P(genuine < imposter) + P(=) / 2 over all pairs."""
    wins = sum((g < i) + 0.5 * (g == i) for g in genuine for i in imposter)
    return wins / (len(genuine) * len(imposter))


def rates(genuine, imposter, threshold):
    """FAR and FRR by counting."""
    far = sum(score <= threshold for score in imposter) / len(imposter)
    return far, sum(score > threshold for score in genuine) / len(genuine)


def eer(genuine, imposter):
    """FAR = FRR by walking along the polyline, one threshold at a time."""
    before = (0.0, 1.0)
    for threshold in sorted({*genuine, *imposter}):
        after = rates(genuine, imposter, threshold)
        if after[0] >= after[1] - 1e-12:
            break
        before = after
    gap_before, gap_after = before[1] - before[0], after[0] - after[1]
    return before[0] + gap_before / (gap_before + gap_after) * (after[0] - before[0])


def person_distances(distances, observed, enrolled):
    """d_j of one probe: mean over its recordings of the nearest of each person's."""
    return [
        np.mean([min(distances[row, column] for column in columns) for row in observed])
        for columns in enrolled
    ]


def accuracy(table, right):
    """Share of probes whose right person is nearest, a tie of c counting 1/c."""
    total = 0.0
    for row, person in zip(table, right, strict=True):
        tied = [index for index, value in enumerate(row) if value == min(row)]
        total += (person in tied) / len(tied)
    return total / len(table)
