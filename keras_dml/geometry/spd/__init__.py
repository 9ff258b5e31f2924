"""Computes functions, distances, means and geodesics of symmetric positive definite (SPD) matrices.

Every function takes matrices `(..., n, n)` and uses their symmetric part. The gradient of a
function f is the symmetric matrix G with `df = sum(G * dX)` for symmetric `dX`.
"""

import lazy_loader

from keras_dml.geometry.signals.covariance import check_estimator, covariance
from keras_dml.geometry.spd.distance import *  # noqa: F403  a new distance touches one file
from keras_dml.geometry.spd.distance import __all__ as _DISTANCES
from keras_dml.geometry.spd.functions import (
    check_epsilon,
    exp,
    inverse_sqrt,
    log,
    nuclear_norm,
    power,
    rectify,
    rectify_log,
    sqrt,
    symmetric,
)
from keras_dml.geometry.spd.matrices import whitening
from keras_dml.geometry.spd.mean import geodesic, karcher_mean, log_euclidean_mean
from keras_dml.geometry.spd.vectors import unvectorize, vectorize

_SUBMODULES = (
    "difference",
    "distance",
    "divided_differences",
    "functions",
    "matrices",
    "mean",
    "pairs",
    "polynomial",
    "potato",
    "sign_polynomials",
    "stiefel",
    "tangent",
    "vectors",
)

__all__ = [
    *_DISTANCES,
    "check_epsilon",
    "check_estimator",
    "covariance",
    "exp",
    "geodesic",
    "inverse_sqrt",
    "karcher_mean",
    "log",
    "log_euclidean_mean",
    "nuclear_norm",
    "power",
    "rectify",
    "rectify_log",
    "sqrt",
    "symmetric",
    "unvectorize",
    "vectorize",
    "whitening",
]

__getattr__, *_ = lazy_loader.attach(__name__, _SUBMODULES)


def __dir__() -> list[str]:
    return sorted([*__all__, *_SUBMODULES])
