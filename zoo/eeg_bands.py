"""Prints for each frequency band how well people are recognized by EEG without a network.

Run `python -m zoo.eeg_bands` from the checkout.
"""

import typer
from scipy import signal

from keras_dml._backend import keras
from keras_dml.layers import Covariance, LogEig, TangentVector
from keras_dml.training import People
from keras_dml.training.measure import headline_summary
from zoo import eeg

BANDS = ((1, 13), (13, 30), (30, 50), (65, 127))  # Hz
ORDER = 4  # of the Butterworth filter, which runs forward and backward
FLOOR = 1e-3  # smallest eigenvalue, of a mean of one


def band(recording, low, high):
    """Keeps a frequency band of a recording with shape `(time, channels)` and scales the result to
    a mean power of 1.
    """
    passes = signal.butter(ORDER, (low, high), "bandpass", fs=eeg.RATE_HZ, output="sos")
    filtered = signal.sosfiltfilt(passes, recording, axis=0)
    return filtered / filtered.std()


def log_euclidean(channels):
    """Returns a model that compares shrunk covariances by the log-Euclidean distance."""
    x = recording = keras.Input((None, channels))
    for layer in (Covariance("oas"), LogEig(FLOOR), TangentVector()):
        x = layer(x)
    return keras.Model(recording, x)


def measured(everybody, low, high):
    """Measures how well people are recognized from one frequency band, with the folds that the
    cards of the EEG models use.

    Args:
        everybody: Output of `eeg.trials`.
        low: Lower edge of the band, Hz.
        high: Upper edge, Hz.
    """
    signals = [band(recording, low, high) for recording in everybody.signals]
    between = eeg.of_encoder(log_euclidean(signals[0].shape[1]))
    filtered = People(signals, everybody.subjects, everybody.sessions)
    return eeg.over_folds(filtered, [between] * eeg.FOLDS)


def main():
    """Measures every band."""
    everybody = eeg.trials()
    for low, high in BANDS:
        headline = measured(everybody, low, high).headline
        print(f"{low} to {high} Hz\n{headline_summary(headline)}", flush=True)


if __name__ == "__main__":
    typer.run(main)
