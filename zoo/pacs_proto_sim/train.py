"""Trains `pacs_proto_sim`, a classifier of images in new styles.

The model consists of EfficientNet-Lite0 with ImageNet weights, prototypes and a learned similarity.
Each of the four domains of PACS is left out in turn. SIM (the similarity) and DOL (the dense output
layer) are the two heads of one model. The control is a softmax with as many weights as the
prototypes and the similarity have. The softmax is trained alone, on the same pretrained encoder
with the same batches and steps. The heads are first trained on the ImageNet features, and then
together with the upper part of the encoder. Random heads would distort the features at the start of
the joint training (Kumar2022). The published model is trained on all four domains. To list the
options, run `python -m zoo.pacs_proto_sim.train --help` from the checkout.
"""

import functools
import pathlib
import time
from typing import Annotated

import typer

from keras_dml._backend import keras
from keras_dml.training import fit
from keras_dml.training.golden import synthetic_images
from keras_dml.zoo.reading import sha256
from zoo import classifiers, domain_figures, domains, recipe
from zoo.pacs_proto_sim import networks

PER_CLASS = 6
STEPS, LEARNING_RATE = 80, 3e-4  # of the upper part with the heads
HEAD_STEPS, HEAD_LEARNING_RATE = 200, 1e-3  # of the heads, on ImageNet's features
STEPS_PER_EPOCH = 20
optimization = functools.partial(classifiers.optimization, warm_up=20)
HEADS = {"SIM": ("sim", "sim"), "DOL": ("sim", "dol"), "softmax": ("softmax", "dol")}
FIGURE = "domains"
WEIGHTS = pathlib.Path("build/efficientnet_lite0.weights.h5")
Weights = Annotated[
    pathlib.Path,
    typer.Option(
        help="File with ImageNet weights of the encoder. zoo/efficientnet_lite0.py creates it."
    ),
]
Seeds = Annotated[int, typer.Option(min=2, help="Number of seeds for each method and domain.")]


def train_classifier(upper, method, images, outputs, rows, steps, seed):
    """Trains a classifier together with the upper part of the encoder.

    Args:
        upper: Upper part of the encoder, from `networks.pretrained`. The weights of the upper part
            are trained in place.
        method: One of `networks.METHODS`.
        images: `domains.DomainImages`.
        outputs: `domains.Outputs`.
        rows: Indices of the images to train on.
        steps: Number of training steps of the upper part. Before these steps, the heads are trained
            alone for `HEAD_STEPS` steps.
        seed: Seed of the batches.
    """
    build, loss = networks.METHODS[method]
    features = keras.Input(upper.output_shape[1:])
    heads = build(keras.Model(features, keras.layers.Identity()(features)))
    model = build(upper)
    draw = functools.partial(domains.batches, images, rows=rows, per_class=PER_CLASS, seed=seed)
    batches = draw(outputs.features, steps=HEAD_STEPS)
    fit(heads, batches, steps=HEAD_STEPS, optimization=optimization(HEAD_LEARNING_RATE), loss=loss)
    networks.copy_heads(heads, model)
    batches = draw(outputs.maps, steps=min(steps, STEPS_PER_EPOCH))
    fit(model, batches, steps=steps, optimization=optimization(LEARNING_RATE), loss=loss)
    return model


def train_without(settings, *, weights, images, outputs):
    """Trains a network without one domain, and classifies images with each of its heads.

    Args:
        settings: Dictionary with `domain`, `method`, `seed` and `steps`.
        weights: File of the pretrained weights.
        images: `domains.DomainImages`.
        outputs: `domains.Outputs`.

    Returns:
        Dictionary with `minutes`, `test` and `validation`. The entries `test` and `validation` are
        dictionaries that contain one list of booleans per head. A boolean says whether an image is
        classified correctly.
    """
    start, method = time.monotonic(), settings["method"]
    keras.backend.clear_session()
    keras.utils.set_random_seed(settings["seed"])
    _, _, upper = networks.pretrained(weights)
    train, validation, test = images.without(settings["domain"])
    steps, seed = settings["steps"], settings["seed"]
    model = train_classifier(upper, method, images, outputs, train, steps, seed)
    if method == "sim":
        z = networks.embed(model, outputs.maps[0], train)
        model.prototypes_layer.refit(z, images.labels[train])
    heads = [head for method_of_head, head in HEADS.values() if method_of_head == method]
    answers = {}
    for split, rows in (("test", test), ("validation", validation)):
        z = networks.embed(model, outputs.maps[0], rows)
        right = functools.partial(networks.right, model, z, images.labels[rows])
        answers[split] = {head: right(head).tolist() for head in heads}
    return {**answers, "minutes": (time.monotonic() - start) / 60}


def train_published_model(run, *, weights, images, outputs):
    """Trains the published model on the training images of all four domains."""
    keras.backend.clear_session()
    keras.utils.set_random_seed(run.seed)
    encoder, _, upper = networks.pretrained(weights)
    train, _, _ = images.without()
    model = networks.classifier(encoder)
    upper_model = train_classifier(upper, "sim", images, outputs, train, run.steps, run.seed)
    networks.copy_heads(upper_model, model)
    x = domains.central(images.images[train])
    model.refit_prototypes(x, images.labels[train], batch_size=32)
    return model


def examples(split):
    """Reads images and labels in the form that the published model takes.

    Args:
        split: `"train"` for the training images, or `"test"` for the validation images of the same
            domains.
    """
    images = domains.read()
    train, validation, _ = images.without()
    rows = {"train": train, "test": validation}[split]
    return domains.central(images.images[rows]), images.labels[rows]


@recipe.command(STEPS)
def main(run, weights: Weights = WEIGHTS, seeds: Seeds = 3):
    """Trains without each of the four domains in turn. With --publish, also trains the final model
    on all four domains.
    """
    start = time.monotonic()
    _, lower, upper = networks.pretrained(weights)
    images = domains.read()
    key = f"{sha256(weights)} {networks.CUT}"
    outputs = domains.outputs(lower, upper, images.images, key, run.out)
    preparation_minutes = (time.monotonic() - start) / 60
    data = {"weights": weights, "images": images, "outputs": outputs}
    answers, minutes = domains.leave_one_out(
        run, seeds, HEADS, lambda settings: train_without(settings, **data)
    )
    figures = run.keep(domain_figures.rows(answers, tuple(HEADS)))
    domain_figures.save(answers, tuple(HEADS), run.out / FIGURE)
    if run.publishes:
        start = time.monotonic()
        model = train_published_model(run, **data)
        run.minutes = minutes + preparation_minutes + (time.monotonic() - start) / 60
        run.options = {"seeds": seeds}
        golden = synthetic_images(side=domains.SIDE, channels=3)
        facts = {
            "seeds": seeds,
            "mcnemar": domain_figures.mcnemar(answers, "SIM", "softmax"),
            **images.counts(),
        }
        run.publish(model, golden, figures, curves=FIGURE, **facts)
        domain_figures.save(answers, tuple(HEADS), run.folder / "figures" / FIGURE)


if __name__ == "__main__":
    typer.run(main)
