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
        option: Name of the option, for the error.

    Raises:
        ValueError: If it is the address of a remote store. Otherwise the address would become
            the name of a folder.
    """
    if is_address(path):
        raise ValueError(
            f"{option} is the address {os.fspath(path)!r}. Data sets are prepared in a folder of "
            "this machine: give one, then copy what is in it to the store, from where TFDS reads "
            "it; or mount the store as a folder."
        )
    return pathlib.Path(path).expanduser()


def data_folder(path: str | os.PathLike | None) -> pathlib.Path:
    """Returns the folder of prepared data sets, by default the folder of TFDS.

    Raises:
        ValueError: If it is the address of a remote store.
    """
    if path is not None:
        return local(path, "--data-dir")
    return local(constants.get_default_data_dir(), "TFDS_DATA_DIR")
