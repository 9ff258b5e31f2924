"""A prepared data set as Parquet files, for Polars, DuckDB, Hugging Face and others.

A column a feature. Arrays are lists within lists, of a fixed size where the feature's axis has one,
so that shapes come back; images are the bytes of their PNG or JPEG files. The schema's metadata
hold, under `tfds_builders`, JSON with the TFDS features, their shapes and class names, and what the
builder says of the data set (channels, subjects, archives).
"""

from __future__ import annotations

import json
import math
import os
import pathlib
import shutil
import sys
from collections.abc import Iterable, Iterator

import numpy as np
import tensorflow_datasets as tfds
from rich.console import Console
from rich.progress import track as bar
from tensorflow_datasets.core import constants

from tfds_builders.common.builder import CODE
from tfds_builders.common.disk import full_disk_reported, remove_empty
from tfds_builders.common.lock import writing
from tfds_builders.common.progress import track

try:
    import pyarrow as pa
    from pyarrow import parquet
except ImportError as error:
    raise ImportError(
        f'Parquet files need pyarrow: pip install "keras-dml[data]" ({error}).'
    ) from error

KEY = b"tfds_builders"
DESCRIPTION = "croissant.json"
GROUP_BYTES = 64 << 20  # of a row group before compression; what is held in memory at once


def write(
    builder: tfds.core.DatasetBuilder, root: pathlib.Path, *, overwrite: bool = False
) -> pathlib.Path:
    """Writes a data set that was prepared as array_record files.

    Args:
        builder: What `reading.prepared` returns.
        root: Where to write; the files go to `<root>/<name>/<config>/<version>/`.
        overwrite: Whether files that are there are written again.

    Returns:
        The folder, with `<split>-00000-of-00001.parquet` for each split; in `<root>/<name>/` lies
        `croissant.json`, if the builder has one. A folder that is there already,
        of the same archive and code, is left as it is.

    Raises:
        ValueError: When the folder is there, of another archive, of other code or not whole.
        OSError: When the disk is full, or the folder cannot be made.
    """
    folder = root.joinpath(*builder.info.full_name.split("/"))
    new = [parent for parent in (root, *root.parents) if not parent.exists()]
    try:
        with full_disk_reported(root), writing(folder, f"writes {folder}"):
            if folder.exists() and not overwrite:
                _check_there(folder, builder)
            else:
                _write_whole(builder, folder)
            _describe(builder, root / builder.name)
    finally:
        remove_empty(new)
    return folder


def _describe(builder: tfds.core.DatasetBuilder, folder: pathlib.Path) -> None:
    """Puts the description of the data set beside its files, by which programs read them."""
    described = pathlib.Path(builder.pkg_dir_path) / DESCRIPTION
    if described.is_file():  # a builder of another package may have none
        staged = folder / f".{DESCRIPTION}.{os.getpid()}"
        shutil.copyfile(described, staged)
        staged.replace(folder / DESCRIPTION)


def _check_there(folder: pathlib.Path, builder: tfds.core.DatasetBuilder) -> None:
    advice = "Write it again: --overwrite."
    archives = dict(builder.info.metadata["fingerprints"])
    for split in builder.info.splits:
        file = _file(folder, split)
        try:
            told = json.loads(parquet.read_schema(file).metadata[KEY])
            fingerprints, made_by = (told["metadata"].get(key) for key in ("fingerprints", CODE))
        except (OSError, TypeError, ValueError, LookupError):  # absent, cut, or of another program
            raise ValueError(f"{file} is no Parquet file of this data set. {advice}") from None
        if fingerprints != archives:
            raise ValueError(f"The Parquet files in {folder} are of another archive. {advice}")
        if made_by != builder.info.metadata.get(CODE):
            raise ValueError(f"The Parquet files in {folder} were made by other code. {advice}")


def _file(folder: pathlib.Path, split: str) -> pathlib.Path:
    return folder / f"{split}-00000-of-00001.parquet"


def _write_whole(builder: tfds.core.DatasetBuilder, folder: pathlib.Path) -> None:
    """Writes beside the folder and renames at the end: a killed run leaves no half of it."""
    staged = folder.with_name(f"{constants.INCOMPLETE_PREFIX}{os.getpid()}_{folder.name}")
    staged.mkdir(parents=True)
    try:
        for split in builder.info.splits:
            _write_split(builder, split, _file(staged, split))
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


def _write_split(builder: tfds.core.DatasetBuilder, split: str, file: pathlib.Path) -> None:
    features = builder.info.features
    skipped = {key: tfds.decode.SkipDecoding() for key in features if _is_image(features[key])}
    source = builder.as_data_source(split=split, decoders=skipped or None)
    what = f"{builder.name}, {split}, to Parquet"
    records = bar(
        track(source, what),
        what,
        total=len(source),
        console=Console(stderr=True),
        transient=True,
        disable=not sys.stderr.isatty(),
    )
    schema = schema_of(builder)
    with parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        for group in _groups(records):
            columns = [
                _column([record[key] for record in group], feature)
                for key, feature in features.items()
            ]
            writer.write_table(pa.table(columns, schema=schema))


def schema_of(builder: tfds.core.DatasetBuilder) -> pa.Schema:
    """Returns columns and metadata of a data set."""
    features = builder.info.features
    told = {
        "name": builder.info.full_name,
        "features": {key: _told(feature) for key, feature in features.items()},
        "metadata": dict(builder.info.metadata),
    }
    fields = [pa.field(key, _kind(feature), nullable=False) for key, feature in features.items()]
    return pa.schema(fields, metadata={KEY: json.dumps(told).encode()})


def _told(feature) -> dict[str, object]:
    told = {"feature": type(feature).__name__, "shape": list(feature.shape)}
    if isinstance(feature, tfds.features.ClassLabel):
        told["names"] = feature.names
    return told


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
    """The values of one feature of some records."""
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
    """Items as lists along one axis."""
    if pa.types.is_fixed_size_list(kind):
        return pa.FixedSizeListArray.from_arrays(items, type=kind)
    lengths = [np.full(math.prod(shape[:axis]), shape[axis]) for shape in shapes]
    offsets = np.concatenate([[0], np.cumsum(np.concatenate(lengths))]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), items, type=kind)


def _groups(records: Iterable[dict]) -> Iterator[list[dict]]:
    """Records together, up to about `GROUP_BYTES`."""
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
