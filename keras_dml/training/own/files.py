"""Reads training recordings from a folder, all with the same channels, units and rate."""

from __future__ import annotations

import collections
import dataclasses
import pathlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from keras_dml import _messages, progress, recordings
from keras_dml._messages import Message
from keras_dml._typing import Path
from keras_dml.training.own import folders
from keras_dml.training.own._train import Trained, check_positive, train
from keras_dml.training.own.checks import check_remaining, summarize

UNKNOWN = "as recorded"


class Files(NamedTuple):
    """Recordings that were read from a folder.

    Attributes:
        recordings: Arrays of shape `(time, channels)`.
        people: Name of the person who made each recording.
        sessions: Session of each recording. If the folder has no sessions, `sessions` is None.
        names: Name of each recording. The name is the path in the folder, followed by the number of
            the piece if the file was cut at gaps.
        files: Path of each recording in the folder.
        channels: Names of the channels.
        units: Unit of each channel.
        rate_hz: Number of steps per second. None if the rows are events.
        refused: Dict `{path: reason}` of the files that were left out.
        notes: Dict `{sentence: number of files}` with the assumptions about files.
        resampled_hz: Rate to which the recordings were resampled. If recordings were not resampled,
            `resampled_hz` is None.
    """

    recordings: list[Any]
    people: list[Any]
    sessions: list[Any]
    names: list[Any]
    files: list[Any]
    channels: tuple[Any, ...]
    units: tuple[Any, ...]
    rate_hz: float | None
    refused: dict[str, str]
    notes: dict[str, int]
    resampled_hz: float | None = None


class _File(NamedTuple):
    """File of a `Listing`: its position, its name, its entry, and the pieces that were read."""

    number: int
    name: str
    entry: recordings.Listed
    pieces: list[Any] | None


def train_folder(
    folder: Path,
    *,
    channels: Sequence[str] | None = None,
    rate_hz: float | None = None,
    resample_hz: float | None = None,
    time: str | None = None,
    time_unit: str | None = None,
    max_gap: float | None = None,
    events: bool = False,
    units: str | Sequence[str] | None = None,
    **options: Any,
) -> Trained:
    """Trains a model on the recordings of a folder or of a table.

    The folder contains `person/recording.csv` or `person/session/recording.csv`. Recordings are cut
    at long gaps, and the pieces become recordings of the same session. If files have uneven times,
    such as files from phones, or if most files have different rates, all files are resampled to the
    median of the rates. The result reports the resampling in its attributes `notes` and
    `resampled_hz`.

    Args:
        folder: Path of the folder or table, see `keras_dml.recordings.folder`.
        channels: Names of the columns that are channels. By default, `keras_dml.recordings.read`
            proposes the channels of each file. A column is a channel if it is proposed in more than
            half of the files that contain the column.
        rate_hz: Number of steps per second. Default: read from the files.
        resample_hz: Rate to which all files are resampled, see `keras_dml.recordings.read`. By
            default, files are resampled only if necessary.
        time: Column that holds the times, see `keras_dml.recordings.read`.
        time_unit: Unit of the times: "s", "ms", "us" or "ns".
        max_gap: Longest gap in seconds that is interpolated. Default: 5 steps.
        events: Whether the rows are events without a rate, such as key presses. All arguments about
            rates, times and gaps must then be None, see `keras_dml.recordings.read`. `window`
            counts events. A column of 0 and 1 is a channel unless it is constant in all files.
        units: Unit of each channel, or one text for all channels. Default: read from the files.
        **options: Further arguments of `train`, such as `out`.

    Returns:
        `Trained`. The dict `refused` of the result also lists files that cannot be read.

    Raises:
        ValueError: If no file can be read, if the rate is unknown, if nearly all files are left
            out, if only one person remains, or if `train` raises an error.
        FileNotFoundError: If the folder does not exist.
        ImportError: If a package that is needed to read a file format is missing.
    """
    flags = {name: options[name] for name in ("replace", "resume") if name in options}
    if "out" in options:
        folders.check_out(options["out"], **flags)
    listing = recordings.folder(folder)
    files = read(
        folder,
        channels,
        rate_hz,
        resample_hz,
        time=time,
        time_unit=time_unit,
        max_gap=max_gap,
        events=events,
    )
    counts = len(listing.recordings), len(listing.people)
    check_remaining(len(set(files.files)), len(set(files.people)), *counts, files.refused)
    if len(listing.people) < 2:
        raise ValueError(
            f"{folder} holds recordings of one person, {listing.people[0]!r}, but a model is "
            "trained on several people. Give recordings of several people, one folder per person."
        )
    trained = train(
        files.recordings,
        files.people,
        files.sessions,
        names=files.names,
        files=files.files,
        channels=files.channels,
        rate_hz=files.rate_hz,
        units=files.units if units is None else units,
        **options,
    )
    trained.refused.update(files.refused)
    trained.notes.update(files.notes)
    return dataclasses.replace(trained, resampled_hz=files.resampled_hz)


