"""Checks of zip files before their contents are used.

A zip or HDF5 file of a few kilobytes can expand to gigabytes. Keras stores its files without
compression, and NumPy compresses moderately. A file that would grow far beyond its size was written
by neither, and is refused.
"""

import collections
import copy
import io
import pathlib
import zipfile
from collections.abc import Collection
from typing import BinaryIO

MAX_TEXT = 32 * 2**20  # bytes of a JSON member; a network of 250 layers needs 1/200 of this
MAX_SMALL = 32 * 2**20  # bytes to which any file may expand
# Larger files may expand to 20 times their size: weights compress to nine tenths, constant arrays
# further.
MAX_GROWTH = 20
PIECE = 2**20
METHODS = {zipfile.ZIP_STORED: "stored", zipfile.ZIP_DEFLATED: "deflated"}


def check(opened: BinaryIO, texts: Collection[str] = ()) -> list[str]:
    """Checks the declared sizes of a zip file, then reads it piece by piece.

    Args:
        opened: The file, open for reading bytes.
        texts: Names of members that contain JSON, which needs many times its size in memory.

    Returns:
        The names of its members.

    Raises:
        ValueError: If the file is not a zip file, is damaged, unusual or too large. The message is
            worded to follow the file's name.
    """
    try:
        with zipfile.ZipFile(opened) as archive:
            members = archive.infolist()
            _check_declared(members, _size(opened), texts)
            for member in members:
                _read_through(archive, member)
            return archive.namelist()
    except Exception as error:  # on other bytes zipfile raises more than BadZipFile
        raise ValueError(first_line(error)) from error


def check_weights(opened: BinaryIO, name: str) -> None:
    """Checks that HDF5 weights do not declare more numbers than their file can hold.

    Args:
        opened: A zip file that `check` has passed, open for reading bytes.
        name: Name of the member.

    Raises:
        ValueError: See `check`.
    """
    import h5py

    sizes = []

    def note(_, entry):
        if isinstance(entry, h5py.Dataset):
            sizes.append(entry.size * entry.dtype.itemsize)

    try:
        with zipfile.ZipFile(opened) as archive, archive.open(name) as member:
            is_stored = archive.getinfo(name).compress_type == zipfile.ZIP_STORED
            plain = member if is_stored else io.BytesIO(member.read())  # HDF5 reads at random
            with h5py.File(plain, "r") as weights:
                weights.visititems(note)
    except Exception as error:  # like zipfile, h5py raises many types on other bytes
        raise ValueError(f"{name} inside it is damaged: {first_line(error)}") from error
    _check_growth(f"{name} inside it", sum(sizes), _size(opened))


def first_line(error: Exception) -> str:
    """Returns the first line of an error's message, ending in a period."""
    line = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(" ,:;")
    return line if line.endswith(".") else f"{line}."


def _size(opened):
    return opened.seek(0, io.SEEK_END)


def _check_declared(members, size, texts):
    for name, count in collections.Counter(member.filename for member in members).items():
        if count > 1:
            raise ValueError(f"it contains {name} {count} times")
    for member in members:
        path = pathlib.PurePosixPath(member.filename)
        if path.is_absolute() or ".." in path.parts:
            raise ValueError(f"{member.filename} inside it is a path outside its folder")
        if member.flag_bits & 1:
            raise ValueError(f"{member.filename} inside it is encrypted")
        if member.compress_type not in METHODS:
            raise ValueError(
                f"{member.filename} inside it is compressed by method {member.compress_type}; "
                f"only {' or '.join(METHODS.values())} members are read"
            )
        if member.filename in texts and member.file_size > MAX_TEXT:
            raise ValueError(
                f"{member.filename} inside it would take {_megabytes(member.file_size)}; at most "
                f"{_megabytes(MAX_TEXT)} are allowed"
            )
    _check_growth("its contents", sum(member.file_size for member in members), size)


def _check_growth(what, grown, size):
    if grown > max(MAX_SMALL, MAX_GROWTH * size):
        raise ValueError(
            f"unpacked, {what} would take {_megabytes(grown)}, {grown / size:,.0f} times the file"
        )


def _read_through(archive, member):
    """Checks that size and checksum of a member are the declared ones."""
    longer = copy.copy(member)
    longer.file_size += 1  # zipfile stops at the declared size and would hide a longer member
    count = 0
    with archive.open(longer) as stream:
        while piece := stream.read(PIECE):
            count += len(piece)
    if count != member.file_size:
        raise ValueError(
            f"{member.filename} inside it does not hold the {member.file_size:,} bytes that it "
            "declares"
        )


def _megabytes(size):
    return f"{size / 1e6:,.0f} MB"
