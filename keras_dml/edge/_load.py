"""Finds the .tflite file of a model, and compares the file with the card of the model."""

import hashlib
import importlib.util
import os
import pathlib

from keras_dml._messages import Message
from keras_dml._typing import Path
from keras_dml.edge._model import Model
from keras_dml.zoo import catalog, lookup, schema

FILE, SUFFIX = "model.tflite", ".tflite"


def load(name: Path) -> Model:
    """Loads a model that runs with NumPy and LiteRT.

    Args:
        name: Name of a model of the zoo, whose folder must contain `model.tflite`. Or the path of a
            .tflite file that `keras_dml.export.tflite` wrote, or of a folder that contains
            `model.tflite`. If the folder of the file contains a `card.json` with the SHA-256 of the
            file, the function compares the file with the card.

    Returns:
        The model.

    Raises:
        FileNotFoundError: If the file does not exist.
        ImportError: If LiteRT is not installed.
        TypeError: If `name` is neither a string nor a path.
        ValueError: If no model has this name (the message then lists similar names), if the file is
            damaged or is not the file that the card describes, or if it was not written by
            `keras_dml.export.tflite`. If NumPy cannot compute the distance of the model.
    """
    if importlib.util.find_spec("ai_edge_litert") is None:
        raise ImportError(
            'LiteRT, which runs TFLite files, is not installed. Install it: pip install "keras-dml'
            '[edge]".'
        )
    is_path = lookup.is_path(name) or os.fspath(name).endswith(SUFFIX)
    path = pathlib.Path(name).expanduser() if is_path else lookup.find(name)
    file = path / FILE if path.is_dir() else path
    if not file.is_file():
        raise FileNotFoundError(
            Message(
                "The file {file} does not exist. Write it with `keras_dml.export.tflite(model, "
                "path, {quantization=None})`, or give the path of another .tflite file.",
                file=repr(str(file)),
            )
        )
    blob = file.read_bytes()
    _check_digest(file, blob)
    return Model(blob, name if not is_path else str(file.resolve()))


def _check_digest(file, blob):
    """Compares a file with the card in its folder, if the card contains the SHA-256 of the file."""
    path = file.with_name(lookup.CARD)
    if not path.is_file():
        return
    card = schema.validate(catalog.read_json(path), f"{path}", {"edge?": schema.EDGE})
    entry = card.get("edge")
    if entry is None or entry["file"] != file.name:
        return
    digest = hashlib.sha256(blob).hexdigest()
    if digest != entry["sha256"]:
        raise ValueError(
            f"{file} is not the file that its card describes. The SHA-256 of the file is {digest}, "
            f"but the card contains {entry['sha256']}. The file is damaged or truncated, or it was "
            "replaced. Copy the file again from the original, or export the model again."
        )
