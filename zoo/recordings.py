"""Finds the folder with real recordings that recipes and tests use."""

import os
import pathlib

VARIABLE = "KERAS_DML_DATA"


def data_dir():
    """Returns the folder that contains one subfolder per data set.

    `tfds_builders` uses this folder as the manual folder. The environment variable KERAS_DML_DATA
    names the folder. If the variable is not set, the folder is `../shared/data`, relative to the
    checkout.

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
                f"Received {VARIABLE}={named!r}, which is not a folder. The variable must name the "
                "folder that contains the data sets."
            )
        return folder
    folder = pathlib.Path(__file__).resolve().parent.parent.parent / "shared" / "data"
    return folder if folder.is_dir() else None
