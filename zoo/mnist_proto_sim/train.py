"""Trains `mnist_proto_sim`: which digit is it? Three convolutions, prototypes and a learned
similarity.

From the checkout: `python -m zoo.mnist_proto_sim.train --help`.
"""

import pathlib

import typer

from keras_dml._backend import keras
from keras_dml.losses import PrototypicalLoss
from keras_dml.models import PrototypicalClassifier, conv4
from keras_dml.samplers import EpisodeSampler
from zoo import augment, classifiers, images, publish, recipe

NAME = "mnist_proto_sim"
DIGITS = [str(digit) for digit in range(10)]
PER_DIGIT = 13  # rows of each digit in a batch
STEPS, LEARNING_RATE = 2500, 2e-3
WIDTH, EMBEDDING = 32, 64  # a LeNet had 99.0 % after 6,000 steps
SHIFT = 2  # pixels, at most
HIDDEN = 128


def examples(split):
    """Images and ids of a split."""
    return images.mnist(split)


def batches(x, y, *, vary=None, seed):
    """Batches of 13 of each digit."""
    return EpisodeSampler(
        x,
        y,
        ways=10,
        shots=1,
        queries=PER_DIGIT - 1,
        steps=classifiers.STEPS_PER_EPOCH,
        augment=vary,
        seed=seed,
    )


def described(name, task, figures, *, seed, steps, minutes, limits):
    """Card of a model of digits; what `publish` measures from the file is left out."""
    return {
        "name": name,
        "task": task,
        "paper": "Monteiro2020, Eqs. 1-4, Algorithm 1 (Learning Semantic Similarities for "
        "Prototypical Classifiers)",
        "input": {
            "channels": ["ink"],
            "units": ["[0, 1], ink 1"],
            "size": [28, 28],
            "dtype": "float32",
        },
        "data": {
            "builder": "mnist",
            "licence": "Y. LeCun and C. Cortes hold the copyright; commonly stated as CC BY-SA "
            "3.0. The weights are derived from these images: name the source.",
            "citation": "Y. LeCun, L. Bottou, Y. Bengio, P. Haffner, Gradient-Based Learning "
            "Applied to Document Recognition, Proceedings of the IEEE 86(11), 1998",
            "train_classes": DIGITS,
            "test_classes": DIGITS,
            "split": "The 10,000 test images of MNIST, by other writers.",
            "consent": "Digits that people wrote for a form, without names; not personal data.",
        },
        "figures": figures,
        "limits": [
            "White digits on black, centerd as MNIST centers them: center by mass in 28 x 28.",
            "A drawing that is no digit gets the nearest one; `keras_dml.evaluation.novelty` may "
            "detect these, which was not measured.",
            classifiers.OWN_CLASSES,
            *limits,
        ],
        "recipe": publish.recipe_of(name, seed=seed, steps=steps, minutes=minutes),
    }


def main(
    steps: recipe.Steps = STEPS,
    seed: recipe.Seed = 0,
    out: recipe.Out = None,
    resume: recipe.Resume = False,
    publish_model: recipe.Publish = False,
):
    """Trains on the 60,000 training images and measures on the 10,000 test images."""
    out = recipe.out_folder(out, NAME, "sim", seed)
    keras.utils.set_random_seed(seed)
    encoder = conv4(width=WIDTH, blocks=3, embedding=EMBEDDING)
    model = PrototypicalClassifier(encoder, 10, hidden=(HIDDEN,), class_names=DIGITS)
    x, y = images.mnist("train")
    shifted = lambda batch, rng: augment.shift_pixels(batch, rng, SHIFT)  # noqa: E731
    minutes = classifiers.fit(
        model,
        batches(x, y, vary=shifted, seed=seed),
        steps,
        out=out,
        resume=resume,
        learning_rate=LEARNING_RATE,
        loss=PrototypicalLoss(label_smoothing=0.1),
    )
    model.refit_prototypes(x, y)
    figures = classifiers.keep(classifiers.accuracies(model, *images.mnist("test")), out)
    if publish_model:
        publish.publish(
            pathlib.Path(__file__).parent,
            model,
            described(
                NAME,
                "Read digits: classify, verify and retrieve them, and take new signs from few "
                "examples",
                figures,
                seed=seed,
                steps=steps,
                minutes=minutes,
                limits=[
                    "Not trained against attacks: `mnist_proto_sim_at` is.",
                    classifiers.REFITTED,
                ],
            ),
            classifiers.golden_images(),
        )


if __name__ == "__main__":
    typer.run(main)
