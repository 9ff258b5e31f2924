"""Interpolates short gaps in recordings and cuts recordings at long gaps."""

import dataclasses
from typing import NamedTuple

import numpy as np

from keras_dml._messages import Message
from keras_dml.recordings import _bounds, _times
from keras_dml.recordings._recording import Signal

LONGEST_STEPS = 5  # longest gap that is interpolated by default, in steps
MISSES = 1 + _times.JITTER  # a row is missing if an interval is longer than this number of steps
MISSES_JITTERED = 2.5  # replaces MISSES if the clock is often off by more than JITTERED steps
JITTERED = 0.3
LEAST_STEPS = 8  # pieces between two gaps with fewer steps are left out


class Gap(NamedTuple):
    """Gap in a recording. The recording is cut at this gap.

    Attributes:
        row: Index of the first row after the gap.
        seconds: Length of the gap in seconds, or in steps if the rate is unknown.
    """

    row: int
    seconds: float


def filled(signal: Signal, max_gap: float | None) -> tuple[list[Signal], list[Gap]]:
    """Interpolates short gaps and cuts a signal at long gaps.

    A gap is an interval in which a channel has no value. The function interpolates gaps of up to
    `max_gap` linearly.

    Args:
        signal: Signal with NaN for missing values.
        max_gap: Longest gap that is interpolated, in seconds. Default: 5 steps.

    Returns:
        `(pieces, gaps)`. `pieces` are signals without missing values, and `gaps` are the long gaps
        between these signals. Pieces of fewer than 8 steps are left out if there are longer pieces.

    Raises:
        ValueError: If a channel has no values, if `max_gap` is given although the rate of the
            signal is unknown, or if more steps would be interpolated than the file contains.
    """
    if signal.seconds is None and np.isfinite(signal.values).all():
        return [signal], []
    step, times, limit = _scale(signal, max_gap)
    is_missing = ~np.isfinite(signal.values)
    _check_missing(signal, is_missing)
    values = signal.values.copy()
    is_start, is_kept = np.zeros(len(times), bool), np.ones(len(times), bool)
    lengths = np.zeros(len(times))
    for column in range(values.shape[1]):
        rows = np.flatnonzero(~is_missing[:, column])
        values[:, column] = np.interp(times, times[rows], signal.values[rows, column])
        is_kept[: rows[0]] = is_kept[rows[-1] + 1 :] = False
        gaps = np.diff(times[rows])
        long = np.flatnonzero(gaps > max(limit, MISSES * step) * (1 + 1e-9))
        ends = rows[long + 1]
        is_start[ends] = True
        lengths[ends] = np.maximum(lengths[ends], gaps[long])
        for start, end in zip(rows[long] + 1, ends, strict=True):
            is_kept[start:end] = False
    if not is_kept.any():
        raise ValueError(
            Message(
                "{path}: no step has a value in all of the channels {channels}. Name fewer "
                "channels, or set {max_gap} to more seconds.",
                path=signal.path,
                channels=", ".join(signal.channels),
            )
        )
    parts = _parts(signal, is_start, is_kept)
    enough = [rows for rows in parts if len(rows) >= LEAST_STEPS]
    segments = enough or [max(parts, key=len)]
    gaps = [Gap(int(rows[0]), _length(lengths, before, rows)) for before, rows in _pairs(segments)]
    missed = int(is_missing[np.concatenate(segments)].sum())
    notes = [*signal.notes]
    pieces, inserted = [], 0
    for rows in segments:
        piece, count = _inserted(signal, values[rows], rows, step, limit)
        pieces.append(piece)
        inserted += count
    if missed:
        notes.append(f"{_count(missed, 'missing value')} interpolated.")
    if inserted:
        notes.append(f"{_count(inserted, 'missing row')} interpolated.")
    if len(parts) > 1:
        notes.append(f"The recording was cut at {len(parts) - 1} long gap{'s' * (len(parts) > 2)}.")
    if len(segments) < len(parts):
        notes.append(f"Pieces of fewer than {LEAST_STEPS} steps between gaps were left out.")
    if not (is_kept[0] and is_kept[-1]):
        notes.append("Rows at the start or the end that lack a value were left out.")
    return [dataclasses.replace(piece, notes=tuple(notes)) for piece in pieces], gaps


