"""Checks recordings before a training, and gives a reason for each rejected recording."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from keras_dml import _messages
from keras_dml._contents import copies
from keras_dml._messages import Message
from keras_dml._typing import Recordings
from keras_dml.training.people import People

if TYPE_CHECKING:
    from keras_dml.quality import Usual

SHOWN = 5  # number of rejected recordings that an error message lists
MOST_LEFT_OUT = 0.8  # largest fraction of recordings that may be left out


def select_usable(
    recordings: Recordings,
    people: Sequence[str],
    sessions: Sequence[Any] | None,
    names: Sequence[str],
    usual: Usual,
) -> tuple[People, list[str], Usual, dict[str, str]]:
    """Selects the recordings that are usable for training.

    Args:
        recordings: Arrays of shape `(time, channels)`.
        people: Name of the person who made each recording.
        sessions: Session of each recording, or None.
        names: Name of each recording, used in the reasons.
        usual: `keras_dml.quality.Usual` of the channels, to which the function adds flags and
            standard deviations in the result.

    Returns:
        Tuple `(people, names, usual, refused)`. `people` is a `People` in which the sessions of
        each person are numbered in order. `names` are the names of the selected recordings. `usual`
        has flags and standard deviations. `refused` is a dict `{name: reason}` of the rejected
        recordings.

    Raises:
        ValueError: If no recording is usable.
    """
    refused, usual = {}, usual.with_flags(recordings)
    rows = _fit_rows(usual, recordings, range(len(recordings)), names, refused)
    if rows:
        usual = usual.measured([recordings[i] for i in rows])
        rows = _fit_rows(usual, recordings, rows, names, refused)
    rows = _distinct_rows(recordings, people, rows, names, refused)
    if not rows:
        raise ValueError(
            Message(
                "None of the {count} recordings can be used. {reasons}",
                count=len(recordings),
                reasons=summarize(refused),
            )
        )
    usable = People(
        [np.asarray(recordings[i], np.float32) for i in rows],
        [people[i] for i in rows],
        number_sessions([people[i] for i in rows], [sessions[i] for i in rows]),
    )
    return usable, [names[i] for i in rows], usual, refused


def select_long(people: People, window: int, names: Sequence[str]) -> tuple[People, dict[str, str]]:
    """Selects the recordings that are at least as long as a window.

    Args:
        people: `People` with the recordings.
        window: Number of steps per window.
        names: Name of each recording.

    Returns:
        The selected recordings, and a dict `{name: reason}` of the recordings that are too short.
    """
    lengths = np.array([len(signal) for signal in people.signals])
    reasons = {
        names[i]: f"it has {lengths[i]:,} steps, fewer than a window, which has {window:,}"
        for i in np.flatnonzero(lengths < window)
    }
    return people.take(lengths >= window), reasons


def check_remaining(
    recordings: int, people: int, all_recordings: int, all_people: int, refused: dict[str, str]
) -> None:
    """Checks that enough recordings remain to train a model.

    Args:
        recordings: Number of usable recordings.
        people: Number of people with usable recordings.
        all_recordings: Number of usable and unusable recordings together.
        all_people: Number of people with usable or unusable recordings.
        refused: Dict `{name: reason}` of the recordings that were left out.

    Raises:
        ValueError: If nearly all recordings were left out, or if recordings of only one person
            remain.
    """
    are_few = recordings < (1 - MOST_LEFT_OUT) * all_recordings
    if are_few or people < 2 <= all_people:
        raise ValueError(
            Message(
                "{left_out} of {all_recordings} recordings were left out, and {people} of "
                "{all_people} people remain. These are too few for a model. {reasons}",
                left_out=all_recordings - recordings,
                all_recordings=all_recordings,
                people=people,
                all_people=all_people,
                reasons=summarize(refused),
            )
        )


def _fit_rows(usual, recordings, rows, names, refused):
    fit = []
    for row in rows:
        reason = usual.reason(recordings[row])
        if reason is None:
            fit.append(row)
        else:
            refused[names[row]] = reason
    return fit


def _distinct_rows(recordings, people, rows, names, refused):
    """Leaves out copies of recordings, because a copy would always match the original.

    If two people have the same recording, the function leaves out all copies, because nobody knows
    whose recording it is.
    """
    first, distinct = copies([recordings[row] for row in rows]), []
    for place, row in enumerate(rows):
        if place not in first:
            distinct.append(row)
            continue
        original = rows[first[place]]
        refused[names[row]] = f"it is the same as {names[original]}"
        if people[original] != people[row] and original in distinct:
            distinct.remove(original)
            refused[names[original]] = (
                f"it is the same as {names[row]} of another person, so its person is unknown"
            )
    return distinct


def number_sessions(people: Sequence[str], sessions: Sequence[Any]) -> list[int]:
    """Numbers the sessions of each person from 1, sorted by name. The session None comes first.
    Names with equal numbers, such as `1` and `01`, keep the order in which they are given.

    Args:
        people: Name of the person who made each recording.
        sessions: Session of each recording, a text or a number.
    """
    by_person = {}
    for name, session in zip(people, sessions, strict=True):
        by_person.setdefault(name, {})[session] = None  # a dict is used as an ordered set
    order = {
        name: {session: i for i, session in enumerate(sorted(labels, key=_natural), start=1)}
        for name, labels in by_person.items()
    }
    return [order[name][session] for name, session in zip(people, sessions, strict=True)]


def _natural(session):
    """Returns a sort key that orders the numbers in a name, so that 10 comes after 2."""
    parts = re.split(r"(\d+)", "" if session is None else str(session).casefold())
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]


def summarize(refused: dict[str, str]) -> Message:
    """Returns a sentence that says why the first few recordings were left out.

    Args:
        refused: Dict `{name: reason}` of the recordings that were left out.
    """
    reasons = [_messages.join(": ", item) for item in refused.items()]
    more = [f"and {len(reasons) - SHOWN} more"] if len(reasons) > SHOWN else []
    return _messages.join("", [_messages.join("; ", [*reasons[:SHOWN], *more]), "."])


def check_lists(
    recordings: Recordings,
    people: Sequence[Any],
    sessions: Sequence[Any] | None,
    names: Sequence[Any] | None,
) -> tuple[list[Any], list[str], list[Any], list[str]]:
    """Checks that all lists have one entry per recording.

    Returns:
        Four lists: recordings, people as texts, sessions, and names. Each session is None if
            `sessions` is None.

    Raises:
        TypeError: If the recordings are not a list.
        ValueError: If the lists differ in length, if a name occurs twice, or if the name of a
            person is not printable.
    """
    recordings, people = list(recordings), [str(name) for name in people]
    count = len(recordings)
    if not count:
        raise ValueError(Message("{recordings} is empty. Give recordings of several people."))
    sessions = [None] * count if sessions is None else list(sessions)
    names = [f"recording {i}" for i in range(count)] if names is None else list(map(str, names))
    for argument, values in (("people", people), ("sessions", sessions), ("names", names)):
        if len(values) != count:
            raise ValueError(
                Message(
                    "{argument} has length {entries}, but it must have one entry for each of the "
                    "{count} recordings.",
                    argument=_messages.name(argument),
                    entries=len(values),
                    count=count,
                )
            )
    if len(set(names)) < count:
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(
            Message("{names} has {name!r} twice. Give each recording its own name.", name=twice)
        )
    bad = next((name for name in people if not name.strip() or not name.isprintable()), None)
    if bad is not None:
        raise ValueError(
            f"The name of a person is {bad!r}, but a name must consist of printable characters."
        )
    return recordings, people, sessions, names


def check_channels(
    channels: str | Sequence[str], units: str | Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Checks the names and units of the channels, and returns them as tuples.

    Raises:
        ValueError: If `channels` is empty, if a channel occurs twice, or if the number of units is
            not the number of channels.
    """
    channels = (channels,) if isinstance(channels, str) else tuple(channels)
    if not channels or len(set(channels)) < len(channels):
        raise ValueError(
            Message(
                "{channels} is {value!r}, but it must name all channels in order, each channel "
                "once.",
                value=channels,
            )
        )
    units = (units,) * len(channels) if isinstance(units, str) else tuple(units)
    if len(units) != len(channels):
        raise ValueError(
            Message(
                "{units} has length {count}, but it must have one entry for each of the "
                "{expected} channels.",
                count=len(units),
                expected=len(channels),
            )
        )
    return channels, units
