"""Replacement of Python arguments by command-line options in errors of the library."""

import contextlib
import re

EXPORT = {
    r"`?representative=`?": "--representative FILE.npz",
    r"`?quantization=None`?( \(float32\))?": "--quantization float32",
    r"`?quantization=\"(\w+)\"`?": r"--quantization \1",
    r"`distance=`": "`distance=` in Python",
}
_TIMES = {
    r"`time`": "--time",
    r"`time=(.+?)`": r"--time \1",
    r"`time_unit`": "--time-unit",
    r"`max_gap`": "--max-gap",
}
GALLERY = {
    r"`keras_dml.export.tflite`": "`keras-dml export --help`",
    r"`people\(\)`": "`keras-dml people`",
    r"`Gallery.forget`": "`keras-dml forget`",
    r"`list_recordings`": "`keras-dml recordings`",
    r"`list_rejections`": "`keras-dml reject --list`",
    r"`replace=True`": "--replace",
    r"call `accept_older`": "run `keras-dml restore` with --key",
    r"call `calibrate_listening`": "run `keras-dml calibrate --window SECONDS`",
    r"call `(enroll|calibrate)`": r"run `keras-dml \1`",
    r"call `remove_threshold\((.+)\)`": r"run `keras-dml calibrate GALLERY --remove \1`",
    r"Call `purge` when": "Run `keras-dml people` when",
    r"give `threshold`": "give --threshold",
    r"`Gallery\(path, model=\"gait_qp_wl\"\)`": "--model gait_qp_wl",
    r"`Gallery\(new_path, model\)`": "keras-dml enroll NEW.db PERSON FILES --model MODEL",
    r"`(far|threshold)`": r"--\1",
    r"`extrapolate=True`": "--extrapolate",
    r"`window`": "--window",
    r"by `key`": "by --key",
    r"give `(keys?)`": r"give --\1",
    r"`(keys?)`": r"--\1",
    r"`channels`": "--channels",
    r"`rate_hz`": "--rate-hz",
    r"`resample_hz`": "--resample",
    r"`person`": "PERSON",
    **_TIMES,
}
OTHER_GALLERY = {r"`(keys?)`": r"--other-\1"}
TRAIN = {
    r"`(channels|kind|minutes|resume|seed|steps|units|window)`": r"--\1",
    r"`(rate|resample)_hz`": r"--\1-hz",
    r"`replace=True`": "--replace",
    **_TIMES,
}


class Reworded(ValueError):
    """Error whose message names command-line options. Its cause is the error of the library."""


def library_error(error):
    """Returns the error of the library from which a `Reworded` error was made."""
    while isinstance(error, Reworded):
        error = error.__cause__
    return error


@contextlib.contextmanager
def rephrase_errors(words):
    """Replaces Python arguments by command-line options in errors of the block.

    Args:
        words: Replacements, `{regular expression: text}`.
    """
    try:
        yield
    except (KeyError, OSError, TypeError, ValueError) as error:
        raise Reworded(rephrase(message_of(error), words)) from error


def message_of(error):
    """Returns the message of an error, without the quotes that `KeyError` adds."""
    return str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)


def rephrase(text, words):
    """Returns a text in which each pattern of `words` is replaced."""
    for pattern, option in words.items():
        text = re.sub(pattern, option, text)
    return text
