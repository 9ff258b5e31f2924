"""Writes the model file, golden file, card and page of a trained model into a folder of the zoo.

Either all files are written or no file is written. `keras_dml.zoo` only reads models. Training
recipes use this module to write models, and exporters use this module to add rows to a card.
"""

from __future__ import annotations

import json
import os
import pathlib
import shutil
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from keras_dml import _files, inference
from keras_dml._typing import Path, Recordings
from keras_dml.training import page
from keras_dml.zoo import catalog, lookup, reading, schema

if TYPE_CHECKING:
    from keras_dml._backend import keras

MODEL, GOLDEN, PAGE, FIGURES = "model.keras", "golden.npz", "README.md", "figures"
# relative float32 error after sixteen layers on another processor or backend
RELATIVE_TOLERANCE = 1e-5


def publish(
    folder: Path,
    model: keras.Model,
    card: dict[str, Any],
    golden_recordings: Recordings,
    curves: pathlib.Path | None = None,
    files: Sequence[pathlib.Path] = (),
) -> dict[str, Any]:
    """Writes a trained model into its folder of the zoo.

    The values of `model`, `embedding` and `golden` in the card are read from the model. The new
    files are written to a temporary folder, read back, and checked in the same way as by `zoo.load`
    and `zoo.check`. If all checks pass, the new files replace the old files.

    Args:
        folder: Folder of the model. The name of the folder is the name of the model.
        model: The trained `keras.Model`, which ends in a head of `keras_dml.layers`, or a
            `PrototypicalClassifier`. The state of the optimizer is not written.
        card: Dict that follows `keras_dml.zoo.schema.CARD`, such as the result of `build_card`.
            The keys `thresholds` and `exports` may be missing.
        golden_recordings: A few arrays `(time, channels)`, or images `(height, width, channels)`.
            The golden file is published and contains `golden_recordings` with their embeddings. Use
            synthetic recordings (`keras_dml.training.golden`), unless both the license and the
            recorded people allow the publication of real recordings.
        curves: Path of an image for the page, such as the error curves of `Measurement.save`.
        files: Paths of further files that are copied into the folder.

    Returns:
        The card as a dict, as it was written.

    Raises:
        ValueError: If the card is incomplete, if the written model cannot be read back, or if the
            path of a file is a folder.
    """
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    names = [*(path.name for path in files), MODEL, GOLDEN, PAGE, lookup.CARD]
    if curves is not None:
        (folder / FIGURES).mkdir(exist_ok=True)
        names.insert(0, f"{FIGURES}/{curves.name}")
    targets = {name: _files.replaceable_file(folder / name) for name in names}
    with _files.tmp_dir(folder / lookup.CARD) as parent:
        # `check` compares the name in the card with the name of the folder
        tmp_dir = parent / folder.name
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
            "embedding": _describe_embedding(model, embedding),
            "golden": {"input": GOLDEN, "atol": _tolerance(embedding)},
        }
        card = {"thresholds": [], "exports": [], **card}
        _check_name(card, folder)
        images = set(figure_files(folder))
        if curves is not None:
            images.add(names[0])
            (tmp_dir / FIGURES).mkdir()
            shutil.copy(curves, tmp_dir / FIGURES)
        for path in files:
            shutil.copy(path, tmp_dir)
        _write_texts(tmp_dir, card, sorted(images))
        reading.check(tmp_dir)
        _put(tmp_dir, targets)
    return card


def update(folder: Path, **changes: Any) -> dict[str, Any]:
    """Changes values in a published card, and writes the page of the model again.

    Args:
        folder: Folder of a published model.
        **changes: Keys of the card with their new values, such as `exports=[...]`.

    Returns:
        The card as a dict, as it was written.

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


def _describe_embedding(model, embedding):
    """Returns the entry `embedding` of a card, with the shape of an embedding, the distance and the
    parameters of the distance."""
    distance = inference.head_distance(model)
    return {
        "shape": [int(size) for size in embedding.shape[1:]],
        "distance": distance.name,
        **distance.get_config(),
    }


def without_optimizer(model: keras.Model) -> keras.Model:
    """Returns an uncompiled copy of a model, so that its file contains no optimizer state.

    The optimizer state would triple the size of the file.
    """
    bare = model.__class__.from_config(model.get_config())
    bare.set_weights(model.get_weights())
    return bare


def _tolerance(embedding):
    """Returns `RELATIVE_TOLERANCE` multiplied by the largest value, rounded up to one digit."""
    wanted = RELATIVE_TOLERANCE * max(1.0, float(np.abs(embedding).max()))
    unit = 10.0 ** np.floor(np.log10(wanted))
    return float(f"{np.ceil(wanted / unit - 1e-9) * unit:.0e}")


def _check_name(card, folder):
    schema.validate(card, f"The card of {folder.name}")
    if card["name"] != folder.name:
        raise ValueError(
            f"The name in the card is {card['name']!r}, and the name of the folder is "
            f"{folder.name!r}, but the two names must be equal. Rename one of them."
        )


def figure_files(folder: pathlib.Path) -> list[str]:
    """Lists the images of a model's page, as paths relative to the folder of the model."""
    return [f"{FIGURES}/{path.name}" for path in sorted((folder / FIGURES).glob("*.png"))]


def _write_texts(tmp_dir, card, images):
    text = json.dumps(card, indent=2, ensure_ascii=False, allow_nan=False)
    (tmp_dir / lookup.CARD).write_text(text + "\n", encoding="utf-8")
    (tmp_dir / PAGE).write_text(page.render(card, images), encoding="utf-8")


def _put(tmp_dir, targets):
    for name, target in targets.items():
        os.replace(tmp_dir / name, target)