def read(
    folder: Path,
    channels: Sequence[str] | None = None,
    rate_hz: float | None = None,
    resample_hz: float | None = None,
    *,
    events: bool = False,
    **times: Any,
) -> Files:
    """Reads the recordings of a folder, and leaves out files with unusual channels, units or rates.

    Args:
        folder: See `train_folder`.
        channels: See `train_folder`.
        rate_hz: See `train_folder`.
        resample_hz: See `train_folder`.
        events: See `train_folder`.
        **times: `time`, `time_unit` and `max_gap`, see `train_folder`.

    Raises:
        ValueError, FileNotFoundError, ImportError: See `train_folder`.
    """
    for name, rate in (("rate_hz", rate_hz), ("resample_hz", resample_hz)):
        if rate is not None:
            check_positive(name, rate)
    if times.get("max_gap") is not None:
        check_positive("max_gap", times["max_gap"])
    listing, root = recordings.folder(folder), pathlib.Path(folder)
    notes = collections.Counter()

    def read_pieces(entry, channels):
        return recordings.read_pieces(
            entry.path, channels, rate_hz, resample_hz, events=events, **times
        )

    files, failed, refused, uneven = _read_files(listing, root, channels, read_pieces)
    if resample_hz is None and not events:
        resample_hz = _rate_to_resample(files, uneven)
        if resample_hz is not None:
            files, failed, refused, _ = _read_files(listing, root, channels, read_pieces)
            reason = (
                f"The times of {len(uneven):,} files are uneven"
                if uneven
                else "Most files have different rates"
            )
            notes[
                f"{reason}, so all files were resampled to {resample_hz:g} Hz, the median of their "
                "rates."
            ] += len(listing.recordings)
    for path in listing.skipped:
        refused[_name(path, root)] = "the file is not a recording of a person"
    if channels is None and files:
        files = _unify_channels(files, failed, read_pieces, refused, notes, events)
    files = _select_usual(
        files, refused, lambda piece: piece.channels, "channels", Message("set {channels}")
    )
    files = _convert_units(files)
    files = _select_usual(files, refused, lambda piece: piece.units, "units", "convert the values")
    files, rate = (files, None) if events else _select_usual_rate(files, refused)
    if not files:
        raise ValueError(
            Message(
                "No recording of {folder} can be read. {reasons}",
                folder=root,
                reasons=summarize(refused),
            )
        )
    for file in files:
        notes.update(file.pieces[0].notes)
    pieces = [(file, i, piece) for file in files for i, piece in enumerate(file.pieces, 1)]
    return Files(
        [piece.values for _, _, piece in pieces],
        [file.entry.person for file, _, _ in pieces],
        [file.entry.session for file, _, _ in pieces],
        [_piece_name(file, i) for file, i, _ in pieces],
        [file.name for file, _, _ in pieces],
        files[0].pieces[0].channels,
        tuple(unit or UNKNOWN for unit in files[0].pieces[0].units),
        rate,
        refused,
        dict(notes),
        resample_hz,
    )


def _read_files(listing, root, channels, read_pieces):
    """Reads the files of a listing.

    Args:
        listing: The `keras_dml.recordings.Listing` of the files.
        root: The folder or table.
        channels: Names of the channels, or None.
        read_pieces: Function that reads the pieces of a file with the given channels.

    Returns:
        Tuple `(files, failed, refused, uneven)`. `files` are the `_File`s that were read, and
        `failed` are the `_File`s that could not be read. `refused` is a dict `{name: reason}` of
        the failed files. `uneven` lists the rates of the files that failed because of uneven times,
        computed from the median time step of each file.
    """
    files, failed, refused, uneven = [], [], {}, []
    for number, entry in enumerate(progress.track(listing.recordings, "read")):
        name = _name(entry.path, root)
        try:
            files.append(_File(number, name, entry, read_pieces(entry, channels)))
        except ValueError as error:
            if isinstance(error, recordings.UnevenTimesError):
                uneven.append(error.rate_hz)
            refused[name] = _reason(error, entry)
            failed.append(_File(number, name, entry, None))
    return files, failed, refused, uneven


def _rate_to_resample(files, uneven):
    """Returns the rate to which all files must be resampled, or None if no resampling is needed.

    Args:
        files: `_File`s that were read.
        uneven: Rate of each file whose times are uneven.
    """
    rates = [file.pieces[0].rate_hz for file in files]
    rates = [rate for rate in rates if rate is not None]
    usual = _usual_rate(rates) if rates else None
    different = sum(not recordings.is_same_rate(rate, usual) for rate in rates)
    if not uneven and 2 * different <= len(rates):
        return None
    return float(f"{np.median([*rates, *uneven]):.3g}")


def _convert_units(files):
    """Converts units, such as g to m/s^2, so that all recordings have the most common units."""
    if not files:
        return files
    units = collections.Counter(file.pieces[0].units for file in files).most_common(1)[0][0]
    return [
        file._replace(pieces=[recordings.convert(piece, units) for piece in file.pieces])
        for file in files
    ]


