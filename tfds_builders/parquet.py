"""Function that writes prepared data sets as Parquet files for Polars, DuckDB, Hugging Face and
other programs.

Each feature becomes a column. Arrays become nested lists. An axis of fixed size becomes a list of
fixed size, so that readers can restore the shape. Images are stored as the bytes of PNG or JPEG
files.

The metadata of a column contain the description of the feature. The metadata of the schema contain
JSON under the key `tfds_builders`. The JSON lists the TFDS features with their shapes and class
names, the license with its terms, and the metadata of the data set, such as channels, subjects and
archives.
"""

from __future__ import annotations

import functools
import json
import math
import os
import pathlib
import shutil
import sys
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import tensorflow_datasets as tfds
from rich.console import Console
from rich.progress import track as bar
from tensorflow_datasets.core import constants

from tfds_builders.common.builder import CODE
from tfds_builders.common.disk import full_disk_reported, remove_empty
from tfds_builders.common.lock import writing
from tfds_builders.common.processes import in_processes
from tfds_builders.common.progress import track

try:
    import pyarrow as pa
    from pyarrow import parquet
except ImportError as error:
    raise ImportError(
        f"Parquet files need the package pyarrow ({error}). Install it: "
        'pip install "keras-dml[data]"'
    ) from error

KEY = b"tfds_builders"
DESCRIPTION = "croissant.json"
GROUP_BYTES = 64 << 20  # bytes of a row group before compression, which a process holds in memory
SHARD_BYTES = 512 << 20  # bytes of the array_record files whose records go into one Parquet file


class Shard(NamedTuple):
    """One Parquet file of a split. The file has the records of the split from `start` up to, but
    not including, `stop`.
    """

    split: str
    name: str
    start: int
    stop: int


def write(
    builder: tfds.core.DatasetBuilder,
    root: pathlib.Path,
    *,
    overwrite: bool = False,
    jobs: int = 1,
) -> pathlib.Path:
    """Writes Parquet files from a data set that was prepared as array_record files.

    Args:
        builder: A builder that `reading.prepared` returned.
        root: Folder of all data sets. The files go to `<root>/<name>/<config>/<version>/`.
        overwrite: Whether to write existing files again.
        jobs: Number of processes. Each process writes one file at a time.

    Returns:
        The folder with the files. The name of a file is, for example,
        `<split>-00000-of-00001.parquet`. If the builder has a `croissant.json`, this file is copied
        into `<root>/<name>/`. If the folder already exists and was written from the same archive by
        the same code, the function does not change the folder.

    Raises:
        ValueError: If the folder exists and is incomplete, or if it was written from a different
            archive or by different code. `overwrite` avoids this error.
        OSError: If the disk is full, or if the folder cannot be created.
    """
    folder = root.joinpath(*builder.info.full_name.split("/"))
    new = [parent for parent in (root, *root.parents) if not parent.exists()]
    try:
        with full_disk_reported(root), writing(folder, f"writes {folder}"):
            if folder.exists() and not overwrite:
                _check_there(folder, builder)
            else:
                _write_whole(builder, folder, jobs)
            _describe(builder, root / builder.name)
    finally:
        remove_empty(new)
    return folder


def _describe(builder: tfds.core.DatasetBuilder, folder: pathlib.Path) -> None:
    """Copies the Croissant description of the data set into the folder. Programs need the
    description to read the Parquet files.
    """
    source = pathlib.Path(builder.pkg_dir_path) / DESCRIPTION
    if source.is_file():  # a builder of another package may not have a description
        staged = folder / f".{DESCRIPTION}.{os.getpid()}"
        shutil.copyfile(source, staged)
        staged.replace(folder / DESCRIPTION)


def _check_there(folder: pathlib.Path, builder: tfds.core.DatasetBuilder) -> None:
    advice = "Write the files again with --overwrite."
    archives = dict(builder.info.metadata["fingerprints"])
    for split in builder.info.splits:
        for file in _files_of(folder, split):
            try:
                content = json.loads(parquet.read_schema(file).metadata[KEY])
                metadata = content["metadata"]
                fingerprints, made_by = (metadata.get(key) for key in ("fingerprints", CODE))
            except (OSError, TypeError, ValueError, LookupError):  # missing, cut or another file
                raise ValueError(
                    f"{file} is not a Parquet file of this data set. {advice}"
                ) from None
            if fingerprints != archives:
                raise ValueError(
                    f"The Parquet files in {folder} were made from another archive. {advice}"
                )
            if made_by != builder.info.metadata.get(CODE):
                raise ValueError(
                    f"The Parquet files in {folder} were made by another version of the code. "
                    f"{advice}"
                )


def _files_of(folder: pathlib.Path, split: str) -> list[pathlib.Path]:
    """Returns the paths of all files of a split. The number of files follows from the name of an
    existing file.
    """
    existing = sorted(folder.glob(f"{split}-*-of-*.parquet"))
    count = existing[0].stem.rpartition("-")[2] if existing else "1"
    return [folder / _name(split, i, int(count)) for i in range(int(count))]


def _name(split: str, number: int, count: int) -> str:
    return f"{split}-{number:05d}-of-{count:05d}.parquet"


