"""Computes margins from the scores of a calibration.

A margin states how clear a comparison must be before a gallery uses it for more than one decision.
"""

import statistics

import numpy as np

# Largest fraction of right identifications that the margin to the second best may give up. Without
# this limit, a few recordings that resemble another person would prevent most identifications.
MOST_LOST = 0.05
STRICTER = 10  # a confident score belongs to a false accept rate that is lower by this factor


def second_best_margin(
    scores: np.ndarray,
    recordings: np.ndarray,
    is_own: np.ndarray,
    value: float,
    far: float,
) -> float:
    """Computes the difference of scores below which two people count as equally near.

    Each calibration recording is identified among all calibration people. The margin is the
    smallest number with which at most a fraction `far` of the recordings is identified as a wrong
    person. The margin is smaller if it would otherwise prevent more than 5 % of the right
    identifications.

    Args:
        scores: Scores of all claims, see `calibration.everybodys_claims`.
        recordings: Number of the recording of each claim.
        is_own: True for claims to be the person who made the recording.
        value: Largest distance that is accepted.
        far: False accept rate of `value`.

    Returns:
        The margin, which is 0 if at most a fraction `far` is identified as a wrong person without a
        margin.
    """
    own_scores, other_scores = np.full((2, recordings.max() + 1), np.inf)
    np.minimum.at(own_scores, recordings[is_own], scores[is_own])
    np.minimum.at(other_scores, recordings[~is_own], scores[~is_own])
    is_compared = np.isfinite(own_scores) & np.isfinite(other_scores)
    own_scores, other_scores = own_scores[is_compared], other_scores[is_compared]
    is_wrong = (other_scores <= value) & (other_scores < own_scores)
    wrong = np.sort((own_scores - other_scores)[is_wrong])[::-1]
    allowed = int(far * len(own_scores))
    if allowed >= len(wrong):
        return 0.0
    right = (other_scores - own_scores)[(own_scores <= value) & (own_scores <= other_scores)]
    most = np.quantile(right, MOST_LOST) if len(right) else np.inf
    return float(min(wrong[allowed], most))


def confident_score(value: float, far: float, stddev: float) -> float:
    """Computes the largest score at which a recording may be proposed as a template.

    The score belongs to a tenth of the false accept rate of the threshold. It is extrapolated from
    the threshold with a normal distribution of the scores of false claims, because few galleries
    have enough calibration people to count so low a rate.

    Args:
        value: Largest distance that is accepted.
        far: False accept rate of `value`.
        stddev: Standard deviation of the scores of false claims.
    """
    quantile = statistics.NormalDist().inv_cdf
    return float(value - (quantile(far) - quantile(far / STRICTER)) * stddev)
