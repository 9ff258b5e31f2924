"""What every recipe ends with: model, golden file, card and README, all written or none.

The library only reads models; this is the writing side, used by `zoo/<name>/train.py` and by the
exporters, which add their table to the card.
"""

import contextlib
import datetime
import importlib.metadata
import json
import os
import pathlib
import platform
import shutil

import numpy as np

from keras_dml import _files, inference
from keras_dml.zoo import catalog, lookup, reading, schema
from zoo import readme

MODEL, GOLDEN, README, PICTURES = "model.keras", "golden.npz", "README.md", "figures"
RELATIVE_TOLERANCE = 1e-5  # float32 through sixteen layers, on another processor or backend
SHIPPED = ("keras", "numpy", "tensorflow", "tensorflow-cpu", "jax")


def publish(folder, model, card, golden_recordings, curves=None):
    """Writes a trained model into its folder of the zoo.

    The card's `model`, `embedding` and `golden` are made here from the model; all else is the
    recipe's. What is written is first read back and checked as a user's `zoo.load` and `zoo.check`
    do; only then does it take the place of what was there.

    Args:
        folder: Folder of the model; its name is that of the model.
        model: The trained `keras.Model`, ending in a head of `keras_dml.layers`, or a
            `PrototypicalClassifier`. Its optimizer is left out.
        card: Dict by `keras_dml.zoo.schema.CARD`; `thresholds` and `exports` may be missing.
        golden_recordings: A few arrays `(time, channels)`, or images `(height, width, channels)`,
            whose embeddings the golden file keeps. They are published: give synthetic ones, unless
            the license and the people allow to pass theirs on.
        curves: A picture for the page, such as the error curves of `recipe.measure`.

    Returns:
        The card as written.

    Raises:
        ValueError: If the card lacks something, or the written model does not read back, or
            something else than a file is where one shall be.
    """
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    files = [MODEL, GOLDEN, README, lookup.CARD]
    if curves is not None:
        (folder / PICTURES).mkdir(exist_ok=True)
        files.insert(0, f"{PICTURES}/{curves.name}")
    places = {name: _files.file_place(folder / name) for name in files}
    with _files.tmp_dir(folder / lookup.CARD) as beside:
        room = beside / folder.name  # whose name the card has, as it is checked
        room.mkdir()
        _without_optimizer(model).save(room / MODEL)
        embedding = np.concatenate([reading.embed_one(model, each) for each in golden_recordings])
        arrays = {
            f"recording_{i}": np.asarray(each, np.float32)
            for i, each in enumerate(golden_recordings)
        }
        np.savez_compressed(room / GOLDEN, embedding=embedding, **arrays)
        card = {
            **card,
            "model": {
                "file": MODEL,
                "sha256": reading.sha256(room / MODEL),
                "parameters": model.count_params(),
            },
            "embedding": describe_embedding(model, embedding),
            "golden": {"input": GOLDEN, "atol": _tolerance(embedding)},
        }
        card = {"thresholds": [], "exports": [], **card}
        _check_name(card, folder)
        shown = set(pictures(folder))
        if curves is not None:
            shown.add(files[0])
            (room / PICTURES).mkdir()
            shutil.copy(curves, room / PICTURES)
        _write_texts(room, card, sorted(shown))
        reading.check(room)
        _put(room, places)
    return card


def update(folder, **changes):
    """Changes keys of a card, and its README with it, for what is known after training:
    `exports=[...]`.

    Args:
        folder: Folder of a published model.
        changes: Keys of the card with their new values.

    Returns:
        The card as written.

    Raises:
        ValueError: If the changed card is not valid.
    """
    folder = pathlib.Path(folder)
    card = {**catalog.read_json(folder / lookup.CARD), **changes}
    _check_name(card, folder)
    places = {name: _files.file_place(folder / name) for name in (README, lookup.CARD)}
    with _files.tmp_dir(folder / lookup.CARD) as room:
        _write_texts(room, card, pictures(folder))
        _put(room, places)
    return card


def recipe_of(name, *, seed, steps, minutes, **options):
    """The card's `recipe`: how to train the model again, with what it was trained today.

    Args:
        name: Name of the model.
        seed: Of weights and batches.
        steps: Training steps.
        minutes: Of training.
        **options: Other options of the model's `train.py`, by name.
    """
    given = {"seed": seed, **options, "steps": steps}
    words = " ".join(f"--{option} {value}" for option, value in given.items())
    return {
        "command": f"python -m zoo.{name}.train {words} --publish",
        "seed": seed,
        "versions": versions(),
        "date": datetime.date.today().isoformat(),
        "minutes": round(minutes, 1),
    }


def versions():
    """Versions of what a model depends on, for the card's `recipe`."""
    found = {"python": platform.python_version()}
    for name in SHIPPED:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


def describe_embedding(model, embedding):
    """The card's `embedding`: the shape of one recording's, the distance's name and its
    parameters."""
    metric = inference.head_distance(model)
    return {
        "shape": [int(size) for size in embedding.shape[1:]],
        "distance": metric.name,
        **metric.get_config(),
    }


def _without_optimizer(model):
    """The same model, never compiled: its file has no optimizer state, which triples it."""
    bare = model.__class__.from_config(model.get_config())
    bare.set_weights(model.get_weights())
    return bare


def _tolerance(embedding):
    """One significant digit, rounded up, of the relative tolerance times the greatest value."""
    wanted = RELATIVE_TOLERANCE * max(1.0, float(np.abs(embedding).max()))
    unit = 10.0 ** np.floor(np.log10(wanted))
    return float(f"{np.ceil(wanted / unit - 1e-9) * unit:.0e}")


def _check_name(card, folder):
    schema.validate(card, f"The card of {folder.name}")
    if card["name"] != folder.name:
        raise ValueError(
            f"The card's name is {card['name']!r} and its folder {folder.name!r}; they must be "
            "the same."
        )


def pictures(folder):
    """Pictures of a model's page, as paths from its folder."""
    return [f"{PICTURES}/{path.name}" for path in sorted((folder / PICTURES).glob("*.png"))]


def _write_texts(room, card, shown):
    text = json.dumps(card, indent=2, ensure_ascii=False, allow_nan=False)
    (room / lookup.CARD).write_text(text + "\n", encoding="utf-8")
    (room / README).write_text(readme.render(card, shown), encoding="utf-8")


def _put(room, places):
    for name, place in places.items():
        os.replace(room / name, place)
