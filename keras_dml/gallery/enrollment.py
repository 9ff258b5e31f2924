"""Finds repeated recordings and outliers before recordings are enrolled, rejected or merged.

Also checks the labels of the days and devices of recordings.
"""

from __future__ import annotations

import datetime
import warnings
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from keras_dml import _messages
from keras_dml._contents import alike, repeats
from keras_dml._messages import Message
from keras_dml._typing import Path
from keras_dml.gallery.names import checked_name
from keras_dml.gallery.results import Source

if TYPE_CHECKING:
    from keras_dml.gallery.templates import Templates


def find_repeats(
    person: str, embeddings: np.ndarray, templates: Templates
) -> tuple[dict[int, int | None], dict[int, str]]:
    """Finds recordings that occur twice or that the gallery already contains.

    Args:
        person: Name of the person to enroll.
        embeddings: Embeddings of the new recordings, shape `(count, ...)`.
        templates: Templates of the gallery.

    Returns:
        `(repeated, reasons)`. `repeated` is a dict from the row of each repeated recording to the
        row of its first occurrence. The value is None if the recording is already enrolled as this
        person. `reasons` is a dict `{row: reason}` of the recordings that must not be enrolled.
    """
    repeated, reasons = repeats(embeddings), {}
    for row, matches in enumerate(templates.equal_to(embeddings)):
        enrolled = templates.enrolled[matches]
        owners = dict.fromkeys(templates.people[matches[enrolled]])
        if person in owners:
            repeated[row] = None
        elif owners:
            repeated.pop(row, None)
            reasons[row] = Message(
                "the same recording is enrolled as {owner!r} and cannot also be enrolled as "
                "{name!r}. If it belongs to {name!r}, first remove it from {owner!r} by "
                "{Gallery.forget()}",
                owner=next(iter(owners)),
                name=person,
            )
        elif person in templates.people[matches[~enrolled]]:
            repeated.pop(row, None)
            reasons[row] = f"`reject` stored the same recording as an imposter of {person!r}"
    return repeated, reasons


def checked_sources(
    days: str | Iterable[str] | None, devices: str | Iterable[str] | None, count: int
) -> list[Source | None]:
    """Returns the `Source` of each recording, or None for recordings without a day and a device.

    Args:
        days: Day of each recording, one day for all recordings, or None.
        devices: Device of each recording, one device for all recordings, or None.
        count: Number of recordings.

    Raises:
        TypeError: If a label is not a string.
        ValueError: If a label is empty, too long or not printable, or if the number of labels is
            not `count`.
    """
    if days is None and devices is None:
        return [None] * count
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    days = [today] * count if days is None else _labels("days", days, count)
    devices = [""] * count if devices is None else _labels("devices", devices, count)
    return [Source(day, device) for day, device in zip(days, devices, strict=True)]


def _labels(argument, labels, count):
    labels = [labels] * count if isinstance(labels, str) else list(labels)
    if len(labels) != count:
        raise ValueError(
            Message(
                "{argument} has length {given}, but it must hold one label for each of the "
                "{count} recordings.",
                argument=_messages.name(argument),
                given=len(labels),
                count=count,
            )
        )
    for label in labels:
        checked_name(label, argument)
    return labels


def warn_of_repeats(repeated: int, count: int) -> None:
    """Emits a `UserWarning` if recordings are repeated. A repeated recording counts once.

    Args:
        repeated: Number of repeated recordings.
        count: Number of all recordings.
    """
    if repeated:
        warnings.warn(
            f"{repeated} of these {count} recordings were given twice or are already enrolled. "
            "Each recording counts once.",
            stacklevel=3,
        )


def rows_to_mark(person: str, embeddings: np.ndarray, templates: Templates) -> list[int]:
    """Returns the row numbers of recordings that `reject` has not stored for a person yet.

    Args:
        person: Name of the person.
        embeddings: Embeddings of the recordings, shape `(count, ...)`.
        templates: Templates of the person.

    Raises:
        ValueError: If a recording is enrolled as this person.
    """
    repeated = repeats(embeddings)
    rows = []
    for row, matches in enumerate(templates.equal_to(embeddings)):
        if templates.enrolled[matches].any():
            raise ValueError(
                Message(
                    "Recording {row} is enrolled as {name!r}, so it cannot be stored as a "
                    "recording of an imposter. First remove it by {Gallery.forget()}, or leave it "
                    "out.",
                    row=row,
                    name=person,
                )
            )
        if row not in repeated and not len(matches):
            rows.append(row)
    return rows


