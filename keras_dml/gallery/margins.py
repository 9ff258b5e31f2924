"""Computes margins from the scores of a calibration.

A margin states how clear a comparison must be before a gallery uses it for more than one decision.
"""

import numpy as np

# Largest fraction of right identifications that the margin to the second best may give up. Without
# this limit, a few recordings that resemble another person would prevent most identifications.
MOST_LOST = 0.05
STRICTER = 10  # factor by which a confident score has a lower false accept rate


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


def confident_score(medians: np.ndarray, far: float, value: float) -> float:
    """Computes the largest score at which a recording may be proposed as a template.

    At most a tenth of the fraction `far` of the imposter recordings has a median score up to this
    score. If the calibration has too few recordings for this fraction, the smallest median score of
    an imposter recording is used. The result never exceeds the threshold.

    Args:
        medians: Median scores of imposter recordings, see `calibration.imposter_medians`.
        far: False accept rate of `value`.
        value: Largest distance that is accepted.
    """
    ordered = np.sort(medians)
    accepted = np.searchsorted(ordered, ordered, side="right")  # equal scores are accepted together
    allowed = ordered[accepted <= far / STRICTER * len(ordered)]
    return float(min(value, allowed[-1] if len(allowed) else ordered[0]))
