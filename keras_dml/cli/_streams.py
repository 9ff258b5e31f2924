"""Standard output and standard error: open, able to show any text, with errors when they end."""

import codecs
import contextlib
import os
import sys
import unicodedata

BROKEN_PIPE = 141  # exit status of a program that wrote to a closed pipe, as shells report it
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
    """The program that read the output has ended."""


class Unwritable(OSError):
    """Standard output or error takes no text."""


def prepare():
    """Prepares standard output and error to show any text.

    Raises:
        Unwritable: If standard output is closed.
    """
    is_closed = sys.stdout is None
    if sys.stderr is None:
        _fill_to(2)
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)
    if is_closed:
        raise Unwritable("Standard output is closed; send it somewhere, such as to /dev/null.")
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError):  # of a stream that takes all of Unicode
            stream.reconfigure(errors=READABLE)


@contextlib.contextmanager
def writing(stream):
    """Flushes a stream after the block, and reports what went wrong.

    Raises:
        Ended: If the stream is a pipe that is no longer read.
        Unwritable: If it takes no more for another reason, such as a full disk.
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
        raise Unwritable(f"Nothing can be written to standard {name}: {error.strerror}.") from error


def settle(stream):
    """Gives up what a stream does not take: the interpreter would try once more at its end, and
    change the exit status."""
    try:
        stream.flush()
    except (OSError, ValueError, AttributeError):
        discard(stream)


def discard(stream):
    """Redirects a broken stream to nowhere, so that the process can end."""
    with contextlib.suppress(OSError, AttributeError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def visible(text):
    """Escapes what controls a terminal: control characters, escape codes and marks of the writing
    direction are shown as `\\x1b`."""
    return "".join(char if _is_shown(char) else _escaped(char) for char in text)


def visible_line(text):
    """Escapes text as `visible`, and line breaks and tabs too.

    A name with a line break would otherwise print a line of its own, which looks like one of the
    command.
    """
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


def fitting(text, encoding):
    """Text as a stream of that encoding will show it."""
    return text.encode(encoding, READABLE).decode(encoding)


def _is_shown(char):
    return char.isprintable() or char in "\n\t" or unicodedata.category(char) == "Zs"


def _escaped(char):
    return char.encode("unicode_escape").decode("ascii")


def _fill_to(number):
    """Opens the null device under all free numbers up to one: else the next opened file gets the
    number of a standard stream, and errors are printed into it."""
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
