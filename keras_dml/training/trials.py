"""Verification trials with the people of both sides, from distances between recordings."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np

from keras_dml import inference

PEOPLE = "people"


class Layout(NamedTuple):
    """Owners of the recordings whose distances the trials are made of."""

    subjects: np.ndarray
    sessions: np.ndarray


@dataclasses.dataclass(frozen=True, eq=False)
class Trials:
    """Trials of probes against claims; all arrays have shape `(trials,)`.

    Attributes:
        scores: Distances; smaller is closer.
        probes: Person of the probe.
        claims: Person claimed; the trial is genuine where it is that of the probe.
        recordings: Number of the probe's recording.
        enrolled: Number of recordings enrolled of the person claimed; the score is the least
            distance to them.
        unit: What probes and claims name: `"people"`, or classes such as `"motions"`.
        layout: `Layout` of all recordings, where other distances between them give other scores of
            the same trials; None elsewhere.
    """

    scores: np.ndarray
    probes: np.ndarray
    claims: np.ndarray
    recordings: np.ndarray
    enrolled: np.ndarray
    unit: str = PEOPLE
    layout: Layout | None = None

    @property
    def genuine(self):
        """Whether each claim is true."""
        return self.probes == self.claims

    @property
    def people(self):
        """Probe and claim of each trial, as `evaluation.verification` takes them."""
        return self.probes, self.claims

    def arrays(self):
        """The arrays by name, as `numpy.savez` takes them."""
        names = ("scores", "genuine", "probes", "claims", "recordings", "enrolled")
        return {name: np.asarray(getattr(self, name)) for name in names}

    def rescored(self, values):
        """The same trials by another method.

        Args:
            values: Scores, shape `(trials,)`, smaller is closer; or distances between all
                recordings, where the layout is known.

        Raises:
            ValueError: If the values are neither.
        """
        values = np.asarray(values)
        if values.shape == self.scores.shape:
            return dataclasses.replace(self, scores=values)
        if self.layout is not None and values.shape == 2 * (len(self.layout.subjects),):
            return latest_against_earlier(values, *self.layout)
        either = "" if self.layout is None else ", or one distance for each pair of recordings"
        raise ValueError(
            f"Another method must give one score for each of the {len(self.scores):,} trials"
            f"{either}. Received shape {values.shape}."
        )


def latest_against_earlier(distances, subjects, sessions):
    """Trials of every single recording of a last session against everybody's earlier ones.

    Args:
        distances: Distances between all recordings, shape `(recordings, recordings)`.
        subjects: Person of each recording.
        sessions: Session of each recording, in the order of time.

    Returns:
        `Trials`.
    """
    probes = of_last_session(subjects, sessions)
    return _latest(distances[np.ix_(probes, ~probes)], probes, subjects, sessions)


def by_model(model, people):
    """The trials of `latest_against_earlier` by a model, without the distances that they leave out.

    Args:
        model: A model that `keras_dml.embed` takes.
        people: `keras_dml.training.People`.

    Returns:
        `Trials`.
    """
    z = inference.embed(model, people.signals, progress=False)
    return by_embeddings(model, z, people)


def by_embeddings(model, embeddings, people):
    """The trials of `by_model`, of recordings that were embedded before.

    Args:
        model: See `by_model`.
        embeddings: That of each recording.
        people: See `by_model`.

    Returns:
        `Trials`.
    """
    probes = of_last_session(people.subjects, people.sessions)
    distances = inference.distance(model, embeddings[probes], embeddings[~probes])
    return _latest(distances, probes, people.subjects, people.sessions)


def of_last_session(subjects, sessions):
    """Whether each recording is of its person's last session.

    Args:
        subjects: Person of each recording.
        sessions: Session of each recording, in the order of time.
    """
    subjects, sessions = np.asarray(subjects), np.asarray(sessions)
    last = {name: sessions[subjects == name].max() for name in set(subjects.tolist())}
    return sessions == [last[name] for name in subjects]


def _latest(distances, probes, subjects, sessions):
    subjects, sessions = np.asarray(subjects), np.asarray(sessions)
    found = against_gallery(distances, subjects[probes], subjects[~probes])
    return dataclasses.replace(found, layout=Layout(subjects, sessions))


def against_gallery(distances, probes, gallery, unit=PEOPLE):
    """Trials of every probe against everybody in a gallery.

    Args:
        distances: Shape `(probes, recordings)`.
        probes: Person, or class, of each probe.
        gallery: Person, or class, of each enrolled recording.
        unit: See `Trials`.

    Returns:
        `Trials`, probe by probe, the names of the gallery in their order.
    """
    probes, gallery = np.asarray(probes), np.asarray(gallery)
    names, counts = np.unique(gallery, return_counts=True)
    rows = len(probes)
    return Trials(
        scores=nearest_of(distances, gallery, names).ravel(),
        probes=np.repeat(probes, len(names)),
        claims=np.tile(names, rows),
        recordings=np.repeat(np.arange(rows), len(names)),
        enrolled=np.tile(counts, rows),
        unit=unit,
    )


def of_pairs(scores, first, second, subjects):
    """Trials of single recordings against single ones.

    Args:
        scores: Distances of the pairs, shape `(trials,)`.
        first: Index of the probe's recording, shape `(trials,)`.
        second: Index of the one enrolled, same shape.
        subjects: Person of each recording.

    Returns:
        `Trials`.
    """
    subjects = np.asarray(subjects)
    return Trials(
        scores=np.asarray(scores),
        probes=subjects[first],
        claims=subjects[second],
        recordings=np.asarray(first),
        enrolled=np.ones(len(first), int),
    )


def joined(parts):
    """Trials of several folds as one list; recordings of different folds are different ones.

    Args:
        parts: List of `Trials`.
    """
    offsets = np.cumsum([0, *(part.recordings.max() + 1 for part in parts)])[:-1]
    together = {
        name: np.concatenate([getattr(part, name) for part in parts])
        for name in ("scores", "probes", "claims", "enrolled")
    }
    recordings = [part.recordings + offset for part, offset in zip(parts, offsets, strict=True)]
    return Trials(**together, recordings=np.concatenate(recordings), unit=parts[0].unit)


def nearest_of(distances, owners, names):
    """Distance of each probe to the nearest recording of each person or class.

    Args:
        distances: Shape `(probes, recordings)`.
        owners: Owner of each recording, shape `(recordings,)`.
        names: Owners, in the order of the columns.

    Returns:
        Shape `(probes, names)`.
    """
    owners = np.asarray(owners)
    return np.stack([distances[:, owners == name].min(axis=1) for name in names], axis=1)
