"""Baselines that compute the distances between all recordings without a trained network."""

import numpy as np
from scipy.spatial.distance import cdist

from keras_dml import inference
from keras_dml._backend import keras
from keras_dml.layers import Covariance, ReEig


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


def moments(signals):
    """Computes the mean and the log standard deviation of each channel, shape `(recordings, 2 *
    channels)`.
    """
    return np.array([np.r_[x.mean(axis=0), np.log(x.std(axis=0) + 1e-6)] for x in signals])


def euclidean(features):
    """Computes the Euclidean distance between each pair of rows."""
    return cdist(features, features)
