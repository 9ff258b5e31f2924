"""Trains `eeg_spdnet_rpl`: whose brain is it, from the covariance of one second of EEG.

The same people and folds as `eeg_qp_wl`: seventeen people, so the figures are cross-validated, and
the model that is published is trained on all of them. From the checkout: `python -m
zoo.eeg_spdnet_rpl.train --help`.
"""

import typer

from keras_dml._backend import keras
from keras_dml.models import spdnet
from zoo import augment, eeg, potatoes, recipe

WIDTHS = (48, 32)  # sides of the matrices behind each bilinear map
CLASSES, PER_CLASS = 12, 6
STEPS = 200


def vary(batch, rng):
    """Gains that differ between two trials of one person."""
    return augment.scale(batch, rng, eeg.GAIN)


def network(channels):
    """The untrained encoder.

    It takes the shrunk covariance of each trial's differences, standardized by themselves: how
    strong the signal is says more about the cap than about the person.
    """
    return spdnet(
        (channels, *WIDTHS),
        output="spd",
        estimator="oas",
        normalization="difference",
        epsilon=1e-3,
    )


def train(run, people):
    """An encoder that is trained on some people."""
    keras.utils.set_random_seed(run.seed)
    encoder = network(people.signals[0].shape[1])
    potatoes.train(
        run, encoder, people, classes=CLASSES, per_class=PER_CLASS, length=eeg.CROP, vary=vary
    )
    return encoder


@recipe.command(STEPS)
def main(run):
    """Cross-validates over four folds of people; with --publish also trains the final model on
    all."""
    everybody = eeg.trials()
    measured, encoders = eeg.cross_validate(run, everybody, train)
    if run.publishes:
        eeg.publish(run, everybody, train, measured, encoders)


if __name__ == "__main__":
    typer.run(main)
