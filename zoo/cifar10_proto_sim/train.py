"""Trains `cifar10_proto_sim`: what is on a small photograph? A wide residual network cut down to
what one processor trains in minutes.

Trained on what `zoo.images.cifar10` finds: all 50,000 photographs, or the part of them in the
folder of the recordings. From the checkout: `python -m zoo.cifar10_proto_sim.train --help`.
"""

import typer

from keras_dml._backend import keras
from keras_dml.losses import PrototypicalLoss
from keras_dml.models import PrototypicalClassifier, wide_resnet
from keras_dml.training.golden import synthetic_images
from zoo import augment, classifiers, images, recipe, tasks

# A step of 60 images takes 0.18 s of one core; with 16 layers of this width it takes twice that.
DEPTH, WIDTH, HIDDEN = 10, 2, 128
PER_CLASS = 6  # rows of each class in a batch
STEPS, LEARNING_RATE, WEIGHT_DECAY = 3000, 2e-3, 0.05
SHIFT = 2  # pixels, at most
OFFICIAL = {"train": 50_000, "test": 10_000}


def examples(split):
    """Images and labels of a split as the model takes them."""
    return images.cifar10(split)


def classifier():
    """The untrained model. No dropout in the encoder: of 10,000 images it sees each 18 times."""
    encoder = wide_resnet(DEPTH, WIDTH, dropout=0.0)
    return PrototypicalClassifier(
        encoder, 10, hidden=(HIDDEN,), class_names=list(images.CIFAR10_CLASSES)
    )


def vary(batch, rng):
    """Images mirrored or not and shifted a little."""
    return augment.shift_pixels(augment.mirror(batch, rng), rng, SHIFT)


def about(counts):
    """Static part of the card; its first limit holds for a part of the set alone.

    Args:
        counts: Images of each split.
    """
    known = recipe.about_model("cifar10_proto_sim")
    if counts == OFFICIAL:
        known["limits"] = known["limits"][1:]
    return known


@recipe.command(STEPS)
def main(run):
    """Trains on the training images at hand and measures both heads on the test images."""
    keras.utils.set_random_seed(run.seed)
    (x, y), (x_test, y_test) = examples("train"), examples("test")
    model = classifier()
    run.fit(
        model,
        classifiers.batches(x, y, ways=10, per_class=PER_CLASS, vary=vary, seed=run.seed),
        classifiers.optimization(LEARNING_RATE, weight_decay=WEIGHT_DECAY),
        loss=PrototypicalLoss(label_smoothing=0.1),
    )
    model.refit_prototypes(x, y)
    model.save(run.out / "model.keras")
    figures = classifiers.accuracies(model, x_test, y_test)
    figures = run.keep(figures + tasks.known_classes(model, x_test, y_test))
    if run.publishes:
        counts = {"train": len(y), "test": len(y_test)}
        golden = synthetic_images(side=32, channels=3)
        run.publish(model, golden, figures, curves=None, about=about(counts), **counts)


if __name__ == "__main__":
    typer.run(main)
