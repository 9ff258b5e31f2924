"""One file as a recording."""

from __future__ import annotations

import math
import numbers
import os
import pathlib
from collections.abc import Sequence

from keras_dml.recordings import _channels, _csv, _even, _npy, _parquet, _table, _wav
from keras_dml.recordings._recording import Recording


def suffixes() -> tuple[str, ...]:
    """Ends of the names of files that `read` reads, in lower case."""
    return tuple(_KINDS)


def is_recording(path: str | os.PathLike) -> bool:
    """Returns whether a file in a folder is a recording, by the end of its name.

    A `.txt` file is a recording if it has rows of numbers: folders have notes too.
    """
    path = pathlib.Path(path)
    suffix = path.suffix.lower()
    return suffix in _KINDS and (suffix != ".txt" or _csv.is_table(path))


def read(
    path: str | os.PathLike,
    channels: Sequence[str] | None = None,
    rate_hz: float | None = None,
    resample_hz: float | None = None,
) -> Recording:
    """A recording in a file: csv, parquet, npy or wav, by the end of its name.

    - csv (UTF-8; commas, semicolons or tabs) and parquet: a column a channel, a row a step, the
      names of the columns in the first line. A column named time, t, timestamp or the like gives
      the rate: numbers with the unit in the name (`time_ms`, `Time (s)`), seconds without one,
      seconds, milli-, micro- or nanoseconds since 1970, or dates of ISO 8601. It is no channel.
    - npy: an array `(time, channels)`, or `(time,)`. Its channels have no names.
    - wav: sound, full scale 1, at the rate of its header.

    Args:
        path: The file.
        channels: Columns that are the channels, in order; in csv and parquet other case and a unit
            in brackets do not matter, `x` is `X (g)`. In npy and wav names for all columns, or
            numbers of some, from 1. None: all columns but those of times.
        rate_hz: Steps a second. Where the file says it too, they are compared: a clock may be off
            by 2 %.
        resample_hz: Rate that the recording is brought to, linearly between its steps, which may
            be uneven then, as those of phones are; gaps of more than five steps are not bridged.
            None: it is taken as it is.

    Returns:
        `Recording`.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If it is of another kind, empty, damaged or ragged, lacks a column, holds
            anything but finite numbers, or is not sampled evenly; the message names the file, the
            line and the column, and what to do.
        ImportError: If it is a parquet file and pyarrow is not installed.

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
    path = pathlib.Path(path)
    _check_rate("rate_hz", rate_hz)
    _check_rate("resample_hz", resample_hz)
    channels = None if channels is None else _channels.distinct(channels)
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
    found, seconds = kind(path, channels, rate_hz, resample_hz is None)
    return found if resample_hz is None else _even.resampled(found, seconds, resample_hz)


def _of_csv(path, channels, rate_hz, is_even):
    return _table.recording(_csv.read(path), channels, rate_hz, is_even)


def _of_parquet(path, channels, rate_hz, is_even):
    return _table.recording(_parquet.read(path), channels, rate_hz, is_even)


def _of_npy(path, channels, rate_hz, _):
    return _npy.read(path, channels, rate_hz), None


def _of_wav(path, channels, rate_hz, _):
    return _wav.read(path, channels, rate_hz), None


def _of_flac(path, channels, rate_hz, _):
    return _wav.read_flac(path, channels, rate_hz), None


def _check_rate(name, rate_hz):
    if rate_hz is None:
        return
    if not isinstance(rate_hz, numbers.Real) or not 0 < rate_hz < math.inf:
        raise ValueError(f"`{name}` must be a positive number. Received {rate_hz!r}.")


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
