"""Finds models in a custom folder, in the installed package, or in a clone of the repository."""

from __future__ import annotations

import os
import pathlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from keras_dml._typing import Path

VARIABLE = "KERAS_DML_ZOO"
CARD, SUFFIX, EDGE_SUFFIX = "card.json", ".keras", ".tflite"
_PACKAGE = pathlib.Path(__file__).resolve().parent.parent


def folders() -> list[pathlib.Path]:
    """Returns the existing folders that contain models, in the order in which they are searched.

    The first folder is named by the environment variable KERAS_DML_ZOO. The second folder is
    `keras_dml/_zoo` of an installed wheel, and the third is `zoo` in a clone of the repository.
    Each model has a subfolder with the name of the model. If two folders contain models with the
    same name, the model in the earlier folder is used. The third folder is used only if a
    `pyproject.toml` is next to it, because a folder `zoo` in site-packages may belong to another
    package.

    Raises:
        NotADirectoryError: If KERAS_DML_ZOO is set to something that is not a folder.
        ValueError: If KERAS_DML_ZOO is set to the folder of a single model.
    """
    result = []
    variable = os.environ.get(VARIABLE)
    if variable:
        custom = pathlib.Path(variable).expanduser()
        if not custom.is_dir():
            raise NotADirectoryError(
                f"{VARIABLE} is {variable!r}, which is not a folder. The variable must name a "
                "folder with one subfolder per model. Correct the variable or unset it."
            )
        if (custom / CARD).is_file():
            raise ValueError(
                f"{VARIABLE} is {variable!r}, which is the folder of a single model, because it "
                f"contains {CARD}. Set the variable to {str(custom.resolve().parent)!r}, the "
                "folder that contains the folder of the model."
            )
        result.append(custom)
    checkout = _PACKAGE.parent
    candidates = [_PACKAGE / "_zoo"]
    if (checkout / "pyproject.toml").is_file():
        candidates.append(checkout / "zoo")
    return result + [folder for folder in candidates if folder.is_dir()]


def names() -> list[str]:
    """Returns the sorted names of all models. A model is a subfolder that contains a card."""
    return sorted({path.parent.name for folder in folders() for path in folder.glob(f"*/{CARD}")})


def find(name: str) -> pathlib.Path:
    """Returns the folder of a model.

    Args:
        name: Name of the model, one of `names()`.

    Raises:
        ValueError: If the model does not exist. The message lists similar names.
        TypeError: If `name` is not a string.
    """
    if not isinstance(name, str):
        raise TypeError(
            "The name of a model must be a text such as 'gait_qp_wl'. Received "
            f"{type(name).__name__}."
        )
    for folder in folders():
        if name in {path.parent.name for path in folder.glob(f"*/{CARD}")}:
            return folder / name
    all_names = names()
    if not all_names:
        raise ValueError(
            f"Unknown model {name!r}: no model was found. Install the released package, which "
            "contains the models, or name a folder of models in the environment variable "
            f"{VARIABLE}."
        )
    import difflib  # only errors need it

    near = difflib.get_close_matches(name.lower(), all_names, n=3, cutoff=0.4)
    hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
    raise ValueError(
        f"Unknown model {name!r}.{hint} The models are {', '.join(all_names)}. To use another "
        "file, give its path, which ends in .keras."
    )


def folder_at(path: Path) -> pathlib.Path:
    """Returns `path` as the folder of a model, and checks that it contains a card.

    Args:
        path: Path of the folder of a model.

    Raises:
        FileNotFoundError: If the folder contains no card.
    """
    folder = pathlib.Path(path).expanduser()
    if not (folder / CARD).is_file():
        raise FileNotFoundError(
            f"Found no {CARD} in {str(folder)!r}. Give the folder of a model that `keras-dml "
            f"train` wrote, or the name of a model of the zoo: {', '.join(names())}."
        )
    return folder


def is_path(name: Path) -> bool:
    """Returns True if `name` is the path of a model, and False if it is the name of a model.

    A path is a `pathlib.Path`, or a text that contains a path separator or ends in `.keras` or
    `.tflite`.

    Raises:
        TypeError: If `name` is neither a text nor a path.
    """
    if not isinstance(name, (str, os.PathLike)):
        raise TypeError(f"Give a model by its name or its path. Received {type(name).__name__}.")
    text = os.fspath(name)
    has_separator = not {os.sep, os.altsep or os.sep}.isdisjoint(text)
    is_file = text.endswith((SUFFIX, EDGE_SUFFIX))
    return isinstance(name, os.PathLike) or is_file or has_separator


def lasting(name: Path) -> str:
    """Makes a path absolute, so that it is valid in any working directory. Returns a name
    unchanged.
    """
    return str(pathlib.Path(name).expanduser().resolve()) if is_path(name) else os.fspath(name)
