"""Functions that distinguish folders of this machine from addresses of remote stores."""

from __future__ import annotations

import os
import pathlib
import re

from tensorflow_datasets.core import constants

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")  # not C:/, a drive of Windows


def is_address(path: str | os.PathLike) -> bool:
    """Returns whether a path is the address of a remote store, such as `gs://bucket/data`."""
    return _ADDRESS.match(os.fspath(path)) is not None


def local(path: str | os.PathLike, option: str) -> pathlib.Path:
    """Returns the path of a folder, and checks that the folder is on this machine.

    Args:
        path: Path of the folder. `~` means the home folder.
        option: Name of the option, for the error message.

    Raises:
        ValueError: If the path is the address of a remote store. Without this error, Python would
            create a local folder whose name is the address.
    """
    if is_address(path):
        raise ValueError(
            f"{option} is the address {os.fspath(path)!r}, expected a folder of this machine. Give "
            "a folder, then copy its contents to the store, from which TFDS can read them. "
            "Alternatively, mount the store as a folder."
        )
    return pathlib.Path(path).expanduser()


def data_folder(path: str | os.PathLike | None) -> pathlib.Path:
    """Returns the folder for prepared data sets. The default is the folder that TFDS uses.

    Raises:
        ValueError: If the path is the address of a remote store.
    """
    if path is not None:
        return local(path, "--data-dir")
    return local(constants.get_default_data_dir(), "TFDS_DATA_DIR")