def _parts(signal, is_start, is_kept):
    """Returns the row indices of each piece between two long gaps."""
    rows = np.flatnonzero(is_kept)
    ends = np.flatnonzero(np.diff(np.cumsum(is_start)[rows])) + 1
    if len(ends) >= _bounds.MOST_PIECES:
        raise ValueError(
            Message(
                "{path} has {count:,} gaps longer than {max_gap}, but a recording must have fewer "
                "than {most:,} such gaps. Set {max_gap} to more seconds.",
                path=signal.path,
                count=len(ends),
                most=_bounds.MOST_PIECES,
            )
        )
    return np.split(rows, ends)


def _scale(signal, max_gap):
    """Returns the usual time between two rows, the times of the rows, and the longest gap to
    interpolate."""
    count = len(signal.values)
    if signal.seconds is not None and count > 1:
        step, times = _times.usual_step(signal.seconds), signal.seconds
    elif signal.rate_hz is not None:
        step, times = 1 / signal.rate_hz, np.arange(count) / signal.rate_hz
    else:
        step, times = 1.0, np.arange(float(count))
        if max_gap is not None and not np.isfinite(signal.values).all():
            raise ValueError(
                Message(
                    "{path} does not state its rate, so the seconds of {max_gap} cannot be "
                    "compared with the missing values. Set {rate_hz} or {time}.",
                    path=signal.path,
                )
            )
    return step, times, LONGEST_STEPS * step if max_gap is None else max_gap


def _check_missing(signal, is_missing):
    for name, column in zip(signal.channels, is_missing.T, strict=True):
        if column.all() and len(column):
            raise ValueError(
                f"{signal.path}, {signal.place(0)}: channel {name!r} has no finite number in any "
                "row. Name other columns as the channels."
            )


def _pairs(parts):
    return zip(parts, parts[1:], strict=False)


def _length(lengths, before, rows):
    return float(lengths[before[-1] + 1 : rows[0] + 1].max())


def _inserted(signal, values, rows, step, limit):
    """Inserts interpolated rows where rows are missing.

    Returns:
        The piece with the inserted rows, and the number of inserted rows.
    """
    places = rows
    if signal.seconds is None or len(rows) < 2:
        piece = dataclasses.replace(signal, values=values, place=_place(signal, places))
        return piece, 0
    seconds = signal.seconds[rows] - signal.seconds[rows[0]]
    steps = np.diff(seconds)
    whole = np.maximum(1, (steps / step).round())
    is_jittered = (np.abs(steps / step - whole) > JITTERED).mean() > 0.05
    misses = MISSES_JITTERED if is_jittered else MISSES
    counts = np.where(steps > misses * step, whole - 1, 0).astype(int)
    if counts.sum() > len(rows):
        raise ValueError(
            Message(
                "{path}, {place}: {missing:,} steps are missing in gaps of up to {limit:.4g} s, "
                "but only {recorded:,} steps were recorded. Set {max_gap} to fewer seconds, so "
                "that the recording is cut at its gaps.",
                path=signal.path,
                place=signal.place(rows[counts.argmax() + 1]),
                missing=counts.sum(),
                limit=limit,
                recorded=len(rows),
            )
        )
    if counts.any():
        i = np.repeat(np.arange(len(counts)), counts)  # interval of each inserted row
        first = np.repeat(np.cumsum(counts) - counts, counts)
        fractions = (np.arange(len(i)) - first + 1) / (counts[i] + 1)
        grid = np.sort(np.concatenate([seconds, seconds[i] + fractions * steps[i]]))
        values = np.stack([np.interp(grid, seconds, column) for column in values.T], axis=1)
        places = rows[np.searchsorted(seconds, grid, side="right") - 1]
        seconds = grid
    piece = dataclasses.replace(
        signal, values=values, seconds=seconds, place=_place(signal, places)
    )
    return piece, int(counts.sum())


def _place(signal, rows):
    return lambda row: signal.place(rows[row])


def _count(number, what):
    return f"{number:,} {what} was" if number == 1 else f"{number:,} {what}s were"
