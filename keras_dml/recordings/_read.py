"""Reads a file as a recording: its content, then its gaps, then its rate."""

import dataclasses
import math
import numbers
import pathlib
from collections.abc import Sequence

import numpy as np

from keras_dml import _messages
from keras_dml._messages import Message
from keras_dml._typing import Path
from keras_dml.recordings import _formats, _gaps, _resampling, _table, _times
from keras_dml.recordings._recording import Recording


@dataclasses.dataclass(frozen=True)
class Options:
    """Options of `read`. None leaves a question to the file.

    Attributes:
        channels: Names of the columns that are channels.
        rate_hz: Steps per second.
        resample_hz: Rate that the recording is resampled to.
        time: Name of the column of times.
        time_unit: Unit of the times: `"s"`, `"ms"`, `"us"` or `"ns"`.
        max_gap: Longest gap that is interpolated, in seconds.
    """

    channels: tuple[str, ...] | None = None
    rate_hz: float | None = None
    resample_hz: float | None = None
    time: str | None = None
    time_unit: str | None = None
    max_gap: float | None = None


def read(
    path: Path,
    channels: Sequence[str] | None = None,
    rate_hz: float | None = None,
    resample_hz: float | None = None,
    *,
    time: str | None = None,
    time_unit: str | None = None,
    max_gap: float | None = None,
) -> Recording:
    """Reads a recording from a file of text, npy, parquet, wav or flac, by the end of its name.

    - Text (`.csv`, `.tsv`, `.txt`, and each of them packed as `.gz`) and parquet: one column per
      channel and one row per step, with the names of the columns above. A column named time, t,
      timestamp or the like gives the rate. It holds numbers with the unit in the name (`time_ms`,
      `Time (s)`, `Time since start in ms`), seconds if the name has no unit, seconds, milli-,
      micro- or nanoseconds since 1970, dates of ISO 8601, or times of day. Decimal commas, UTF-16,
      lines above the names and other forms of text are read if they have one reading.
    - npy: an array `(time, channels)`, or `(time,)`. Its channels have no names. An array
      (channels, time) is transposed if the number of names in `channels` equals its first axis.
      Otherwise an array with more than twice as many channels as steps is refused.
    - wav and flac: sound, full scale 1, at the rate of its header. If `channels` names one channel
      and the file has several, their mean is read.

    Columns of times are not channels. If `channels` is None, columns of other content are left out
    as well: columns that only rise or only fall, such as clocks and counters, columns that hold one
    value or text, and columns whose name describes the recording, such as `confidence`. The notes
    name each column that is left out.

    Rows that share a time are spread evenly up to the next time. Missing values (an empty field,
    `.`, `-`, NaN, NA, null) and missing rows are interpolated up to `max_gap`, and the notes count
    them. The `notes` of the recording list all assumptions about the file.

    Untrusted files are safe to read. Nothing in a file is run, and a file of 20 MB takes at most
    500 MB and 20 seconds of processor time, or is refused. A file may have up to 4,096 columns. A
    file of up to 20 MB may hold 5 million numbers of text, npy or Parquet, 10 million whole numbers
    of npy, 20 million samples of flac, or 64 MiB of packed text. Larger files may hold more in
    proportion.

    Args:
        path: The file.
        channels: Columns that are the channels, in order. In csv and parquet, case and a unit in
            brackets do not matter: `x` is `X (g)`. In npy and wav, names for all columns, or
            numbers of some columns, from 1. None: all columns except those described above.
        rate_hz: Steps per second. If the file says it too, the two are compared: a clock may be off
            by 2 %.
        resample_hz: Rate to resample to, at most twice the rate of the recording. The steps of the
            file may then be uneven, as the steps of phones are. A polyphase filter passes
            frequencies up to 90 % of the lower Nyquist frequency within 0.5 dB and attenuates
            images and aliases by 50 dB or more. None: the recording keeps its rate.
        time: Column that holds the times. None: by the names of the columns.
        time_unit: Unit of the numbers in the column of times: "s", "ms", "us" or "ns". None: by the
            name of the column, or by the size of the numbers.
        max_gap: Longest gap between two values, in seconds, that is interpolated. None: 5 steps.

    Returns:
        `Recording`.

    Raises:
        FileNotFoundError: If the file does not exist.
        ValueError: If the file is of another format, empty, damaged or ragged, holds more than the
            bounds above, lacks a column, has a gap longer than `max_gap` between two pieces of at
            least 8 steps, or is not sampled evenly and `resample_hz` is None. The message names the
            file, the line and the column, and says what to do. `read_pieces` cuts a recording at
            its gaps.
        ImportError: If the file is a parquet file and pyarrow is not installed, or a flac file and
            soundfile is not installed.

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
        ),
    )
    if gaps:
        has_no_rate = signal.seconds is None and signal.rate_hz is None
        gap, unit = gaps[0], "steps" if has_no_rate else "s"
        raise ValueError(
            Message(
                "{path}, {place}: nothing was recorded in the {length:.4g} {unit} before this "
                "step, which is more than {max_gap}. Set a larger {max_gap}, or cut the recording "
                "at this gap by {read_pieces()}.",
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
) -> list[Recording]:
    """Reads a file as `read` does, and cuts the recording at gaps longer than `max_gap`.

    Args:
        path: See `read`.
        channels: See `read`.
        rate_hz: See `read`.
        resample_hz: See `read`.
        time: See `read`.
        time_unit: See `read`.
        max_gap: See `read`.

    Returns:
        `Recording`s in the order of time. Pieces of fewer than 8 steps are left out if there are
        longer ones.

    Raises:
        ValueError, FileNotFoundError, ImportError: See `read`. A gap is not an error.
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
        ),
    )
    return pieces


def _checked(channels, **options):
    """Returns the `Options` of valid arguments.

    Raises:
        ValueError: If an argument is invalid; the message names it.
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
    """Returns the `Signal` of a file, its pieces as `Recording`s, and the gaps between them."""
    path = pathlib.Path(path)
    signal, resolution = _formats.format_of(path).read(path, options)
    signal = dataclasses.replace(signal, rate_hz=_stated_rate(signal, options.rate_hz))
    pieces, gaps = _gaps.filled(signal, options.max_gap)
    rate_hz = _common_rate(signal, pieces)
    recordings = [_finished(piece, resolution, rate_hz, options.resample_hz) for piece in pieces]
    return signal, recordings, gaps


def _stated_rate(signal, rate_hz):
    """Returns the rate that the caller or the header of the file states, or None."""
    if signal.seconds is None or len(signal.seconds) < 2:
        return _times.agreed(signal.path, signal.rate_hz, rate_hz, "its header")
    return rate_hz


def _common_rate(signal, pieces):
    """Returns the rate of all pieces, after a comparison of the stated rate with their times."""
    timed = [piece.seconds for piece in pieces if piece.seconds is not None]
    timed = [seconds for seconds in timed if len(seconds) > 1]
    if not timed:
        return signal.rate_hz
    measured = sum(len(seconds) - 1 for seconds in timed) / sum(seconds[-1] for seconds in timed)
    return _times.agreed(signal.path, float(measured), signal.rate_hz, "its times")


def _finished(piece, resolution, rate_hz, resample_hz):
    """Returns a piece as a `Recording`, resampled if `resample_hz` is not None."""
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
