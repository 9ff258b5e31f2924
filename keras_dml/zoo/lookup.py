"""Search for models: in a custom folder, in the installed package, in the checkout."""

from __future__ import annotations

import difflib
import os
import pathlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from keras_dml._typing import Path

VARIABLE = "KERAS_DML_ZOO"
CARD, SUFFIX = "card.json", ".keras"
_PACKAGE = pathlib.Path(__file__).resolve().parent.parent


def folders() -> list[pathlib.Path]:
    """Returns the existing folders with models, in the order of the search.

    The first is the folder in the environment variable KERAS_DML_ZOO, the second `keras_dml/_zoo`
    in an installed wheel, the third the checkout's `zoo`. Each model is a subfolder, and a model in
    an earlier folder hides one in a later folder. The checkout is recognized by its
    `pyproject.toml`, because in site-packages a folder `zoo` may belong to another package.

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
                f"{VARIABLE} is {variable!r}, which is not a folder. It must name a folder with "
                "one subfolder per model. Correct the variable or unset it."
            )
        if (custom / CARD).is_file():
            raise ValueError(
                f"{VARIABLE} is {variable!r}, the folder of a single model: it holds {CARD}. Name "
                f"{str(custom.resolve().parent)!r}, the folder that contains it."
            )
        result.append(custom)
    checkout = _PACKAGE.parent
    candidates = [_PACKAGE / "_zoo"]
    if (checkout / "pyproject.toml").is_file():
        candidates.append(checkout / "zoo")
    return result + [folder for folder in candidates if folder.is_dir()]


def names() -> list[str]:
    """Returns the names of all models, sorted. A subfolder with a card is a model."""
    return sorted({path.parent.name for folder in folders() for path in folder.glob(f"*/{CARD}")})


def find(name: str) -> pathlib.Path:
    """Returns the folder of a model.

    Args:
        name: Name of the model, see `names`.

    Raises:
        ValueError: If the model does not exist; the message gives similar names.
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
    all_names = names()
    if not all_names:
        raise ValueError(
            f"Unknown model {name!r}: no model was found. Install the released package, which "
            "contains the models, or name a folder of models in the environment variable "
            f"{VARIABLE}."
        )
    near = difflib.get_close_matches(name.lower(), all_names, n=3, cutoff=0.4)
    hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
    raise ValueError(
        f"Unknown model {name!r}.{hint} There are: {', '.join(all_names)}. To use another file, "
        "give its path, which ends in .keras."
    )


def folder_at(path: Path) -> pathlib.Path:
    """Returns the folder of a model by its path.

    Args:
        path: Path of a folder that contains a card.

    Raises:
        FileNotFoundError: If the folder has no card.
    """
    folder = pathlib.Path(path).expanduser()
    if not (folder / CARD).is_file():
        raise FileNotFoundError(
            f"Found no {CARD} in {str(folder)!r}. Give the folder of a model, as `keras-dml "
            f"train` writes it, or the name of a model of the zoo: {', '.join(names())}."
        )
    return folder


def is_path(name: Path) -> bool:
    """Returns whether a model is given by its path and not by its name.

    A path is a `pathlib.Path`, or a text that contains a separator or ends in `.keras`.

    Raises:
        TypeError: If `name` is neither a text nor a path.
    """
    if not isinstance(name, (str, os.PathLike)):
        raise TypeError(
            f"A model is given by its name or its path. Received {type(name).__name__}."
        )
    text = os.fspath(name)
    separators = {os.sep, os.altsep or os.sep}
    return isinstance(name, os.PathLike) or text.endswith(SUFFIX) or bool(separators & set(text))
