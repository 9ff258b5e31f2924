"""Writes a trained model into a folder of the zoo: model, golden file, card and page, all or none.

`keras_dml.zoo` only reads models; this is the writing side, used by recipes and by the exporters,
which add their rows to the card.
"""

import json
import os
import pathlib
import shutil

import numpy as np

from keras_dml import _files, inference
from keras_dml.training import page
from keras_dml.zoo import catalog, lookup, reading, schema

MODEL, GOLDEN, PAGE, FIGURES = "model.keras", "golden.npz", "README.md", "figures"
RELATIVE_TOLERANCE = 1e-5  # float32 through sixteen layers, on another processor or backend


def publish(folder, model, card, golden_recordings, curves=None, beside=()):
    """Writes a trained model into its folder of the zoo.

    The card's `model`, `embedding` and `golden` are read from the model; all else is given. What is
    written is first read back and checked as `zoo.load` and `zoo.check` do; only then does it
    replace what was there.

    Args:
        folder: Folder of the model; its name is that of the model.
        model: The trained `keras.Model`, ending in a head of `keras_dml.layers`, or a
            `PrototypicalClassifier`. Its optimizer is left out.
        card: Dict by `keras_dml.zoo.schema.CARD`, such as of `build_card`; `thresholds` and
            `exports` may be missing.
        golden_recordings: A few arrays `(time, channels)`, or images `(height, width, channels)`,
            whose embeddings the golden file keeps. They are published: give synthetic ones
            (`keras_dml.training.golden`), unless license and people allow to pass theirs on.
        curves: Path of an image for the page, such as the error curves of `Measurement.save`.
        beside: Paths of further files, which the folder gets under their names.

    Returns:
        The card as written.

    Raises:
        ValueError: If the card lacks something, the written model does not read back, or something
            else than a file is in the place of one.
    """
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    files = [*(path.name for path in beside), MODEL, GOLDEN, PAGE, lookup.CARD]
    if curves is not None:
        (folder / FIGURES).mkdir(exist_ok=True)
        files.insert(0, f"{FIGURES}/{curves.name}")
    targets = {name: _files.replaceable_file(folder / name) for name in files}
    with _files.tmp_dir(folder / lookup.CARD) as parent:
        tmp_dir = parent / folder.name  # the card is checked against the folder's name
        tmp_dir.mkdir()
        without_optimizer(model).save(tmp_dir / MODEL)
        embedding = np.concatenate([reading.embed_one(model, each) for each in golden_recordings])
        arrays = {
            f"recording_{i}": np.asarray(each, np.float32)
            for i, each in enumerate(golden_recordings)
        }
        np.savez_compressed(tmp_dir / GOLDEN, embedding=embedding, **arrays)
        card = {
            **card,
            "model": {
                "file": MODEL,
                "sha256": reading.sha256(tmp_dir / MODEL),
                "parameters": model.count_params(),
            },
            "embedding": _described(model, embedding),
            "golden": {"input": GOLDEN, "atol": _tolerance(embedding)},
        }
        card = {"thresholds": [], "exports": [], **card}
        _check_name(card, folder)
        shown = set(figure_files(folder))
        if curves is not None:
            shown.add(files[0])
            (tmp_dir / FIGURES).mkdir()
            shutil.copy(curves, tmp_dir / FIGURES)
        for path in beside:
            shutil.copy(path, tmp_dir)
        _write_texts(tmp_dir, card, sorted(shown))
        reading.check(tmp_dir)
        _put(tmp_dir, targets)
    return card


def update(folder, **changes):
    """Changes keys of a published card, and its page with it, such as `exports=[...]`.

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
    targets = {name: _files.replaceable_file(folder / name) for name in (PAGE, lookup.CARD)}
    with _files.tmp_dir(folder / lookup.CARD) as tmp_dir:
        _write_texts(tmp_dir, card, figure_files(folder))
        _put(tmp_dir, targets)
    return card


def _described(model, embedding):
    """The card's `embedding`: shape of one embedding, name and parameters of the distance."""
    metric = inference.head_distance(model)
    return {
        "shape": [int(size) for size in embedding.shape[1:]],
        "distance": metric.name,
        **metric.get_config(),
    }


def without_optimizer(model):
    """The same model, never compiled: its file has no optimizer state, which triples it.

    Args:
        model: A `keras.Model`.
    """
    bare = model.__class__.from_config(model.get_config())
    bare.set_weights(model.get_weights())
    return bare


def _tolerance(embedding):
    """One significant digit, rounded up, of the relative tolerance times the largest value."""
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


def figure_files(folder):
    """Paths of the images of a model's page, from its folder.

    Args:
        folder: A `pathlib.Path`, the folder of the model.
    """
    return [f"{FIGURES}/{path.name}" for path in sorted((folder / FIGURES).glob("*.png"))]


def _write_texts(tmp_dir, card, shown):
    text = json.dumps(card, indent=2, ensure_ascii=False, allow_nan=False)
    (tmp_dir / lookup.CARD).write_text(text + "\n", encoding="utf-8")
    (tmp_dir / PAGE).write_text(page.render(card, shown), encoding="utf-8")


def _put(tmp_dir, targets):
    for name, target in targets.items():
        os.replace(tmp_dir / name, target)
