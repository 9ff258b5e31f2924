"""Trains `mnist_proto_sim_at`, a classifier of digits that withstands attacks of up to 0.3 per
pixel.

The training is adversarial. The page of the model contains a comparison with a LeNet that is
trained by the same recipe, and with a model that is trained without attacks. The attacks use the
raw scores S(z, C), the similarities of an embedding to the prototypes. To list the options, run
`python -m zoo.mnist_proto_sim_at.train --help` from the checkout.
"""

import functools
from typing import Annotated

import numpy as np
import typer
from scipy.stats import binomtest

from keras_dml import zoo as published
from keras_dml._backend import keras
from keras_dml.models import AdversarialTraining, PrototypicalClassifier, lenet, thresholding_cnn
from keras_dml.training.golden import synthetic_images
from zoo import augment, classifiers, precision, recipe, tasks, under_attack
from zoo.mnist_proto_sim import train as clean

TRAINED = 0.33  # epsilon in training, a little above the 0.3 of the attacks; also in about.json
STEPS, LEARNING_RATE = 8000, 1e-3
GRAY_BAND = 0.2  # below 0.4 is black and above 0.6 white, so 0.3 changes gray pixels only
# After 2,500 training steps, we attacked 1,000 of 5,000 held-out training images by APGD on the
# margin. APGD started at two points and at the result of a Square attack with 500 queries. The
# accuracy under this attack is 93.8 % if the training images are distorted in this way, and 92.9 %
# if they are only shifted by one pixel. Without distortions and shifts, longer trainings overfit.
DISTORTION = {"turn": np.deg2rad(8), "stretch": 0.08, "shear": 0.08, "shift": 1.0}
# With ten attack steps per batch, six epochs take 24 minutes on one core, and 97.8 % of 2,000
# held-out training images are classified correctly under PGD-40. The forty steps of Monteiro2020
# would take four times as long.
ATTACK_STEPS = 10
RAMP_STEPS = 700

Images = Annotated[
    int,
    typer.Option(help="Number of test images to attack. The first test images are used."),
]

examples = clean.examples
encoder = functools.partial(thresholding_cnn, gray_band=GRAY_BAND)


def vary(batch, rng):
    """Distorts digits slightly."""
    return augment.distort(batch, rng, **DISTORTION)


def classifier(network):
    """Builds the untrained model.

    Args:
        network: Function that builds the encoder.
    """
    return PrototypicalClassifier(
        network(), 10, hidden=(clean.HIDDEN,), dropout=0.0, class_names=clean.DIGITS
    )


def train_classifier(run, network, trained_in):
    """Trains a classifier on the 60,000 training images under attack.

    Args:
        run: `zoo.recipe.Run`.
        network: Function that builds the encoder.
        trained_in: Precision of the training.
    """
    keras.utils.set_random_seed(run.seed)
    with precision.layers_in(trained_in):
        model = classifier(network)
    trainer = AdversarialTraining(
        model, epsilon=TRAINED, steps=ATTACK_STEPS, ramp_steps=RAMP_STEPS, seed=run.seed
    )
    batches = clean.batches(*examples("train"), vary=vary, seed=run.seed)
    run.fit(trainer, batches, classifiers.optimization(LEARNING_RATE))
    float32_model = classifier(network)
    float32_model.set_weights(model.get_weights())
    float32_model.save(run.out / "model.keras")
    return float32_model


def attack_comparison_models(run, x, y, trained_in):
    """Attacks two other models with the same attacks. Returns one text per model, in a dictionary
    with the names of the models as keys. The text says how many images the model classifies
    correctly.
    """
    models = {
        "lenet": lambda: train_classifier(run.part("lenet"), lenet, trained_in),
        "undefended": lambda: published.load("mnist_proto_sim"),
    }
    texts = {}
    for name, load in models.items():
        right = under_attack.measured(load(), x, y, run.part(name).out)
        union = right[under_attack.UNION]
        low, high = binomtest(int(union.sum()), len(union)).proportion_ci(method="wilson")
        share = f"{100 * union.mean():.1f} % [{100 * low:.1f} to {100 * high:.1f}]"
        texts[name] = f"{union.sum():,} of {len(union):,} images, {share}"
    return texts


@recipe.command(STEPS)
def main(
    run,
    attacked: Images = 10_000,
    trained_in: precision.Option = precision.Precision.float32,
):
    """Trains a classifier on the 60,000 training images under attack, and attacks it on the 10,000
    test images.
    """
    model = train_classifier(run, encoder, trained_in)
    x, y = examples("test")
    right = under_attack.measured(model, x[:attacked], y[:attacked], run.out)
    figures = classifiers.accuracies(model, x, y) + tasks.known_classes(model, x, y)
    figures = run.keep(figures + under_attack.figures(right))
    first = min(attacked, under_attack.FIRST)
    facts = attack_comparison_models(run, x[:first], y[:first], trained_in)
    print(facts, flush=True)
    facts |= {"attacked": f"{attacked:,}", "first": f"{first:,}"}
    if run.publishes:
        run.options = {"precision": trained_in.value}
        run.publish(model, synthetic_images(), figures, curves=None, **facts)


if __name__ == "__main__":
    typer.run(main)
