"""What surrounds the work of a command on a gallery: errors in its words, and notes."""

import contextlib
import math
import warnings

from keras_dml.cli import _console, _words


@contextlib.contextmanager
def answered():
    """Errors of the block are told in words of the command line, and warnings of the library are
    notes in these words, before the error where it fails."""
    with (
        _words.of_commands(_words.GALLERY),
        warnings.catch_warnings(record=True, action="always", category=UserWarning) as told,
    ):
        try:
            yield
        finally:
            for text in dict.fromkeys(str(warning.message) for warning in told):
                said = _words.replaced(text, _words.GALLERY)
                _console.note(_console.plain(f"Note: {said}"))


def score(value):
    """Returns a distance or a closeness as programs get it, see `number`: rounded to four digits,
    because more of them help only people who try to be accepted."""
    value = number(value)
    return None if value is None else float(f"{value:.4g}")


def number(value):
    """A number as JSON has it: None for infinity, the score of a person who is denied, or for no
    number."""
    return value if value is not None and math.isfinite(value) else None
