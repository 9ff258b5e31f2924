"""What all builders do around TFDS: one run at a time, and nothing left of those that failed."""

from __future__ import annotations

import contextlib
import os
import pathlib
import shutil
from collections.abc import Iterator

from tensorflow_datasets.core import constants

from tfds_builders.common.lock import alone


class AloneMixin:
    """Prepares a data set in one process at a time; stands before TFDS's builder class.

    A second run waits, finds what the first has made, and goes on with it. What a killed run left
    half written is cleared by the next.
    """

    def download_and_prepare(self, *, file_format=None, **kwargs) -> None:
        """Prepares the data set as TFDS does; see there."""
        path = os.fspath(self.data_path)
        folder = pathlib.Path(path)
        ready = self.data_path.exists() or "://" in path  # no locks on remote storage
        with contextlib.nullcontext() if ready else _at_work(folder, self.info.full_name):
            if self.data_path.exists() and not self.info.initialized:
                self.info.set_file_format(file_format, override=True)  # else the code's would hold
                self.info.read_from_directory(self.data_path)
            super().download_and_prepare(file_format=file_format, **kwargs)


@contextlib.contextmanager
def _at_work(folder: pathlib.Path, name: str) -> Iterator[None]:
    lock = folder.with_name(f".{folder.name}.lock")
    try:
        with alone(lock, f"prepares {name}") as sure:
            if sure:
                _clear_killed(folder)
            yield
    finally:
        _clear_empty(folder.parent)


def _clear_killed(folder: pathlib.Path) -> None:
    """Takes away what runs left that were killed while they wrote a folder."""
    for half in folder.parent.glob(f"{constants.INCOMPLETE_PREFIX}*_{folder.name}"):
        shutil.rmtree(half, ignore_errors=True)


def _clear_empty(config: pathlib.Path) -> None:
    """Takes away the folder of a config, and that of its data set, where nothing was prepared."""
    dataset = config.parent
    with contextlib.suppress(OSError):  # they hold something
        config.rmdir()
        if [child.name for child in dataset.iterdir()] == [".config"]:
            shutil.rmtree(dataset / ".config")
        dataset.rmdir()
