"""Recordings of a folder for training: read, and of one kind."""

from __future__ import annotations

import collections
import pathlib
from typing import NamedTuple

import numpy as np

from keras_dml import progress, recordings
from keras_dml.training.own._train import Trained, check_positive, train
from keras_dml.training.own.checks import shown

UNKNOWN = "as recorded"


class Files(NamedTuple):
    """Recordings of people.

    Attributes:
        recordings: Arrays of shape `(time, channels)`.
        people: Person of each.
        sessions: Session of each, None where the folder has none.
        names: Path of each, from the folder.
        channels: Names of the channels.
        units: Unit of each channel.
        rate_hz: Steps a second.
        refused: Why other files were left out, by their paths.
    """

    recordings: list
    people: list
    sessions: list
    names: list
    channels: tuple
    units: tuple
    rate_hz: float
    refused: dict


def train_folder(
    folder, *, channels=None, rate_hz=None, resample_hz=None, units=None, **options
) -> Trained:
    """Trains on the recordings of a folder, `person/recording.csv` or
    `person/session/recording.csv`, or of a table.

    Args:
        folder: Folder or table, see `keras_dml.recordings.folder`.
        channels: Names of the columns that are channels; None: all but times, as most files have
            them.
        rate_hz: Steps a second; None: by the files.
        resample_hz: Rate that recordings are brought to, whose steps may be uneven then; see
            `keras_dml.recordings.read`.
        units: Unit of each channel, or one for all; None: by the files.
        **options: Further arguments of `train`: `out` and others.

    Returns:
        `Trained`; files that cannot be read are among its `refused`.

    Raises:
        ValueError: If no file can be read, or no rate is known; else as `train`.
        FileNotFoundError: If there is no such folder.
        ImportError: If a package that reads a kind of file is missing.
    """
    found = read(folder, channels, rate_hz, resample_hz)
    done = train(
        found.recordings,
        found.people,
        found.sessions,
        names=found.names,
        channels=found.channels,
        rate_hz=found.rate_hz,
        units=found.units if units is None else units,
        **options,
    )
    done.refused.update(found.refused)
    return done


def read(folder, channels=None, rate_hz=None, resample_hz=None):
    """The recordings of a folder that have the same channels, units and rate.

    Args:
        folder: See `train_folder`.
        channels: See there.
        rate_hz: See there.
        resample_hz: See there.

    Returns:
        `Files`.

    Raises:
        ValueError, FileNotFoundError, ImportError: See `train_folder`.
    """
    for name, rate in (("rate_hz", rate_hz), ("resample_hz", resample_hz)):
        if rate is not None:
            check_positive(name, rate)
    listing, root = recordings.folder(folder), pathlib.Path(folder)
    kept, refused = [], {}
    for listed in progress.track(listing.recordings, "read"):
        name = _name(listed.path, root)
        try:
            found = recordings.read(listed.path, channels, rate_hz, resample_hz)
            kept.append((name, listed, found))
        except ValueError as error:
            refused[name] = str(error).removeprefix(str(listed.path)).lstrip(" ,:")
    for path in listing.skipped:
        refused[_name(path, root)] = "it is not a recording of a person"
    kept = _alike(kept, refused, lambda one: one.channels, "channels", "`channels` names them")
    kept = _in_usual_units(kept)
    kept = _alike(kept, refused, lambda one: one.units, "units", "convert it")
    kept, rate = _of_one_rate(kept, refused)
    if not kept:
        raise ValueError(f"No recording of {root} can be read. {shown(refused)}")
    return Files(
        [one.values for _, _, one in kept],
        [listed.person for _, listed, _ in kept],
        [listed.session for _, listed, _ in kept],
        [name for name, _, _ in kept],
        kept[0][2].channels,
        tuple(unit or UNKNOWN for unit in kept[0][2].units),
        rate,
        refused,
    )


def _in_usual_units(kept):
    """Converts recordings in g to m/s^2 or the reverse, and the like, to the units of most."""
    if not kept:
        return kept
    units = collections.Counter(found.units for _, _, found in kept).most_common(1)[0][0]
    return [(name, listed, recordings.convert(found, units)) for name, listed, found in kept]


def _alike(kept, refused, key, what, advice):
    """Those that agree with most of them."""
    if not kept:
        return kept
    most = collections.Counter(key(one) for _, _, one in kept).most_common(1)[0][0]
    for name, _, one in kept:
        if key(one) != most:
            refused[name] = (
                f"its {what} are {_listed(key(one))}, most have {_listed(most)}: {advice}"
            )
    return [each for each in kept if key(each[2]) == most]


def _of_one_rate(kept, refused):
    rates = [one.rate_hz for _, _, one in kept if one.rate_hz is not None]
    if kept and not rates:
        raise ValueError(
            f"{kept[0][2].path} does not say its rate, nor does another one. Give `rate_hz`, the "
            "steps a second, or write a column of times."
        )
    usual = _usual(rates) if rates else None
    same = []
    for each in kept:
        name, rate = each[0], each[2].rate_hz
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
