"""Loading of models, after their SHA-256 is verified against the card."""

from __future__ import annotations

import hashlib
import os
import pathlib
import re
import weakref
from typing import Any

import numpy as np

from keras_dml import _arrays, inputs, layers, losses, models  # noqa: F401  registers all classes
from keras_dml._backend import keras
from keras_dml._typing import ArrayLike, Path
from keras_dml.contract import Contract
from keras_dml.zoo import archive, catalog, lookup, schema

CONTENT = ("config.json", "metadata.json")  # members of every file of Keras except the weights
WEIGHTS = "model.weights.h5"
# Fraction of the golden embedding's root mean square. Another model has a relative error above 1.
MAX_TOLERANCE = 0.1
MAX_MESSAGE = 300  # characters of a message of Keras, which may quote the whole file
OWN_CARD = {key: schema.CARD[key.removesuffix("?")] for key in ("model", "golden?")} | {
    "quality?": schema.QUALITY
}
_AGAIN = "Install the package again, or run the model's recipe."
_COPY = "Copy it again from the original, or save it again by `model.save`."
_AS_CLASS = (
    "Replace the code by a layer class that is registered with "
    "keras.saving.register_keras_serializable, and save the model again."
)
_REGISTER = (
    "Import your classes and functions first, and register them with "
    "keras.saving.register_keras_serializable."
)
_CARDS = weakref.WeakKeyDictionary()  # cards of loaded models, and of their encoders
_FOLDERS = weakref.WeakKeyDictionary()  # folders of these models
# Keras quotes the whole configuration before these words, and gives the cause after them.
_WRAPPED = ("Exception encountered: ", "Error encountered during deserialization: ")


def load(name: Path) -> keras.Model:
    """Loads a trained model as a plain `keras.Model`.

    The SHA-256 of the file is compared with the card before Keras reads it. Then the number of
    weights is compared. Keras reads in safe mode, so a file cannot run code.

    Args:
        name: Name of a model of the zoo, or the path of a custom `.keras` file or of a folder
            that contains `model.keras`. A `card.json` in the same folder is compared with the file.

    Returns:
        The model, compiled if it was saved compiled.

    Raises:
        ValueError: If the model does not exist (the message gives similar names), or its file is
            damaged, truncated, or differs from the card.
        FileNotFoundError: If the path does not exist.
    """
    file, card = _file_and_card(name)
    if card is not None:
        _check_digest(file, card["model"]["sha256"])
    model = _read(file)
    if card is not None:
        _check_parameters(model, file, card["model"]["parameters"])
        encoder = inputs.encoder(model)
        _CARDS[model] = _CARDS[encoder] = card
        _FOLDERS[model] = _FOLDERS[encoder] = file.parent
        contract = _contract(card)
        if contract is not None:
            inputs.declare(encoder, contract)
    return model


def card_of(model: keras.Model) -> dict | None:
    """Returns the card of a model that `load` has read, or of its encoder; None without a card."""
    return _CARDS.get(model)


def folder_of(model: keras.Model) -> pathlib.Path | None:
    """Returns the folder from which a model with a card was read; None without a card."""
    return _FOLDERS.get(model)


def check(name: Path) -> float:
    """Computes the golden embedding again and compares it with the published one.

    Args:
        name: See `load`. A custom model needs a card and a golden file in its folder.

    Returns:
        The largest difference, at most the card's tolerance.

    Raises:
        ValueError: If the difference is larger than the card's tolerance, that tolerance is so
            loose that another model would pass, or `load` raises it.
        FileNotFoundError: If the model has no card with a golden file.
    """
    model = load(name)
    file, card = _file_and_card(name)
    if card is None or "golden" not in card:
        raise FileNotFoundError(
            f"The folder of {file} has no card with a golden embedding; nothing to check."
        )
    recordings, expected = read_golden(file.parent / card["golden"]["input"])
    computed = np.concatenate([embed_one(model, recording) for recording in recordings])
    tolerance = card["golden"]["atol"]
    _check_tolerance(tolerance, expected, file)
    if computed.shape != expected.shape:
        raise ValueError(
            f"{file} gives embeddings of shape {computed.shape}, its golden file contains "
            f"{expected.shape}. {_AGAIN}"
        )
    difference = float(np.abs(computed - expected).max())
    if not difference <= tolerance:  # NaN fails too
        raise ValueError(
            f"{file} does not reproduce its golden embedding: the difference is up to "
            f"{difference:.3g}, the card allows {tolerance:g}. Compare the versions in the card's "
            "recipe with the installed versions."
        )
    return difference


def loaded(model: Any) -> Any:
    """Loads a model if its name or path is given, and returns anything else unchanged."""
    return load(model) if isinstance(model, str | os.PathLike) else model


def lasting(name: Path) -> str:
    """Returns a name unchanged and makes a path absolute, so that it is valid in any folder."""
    return str(pathlib.Path(name).expanduser().resolve()) if lookup.is_path(name) else name