def rows_to_merge(
    source: Path,
    people: Sequence[str],
    enrolled: np.ndarray,
    embeddings: np.ndarray,
    templates: Templates,
) -> list[int]:
    """Returns the row numbers of templates that only the other gallery contains.

    Args:
        source: Path of the other gallery, for error messages.
        people: Name of the person of each template of the other gallery.
        enrolled: True for enrolled templates, False for templates that `reject` stored.
        embeddings: Templates of the other gallery, shape `(count, ...)`.
        templates: Templates of this gallery.

    Raises:
        ValueError: If a recording is enrolled as two people, or is both enrolled as a person and
            stored as an imposter of this person.
    """
    within, here = alike(embeddings, embeddings), templates.equal_to(embeddings)
    rows = []
    for row, (earlier, present) in enumerate(zip(within, here, strict=True)):
        person, is_enrolled = people[row], bool(enrolled[row])
        matches = [(people[i], bool(enrolled[i])) for i in earlier if i < row]
        matches += [(templates.people[i], bool(templates.enrolled[i])) for i in present]
        for name, match_is_enrolled in matches:
            if name != person and is_enrolled and match_is_enrolled:
                raise ValueError(
                    Message(
                        "{source} cannot be merged, because a recording is enrolled as {first!r} "
                        "and as {second!r}. Remove the recording from one of these people by "
                        "{Gallery.forget()}, or remove one of these people. If both names belong "
                        "to the same person, enroll all recordings under one name.",
                        source=source,
                        first=name,
                        second=person,
                    )
                )
            if name == person and is_enrolled != match_is_enrolled:
                raise ValueError(
                    Message(
                        "{source} cannot be merged, because a recording is enrolled as {name!r} "
                        "and stored by {reject()} as an imposter of this person. Remove either the "
                        "recording by {Gallery.forget()} or the person from one of the two "
                        "galleries.",
                        source=source,
                        name=person,
                    )
                )
        if (person, is_enrolled) not in matches:
            rows.append(row)
    return rows


def outliers(distances: np.ndarray, enrolled: int, limit: float) -> dict[int, float]:
    """Finds new recordings that are too far from a person's other recordings.

    Two recordings are linked if their distance is at most `limit`. Recordings that are connected by
    links form a group (connected component). If recordings of the person are enrolled, each group
    with an enrolled recording belongs to the person. Several recordings of an imposter are
    therefore outliers, even if they are similar to each other. For a new person, the largest group
    of at least two recordings belongs to the person.

    Args:
        distances: Distances from each new recording to the enrolled recordings and to the new
            recordings, shape `(new, enrolled + new)`. The distance from a recording to itself is
            infinite.
        enrolled: Number of enrolled recordings.
        limit: Largest distance between two linked recordings.

    Returns:
        `{row: distance}` for each new recording that does not belong to the person. `distance` is
        the distance to the nearest recording that belongs to the person. If no recording belongs to
        the person, `distance` is the distance to the nearest other recording.
    """
    near = distances <= limit
    links = np.zeros((len(distances) + 1,) * 2, bool)  # node 0: all enrolled
    links[1:, 0] = near[:, :enrolled].any(axis=1)
    links[1:, 1:] = near[:, enrolled:]
    (first, *groups) = connected_components(links)
    sizes = np.bincount(groups)
    if enrolled:
        belongs = np.equal(groups, first)
    else:
        belongs = np.equal(groups, sizes.argmax()) & (sizes.max() > 1)
    columns = np.concatenate([np.ones(enrolled, bool), belongs])
    nearest = distances[:, columns if columns.any() else slice(None)].min(axis=1)
    return {int(row): float(nearest[row]) for row in np.flatnonzero(~belongs)}


def connected_components(links: np.ndarray) -> np.ndarray:
    """Finds the connected components of an undirected graph.

    The function replaces `scipy.sparse.csgraph.connected_components`, because galleries on devices
    have no SciPy.

    Args:
        links: True where a node has a link to another node, shape `(nodes, nodes)`.

    Returns:
        Smallest node in the component of each node, shape `(nodes,)`.
    """
    count = len(links)
    is_linked = links | links.T | np.eye(count, dtype=bool)
    components = np.arange(count)
    while True:
        smallest = np.where(is_linked, components, count).min(axis=1)
        if np.array_equal(smallest, components):
            return components
        components = smallest
