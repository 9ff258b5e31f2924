"""Converts similarities between voices into log-likelihood ratios, and fuses them with the
cosine.
"""

import numpy as np
from sklearn.linear_model import LogisticRegression

from keras_dml import evaluation
from keras_dml.training import measure


def log_odds(similarities, genuine):
    """Fits the scale and the shift that turn a similarity into a log-likelihood ratio.

    Args:
        similarities: Similarities of trials, shape `(trials,)`. A higher value means more similar
            voices.
        genuine: Whether the same person speaks in both recordings of a trial, shape `(trials,)`.

    Returns:
        The scale and the shift. The log-likelihood ratio is `scale * similarity + shift`.
    """
    fitted = LogisticRegression(C=np.inf, class_weight="balanced")
    fitted.fit(similarities[:, None], genuine)
    return float(fitted.coef_[0, 0]), float(fitted.intercept_[0])


def calibrate(similarity, scale, shift):
    """Changes the last layer of a similarity S so that the layer computes `scale * S + shift`."""
    similarity.kernels[-1].assign(scale * np.asarray(similarity.kernels[-1]))
    similarity.biases[-1].assign(scale * np.asarray(similarity.biases[-1]) + shift)


def with_fused(similarity, cosine):
    """Returns the scores of trials by name, with two fused scores first.

    The first fused score is the sum of the similarity and the cosine, as in Table 3 of
    Monteiro2020. For the second fused score, the similarity and the cosine are scaled to [0, 1] and
    averaged.
    """
    return {
        "fused": evaluation.fuse(similarity, cosine),
        "fused in [0, 1]": evaluation.fuse(similarity, cosine, "bounded"),
        "sim": similarity,
        "cosine": cosine,
    }


def calibrated(similarities, genuine, fold):
    """Computes the log-likelihood ratios of each fold. Scale and shift are fitted to the trials of
    the other folds.
    """
    ratios = np.empty_like(similarities)
    for k in np.unique(fold):
        is_fold = fold == k
        scale, shift = log_odds(similarities[~is_fold], genuine[~is_fold])
        ratios[is_fold] = scale * similarities[is_fold] + shift
    return ratios


def rows(pooled, genuine, claims):
    """Computes rows of a card. The rows contain figures of pooled trials, with bootstrap intervals
    over people.

    Args:
        pooled: Dictionary from names of methods to similarities of the trials, arrays of shape
            `(trials,)`.
        genuine: Whether the same person speaks in both recordings of a trial, shape `(trials,)`.
        claims: The two speakers of each trial, arrays of shape `(trials,)`.
    """
    figures = []
    for name, values in pooled.items():
        result = evaluation.verification(-values, genuine, people=claims, bootstrap=1000)
        for metric, value in (("eer", result.eer), ("auc", result.auc)):
            low, high = result.intervals[metric]
            row = measure.proportion("verification", metric, value, len(genuine), score=name)
            figures.append(row | {"stderr": (high - low) / (2 * 1.96), "ci95": [low, high]})
    return figures
