"""Function `records`, which reads a data set.

If the data set is not prepared yet, the function first prepares it from its archive. TensorFlow is
not needed.

>>> people = records("ipol_gait/left_foot", "~/data", split="test")    # doctest: +SKIP
>>> people[0]["sequence"].shape                                        # doctest: +SKIP
(2604, 6)
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import pathlib
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

import tensorflow_datasets as tfds

import tfds_builders
from tfds_builders.common import code
from tfds_builders.common.archive import Source
from tfds_builders.common.builder import CODE
from tfds_builders.common.checks import fingerprint, stamp
from tfds_builders.common.disk import full_disk_reported, remove_empty
from tfds_builders.common.places import data_folder, local

log = logging.getLogger("tfds_builders")
FORMAT = "array_record"
FORMATS = ("tfrecord", FORMAT)
STAMPS = "stamps.json"  # state of the unpacked archives from which the data set was prepared


def records(
    name: str,
    manual_dir: str | os.PathLike | None,
    data_dir: str | os.PathLike | None = None,
    split: str | None = None,
) -> Sequence[Any] | Mapping[str, Sequence[Any]]:
    """Returns the records of a data set. The first call prepares the data set.

    The prepared files are in the folder `<data_dir>/array_record/`. These files may come from an
    archive that differs from the archive in `manual_dir`. In this case, the function keeps the
    files and prepares the archive from `manual_dir` in the subfolder
    `from_<digest of the archive>/`.

    Args:
        name: Name of the data set, such as `"ipol_gait"`, or of a config, such as
            `"ipol_gait/left_foot"`.
        manual_dir: Folder that contains the archive. The archive may also be in the subfolder
            `<manual_dir>/<name>/`. The value may be None if the data set was prepared before.
        data_dir: Folder with the prepared data sets. Default: the folder of TFDS.
        split: Split or slice to read, such as `"train"` or `"test[:50%]"`. If None, the function
            returns a dict from the name of each split to its records.

    Returns:
        A data source. `len(source)` is the number of its records, and `source[i]` is one record, a
        dict of arrays. Text is `bytes`, and arrays may be read-only.

    Raises:
        ValueError: If the name or the split is unknown, if the archive is missing or cannot be
            used, or if the files of the prepared data set are damaged.
    """
    builder = prepared(name, manual_dir, data_dir)
    if split is not None and split not in builder.info.splits and split.isidentifier():
        raise ValueError(f"{name} has no split {split!r}. It has {', '.join(builder.info.splits)}.")
    return builder.as_data_source(split=split)


def prepared(
    name: str,
    manual_dir: str | os.PathLike | None,
    data_dir: str | os.PathLike | None = None,
    file_format: str = FORMAT,
    beam_options=None,
    overwrite: bool = False,
    jobs: int = 1,
) -> tfds.core.DatasetBuilder:
    """Returns a builder that can read a data set.

    If the data set is not prepared yet, the function first prepares it. See `records`. TFDS needs
    one folder per file format. The tfrecord files are in `<data_dir>/`, where `tfds.load` looks for
    them. The array_record files are in `<data_dir>/array_record/`.

    Args:
        name: Name of the data set, such as `"ipol_gait"`, or of a config, such as
            `"ipol_gait/left_foot"`.
        manual_dir: See `records`.
        data_dir: See `records`.
        file_format: `"array_record"` or `"tfrecord"`.
        beam_options: `PipelineOptions` of Apache Beam, or None to run without Beam. If the options
            are not None, the builder must have `ON_BEAM = True`.
        overwrite: Whether to prepare an existing data set again. If False, the function uses an
            existing data set, and logs a warning if the existing data set was prepared by different
            code.
        jobs: Number of processes that read recordings. If `jobs` is larger than 1, the main program
            must be importable without side effects (`if __name__ == "__main__":`).
    """
    tfds_builders.check_config(name)
    data_dir = data_folder(data_dir)
    _check_text(data_dir)
    files = root_of(data_dir, file_format)
    builder = _builder(name, files)
    ready = builder.data_path.exists()
    if manual_dir is None and ready and not overwrite:
        _warn_of_other_code(builder)
        return builder
    manual_dir = local(manual_dir or data_dir / "downloads" / "manual", "--manual-dir")
    with full_disk_reported(files):
        sources = builder.sources(manual_dir)
        _check_apart(folder_of(name, files), sources)
        stamps = {key: stamp(source) for key, source in sources.items()}
        marks = _fingerprints(sources, stamps, _stamps(builder))
    options = manual_dir, file_format, beam_options, jobs
    builder, is_new = _made(builder, *options, overwrite and _is_of(builder, marks))
    if not _is_of(builder, marks):
        digest = hashlib.sha256("".join(sorted(marks.values())).encode()).hexdigest()
        files = files / f"from_{digest[:12]}"
        log.warning(
            "%s was prepared from another archive. The new archive is prepared in %s.", name, files
        )
        builder, is_new = _made(_builder(name, files), *options, overwrite)
    if not is_new:
        _warn_of_other_code(builder)
    _keep_stamps(builder, marks, stamps)
    return builder


def _is_of(builder: tfds.core.DatasetBuilder, marks: Mapping[str, str]) -> bool:
    """Returns whether a data set exists and was prepared from archives with the given checksums."""
    return builder.data_path.exists() and builder.info.metadata["fingerprints"] == marks


def _made(
    builder: tfds.core.DatasetBuilder,
    manual_dir: pathlib.Path,
    file_format: str,
    beam_options,
    jobs: int,
    overwrite: bool,
) -> tuple[tfds.core.DatasetBuilder, bool]:
    """Prepares a data set if it does not exist or if `overwrite` is True.

    Returns:
        The builder, and whether this call prepared the data set.
    """
    path = pathlib.Path(builder.data_path)
    if not builder.info.initialized:  # another run may have prepared the data set in the meantime
        _prepare(builder, manual_dir, file_format, beam_options, jobs)
        return builder, True
    if not overwrite:
        return builder, False
    aside = path.with_name(f".{path.name}.replaced")
    shutil.rmtree(aside, ignore_errors=True)  # a killed run may have left files
    path.rename(aside)
    try:
        name = builder.info.full_name.rpartition("/")[0]
        builder = _builder(name, pathlib.Path(builder.data_dir_root))
        _prepare(builder, manual_dir, file_format, beam_options, jobs)
    except BaseException:
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            aside.rename(path)
        raise
    shutil.rmtree(aside)
    return builder, True


def _warn_of_other_code(builder: tfds.core.DatasetBuilder) -> None:
    if builder.info.metadata.get(CODE) != code.digest(type(builder)):
        log.warning(
            "%s was prepared by another version of the code, so its records may be outdated. "
            "Prepare it again with --overwrite.",
            builder.info.full_name,
        )


def _stamps(builder: tfds.core.DatasetBuilder) -> dict[str, list[str]]:
    """Returns the stamp and the checksum of each unpacked archive that the last call stored."""
    try:
        stamps = json.loads((pathlib.Path(builder.data_path) / STAMPS).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return stamps if isinstance(stamps, dict) else {}


def _keep_stamps(builder: tfds.core.DatasetBuilder, marks: dict, stamps: dict) -> None:
    """Stores stamps and checksums, so that later calls do not read unchanged folders again."""
    current = {key: [stamps[key], marks[key]] for key in marks if stamps[key] is not None}
    if current and current != _stamps(builder):
        with contextlib.suppress(OSError):  # the folder is read-only
            (pathlib.Path(builder.data_path) / STAMPS).write_text(json.dumps(current), "utf-8")


def root_of(data_dir: pathlib.Path, file_format: str) -> pathlib.Path:
    """Returns the folder that contains all data sets of a file format."""
    return data_dir if file_format == "tfrecord" else data_dir / file_format


def folder_of(name: str, root: pathlib.Path) -> pathlib.Path:
    """Returns the folder with the files of a data set. The name is `"name"` or `"name/config"`."""
    dataset, _, config = name.partition("/")
    cls = tfds_builders.builder_cls(dataset)
    config = config or next(iter(cls.builder_configs), "")
    return root / dataset / config / str(cls.VERSION)


def _check_text(folder: pathlib.Path) -> None:
    try:
        str(folder).encode()
    except UnicodeEncodeError:
        raise ValueError(
            f"The folder {ascii(str(folder))} has a name that this terminal's encoding "
            "cannot represent. Set PYTHONUTF8=1, or give another --data-dir."
        ) from None


def _check_apart(folder: pathlib.Path, sources: Mapping[str, Source]) -> None:
    """Raises an error if the data set would be written into its own unpacked archive.

    The new files would change the archive, so every call would prepare the data set again.
    """
    for source in sources.values():
        if source.path is not None and folder.resolve().is_relative_to(source.path.resolve()):
            raise ValueError(
                f"The data set would be written to {folder}, which is inside its own archive, the "
                f"folder {source.path}. Give a --data-dir outside this folder."
            )


def _builder(name: str, root: pathlib.Path) -> tfds.core.DatasetBuilder:
    """Returns a builder. If the data set is prepared, the function checks its files and reads its
    metadata.

    Raises:
        ValueError: If a file of the prepared data set is missing, incomplete or edited.
    """
    path = folder_of(name, root)
    try:
        builder = tfds.builder(name, data_dir=root)
        if builder.data_path.exists():
            _check_files(builder)
        return builder
    except Exception as failed:  # JSON, protocol buffers and TFDS raise a dozen types of errors
        if not path.exists() or isinstance(failed, ImportError | PermissionError):
            raise
        error = failed
    raise ValueError(
        f"The prepared data set in {path} is damaged ({_line(error)}). Delete that folder and "
        "run the same command again."
    ) from error


def _check_files(builder: tfds.core.DatasetBuilder) -> None:
    """Checks that the metadata state the archive, and that the files contain all records.

    For tfrecord files, the function only checks that they exist, because the format has no index.
    """
    if "fingerprints" not in builder.info.metadata:
        raise ValueError("metadata.json does not state from which archive the data set was made")
    for split in builder.info.splits.values():
        for path, length in zip(split.filepaths, split.shard_lengths, strict=True):
            if not path.exists():
                raise ValueError(f"{path.name} is missing")
            if builder.info.file_format.value == FORMAT and _records_in(path) != length:
                raise ValueError(f"{path.name} does not have {length:,} records")


def _records_in(path: os.PathLike) -> int:
    # imported here, because array_record does not support Windows
    from array_record.python.array_record_module import ArrayRecordReader

    with open(path, "rb"):  # raises PermissionError for a file that is not damaged
        return ArrayRecordReader(os.fspath(path)).num_records()


def _line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def _fingerprints(
    sources: Mapping[str, Source], stamps: Mapping[str, str | None], known: Mapping[str, list[str]]
) -> dict[str, str]:
    """Returns the checksum of each archive.

    The function does not unpack archives. If the stamp of a folder has not changed, the function
    does not read the folder again.
    """
    marks = {}
    for key, source in sources.items():
        stamped, mark = known.get(key, (None, None))
        is_known = stamped is not None and stamped == stamps[key]
        marks[key] = mark if is_known else fingerprint(source)
        source.close()
    return marks


def _unpacked(sources: Mapping[str, Source]) -> int:
    """Returns the number of bytes that all archives have after unpacking."""
    size = 0
    for source in sources.values():
        size += sum(source.sizes.values())
        source.close()
    return size


def _prepare(
    builder: tfds.core.DatasetBuilder,
    manual_dir: pathlib.Path,
    file_format: str,
    beam_options,
    jobs: int,
) -> None:
    """Writes the files of a data set.

    If another run has written the files in the meantime, the function uses these files. After a
    failure, the function removes the unfinished files.
    """
    builder.jobs = jobs
    root = pathlib.Path(builder.data_dir_root)
    with full_disk_reported(root):
        size = _unpacked(builder.sources(manual_dir))
    config = tfds.download.DownloadConfig(
        manual_dir=manual_dir,
        compute_stats=tfds.download.ComputeStatsMode.SKIP,
        beam_options=beam_options,
    )
    if not sys.stderr.isatty():
        tfds.disable_progress_bar()
    new = [folder for folder in (root, *root.parents) if not folder.exists()]
    try:
        with (
            full_disk_reported(root, size),
            tempfile.TemporaryDirectory() as downloads,  # TFDS needs it, and leaves it empty
            contextlib.redirect_stdout(sys.stderr),  # standard output is only for results
        ):
            builder.download_and_prepare(
                download_dir=downloads, download_config=config, file_format=file_format
            )
    finally:
        remove_empty(new)
