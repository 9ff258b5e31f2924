"""One file as a recording."""

from __future__ import annotations

import dataclasses
import os
import pathlib
from collections.abc import Sequence

import numpy as np

from keras_dml.recordings import (
    _csv,
    _even,
    _gaps,
    _npy,
    _parquet,
    _recording,
    _request,
    _table,
    _times,
    _wav,
)
from keras_dml.recordings._recording import Recording


def suffixes() -> tuple[str, ...]:
    """Ends of the names of files that `read` reads, in lower case."""
    return tuple(_KINDS)


def is_recording(path: str | os.PathLike) -> bool:
    """Returns whether a file in a folder is a recording, by the end of its name.

    A `.txt` file is a recording if it has rows of numbers, because folders may hold notes as text.
    """
    path = pathlib.Path(path)
    suffix = path.suffix.lower()
    return suffix in _KINDS and (suffix != ".txt" or _csv.is_table(path))


def read(
    path: str | os.PathLike,
    channels: Sequence[str] | None = None,
    rate_hz: float | None = None,
    resample_hz: float | None = None,
    *,
    time: str | None = None,
    time_unit: str | None = None,
    max_gap: float | None = None,
) -> Recording:
    """Reads a recording from a file of text, parquet, npy, wav or flac, by the end of its name.

    - Text (`.csv`, `.tsv`, `.txt`, and these packed as `.gz`) and parquet: one column per channel
      and one row per step, with the names of the columns above. A column named time, t, timestamp
      or the like gives the rate. It holds numbers with the unit in the name (`time_ms`, `Time (s)`,
      `Time since start in ms`), seconds without one, seconds, milli-, micro- or nanoseconds since
      1970, dates of ISO 8601, or times of day. Decimal commas, UTF-16, lines above the names and
      other forms of text are read if they have one reading.
    - npy: an array `(time, channels)`, or `(time,)`. Its channels have no names. An array of
      (channels, time) is turned if the number of names in `channels` says so. An array with more
      than twice as many channels as steps is refused otherwise.
    - wav and flac: sound, full scale 1, at the rate of its header. If `channels` names one channel,
      the mean of several is taken.

    Columns of times are not channels. Without `channels`, further columns are left out: those that
    only rise or only fall, as clocks and counters do; those that hold one value, or text; and those
    whose name describes the recording, such as `confidence`. The notes name each column.

    Rows that share a time are spread evenly up to the next time. Missing values (an empty field,
    `.`, `-`, NaN, NA, null) and missing rows are interpolated up to `max_gap`, and the notes count
    them. `notes` of the recording say everything that was assumed.

    Files of strangers are safe to read: nothing in them is run, and a file of 20 MB takes at most
    500 MB and 20 seconds of processor time, or is refused. A file may have up to 4,096 columns. Up
    to 20 MB it may hold 5 million numbers of text, npy or Parquet, 10 million whole numbers of npy,
    20 million samples of flac, or 64 MiB of packed text. Larger files may hold more in proportion.

    Args:
        path: The file.
        channels: Columns that are the channels, in order. In csv and parquet, case and a unit in
            brackets do not matter: `x` is `X (g)`. In npy and wav, names for all columns, or
            numbers of some columns, from 1. None: all columns except those named above.
        rate_hz: Steps per second. If the file says it too, the two are compared: a clock may be off
            by 2 %.
        resample_hz: Rate to resample to, at most twice the rate of the recording. The steps of the
            file may be uneven then, as those of phones are. A polyphase filter passes frequencies
            up to 90 % of the lower Nyquist frequency within 0.5 dB and attenuates images and
            aliases by 50 dB or more. None: the recording keeps its rate.
        time: Column that holds the times. None: by the names of the columns.
        time_unit: Unit of the numbers in the column of times: "s", "ms", "us" or "ns". None: by the
            name of the column, or by the size of the numbers.
        max_gap: Longest gap between two values, in seconds, that is interpolated. None: 5 steps.

    Returns:
        `Recording`.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the file is of another kind, empty, damaged or ragged, holds more than the
            bounds above, lacks a column, has a gap longer than `max_gap` between two pieces of at
            least 8 steps, or is not sampled evenly and `resample_hz` is None; the message names the
            file, the line and the column, and what to do. `read_pieces` cuts a recording at its
            gaps.
        ImportError: If it is a parquet file without pyarrow, or a flac file without soundfile.

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
        _request.checked(
            channels,
            rate_hz=rate_hz,
            resample_hz=resample_hz,
            time=time,
            time_unit=time_unit,
            max_gap=max_gap,
        ),
    )
    if gaps:
        gap, unit = gaps[0], "steps" if signal.seconds is signal.rate_hz is None else "s"
        raise ValueError(
            f"{signal.path}, {signal.place(gap.row)}: nothing was recorded in the "
            f"{gap.seconds:.4g} {unit} before this step, which is more than `max_gap`. Give a "
            "larger `max_gap`, or cut the recording there: `read_pieces` does it."
        )
    return pieces[0]


def read_pieces(
    path: str | os.PathLike,
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
        path: See `read`, also for the other arguments.
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
        ValueError, FileNotFoundError, ImportError: See `read`; a gap is not an error.
    """
    _, pieces, _ = _read(
        path,
        _request.checked(
            channels,
            rate_hz=rate_hz,
            resample_hz=resample_hz,
            time=time,
            time_unit=time_unit,
            max_gap=max_gap,
        ),
    )
    return pieces


