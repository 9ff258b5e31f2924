"""Trains `omniglot_proto_sim`: which character of an alphabet never seen is it, from one example of
each?

Trained on the 30 alphabets of the background set, each turned by quarters, which makes four classes
of every character; measured on the 20 alphabets of the evaluation set, upright. Three trunks learn
by the auxiliary head alone, whose step costs half of one with all three terms; then the similarity
learns on their embeddings side by side. From the checkout:
`python -m zoo.omniglot_proto_sim.train --help`.
"""

import numpy as np
import typer

from keras_dml._backend import keras
from keras_dml.losses import PrototypicalLoss
from keras_dml.models import PrototypicalClassifier
from zoo import augment, classifiers, images, precision, recipe
from zoo.omniglot_proto_sim import trunks

STEPS, LEARNING_RATE = 5500, 2e-3  # of a trunk; twice as many fit the alphabets trained on
# Few and small: with five of the training alphabets held out, 20-way 1-shot is 94.6 % from none to
# 250 steps and 92.9 % after 1,000 of ten times the length, when it tells the characters trained on
# by what is theirs alone.
SIMILARITY_STEPS, SIMILARITY_LEARNING_RATE = 250, 1e-4
WAYS, EXAMPLES = 48, 5  # classes in a batch, and drawings of each
SIMILARITY = {"hidden": (32,), "dropout": 0.0, "symmetry": "absdiff", "normalize": True}
# Distortion of the drawings in training: as far as hands and paper differ.
DISTORTION = {"turn": np.deg2rad(10), "stretch": 0.15, "shear": 0.15, "shift": 2.0}
EPISODES = 600
TASKS = ((20, 1), (20, 5), (5, 1), (5, 5))  # ways, shots


def examples(split):
    """Drawings and characters of a split."""
    drawings = images.omniglot(split)
    return drawings.images, drawings.labels


def turned(drawings):
    """Images and class ids of the drawings and of their three turns by quarters."""
    quarters = range(4)
    x = np.concatenate([np.rot90(drawings.images, k, axes=(1, 2)) for k in quarters])
    y = np.concatenate([4 * drawings.labels + k for k in quarters])
    return x, y


def vary(batch, rng):
    """Drawings distorted a little."""
    return augment.distort(batch, rng, **DISTORTION)


def train(run, drawings, trained_in):
    """The classifier, trained in two stages."""
    encoders = []
    for kind, (copies, fraction) in trunks.KINDS.items():
        for seed in range(copies * run.seed, copies * (run.seed + 1)):
            part = run.part(f"{kind.__name__}_{seed}")
            steps = round(fraction * run.steps)
            encoders.append(train_trunk(part, kind, drawings, steps, seed, trained_in))
            run.minutes += part.minutes
    part = run.part("similarity")
    model = train_similarity(part, trunks.side_by_side(encoders), drawings)
    run.minutes += part.minutes
    return model


def train_trunk(run, kind, drawings, steps, seed, trained_in):
    """A trunk, trained by the auxiliary head alone, with a margin as in the paper's speech task."""
    name = run.out.name
    keras.utils.set_random_seed(seed)
    x, y = turned(drawings)
    with precision.layers_in(trained_in):
        model = PrototypicalClassifier(
            kind(name), len(np.unique(y)), aux="am", decay=0.5, **SIMILARITY
        )
    model.prototypes_layer.similarity.trainable = False
    run.fit(
        model,
        classifiers.batches(x, y, ways=WAYS, per_class=EXAMPLES, vary=vary, seed=seed),
        classifiers.optimization(LEARNING_RATE),
        steps,
        loss=classifiers.softmax_loss(),
    )
    trained = kind(name)
    trained.set_weights(model.encoder.get_weights())
    return trained


def train_similarity(run, encoder, drawings):
    """A classifier whose similarity is trained on an encoder that stays."""
    keras.utils.set_random_seed(run.seed)
    x, y = turned(drawings)
    model = PrototypicalClassifier(encoder, len(np.unique(y)), aux=None, decay=0.5, **SIMILARITY)
    model.encoder.trainable = False
    classifiers.begin_as_a_metric(model.prototypes_layer.similarity)
    run.fit(
        model,
        classifiers.batches(x, y, ways=WAYS, per_class=EXAMPLES, vary=vary, seed=run.seed),
        classifiers.optimization(SIMILARITY_LEARNING_RATE),
        SIMILARITY_STEPS,
        loss=PrototypicalLoss(aux_weight=0.0, candidates="batch"),
    )
    model.encoder.trainable = True  # the published model can be trained further
    return model


@recipe.command(STEPS)
def main(run, trained_in: precision.Option = precision.Precision.float32):
    """Trains on 30 alphabets and measures few-shot accuracy on 20 others."""
    known, new = images.omniglot("train"), images.omniglot("test")
    model = trunks.upright(train(run, known, trained_in), known, **SIMILARITY)
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
