"""Keeps recordings of strangers, groups them, and lets a person name or destroy each group."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from keras_dml import _figures
from keras_dml.gallery.calibration import warn_of_more
from keras_dml.gallery.names import checked_name
from keras_dml.gallery.observations import Observation, Observations
from keras_dml.gallery.results import Enrollment, Source

if TYPE_CHECKING:
    from keras_dml.gallery.gallery import Gallery


@dataclasses.dataclass(frozen=True)
class Stranger:
    """Recordings that probably come from one unknown person, without their embeddings.

    Attributes:
        id: Id of the group, which is the id of its first recording.
        recordings: Ids of the recordings, in the order in which they were made.
        first: Time of the first recording (ISO 8601, UTC).
        last: Time of the last recording (ISO 8601, UTC).
        days: Number of days (UTC) on which the recordings were made.
        expires: Time at which the first of the recordings is destroyed (ISO 8601, UTC).
    """

    id: str
    recordings: tuple[str, ...]
    first: str
    last: str
    days: int
    expires: str

    def __str__(self) -> str:
        times = _figures.counted(len(self.recordings), "time")
        return f"{self.id}: came {times} on {_figures.counted(self.days, 'day')}"


class Strangers:
    """The strangers' inbox of a gallery, `Gallery.strangers`.

    Nothing is kept until `keep` is called. Then `Gallery.identify` keeps a recording if no enrolled
    person is near enough. The gallery stores embeddings only, no recordings.

    Args:
        gallery: The gallery.
    """

    def __init__(self, gallery: Gallery):
        self._gallery = gallery
        self._observations = Observations(gallery._records, "strangers")

    @property
    def days(self) -> float | None:
        """Number of days for which strangers are kept. None if strangers are not kept."""
        return self._observations.days

    def keep(self, days: float | None) -> None:
        """Sets for how many days recordings of strangers are kept.

        The gallery must be encrypted and in a file. The setting is stored in the gallery. In many
        countries, strangers must agree before their biometric data are stored.

        Args:
            days: Number of days, at most 366. If None, nothing is kept any more, and all recordings
                of strangers are destroyed.

        Raises:
            ValueError: If the gallery is not encrypted, if it is on a server, if its scoring is not
                `nearest`, or if `days` is not above 0 or is above 366.
        """
        if days is not None:
            self._gallery._check_pairs()
        self._observations.keep(days)

    def list(self) -> tuple[Stranger, ...]:
        """Returns groups of recordings, the group with the most recordings first.

        The distance between any two recordings of a group is at most the threshold with which the
        gallery decides (complete linkage). A chain of similar people is therefore not one group.
        One person may have several groups.
        """
        groups = [_stranger(group) for group in self._groups()]
        return tuple(sorted(groups, key=lambda group: -len(group.recordings)))

    def name(self, stranger: str, person: str) -> Enrollment:
        """Enrolls the recordings of a stranger under a name, and removes them from the inbox.

        The recordings are checked as in `Gallery.enroll`. Recordings that are refused stay in the
        inbox.

        Args:
            stranger: Id of the group.
            person: Name of the person, who may be enrolled already.

        Raises:
            KeyError: If no group has this id.
            ValueError: If the name is invalid.
        """
        person, group = checked_name(person), self._find(stranger)
        shape = self._gallery._model.embedding_shape
        z = np.stack([each.embedding for each in group]).reshape(len(group), *shape)
        sources = [Source(each.created[:10]) for each in group]
        result = self._gallery._enroll_embeddings(person, z, sources)
        enrolled = {*result.kept, *result.repeated}
        if enrolled:
            self._observations.destroy([group[row].id for row in sorted(enrolled)])
            warn_of_more({person: result.enrolled}, self._gallery._limits())
        return result

    def destroy(self, strangers: str | Iterable[str]) -> int:
        """Destroys all recordings of strangers. No byte of the embeddings remains in the file.

        Args:
            strangers: Id of a group, or several ids.

        Returns:
            Number of destroyed recordings.

        Raises:
            KeyError: If an id is unknown. Then nothing is destroyed.
        """
        strangers = [strangers] if isinstance(strangers, str) else list(strangers)
        groups = {group[0].id: group for group in self._groups()}
        recordings = []
        for stranger in strangers:  # other ids may belong to unreadable recordings
            group = groups.get(stranger)
            recordings += [stranger] if group is None else [each.id for each in group]
        self._observations.destroy(recordings)
        return len(recordings)

    def observe(self, probes: np.ndarray) -> None:
        """Keeps the recordings of a stranger, if strangers are kept.

        Args:
            probes: Embeddings of the recordings, shape `(count, ...)`.
        """
        self._observations.add(probes)

    def _find(self, stranger) -> tuple[Observation, ...]:
        for group in self._groups():
            if group[0].id == stranger:
                return group
        raise self._observations.unknown(stranger)

    def _groups(self) -> list[tuple[Observation, ...]]:
        observations = self._observations.list()
        threshold = self._gallery.deciding
        if not observations:
            return []
        shape = self._gallery._model.embedding_shape
        z = np.stack([each.embedding for each in observations]).reshape(-1, *shape)
        limit = -np.inf if threshold is None else threshold.value
        codes = complete_linkage(self._gallery._pair_scores(z, z), limit)
        groups = {}
        for code, observation in zip(codes.tolist(), observations, strict=True):
            groups.setdefault(code, []).append(observation)
        return [tuple(group) for group in groups.values()]


def complete_linkage(distances: np.ndarray, limit: float) -> np.ndarray:
    """Groups recordings so that no distance within a group exceeds a limit.

    The function merges the two nearest groups until the largest distance between the recordings of
    two groups exceeds the limit. It replaces `scipy.cluster.hierarchy`, because galleries on
    devices have no SciPy.

    Args:
        distances: Distances between all recordings, shape `(recordings, recordings)`.
        limit: Largest distance within a group.

    Returns:
        Smallest recording in the group of each recording, shape `(recordings,)`.
    """
    distances = np.maximum(distances, distances.T)
    np.fill_diagonal(distances, np.inf)
    groups = np.arange(len(distances))
    while len(groups):
        first, second = sorted(np.unravel_index(distances.argmin(), distances.shape))
        if first == second or not distances[first, second] <= limit:
            break
        distances[first] = distances[:, first] = np.maximum(distances[first], distances[second])
        distances[second] = distances[:, second] = np.inf
        groups[groups == second] = first
    return groups


def _stranger(group):
    """Returns the `Stranger` for a group of observations."""
    return Stranger(
        group[0].id,
        tuple(each.id for each in group),
        group[0].created,
        group[-1].created,
        len({each.created[:10] for each in group}),
        min(each.expires for each in group),
    )
