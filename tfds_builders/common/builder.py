"""What all builders add to TFDS: one run at a time, and no files left by a failed one."""

from __future__ import annotations

import contextlib
import os
import pathlib
import shutil
from collections.abc import Iterator

from tensorflow_datasets.core import constants

from tfds_builders.common.disk import check_writable
from tfds_builders.common.lock import alone


class AloneMixin:
    """Prepares a data set in one process at a time; stands before TFDS's builder class.

    A second run waits, then uses what the first has prepared. Half-written files of a killed run
    are removed by the next.
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        if self.builder_config is not None:  # the command for this config, not for the first one
            self.MANUAL_DOWNLOAD_INSTRUCTIONS = self.MANUAL_DOWNLOAD_INSTRUCTIONS.replace(
                f"build {self.name} ", f"build {self.name}/{self.builder_config.name} "
            )

    def download_and_prepare(self, *, file_format=None, **kwargs) -> None:
        """Prepares the data set; see `tfds.core.DatasetBuilder.download_and_prepare`."""
        path = os.fspath(self.data_path)
        folder = pathlib.Path(path)
        ready = self.data_path.exists() or "://" in path  # no locks on remote storage
        with (
            contextlib.nullcontext()
            if ready
            else at_work(folder, f"prepares {self.info.full_name}")
        ):
            if self.data_path.exists() and not self.info.initialized:
                self.info.set_file_format(file_format, override=True)  # else the code's would hold
                self.info.read_from_directory(self.data_path)
            super().download_and_prepare(file_format=file_format, **kwargs)


@contextlib.contextmanager
def at_work(folder: pathlib.Path, what: str) -> Iterator[None]:
    """Holds the lock of a folder that is being written; clears what killed runs left beside it.

    Args:
        folder: `<name>/<config>/<version>` in its place; the two above it go where they stay empty.
        what: Work of this process, for the log of others that wait.

    Raises:
        OSError: When the folder cannot be made.
    """
    check_writable(folder.parent)
    lock = folder.with_name(f".{folder.name}.lock")
    try:
        with alone(lock, what) as sure:
            if sure:
                _remove_incomplete(folder)
            yield
    finally:
        _remove_empty(folder.parent)


def _remove_incomplete(folder: pathlib.Path) -> None:
    """Removes the half-written folders of killed runs."""
    for incomplete in folder.parent.glob(f"{constants.INCOMPLETE_PREFIX}*_{folder.name}"):
        shutil.rmtree(incomplete, ignore_errors=True)


def _remove_empty(config: pathlib.Path) -> None:
    """Removes the folder of a config, and that of its data set, where nothing was prepared."""
    dataset = config.parent
    with contextlib.suppress(OSError):  # they hold something
        config.rmdir()
        if [child.name for child in dataset.iterdir()] == [".config"]:
            shutil.rmtree(dataset / ".config")
        dataset.rmdir()
