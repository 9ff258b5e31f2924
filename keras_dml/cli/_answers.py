"""Prints errors, warnings and numbers of the gallery commands."""

import contextlib
import math
import warnings

from keras_dml.cli import _console, _words


@contextlib.contextmanager
def rephrase_messages():
    """Replaces Python arguments by command-line options in errors and warnings of the block.

    Warnings are printed as notes at the end of the block, before the error if there is one.
    """
    with (
        _words.rephrase_errors(_words.GALLERY),
        warnings.catch_warnings(record=True, action="always", category=UserWarning) as caught,
    ):
        try:
            yield
        finally:
            for text in dict.fromkeys(str(warning.message) for warning in caught):
                text = _words.rephrase(text, _words.GALLERY)
                _console.note(_console.escape(f"Note: {text}"))


def round_score(value):
    """Rounds a distance or a closeness for JSON to four digits; None stays None.

    More digits would only help attackers, who change a recording step by step (hill climbing).
    Infinite values become None, see `finite_or_none`.
    """
    value = finite_or_none(value)
    return None if value is None else float(f"{value:.4g}")


def finite_or_none(value):
    """Returns a number, or None if the number is infinite, NaN or None, which JSON cannot express.

    A score is infinite if the recording is nearer to a rejected recording than to all enrolled
    recordings of the person.
    """
    return value if value is not None and math.isfinite(value) else None
