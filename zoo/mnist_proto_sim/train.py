"""Trains `mnist_proto_sim`, a classifier of digits with three convolutions, prototypes and a
learned similarity.

To list the options, run `python -m zoo.mnist_proto_sim.train --help` from the checkout.
"""

import functools

import typer

from keras_dml._backend import keras
from keras_dml.losses import PrototypicalLoss
from keras_dml.models import PrototypicalClassifier, conv4
from keras_dml.training.golden import synthetic_images
from zoo import augment, classifiers, images, recipe, tasks

DIGITS = [str(digit) for digit in range(10)]
PER_DIGIT = 13  # rows of each digit in a batch
STEPS, LEARNING_RATE = 2500, 2e-3
WIDTH, EMBEDDING = 32, 64  # in place of them, a LeNet had 99.0 % after 6,000 steps
SHIFT = 2  # pixels, at most
HIDDEN, SMOOTHING = 128, 0.1
SOFTMAX_HIDDEN = 230  # so that the softmax has 17,300 weights, as prototypes and similarity have

examples = images.mnist
batches = functools.partial(classifiers.batches, ways=10, per_class=PER_DIGIT)


def vary(batch, rng):
    """Shifts digits by a few pixels."""
    return augment.shift_pixels(batch, rng, SHIFT)


def measure(model):
    """Computes the figures of the card on the test images and on characters of Omniglot."""
    test, new = examples("test"), images.omniglot("test")
    rows = tasks.rows(model, *test, new.images, new.labels)
    return classifiers.accuracies(model, *test) + rows


def classifier(encoder):
    """Builds the untrained model."""
    return PrototypicalClassifier(encoder, 10, hidden=(HIDDEN,), class_names=DIGITS)


def softmax(encoder):
    """Builds the untrained control, a softmax."""
    return classifiers.softmax(encoder, 10, SOFTMAX_HIDDEN)


def train_classifier(run, head, loss, x, y):
    """Trains a classifier from random weights, with the same batches for every head.

    Args:
        run: `zoo.recipe.Run`.
        head: `classifier` or `softmax`.
        loss: Class or function that builds the loss of `head`.
        x: Images, shape `(images, 28, 28, 1)`.
        y: Digits, shape `(images,)`.
    """
    keras.utils.set_random_seed(run.seed)
    model = head(conv4(width=WIDTH, blocks=3, embedding=EMBEDDING))
    run.fit(
        model,
        batches(x, y, vary=vary, seed=run.seed),
        classifiers.optimization(LEARNING_RATE),
        loss=loss(label_smoothing=SMOOTHING),
    )
    return model


@recipe.command(STEPS)
def main(run):
    """Trains a classifier on the 60,000 training images and measures it on the 10,000 test images.

    With --publish, also trains the softmax that the card lists.
    """
    x, y = examples("train")
    model = train_classifier(run, classifier, PrototypicalLoss, x, y)
    model.refit_prototypes(x, y)
    figures = run.keep(measure(model))
    if run.publishes:
        part = run.part("softmax")
        control = train_classifier(part, softmax, classifiers.softmax_loss, x, y)
        controls = {"softmax": classifiers.logits(control)}
        run.publish(model, synthetic_images(), figures, curves=None, controls=controls)


if __name__ == "__main__":
    typer.run(main)
