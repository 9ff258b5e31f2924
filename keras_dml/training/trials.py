"""Computes verification trials from distances between recordings of people."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from keras_dml import inference
from keras_dml._typing import ArrayLike
from keras_dml.scoring import Comparison, Scoring

if TYPE_CHECKING:
    from keras_dml._backend import keras
    from keras_dml.training.people import People

PEOPLE = "people"


class Layout(NamedTuple):
    """People and sessions of the recordings that are compared in trials."""

    subjects: np.ndarray
    sessions: np.ndarray


@dataclasses.dataclass(frozen=True, eq=False)
class Trials:
    """Verification trials. Each trial compares a probe with a claimed person.

    All arrays have shape `(trials,)`.

    Attributes:
        scores: Distances between probes and claimed people. The distances are smaller for more
            similar recordings.
        probes: Person (or class) whose recording is the probe of the trial.
        claims: Claimed person (or class) of the trial. A trial is genuine if the probe comes from
            the claimed person.
        recordings: Index of the recording that is the probe of the trial.
        enrolled: Number of enrolled recordings of the claimed person. The score of a trial is the
            distance to the nearest enrolled recording.
        unit: Plural noun for the entries of `probes` and `claims`: `"people"` if `probes` and
            `claims` are people, or a name of classes such as `"motions"`.
        layout: `Layout` of all recordings. The method `with_scores` needs the layout to compute
            scores from a distance matrix. None if no distance matrix gives the scores.
    """

    scores: np.ndarray
    probes: np.ndarray
    claims: np.ndarray
    recordings: np.ndarray
    enrolled: np.ndarray
    unit: str = PEOPLE
    layout: Layout | None = None

    @property
    def genuine(self) -> np.ndarray:
        """Boolean array that is True for genuine trials."""
        return self.probes == self.claims

    @property
    def people(self) -> tuple[np.ndarray, np.ndarray]:
        """Two arrays with the probe's person and the claimed person of each trial, as arguments for
        `evaluation.verification`."""
        return self.probes, self.claims

    def arrays(self) -> dict[str, np.ndarray]:
        """Returns the arrays as `{name: array}`, for `numpy.savez`."""
        names = ("scores", "genuine", "probes", "claims", "recordings", "enrolled")
        return {name: np.asarray(getattr(self, name)) for name in names}

    def with_scores(self, values: ArrayLike) -> Trials:
        """Returns the same trials with the scores of another method.

        Args:
            values: Scores, shape `(trials,)`. Scores are smaller for more similar recordings. If
                `layout` is set, `values` may also be the distances between all recordings, shape
                `(recordings, recordings)`.

        Raises:
            ValueError: If the shape of `values` is not allowed.
        """
        values = np.asarray(values)
        if values.shape == self.scores.shape:
            return dataclasses.replace(self, scores=values)
        if self.layout is not None and values.shape == 2 * (len(self.layout.subjects),):
            return latest_against_earlier(values, *self.layout)
        alternative = "" if self.layout is None else ", or a distance for each pair of recordings"
        raise ValueError(
            f"The scores have shape {values.shape}, but each of the {len(self.scores):,} trials "
            f"must have one score{alternative}."
        )


def latest_against_earlier(
    distances: np.ndarray, subjects: Sequence[Any], sessions: Sequence[Any]
) -> Trials:
    """Compares each recording of a person's last session with everybody's earlier recordings.

    Args:
        distances: Distances between all recordings, shape `(recordings, recordings)`.
        subjects: Person of each recording.
        sessions: Session of each recording, as a value that increases with time.
    """
    probes = is_last_session(subjects, sessions)
    return _latest(distances[np.ix_(probes, ~probes)], probes, subjects, sessions)


def from_model(model: keras.Model, people: People) -> Trials:
    """Computes the trials of `latest_against_earlier` from recordings and a model.

    Only the distances that the trials need are computed.

    Args:
        model: A model for `keras_dml.embed`.
        people: The recordings.
    """
    z = inference.embed(model, people.signals, progress=False)
    return from_embeddings(model, z, people)


def from_embeddings(model: keras.Model, embeddings: np.ndarray, people: People) -> Trials:
    """Computes the trials of `from_model` from existing embeddings.

    Args:
        model: See `from_model`.
        embeddings: Embedding of each recording.
        people: See `from_model`.
    """
    probes = is_last_session(people.subjects, people.sessions)
    distances = inference.distance(model, embeddings[probes], embeddings[~probes])
    return _latest(distances, probes, people.subjects, people.sessions)


def by_scoring(
    scoring: Scoring, model: Comparison, embeddings: np.ndarray, people: People
) -> Trials:
    """Computes the trials of `from_embeddings` with another scoring.

    Args:
        scoring: Rule that computes the score of a probe against a person's enrolled recordings.
        model: Model that computed the embeddings.
        embeddings: Embedding of each recording.
        people: See `from_model`.
    """
    probes = is_last_session(people.subjects, people.sessions)
    subjects = np.asarray(people.subjects)
    order = np.argsort(subjects[~probes], kind="stable")
    names, counts = np.unique(subjects[~probes], return_counts=True)
    rows = int(probes.sum())
    singles = scoring.summary(model, embeddings[probes], np.ones(rows, int))
    enrolled = scoring.summary(model, embeddings[~probes][order], counts)
    return Trials(
        scores=scoring.compare(model, singles, enrolled).ravel(),
        probes=np.repeat(subjects[probes], len(names)),
        claims=np.tile(names, rows),
        recordings=np.repeat(np.arange(rows), len(names)),
        enrolled=np.tile(counts, rows),
    )


def is_last_session(subjects: Sequence[Any], sessions: Sequence[Any]) -> np.ndarray:
    """Returns whether each recording belongs to its person's last session.

    Args:
        subjects: Person of each recording.
        sessions: Session of each recording, as a value that increases with time.
    """
    subjects, sessions = np.asarray(subjects), np.asarray(sessions)
    last = {name: sessions[subjects == name].max() for name in set(subjects.tolist())}
    return sessions == [last[name] for name in subjects]


def _latest(distances, probes, subjects, sessions):
    subjects, sessions = np.asarray(subjects), np.asarray(sessions)
    claims = against_gallery(distances, subjects[probes], subjects[~probes])
    return dataclasses.replace(claims, layout=Layout(subjects, sessions))


def against_gallery(
    distances: np.ndarray, probes: Sequence[Any], gallery: Sequence[Any], unit: str = PEOPLE
) -> Trials:
    """Compares every probe with everybody in a gallery.

    Args:
        distances: Distances, shape `(probes, recordings)`.
        probes: Person, or class, of each probe.
        gallery: Person, or class, of each enrolled recording.
        unit: Plural noun for the probes and claims, see the attribute `unit` of `Trials`.

    Returns:
        `Trials`, ordered by probe and then by the sorted names in the gallery.
    """
    probes, gallery = np.asarray(probes), np.asarray(gallery)
    names, counts = np.unique(gallery, return_counts=True)
    rows = len(probes)
    return Trials(
        scores=nearest_distances(distances, gallery, names).ravel(),
        probes=np.repeat(probes, len(names)),
        claims=np.tile(names, rows),
        recordings=np.repeat(np.arange(rows), len(names)),
        enrolled=np.tile(counts, rows),
        unit=unit,
    )


def from_pairs(
    scores: ArrayLike, first: Sequence[int], second: Sequence[int], subjects: Sequence[Any]
) -> Trials:
    """Returns trials between pairs of single recordings.

    Args:
        scores: Distances of the pairs, shape `(trials,)`.
        first: Index of the probe's recording, shape `(trials,)`.
        second: Index of the enrolled recording, shape `(trials,)`.
        subjects: Person of each recording.
    """
    subjects = np.asarray(subjects)
    return Trials(
        scores=np.asarray(scores),
        probes=subjects[first],
        claims=subjects[second],
        recordings=np.asarray(first),
        enrolled=np.ones(len(first), int),
    )


def concatenate(parts: Sequence[Trials]) -> Trials:
    """Concatenates the trials of several folds that have no recordings in common.

    Args:
        parts: Trials of each fold.
    """
    offsets = np.cumsum([0, *(part.recordings.max() + 1 for part in parts)])[:-1]
    arrays = {
        name: np.concatenate([getattr(part, name) for part in parts])
        for name in ("scores", "probes", "claims", "enrolled")
    }
    recordings = [part.recordings + offset for part, offset in zip(parts, offsets, strict=True)]
    return Trials(**arrays, recordings=np.concatenate(recordings), unit=parts[0].unit)


def nearest_distances(
    distances: np.ndarray, owners: Sequence[Any], names: Sequence[Any]
) -> np.ndarray:
    """Computes the distance of each probe to the nearest recording of each person or class.

    Args:
        distances: Distances, shape `(probes, recordings)`.
        owners: Person or class of each recording, shape `(recordings,)`.
        names: People or classes, in the order of the columns.

    Returns:
        Distances, shape `(probes, names)`.
    """
    owners = np.asarray(owners)
    return np.stack([distances[:, owners == name].min(axis=1) for name in names], axis=1)
