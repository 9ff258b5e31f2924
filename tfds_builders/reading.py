"""One call from the files in the manual folder to records, without TensorFlow.

>>> people = records("ipol_gait/left_foot", "~/data", split="test")    # doctest: +SKIP
>>> people[0]["sequence"].shape                                        # doctest: +SKIP
(2604, 6)
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import pathlib
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import tensorflow_datasets as tfds
from tensorflow_datasets.core import constants

import tfds_builders
from tfds_builders.common.archive import Source
from tfds_builders.common.checks import fingerprint

log = logging.getLogger("tfds_builders")
FORMAT = "array_record"


def records(
    name: str,
    manual_dir: str | os.PathLike | None,
    data_dir: str | os.PathLike | None = None,
    split: str | None = None,
) -> Sequence[Any] | Mapping[str, Sequence[Any]]:
    """Gives the records of a data set; prepares it at the first call.

    The files lie in `<data_dir>/array_record/`. When that was prepared from another archive than
    the one in `manual_dir` now, it stays as it is, and the new one is prepared beside it, in
    `from_<digest of the archive>/`.

    Args:
        name: `"ipol_gait"`, `"ipol_gait/left_foot"`, ...
        manual_dir: The folder with the archive, or a folder of such folders
            (`<manual_dir>/<name>/`); None when the data set was prepared before.
        data_dir: Where prepared data sets are kept; TFDS's own folder when not given.
        split: `"train"`, `"test[:50%]"`, ...; every split, by name, when not given.

    Returns:
        A data source: `len`, `source[i]` -> dict of arrays. Text is `bytes`, arrays may be
        read-only.

    Raises:
        ValueError: On an unknown name, a split that there is not, a missing or wrong archive.
    """
    builder = prepared(name, manual_dir, data_dir)
    if split is not None and split not in builder.info.splits and split.isidentifier():
        raise ValueError(f"{name} has no split {split!r}; it has {', '.join(builder.info.splits)}.")
    return builder.as_data_source(split=split)


def prepared(
    name: str,
    manual_dir: str | os.PathLike | None,
    data_dir: str | os.PathLike | None = None,
    file_format: str = FORMAT,
) -> tfds.core.DatasetBuilder:
    """Gives a builder whose files are ready, in `<data_dir>/<file_format>/`; see `records`."""
    tfds_builders.check_name(name)
    data_dir = pathlib.Path(data_dir or constants.get_default_data_dir()).expanduser()
    root = data_dir / file_format  # TFDS keeps one format a folder
    builder = tfds.builder(name, data_dir=root)
    ready = builder.data_path.exists()
    if manual_dir is None and ready:
        return builder
    manual_dir = pathlib.Path(manual_dir or data_dir / "downloads" / "manual").expanduser()
    marks = _fingerprints(builder.sources(manual_dir))
    if ready and builder.info.metadata["fingerprints"] != marks:
        digest = hashlib.sha256("".join(sorted(marks.values())).encode()).hexdigest()
        log.warning(
            "%s was prepared from another archive; this one goes to %s.",
            name,
            root / f"from_{digest[:12]}",
        )
        builder = tfds.builder(name, data_dir=root / f"from_{digest[:12]}")
    _prepare(builder, manual_dir, file_format)
    return builder


def _fingerprints(sources: Mapping[str, Source]) -> dict[str, str]:
    marks = {}
    for key, source in sources.items():
        marks[key] = fingerprint(source)
        source.close()
    return marks


def _prepare(builder: tfds.core.DatasetBuilder, manual_dir: pathlib.Path, file_format: str) -> None:
    """Writes a data set's files; when it fails, TFDS takes away what is half written."""
    config = tfds.download.DownloadConfig(
        manual_dir=manual_dir, compute_stats=tfds.download.ComputeStatsMode.SKIP
    )
    if not sys.stderr.isatty():
        tfds.disable_progress_bar()
    with contextlib.redirect_stdout(sys.stderr):  # standard output is for results
        builder.download_and_prepare(download_config=config, file_format=file_format)
