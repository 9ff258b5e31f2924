"""Functions that read recordings from files, interpolate short gaps, cut recordings at long gaps,
and resample recordings."""

import dataclasses
import math
import numbers
import pathlib
from collections.abc import Sequence

import numpy as np

from keras_dml import _messages
from keras_dml._messages import Message
from keras_dml._typing import Path
from keras_dml.recordings import _events, _formats, _gaps, _resampling, _table, _times
from keras_dml.recordings._options import Options
from keras_dml.recordings._recording import Recording


def read(
    path: Path,
    channels: Sequence[str] | None = None,
    rate_hz: float | None = None,
    resample_hz: float | None = None,
    *,
    time: str | None = None,
    time_unit: str | None = None,
    max_gap: float | None = None,
    events: bool = False,
) -> Recording:
    """Reads a recording from a text, npy, Parquet, WAVE or FLAC file.

    The suffix of the file name determines the format:

    - Text (`.csv`, `.tsv`, `.txt`, also compressed as `.gz`) and Parquet files have one row per
      time step and one column per channel. In text files, the names of the columns are in a line
      above the rows. The sampling rate is computed from a time column with a name such as time, t
      or timestamp. A time column may contain numbers, ISO 8601 dates or times of day. The unit of
      the numbers is part of the column's name (`time_ms`, `Time (s)`, `Time since start in ms`).
      If the name contains no unit, the numbers are seconds, or Unix times in seconds, milliseconds,
      microseconds or nanoseconds. The function also reads decimal commas, UTF-16, lines above the
      names and other variants of text if they are unambiguous.
    - npy files hold an array of shape `(time, channels)` or `(time,)`, without channel names. The
      function transposes an array of shape `(channels, time)` if the number of names in `channels`
      equals the length of the first axis. If `channels` does not name the columns, an array with
      more than twice as many columns as rows raises an error.
    - WAVE and FLAC files hold audio, which the function scales so that full scale is 1. The header
      states the sampling rate. If `channels` names one channel and the file has several channels,
      the function averages the channels of the file.

    Time columns are never channels. If `channels` is None, the function also leaves out columns
    that only rise or only fall (such as clocks and counters), constant columns, columns of text,
    and columns whose names describe the recording, such as `confidence`. The `notes` of the
    recording list all columns that are left out. The notes also list all assumptions about the
    file.

    If `events` is True, the rows are events, such as key presses or heart beats. Events have no
    sampling rate. The function ignores time columns, and keeps the order of the rows in the file.
    Write the time between events as a channel. Rows that lack a value are left out, because values
    between two events do not exist.

    If several rows have the same time, the function spreads these rows evenly up to the next time.
    The function interpolates missing values (an empty field, `.`, `-`, NaN, NA, null) and missing
    rows in gaps of up to `max_gap`. The notes state how many values and rows were interpolated.

    Untrusted files are safe to read. The function never executes code in a file. Reading a file of
    20 MB takes at most 500 MB of memory and 20 seconds of processor time. A file may have up to
    4,096 columns. A text, npy or Parquet file of up to 20 MB may hold 5 million numbers. An npy
    file of whole numbers may hold 10 million numbers, and a FLAC file 20 million samples. A text
    may have up to 64 MiB after decompression. For files larger than 20 MB, the limits grow in
    proportion to the file size. Files that exceed a limit raise an error.

    Args:
        path: Path of the file.
        channels: Names of the columns that are channels, in order. In text and Parquet files, names
            may differ from the columns in case and in a unit in brackets. For example, `x` selects
            the column `X (g)`. For npy and WAVE files, pass names for all columns, or the numbers
            of some columns, counted from 1. By default, the channels are all columns except the
            columns that are left out as described above.
        rate_hz: Sampling rate, in steps per second. `rate_hz` may differ by at most 2 % from a rate
            that the file states, because clocks usually have smaller errors. Default: the rate of
            the file.
        resample_hz: Sampling rate after resampling, at most twice the rate of the recording. With
            `resample_hz`, the steps of the file may be uneven, as in recordings by phones. The
            function resamples by a polyphase filter. Up to 90 % of the Nyquist frequency of the
            lower rate, the filter changes amplitudes by at most 0.5 dB. The filter attenuates
            images and aliases by 50 dB or more. Default: no resampling.
        time: Name of the time column. By default, the function finds the column by its name.
        time_unit: Unit of the numbers in the time column: "s", "ms", "us" or "ns". Default: the
            unit in the name of the column. If the name contains no unit, the function infers the
            unit from the size of the numbers.
        max_gap: Longest gap to interpolate between two values, in seconds. Default: 5 steps.
        events: Whether the rows are events without a sampling rate. All arguments about rates,
            times and gaps must then be None.

    Returns:
        `Recording`.

    Raises:
        FileNotFoundError: If the file does not exist.
        ValueError: If the file has another format, is empty, damaged or too large, has rows of
            different lengths, or does not contain a requested column. A gap longer than `max_gap`
            between two pieces of at least 8 steps also raises this error. If `resample_hz` is None,
            a file that is not sampled evenly also raises this error. The message contains the file,
            the line, the column and advice. Use `read_pieces` to cut a recording at gaps.
        ImportError: If pyarrow is not installed and the file is a Parquet file, or if soundfile is
            not installed and the file is a FLAC file.

    Example:
        >>> import pathlib, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = pathlib.Path(folder.name, "walk.csv")
        >>> _ = path.write_text("t,x (g),y (g)\\n0.00,1,2\\n0.02,3,4\\n0.04,5,6\\n")
        >>> walk = read(path)
        >>> walk.values.shape, walk.channels, walk.units, round(walk.rate_hz)
        ((3, 2), ('x', 'y'), ('g', 'g'), 50)
        >>> folder.cleanup()
    """
    signal, pieces, gaps = _read(
        path,
        _checked(
            channels,
            rate_hz=rate_hz,
            resample_hz=resample_hz,
            time=time,
            time_unit=time_unit,
            max_gap=max_gap,
            events=events,
        ),
    )
    if gaps:
        has_no_rate = signal.seconds is None and signal.rate_hz is None
        gap, unit = gaps[0], "steps" if has_no_rate else "s"
        raise ValueError(
            Message(
                "{path}, {place}: a gap of {length:.4g} {unit} ends at this step and is longer "
                "than {max_gap}. Set a larger {max_gap}, or cut the recording at this gap by "
                "{read_pieces()}.",
                path=signal.path,
                place=signal.place(gap.row),
                length=gap.seconds,
                unit=unit,
            )
        )
    return pieces[0]


