"""Finds the folder with the real recordings, for recipes and tests."""

import os
import pathlib

VARIABLE = "KERAS_DML_DATA"


def data_dir():
    """Returns the folder with one subfolder per data set, the manual folder of `tfds_builders`.

    The environment variable KERAS_DML_DATA names it. Without the variable it is `../shared/data`
    relative to the checkout.

    Returns:
        A `pathlib.Path`, or None if the folder does not exist.

    Raises:
        NotADirectoryError: If KERAS_DML_DATA is not the path of a folder.
    """
    named = os.environ.get(VARIABLE)
    if named:
        folder = pathlib.Path(named)
        if not folder.is_dir():
            raise NotADirectoryError(
                f"{VARIABLE} must name the folder that holds the data sets. Received {named!r}, "
                "which is not a folder."
            )
        return folder
    folder = pathlib.Path(__file__).resolve().parent.parent.parent / "shared" / "data"
    return folder if folder.is_dir() else None
