"""Loads models after verifying their SHA-256 against the card."""

import hashlib
import os
import pathlib
import re
import weakref

import numpy as np

from keras_dml import _arrays, inputs, layers, losses, models  # noqa: F401  registers all classes
from keras_dml._backend import keras
from keras_dml.contract import Contract
from keras_dml.zoo import archive, catalog, lookup, schema

CONTENT = ("config.json", "metadata.json")  # what Keras puts into every file beside the weights
WEIGHTS = "model.weights.h5"
MAX_TOLERANCE = (
    0.1  # of the golden embedding's size; for another model the relative error exceeds 1
)
MAX_MESSAGE = 300  # characters of what Keras says, which may quote the whole file
OWN_CARD = {key: schema.CARD[key.removesuffix("?")] for key in ("model", "golden?")} | {
    "quality?": schema.QUALITY
}
_AGAIN = "Install the package again, or run the model's recipe."
_COPY = "Copy it again from where it was saved, or save it again by `model.save`."
_AS_CLASS = (
    "Write what it does as a layer of your own, registered with "
    "keras.saving.register_keras_serializable, and save the model again."
)
_REGISTER = (
    "Classes and functions of your own must be imported before, and registered with "
    "keras.saving.register_keras_serializable."
)
_CARDS = weakref.WeakKeyDictionary()  # of models that were loaded, and of their encoders
_FOLDERS = weakref.WeakKeyDictionary()  # of the files of these models
# Before these words Keras quotes the whole configuration, behind them stands the cause.
_WRAPPED = ("Exception encountered: ", "Error encountered during deserialization: ")


def load(name):
    """A trained model, as a plain `keras.Model`.

    Nothing of the file is read by Keras before its SHA-256 is that of the card; then the number of
    weights is compared too. Keras reads in safe mode: a file cannot bring code of its own.

    Args:
        name: Name of a model of the zoo, or the path of a custom `.keras` file or of a folder
            that holds `model.keras`. A `card.json` beside a custom file is compared with it.

    Returns:
        A `keras.Model`, compiled if it was saved compiled.

    Raises:
        ValueError: If there is no such model (the message gives the nearest names), or its file is
            damaged, cut, or not the one that the card describes.
        FileNotFoundError: If there is no file of that path.
    """
    file, described = _file_and_card(name)
    if described is not None:
        _check_digest(file, described["model"]["sha256"])
    model = _read(file)
    if described is not None:
        _check_parameters(model, file, described["model"]["parameters"])
        encoder = inputs.encoder(model)
        _CARDS[model] = _CARDS[encoder] = described
        _FOLDERS[model] = _FOLDERS[encoder] = file.parent
        contract = _contract(described)
        if contract is not None:
            inputs.declare(encoder, contract)
    return model


def card_of(model):
    """The card of a model that `load` has read, or of its encoder; None where it has none."""
    return _CARDS.get(model)


def folder_of(model):
    """The folder that a model with a card was read from; None where it has none."""
    return _FOLDERS.get(model)


def check(name):
    """Compares the golden embedding, recomputed, with that of the machine that trained.

    Args:
        name: See `load`; a custom model needs a card and a golden file beside it.

    Returns:
        The largest difference, at most the card's tolerance.

    Raises:
        ValueError: If the difference is larger than the card's tolerance, or that tolerance is so
            loose that another model would pass; else see `load`.
        FileNotFoundError: If there is nothing to compare with.
    """
    model = load(name)
    file, described = _file_and_card(name)
    if described is None or "golden" not in described:
        raise FileNotFoundError(
            f"{file} has no card with a golden embedding beside it; nothing to check."
        )
    recordings, expected = read_golden(file.parent / described["golden"]["input"])
    found = np.concatenate([embed_one(model, recording) for recording in recordings])
    tolerance = described["golden"]["atol"]
    _check_tolerance(tolerance, expected, file)
    if found.shape != expected.shape:
        raise ValueError(
            f"{file} gives embeddings of shape {found.shape}, its golden file holds "
            f"{expected.shape}. {_AGAIN}"
        )
    difference = float(np.abs(found - expected).max())
    if not difference <= tolerance:  # NaN fails too
        raise ValueError(
            f"{file} does not give its golden embedding here: they differ by up to "
            f"{difference:.3g}, the card allows {tolerance:g}. Compare the versions in the card's "
            "recipe with those installed."
        )
    return difference


def loaded(model):
    """The model that a name or a path stands for, as `load` takes them; anything else as it is."""
    return load(model) if isinstance(model, str | os.PathLike) else model


