"""Trains `mnist_proto_sim`: which digit is it? Three convolutions, prototypes and a learned
similarity.

From the checkout: `python -m zoo.mnist_proto_sim.train --help`.
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
WIDTH, EMBEDDING = 32, 64  # a LeNet had 99.0 % after 6,000 steps
SHIFT = 2  # pixels, at most
HIDDEN = 128

examples = images.mnist
batches = functools.partial(classifiers.batches, ways=10, per_class=PER_DIGIT)


def vary(batch, rng):
    """Digits shifted a little."""
    return augment.shift_pixels(batch, rng, SHIFT)


def figures_of(model):
    """Rows of the card: the test images, and the characters of Omniglot as other classes."""
    test, new = examples("test"), images.omniglot("test")
    beyond = tasks.rows(model, *test, new.images, new.labels)
    return classifiers.accuracies(model, *test) + beyond


@recipe.command(STEPS)
def main(run):
    """Trains on the 60,000 training images and measures on the 10,000 test images."""
    keras.utils.set_random_seed(run.seed)
    encoder = conv4(width=WIDTH, blocks=3, embedding=EMBEDDING)
    model = PrototypicalClassifier(encoder, 10, hidden=(HIDDEN,), class_names=DIGITS)
    x, y = examples("train")
    run.fit(
        model,
        batches(x, y, vary=vary, seed=run.seed),
        classifiers.optimization(LEARNING_RATE),
        loss=PrototypicalLoss(label_smoothing=0.1),
    )
    model.refit_prototypes(x, y)
    figures = run.keep(figures_of(model))
    if run.publishes:
        run.publish(model, synthetic_images(), figures, curves=None)


if __name__ == "__main__":
    typer.run(main)
