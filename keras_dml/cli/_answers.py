"""Prints errors, warnings and numbers of the gallery commands."""

import contextlib
import math
import warnings

from keras_dml import _messages
from keras_dml._messages import Message
from keras_dml.cli import _console, _options


@contextlib.contextmanager
def spell_errors(names):
    """Context manager that rewrites errors so that arguments are spelled as options (`--far`).

    Args:
        names: Dictionary from names of arguments to their spelling, as in
            `keras_dml._messages.Message.spelled`.
    """
    try:
        yield
    except Exception as error:
        if isinstance(_messages.text_of(error), Message):
            error.args = (Message("{text}", text=_messages.spelled(error, names)),)
        raise


@contextlib.contextmanager
def spell_messages(names=_options.GALLERY_NAMES):
    """Context manager that rewrites errors and warnings so that arguments are spelled as options.

    Warnings are printed as notes at the end of the `with` block. If the block raises an error, the
    notes are printed before the error.

    Args:
        names: As in `spell_errors`.
    """
    with (
        spell_errors(names),
        warnings.catch_warnings(record=True, action="always", category=UserWarning) as caught,
    ):
        try:
            yield
        finally:
            texts = [_messages.spelled(warning.message, names) for warning in caught]
            for text in dict.fromkeys(texts):
                _console.note(_console.escape(f"Note: {text}"))


def completeness(state):
    """Converts a `Completeness` to an object for JSON."""
    return {
        "recordings": state.recordings,
        "days": list(state.days),
        "devices": list(state.devices),
        "needed": state.needed,
        "closeness": round_score(state.closeness),
        "advice": state.advice or None,
    }


def round_score(value):
    """Rounds a distance, or a score from 0 to 100, to four digits for JSON. None stays None.

    More digits would only help attackers, who change a recording step by step (hill climbing).
    Infinite values become None, see `finite_or_none`.
    """
    value = finite_or_none(value)
    return None if value is None else float(f"{value:.4g}")


def finite_or_none(value):
    """Returns a finite number unchanged. Returns None for infinity and NaN, which JSON cannot
    represent.

    A person's score is infinite if an imposter recording is nearer to the new recording than all
    enrolled recordings of the person. `reject` stores imposter recordings.
    """
    return value if value is not None and math.isfinite(value) else None
