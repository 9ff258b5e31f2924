"""Trains `hdm05_spdnet_rpl`, which recognizes motions of any actor by the joints of the body.

The data contains only four actors, so the figures are cross-validated. A network is trained without
one actor and compares the clips of this actor with the clips of the other three actors. For each
actor, the settings that are best on another actor are used. The networks in this search are trained
on neither of the two actors. The published model is trained on all four actors. To list the
options, run `python -m zoo.hdm05_spdnet_rpl.train --help` from the checkout.
"""

import functools

import numpy as np
import typer

from keras_dml._backend import keras
from keras_dml.layers import CanonicalPose, Covariance
from keras_dml.models import spdnet
from keras_dml.training import People, measure
from keras_dml.training.golden import synthetic_recordings
from tfds_builders.hdm05_mocap.clips import JOINTS
from zoo import augment, baselines, motions, nested, potatoes, recipe

HIPS = (JOINTS.index("lhipjoint"), JOINTS.index("rhipjoint"))
# For training, all clips are resampled to the same length, and batches contain random parts of
# them. The covariance does not depend on how fast a clip is played.
STEPS_A_CLIP, CROP = 128, 104
CLASSES, PER_CLASS = 11, 5  # without two actors, the smallest class has five clips
STEPS = 200
FLOOR = 1e-8  # smallest eigenvalue of the baseline, which needs none: as small as float32 allows
GAIN = 0.1  # bodies differ in size
# In the paper, the smallest eigenvalue is a variance of one square centimeter, and the threshold is
# 2.5.
GRID = [
    {"epsilon": epsilon, "z_threshold": z_threshold, "margin": margin}
    for epsilon in (1e-4, 1e-6)
    for z_threshold in (1.0, 2.5)
    for margin in (1.0, 3.0)
]
CAPTION = (
    "Each clip of four actors is compared with the nearest clip of each motion by the other three "
    "actors. The network was trained on these three actors only."
)


def vary(batch, rng):
    """Scales bodies at random, because people differ in size."""
    return batch * augment.scale(np.ones((len(batch), 1, 1)), rng, GAIN)


def network(epsilon):
    """Returns an untrained encoder that maps joint positions to 20 x 20 matrices. The encoder
    consists of two layers that need no training, followed by the network of the paper.
    """
    matrices = spdnet("hdm05", output="spd", epsilon=epsilon)
    x = signal = keras.Input((None, 3 * len(JOINTS)), name="signal")
    for layer in (CanonicalPose(hips=HIPS), Covariance(name="covariance"), *matrices.layers[1:]):
        x = layer(x)
    return keras.Model(signal, x, name="hdm05_spdnet_rpl")


def train(run, every, settings):
    """Trains an encoder on the given clips."""
    keras.utils.set_random_seed(run.seed)
    encoder = network(settings["epsilon"])
    every = People(
        [motions.resampled(x, STEPS_A_CLIP) for x in every.signals], every.subjects, every.sessions
    )
    batches = {"classes": CLASSES, "per_class": PER_CLASS, "length": CROP, "vary": vary}
    potatoes.train(run, encoder, every, settings["z_threshold"], settings["margin"], **batches)
    return encoder


def choose(run, every):
    """Chooses the settings for each actor by MAP@R on another actor, and the settings for the model
    of all actors.
    """

    def validate(settings, pair):
        rest = motions.by_actor(every, pair)[1]
        encoder = train(run.part(nested.name(settings, pair)), rest, settings)
        return [
            motions.map_at_r(encoder, motions.by_actor(every, actor)[0], rest) for actor in pair
        ]

    return nested.choose(GRID, motions.ACTORS, validate)


def cross_validate(run, every, settings_of_actors):
    """Measures each actor with a network that was trained on the other three actors. Returns the
    measurement and the four networks.
    """
    encoders = []
    for actor, settings in zip(motions.ACTORS, settings_of_actors, strict=True):
        print(f"without {actor}, {settings}")
        rest = motions.by_actor(every, actor)[1]
        encoders.append(train(run.part(f"without_{actor}"), rest, settings))
    measured = motions.over_actors(
        every, [functools.partial(measure.pairwise_distances, encoder) for encoder in encoders]
    )
    plain = functools.partial(baselines.log_euclidean, encoders[0], floor=FLOOR)
    without = motions.over_actors(every, [plain] * len(encoders))
    measured.figures.extend(
        {**row, "protocol": f"{row['protocol']} without a network"} for row in without.figures
    )
    run.save(measured, CAPTION)
    return measured, encoders


@recipe.command(STEPS)
def main(run):
    """Cross-validates over the four actors. With --publish, also trains the final model on all
    actors.
    """
    every = motions.clips()
    settings_of_actors, of_all = choose(run, every)
    measured, encoders = cross_validate(run, every, settings_of_actors)
    if run.publishes:
        final = run.part("final")
        encoder = train(final, every, of_all)
        run.minutes = final.minutes
        golden = synthetic_recordings(3 * len(JOINTS), (120, 60), 0.3)
        run.publish(encoder, golden, measured, recordings=every.signals, folds=encoders)


if __name__ == "__main__":
    typer.run(main)
