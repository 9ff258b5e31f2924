"""Finds the .tflite file of a model, and compares the file with the card of the model."""

import hashlib
import importlib.util
import pathlib
from typing import Any

from keras_dml._messages import Message
from keras_dml._typing import Path
from keras_dml.edge._model import Model
from keras_dml.edge._stream_model import StreamModel
from keras_dml.zoo import catalog, lookup, schema

FILE = f"model{lookup.EDGE_SUFFIX}"


def load(name: Path) -> Model:
    """Loads a model that runs with NumPy and LiteRT.

    Args:
        name: Name of a model of the zoo, path of a .tflite file that `keras_dml.export.tflite`
            wrote, path of a folder, or path of a .keras file. In a folder, the function reads the
            file that `card.json` names in the entry `edge`, and otherwise `model.tflite`. Instead
            of `NAME.keras`, the function reads `NAME.tflite`, unless the card names another file.
            The function compares the file with the SHA-256 in the card.

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
    _require_litert()
    file = file_of(name)
    if not file.is_file():
        raise FileNotFoundError(
            Message(
                "The file {file} does not exist. Write it with "
                "{keras_dml.export.tflite(model, path, quantization=None)}, or give the path of "
                "another .tflite file.",
                file=repr(str(file)),
            )
        )
    blob = file.read_bytes()
    return Model(blob, lookup.lasting(name), _checked_card(file, blob))


def load_stream(path: Path) -> StreamModel:
    """Loads a model that receives a recording in blocks.

    Args:
        path: Path of a .tflite file that `keras_dml.export.stream` wrote.

    Returns:
        The model. `keras_dml.edge.Stream` embeds the windows of a recording with it.

    Raises:
        FileNotFoundError: If the file does not exist.
        ImportError: If LiteRT is not installed.
        ValueError: If the file is damaged, or was not written by `keras_dml.export.stream`.
    """
    _require_litert()
    file = pathlib.Path(path).expanduser()
    if not file.is_file():
        raise FileNotFoundError(
            Message(
                "The file {file} does not exist. Write it with `keras_dml.export.stream(model, "
                "path, window=..., block=...)`, or give the path of another file.",
                file=repr(str(file)),
            )
        )
    return StreamModel(file.read_bytes(), str(file.resolve()))


def can_load(name: Path) -> bool:
    """Returns True if LiteRT is installed and the .tflite file of a model exists.

    Args:
        name: Name or path of a model, as in `load`.

    Raises:
        TypeError: If `name` is neither a string nor a path.
        ValueError: If no model has this name.
    """
    return importlib.util.find_spec("ai_edge_litert") is not None and file_of(name).is_file()


def file_of(name: Path) -> pathlib.Path:
    """Returns the path of the .tflite file of a model. The file may be missing.

    Args:
        name: Name or path of a model, as in `load`.

    Raises:
        TypeError: If `name` is neither a string nor a path.
        ValueError: If no model has this name.
    """
    path = pathlib.Path(name).expanduser() if lookup.is_path(name) else lookup.find(name)
    if path.suffix == lookup.EDGE_SUFFIX:
        return path
    folder = path if path.is_dir() else path.parent
    card = _card(folder)
    if "edge" in card and path in (folder, folder / card.get("model", {}).get("file", "")):
        return folder / card["edge"]["file"]
    is_keras_file = path.suffix == lookup.SUFFIX and not path.is_dir()
    return path.with_suffix(lookup.EDGE_SUFFIX) if is_keras_file else path / FILE


def _require_litert():
    if importlib.util.find_spec("ai_edge_litert") is None:
        raise ImportError(
            'LiteRT, which runs TFLite files, is not installed. Install it: pip install "keras-dml'
            '[edge]".'
        )


def _card(folder: pathlib.Path) -> dict[str, Any]:
    """Returns the card in a folder, or an empty dict if the folder has no card."""
    path = folder / lookup.CARD
    if not path.is_file():
        return {}
    return schema.validate(catalog.read_json(path), f"{path}", {"edge?": schema.EDGE})


def _checked_card(file: pathlib.Path, blob: bytes) -> dict[str, Any] | None:
    """Returns the card in the folder of a file, or None if the card describes no such file.

    Raises:
        ValueError: If the SHA-256 in the card differs from the SHA-256 of the file.
    """
    card = _card(file.parent)
    entry = card.get("edge")
    if entry is None or entry["file"] != file.name:
        return None
    digest = hashlib.sha256(blob).hexdigest()
    if digest != entry["sha256"]:
        raise ValueError(
            f"{file} is not the file that its card describes. The SHA-256 of the file is {digest}, "
            f"but the card contains {entry['sha256']}. The file is damaged or truncated, or it was "
            "replaced. Copy the file again from the original, or export the model again."
        )
    return card
