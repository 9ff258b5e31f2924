"""Checks the output folder of a training. This module does not load a backend of Keras."""

import pathlib

from keras_dml._files import path_with_name
from keras_dml._messages import Message
from keras_dml._typing import Path
from keras_dml.zoo import lookup

UNFINISHED = "unfinished"  # subfolder of the model's folder during a training


def check_out(out: Path, *, replace: bool = False, resume: bool = False) -> pathlib.Path:
    """Checks that a training may write into the output folder, and returns the folder.

    Args:
        out: Path of the output folder.
        replace: Whether an existing model may be replaced.
        resume: Whether an interrupted training in the folder is resumed.

    Raises:
        FileExistsError: If the folder contains a model, `replace` is False, and no training is
            resumed.
        ValueError: If the path is a file, or if the folder contains other files.
    """
    folder = path_with_name(pathlib.Path(out).expanduser().resolve(), "folder")
    if not folder.exists():
        return folder
    if not folder.is_dir():
        raise ValueError(f"{str(folder)!r} is a file. Give a folder.")
    is_unfinished = (folder / UNFINISHED).is_dir()
    if (folder / lookup.CARD).is_file():
        if not replace and not (resume and is_unfinished):
            raise FileExistsError(
                Message(
                    "{folder!r} holds a model, which was not changed. Give another folder, or set "
                    "{replace=True} to replace the model.",
                    folder=str(folder),
                )
            )
    elif any(folder.iterdir()) and not is_unfinished:
        raise ValueError(
            f"{str(folder)!r} holds files but no model. Nothing was changed. Give a folder that "
            "does not exist or is empty."
        )
    return folder
