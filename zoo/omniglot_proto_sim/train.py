"""Trains `omniglot_proto_sim`: which character of an alphabet never seen is it, from one example of
each?

Trained on the 30 alphabets of the background set, each turned by quarters, which makes four classes
of every character; measured on the 20 alphabets of the evaluation set, upright. Networks of several
seeds each learn by Algorithm 1, all three terms from the first step, and are added up. From the
checkout: `python -m zoo.omniglot_proto_sim.train --help`.
"""

import numpy as np
import typer

from keras_dml._backend import keras
from keras_dml.losses import PrototypicalLoss
from keras_dml.models import PrototypicalClassifier
from zoo import augment, classifiers, images, precision, recipe
from zoo.omniglot_proto_sim import trunks

STEPS, LEARNING_RATE = 5500, 2e-3  # of a network
NETWORKS = 3
WAYS, EXAMPLES = 48, 5  # classes in a batch, and drawings of each
MIXED = 0.3  # batches of characters of all alphabets; the others are of one, as in use
HIDDEN = 32
SIMILARITY = {"dropout": 0.0, "symmetry": "absdiff", "normalize": True}
# Distortion of the drawings in training: as far as hands and paper differ.
DISTORTION = {"turn": np.deg2rad(10), "stretch": 0.15, "shear": 0.15, "shift": 4.0}
EPISODES = 600
TASKS = ((20, 1), (20, 5), (5, 1), (5, 5))  # ways, shots


def examples(split):
    """Drawings and characters of a split."""
    drawings = images.omniglot(split, trunks.SIDE)
    return drawings.images, drawings.labels


def turned(drawings):
    """Images, class ids and alphabets of the drawings and of their three turns by quarters."""
    quarters = range(4)
    x = np.concatenate([np.rot90(drawings.images, k, axes=(1, 2)) for k in quarters])
    y = np.concatenate([4 * drawings.labels + k for k in quarters])
    return x, y, np.tile(drawings.alphabets, 4)


def vary(batch, rng):
    """Drawings distorted a little."""
    return augment.distort(batch, rng, **DISTORTION)


def train(run, drawings, trained_in):
    """The encoder and the similarity's weights of each network."""
    trained = []
    for seed in range(NETWORKS * run.seed, NETWORKS * (run.seed + 1)):
        part = run.part(f"network_{seed}")
        trained.append(train_network(part, drawings, seed, trained_in))
        run.minutes += part.minutes
    return trained


def train_network(run, drawings, seed, trained_in):
    """A network trained by Algorithm 1, its auxiliary head with a margin as in the paper's speech
    task: its encoder and the weights of its similarity."""
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
    trained = trunks.trunk(run.out.name)
    trained.set_weights(model.encoder.get_weights())
    return trained, model.prototypes_layer.similarity.get_weights()


@recipe.command(STEPS)
def main(run, trained_in: precision.Option = precision.Precision.float32):
    """Trains on 30 alphabets and measures few-shot accuracy on 20 others."""
    known, new = (images.omniglot(split, trunks.SIDE) for split in images.SPLITS)
    model = trunks.upright(train(run, known, trained_in), known, HIDDEN, **SIMILARITY)
    model.save(run.out / "model.keras")
    figures = run.keep(classifiers.few_shot(model, new.images, new.labels, TASKS, EPISODES))
    if run.publishes:
        run.options = {"precision": trained_in.value}
        splits = zip(("train_classes", "test_classes"), (known, new), strict=True)
        classes = {key: sorted(set(drawings.alphabets.tolist())) for key, drawings in splits}
        golden = list(new.images[:2])
        run.publish(model, golden, figures, curves=None, data=classes, episodes=EPISODES)


if __name__ == "__main__":
    typer.run(main)
