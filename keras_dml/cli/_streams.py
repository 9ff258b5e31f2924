"""Handles escapes, encodings and broken pipes of standard output and standard error."""

import codecs
import contextlib
import os
import sys
import unicodedata

BROKEN_PIPE = 141  # exit status after writing to a closed pipe, as in shells
# Replacements for characters that the encoding of a stream cannot express. Letters lose their
# accents, and all other characters are escaped.
ASCII = {
    "±": "+/-",
    "×": "x",
    "–": "-",
    "—": "-",
    "‐": "-",
    "−": "-",
    "⁄": "/",  # "½" is decomposed into a fraction with this slash
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
    """Raised if the program that reads the output has ended."""


class Unwritable(OSError):
    """Raised if writing to standard output or standard error fails."""


def prepare():
    """Prepares standard output and standard error for text in any encoding.

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
        with contextlib.suppress(AttributeError):  # the stream is replaced, such as in tests
            stream.reconfigure(errors=READABLE)


@contextlib.contextmanager
def flush_after(stream):
    """Flushes a stream after the `with` block, and raises write errors as `Ended` or `Unwritable`.

    Raises:
        Ended: If the stream is a pipe and the program that reads the pipe has ended.
        Unwritable: If writing fails for a reason other than `Ended`, such as a full disk.
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
    """Flushes a stream, or discards its buffer if flushing fails.

    If the buffer were kept, the interpreter would flush the stream once more at exit and change the
    exit status.
    """
    try:
        stream.flush()
    except (OSError, ValueError, AttributeError):
        discard(stream)


def discard(stream):
    """Redirects a broken stream to the null device, so that the process can end normally."""
    with contextlib.suppress(OSError, AttributeError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def escape(text):
    """Escapes control characters, terminal codes and text direction marks, such as `\\x1b`."""
    return "".join(char if _is_printable(char) else _escape_char(char) for char in text)


def escape_line(text):
    """Escapes text like `escape`, and also escapes line breaks and tabs.

    If line breaks were not escaped, a name with a line break could imitate a line of the command's
    output.
    """
    return escape(text).replace("\n", "\\n").replace("\t", "\\t")


def fit_encoding(text, encoding):
    """Replaces the characters that an encoding cannot express in a text."""
    return text.encode(encoding, READABLE).decode(encoding)


def _is_printable(char):
    return char.isprintable() or char in "\n\t" or unicodedata.category(char) == "Zs"


def _escape_char(char):
    return char.encode("unicode_escape").decode("ascii")


def _occupy_descriptors(number):
    """Opens the null device for each unused file descriptor up to `number`.

    If the descriptor of a standard stream stayed unused, the next opened file could get it, and
    errors would be printed into that file.
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
