"""Trains `omniglot_proto_sim`, a one-shot classifier of characters from alphabets that it was not
trained on.

The training data are the 30 alphabets of the background set. Each character is rotated by quarter
turns, and its four orientations are four classes. The test data are the 20 alphabets of the
evaluation set, without rotation. Three networks with different seeds are trained by Algorithm 1 of
Monteiro2020, with all three terms of the loss from the first step. The model adds the similarities
of the three networks. To list the options, run `python -m zoo.omniglot_proto_sim.train --help` from
the checkout.
"""

import numpy as np
import typer

from keras_dml._backend import keras
from keras_dml.losses import PrototypicalLoss
from keras_dml.models import PrototypicalClassifier
from zoo import augment, classifiers, images, precision, recipe
from zoo.omniglot_proto_sim import trunks

STEPS, LEARNING_RATE = 5500, 2e-3  # of each network
NETWORKS = 3
WAYS, EXAMPLES = 48, 5  # classes in a batch, and drawings of each class
MIXED = 0.3  # fraction of batches with characters of all alphabets; the others have one alphabet
HIDDEN = 32
SIMILARITY = {"dropout": 0.0, "symmetry": "absdiff", "normalize": True}
# Distortion of the drawings in training. The distortion is about as large as the differences
# between people who draw the same character.
DISTORTION = {"turn": np.deg2rad(10), "stretch": 0.15, "shear": 0.15, "shift": 4.0}
EPISODES = 600
TASKS = ((20, 1), (20, 5), (5, 1), (5, 5))  # ways, shots


def examples(split):
    """Reads the drawings of a split and the labels of their characters."""
    drawings = images.omniglot(split, trunks.SIDE)
    return drawings.images, drawings.labels


def turned(drawings):
    """Returns images, class ids and alphabets of the drawings and of their rotations by one, two
    and three quarter turns.
    """
    quarters = range(4)
    x = np.concatenate([np.rot90(drawings.images, k, axes=(1, 2)) for k in quarters])
    y = np.concatenate([4 * drawings.labels + k for k in quarters])
    return x, y, np.tile(drawings.alphabets, 4)


def vary(batch, rng):
    """Distorts drawings slightly."""
    return augment.distort(batch, rng, **DISTORTION)


def train(run, drawings, trained_in):
    """Trains all networks. Returns one pair `(encoder, weights of the similarity)` per network."""
    networks = []
    for seed in range(NETWORKS * run.seed, NETWORKS * (run.seed + 1)):
        part = run.part(f"network_{seed}")
        networks.append(train_network(part, drawings, seed, trained_in))
        run.minutes += part.minutes
    return networks


def train_network(run, drawings, seed, trained_in):
    """Trains a network by Algorithm 1. Returns the encoder and the weights of the similarity.

    The auxiliary head is an additive margin softmax, as in the paper's speech task.
    """
    keras.utils.set_random_seed(seed)
    x, y, alphabets = turned(drawings)
    with precision.layers_in(trained_in):
        encoder = trunks.trunk(run.out.name)
    model = PrototypicalClassifier(
        encoder, len(np.unique(y)), aux="am", decay=0.5, hidden=(HIDDEN,), **SIMILARITY
    )
    classifiers.begin_as_a_metric(model.prototypes_layer.similarity)
    run.fit(
        model,
        classifiers.batches(
            x,
            y,
            ways=WAYS,
            per_class=EXAMPLES,
            vary=vary,
            seed=seed,
            groups=alphabets,
            mixed=MIXED,
        ),
        classifiers.optimization(LEARNING_RATE),
        loss=PrototypicalLoss(candidates="batch"),
    )
    float32_encoder = trunks.trunk(run.out.name)
    float32_encoder.set_weights(model.encoder.get_weights())
    return float32_encoder, model.prototypes_layer.similarity.get_weights()


@recipe.command(STEPS)
def main(run, trained_in: precision.Option = precision.Precision.float32):
    """Trains a classifier on 30 alphabets and measures its few-shot accuracy on 20 other
    alphabets.
    """
    training, new = (images.omniglot(split, trunks.SIDE) for split in images.SPLITS)
    model = trunks.upright(train(run, training, trained_in), training, HIDDEN, **SIMILARITY)
    model.save(run.out / "model.keras")
    figures = run.keep(classifiers.few_shot(model, new.images, new.labels, TASKS, EPISODES))
    if run.publishes:
        run.options = {"precision": trained_in.value}
        splits = zip(("train_classes", "test_classes"), (training, new), strict=True)
        classes = {key: sorted(set(drawings.alphabets.tolist())) for key, drawings in splits}
        golden = list(new.images[:2])
        run.publish(model, golden, figures, curves=None, data=classes, episodes=EPISODES)


if __name__ == "__main__":
    typer.run(main)
