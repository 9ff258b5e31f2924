"""The text of a file: unpacked and decoded."""

import codecs
import gzip
import zlib

MOST_UNPACKED, MOST_RATIO = 2**26, 3  # bytes; of the packed size, for files larger than 21 MB
START = 2**16  # bytes that decide whether a .txt file is a recording
LEAST_UTF16 = 0.9  # share of zero bytes at odd places: text in Latin letters and digits has them
MARKS = (
    (codecs.BOM_UTF8, "utf-8", None),
    (codecs.BOM_UTF32_LE, "utf-32", "UTF-32"),  # before UTF-16, whose mark begins it
    (codecs.BOM_UTF32_BE, "utf-32", "UTF-32"),
    (codecs.BOM_UTF16_LE, "utf-16", "UTF-16"),
    (codecs.BOM_UTF16_BE, "utf-16", "UTF-16"),
)


def read(path):
    """Reads the text of a file, which may be packed by gzip.

    Args:
        path: The file, in UTF-8, UTF-16, UTF-32 or Windows-1252 (Latin-1).

    Returns:
        `(text, notes)`: the text, and sentences that say what was assumed.

    Raises:
        ValueError: If the file is not text, a damaged gzip file, or too large when unpacked.
    """
    data = _unpacked(path) if path.suffix.lower() == ".gz" else path.read_bytes()
    text, encoding = _decoded(path, data)
    notes = () if encoding is None else (f"The text was read as {encoding}.",)
    if "\0" in text:
        whole = text.rstrip("\0")
        if "\0" in whole:
            line = whole.count("\n", 0, whole.index("\0")) + 1
            raise ValueError(
                f"{path}, line {line}: not text: it holds a zero byte. Save the file as CSV in "
                "UTF-8."
            )
        text = whole
        notes += ("Zero bytes at the end of the file were left out.",)
    return text, notes


def start(path):
    """Reads the first lines of a text file that is not packed."""
    with path.open("rb") as file:
        text, _ = _decoded(path, file.read(START))
    return text.rpartition("\n")[0] or text


def _unpacked(path):
    most = max(MOST_UNPACKED, MOST_RATIO * path.stat().st_size)  # a few kB unpack to gigabytes
    try:
        with gzip.open(path) as file:
            data = file.read(most + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(
            f"{path} is not a complete gzip file: {error}. Pack the csv file again, or give it "
            "unpacked."
        ) from None
    if len(data) > most:
        raise ValueError(
            f"{path} unpacks to more than {most >> 20} MiB. Unpack it, or cut the "
            "recording into several files."
        )
    return data


def _decoded(path, data):
    """The text, and the name of its encoding if it is not UTF-8."""
    for mark, codec, name in MARKS:
        if data.startswith(mark):
            return _strictly(path, data, "utf-8-sig" if name is None else codec), name
    if codec := _unmarked_utf16(data):
        return _strictly(path, data, codec), "UTF-16"
    try:
        return data.decode("utf-8"), None
    except UnicodeDecodeError as error:
        if "end of data" in error.reason:  # a log that stopped within a letter
            return data[: error.start].decode("utf-8"), None
    try:
        return data.decode("cp1252"), "Windows-1252 (Latin-1)"
    except UnicodeDecodeError:
        return data.decode("latin-1"), "Latin-1"


def _strictly(path, data, codec):
    whole = {"utf-16": 2, "utf-16-le": 2, "utf-16-be": 2, "utf-32": 4}.get(codec, 1)
    try:
        return data[: len(data) // whole * whole].decode(codec)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(
            f"{path}, line {line}: byte {error.start} is not valid {codec.upper()}, as the first "
            "bytes of the file say. Save the file as CSV in UTF-8."
        ) from None


def _unmarked_utf16(data):
    """The codec of UTF-16 without a byte order mark; None if the bytes are not unmistakable."""
    first, second = data[:4096:2], data[1:4096:2]
    if len(second) < 2:
        return None
    zeros = first.count(0) / len(first), second.count(0) / len(second)
    if zeros[0] == 0 and zeros[1] >= LEAST_UTF16:
        return "utf-16-le"
    if zeros[1] == 0 and zeros[0] >= LEAST_UTF16:
        return "utf-16-be"
    return None
