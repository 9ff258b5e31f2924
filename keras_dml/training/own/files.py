"""Recordings of a folder for training: read, and of one kind."""

from __future__ import annotations

import collections
import dataclasses
import pathlib
from typing import NamedTuple

import numpy as np

from keras_dml import progress, recordings
from keras_dml.training.own import folders
from keras_dml.training.own._train import Trained, check_positive, train
from keras_dml.training.own.checks import check_remaining, shown

UNKNOWN = "as recorded"


class Files(NamedTuple):
    """Recordings of people.

    Attributes:
        recordings: Arrays of shape `(time, channels)`.
        people: Person of each.
        sessions: Session of each, None if the folder has none.
        names: Name of each: the path from the folder, and the number of the piece if the file was
            cut at gaps.
        files: Path of each from the folder.
        channels: Names of the channels.
        units: Unit of each channel.
        rate_hz: Steps a second.
        refused: Why other files were left out, by their paths.
        notes: Sentences about what was assumed, with the number of files.
        resampled_hz: Rate that the recordings were resampled to; None if they were not.
    """

    recordings: list
    people: list
    sessions: list
    names: list
    files: list
    channels: tuple
    units: tuple
    rate_hz: float
    refused: dict
    notes: dict
    resampled_hz: float | None = None


class _File(NamedTuple):
    """A file that was read: its place in the listing, its name, its entry and its pieces."""

    number: int
    name: str
    listed: recordings.Listed
    pieces: list


def train_folder(
    folder,
    *,
    channels=None,
    rate_hz=None,
    resample_hz=None,
    time=None,
    time_unit=None,
    max_gap=None,
    units=None,
    **options,
) -> Trained:
    """Trains on the recordings of a folder, `person/recording.csv` or
    `person/session/recording.csv`, or of a table.

    A recording with a long gap is cut there. Its pieces are recordings of one session. If the times
    of files are uneven, as the clocks of phones are, or most files have other rates than the usual
    one, all are resampled to the median of their rates, which `notes` and `resampled_hz` say.

    Args:
        folder: Folder or table, see `keras_dml.recordings.folder`.
        channels: Names of the columns that are channels. None: the columns that are channels in
            more than half of the files that have them; see `keras_dml.recordings.read`.
        rate_hz: Steps per second; None: by the files.
        resample_hz: Rate to resample to; see `keras_dml.recordings.read`. None: as they are, or see
            above.
        time: Column that holds the times; see there.
        time_unit: Unit of its numbers: "s", "ms", "us" or "ns"; see there.
        max_gap: Longest gap that is interpolated, in seconds; None: 5 steps.
        units: Unit of each channel, or one for all; None: by the files.
        **options: Further arguments of `train`: `out` and others.

    Returns:
        `Trained`; files that cannot be read are among its `refused`.

    Raises:
        ValueError: If no file can be read, no rate is known, nearly all files are left out, or only
            one person remains; else as `train`.
        FileNotFoundError: If there is no such folder.
        ImportError: If a package that reads a kind of file is missing.
    """
    flags = {name: options[name] for name in ("replace", "resume") if name in options}
    if "out" in options:
        folders.checked(options["out"], **flags)
    listing = recordings.folder(folder)
    found = read(
        folder,
        channels,
        rate_hz,
        resample_hz,
        time=time,
        time_unit=time_unit,
        max_gap=max_gap,
    )
    counts = len(listing.recordings), len(listing.people)
    check_remaining(len(set(found.files)), len(set(found.people)), *counts, found.refused)
    if len(listing.people) < 2:
        raise ValueError(
            f"{folder} holds recordings of one person, {listing.people[0]!r}. A model tells people "
            "apart: give recordings of several people, one folder for each."
        )
    done = train(
        found.recordings,
        found.people,
        found.sessions,
        names=found.names,
        files=found.files,
        channels=found.channels,
        rate_hz=found.rate_hz,
        units=found.units if units is None else units,
        **options,
    )
    done.refused.update(found.refused)
    done.notes.update(found.notes)
    return dataclasses.replace(done, resampled_hz=found.resampled_hz)


