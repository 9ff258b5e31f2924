"""Folders of models: a custom one, the installed package, the checkout."""

import difflib
import os
import pathlib

VARIABLE = "KERAS_DML_ZOO"
CARD, SUFFIX = "card.json", ".keras"
_PACKAGE = pathlib.Path(__file__).resolve().parent.parent


def folders():
    """The folders that hold models, one subfolder a model; a model of an earlier folder hides a
    later one.

    First the folder that the environment variable KERAS_DML_ZOO names, then `keras_dml/_zoo`, which
    a wheel carries, then the checkout's `zoo`. That last one is known by the `pyproject.toml`
    beside it: in site-packages `zoo` may be somebody else's.

    Returns:
        List of `pathlib.Path`, those that exist.

    Raises:
        NotADirectoryError: If KERAS_DML_ZOO is set to something that is not a folder.
        ValueError: If it is set to the folder of a single model.
    """
    found = []
    named = os.environ.get(VARIABLE)
    if named:
        own = pathlib.Path(named).expanduser()
        if not own.is_dir():
            raise NotADirectoryError(
                f"{VARIABLE} must name a folder of models, one subfolder a model. There is no "
                f"folder {named!r}. Correct the variable or unset it."
            )
        if (own / CARD).is_file():
            raise ValueError(
                f"{VARIABLE} must name a folder of models, one subfolder a model. {named!r} is the "
                f"folder of one: it holds {CARD}. Name {str(own.resolve().parent)!r}, which it "
                "lies in."
            )
        found.append(own)
    checkout = _PACKAGE.parent
    known = [_PACKAGE / "_zoo"]
    if (checkout / "pyproject.toml").is_file():
        known.append(checkout / "zoo")
    return found + [folder for folder in known if folder.is_dir()]


def names():
    """Names of all models found, sorted. A subfolder is a model when it holds a card."""
    return sorted({path.parent.name for folder in folders() for path in folder.glob(f"*/{CARD}")})


def find(name):
    """The folder of a model.

    Args:
        name: Its name, as `names` lists it.

    Returns:
        A `pathlib.Path`.

    Raises:
        ValueError: If there is no such model; the message gives the nearest names.
        TypeError: If `name` is not a string.
    """
    if not isinstance(name, str):
        raise TypeError(
            "A model of the zoo is given by its name, a text such as 'gait_qp_wl'. Received "
            f"{type(name).__name__}."
        )
    for folder in folders():
        if name in {path.parent.name for path in folder.glob(f"*/{CARD}")}:
            return folder / name
    known = names()
    if not known:
        raise ValueError(
            f"Unknown model {name!r}: no model was found. Install the released package, which "
            "carries the models, or name a folder of models in the environment variable "
            f"{VARIABLE}."
        )
    near = difflib.get_close_matches(name.lower(), known, n=3, cutoff=0.4)
    hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
    raise ValueError(
        f"Unknown model {name!r}.{hint} There are: {', '.join(known)}. A file of your own is "
        "given by its path, ending in .keras."
    )


def folder_at(path):
    """The folder of a model, by its path.

    Args:
        path: Path of a folder that holds a card.

    Returns:
        A `pathlib.Path`.

    Raises:
        FileNotFoundError: If it holds none.
    """
    folder = pathlib.Path(path).expanduser()
    if not (folder / CARD).is_file():
        raise FileNotFoundError(
            f"There is no {CARD} in {str(folder)!r}. Give the folder of a model, as `keras-dml "
            f"train` writes it; models of the zoo go by name: {', '.join(names())}."
        )
    return folder


def is_path(name):
    """Whether a model is given by its path: a `pathlib.Path`, or a text with a separator or the end
    `.keras`.

    Raises:
        TypeError: If it is neither a text nor a path.
    """
    if not isinstance(name, (str, os.PathLike)):
        raise TypeError(
            f"A model is given by its name or its path. Received {type(name).__name__}."
        )
    text = os.fspath(name)
    separators = {os.sep, os.altsep or os.sep}
    return isinstance(name, os.PathLike) or text.endswith(SUFFIX) or bool(separators & set(text))
