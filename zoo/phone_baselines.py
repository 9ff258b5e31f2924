"""Methods without a network for walks with a phone in the pocket, the baselines of
`phone_gait_qp_wl`.

`python -m zoo.phone_baselines` prints their figures.
"""

import numpy as np
import typer
from scipy.fft import rfft
from scipy.spatial.distance import cdist

from keras_dml._backend import keras
from keras_dml.layers import ChannelNormalization, Covariance, LogEig, TangentVector
from keras_dml.training import discriminants, fronts, measure
from zoo import phone

# In an exploration on five folds 16 discriminants had a pooled EER of 6.1 % at one tempo, and 5.9,
# 4.9 and 3.3 % (16, 32, 64) at five tempos.
LAGS, DISCRIMINANTS = (0, 2, 4, 8, 16), 64


def log_euclidean_model(walkers):
    """Returns a model without training that computes logarithms of covariances in the frame of
    gravity.

    Args:
        walkers: People whose statistics normalize the channels.
    """
    frame, normalization = phone.front("axes"), ChannelNormalization()
    normalization.adapt(fronts.outputs(frame, walkers.signals))
    rest = [normalization, Covariance("oas"), LogEig(), TangentVector()]
    return keras.Sequential([keras.Input((None, 3)), *frame, *rest])


def log_euclidean(walkers):
    """Returns the log-Euclidean distance of `log_euclidean_model`."""
    return phone.of_model(log_euclidean_model(walkers))


def discriminants_of(walkers, tempos=phone.TEMPOS):
    """Fits linear discriminants of lagged correlations in the frame of gravity.

    Args:
        walkers: People to fit.
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
    """Returns a function that computes the cosine distances of a model, shifted to begin at 0."""
    between = phone.of_model(model)
    return lambda probes, enrolled: 1 + between(probes, enrolled)


def linear_discriminants(walkers):
    """Returns a function of distances: linear discriminants of lagged correlations in the frame of
    gravity.

    Args:
        walkers: People to fit.
    """
    return cosine_distances(discriminants_of(walkers))


def spectra(walkers=None):
    """Returns cosine distances between log power spectra of vertical and horizontal magnitude.

    Nothing is fitted.
    """
    frame = phone.front("magnitude")

    def logs(windows):
        channels = np.asarray(fronts.apply(frame, np.stack(windows)))  # (windows, time, 2)
        channels = channels - channels.mean(axis=1, keepdims=True)
        tapered = channels * np.hanning(channels.shape[1])[:, None]
        power = np.log(np.abs(rfft(tapered, axis=1)) ** 2 + 1)
        return (power - power.mean(axis=1, keepdims=True)).reshape(len(windows), -1)

    return lambda probes, enrolled: cdist(logs(probes), logs(enrolled), "cosine")


CLOSED_FORMS = {
    "linear discriminants": (
        "linear discriminants of lagged correlations in the frame of gravity, in closed form, "
        "fitted to the same people and speeds",
        linear_discriminants,
    ),
    "log-Euclidean": ("covariance in the frame of gravity, nothing trained", log_euclidean),
    "spectra": (
        "cosine of log power spectra of vertical and horizontal magnitude, nothing trained",
        spectra,
    ),
}


def closed_form(name, walkers):
    """Measures each group with a method of `CLOSED_FORMS` that is fitted to the people of the other
    groups.

    Returns:
        List of `phone.Group`.
    """
    fit = CLOSED_FORMS[name][1]
    return phone.measured([fit(walkers.without(group)) for group in phone.groups(walkers)], walkers)


def main():
    """Prints the figures of the closed forms."""
    walkers = phone.walks()
    for name in CLOSED_FORMS:
        print(name)
        groups = closed_form(name, walkers)
        print(measure.headline_summary(phone.measurement(groups).headline))
        print(measure.summary(phone.rows(groups)), flush=True)


if __name__ == "__main__":
    typer.run(main)
