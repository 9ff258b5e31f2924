"""Trains `pacs_proto_sim`: what is it, in a style never seen? EfficientNet-Lite0 with ImageNet
weights, prototypes and a learned similarity.

Each of PACS's four domains is left out in turn: SIM and DOL are the two heads of one model, and a
softmax with as many weights as prototypes and similarity have is trained alone on the same
pretrained encoder, with the same batches and as many steps. Heads are trained on ImageNet's
features first, then with the upper part of the encoder, so that its features are not spoiled by
random heads (Kumar2022). The model that is published is trained on all four domains. From the
checkout: `python -m zoo.pacs_proto_sim.train --help`.
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
HEAD_STEPS, HEAD_LEARNING_RATE = 200, 1e-3  # of the heads alone, on ImageNet's features
STEPS_PER_EPOCH = 20
optimization = functools.partial(classifiers.optimization, warm_up=20)
HEADS = {"SIM": ("sim", "sim"), "DOL": ("sim", "dol"), "softmax": ("softmax", "dol")}
FIGURE = "domains"
WEIGHTS = pathlib.Path("build/efficientnet_lite0.weights.h5")
Weights = Annotated[
    pathlib.Path,
    typer.Option(help="ImageNet weights of the encoder; zoo/efficientnet_lite0.py makes the file."),
]
Seeds = Annotated[int, typer.Option(min=2, help="Runs of each method on each domain.")]


def trained(upper, method, known, outputs, rows, steps, seed):
    """A classifier on the upper part of the encoder, which it trains with it.

    Args:
        upper: Upper part of `networks.pretrained`; trained in place.
        method: One of `networks.METHODS`.
        known: `domains.DomainImages`.
        outputs: `domains.Outputs`.
        rows: Images to train on.
        steps: Training steps of the upper part; the heads alone have `HEAD_STEPS` before.
        seed: Seed of the batches.
    """
    build, loss = networks.METHODS[method]
    features = keras.Input(upper.output_shape[1:])
    heads = build(keras.Model(features, keras.layers.Identity()(features)))
    model = build(upper)
    draw = functools.partial(domains.batches, known, rows=rows, per_class=PER_CLASS, seed=seed)
    batches = draw(outputs.features, steps=HEAD_STEPS)
    fit(heads, batches, steps=HEAD_STEPS, optimization=optimization(HEAD_LEARNING_RATE), loss=loss)
    networks.take_heads(model, heads)
    batches = draw(outputs.maps, steps=min(steps, STEPS_PER_EPOCH))
    fit(model, batches, steps=steps, optimization=optimization(LEARNING_RATE), loss=loss)
    return model


def train_without(settings, *, weights, known, outputs):
    """A network trained without a domain: which pictures its heads name.

    Args:
        settings: Dict of `domain`, `method`, `seed` and `steps`.
        weights: File of the pretrained weights.
        known: `domains.DomainImages`.
        outputs: `domains.Outputs`.

    Returns:
        Dict of `minutes`, and for `test` and `validation` of lists, which pictures each head names.
    """
    start, method = time.monotonic(), settings["method"]
    keras.backend.clear_session()
    keras.utils.set_random_seed(settings["seed"])
    _, _, upper = networks.pretrained(weights)
    train, validation, test = known.without(settings["domain"])
    steps, seed = settings["steps"], settings["seed"]
    model = trained(upper, method, known, outputs, train, steps, seed)
    if method == "sim":
        z = networks.embedded(model, outputs.maps[0], train)
        model.prototypes_layer.refit(z, known.labels[train])
    heads, found = [head for of, head in HEADS.values() if of == method], {}
    for split, rows in (("test", test), ("validation", validation)):
        z = networks.embedded(model, outputs.maps[0], rows)
        right = functools.partial(networks.right, model, z, known.labels[rows])
        found[split] = {one: right(one).tolist() for one in heads}
    return {**found, "minutes": (time.monotonic() - start) / 60}


def final(run, *, weights, known, outputs):
    """The model that is published: trained on the training images of all four domains."""
    keras.backend.clear_session()
    keras.utils.set_random_seed(run.seed)
    encoder, _, upper = networks.pretrained(weights)
    train, _, _ = known.without()
    whole = networks.classifier(encoder)
    parts = trained(upper, "sim", known, outputs, train, run.steps, run.seed)
    networks.take_heads(whole, parts)
    whole.refit_prototypes(domains.central(known.images[train]), known.labels[train], batch_size=32)
    return whole


def examples(split):
    """Images and labels as the published model takes them: `"train"`, those it is trained on;
    `"test"`, those of the same domains that are kept to choose by."""
    known = domains.read()
    train, validation, _ = known.without()
    rows = {"train": train, "test": validation}[split]
    return domains.central(known.images[rows]), known.labels[rows]


@recipe.command(STEPS)
def main(run, weights: Weights = WEIGHTS, seeds: Seeds = 3):
    """Leaves out each of the four domains; with --publish also trains the final model on all."""
    start = time.monotonic()
    _, lower, upper = networks.pretrained(weights)
    known = domains.read()
    key = f"{sha256(weights)} {networks.CUT}"
    outputs = domains.outputs(lower, upper, known.images, key, run.out)
    prepared = (time.monotonic() - start) / 60
    given = {"weights": weights, "known": known, "outputs": outputs}
    found, minutes = domains.leave_one_out(
        run, seeds, HEADS, lambda settings: train_without(settings, **given)
    )
    figures = run.keep(domain_figures.rows(found, tuple(HEADS)))
    domain_figures.save(found, tuple(HEADS), run.out / FIGURE)
    if run.publishes:
        start = time.monotonic()
        model = final(run, **given)
        run.minutes = minutes + prepared + (time.monotonic() - start) / 60
        run.options = {"seeds": seeds}
        golden = synthetic_images(side=domains.SIDE, channels=3)
        facts = {
            "seeds": seeds,
            "mcnemar": domain_figures.mcnemar(found, "SIM", "softmax"),
            **known.counts(),
        }
        run.publish(model, golden, figures, curves=FIGURE, **facts)
        domain_figures.save(found, tuple(HEADS), run.folder / "figures" / FIGURE)


if __name__ == "__main__":
    typer.run(main)
