"""Trains `gait_qp_wl` and three other methods, which recognize walkers by one foot's sensor.

The model takes windows of five seconds. The model uses the quantile layer and the Wasserstein loss
of Abdelwahab2019. The model is trained on the people in the splits `train` and `validation` of the
public gait archive, and measured on the people in the split `test`. To list the options, run
`python -m zoo.gait_qp_wl.train --help` from the checkout.
"""

import dataclasses
import functools

import numpy as np
import typer

from keras_dml.training import People
from zoo import augment, gait, recipe, sequences

TRIPLETS = (0, 3)  # acceleration, angular velocity
STEPS = 2500

known_recordings = gait.known_recordings


@dataclasses.dataclass(frozen=True)
class Settings:
    """Settings that `zoo.gait_qp_wl.search` varies.

    Attributes:
        learning_rate: Largest learning rate.
        weight_decay: See `keras_dml.training.Optimization`.
        pairs: Number of pairs in a batch.
        length: Number of time steps in a training window.
        halve_every: See `keras_dml.models.sequence_encoder`.
        knots: See `keras_dml.models.sequence_encoder`.
        loss: Arguments of the method's loss.
        mix: Strength of the mixing of channels, see `keras_dml.training.augment.mix_channels`.
        degrees: Largest simulated rotation of the sensor between two windows of a person, in
            degrees. In this data the axis of a person's sensor differs by only 2 degrees (median)
            between two trials, so the placement of the sensor helps to recognize the person.
        gain: Largest change of a channel's gain between two windows, as a fraction.
        noise: Standard deviation of the added noise, as a multiple of the channel's standard
            deviation.
        mirrored: Whether right feet are mirrored to left feet.
        other_trial: Whether the positive example for an anchor is always from another trial of the
            same person.
    """

    learning_rate: float = 3e-3
    weight_decay: float | None = None
    pairs: int = 64
    length: int = gait.WINDOW
    halve_every: int = 1
    knots: int = 16
    loss: dict = dataclasses.field(default_factory=dict)
    mix: float = 0.3
    degrees: float = 3.0
    gain: float = 0.03
    noise: float = 0.03
    mirrored: bool = True
    other_trial: bool = True


def overlapping_parts(walk):
    """Divides each walk into two overlapping recordings, so that a pair can come from one trial."""
    cut = People([], [], [])
    for signal, subject, session in zip(walk.signals, walk.subjects, walk.sessions, strict=True):
        part = max(gait.WINDOW, int(0.6 * len(signal)))
        cut += People([signal[:part], signal[-part:]], [subject] * 2, [session] * 2)
    return cut


def vary(batch, rng, settings, stddev):
    """Augments a batch. The augmentation simulates new walkers, rotated sensors, changed gains and
    noise.
    """
    batch = augment.mix_channels(batch / stddev, rng, settings.mix, together=0.5) * stddev
    batch = augment.rotate(batch, rng, settings.degrees, TRIPLETS)
    batch = augment.scale(batch, rng, settings.gain)
    return augment.add_noise(batch, rng, settings.noise * stddev)


def trained(run, method, walkers, settings):
    """Trains an encoder on the given walkers.

    Args:
        run: `zoo.recipe.Run`.
        method: One of `sequences.METHODS`.
        walkers: Result of `gait.both_feet`, with all people or some of them.
        settings: `Settings`.
    """
    left = gait.left_feet(walkers).signals
    stddev = np.concatenate(left).std(axis=0)
    walkers = gait.mirrored(walkers) if settings.mirrored else walkers
    walks = walkers if settings.other_trial else overlapping_parts(walkers)
    walks = walks.at_least(gait.WINDOW, 2)
    batches = {
        "pairs": settings.pairs,
        "length": settings.length,
        "augment": functools.partial(vary, settings=settings, stddev=stddev),
        "sessions": walks.sessions if settings.other_trial else None,
    }
    return sequences.train(
        run,
        method,
        walks,
        batches=batches,
        adapt_to=left,
        optimization=dataclasses.replace(
            sequences.OPTIMIZATION,
            learning_rate=settings.learning_rate,
            weight_decay=settings.weight_decay,
        ),
        loss=settings.loss,
        halve_every=settings.halve_every,
        knots=settings.knots,
    )


# For each method, the settings that were best in a cross-validation over the training people, see
# `figures/search.csv`.
SETTINGS = {
    "qp_wl": Settings(),
    "qp_npl": Settings(loss={"scale": 128.0}),
    "mp_npl": Settings(loss={"scale": 128.0}),
    "qp_cls": Settings(),
}
RIVAL = "qp_npl"  # the best one of the other methods


@recipe.command(STEPS)
def main(run, method: sequences.Method = "qp_wl"):
    """Trains a model on the walkers of the splits `train` and `validation`, and measures it on the
    walkers of the split `test` with two protocols. With --publish, also trains the other method
    that the card lists.
    """
    walkers = gait.both_feet()
    encoder = trained(run, method, walkers, SETTINGS[method])
    test = gait.walks("test").windows(gait.WINDOW)
    measured = sequences.evaluate(run, encoder, test)
    if run.publishes and method == "qp_wl":
        rival = trained(run.part(RIVAL), RIVAL, walkers, SETTINGS[RIVAL])
        gait.publish(run, encoder, walkers, test, measured, controls={RIVAL: rival})


if __name__ == "__main__":
    typer.run(main)
