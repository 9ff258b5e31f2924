"""Trains `cifar10_proto_sim`, a classifier of small photographs. The encoder is a wide residual
network (WRN) that two cores train in forty minutes.

`zoo.images.cifar10` reads the training images: all 50,000 photographs, or the photographs that the
folder of the recordings contains. The control is a softmax with as many weights as the prototypes
and the similarity have. The softmax is trained alone, on a second encoder. Architecture, batches
and number of steps are the same as for the model. To list the options, run
`python -m zoo.cifar10_proto_sim.train --help` from the checkout.
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
SOFTMAX_HIDDEN = 247  # so that the softmax has 34,000 weights, as prototypes and similarity have
PER_CLASS = 6  # rows of each class in a batch
STEPS, LEARNING_RATE, WEIGHT_DECAY = 6000, 2e-3, 0.05
SMOOTHING = 0.1
SHIFT, ERASED = 4, 12  # largest shift in pixels, and pixels per side of the erased square
OFFICIAL = {"train": 50_000, "test": 10_000}
HELD_OUT_SEED = 5

HELD_OUT = "Number of training images to hold out and to measure instead of the test images."
HeldOut = Annotated[int, typer.Option(min=0, help=HELD_OUT)]


def examples(split):
    """Reads the images and labels of a split in the form that the model takes."""
    return images.cifar10(split)


def encoder():
    """Builds the untrained encoder, without dropout."""
    return wide_resnet(DEPTH, WIDTH, dropout=0.0)


def classifier(encoder):
    """Builds the untrained model."""
    names = list(images.CIFAR10_CLASSES)
    return PrototypicalClassifier(encoder, 10, hidden=(HIDDEN,), class_names=names)


def softmax(encoder):
    """Builds the untrained control, a softmax."""
    return classifiers.softmax(encoder, 10, SOFTMAX_HIDDEN)


def vary(batch, rng):
    """Mirrors images at random, shifts them by a few pixels, and erases a square."""
    shifted = augment.shift_pixels(augment.mirror(batch, rng), rng, SHIFT)
    return augment.erase(shifted, rng, ERASED)


def train_classifier(run, head, loss, x, y, trained_in):
    """Trains a classifier from random weights, with the same batches for every head.

    Args:
        run: `zoo.recipe.Run`.
        head: `classifier` or `softmax`.
        loss: Class or function that builds the loss of `head`.
        x: Images, shape `(images, 32, 32, 3)`.
        y: Labels, shape `(images,)`.
        trained_in: Precision of the encoder's training.
    """
    keras.utils.set_random_seed(run.seed)
    with precision.layers_in(trained_in):
        network = encoder()
    model = head(network)
    run.fit(
        model,
        classifiers.batches(x, y, ways=10, per_class=PER_CLASS, vary=vary, seed=run.seed),
        classifiers.optimization(LEARNING_RATE, weight_decay=WEIGHT_DECAY),
        loss=loss(label_smoothing=SMOOTHING),
    )
    float32_model = head(encoder())
    float32_model.set_weights(model.get_weights())
    return float32_model


def train_model_and_control(run, x, y, trained_in):
    """Trains the model and the softmax. Returns the model, and a `keras.Model` that computes the
    logits of the softmax.
    """
    parts = run.part("model"), run.part("softmax")
    model = train_classifier(parts[0], classifier, PrototypicalLoss, x, y, trained_in)
    model.refit_prototypes(x, y)
    control = train_classifier(parts[1], softmax, classifiers.softmax_loss, x, y, trained_in)
    run.minutes = sum(part.minutes for part in parts)
    return model, classifiers.logits(control)


def about(counts):
    """Returns the static part of the card.

    If the whole data set is available, the texts that describe only a part of the data set are
    removed or replaced.

    Args:
        counts: Number of images of each split.
    """
    card = recipe.about_model("cifar10_proto_sim")
    if counts == OFFICIAL:
        card["limits"] = card["limits"][1:]
        card["headline"]["trials"] = "the test images"
    return card


def split(x, y, count):
    """Divides examples at random into training examples and `count` held-out examples."""
    order = np.random.default_rng(HELD_OUT_SEED).permutation(len(y))
    return tuple((x[rows], y[rows]) for rows in (order[count:], order[:count]))


@recipe.command(STEPS)
def main(run, trained_in: precision.Option = precision.Precision.float32, held_out: HeldOut = 0):
    """Trains on the available training images and measures all heads on the test images."""
    if held_out and run.publishes:
        raise typer.BadParameter(
            "Received --held-out with --publish. A published model is trained on all images. "
            "Remove --held-out."
        )
    training, test = examples("train"), examples("test")
    if held_out:
        training, test = split(*training, held_out)
    model, control = train_model_and_control(run, *training, trained_in)
    scores = inference.embed(control, test[0], batch_size=500)
    figures = [
        *classifiers.accuracies(model, *test),
        classifiers.accuracy(scores, test[1], "softmax"),
    ]
    if not held_out:
        figures += tasks.known_classes(model, *test)
    run.keep(figures)
    if run.publishes:
        counts = {"train": len(training[1]), "test": len(test[1])}
        facts = {**counts, "passes": round(run.steps * 10 * PER_CLASS / counts["train"])}
        run.options = {"precision": trained_in.value}
        golden, controls = synthetic_images(side=32, channels=3), {"softmax": control}
        card = {"curves": None, "about": about(counts), "controls": controls}
        run.publish(model, golden, figures, **card, **facts)


if __name__ == "__main__":
    typer.run(main)
