"""What all builders add to TFDS: one run at a time, and no files left by a failed one."""

from __future__ import annotations

import contextlib
import os
import pathlib
import shutil
import traceback
from collections.abc import Iterator

from tensorflow_datasets.core import constants

from tfds_builders.common import code
from tfds_builders.common.disk import check_writable
from tfds_builders.common.errors import MissingArchiveError
from tfds_builders.common.lock import alone
from tfds_builders.common.places import is_address

ARRAY_RECORD = "array_record"
EQUAL_KEYS = "Two examples share the same hashed key! A builder must give each its own key."
_NO_FOLDER = "Manual directory"  # of TFDS, where the folder of archives is missing or empty
CODE = "code"  # key of the metadata: digest of the code that made the data set


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
        kind = file_format or self.info.file_format
        if is_address(path) and getattr(kind, "value", kind) == ARRAY_RECORD:
            raise ValueError(
                f"{path} is an address, and files of the kind {ARRAY_RECORD} are written to "
                "folders of this machine only. Prepare the data set in a folder, then copy it."
            )
        ready = self.data_path.exists() or is_address(path)  # no locks on remote storage
        with (
            contextlib.nullcontext()
            if ready
            else at_work(folder, f"prepares {self.info.full_name}")
        ):
            if self.data_path.exists() and not self.info.initialized:
                self.info.set_file_format(file_format, override=True)  # else the code's would hold
                self.info.read_from_directory(self.data_path)
            try:
                super().download_and_prepare(file_format=file_format, **kwargs)
            except (AssertionError, MissingArchiveError) as error:
                is_missing = isinstance(error, MissingArchiveError) or _NO_FOLDER in str(error)
                hint = prepared_elsewhere(self) if is_missing else ""
                if not hint:
                    raise
                raise MissingArchiveError(f"{hint}{error}") from None
            except ModuleNotFoundError as error:
                if not is_of_equal_keys(error):
                    raise
                raise ValueError(f"{self.info.full_name}: {EQUAL_KEYS}") from error

    def _download_and_prepare(self, dl_manager, download_config) -> None:
        super()._download_and_prepare(dl_manager, download_config)
        self.info.metadata[CODE] = code.digest(type(self))

    def _log_download_bytes(self) -> None:
        print(
            f"Preparing {self.info.full_name} in {self.data_path}, from the archive that you "
            "downloaded...",
            flush=True,
        )

    def _log_download_done(self) -> None:
        print(f"{self.info.full_name} is prepared.", flush=True)


def is_of_equal_keys(error: Exception) -> bool:
    """Returns whether TFDS met two equal keys: to show the examples it needs TensorFlow, and where
    that is not installed its error speaks of TensorFlow alone."""
    return "_raise_error_for_duplicated_keys" in "".join(traceback.format_exception(error))


def prepared_elsewhere(builder) -> str:
    """Returns a sentence on what was prepared near the place of a data set that was not, and a
    space; nothing where nothing was.

    Args:
        builder: A builder of TFDS.
    """
    root = pathlib.Path(builder.data_dir_root)
    roots = {root: "load", root / ARRAY_RECORD: "data_source"}
    if root.name == ARRAY_RECORD:
        roots = {root: "data_source", root.parent: "load"}
    calls = []
    for folder, function in roots.items():
        for file in sorted((folder / builder.name).glob("**/dataset_info.json")):
            name = file.parent.parent.relative_to(folder).as_posix()
            calls.append(f"tfds.{function}({name!r}, data_dir={str(folder)!r})")
    if not calls:
        return ""
    return f"{builder.info.full_name} is not prepared. What is: {'; '.join(calls)}. Or: "


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
