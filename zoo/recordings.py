"""The folder of the real recordings, looked up in one place for recipes and tests."""

import os
import pathlib

VARIABLE = "KERAS_DML_DATA"


def data_dir():
    """The folder with one subfolder a data set, as `tfds_builders` takes it for its manual folder.

    The environment variable KERAS_DML_DATA names it; without it, `../shared/data` beside the
    checkout is taken.

    Returns:
        A `pathlib.Path`, or None where there is no such folder.

    Raises:
        NotADirectoryError: If KERAS_DML_DATA is set to something that is not a folder.
    """
    named = os.environ.get(VARIABLE)
    if named:
        folder = pathlib.Path(named)
        if not folder.is_dir():
            raise NotADirectoryError(
                f"{VARIABLE} must name the folder that holds the data sets. There is no folder "
                f"{named!r}."
            )
        return folder
    folder = pathlib.Path(__file__).resolve().parent.parent.parent / "shared" / "data"
    return folder if folder.is_dir() else None
