"""Trains `eeg_spdnet_rpl`: whose brain is it, from the covariance of one second of EEG.

The same people and folds as `eeg_qp_wl`: seventeen people, so the figures are cross-validated, and
the model that is published is trained on all of them. From the checkout: `python -m
zoo.eeg_spdnet_rpl.train --help`.
"""

import pathlib

import typer

from keras_dml._backend import keras
from keras_dml.losses import PotatoRankingLoss
from keras_dml.models import spdnet
from tfds_builders.parsers.smni import CHANNELS
from zoo import augment, evaluate, potatoes, publish, recipe
from zoo.eeg_qp_wl import train as sequences
from zoo.hdm05_spdnet_rpl.train import MARGIN, Z_THRESHOLD

NAME = "eeg_spdnet_rpl"
SIZES = (len(CHANNELS), 48, 32)
PER_CLASS, CLASSES = 6, 12
STEPS, LEARNING_RATE = 200, 1e-3


def vary(batch, rng):
    """Gains that differ between two trials of one."""
    return augment.scale(batch, rng, sequences.GAIN)


def network():
    """Each trial's changes, standardized by themselves, and their shrunk covariance: how strong
    the signal is says more about the cap than about the person."""
    return spdnet(SIZES, output="spd", estimator="oas", normalization="difference", epsilon=1e-3)


def train(recordings, steps, seed, resume, out):
    """One training run on the given people."""
    keras.utils.set_random_seed(seed)
    encoder = network()
    minutes = potatoes.train(
        encoder,
        recordings,
        vary=vary,
        classes=min(CLASSES, len(set(recordings.subjects))),
        per_class=PER_CLASS,
        length=sequences.CROP,
        steps=steps,
        seed=seed,
        out=out,
        resume=resume,
        learning_rate=LEARNING_RATE,
        loss=PotatoRankingLoss(Z_THRESHOLD, margin=MARGIN),
    )
    return encoder, minutes


def card(figures, thresholds, subjects, seed, steps, minutes):
    """Card of the model, of the same data as `eeg_qp_wl`."""
    other = sequences.card(figures, thresholds, subjects, seed, steps, minutes)
    return {
        **other,
        "name": NAME,
        "task": "Tell people apart by the covariance of one second of EEG after a visual "
        "stimulus, 64 electrodes",
        "paper": "Kim2020, Eqs. 5, 10-21 (Nonlinear Ranking Loss on Riemannian Potato Embedding)",
        "figures_are": f"{sequences.CROSS_VALIDATED} The curves pool all single recordings of all "
        "folds under one threshold, so their equal error rate is higher.",
        "limits": [
            *other["limits"],
            "Silent or repeated electrodes, which some recordings have, show in a covariance; the "
            "figures are better than a new session with another cap would give.",
        ],
        "recipe": publish.recipe_of(NAME, seed=seed, steps=steps, minutes=minutes),
    }


def main(
    steps: recipe.Steps = STEPS,
    seed: recipe.Seed = 0,
    out: recipe.Out = None,
    resume: recipe.Resume = False,
    publish_model: recipe.Publish = False,
):
    """Cross-validates over four folds of people; with --publish also trains the final model on
    all."""
    out = recipe.out_folder(out, NAME, "rpl", seed)
    every = sequences.trials()
    figures, thresholds = sequences.cross_validate(every, out, train, steps, seed, resume)
    if publish_model:
        room = out / "final"
        room.mkdir(exist_ok=True)
        encoder, minutes = train(every, steps, seed, resume, room)
        publish.publish(
            pathlib.Path(__file__).parent,
            encoder,
            card(figures, thresholds, sorted(set(every.subjects)), seed, steps, minutes),
            evaluate.synthetic_recordings(len(CHANNELS), (256, 128), 8.0),
            curves=out / f"{recipe.CURVES}.png",
        )


if __name__ == "__main__":
    typer.run(main)