def check_file(path: str | os.PathLike) -> None:
    """Checks that a file is there and ends in a suffix that `read` reads; nothing is read.

    Args:
        path: The file.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If it is a folder or of another kind.
    """
    _kind(pathlib.Path(path))


def _kind(path):
    """Returns the function that reads a file, after the checks of `check_file`."""
    if not path.exists():
        raise FileNotFoundError(f"There is no file {str(path)!r}.")
    if not path.is_file():
        raise ValueError(f"{str(path)!r} is not a file. Name files of recordings.")
    kind = _KINDS.get(path.suffix.lower())
    if kind is None:
        raise ValueError(
            f"{path} ends in {path.suffix or 'nothing'!r}; recordings are read from "
            f"{', '.join(suffixes())}. {HINTS.get(path.suffix.lower(), 'Convert it')}."
        )
    packed = pathlib.Path(path.stem).suffix.lower()
    if path.suffix.lower() == ".gz" and packed not in TEXTS:
        raise ValueError(f"{path} packs a {packed} file; only text is read packed. Unpack it.")
    return kind


def _read(path, request):
    """The `Signal` of a file, its pieces as `Recording`s, and the gaps between them."""
    path = pathlib.Path(path)
    signal, resolution = _kind(path)(path, request)
    signal = dataclasses.replace(signal, rate_hz=_agreed(signal, request.rate_hz))
    pieces, gaps = _gaps.filled(signal, request.max_gap)
    rate_hz = _common_rate(signal, pieces)
    return signal, [_finished(piece, resolution, rate_hz, request) for piece in pieces], gaps


def _agreed(signal, rate_hz):
    """The rate that the caller or the file says, if it is known outside the times."""
    if signal.seconds is None or len(signal.seconds) < 2:
        return _table.agreed(signal.path, signal.rate_hz, rate_hz, "its header")
    return rate_hz


def _common_rate(signal, pieces):
    """The rate of all pieces: that which the caller says, after a comparison with their times."""
    timed = [piece.seconds for piece in pieces if piece.seconds is not None]
    timed = [seconds for seconds in timed if len(seconds) > 1]
    if not timed:
        return signal.rate_hz
    measured = sum(len(seconds) - 1 for seconds in timed) / sum(seconds[-1] for seconds in timed)
    return _table.agreed(signal.path, float(measured), signal.rate_hz, "its times")


def _finished(piece, resolution, rate_hz, request):
    """A piece as a `Recording`, at the rate that is asked for."""
    piece = dataclasses.replace(piece, rate_hz=rate_hz)
    if request.resample_hz is not None:
        piece = _even.resampled(piece, resolution, request.resample_hz)
    elif piece.seconds is not None:
        _check_even(piece, resolution)
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


def _check_even(piece, resolution):
    if not _even.is_even(piece.seconds, resolution):
        _times.check_even(piece.path, piece.seconds, piece.place)


def _of_csv(path, request):
    return _table.signal(_csv.read(path), request)


def _of_parquet(path, request):
    return _table.signal(_parquet.read(path), request)


def _of_npy(path, request):
    return _table.signal(_npy.read(path, request.channels), request)


def _of_wav(path, request):
    return _of_sound(_wav.read, path, request)


def _of_flac(path, request):
    return _of_sound(_wav.read_flac, path, request)


def _of_sound(read_sound, path, request):
    """The `Signal` of a file of sound, which is sampled evenly and has no column of times."""
    for name in ("time", "time_unit"):
        if getattr(request, name) is not None:
            raise ValueError(f"{path} is sound, which has no column of times: leave out `{name}`.")
    sound = read_sound(path, request.channels, request.rate_hz)
    signal = _recording.Signal(
        path,
        sound.values,
        sound.channels,
        sound.units,
        None,
        sound.rate_hz,
        lambda row: f"sample {row}",
        sound.notes,
    )
    return signal, 0.0


_KINDS = {
    ".csv": _of_csv,
    ".npy": _of_npy,
    ".parquet": _of_parquet,
    ".wav": _of_wav,
    ".flac": _of_flac,
    ".tsv": _of_csv,
    ".txt": _of_csv,
    ".gz": _of_csv,
}
TEXTS = ("", ".csv", ".tsv", ".txt")  # that may be packed by gzip
HINTS = {
    ".asc": "Write a sample report by EyeLink Data Viewer",
    ".xlsx": "Save the sheet as CSV",
    ".xls": "Save the sheet as CSV",
}
