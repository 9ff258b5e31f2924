"""Files that were sent, for as long as they are read."""

import contextlib
import gzip
import os
import pathlib
import shutil
import tempfile
import zlib

from keras_dml import recordings

try:
    import fcntl
except ImportError:  # on Windows
    fcntl = None

MOST_FILES = 20
MOST_NUMBERS = 10**7  # of a Parquet or FLAC file; a few bytes can hold more
MOST_UNPACKED = 20 * 10**6  # bytes of a packed text, as many as a request may hold
LONGEST_NAME = 100
PREFIX = "keras-dml-upload-"  # of folders


@contextlib.contextmanager
def paths(uploads, most=MOST_FILES):
    """Makes paths for files, in a folder for this user alone that is removed after the block.

    No file with content has a name if the system allows it: the paths are links to files that
    are open and removed, so nothing of a recording stays if the process is killed.

    Args:
        uploads: `(name, file)` of each, where `file` is open and has a descriptor.
        most: Number of files that are accepted.

    Yields:
        The name that each was sent under, by its path here.

    Raises:
        ValueError: If there are no files, too many, or one of a kind that is not read.
    """
    if not 0 < len(uploads) <= most:
        raise ValueError(f"Send 1 to {most} files. Received {len(uploads)}.")
    names = [_shown(name or "", number) for number, (name, _) in enumerate(uploads, 1)]
    suffixes = [_suffix(name) for name in names]
    with tempfile.TemporaryDirectory(prefix=PREFIX) as folder, _locked(folder):
        links = [pathlib.Path(folder, f"{i}{suffix}") for i, suffix in enumerate(suffixes)]
        for link, (_, file) in zip(links, uploads, strict=True):
            _link(link, file)
        yield dict(zip(links, names, strict=True))


def sweep():
    """Removes the folders of servers of this user that were killed."""
    if fcntl is None:
        return
    for folder in pathlib.Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):  # of another user, or in use
            if folder.is_symlink() or folder.stat().st_uid != os.geteuid():
                continue
            with _locked(folder):
                shutil.rmtree(folder)


@contextlib.contextmanager
def _locked(folder):
    """Holds a folder for the block, so that no other server sweeps it."""
    if fcntl is None:
        yield
        return
    number = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(number)


def _link(path, file):
    """Makes a path for an open file."""
    descriptor = pathlib.Path(f"/proc/{os.getpid()}/fd/{file.fileno()}")  # writes it to a disk
    file.flush()
    if descriptor.exists():
        path.symlink_to(descriptor)
        return
    file.seek(0)
    with path.open("wb") as copy:
        shutil.copyfileobj(file, copy)


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


def check_size(path):
    """Raises `ValueError` if a file holds more than its size lets one expect."""
    check = CHECKS.get(pathlib.Path(path).suffix)
    if check is not None:
        check(path)


def _check_parquet(path):
    """Refuses a file that unpacks to more than its size lets one expect."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        return  # `recordings.read` says what to install
    try:
        metadata = parquet.read_metadata(path)
    except (pyarrow.ArrowException, OSError):
        return  # and what is wrong with it
    columns = [metadata.schema.column(i) for i in range(metadata.num_columns)]
    if any(
        "BYTE_ARRAY" in column.physical_type or column.max_repetition_level for column in columns
    ):
        raise ValueError(f"{path} has columns of texts or lists. Send columns of numbers alone.")
    if metadata.num_rows * metadata.num_columns > MOST_NUMBERS:
        raise ValueError(
            f"{path} holds {metadata.num_rows:,} rows of {metadata.num_columns} columns; up to "
            f"{MOST_NUMBERS:,} numbers are taken. Send shorter recordings."
        )


def _check_gzip(path):
    """Refuses a packed text that is larger than an unpacked one may be."""
    try:
        with gzip.open(path) as file:
            size = len(file.read(MOST_UNPACKED + 1))
    except (OSError, EOFError, zlib.error):
        return  # `recordings.read` says what is wrong with it
    if size > MOST_UNPACKED:
        raise ValueError(
            f"{path} unpacks to more than {MOST_UNPACKED // 10**6} MB. Send shorter recordings."
        )


def _check_flac(path):
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
            f"{path} holds {count:,} samples; up to {MOST_NUMBERS:,} numbers are accepted. Send "
            "shorter recordings."
        )


CHECKS = {".parquet": _check_parquet, ".gz": _check_gzip, ".flac": _check_flac}
