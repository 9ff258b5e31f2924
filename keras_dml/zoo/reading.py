"""Loads models. Before a model is loaded, the SHA-256 of its file is compared with the card."""

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

CONTENT = ("config.json", "metadata.json")  # members of every .keras file besides the weights
WEIGHTS = "model.weights.h5"
# Largest allowed tolerance, as a fraction of the root mean square of the golden embedding (the
# published embedding of a test recording). If another model computes the embedding, the relative
# error is above 1.
MAX_TOLERANCE = 0.1
MAX_MESSAGE = 300  # characters printed of a message of Keras, which may quote the whole file
OWN_CARD: dict[str, Any] = {
    key: schema.CARD[key.removesuffix("?")] for key in ("model", "golden?")
} | {"quality?": schema.QUALITY}
_AGAIN = "Install the package again, or run the model's recipe."
_COPY = "Copy the file again from the original, or save the model again by `model.save`."
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
# In its error messages, Keras quotes the whole configuration before these words, and states the
# cause after them.
_WRAPPED = ("Exception encountered: ", "Error encountered during deserialization: ")


def load(name: Path) -> keras.Model:
    """Loads a trained model as a plain `keras.Model`.

    Before Keras reads the file, the function compares the SHA-256 of the file with the card. After
    Keras has read the file, the function compares the number of weights with the card. Keras reads
    files in safe mode, so a file cannot run code.

    Args:
        name: Name of a model of the zoo, or the path of a custom `.keras` file or of a folder
            that contains `model.keras`. If the folder also contains a `card.json`, the function
            compares the file with this card.

    Returns:
        The model, which is compiled if the saved model was compiled.

    Raises:
        ValueError: If the model does not exist (the message then lists similar names), or if its
            file is damaged, truncated or not the file that the card describes.
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


def card_of(model: keras.Model) -> dict[str, Any] | None:
    """Returns the card of a model, or None if the model was not read by `load`.

    The function also accepts the encoder of a model that was read by `load`.
    """
    return _CARDS.get(model)


def folder_of(model: keras.Model) -> pathlib.Path | None:
    """Returns the folder from which `load` read a model, or None if the model has no card."""
    return _FOLDERS.get(model)


def check(name: Path) -> float:
    """Computes embeddings of test recordings, and compares them with the published embeddings. The
    golden file of the model contains the test recordings and their published embeddings.

    Args:
        name: Name or path of a model, as in `load`. A custom model needs a card and a golden file
            in its folder.

    Returns:
        The largest difference between the embeddings. This difference is at most the tolerance on
        the card.

    Raises:
        ValueError: If the largest difference exceeds the tolerance on the card, or if the tolerance
            is so large that another model would pass. `check` also raises the ValueErrors of
            `load`.
        FileNotFoundError: If the model has no card with a golden file.
    """
    model = load(name)
    file, card = _file_and_card(name)
    if card is None or "golden" not in card:
        raise FileNotFoundError(
            f"The folder of {file} has no card with a golden embedding (the published embedding of "
            "a test recording), so the model cannot be checked."
        )
    recordings, expected = read_golden(file.parent / card["golden"]["input"])
    computed = np.concatenate([embed_one(model, recording) for recording in recordings])
    tolerance = card["golden"]["atol"]
    _check_tolerance(tolerance, expected, file)
    if computed.shape != expected.shape:
        raise ValueError(
            f"{file} computes embeddings of shape {computed.shape}, but its golden file contains "
            f"embeddings of shape {expected.shape}. {_AGAIN}"
        )
    difference = float(np.abs(computed - expected).max())
    if not difference <= tolerance:  # NaN fails too
        raise ValueError(
            f"{file} does not reproduce its golden embedding. The largest difference is "
            f"{difference:.3g}, and the card allows {tolerance:g}. Compare the package versions on "
            "the card with the installed versions."
        )
    return difference


def loaded(model: Any) -> Any:
    """Loads a model if `model` is a name or a path, and returns other objects unchanged."""
    return load(model) if isinstance(model, str | os.PathLike) else model


def read_golden(path: pathlib.Path) -> tuple[list[np.ndarray], np.ndarray]:
    """Reads recordings and their embeddings from a file that `keras_dml.training.publish` wrote.

    Args:
        path: Path of an `.npz` file with `recording_0`, `recording_1`, ... and `embedding`.

    Returns:
        List of recordings `(time, channels)`, and array of embeddings `(recordings, ...)`.

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
        except Exception as error:  # damaged archives and arrays raise many types of errors
            raise ValueError(
                f"{path} is not a golden file, because it is damaged: "
                f"{archive.first_line(error)} {_AGAIN}"
            ) from error
    return recordings, embedding


