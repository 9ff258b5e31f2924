"""Standard output and standard error: escapes, replacement of characters, and broken pipes."""

import codecs
import contextlib
import os
import sys
import unicodedata

BROKEN_PIPE = 141  # exit status after writing to a closed pipe, as in shells
# Replacements for streams that are not Unicode. Letters lose their accents, and all other
# characters are escaped.
ASCII = {
    "±": "+/-",
    "×": "x",
    "–": "-",
    "—": "-",
    "‐": "-",
    "−": "-",
    "⁄": "/",  # part of "½" after its decomposition
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
    """Error: the program that reads the output has ended."""


class Unwritable(OSError):
    """Error: nothing can be written to standard output or standard error."""


def prepare():
    """Prepares standard output and standard error for any text.

    Raises:
        Unwritable: If standard output is closed.
    """
    is_closed = sys.stdout is None
    if sys.stderr is None:
        _occupy_descriptors(2)
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)
    if is_closed:
        raise Unwritable("Standard output is closed. Redirect it to a file or to /dev/null.")
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError):  # a replaced stream, such as in tests
            stream.reconfigure(errors=READABLE)


@contextlib.contextmanager
def flush_after(stream):
    """Flushes a stream after the block, and translates errors of writing.

    Raises:
        Ended: If the stream is a pipe whose reader has ended.
        Unwritable: If writing fails for another reason, such as a full disk.
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
    """Flushes a stream, or discards its buffer if that fails.

    Otherwise the interpreter would flush it once more at its end and change the exit status.
    """
    try:
        stream.flush()
    except (OSError, ValueError, AttributeError):
        discard(stream)


def discard(stream):
    """Redirects a broken stream to the null device, so that the process can end."""
    with contextlib.suppress(OSError, AttributeError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def escape(text):
    """Escapes control characters, terminal codes and marks of the writing direction, as `\\x1b`."""
    return "".join(char if _is_printable(char) else _escape_char(char) for char in text)


def escape_line(text):
    """Escapes text as `escape` does, and also line breaks and tabs.

    Otherwise a name with a line break could imitate a line of the command's output.
    """
    return escape(text).replace("\n", "\\n").replace("\t", "\\t")


def fit_encoding(text, encoding):
    """Returns a text with the replacements of a stream that has this encoding."""
    return text.encode(encoding, READABLE).decode(encoding)


def _is_printable(char):
    return char.isprintable() or char in "\n\t" or unicodedata.category(char) == "Zs"


def _escape_char(char):
    return char.encode("unicode_escape").decode("ascii")


def _occupy_descriptors(number):
    """Opens the null device under all free file descriptors up to a number.

    Otherwise the next opened file gets the descriptor of a standard stream, and errors are printed
    into that file.
    """
    while (last := os.open(os.devnull, os.O_RDWR)) < number:
        pass
    if last > number:
        os.close(last)


def _replace_by_ascii(error):
    return "".join(map(_to_ascii, error.object[error.start : error.end])), error.end


def _to_ascii(char):
    parts = char if char in ASCII else unicodedata.normalize("NFKD", char)
    plain = "".join(ASCII.get(part, part) for part in parts if not unicodedata.combining(part))
    return plain if plain and plain.isascii() else _escape_char(char)


READABLE = "keras_dml.readable"
codecs.register_error(READABLE, _replace_by_ascii)
