"""Walks with a phone in the pocket without a network: what `phone_gait_qp_wl` stands beside.

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
    """A model that trains nothing: the covariances in the frame of gravity, by their logarithms.

    Args:
        walkers: People whose statistics normalize the channels.
    """
    frame, normalization = phone.front("axes"), ChannelNormalization()
    normalization.adapt(fronts.outputs(frame, walkers.signals))
    rest = [normalization, Covariance("oas"), LogEig(), TangentVector()]
    return keras.Sequential([keras.Input((None, 3)), *frame, *rest])


def log_euclidean(walkers):
    """The log-Euclidean distance of the covariances in the frame of gravity; see above."""
    return phone.of_model(log_euclidean_model(walkers))


def discriminants_of(walkers, tempos=phone.TEMPOS):
    """A model of linear discriminants of lagged correlations in the frame of gravity.

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
    """The distances of a model that is compared by the cosine, from 0, as a function of probes and
    enrolled windows."""
    between = phone.of_model(model)
    return lambda probes, enrolled: 1 + between(probes, enrolled)


def linear_discriminants(walkers):
    """Linear discriminants of lagged correlations in the frame of gravity, in closed form.

    Args:
        walkers: People to fit.
    """
    return cosine_distances(discriminants_of(walkers))


def spectra(walkers=None):
    """The cosine between the log power spectra of vertical and horizontal magnitude; nothing is
    fitted."""
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
        "of lagged correlations in the frame of gravity, in closed form, on the same people and "
        "speeds",
        linear_discriminants,
    ),
    "log-Euclidean": ("covariance in the frame of gravity, nothing trained", log_euclidean),
    "spectra": (
        "cosine of log power spectra of vertical and horizontal magnitude, nothing trained",
        spectra,
    ),
}


def closed_form(name, walkers):
    """A closed form of `CLOSED_FORMS` on all groups, fitted without each one's people.

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
