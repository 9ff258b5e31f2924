"""Symmetric positive definite (SPD) matrices: functions, distances, means and geodesics.

Every function takes matrices `(..., n, n)`, uses their symmetric part, and has a symmetric
gradient: the G with `df = sum(G * dX)` for symmetric `dX`.
"""

from keras_dml.geometry.signals.covariance import check_estimator, covariance
from keras_dml.geometry.spd.distance import (
    affine_invariant,
    affine_invariant_pairwise,
    log_euclidean,
    log_euclidean_pairwise,
    stein,
    stein_pairwise,
    whitening,
)
from keras_dml.geometry.spd.functions import (
    check_epsilon,
    exp,
    inverse_sqrt,
    log,
    power,
    rectify,
    rectify_log,
    sqrt,
    symmetric,
)
from keras_dml.geometry.spd.mean import geodesic, karcher_mean, log_euclidean_mean
from keras_dml.geometry.spd.vectors import unvectorize, vectorize

__all__ = [
    "affine_invariant",
    "affine_invariant_pairwise",
    "check_epsilon",
    "check_estimator",
    "covariance",
    "exp",
    "geodesic",
    "inverse_sqrt",
    "karcher_mean",
    "log",
    "log_euclidean",
    "log_euclidean_mean",
    "log_euclidean_pairwise",
    "power",
    "rectify",
    "rectify_log",
    "sqrt",
    "stein",
    "stein_pairwise",
    "symmetric",
    "unvectorize",
    "vectorize",
    "whitening",
]