def embed_one(model: keras.Model, recording: ArrayLike) -> np.ndarray:
    """Computes the embedding of one recording `(time, channels)`. The embedding has the shape
    `(1, ...)`."""
    encoder = inputs.encoder(model)
    return keras.ops.convert_to_numpy(
        encoder(np.asarray(recording, np.float32)[None], training=False)
    )


def sha256(path: Path) -> str:
    """Returns the SHA-256 of a file in hexadecimal digits."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _file_and_card(name):
    """Returns the file and the card of a model. The card is None if a custom file has no card."""
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
    if file.suffix == lookup.EDGE_SUFFIX:
        raise ValueError(
            f"{file} is a TFLite file, which Keras cannot read. `keras_dml.edge` reads it. Or give "
            f"the path of the {lookup.SUFFIX} file from which it was exported."
        )
    card_path = file.with_name(lookup.CARD)
    if not card_path.is_file():
        return file, None
    card = schema.validate(catalog.read_json(card_path), f"{card_path}", OWN_CARD)
    named = card["model"]["file"]
    is_of_another_file = named != file.name and file.with_name(named).is_file()
    return file, None if is_of_another_file else card


def _contract(card):
    """Returns the input contract on a card, or None if the inputs are not recordings."""
    described = card.get("input", {})
    if "size" in described or schema.problems(described, schema.RECORDINGS):
        return None
    return Contract(
        described["channels"],
        described["units"],
        described["rate_hz"],
        *described["length"],
        events=described["rate_hz"] is None,
    )


def _check_digest(file, expected):
    if not file.is_file():
        raise FileNotFoundError(
            f"The card in {file.parent} names the model file {file.name}, which does not exist. "
            f"{_AGAIN}"
        )
    digest = sha256(file)
    if digest != expected:
        raise ValueError(
            f"{file} is not the file that its card describes. The SHA-256 of the file is {digest}, "
            f"but the card contains {expected}. The file is damaged or truncated, or it was "
            f"replaced. {_AGAIN}"
        )


def _check_tolerance(tolerance, expected, file):
    size = float(np.sqrt(np.mean(np.square(expected, dtype=np.float64))))
    if not tolerance < MAX_TOLERANCE * size:
        raise ValueError(
            f"The card of {file} allows a deviation of {tolerance:g} from its golden embedding, "
            f"whose root mean square is {size:.3g}. With so large a deviation, another model would "
            f"pass the check. Set a tolerance below {MAX_TOLERANCE * size:.2g}, or run the recipe "
            "of the model."
        )


def _check_parameters(model, file, expected):
    count = model.count_params()
    if count != expected:
        raise ValueError(f"{file} has {count:,} weights, but its card has {expected:,}. {_AGAIN}")


def _read(file):
    with open(file, "rb") as opened:
        _check_archive(opened, file)
    try:
        model = keras.saving.load_model(file, safe_mode=True)
    except Exception as error:  # Keras raises many types of errors
        reason, advice = _explain(error)
        raise ValueError(
            f"Keras {keras.__version__} cannot read {file}: {reason} {advice}"
        ) from error
    if not isinstance(model, keras.Model):
        raise ValueError(
            f"{file} contains an object of type {type(model).__name__}, which is not a "
            "keras.Model. Save a keras.Model that contains this object."
        )
    return model


def _check_archive(opened, file):
    try:
        names = archive.check(opened, texts=CONTENT)
        missing = [name for name in (*CONTENT, WEIGHTS) if name not in names]
        if missing:
            raise ValueError(f"the zip file lacks {', '.join(missing)}")
        archive.check_weights(opened, WEIGHTS)
    except ValueError as error:
        raise ValueError(
            f"{file} is not a complete {lookup.SUFFIX} file: {archive.first_line(error)} It has "
            f"{file.stat().st_size:,} bytes. {_COPY}"
        ) from error


def _explain(error):
    """Returns the cause of a Keras error and advice, without the configuration that the error
    quotes."""
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