def read(folder, channels=None, rate_hz=None, resample_hz=None, **times):
    """Reads the recordings of a folder that have the same channels, units and rate.

    Args:
        folder: See `train_folder`.
        channels: See there.
        rate_hz: See there.
        resample_hz: See there.
        **times: `time`, `time_unit` and `max_gap`, see there.

    Returns:
        `Files`.

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

    def pieces_of(listed, channels):
        return recordings.read_pieces(listed.path, channels, rate_hz, resample_hz, **times)

    files, failed, refused, uneven = _read_files(listing, root, channels, pieces_of)
    if resample_hz is None:
        resample_hz = _rate_to_resample(files, uneven)
        if resample_hz is not None:
            files, failed, refused, _ = _read_files(listing, root, channels, pieces_of)
            what = (
                f"The times of {len(uneven):,} files are uneven"
                if uneven
                else "Most files have other rates than the usual one"
            )
            notes[
                f"{what}, so all files were resampled to {resample_hz:g} Hz, the median of their "
                "rates."
            ] += len(listing.recordings)
    for path in listing.skipped:
        refused[_name(path, root)] = "it is not a recording of a person"
    if channels is None and files:
        files = _by_name(files, failed, pieces_of, refused, notes)
    files = _alike(files, refused, lambda one: one.channels, "channels", "`channels` names them")
    files = _in_usual_units(files)
    files = _alike(files, refused, lambda one: one.units, "units", "convert it")
    files, rate = _of_one_rate(files, refused)
    if not files:
        raise ValueError(f"No recording of {root} can be read. {shown(refused)}")
    for file in files:
        notes.update(file.pieces[0].notes)
    pieces = [(file, i, piece) for file in files for i, piece in enumerate(file.pieces, 1)]
    return Files(
        [piece.values for _, _, piece in pieces],
        [file.listed.person for file, _, _ in pieces],
        [file.listed.session for file, _, _ in pieces],
        [_piece_name(file, i) for file, i, _ in pieces],
        [file.name for file, _, _ in pieces],
        files[0].pieces[0].channels,
        tuple(unit or UNKNOWN for unit in files[0].pieces[0].units),
        rate,
        refused,
        dict(notes),
        resample_hz,
    )


def _read_files(listing, root, channels, pieces_of):
    """Reads the files of a listing.

    Args:
        listing: `keras_dml.recordings.Listing`.
        root: The folder or table.
        channels: Names of the channels, or None.
        pieces_of: Function that reads the pieces of a file with these channels.

    Returns:
        `(files, failed, refused, uneven)`: the `_File`s that were read, those that were not, the
        reasons by their names, and the rates by the median interval of the files that failed
        because their times are uneven.
    """
    files, failed, refused, uneven = [], [], {}, []
    for number, listed in enumerate(progress.track(listing.recordings, "read")):
        name = _name(listed.path, root)
        try:
            files.append(_File(number, name, listed, pieces_of(listed, channels)))
        except ValueError as error:
            if isinstance(error, recordings.UnevenTimesError):
                uneven.append(error.rate_hz)
            refused[name] = _reason(error, listed)
            failed.append(_File(number, name, listed, None))
    return files, failed, refused, uneven


def _rate_to_resample(files, uneven):
    """Returns the rate that all files must be resampled to, or None.

    Args:
        files: `_File`s that were read.
        uneven: Rates of those whose times are uneven.
    """
    rates = [file.pieces[0].rate_hz for file in files]
    rates = [rate for rate in rates if rate is not None]
    usual = _usual(rates) if rates else None
    different = sum(not recordings.is_same_rate(rate, usual) for rate in rates)
    if not uneven and 2 * different <= len(rates):
        return None
    return float(f"{np.median([*rates, *uneven]):.3g}")


def _in_usual_units(files):
    """Converts recordings in g to m/s^2 or the reverse, and the like, to the units of most."""
    if not files:
        return files
    units = collections.Counter(file.pieces[0].units for file in files).most_common(1)[0][0]
    return [
        file._replace(pieces=[recordings.convert(piece, units) for piece in file.pieces])
        for file in files
    ]


def _by_name(files, failed, pieces_of, refused, notes):
    """Files with the columns that are channels in more than half of the files that have them.

    A column may rise by chance in a short file, or hold one value. So the files decide together,
    and files of another opinion are read again.
    """
    chosen, left_out = collections.Counter(), collections.Counter()
    for file in files:
        chosen.update(set(file.pieces[0].channels))
        left_out.update(set(file.pieces[0].left_out))
    orders = collections.Counter(file.pieces[0].channels for file in files).most_common()
    names = dict.fromkeys(name for order, _ in orders for name in order)
    names = [name for name in names if chosen[name] > left_out[name]]
    for name in names:
        if left_out[name]:
            notes[
                f"Column {name!r} only rises or holds one value in {left_out[name]} of "
                f"{chosen[name] + left_out[name]} files. It is a channel in all of them."
            ] += left_out[name]
    usual = [name for name in orders[0][0] if name in names]
    decided, agreeing = set(names), []
    for file in [*files, *failed]:
        read = None if file.pieces is None else file.pieces[0]
        if read is not None and {*read.channels} == decided & {*read.channels, *read.left_out}:
            agreeing.append(file)
            continue
        columns = {*read.channels, *read.left_out} if read is not None else {*usual}
        wanted = [name for name in names if name in columns]
        try:
            if not wanted:
                raise ValueError(
                    f"its columns {_listed(read.channels)} only rise or hold one value in most "
                    "files: `channels` names them"
                )
            agreeing.append(file._replace(pieces=pieces_of(file.listed, wanted)))
            refused.pop(file.name, None)
        except ValueError as error:
            refused[file.name] = _reason(error, file.listed)
    return sorted(agreeing, key=lambda file: file.number)


def _reason(error, listed):
    return str(error).removeprefix(str(listed.path)).lstrip(" ,:")


def _piece_name(file, number):
    count = len(file.pieces)
    return file.name if count == 1 else f"{file.name}, piece {number} of {count}"


def _alike(kept, refused, key, what, advice):
    """Those that agree with most of them."""
    if not kept:
        return kept
    most = collections.Counter(key(file.pieces[0]) for file in kept).most_common(1)[0][0]
    for file in kept:
        values = key(file.pieces[0])
        if values != most:
            refused[file.name] = (
                f"its {what} are {_listed(values)}, most have {_listed(most)}: {advice}"
            )
    return [file for file in kept if key(file.pieces[0]) == most]


def _of_one_rate(kept, refused):
    rates = [file.pieces[0].rate_hz for file in kept]
    rates = [rate for rate in rates if rate is not None]
    if kept and not rates:
        raise ValueError(
            f"{kept[0].pieces[0].path} does not say its rate, nor does another one. Give "
            "`rate_hz`, the steps a second, or `time`, the column of times."
        )
    usual = _usual(rates) if rates else None
    same = []
    for each in kept:
        name, rate = each.name, each.pieces[0].rate_hz
        if rate is None or recordings.is_same_rate(rate, usual):
            same.append(each)
        else:
            refused[name] = (
                f"it has {rate:.6g} Hz, most have {usual:.6g}: `resample_hz` brings all to one"
            )
    return same, None if usual is None else float(f"{usual:.4g}")


def _usual(rates):
    """The rate that most files have; clocks differ by a little."""
    rounded = [f"{rate:.3g}" for rate in rates]
    most = collections.Counter(rounded).most_common(1)[0][0]
    own = [rate for rate, text in zip(rates, rounded, strict=True) if text == most]
    return float(np.median(own))


def _name(path, root):
    try:
        return path.relative_to(root if root.is_dir() else root.parent).as_posix()
    except ValueError:  # a table may name files elsewhere
        return str(path)


def _listed(values):
    return ", ".join(str(value) for value in values)
