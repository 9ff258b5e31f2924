"""Trains `gait_qp_wl` and its three rivals: who is walking, from five seconds of one foot's sensor.

Trained on the public gait archive's `train` and `validation` people, measured on its `test` people,
whom the model never sees. Beside the Wasserstein loss the encoder of `qp_wl` imitates a linear
teacher of second-order statistics (`zoo.teacher`), and linear discriminants of the whole window's
correlations move its quantile functions (`zoo.discriminants`). From the checkout:
`python -m zoo.gait_qp_wl.train --help`.
"""

import dataclasses
import functools
from typing import Annotated

import numpy as np
import typer

from keras_dml.models.sequence_encoder import SIZES
from keras_dml.training import People, measure, write_json
from keras_dml.training.golden import synthetic_recordings
from zoo import augment, discriminants, people, recipe, sequences
from zoo.teacher import Teacher

TRIPLETS = (0, 3)  # acceleration, angular velocity
WINDOW = 512  # 5.12 s
PAIRS = 32
STEPS = 3000
TAUGHT = dataclasses.replace(sequences.OPTIMIZATION, learning_rate=3e-3)
HALVE_EVERY = 2  # a covariance of the whole window is what the teacher asks for: see far

# Chosen on 40 people held out of `train`. Between two trials of a person the foot's axis turns by
# 2 degrees (median): how the sensor sits is a trait of the person here, and turning it further in
# training unlearns that. What helps is more people (right feet, channels mixed at random) and a
# teacher that sees covariances (`figures_are` in about.json).
DEGREES, GAIN, NOISE, MIX, TOGETHER = 3.0, 0.03, 0.03, 0.3, 0.5
LAGS, STRIDE = (0, 4, 8, 16), 128  # of the teacher, in steps
# Of the correlations that move the filters. Three times a third of the people of `train` and
# `validation` held out, 1,500 steps: EER 1.2 % in place of 2.7 %, 1.6 % in place of 2.0 % across
# trials, identified 98.9 % in place of 95.4 %. 24 to 64 discriminants and other lags up to 32 or 40
# are at 1.2 to 1.9 %; a multilayer perceptron on pooled activations, trained, loses (4.1 %).
SHIFT_LAGS, DISCRIMINANTS = (0, 4, 8, 16, 32), 32

Taught = Annotated[
    bool, typer.Option("--teacher/--no-teacher", help="qp_wl: imitate the linear teacher too.")
]
Shifted = Annotated[
    bool, typer.Option("--shift/--no-shift", help="qp_wl: move filters by linear discriminants.")
]


def walks(split, foot="left"):
    """Walks of one foot, from the first to the last annotated step: people stand still at both ends
    of a trial.

    Args:
        split: A split of the data set.
        foot: `"left"` or `"right"`.
    """
    records = list(people.read(f"ipol_gait/{foot}_foot", split))
    found = people.collect(records, lambda record: int(record["trial"]))
    for i, record in enumerate(records):
        steps = np.concatenate([record["left_steps"], record["right_steps"]])
        found.signals[i] = found.signals[i][steps.min() : steps.max()]
    return found


def overlapping_parts(walk):
    """Each walk as two overlapping recordings, so that a pair may come from one trial or from
    two."""
    cut = People([], [], [])
    for signal, subject, session in zip(walk.signals, walk.subjects, walk.sessions, strict=True):
        part = max(WINDOW, int(0.6 * len(signal)))
        cut += People([signal[:part], signal[-part:]], [subject] * 2, [session] * 2)
    return cut


def vary(batch, rng, stddev):
    """Walkers that nobody recorded, and what differs between two windows of one: how the sensor
    sits, gains, noise."""
    batch = augment.mix_channels(batch / stddev, rng, MIX, TOGETHER) * stddev
    batch = augment.rotate(batch, rng, DEGREES, TRIPLETS)
    return augment.add_noise(augment.scale(batch, rng, GAIN), rng, NOISE * stddev)


def training_walks(splits):
    """Left feet, and right feet as further people: they walk similarly, not the same."""
    left = [walks(split, "left") for split in splits]
    right = [walks(split, "right") for split in splits]
    for walk in right:
        walk.subjects = [f"{subject} right" for subject in walk.subjects]
    every = functools.reduce(People.__add__, left + right)
    return overlapping_parts(every).at_least(WINDOW, 2)


@recipe.command(STEPS)
def main(run, method: sequences.Method = "qp_wl", taught: Taught = True, shifted: Shifted = True):
    """Trains on the walkers of `train` and `validation`, measures those of `test` by both
    protocols."""
    walkers = training_walks(("train", "validation"))
    left = walkers.take(["right" not in subject for subject in walkers.subjects]).signals
    stddev = np.concatenate(left).std(axis=0)
    seen = walkers.windows(WINDOW, STRIDE)
    seen_signals = np.stack(seen.signals)
    teacher = None
    if taught and method == "qp_wl":
        teacher = Teacher(seen_signals, seen.subjects, stddev, LAGS, SIZES["edge"][-1])
    augmented = functools.partial(vary, stddev=stddev)
    encoder = sequences.train(
        run,
        method,
        walkers,
        batches={"pairs": PAIRS, "length": WINDOW, "augment": augmented},
        adapt_to=left,
        teacher=teacher,
        optimization=TAUGHT if teacher else sequences.OPTIMIZATION,
        halve_every=HALVE_EVERY,
    )
    test = walks("test").windows(WINDOW)
    if shifted and method == "qp_wl":
        encoder = discriminants.shifted(
            encoder, seen_signals, seen.subjects, SHIFT_LAGS, DISCRIMINANTS
        )
        distances = discriminants.distances(encoder, np.stack(test.signals))
        alone = measure.of_people(distances, test).figures
        write_json(run.out / "discriminants.json", alone)
        print(f"the discriminants alone\n{measure.summary(alone)}\nthe model")
    measured = sequences.evaluate(run, encoder, test)
    if run.publishes and method == "qp_wl":
        known = {subject.removesuffix(" right") for subject in walkers.subjects}
        run.publish(
            encoder,
            synthetic_recordings(len(stddev), (WINDOW, 100, 64), stddev),
            measured,
            data={
                "train_subjects": sorted(known, key=int),
                "test_subjects": sorted(set(test.subjects), key=int),
            },
            recordings=seen.signals,
        )


if __name__ == "__main__":
    typer.run(main)
