"""Files that were sent, for as long as they are read."""

import contextlib
import gzip
import pathlib
import shutil
import tempfile
import zlib

from keras_dml import recordings

MOST_FILES = 20
MOST_NUMBERS = 10**7  # of a Parquet or FLAC file; a few bytes can hold more
MOST_UNPACKED = 20 * 10**6  # bytes of a packed text, as many as a request may hold
LONGEST_NAME = 100


@contextlib.contextmanager
def kept(uploads):
    """Writes files into a folder for this user alone, which is removed after the block.

    Args:
        uploads: `starlette.datastructures.UploadFile`s.

    Yields:
        The name that each was sent under, by its path here.

    Raises:
        ValueError: If they are none, too many, or one is of a kind that is not read.
    """
    if not 0 < len(uploads) <= MOST_FILES:
        raise ValueError(f"Send 1 to {MOST_FILES} files. Received {len(uploads)}.")
    names = [_shown(upload.filename or "", number) for number, upload in enumerate(uploads, 1)]
    with tempfile.TemporaryDirectory(prefix="keras-dml-") as folder:
        paths = [pathlib.Path(folder, f"{i}{_suffix(name)}") for i, name in enumerate(names)]
        for path, name, upload in zip(paths, names, uploads, strict=True):
            with path.open("wb") as file:
                shutil.copyfileobj(upload.file, file)
            if path.suffix in CHECKS:
                CHECKS[path.suffix](path, name)
        yield dict(zip(paths, names, strict=True))


def _shown(name, number):
    last = name.replace("\\", "/").rpartition("/")[2]
    visible = "".join(letter for letter in last if letter.isprintable())
    return visible[-LONGEST_NAME:] or f"file {number}"  # its end says the kind


def _suffix(name):
    suffix = pathlib.PurePosixPath(name).suffix.lower()
    if suffix not in recordings.suffixes():
        raise ValueError(
            f"{name} is not a recording: send files that end in {', '.join(recordings.suffixes())}."
        )
    return suffix


def _check_parquet(path, name):
    """Refuses a file that unpacks to more than its size lets one expect."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        return  # `recordings.read` says what to install
    try:
        found = parquet.read_metadata(path)
    except (pyarrow.ArrowException, OSError):
        return  # and what is wrong with it
    columns = [found.schema.column(i) for i in range(found.num_columns)]
    if any("BYTE_ARRAY" in one.physical_type or one.max_repetition_level for one in columns):
        raise ValueError(f"{name} has columns of texts or lists. Send columns of numbers alone.")
    if found.num_rows * found.num_columns > MOST_NUMBERS:
        raise ValueError(
            f"{name} holds {found.num_rows:,} rows of {found.num_columns} columns; up to "
            f"{MOST_NUMBERS:,} numbers are taken. Send shorter recordings."
        )


def _check_gzip(path, name):
    """Refuses a packed text that is larger than an unpacked one may be."""
    try:
        with gzip.open(path) as file:
            size = len(file.read(MOST_UNPACKED + 1))
    except (OSError, EOFError, zlib.error):
        return  # `recordings.read` says what is wrong with it
    if size > MOST_UNPACKED:
        raise ValueError(
            f"{name} unpacks to more than {MOST_UNPACKED // 10**6} MB. Send shorter recordings."
        )


def _check_flac(path, name):
    """Refuses a file of more samples than a Parquet file may hold numbers."""
    try:
        import soundfile
    except (ImportError, OSError):
        return  # `recordings.read` says what to install
    try:
        with soundfile.SoundFile(path) as file:
            count = file.frames * file.channels
    except (soundfile.SoundFileError, RuntimeError):
        return  # and what is wrong with it
    if count > MOST_NUMBERS:
        raise ValueError(
            f"{name} holds {count:,} samples; up to {MOST_NUMBERS:,} numbers are accepted. Send "
            "shorter recordings."
        )


CHECKS = {".parquet": _check_parquet, ".gz": _check_gzip, ".flac": _check_flac}
