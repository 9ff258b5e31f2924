"""Methods without a network that recognize people by walks with a phone in the pocket, as baselines
of `pocket_lda`. All methods rotate accelerations and angular rates into the frame of gravity.
"""

import functools

import numpy as np
from scipy.signal import welch
from scipy.spatial.distance import cdist

from keras_dml._backend import keras
from keras_dml.layers import ChannelNormalization, Covariance, LogEig, TangentVector
from keras_dml.training import People, discriminants, fronts, measure
from zoo import phone, phone_baselines, pocket, watch, watch_baselines

FRAME = "magnitude"  # channels of the methods that nothing is chosen for


def framed(signals):
    """Returns the vertical and the horizontal magnitude of acceleration and angular rate."""
    return fronts.outputs(pocket.front(FRAME), signals)


def correlations(walkers):
    """Returns a function that computes the Euclidean distances between features of walks. The
    features are lagged correlations and means, and each feature is divided by its standard
    deviation.

    Args:
        walkers: People whose walks determine how channels and features are normalized.
    """
    model = discriminants.correlation_features(
        walkers.signals, watch_baselines.LAGS, pocket.front(FRAME), means=True
    )
    deviations = discriminants.outputs(model, walkers.signals).std(axis=0)
    deviations = np.where(deviations > 0, deviations, 1)  # means of vertical accelerations are 0

    def between(signals):
        features = discriminants.outputs(model, signals) / deviations
        return cdist(features, features)

    return between


def log_euclidean(walkers):
    """Returns a function that computes the log-Euclidean distances between the covariances of
    walks.

    Args:
        walkers: People whose walks determine how the channels are normalized.
    """
    frame, normalization = pocket.front("both"), ChannelNormalization()
    normalization.adapt(fronts.outputs(frame, walkers.signals))
    rest = [normalization, Covariance("oas"), LogEig(), TangentVector()]
    model = keras.Sequential([keras.Input((None, watch.ACCELERATION_AND_RATES)), *frame, *rest])
    return functools.partial(measure.pairwise_distances, model)


def quantiles(walkers):
    """Returns a function that computes the mean absolute differences between quantiles, see
    `watch_baselines.quantile_differences`.
    """
    channels = People(framed(walkers.signals), walkers.subjects, walkers.sessions)
    between = watch_baselines.quantile_differences(channels)
    return lambda signals: between(framed(signals))


def spectra(_):
    """Returns a function that computes the correlation distances between the log power spectra of
    walks. The function has no parameters that are fitted to people.
    """

    def between(signals):
        power = [
            welch(x, watch.RATE_HZ, nperseg=watch_baselines.SEGMENT, axis=0)[1]
            for x in framed(signals)
        ]
        logs = np.log(np.stack(power)[:, 1:] + watch_baselines.NOISE).reshape(len(signals), -1)
        return cdist(logs, logs, "correlation")

    return between


def phone_discriminants(_):
    """Returns a function that computes the distances between walks with the discriminants of
    `phone_gait_lda`. The discriminants are fitted to the accelerations of 26 other people at 25 Hz,
    so the function uses every second sample.
    """
    model = _of_phones()
    return lambda signals: watch_baselines.cosine(model)(
        [signal[::2, : watch.ACCELERATION] for signal in signals]
    )


def without_rates(walkers):
    """Returns a function that computes the distances between discriminants that are fitted to the
    accelerations alone.

    Args:
        walkers: People to whom the discriminants are fitted.
    """
    training = watch.variants(walkers)
    model = discriminants.correlation_model(
        [signal[:, : watch.ACCELERATION] for signal in training.signals],
        training.subjects,
        watch_baselines.LAGS,
        discriminants.COMPONENTS,
        front=pocket.front(FRAME),
        means=True,
    )
    return lambda signals: watch_baselines.cosine(model)(
        [signal[:, : watch.ACCELERATION] for signal in signals]
    )


@functools.cache
def _of_phones():
    return phone_baselines.discriminants_of(phone.walks())
