"""The folder that a training writes into; no backend is loaded for the check of it."""

import pathlib

from keras_dml._files import path_with_name
from keras_dml.zoo import lookup

UNFINISHED = "unfinished"  # folder of a training that is not finished, in the folder of its model


def checked(out, *, replace=False, resume=False):
    """Returns the folder of a model, after a check that nothing is overwritten unasked.

    Args:
        out: Path of the folder.
        replace: Whether an earlier model there may be replaced.
        resume: Whether a training that was stopped there goes on.

    Raises:
        FileExistsError: If a model is there, `replace` is False, and no training goes on.
        ValueError: If a file or other files are there.
    """
    folder = path_with_name(pathlib.Path(out).expanduser().resolve(), "folder")
    if not folder.exists():
        return folder
    if not folder.is_dir():
        raise ValueError(f"{str(folder)!r} is a file; give a folder.")
    is_unfinished = (folder / UNFINISHED).is_dir()
    if (folder / lookup.CARD).is_file():
        if not replace and not (resume and is_unfinished):
            raise FileExistsError(
                f"{str(folder)!r} holds a model, so it is left as it is. Give another folder, or "
                "`replace=True` to replace the model."
            )
    elif any(folder.iterdir()) and not is_unfinished:
        raise ValueError(
            f"{str(folder)!r} holds files and no model, so it is left as it is. Give a folder that "
            "does not exist or is empty."
        )
    return folder
