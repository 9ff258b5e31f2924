"""Methods without a network that recognize people by walks with a phone in the pocket.

The methods are the baselines of `phone_gait_qp_wl`. `python -m zoo.phone_baselines` prints the
figures of all methods.
"""

import numpy as np
import typer
from scipy.fft import rfft
from scipy.spatial.distance import cdist

from keras_dml._backend import keras
from keras_dml.layers import ChannelNormalization, Covariance, LogEig, TangentVector
from keras_dml.training import discriminants, fronts, measure
from zoo import baselines, phone

# In an exploration on five folds, the pooled EER was 6.1 % with 16 discriminants that were fitted
# at one tempo. If the discriminants were fitted at five tempos, the pooled EER was 5.9 % with 16,
# 4.9 % with 32 and 3.3 % with 64 discriminants.
LAGS, DISCRIMINANTS = (0, 2, 4, 8, 16), 64


def log_euclidean_model(walkers):
    """Returns a model that needs no training. The model rotates recordings into the frame of
    gravity and computes the logarithm of their covariance.

    Args:
        walkers: People whose walks determine how the channels are normalized.
    """
    frame, normalization = phone.front("axes"), ChannelNormalization()
    normalization.adapt(fronts.outputs(frame, walkers.signals))
    rest = [normalization, Covariance("oas"), LogEig(), TangentVector()]
    return keras.Sequential([keras.Input((None, 3)), *frame, *rest])


def log_euclidean(walkers):
    """Returns a function that computes log-Euclidean distances with `log_euclidean_model`."""
    return phone.of_model(log_euclidean_model(walkers))


def discriminants_of(walkers, tempos=phone.TEMPOS):
    """Fits linear discriminants to the lagged correlations of recordings in the frame of gravity.

    Args:
        walkers: People to whom the discriminants are fitted.
        tempos: See `keras_dml.training.People.at_tempos`.
    """
    windows = walkers.at_tempos(tempos).windows(phone.WINDOW, phone.STRIDE)
    return discriminants.correlation_model(
        np.stack(windows.signals),
        windows.subjects,
        LAGS,
        DISCRIMINANTS,
        adapt_to=walkers.signals,
        front=phone.front("both"),
    )


def cosine_distances(model):
    """Returns a function that computes cosine distances with a model. The distances are shifted so
    that the smallest possible distance is 0.
    """
    between = phone.of_model(model)
    return lambda probes, enrolled: 1 + between(probes, enrolled)


def linear_discriminants(walkers):
    """Returns a function that computes the cosine distances between linear discriminants, see
    `discriminants_of`.

    Args:
        walkers: People to whom the discriminants are fitted.
    """
    return cosine_distances(discriminants_of(walkers))


def spectra(walkers=None):
    """Returns a function that computes the cosine distances between log power spectra of the
    vertical and the horizontal magnitude.

    The function has no parameters that are fitted to people.
    """
    frame = phone.front("magnitude")

    def logs(windows):
        channels = np.asarray(fronts.apply(frame, np.stack(windows)))  # (windows, time, 2)
        channels = channels - channels.mean(axis=1, keepdims=True)
        tapered = channels * np.hanning(channels.shape[1])[:, None]
        power = np.log(np.abs(rfft(tapered, axis=1)) ** 2 + 1)
        return (power - power.mean(axis=1, keepdims=True)).reshape(len(windows), -1)

    return lambda probes, enrolled: cdist(logs(probes), logs(enrolled), "cosine")


def quantiles(walkers):
    """Returns a function that computes the Wasserstein distances between quantile functions of the
    channels in the frame of gravity, see `zoo.baselines.quantile_features`.

    Args:
        walkers: People whose walks determine how the channels are normalized.
    """
    frame = phone.front("both")
    features = baselines.quantile_features(fronts.outputs(frame, walkers.signals))

    def framed(windows):
        return features(fronts.outputs(frame, windows))

    return lambda probes, enrolled: cdist(framed(probes), framed(enrolled), "cityblock")


CLOSED_FORMS = {
    "linear discriminants": (
        "linear discriminants of lagged correlations in the frame of gravity, fitted to the same "
        "people and speeds",
        linear_discriminants,
    ),
    "log-Euclidean": ("covariance in the frame of gravity, nothing trained", log_euclidean),
    "spectra": (
        "cosine of log power spectra of vertical and horizontal magnitude, nothing trained",
        spectra,
    ),
    "quantiles": (f"{baselines.QUANTILES}, in the frame of gravity", quantiles),
}


def closed_form(name, walkers):
    """Fits a method of `CLOSED_FORMS` to all people outside of each group, and measures the group
    with the method.

    Returns:
        List of `phone.Group`.
    """
    fit = CLOSED_FORMS[name][1]
    return phone.measured([fit(walkers.without(group)) for group in phone.groups(walkers)], walkers)


def main():
    """Prints the figures of all methods in `CLOSED_FORMS`."""
    walkers = phone.walks()
    for name in CLOSED_FORMS:
        print(name)
        groups = closed_form(name, walkers)
        print(measure.headline_summary(phone.measurement(groups).headline))
        print(measure.summary(phone.rows(groups)), flush=True)


if __name__ == "__main__":
    typer.run(main)
