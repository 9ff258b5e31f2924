"""Checks zip files before the package uses their contents.

A zip or HDF5 file of a few kilobytes can expand to gigabytes. Files that Keras or NumPy wrote never
expand to many times their size, because Keras does not compress files and NumPy compresses
moderately. The functions therefore refuse files that expand to many times their size.
"""

import collections
import copy
import io
import pathlib
import zipfile
from collections.abc import Collection
from typing import BinaryIO

from keras_dml._messages import printable

MAX_TEXT = 32 * 2**20  # bytes of a JSON member. A network of 250 layers needs 1/200 of this size.
MAX_SMALL = 32 * 2**20  # bytes to which any file may expand
# A file that expands to more than MAX_SMALL bytes may expand to at most MAX_GROWTH times its size.
# Compression reduces weights to nine tenths of their size, and constant arrays to less.
MAX_GROWTH = 20
PIECE = 2**20
METHODS = {zipfile.ZIP_STORED: "stored", zipfile.ZIP_DEFLATED: "deflated"}


def check(opened: BinaryIO, texts: Collection[str] = ()) -> list[str]:
    """Checks the declared sizes of the members of a zip file, and then reads each member in pieces.

    Args:
        opened: The zip file, open for reading bytes.
        texts: Names of members that contain JSON. JSON members have a stricter limit of size,
            because parsed JSON needs much more memory than its text.

    Returns:
        Names of all members of the zip file.

    Raises:
        ValueError: If the file is not a zip file, if it is damaged, if it has unusual features, or
            if it is too large. The message calls the file "the zip file", so that callers can put
            the name of the file before the message.
    """
    try:
        with zipfile.ZipFile(opened) as archive:
            members = archive.infolist()
            _check_declared(members, _size(opened), texts)
            for member in members:
                _read_through(archive, member)
            return archive.namelist()
    except Exception as error:  # on invalid bytes, zipfile raises errors other than BadZipFile
        raise ValueError(first_line(error)) from error


def check_weights(opened: BinaryIO, name: str) -> None:
    """Checks that an HDF5 file of weights does not declare more numbers than the file can contain.

    Args:
        opened: A zip file that passed `check`, open for reading bytes.
        name: Name of the member that holds the weights.

    Raises:
        ValueError: If the weights are damaged or too large. The message calls the file "the zip
            file", so that callers can put the name of the file before the message.
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
    except Exception as error:  # on invalid bytes, h5py raises many types of errors
        raise ValueError(
            f"the member {name} of the zip file is damaged: {first_line(error)}"
        ) from error
    _check_growth(f"the member {name} of the zip file", sum(sizes), _size(opened))


def first_line(error: Exception) -> str:
    """Returns the first line of the message of an error, with a period at the end.

    The message may quote an untrusted file, so characters that are not printable are escaped.
    """
    line = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(" ,:;")
    return printable(line if line.endswith(".") else f"{line}.")


def _size(opened):
    return opened.seek(0, io.SEEK_END)


def _check_declared(members, size, texts):
    for name, count in collections.Counter(member.filename for member in members).items():
        if count > 1:
            raise ValueError(
                f"the zip file contains {count} members with the name {name}, but each name may "
                "occur only once"
            )
    for member in members:
        path = pathlib.PurePosixPath(member.filename)
        if path.is_absolute() or ".." in path.parts:
            raise ValueError(
                f"the path {member.filename} in the zip file leads outside the folder into which "
                "the zip file is unpacked"
            )
        if member.flag_bits & 1:
            raise ValueError(f"the member {member.filename} of the zip file is encrypted")
        if member.compress_type not in METHODS:
            raise ValueError(
                f"the member {member.filename} of the zip file is compressed by method "
                f"{member.compress_type}, but only members that are "
                f"{' or '.join(METHODS.values())} can be read"
            )
        if member.filename in texts and member.file_size > MAX_TEXT:
            raise ValueError(
                f"after decompression, the member {member.filename} of the zip file would take "
                f"{_megabytes(member.file_size)}, but at most {_megabytes(MAX_TEXT)} are allowed"
            )
    _check_growth("the contents of the zip file", sum(member.file_size for member in members), size)


def _check_growth(what, grown, size):
    if grown > max(MAX_SMALL, MAX_GROWTH * size):
        raise ValueError(
            f"after decompression, {what} would take {_megabytes(grown)}, which is "
            f"{grown / size:,.0f} times the size of the zip file"
        )


def _read_through(archive, member):
    """Checks that a member has the size and the checksum that the zip file declares."""
    longer = copy.copy(member)
    longer.file_size += (
        1  # without this, zipfile would stop at the declared size of a longer member
    )
    count = 0
    with archive.open(longer) as stream:
        while piece := stream.read(PIECE):
            count += len(piece)
    if count != member.file_size:
        raise ValueError(
            f"the member {member.filename} does not contain the {member.file_size:,} bytes that "
            "the zip file declares"
        )


def _megabytes(size):
    return f"{size / 1e6:,.0f} MB"
