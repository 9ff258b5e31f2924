"""Methods without a network that recognize people by walks with a watch on the wrist. The methods
are the baselines of `watch_lda`.
"""

import functools

import numpy as np
from scipy.signal import welch
from scipy.spatial.distance import cdist

from keras_dml._backend import keras
from keras_dml.layers import ChannelNormalization, Covariance, LogEig, TangentVector
from keras_dml.training import discriminants, measure
from zoo import baselines, phone, phone_baselines, watch

SEGMENT = 64  # steps of a spectrum: 1.3 s; with 128 the EER is 17 %
NOISE = 1e-2  # (m/s2)^2/Hz, below which a spectrum says nothing; without it the EER is 34 %
LAGS = (0, 4, 8, 16, 32)
LEVELS = np.linspace(0.02, 0.98, 25)  # of quantiles


def spectra(_):
    """Returns a function that computes the correlation distances between the log power spectra of
    walks. The spectra are computed for x, y and z. The function has no parameters that are fitted
    to people.
    """

    def between(signals):
        power = [welch(signal, watch.RATE_HZ, nperseg=SEGMENT, axis=0)[1] for signal in signals]
        logs = np.log(np.stack(power)[:, 1:] + NOISE).reshape(len(signals), -1)
        return cdist(logs, logs, "correlation")

    return between


def log_euclidean(walkers):
    """Returns a function that computes the log-Euclidean distances between the covariances of
    walks.

    Args:
        walkers: People whose walks determine how the channels are normalized.
    """
    normalization = ChannelNormalization()
    normalization.adapt(walkers.signals)
    rest = [normalization, Covariance("oas"), LogEig(), TangentVector()]
    model = keras.Sequential([keras.Input((None, 3)), *rest])
    return functools.partial(measure.pairwise_distances, model)


def quantile_differences(walkers):
    """Returns a function that computes the mean absolute differences between quantiles of x, y and
    z.

    Args:
        walkers: People whose walks determine the standard deviation of each channel, by which the
            channel is divided.
    """
    deviations = np.concatenate(walkers.signals).std(axis=0)

    def between(signals):
        rows = [np.quantile(x / deviations, LEVELS, axis=0).ravel() for x in signals]
        return cdist(rows, rows, "cityblock") / len(rows[0])

    return between


def correlations(walkers):
    """Returns a function that computes the Euclidean distances between features of walks. The
    features are lagged correlations and means, and each feature is divided by its standard
    deviation.

    Args:
        walkers: People whose walks determine how channels and features are normalized.
    """
    model = discriminants.correlation_features(walkers.signals, LAGS, means=True)
    deviations = discriminants.outputs(model, walkers.signals).std(axis=0)

    def between(signals):
        features = discriminants.outputs(model, signals) / deviations
        return cdist(features, features)

    return between


def quantiles(walkers):
    """Returns a function that computes the Wasserstein distances between quantile functions of x, y
    and z, see `zoo.baselines.quantile_features`.

    Args:
        walkers: People whose walks determine how the channels are normalized.
    """
    return functools.partial(baselines.quantile_distances, walkers.signals)


def phone_discriminants(_):
    """Returns a function that computes the distances between walks with the discriminants of
    `phone_gait_lda`. The discriminants are fitted to walks with a phone in the pocket at 25 Hz, so
    the function uses every second sample of a watch.
    """
    return lambda signals: cosine(_of_phones())([signal[::2] for signal in signals])


def cosine(model):
    """Returns a function that computes the cosine distances between embeddings of recordings. The
    smallest possible distance is 0.
    """
    return lambda signals: 1 + measure.pairwise_distances(model, signals)


@functools.cache
def _of_phones():
    return phone_baselines.discriminants_of(phone.walks())
