"""Checks whether a path is a folder of this machine or an address of a remote store."""

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
    """Returns a folder of this machine.

    Args:
        path: The folder; `~` is the home folder.
        option: Name of the option, for the error message.

    Raises:
        ValueError: If the path is the address of a remote store. Otherwise a folder with the
            address as its name would be created.
    """
    if is_address(path):
        raise ValueError(
            f"{option} is the address {os.fspath(path)!r}. Data sets are prepared in a folder of "
            "this machine. Give such a folder, then copy its contents to the store, from which "
            "TFDS can read them. Or mount the store as a folder."
        )
    return pathlib.Path(path).expanduser()


def data_folder(path: str | os.PathLike | None) -> pathlib.Path:
    """Returns the folder of prepared data sets, by default the folder of TFDS.

    Raises:
        ValueError: If the path is the address of a remote store.
    """
    if path is not None:
        return local(path, "--data-dir")
    return local(constants.get_default_data_dir(), "TFDS_DATA_DIR")
