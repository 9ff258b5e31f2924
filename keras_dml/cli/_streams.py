"""Standard output and standard error: there, able to show any text, and missed when they end."""

import codecs
import contextlib
import os
import sys
import unicodedata

BROKEN_PIPE = 141  # what a shell reports of a program that wrote to a closed pipe
# For what takes less than Unicode; letters lose their accents there, all else is escaped.
ASCII = {
    "±": "+/-",
    "×": "x",
    "–": "-",
    "—": "-",
    "‐": "-",
    "−": "-",
    "⁄": "/",  # of 1/2, once it is taken apart
    "²": "^2",
    "³": "^3",
    "μ": "u",
    "‘": "'",
    "’": "'",
    "“": '"',
    "”": '"',
    "✓": "*",
}


class Ended(Exception):
    """Whoever read what is printed has left."""


def prepare():
    """Makes standard output and error able to show any text.

    Raises:
        OSError: If standard output is closed.
    """
    is_closed = sys.stdout is None
    if sys.stderr is None:
        _fill_to(2)
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)
    if is_closed:
        raise OSError("Standard output is closed; send it somewhere, such as to /dev/null.")
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError):  # of a stream that takes all of Unicode
            stream.reconfigure(errors=READABLE)


@contextlib.contextmanager
def writing(stream):
    """What is written in the block has arrived when it ends.

    Raises:
        Ended: If the stream is a pipe that nobody reads any more.
        OSError: If it takes no more for another reason, such as a full disk.
    """
    try:
        yield
        stream.flush()
    except BrokenPipeError as error:
        discard(stream)
        raise Ended from error
    except OSError as error:
        discard(stream)
        name = "output" if stream is sys.stdout else "error"
        raise OSError(f"Nothing can be written to standard {name}: {error.strerror}.") from error


def discard(stream):
    """Lets the rest of a broken stream go, so that the end of the process does not try again."""
    with contextlib.suppress(OSError, AttributeError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def visible(text):
    """A text without power over a terminal: control characters, escape codes and marks that turn
    the direction of writing are shown as `\\x1b`, not obeyed."""
    return "".join(char if _is_shown(char) else _escaped(char) for char in text)


def fitting(text, encoding):
    """A text as a stream of that encoding will show it."""
    return text.encode(encoding, READABLE).decode(encoding)


def _is_shown(char):
    return char.isprintable() or char in "\n\t" or unicodedata.category(char) == "Zs"


def _escaped(char):
    return char.encode("unicode_escape").decode("ascii")


def _fill_to(number):
    """Opens nothing under all free numbers up to one: else the next file opened gets a standard
    stream's, and what is said goes into it."""
    while (last := os.open(os.devnull, os.O_RDWR)) < number:
        pass
    if last > number:
        os.close(last)


def _in_ascii(error):
    return "".join(map(_plainer, error.object[error.start : error.end])), error.end


def _plainer(char):
    parts = char if char in ASCII else unicodedata.normalize("NFKD", char)
    plain = "".join(ASCII.get(part, part) for part in parts if not unicodedata.combining(part))
    return plain if plain and plain.isascii() else _escaped(char)


READABLE = "keras_dml.readable"
codecs.register_error(READABLE, _in_ascii)