def read_pieces(
    path: Path,
    channels: Sequence[str] | None = None,
    rate_hz: float | None = None,
    resample_hz: float | None = None,
    *,
    time: str | None = None,
    time_unit: str | None = None,
    max_gap: float | None = None,
    events: bool = False,
) -> list[Recording]:
    """Reads a file as `read` does, and cuts the recording at gaps longer than `max_gap`.

    Args:
        path: Path of the file.
        channels: Names of the columns that are channels, in order. Default: all columns that `read`
            uses as channels by default.
        rate_hz: Sampling rate, in steps per second. Default: the rate of the file.
        resample_hz: Sampling rate after resampling, in steps per second. Default: no resampling.
        time: Name of the time column. By default, the function finds the column by its name.
        time_unit: Unit of the numbers in the time column: "s", "ms", "us" or "ns". Default: the
            unit in the name of the column. If the name contains no unit, the function infers the
            unit from the size of the numbers.
        max_gap: Longest gap to interpolate between two values, in seconds. Default: 5 steps.
        events: Whether the rows are events without a sampling rate, see `read`. Events are never
            cut into pieces.

    Returns:
        List of `Recording`, one for each piece, in the order of their times. Pieces of fewer than 8
        steps are left out if there are longer pieces.

    Raises:
        ValueError, FileNotFoundError, ImportError: In the same cases as `read`. In contrast to
            `read`, the function raises no error for a gap.
    """
    _, pieces, _ = _read(
        path,
        _checked(
            channels,
            rate_hz=rate_hz,
            resample_hz=resample_hz,
            time=time,
            time_unit=time_unit,
            max_gap=max_gap,
            events=events,
        ),
    )
    return pieces