def _unify_channels(files, failed, read_pieces, refused, notes, events):
    """Selects the columns that are channels in most files.

    A column is selected if it is a channel in more than half of the files that contain the column.
    In a short file, a channel may increase or stay constant by chance, and then looks like a clock
    or a constant column. Therefore the majority of the files decides. A column of events that holds
    only 0 and 1 is selected if it is a channel in any file, because some events are rare. Files
    whose channels differ from the selected columns are read again.
    """
    channel_in, left_out = collections.Counter(), collections.Counter()
    for file in files:
        channel_in.update(set(file.pieces[0].channels))
        left_out.update(set(file.pieces[0].left_out))
    orders = collections.Counter(file.pieces[0].channels for file in files).most_common()
    names = dict.fromkeys(name for order, _ in orders for name in order)
    names = [
        name
        for name in names
        if channel_in[name] > left_out[name] or (events and _is_flag(files, name))
    ]
    for name in names:
        if left_out[name]:
            notes[
                f"Column {name!r} only increases or is constant in {left_out[name]} of "
                f"{channel_in[name] + left_out[name]} files. It is used as a channel in all these "
                "files."
            ] += left_out[name]
    usual = [name for name in orders[0][0] if name in names]
    decided, agreeing = set(names), []
    for file in [*files, *failed]:
        piece = None if file.pieces is None else file.pieces[0]
        if piece is not None and {*piece.channels} == decided & {*piece.channels, *piece.left_out}:
            agreeing.append(file)
            continue
        columns = {*piece.channels, *piece.left_out} if piece is not None else {*usual}
        wanted = [name for name in names if name in columns]
        try:
            if not wanted:
                raise ValueError(
                    Message(
                        "its columns {names} only increase or are constant in most files (set "
                        "{channels} to use them)",
                        names=_join(piece.channels),
                    )
                )
            agreeing.append(file._replace(pieces=read_pieces(file.entry, wanted)))
            refused.pop(file.name, None)
        except ValueError as error:
            refused[file.name] = _reason(error, file.entry)
    return sorted(agreeing, key=lambda file: file.number)


def _is_flag(files, name):
    """Returns whether a column holds only 0 and 1 in all files in which it is a channel."""
    pieces = [file.pieces[0] for file in files if name in file.pieces[0].channels]
    return all(
        np.isin(piece.values[:, piece.channels.index(name)], (0, 1)).all() for piece in pieces
    )


def _reason(error, entry):
    """Returns the message of an error. If the message begins with the path of the file, the
    function removes the path."""
    reason = _messages.text_of(error)
    for mark in (": ", ", ", " "):
        reason = reason.removeprefix(f"{entry.path}{mark}")
    return reason


def _piece_name(file, number):
    count = len(file.pieces)
    return file.name if count == 1 else f"{file.name}, piece {number} of {count}"


def _select_usual(files, refused, key, what, advice):
    """Selects the files for which the function `key` returns the most common value."""
    if not files:
        return files
    most = collections.Counter(key(file.pieces[0]) for file in files).most_common(1)[0][0]
    for file in files:
        values = key(file.pieces[0])
        if values != most:
            refused[file.name] = Message(
                "its {what} are {values}, but most files have {most} ({advice})",
                what=what,
                values=_join(values),
                most=_join(most),
                advice=advice,
            )
    return [file for file in files if key(file.pieces[0]) == most]


def _select_usual_rate(files, refused):
    rates = [file.pieces[0].rate_hz for file in files]
    rates = [rate for rate in rates if rate is not None]
    if files and not rates:
        raise ValueError(
            Message(
                "No file states its rate, for example {path}. Set {rate_hz} to the steps per "
                "second, or {time} to the column of times. If the rows are events without a rate, "
                "set {events}.",
                path=files[0].pieces[0].path,
            )
        )
    usual = _usual_rate(rates) if rates else None
    selected = []
    for file in files:
        rate = file.pieces[0].rate_hz
        if rate is None or recordings.is_same_rate(rate, usual):
            selected.append(file)
        else:
            refused[file.name] = Message(
                "it has {rate:.6g} Hz, but most files have {usual:.6g} Hz (set {resample_hz} to "
                "resample all files)",
                rate=rate,
                usual=usual,
            )
    return selected, None if usual is None else float(f"{usual:.4g}")


def _usual_rate(rates):
    """Returns the most common rate of the files. Nearly equal rates are treated as equal."""
    rounded = [f"{rate:.3g}" for rate in rates]
    most = collections.Counter(rounded).most_common(1)[0][0]
    return float(
        np.median([rate for rate, text in zip(rates, rounded, strict=True) if text == most])
    )


def _name(path, root):
    try:
        return path.relative_to(root if root.is_dir() else root.parent).as_posix()
    except ValueError:  # a table may name files outside its folder
        return str(path)


def _join(values):
    return ", ".join(str(value) for value in values)
