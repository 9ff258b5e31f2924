"""Which recordings are fit to train on; each other one is refused by its name and a reason."""

from __future__ import annotations

import re

import numpy as np

from keras_dml._contents import copies
from keras_dml.training.people import People

SHOWN = 5  # refusals in an error
MOST_LEFT_OUT = 0.8  # fraction of the recordings without which a model is made of the others


def accepted(recordings, people, sessions, names, usual):
    """The recordings that are fit.

    Args:
        recordings: Arrays of shape `(time, channels)`.
        people: Person of each.
        sessions: Session of each, or None.
        names: Name of each, for reasons.
        usual: `keras_dml.quality.Usual` of their channels, which needs no deviations.

    Returns:
        `People`, with the sessions of each person numbered in their order; their names;
        `usual` with their deviations; and the reasons of the others by their names.

    Raises:
        ValueError: If none is fit.
    """
    refused = {}
    kept = _kept(usual, recordings, range(len(recordings)), names, refused)
    if kept:
        usual = usual.measured([recordings[i] for i in kept])
        kept = _kept(usual, recordings, kept, names, refused)
    kept = _once(recordings, people, kept, names, refused)
    if not kept:
        raise ValueError(f"None of the {len(recordings)} recordings can be used. {shown(refused)}")
    found = People(
        [np.asarray(recordings[i], np.float32) for i in kept],
        [people[i] for i in kept],
        numbered([people[i] for i in kept], [sessions[i] for i in kept]),
    )
    return found, [names[i] for i in kept], usual, refused


def long_enough(people, window, names):
    """The recordings with a whole window, and the reasons of the others by their names.

    Args:
        people: `keras_dml.training.People`.
        window: Steps.
        names: Name of each recording.
    """
    lengths = np.array([len(signal) for signal in people.signals])
    reasons = {
        names[i]: f"it has {lengths[i]:,} steps, a window has {window:,}"
        for i in np.flatnonzero(lengths < window)
    }
    return people.take(lengths >= window), reasons


def check_remaining(recordings, people, all_recordings, all_people, refused):
    """Refuses recordings that are too few of those that were given to make a model of.

    Args:
        recordings: Number of recordings that can be used.
        people: Number of people whom they belong to.
        all_recordings: Number of recordings that were given.
        all_people: Number of their people.
        refused: Reasons of those that were left out, by their names.

    Raises:
        ValueError: If nearly all recordings were left out, or all people except one.
    """
    are_few = recordings < (1 - MOST_LEFT_OUT) * all_recordings
    if are_few or people < 2 <= all_people:
        raise ValueError(
            f"{all_recordings - recordings} of {all_recordings} recordings were left out, and "
            f"{people} of {all_people} people remain: too few for a model. {shown(refused)}"
        )


def _kept(usual, recordings, rows, names, refused):
    kept = []
    for row in rows:
        reason = usual.reason(recordings[row])
        if reason is None:
            kept.append(row)
        else:
            refused[names[row]] = reason
    return kept


def _once(recordings, people, rows, names, refused):
    """Leaves repeats out: enrolled and observed, they would agree; whose one under two people is,
    nobody knows."""
    first, kept = copies([recordings[row] for row in rows]), []
    for place, row in enumerate(rows):
        if place not in first:
            kept.append(row)
            continue
        original = rows[first[place]]
        refused[names[row]] = f"it is the same as {names[original]}"
        if people[original] != people[row] and original in kept:
            kept.remove(original)
            refused[names[original]] = (
                f"it is the same as {names[row]}, of another person: which of them is it?"
            )
    return kept


def numbered(people, sessions):
    """Place of each session among those of its person, from 1; None is the first of all, and names
    that count alike, as `1` and `01`, stay in the order given.

    Args:
        people: Person of each recording.
        sessions: Session of each, texts or numbers.
    """
    own = {}
    for name, session in zip(people, sessions, strict=True):
        own.setdefault(name, {})[session] = None  # a set in order
    order = {
        name: {session: i for i, session in enumerate(sorted(found, key=_natural), start=1)}
        for name, found in own.items()
    }
    return [order[name][session] for name, session in zip(people, sessions, strict=True)]


def _natural(session):
    """Session 10 comes after session 2."""
    parts = re.split(r"(\d+)", "" if session is None else str(session).casefold())
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]


def shown(refused):
    """Reasons in a sentence, those of the first few recordings.

    Args:
        refused: Reasons by name.
    """
    listed = [f"{name}: {reason}" for name, reason in refused.items()]
    more = len(listed) - SHOWN
    return "; ".join(listed[:SHOWN]) + (f"; and {more} more" if more > 0 else "") + "."


def check_lists(recordings, people, sessions, names):
    """The lists, as many entries in each.

    Returns:
        Lists of recordings, people as texts, sessions (None where there are none) and names.

    Raises:
        TypeError: If the recordings are no list.
        ValueError: If the lists have not one entry a recording, a name occurs twice, or a person
            has no name that can be shown.
    """
    recordings, people = list(recordings), [str(one) for one in people]
    count = len(recordings)
    if not count:
        raise ValueError("`recordings` is empty; give recordings of several people.")
    sessions = [None] * count if sessions is None else list(sessions)
    names = [f"recording {i}" for i in range(count)] if names is None else list(map(str, names))
    for what, values in (("people", people), ("sessions", sessions), ("names", names)):
        if len(values) != count:
            raise ValueError(
                f"`{what}` must have one entry a recording, {count}. Received {len(values)}."
            )
    if len(set(names)) < count:
        raise ValueError("`names` must tell the recordings apart; one occurs twice.")
    bad = next((one for one in people if not one.strip() or not one.isprintable()), None)
    if bad is not None:
        raise ValueError(f"A person's name must be printable characters. Received {bad!r}.")
    return recordings, people, sessions, names


def check_channels(channels, units):
    """Names and units of the channels, as tuples.

    Raises:
        ValueError: If there are none, one occurs twice, or the units are not as many.
    """
    channels = (channels,) if isinstance(channels, str) else tuple(channels)
    if not channels or len(set(channels)) < len(channels):
        raise ValueError(
            f"`channels` must name the channels in order, each once. Received {channels!r}."
        )
    units = (units,) * len(channels) if isinstance(units, str) else tuple(units)
    if len(units) != len(channels):
        raise ValueError(
            f"`units` must have one entry a channel, {len(channels)}. Received {len(units)}."
        )
    return channels, units
