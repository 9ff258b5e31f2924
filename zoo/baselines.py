"""Baselines that compare recordings without a trained network."""

import numpy as np
from scipy.spatial.distance import cdist

from keras_dml import inference
from keras_dml._backend import keras
from keras_dml.layers import Covariance, ReEig

LEVELS = np.linspace(0, 1, 18)  # as many levels as a new `keras_dml.layers.QuantileLayer` has
NORMAL_IQR = 1.349  # interquartile range of a normal distribution, in standard deviations
QUANTILES = "Wasserstein distance between the quantiles of each channel, nothing trained"


def log_euclidean(model, signals, floor=None):
    """Computes log-Euclidean distances between the covariances that a covariance network takes as
    input.

    Args:
        model: A model that takes recordings and contains a layer `Covariance` and a later layer
            `ReEig`. The layers before the covariance need no training.
        signals: List of arrays `(time, channels)`.
        floor: Smallest eigenvalue of the covariances. Default: the smallest eigenvalue that the
            `ReEig` layer allows.

    Returns:
        Shape `(recordings, recordings)`.
    """
    first = next(layer for layer in model.layers if isinstance(layer, Covariance))
    if floor is None:
        floor = next(layer for layer in model.layers if isinstance(layer, ReEig)).epsilon
    matrices = inference.embed(keras.Model(model.input, first.output), signals, progress=False)
    values, vectors = np.linalg.eigh(matrices.astype(np.float64))
    logs = np.einsum("nij,nj,nkj->nik", vectors, np.log(np.maximum(values, floor)), vectors)
    return euclidean(logs.reshape(len(logs), -1))


def quantile_features(known):
    """Returns a function that computes features of recordings. The L1 distance between two features
    is the Wasserstein distance between the quantile functions, summed over the channels
    (Abdelwahab2019, Eq. 9).

    The channels are normalized by their median and interquartile range, and bounded by the
    hyperbolic tangent, as in the method `quantiles` of `keras_dml.training.train`.

    Args:
        known: Recordings that determine how the channels are normalized.

    Returns:
        Function that takes a list of arrays `(time, channels)` and returns an array `(recordings,
        features)`.
    """
    steps = np.concatenate(known)
    low, middle, high = np.quantile(steps, (0.25, 0.5, 0.75), axis=0)
    scale = np.where(high > low, (high - low) / NORMAL_IQR, steps.std(axis=0))
    weights = np.full(len(LEVELS), LEVELS[1])  # of the trapezoid rule
    weights[[0, -1]] /= 2

    def features(signals):
        bounded = [np.tanh((signal - middle) / scale) for signal in signals]
        return np.stack([(np.quantile(x, LEVELS, axis=0).T * weights).ravel() for x in bounded])

    return features


def quantile_distances(known, signals):
    """Computes the Wasserstein distance between the quantile functions of each pair of recordings,
    see `quantile_features`.

    Args:
        known: Recordings that determine how the channels are normalized.
        signals: List of arrays `(time, channels)`.

    Returns:
        Shape `(recordings, recordings)`.
    """
    features = quantile_features(known)(signals)
    return cdist(features, features, "cityblock")


def moments(signals):
    """Computes the mean and the log standard deviation of each channel, shape `(recordings, 2 *
    channels)`.
    """
    return np.array([np.r_[x.mean(axis=0), np.log(x.std(axis=0) + 1e-6)] for x in signals])


def euclidean(features):
    """Computes the Euclidean distance between each pair of rows."""
    return cdist(features, features)