def _checked(channels, **options):
    """Checks the arguments of `read` and returns them as `Options`.

    Raises:
        ValueError: If an argument is invalid. The message contains the name of the argument.
    """
    for name in ("rate_hz", "resample_hz", "max_gap"):
        _check_positive(name, options[name])
    time, unit = options["time"], options["time_unit"]
    if time is not None and not (isinstance(time, str) and time.strip()):
        raise ValueError(
            Message("{time} is {value!r}, but it must be the name of a column.", value=time)
        )
    if unit is not None and unit not in _times.TIME_UNITS:
        raise ValueError(
            Message(
                "{time_unit} is {value!r}, but it must be one of {units}.",
                value=unit,
                units=", ".join(_times.TIME_UNITS),
            )
        )
    needless = [name for name, value in options.items() if name != "events" and value is not None]
    if options["events"] and needless:
        raise ValueError(
            Message(
                "{argument} is {value!r}, but the rows are read as events, which have no rate, "
                "times or gaps. Leave out {argument}.",
                argument=_messages.name(needless[0]),
                value=options[needless[0]],
            )
        )
    channels = None if channels is None else _table.distinct(channels)
    return Options(channels, **options)


def _check_positive(name, value):
    """Checks that an argument is None or a positive number."""
    if value is None:
        return
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not is_number or not 0 < value < math.inf:
        raise ValueError(
            Message(
                "{argument} is {value!r}, but it must be a positive number.",
                argument=_messages.name(name),
                value=value,
            )
        )


def _read(path, options):
    """Returns the `Signal` in a file, the pieces of the signal as a list of `Recording`, and the
    gaps between the pieces."""
    path = pathlib.Path(path)
    signal, resolution = _formats.format_of(path).read(path, options)
    if options.events:
        return signal, [_finished(_events.complete(signal), 0.0, None, None)], []
    signal = dataclasses.replace(signal, rate_hz=_stated_rate(signal, options.rate_hz))
    pieces, gaps = _gaps.filled(signal, options.max_gap)
    rate_hz = _common_rate(signal, pieces)
    recordings = [_finished(piece, resolution, rate_hz, options.resample_hz) for piece in pieces]
    return signal, recordings, gaps


def _stated_rate(signal, rate_hz):
    """Returns the rate that the caller or the header of the file states, or None if no rate is
    stated."""
    if signal.seconds is None or len(signal.seconds) < 2:
        return _times.agreed(signal.path, signal.rate_hz, rate_hz, "its header")
    return rate_hz


def _common_rate(signal, pieces):
    """Returns the rate of all pieces. If a rate is stated, the function first checks that the
    stated rate agrees with the times."""
    timed = [piece.seconds for piece in pieces if piece.seconds is not None]
    timed = [seconds for seconds in timed if len(seconds) > 1]
    if not timed:
        return signal.rate_hz
    measured = sum(len(seconds) - 1 for seconds in timed) / sum(seconds[-1] for seconds in timed)
    return _times.agreed(signal.path, float(measured), signal.rate_hz, "its times")


def _finished(piece, resolution, rate_hz, resample_hz):
    """Converts a piece to a `Recording`. If `resample_hz` is not None, resamples the piece."""
    piece = dataclasses.replace(piece, rate_hz=rate_hz)
    if resample_hz is not None:
        piece = _resampling.resampled(piece, resolution, resample_hz)
    elif piece.seconds is not None and not _resampling.is_even(piece.seconds, resolution):
        _times.check_even(piece.path, piece.seconds, piece.place)
    values = piece.values.astype(np.float32, copy=False)
    return Recording(
        piece.path,
        values,
        piece.channels,
        piece.units,
        piece.rate_hz,
        piece.notes,
        piece.left_out,
    )
