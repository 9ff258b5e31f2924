"""Checks of a zip file before anything of it is used: plain, of bounded size, and whole.

A few kilobytes of zip or HDF5 can stand for gigabytes. Keras stores what it writes as it is and
NumPy compresses at most; so what grows far beyond its file was not written by either.
"""

import collections
import copy
import io
import pathlib
import zipfile

MAX_TEXT = 32 * 2**20  # bytes of a JSON member: 200 times that of a network of 250 layers
MAX_SMALL = 32 * 2**20  # bytes that any file may grow to
MAX_GROWTH = (
    20  # times its size, beyond that: weights shrink to nine tenths, constant arrays further
)
PIECE = 2**20
METHODS = {zipfile.ZIP_STORED: "stored", zipfile.ZIP_DEFLATED: "deflated"}


def check(opened, texts=()):
    """Reads a zip file through, a piece at a time, once it is known how much there is to read.

    Args:
        opened: The file, open for reading bytes.
        texts: Names of members that hold JSON, which takes many times its bytes once it is read.

    Returns:
        The names of its members.

    Raises:
        ValueError: If it is not a zip file, damaged, odd or too large; the message says how, in
            words that follow the file's name.
    """
    try:
        with zipfile.ZipFile(opened) as archive:
            members = archive.infolist()
            _check_declared(members, _size(opened), texts)
            for member in members:
                _read_through(archive, member)
            return archive.namelist()
    except Exception as error:  # on bytes that are none zipfile raises much besides BadZipFile
        raise ValueError(first_line(error)) from error


def check_weights(opened, name):
    """Refuses HDF5 weights that declare more numbers than their file can hold.

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
            plain = member if is_stored else io.BytesIO(member.read())  # HDF5 jumps to and fro
            with h5py.File(plain, "r") as weights:
                weights.visititems(note)
    except Exception as error:  # as zipfile, h5py on bytes that are none
        raise ValueError(f"{name} inside it is damaged: {first_line(error)}") from error
    _check_growth(f"{name} inside it", sum(sizes), _size(opened))


def first_line(error):
    """What an error says, in one sentence."""
    line = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(" ,:;")
    return line if line.endswith(".") else f"{line}."


def _size(opened):
    return opened.seek(0, io.SEEK_END)


def _check_declared(members, size, texts):
    for name, count in collections.Counter(member.filename for member in members).items():
        if count > 1:
            raise ValueError(f"{name} stands in it {count} times")
    for member in members:
        path = pathlib.PurePosixPath(member.filename)
        if path.is_absolute() or ".." in path.parts:
            raise ValueError(f"{member.filename} inside it leads out of its folder")
        if member.flag_bits & 1:
            raise ValueError(f"{member.filename} inside it is encrypted")
        if member.compress_type not in METHODS:
            raise ValueError(
                f"{member.filename} inside it is compressed by method {member.compress_type}, and "
                f"only {' or '.join(METHODS.values())} ones are read"
            )
        if member.filename in texts and member.file_size > MAX_TEXT:
            raise ValueError(
                f"{member.filename} inside it would take {_megabytes(member.file_size)} and may "
                f"take {_megabytes(MAX_TEXT)}"
            )
    _check_growth("what it holds", sum(member.file_size for member in members), size)


def _check_growth(what, grown, size):
    if grown > max(MAX_SMALL, MAX_GROWTH * size):
        raise ValueError(
            f"unpacked, {what} would take {_megabytes(grown)}, {grown / size:,.0f} times the file"
        )


def _read_through(archive, member):
    """Compares size and checksum with those declared, however much the member unpacks to."""
    longer = copy.copy(member)
    longer.file_size += 1  # zipfile stops at the size declared, and would hide a longer member
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