def shards_of(builder: tfds.core.DatasetBuilder) -> list[Shard]:
    """Divides the records of each split into files that have about the same number of records."""
    shards = []
    for split, info in builder.info.splits.items():
        count = min(-(-info.num_bytes // SHARD_BYTES), info.num_examples) or 1
        borders = [info.num_examples * i // count for i in range(count + 1)]
        shards += [Shard(split, _name(split, i, count), *borders[i : i + 2]) for i in range(count)]
    return shards


def _write_whole(builder: tfds.core.DatasetBuilder, folder: pathlib.Path, jobs: int) -> None:
    """Writes all files into a temporary folder, and renames the folder at the end, so that a killed
    run leaves no incomplete files in the final folder.
    """
    staged = folder.with_name(f"{constants.INCOMPLETE_PREFIX}{os.getpid()}_{folder.name}")
    staged.mkdir(parents=True)
    shards = shards_of(builder)
    try:
        if jobs > 1 and len(shards) > 1:
            write_shard = functools.partial(_write_shard, builder=builder, folder=staged)
            progress = functools.partial(
                track, description=f"{builder.name}, Parquet files", total=len(shards)
            )
            for _ in in_processes(shards, write_shard, None, jobs, progress):
                pass
        else:
            for shard in shards:
                for _ in _write_shard(shard, None, builder, staged):
                    pass
        if folder.exists():
            replaced = staged.with_name(f"{staged.name}.replaced")
            folder.rename(replaced)
            staged.rename(folder)
            shutil.rmtree(replaced)
        else:
            staged.rename(folder)
    except BaseException:
        shutil.rmtree(staged, ignore_errors=True)
        raise


def _write_shard(
    shard: Shard, _, builder: tfds.core.DatasetBuilder, folder: pathlib.Path
) -> Iterator[Any]:
    """Writes one file. The function is a generator that yields nothing, because `in_processes`
    expects an iterator of examples.
    """
    features = builder.info.features
    images = {key: tfds.decode.SkipDecoding() for key in features if _is_image(features[key])}
    source = builder.as_data_source(split=shard.split, decoders=images or None)
    description = f"{builder.name}, {shard.split}: writing Parquet"
    numbers = range(shard.start, shard.stop)
    records = bar(
        track((source[number] for number in numbers), description, len(numbers)),
        description,
        total=len(numbers),
        console=Console(stderr=True),
        transient=True,
        disable=not sys.stderr.isatty(),
    )
    schema = schema_of(builder)
    with parquet.ParquetWriter(folder / shard.name, schema, compression="zstd") as writer:
        for group in _groups(records):
            columns = [
                _column([record[key] for record in group], feature)
                for key, feature in features.items()
            ]
            writer.write_table(pa.table(columns, schema=schema))
    yield from ()


def schema_of(builder: tfds.core.DatasetBuilder) -> pa.Schema:
    """Returns the Arrow schema of a data set, with its columns and metadata."""
    features, license = builder.info.features, builder.license
    content = {
        "name": builder.info.full_name,
        "license": license and license.url,
        "terms": license and license.terms,
        "features": {key: _described(feature) for key, feature in features.items()},
        "metadata": dict(builder.info.metadata),
    }
    fields = [
        pa.field(
            key, _kind(feature), nullable=False, metadata={"description": feature.doc.desc or ""}
        )
        for key, feature in features.items()
    ]
    return pa.schema(fields, metadata={KEY: json.dumps(content).encode()})


def _described(feature) -> dict[str, object]:
    description = {
        "feature": type(feature).__name__,
        "shape": list(feature.shape),
        "description": feature.doc.desc or "",
    }
    if isinstance(feature, tfds.features.ClassLabel):
        description["names"] = feature.names
    return description


def _is_image(feature) -> bool:
    return isinstance(feature, tfds.features.Image)


def _kind(feature) -> pa.DataType:
    if _is_image(feature):
        return pa.binary()
    if isinstance(feature, tfds.features.Text):
        return pa.string()
    kind = pa.from_numpy_dtype(feature.np_dtype)
    for size in reversed(feature.shape):
        kind = pa.list_(_item(kind), -1 if size is None else size)
    return kind


def _item(kind: pa.DataType) -> pa.Field:
    return pa.field("item", kind, nullable=False)


def _column(values: list, feature) -> pa.Array:
    """Returns an Arrow array with the values that one feature has in several records."""
    kind = _kind(feature)
    if _is_image(feature):
        return pa.array(values, kind)
    if isinstance(feature, tfds.features.Text):
        return pa.array([value.decode() for value in values], kind)
    arrays = [np.asarray(value, feature.np_dtype) for value in values]
    column = pa.array(np.concatenate([array.ravel() for array in arrays]))
    kinds = [kind]
    for _ in feature.shape:
        kinds.append(kinds[-1].value_type)
    for axis in reversed(range(len(feature.shape))):
        column = _nested(column, kinds[axis], [array.shape for array in arrays], axis)
    return column


def _nested(
    items: pa.Array, kind: pa.DataType, shapes: list[tuple[int, ...]], axis: int
) -> pa.Array:
    """Groups items into lists along one axis, and returns an Arrow array of these lists."""
    if pa.types.is_fixed_size_list(kind):
        return pa.FixedSizeListArray.from_arrays(items, type=kind)
    lengths = [np.full(math.prod(shape[:axis]), shape[axis]) for shape in shapes]
    offsets = np.concatenate([[0], np.cumsum(np.concatenate(lengths))]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), items, type=kind)


def _groups(records: Iterable[dict]) -> Iterator[list[dict]]:
    """Yields the records in groups. Each group has about `GROUP_BYTES` bytes."""
    group, size = [], 0
    for record in records:
        group.append(record)
        size += sum(_bytes(value) for value in record.values())
        if size >= GROUP_BYTES:
            yield group
            group, size = [], 0
    if group:
        yield group


def _bytes(value: object) -> int:
    return getattr(value, "nbytes", None) or sys.getsizeof(value)
