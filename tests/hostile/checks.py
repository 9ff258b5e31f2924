"""Checks the outcomes of attempts.

The outcome is right if it is a clear error message, or an output that an independent check accepts.
Any other outcome is wrong, such as a change of unrelated files.
"""

import enum
import hashlib
import os
import pathlib
import stat
import tracemalloc

import numpy as np

import keras_dml
import tfds_builders

ERRORS = (ImportError, OSError, RuntimeError, TypeError, ValueError)  # errors of the library
MIN_LENGTH = 20  # characters of an error message
MAX_LENGTH = 3000  # characters; the error about a card lists all mistakes
_PACKAGES = tuple(
    str(pathlib.Path(package.__file__).parent) for package in (keras_dml, tfds_builders)
)


class Verdict(enum.StrEnum):
    """The two correct outcomes of an attempt: a correct result or a clear error."""

    REFUSED = "clear error"
    ANSWERED = "correct output"


class Wrong(Exception):
    """Error for a wrong outcome. The message describes the outcome."""


def settle(call, agrees=None, *, refuses=None, names=(), speakers=()):
    """Runs an attempt and checks the outcome.

    Args:
        call: Attempt to run, a function without arguments.
        agrees: Function that takes the output, and raises `Wrong` or `AssertionError` if the output
            is wrong. If None, every output is wrong.
        refuses: True if the attempt must raise an error, and False if the attempt must not raise an
            error. If None, an error is allowed but not required.
        names: Texts that an error message must contain.
        speakers: Folders other than the library whose code may raise the error.

    Returns:
        The `Verdict`.

    Raises:
        Wrong: If the outcome is wrong.
    """
    try:
        answer = call()
    except Exception as error:
        check_words(error, names, speakers)
        if refuses is False:
            raise Wrong(f"refused valid input: {_described(error)}") from error
        return Verdict.REFUSED
    if refuses or agrees is None:
        raise Wrong(f"accepted invalid input: {_short(repr(answer))}")
    try:
        agrees(answer)
    except AssertionError as error:
        raise Wrong(f"a wrong output: {_short(str(error)) or 'see the check'}") from error
    return Verdict.ANSWERED


def check_words(error, names=(), speakers=()):
    """Checks that the library raised an error with a readable message.

    Raises:
        Wrong: If other code raised the error, or the message is not readable.
    """
    text = str(error)
    own = type(error).__module__.partition(".")[0] in ("builtins", "keras_dml", "tfds_builders")
    if not isinstance(error, ERRORS) or isinstance(error, UnicodeError) or not own:
        raise Wrong(f"an error of a foreign type, {_described(error)}") from error
    if not MIN_LENGTH <= len(text) <= MAX_LENGTH or " " not in text or not text.isprintable():
        raise Wrong(f"an error without a message for people, {_described(error)}") from error
    if not (isinstance(error, OSError) and error.filename is not None):
        raiser = _innermost(error)
        if not raiser.startswith((*_PACKAGES, *speakers)):
            raise Wrong(f"an error that {raiser} raised, {_described(error)}") from error
    missing = [name for name in names if name not in text]
    if missing:
        raise Wrong(f"an error that does not name {missing[0]!r}, {_described(error)}") from error


def bounded(call, max_bytes):
    """Returns a function that calls `call`, and raises `Wrong` if the call needs more memory."""

    def measured():
        tracemalloc.start()
        try:
            return call()
        finally:
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            if peak > max_bytes:
                raise Wrong(f"held {peak / 1e6:,.0f} MB at once, {max_bytes / 1e6:,.0f} allowed")

    return measured


def same(found, expected, rtol=0.0, atol=0.0):
    """Compares two arrays, with a tolerance relative to the largest expected number.

    Raises:
        AssertionError: If values or shapes differ, or a value is not finite.
    """
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.shape == expected.shape, f"shape {found.shape}, expected {expected.shape}"
    assert np.isfinite(found).all(), "not finite"
    if found.size:
        off = np.abs(found.astype("f8") - expected.astype("f8")).max()
        largest = np.abs(expected).max()
        assert off <= rtol * largest + atol, f"off by {off:.3g} where numbers reach {largest:.3g}"


def tree(folder):
    """Returns the type, permissions and digest of everything in a folder, by path."""
    folder = pathlib.Path(folder)
    return {path.relative_to(folder).as_posix(): _entry(path) for path in folder.rglob("*")}


def check_tree(folder, before, but=()):
    """Checks that a folder has not changed.

    Args:
        folder: Path of the folder.
        before: Earlier result of `tree`.
        but: Paths that may have changed. Everything under these paths may have changed too.

    Raises:
        Wrong: If a path that is not under `but` was changed, created or deleted.
    """
    now = tree(folder)
    for path in sorted(before.keys() | now.keys()):
        if before.get(path) == now.get(path) or _is_under(path, but):
            continue
        word = "deleted" if path not in now else "changed" if path in before else "left over"
        raise Wrong(f"{word}: {path}")


def _is_under(path, places):
    return any(path == place or path.startswith(f"{place}/") for place in places)


def _entry(path):
    mode = path.lstat().st_mode
    held = None
    if stat.S_ISLNK(mode):
        held = os.readlink(path)
    elif stat.S_ISREG(mode):
        held = hashlib.sha256(path.read_bytes()).hexdigest()
    return mode, held


def _innermost(error):
    trace = error.__traceback__
    while trace.tb_next is not None:
        trace = trace.tb_next
    return trace.tb_frame.f_code.co_filename


def _described(error):
    return f"{type(error).__name__}: {_short(str(error))}"


def _short(text):
    text = " ".join(text.split())
    return ascii(text if len(text) <= 300 else f"{text[:300]} ...")[1:-1]
