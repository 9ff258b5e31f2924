"""Trains `eeg_spdnet_rpl`, which recognizes people by the covariance of one second of EEG.

The data contains only seventeen people, so the figures are cross-validated over four folds of
people. For each fold, the settings that were best on another fold are used. The published model is
trained on all people. To list the options, run `python -m zoo.eeg_spdnet_rpl.train --help` from the
checkout.
"""

import typer

from keras_dml._backend import keras
from keras_dml.layers import (
    Covariance,
    FirstDifference,
    InstanceStandardization,
    MaskedAveragePooling1D,
)
from keras_dml.models import spdnet
from zoo import augment, eeg, potatoes, recipe

# Threshold and margin of the loss, in standard deviations. The threshold and the margin were chosen
# on `hdm05_spdnet_rpl`.
Z_THRESHOLD, MARGIN = 1.0, 3.0
WIDTHS = (48, 32)  # sides of the matrices after each bilinear map
FLOOR = 1e-3  # smallest eigenvalue, of a mean of one
CLASSES, PER_CLASS = 12, 6
STEPS = 100
# `average` is the number of time steps that are averaged before the differences are computed. With
# 2 steps, rhythms up to about 60 Hz remain, and with 3 steps rhythms up to 40 Hz. If `standardized`
# is true, all electrodes have the same power.
GRID = [
    {"average": average, "standardized": standardized}
    for average in (1, 2, 3)
    for standardized in (False, True)
]


def vary(batch, rng):
    """Changes the gains of the channels at random, because the gains also change between two trials
    of a person.
    """
    return augment.scale(batch, rng, eeg.GAIN)


def network(channels, average, standardized):
    """Returns the untrained encoder.

    The input layers compute the covariance of the differences between successive time steps of a
    trial, and divide the covariance by its trace. The differences emphasize fast rhythms. The
    division by the trace removes the total power of the rhythms and leaves the distribution of the
    power over the electrodes.
    """
    matrices = spdnet((channels, *WIDTHS), output="spd", epsilon=FLOOR / channels)
    x = signal = keras.Input((None, channels), name="signal")
    front = [MaskedAveragePooling1D(average), FirstDifference()]
    if standardized:
        front.append(InstanceStandardization())
    covariance = Covariance("trace_normalized", name="covariance")
    for layer in (*front, covariance, *matrices.layers[1:]):
        x = layer(x)
    return keras.Model(signal, x, name="eeg_spdnet_rpl")


def train(run, people, settings):
    """Trains an encoder on the given people."""
    keras.utils.set_random_seed(run.seed)
    encoder = network(people.signals[0].shape[1], **settings)
    batches = {"classes": CLASSES, "per_class": PER_CLASS, "length": eeg.CROP, "vary": vary}
    potatoes.train(run, encoder, people, Z_THRESHOLD, MARGIN, **batches)
    return encoder


@recipe.command(STEPS)
def main(run):
    """Cross-validates over four folds of people. With --publish, also trains the final model on all
    people.
    """
    everybody = eeg.trials()
    measured, encoders, settings = eeg.cross_validate(run, everybody, GRID, train)
    if run.publishes:
        eeg.publish(run, everybody, train, measured, encoders, settings)


if __name__ == "__main__":
    typer.run(main)