def read_golden(path: pathlib.Path) -> tuple[list[np.ndarray], np.ndarray]:
    """Reads recordings and their embeddings from a file of `keras_dml.training.publish`.

    Args:
        path: An `.npz` file with `recording_0`, `recording_1`, ... and `embedding`.

    Returns:
        `(recordings, embedding)`: list of arrays `(time, channels)`, array `(recordings, ...)`.

    Raises:
        ValueError: If the file is damaged.
    """
    with open(path, "rb") as file:
        try:
            archive.check(file)
            file.seek(0)
            with np.load(file, allow_pickle=False) as golden:
                count = sum(key.startswith("recording_") for key in golden)
                names = [*(f"recording_{i}" for i in range(max(1, count))), "embedding"]
                *recordings, embedding = (_arrays.real(name, golden[name]) for name in names)
        except Exception as error:  # damaged archives and arrays raise many types
            raise ValueError(
                f"{path} is not a golden file: {archive.first_line(error)} It is damaged. {_AGAIN}"
            ) from error
    return recordings, embedding


def embed_one(model: keras.Model, recording: ArrayLike) -> np.ndarray:
    """Computes the embedding of one recording `(time, channels)`, shape `(1, ...)`."""
    encoder = inputs.encoder(model)
    return keras.ops.convert_to_numpy(
        encoder(np.asarray(recording, np.float32)[None], training=False)
    )


def sha256(path: Path) -> str:
    """Returns the SHA-256 of a file in hexadecimal digits."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _file_and_card(name):
    """Returns the model's file, and its card; None if a custom file has no card."""
    if not lookup.is_path(name):
        card = catalog.card(name)
        return lookup.find(name) / card["model"]["file"], card
    path = pathlib.Path(name).expanduser()
    file = path / f"model{lookup.SUFFIX}" if path.is_dir() else path
    if not file.is_file():
        raise FileNotFoundError(
            f"The model file {str(file)!r} does not exist. Give the path of a {lookup.SUFFIX} "
            f"file, or the name of a model of the zoo: {', '.join(lookup.names())}."
        )
    card_path = file.with_name(lookup.CARD)
    if not card_path.is_file():
        return file, None
    card = schema.validate(catalog.read_json(card_path), f"{card_path}", OWN_CARD)
    named = card["model"]["file"]
    is_of_another_file = named != file.name and file.with_name(named).is_file()
    return file, None if is_of_another_file else card


def _contract(card):
    """Returns the input contract of a card; None without an input of recordings."""
    described = card.get("input", {})
    if "size" in described or schema.problems(described, schema.RECORDINGS):
        return None
    return Contract(
        described["channels"], described["units"], described["rate_hz"], *described["length"]
    )


def _check_digest(file, expected):
    if not file.is_file():
        raise FileNotFoundError(
            f"The card in {file.parent} names {file.name}, which is missing. {_AGAIN}"
        )
    digest = sha256(file)
    if digest != expected:
        raise ValueError(
            f"{file} is not the file that its card describes: its SHA-256 is {digest}, the card "
            f"has {expected}. It is damaged, cut, or was replaced. {_AGAIN}"
        )


def _check_tolerance(tolerance, expected, file):
    size = float(np.sqrt(np.mean(np.square(expected, dtype=np.float64))))
    if not tolerance < MAX_TOLERANCE * size:
        raise ValueError(
            f"The card of {file} allows a deviation of {tolerance:g} from its golden embedding, "
            f"whose root mean square is {size:.3g}. Another model would pass this check. Allow "
            f"less than {MAX_TOLERANCE * size:.2g}, or run the model's recipe."
        )


def _check_parameters(model, file, expected):
    count = model.count_params()
    if count != expected:
        raise ValueError(f"{file} has {count:,} weights, its card has {expected:,}. {_AGAIN}")


def _read(file):
    with open(file, "rb") as opened:
        _check_archive(opened, file)
    try:
        model = keras.saving.load_model(file, safe_mode=True)
    except Exception as error:  # Keras raises many types
        reason, advice = _explain(error)
        raise ValueError(
            f"Keras {keras.__version__} cannot read {file}: {reason} {advice}"
        ) from error
    if not isinstance(model, keras.Model):
        raise ValueError(
            f"{file} contains a {type(model).__name__}, not a keras.Model. Save the model that "
            "contains it."
        )
    return model


def _check_archive(opened, file):
    try:
        names = archive.check(opened, texts=CONTENT)
        missing = [name for name in (*CONTENT, WEIGHTS) if name not in names]
        if missing:
            raise ValueError(f"it lacks {', '.join(missing)}")
        archive.check_weights(opened, WEIGHTS)
    except ValueError as error:
        raise ValueError(
            f"{file} is not a complete {lookup.SUFFIX} file: {archive.first_line(error)} It has "
            f"{file.stat().st_size:,} bytes. {_COPY}"
        ) from error


def _explain(error):
    """Returns the cause of an error of Keras without the quoted configuration, and advice."""
    text = str(error)
    for wrapped in _WRAPPED:
        text = text.rpartition(wrapped)[2]
    if "safe_mode" in text:
        return "it contains code, which is never run.", _AS_CLASS
    text = re.sub(r"(error message for object .*:)\s*", r"\1 ", text)
    reason = archive.first_line(re.split("Make sure custom|Full object config", text)[0])
    is_unknown = "Could not locate" in text or "is a custom class" in text
    return _cut(reason), _REGISTER if is_unknown else _COPY


def _cut(text):
    return text if len(text) <= MAX_MESSAGE else f"{text[:MAX_MESSAGE]} ..."