def lasting(name):
    """A name or a path that means the same in any folder."""
    return str(pathlib.Path(name).expanduser().resolve()) if lookup.is_path(name) else name


def read_golden(path):
    """Recordings and their embeddings, as `keras_dml.training.publish` writes them.

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
        except Exception as error:  # as of any archive, and of arrays within
            raise ValueError(
                f"{path} is no golden file: {archive.first_line(error)} It is damaged. {_AGAIN}"
            ) from error
    return recordings, embedding


def embed_one(model, recording):
    """The embedding of one recording `(time, channels)`, shape `(1, ...)`."""
    encoder = inputs.encoder(model)
    return keras.ops.convert_to_numpy(
        encoder(np.asarray(recording, np.float32)[None], training=False)
    )


def sha256(path):
    """SHA-256 of a file, in hexadecimal digits."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _file_and_card(name):
    """The model's file, and its card or None where a custom file has none."""
    if not lookup.is_path(name):
        card = catalog.card(name)
        return lookup.find(name) / card["model"]["file"], card
    path = pathlib.Path(name).expanduser()
    file = path / f"model{lookup.SUFFIX}" if path.is_dir() else path
    if not file.is_file():
        raise FileNotFoundError(
            f"There is no model file {str(file)!r}. Give the path of a {lookup.SUFFIX} file; "
            f"models of the zoo go by name: {', '.join(lookup.names())}."
        )
    beside = file.with_name(lookup.CARD)
    if not beside.is_file():
        return file, None
    card = schema.validate(catalog.read_json(beside), f"{beside}", OWN_CARD)
    named = card["model"]["file"]
    is_of_another = named != file.name and file.with_name(named).is_file()
    return file, None if is_of_another else card


def _contract(card):
    """The input contract of a card; None where it has none, or is one of images."""
    taken = card.get("input", {})
    if "size" in taken or schema.problems(taken, schema.RECORDINGS):
        return None
    return Contract(taken["channels"], taken["units"], taken["rate_hz"], *taken["length"])


def _check_digest(file, expected):
    if not file.is_file():
        raise FileNotFoundError(
            f"The card in {file.parent} names {file.name}, which is missing. {_AGAIN}"
        )
    found = sha256(file)
    if found != expected:
        raise ValueError(
            f"{file} is not the file that its card describes: its SHA-256 is {found}, the card "
            f"says {expected}. It is damaged, cut, or was replaced. {_AGAIN}"
        )


def _check_tolerance(tolerance, expected, file):
    size = float(np.sqrt(np.mean(np.square(expected, dtype=np.float64))))
    if not tolerance < MAX_TOLERANCE * size:
        raise ValueError(
            f"The card of {file} allows its golden embedding to be off by {tolerance:g}, and its "
            f"values are of the size {size:.3g} (root mean square): another model would pass. "
            f"Allow less than {MAX_TOLERANCE * size:.2g}, or run the model's recipe."
        )


def _check_parameters(model, file, expected):
    found = model.count_params()
    if found != expected:
        raise ValueError(f"{file} has {found:,} weights, its card says {expected:,}. {_AGAIN}")


def _read(file):
    with open(file, "rb") as opened:
        _check_archive(opened, file)
    try:
        model = keras.saving.load_model(file, safe_mode=True)
    except Exception as error:  # Keras raises what its parts happen to raise
        reason, advice = _of_keras(error)
        raise ValueError(
            f"Keras {keras.__version__} cannot read {file}: {reason} {advice}"
        ) from error
    if not isinstance(model, keras.Model):
        raise ValueError(
            f"{file} holds a {type(model).__name__}, not a keras.Model. Save the model that it "
            "belongs to."
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


def _of_keras(error):
    """What Keras found wrong, without the configuration that it quotes, and what to do about it."""
    text = str(error)
    for wrapped in _WRAPPED:
        text = text.rpartition(wrapped)[2]
    if "safe_mode" in text:
        return "it carries code of its own, which is never run.", _AS_CLASS
    text = re.sub(r"(error message for object .*:)\s*", r"\1 ", text)
    reason = archive.first_line(re.split("Make sure custom|Full object config", text)[0])
    is_unknown = "Could not locate" in text or "is a custom class" in text
    return _cut(reason), _REGISTER if is_unknown else _COPY


def _cut(text):
    return text if len(text) <= MAX_MESSAGE else f"{text[:MAX_MESSAGE]} ..."
