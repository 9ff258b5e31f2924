"""What an attempt may end in: a refusal in words, or an answer that an independent check agrees
with. All else is wrong, a change of anything that the attempt was not about among it."""

import enum
import hashlib
import os
import pathlib
import stat
import tracemalloc

import numpy as np

import keras_dml
import tfds_builders

WORDS = (ImportError, OSError, RuntimeError, TypeError, ValueError)  # types of the library's errors
LEAST, MOST = 20, 3000  # characters of words; a card's error lists all that is wrong
_PACKAGES = tuple(str(pathlib.Path(one.__file__).parent) for one in (keras_dml, tfds_builders))


class Verdict(enum.StrEnum):
    """The two right ends of an attempt."""

    REFUSED = "refused in words"
    ANSWERED = "answered rightly"


class Wrong(Exception):
    """An attempt ended otherwise; the message says how."""


def settle(call, agrees=None, *, refuses=None, names=(), speakers=()):
    """Makes an attempt and judges it.

    Args:
        call: The attempt, a function of nothing.
        agrees: Function of the answer that raises `Wrong` or `AssertionError` where it is not
            right; None: an answer is wrong in itself.
        refuses: Whether it must be refused (True), must be answered (False) or may be either.
        names: Texts that the words of a refusal must hold.
        speakers: Folders whose code may raise the error beside the library's.

    Returns:
        A `Verdict`.

    Raises:
        Wrong: If it ended otherwise.
    """
    try:
        answer = call()
    except Exception as error:
        check_words(error, names, speakers)
        if refuses is False:
            raise Wrong(f"refused what is sound: {_told(error)}") from error
        return Verdict.REFUSED
    if refuses or agrees is None:
        raise Wrong(f"answered what must be refused: {_short(repr(answer))}")
    try:
        agrees(answer)
    except AssertionError as error:
        raise Wrong(f"a wrong answer: {_short(str(error)) or 'see the check'}") from error
    return Verdict.ANSWERED


def check_words(error, names=(), speakers=()):
    """Refuses an error that does not speak to a person, or that another's code raised.

    Raises:
        Wrong: If it is so.
    """
    text = str(error)
    own = type(error).__module__.partition(".")[0] in ("builtins", "keras_dml", "tfds_builders")
    if not isinstance(error, WORDS) or isinstance(error, UnicodeError) or not own:
        raise Wrong(f"an error of a foreign type, {_told(error)}") from error
    if not LEAST <= len(text) <= MOST or " " not in text or not text.isprintable():
        raise Wrong(f"an error without words for a person, {_told(error)}") from error
    if not (isinstance(error, OSError) and error.filename is not None):
        raiser = _innermost(error)
        if not raiser.startswith((*_PACKAGES, *speakers)):
            raise Wrong(f"an error that {raiser} raised, {_told(error)}") from error
    missing = [name for name in names if name not in text]
    if missing:
        raise Wrong(f"an error that does not name {missing[0]!r}, {_told(error)}") from error


def bounded(call, most_bytes):
    """A call that is wrong if it holds more memory at once than a bound."""

    def measured():
        tracemalloc.start()
        try:
            return call()
        finally:
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            if peak > most_bytes:
                raise Wrong(f"held {peak / 1e6:,.0f} MB at once, {most_bytes / 1e6:,.0f} allowed")

    return measured


def same(found, expected, share=0.0):
    """Compares arrays, to a share of the greatest number expected.

    Raises:
        AssertionError: If they differ, in shape too, or one is not finite.
    """
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.shape == expected.shape, f"shape {found.shape}, expected {expected.shape}"
    assert np.isfinite(found).all(), "not finite"
    if found.size:
        off = np.abs(found.astype("f8") - expected.astype("f8")).max()
        greatest = np.abs(expected).max()
        assert off <= share * greatest, f"off by {off:.3g} where numbers reach {greatest:.3g}"


def tree(folder):
    """All that is in a folder, by path: kind, permissions, and a digest of what it holds."""
    folder = pathlib.Path(folder)
    return {path.relative_to(folder).as_posix(): _entry(path) for path in folder.rglob("*")}


def check_tree(folder, before, but=()):
    """Refuses a change in a folder.

    Args:
        folder: The folder.
        before: What `tree` gave before.
        but: Paths in it that may have changed, with what is under them.

    Raises:
        Wrong: If anything else was changed, made or deleted.
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


def _told(error):
    return f"{type(error).__name__}: {_short(str(error))}"


def _short(text):
    text = " ".join(text.split())
    return ascii(text if len(text) <= 300 else f"{text[:300]} ...")[1:-1]
