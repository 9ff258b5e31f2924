"""Trains `cifar10_proto_sim`: what is on a small photograph? A wide residual network cut down to
what two cores train in forty minutes.

Trained on what `zoo.images.cifar10` finds: all 50,000 photographs, or the part of them in the
folder of the recordings. Beside it a softmax head with as many weights as prototypes and similarity
have, on the same encoder, trained alone by the same batches and steps. From the checkout:
`python -m zoo.cifar10_proto_sim.train --help`.
"""

from typing import Annotated

import numpy as np
import typer

from keras_dml import inference
from keras_dml._backend import keras
from keras_dml.losses import PrototypicalLoss
from keras_dml.models import PrototypicalClassifier, wide_resnet
from keras_dml.training.golden import synthetic_images
from zoo import augment, classifiers, images, precision, recipe, tasks

DEPTH, WIDTH, HIDDEN = 16, 2, 128
SOFTMAX_HIDDEN = 247  # units that give a softmax the 34,000 weights of prototypes and similarity
PER_CLASS = 6  # rows of each class in a batch
STEPS, LEARNING_RATE, WEIGHT_DECAY = 6000, 2e-3, 0.05
SMOOTHING = 0.1
SHIFT, ERASED = 4, 12  # pixels at most, and side of the square that is lost
OFFICIAL = {"train": 50_000, "test": 10_000}
HELD_OUT_SEED = 5

HELD_OUT = "Training images that do not train: measured in place of the test images, to choose by."
HeldOut = Annotated[int, typer.Option(min=0, help=HELD_OUT)]


def examples(split):
    """Images and labels of a split as the model takes them."""
    return images.cifar10(split)


def encoder():
    """The untrained encoder, without dropout."""
    return wide_resnet(DEPTH, WIDTH, dropout=0.0)


def classifier(encoder):
    """The untrained model."""
    names = list(images.CIFAR10_CLASSES)
    return PrototypicalClassifier(encoder, 10, hidden=(HIDDEN,), class_names=names)


def softmax(encoder):
    """The untrained control."""
    return classifiers.softmax(encoder, 10, SOFTMAX_HIDDEN)


def vary(batch, rng):
    """Images mirrored or not, shifted a little, a square of them lost."""
    moved = augment.shift_pixels(augment.mirror(batch, rng), rng, SHIFT)
    return augment.erase(moved, rng, ERASED)


def trained(run, head, loss, x, y, trained_in):
    """A classifier trained from random weights; the same batches for every head.

    Args:
        run: `zoo.recipe.Run`.
        head: `classifier` or `softmax`.
        loss: Class or function of its loss.
        x: Images, shape `(images, 32, 32, 3)`.
        y: Labels, shape `(images,)`.
        trained_in: Precision of the encoder's training.
    """
    keras.utils.set_random_seed(run.seed)
    with precision.layers_in(trained_in):
        built = encoder()
    model = head(built)
    run.fit(
        model,
        classifiers.batches(x, y, ways=10, per_class=PER_CLASS, vary=vary, seed=run.seed),
        classifiers.optimization(LEARNING_RATE, weight_decay=WEIGHT_DECAY),
        loss=loss(label_smoothing=SMOOTHING),
    )
    kept = head(encoder())
    kept.set_weights(model.get_weights())
    return kept


def both(run, x, y, trained_in):
    """The model, and beside it the softmax as a `keras.Model` that gives its logits."""
    parts = run.part("model"), run.part("softmax")
    model = trained(parts[0], classifier, PrototypicalLoss, x, y, trained_in)
    model.refit_prototypes(x, y)
    alone = trained(parts[1], softmax, classifiers.softmax_loss, x, y, trained_in)
    run.minutes = sum(part.minutes for part in parts)
    return model, classifiers.logits(alone)


def about(counts):
    """Static part of the card; its first limit and its headline are for a part of the set alone.

    Args:
        counts: Images of each split.
    """
    known = recipe.about_model("cifar10_proto_sim")
    if counts == OFFICIAL:
        known["limits"] = known["limits"][1:]
        known["headline"]["trials"] = "the test images"
    return known


def split(x, y, count):
    """Images and labels to train on, and `count` others, drawn at random."""
    order = np.random.default_rng(HELD_OUT_SEED).permutation(len(y))
    return tuple((x[rows], y[rows]) for rows in (order[count:], order[:count]))


@recipe.command(STEPS)
def main(run, trained_in: precision.Option = precision.Precision.float32, held_out: HeldOut = 0):
    """Trains on the training images at hand and measures all heads on the test images."""
    if held_out and run.publishes:
        raise typer.BadParameter("What is published trains on all images: give no --held-out.")
    known, new = examples("train"), examples("test")
    if held_out:
        known, new = split(*known, held_out)
    model, control = both(run, *known, trained_in)
    figures = [
        *classifiers.accuracies(model, *new),
        classifiers.accuracy(inference.embed(control, new[0], batch_size=500), new[1], "softmax"),
    ]
    if not held_out:
        figures += tasks.known_classes(model, *new)
    run.keep(figures)
    if run.publishes:
        counts = {"train": len(known[1]), "test": len(new[1])}
        facts = {**counts, "passes": round(run.steps * 10 * PER_CLASS / counts["train"])}
        run.options = {"precision": trained_in.value}
        golden, controls = synthetic_images(side=32, channels=3), {"softmax": control}
        given = {"curves": None, "about": about(counts), "controls": controls}
        run.publish(model, golden, figures, **given, **facts)


if __name__ == "__main__":
    typer.run(main)
