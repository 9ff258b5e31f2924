"""Trains `cifar10_proto_sim`: what is on a small photograph? A wide residual network cut down to
what one processor trains in minutes.

Trained on what `zoo.images.cifar10` finds: all 50,000 photographs, or the part of them in the
folder of the recordings. From the checkout: `python -m zoo.cifar10_proto_sim.train --help`.
"""

import pathlib

import typer

from keras_dml._backend import keras
from keras_dml.losses import PrototypicalLoss
from keras_dml.models import PrototypicalClassifier, wide_resnet
from keras_dml.samplers import EpisodeSampler
from zoo import augment, classifiers, images, publish, recipe

NAME = "cifar10_proto_sim"
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


def batches(x, y, *, seed):
    """Batches of six of each class."""
    return EpisodeSampler(
        x,
        y,
        ways=10,
        shots=1,
        queries=PER_CLASS - 1,
        steps=classifiers.STEPS_PER_EPOCH,
        augment=vary,
        seed=seed,
    )


def limits(counts):
    """What the model is not for.

    Args:
        counts: Images of each split.
    """
    part = [
        f"Trained on {counts['train']:,} of CIFAR-10's {OFFICIAL['train']:,} training images and "
        f"measured on {counts['test']:,} of its {OFFICIAL['test']:,} test images, copies stored as "
        "lossy JPEG, 7 to 9 gray levels (root mean square) from the originals: the figures do "
        "not compare with published ones."
    ]
    return [
        *(part if counts != OFFICIAL else []),
        f"A network of {DEPTH} layers and width {WIDTH}, trained for minutes; published ones have "
        "28 layers of width 10 and hundreds of passes over the data.",
        "Photographs of 32 by 32 pixels of one thing that fills them.",
        "Not trained against attacks.",
        classifiers.OWN_CLASSES,
        classifiers.REFITTED,
    ]


def card(figures, counts, *, seed, steps, minutes):
    """Card of the model; what `publish` measures from the file is left out."""
    return {
        "name": NAME,
        "task": "Name the thing on a small photograph, one of ten kinds, and take new kinds from "
        "few examples",
        "paper": "Monteiro2020, Eqs. 1-4, Algorithm 1 (Learning Semantic Similarities for "
        "Prototypical Classifiers)",
        "input": {
            "channels": ["red", "green", "blue"],
            "units": ["[0, 1], 1 full intensity"] * 3,
            "size": [32, 32],
            "dtype": "float32",
        },
        "data": {
            "builder": "cifar10",
            "licence": "No license stated; the authors ask to be cited. The weights are derived "
            "from these images.",
            "citation": "A. Krizhevsky, Learning Multiple Layers of Features from Tiny Images, "
            "Technical Report, University of Toronto, 2009",
            "train_classes": list(images.CIFAR10_CLASSES),
            "test_classes": list(images.CIFAR10_CLASSES),
            "split": f"Other images of the same classes: {counts['train']:,} to train on, "
            f"{counts['test']:,} to test.",
            "consent": "Photographs of animals and vehicles from the web.",
        },
        "figures": figures,
        "limits": limits(counts),
        "recipe": publish.recipe_of(NAME, seed=seed, steps=steps, minutes=minutes),
    }


def main(
    steps: recipe.Steps = STEPS,
    seed: recipe.Seed = 0,
    out: recipe.Out = None,
    resume: recipe.Resume = False,
    publish_model: recipe.Publish = False,
):
    """Trains on the training images at hand and measures both heads on the test images."""
    out = recipe.out_folder(out, NAME, "sim", seed)
    keras.utils.set_random_seed(seed)
    (x, y), (x_test, y_test) = examples("train"), examples("test")
    model = classifier()
    minutes = classifiers.fit(
        model,
        batches(x, y, seed=seed),
        steps,
        out=out,
        resume=resume,
        learning_rate=LEARNING_RATE,
        weight_decay=WEIGHT_DECAY,
        loss=PrototypicalLoss(label_smoothing=0.1),
    )
    model.refit_prototypes(x, y)
    model.save(out / "model.keras")
    figures = classifiers.keep(classifiers.accuracies(model, x_test, y_test), out)
    if publish_model:
        publish.publish(
            pathlib.Path(__file__).parent,
            model,
            card(
                figures,
                {"train": len(y), "test": len(y_test)},
                seed=seed,
                steps=steps,
                minutes=minutes,
            ),
            classifiers.golden_images(side=32, channels=3),
        )


if __name__ == "__main__":
    typer.run(main)
