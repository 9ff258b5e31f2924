"""Trains `hdm05_spdnet_rpl`: which motion is it, from the joints of a body, for any actor.

Four actors are at hand, so the figures are cross-validated: each actor's clips are probes against
those of the others, by a network that has seen the others only. The model that is published is
trained on all. From the checkout: `python -m zoo.hdm05_spdnet_rpl.train --help`.
"""

import numpy as np
import typer

from keras_dml import evaluation, inference
from keras_dml._backend import keras
from keras_dml.layers import CanonicalPose, Covariance
from keras_dml.models import spdnet
from keras_dml.training import People, measure, trials
from keras_dml.training.golden import synthetic_recordings
from tfds_builders.hdm05_mocap.hdm05_mocap_dataset_builder import JOINTS
from zoo import augment, people, potatoes, recipe

ACTORS = ("bd", "bk", "dg", "mm")
HIPS = (JOINTS.index("lhipjoint"), JOINTS.index("rhipjoint"))
# A covariance does not depend on how fast the clip is played: clips are brought to one length for
# training, and batches are random parts of them.
STEPS_A_CLIP, CROP = 128, 104
CLASSES, PER_CLASS = 11, 6
STEPS = 200
GAIN = 0.1  # bodies differ in size
CAPTION = (
    "Every clip of each of four actors against the nearest clip of each motion by the other three, "
    "whom alone the network knew."
)


def clips(actors=ACTORS):
    """Clips as recorded: the class is the motion, the session the actor."""
    found = People([], [], [])
    for actor in actors:
        records = people.read("hdm05_mocap/sequences", f"actor_{actor}")
        found += people.collect(records, lambda _, actor=actor: actor, subject="motion")
    return found


def resampled(signal, steps=STEPS_A_CLIP):
    """A signal at that many equally spaced steps, by linear interpolation."""
    position = np.linspace(0, len(signal) - 1, steps)
    low = np.minimum(position.astype(int), len(signal) - 2)
    fraction = (position - low)[:, None].astype(np.float32)
    return (1 - fraction) * signal[low] + fraction * signal[low + 1]


def vary(batch, rng):
    """Bodies of other sizes."""
    return batch * augment.scale(np.ones((len(batch), 1, 1)), rng, GAIN)


def network():
    """From joint positions to 20 x 20 matrices: the paper's network behind two layers that need no
    training."""
    matrices = spdnet("hdm05", output="spd")
    x = signal = keras.Input((None, 3 * len(JOINTS)), name="signal")
    for layer in (CanonicalPose(hips=HIPS), Covariance(), *matrices.layers[1:]):
        x = layer(x)
    return keras.Model(signal, x, name="hdm05_spdnet_rpl")


def train(run, every):
    """An encoder that is trained on some clips."""
    keras.utils.set_random_seed(run.seed)
    encoder = network()
    every = People([resampled(x) for x in every.signals], every.subjects, every.sessions)
    potatoes.train(
        run, encoder, every, classes=CLASSES, per_class=PER_CLASS, length=CROP, vary=vary
    )
    return encoder


def evaluate(encoder, probes, gallery):
    """Figures of retrieval and verification of probes by the motions of a gallery."""
    embeddings = [inference.embed(encoder, part.signals) for part in (probes, gallery)]
    distances = inference.distance(encoder, *embeddings)
    found = evaluation.retrieval(
        distances,
        probes.subjects,
        gallery_labels=gallery.subjects,
        distance="precomputed",
        k=(1, 3),
    )
    claims = trials.against_gallery(distances, probes.subjects, gallery.subjects, "motions")
    verified = evaluation.verification(claims.scores, claims.genuine)
    retrieval = ("retrieval", len(probes.signals))
    verification = ("verification", claims.scores.size)
    values = {
        "recall_at_1": (found.recall_at_k[1], *retrieval),
        "recall_at_3": (found.recall_at_k[3], *retrieval),
        "map_at_r": (found.map_at_r, *retrieval),
        "auc": (verified.auc, *verification),
        "eer": (verified.eer, *verification),
    }
    rows = [
        {"protocol": kind, "n": 1, "metric": metric, "value": value, "stderr": 0.0, "trials": count}
        for metric, (value, kind, count) in values.items()
    ]
    return measure.Measurement(rows, claims)


def cross_validate(run, every):
    """Measures each actor by a network that knows the other three; gives these networks too."""
    parts, encoders = [], []
    for actor in ACTORS:
        print(f"without {actor}")
        own = np.array([session == actor for session in every.sessions])
        part = run.part(f"without_{actor}")
        encoders.append(train(part, every.take(~own)))
        parts.append(evaluate(encoders[-1], every.take(own), every.take(~own)))
        part.keep(parts[-1].figures)
    measured = measure.over_folds(parts)
    run.save(measured, CAPTION)
    return measured, encoders


@recipe.command(STEPS)
def main(run):
    """Cross-validates over the four actors; with --publish also trains the final model on all."""
    every = clips()
    measured, encoders = cross_validate(run, every)
    if run.publishes:
        final = run.part("final")
        encoder = train(final, every)
        run.minutes = final.minutes
        golden = synthetic_recordings(3 * len(JOINTS), (120, 60), 0.3)
        run.publish(encoder, golden, measured, recordings=every.signals, folds=encoders)


if __name__ == "__main__":
    typer.run(main)
