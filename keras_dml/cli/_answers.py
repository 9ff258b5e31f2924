"""Errors, warnings and numbers in the output of gallery commands."""

import contextlib
import math
import warnings

from keras_dml import _messages
from keras_dml._messages import Message
from keras_dml.cli import _console, _options


@contextlib.contextmanager
def spell_errors(names):
    """Spells arguments in errors of the block as a command does, such as `--far` for `far`.

    Args:
        names: Spelling of each name, as in `keras_dml._messages.Message.spelled`.
    """
    try:
        yield
    except Exception as error:
        if isinstance(_messages.of(error), Message):
            error.args = (Message("{text}", text=_messages.spelled(error, names)),)
        raise


@contextlib.contextmanager
def spell_messages(names=_options.GALLERY_NAMES):
    """Spells arguments in errors and warnings of the block as a command does.

    Warnings are printed as notes at the end of the block, before the error if there is one.

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


def round_score(value):
    """Returns a distance or a closeness for JSON, rounded to four digits, or None.

    More digits help only attackers, who change a recording step by step (hill climbing). None
    stands for an infinite or missing value, see `finite_or_none`.
    """
    value = finite_or_none(value)
    return None if value is None else float(f"{value:.4g}")


def finite_or_none(value):
    """Returns a number, or None if it is infinite, NaN or None, since JSON has no infinity.

    A score is infinite if the recording is nearer to a rejected recording than to the person's.
    """
    return value if value is not None and math.isfinite(value) else None
