"""Templates of a gallery in memory, and scores of probes against them."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from keras_dml._contents import alike

if TYPE_CHECKING:
    from keras_dml.gallery.model import GalleryModel

FIRST, MOST = 64, 512  # people that are compared at once, at first and later
ROUNDING = 1e-4  # fraction by which a lower bound may exceed the distance
TIE = 1e-5  # fraction by which scores of equal embeddings differ: the rounding of a batch
NOT_COMPUTED = object()


class Templates:
    """Embeddings sorted by the names of their people.

    Args:
        people: Name of each embedding's person, sorted.
        enrolled: True for embeddings of the person, False for embeddings marked as not theirs.
        embeddings: Shape `(count, ...)`.

    Attributes:
        people: Name of each embedding's person.
        enrolled: As above.
        names: People with at least one enrolled recording.
    """

    def __init__(self, people: Sequence[str], enrolled: np.ndarray, embeddings: np.ndarray):
        self.people, self.enrolled = np.asarray(people, dtype=object), enrolled
        self._embeddings = embeddings
        self._enrolled_rows, self._marked_rows = np.flatnonzero(enrolled), np.flatnonzero(~enrolled)
        owners = self.people[self._enrolled_rows]
        first = np.ones(len(owners), bool)
        first[1:] = owners[1:] != owners[:-1]
        self._starts = np.flatnonzero(first)  # of each person in `_enrolled_rows`
        self._lower_bounds = NOT_COMPUTED
        self.names = tuple(owners[self._starts])
        self._codes = {name: code for code, name in enumerate(self.names)}
        self._marked_codes = np.array(
            [self._codes.get(name, -1) for name in self.people[self._marked_rows]], int
        )

    def enrolled_of(self, person: str) -> np.ndarray:
        """Returns the enrolled embeddings of a person, shape `(count, ...)`; none if unknown."""
        if person not in self._codes:
            return self._embeddings[:0]
        return self._embeddings[self._rows_of(self._codes[person])]

    def _rows_of(self, code):
        last = code + 1 == len(self.names)
        end = len(self._enrolled_rows) if last else self._starts[code + 1]
        return self._enrolled_rows[self._starts[code] : end]

    def equal_to(self, embeddings: np.ndarray) -> list[np.ndarray]:
        """Finds the templates of the same recordings.

        Args:
            embeddings: Shape `(count, ...)`.

        Returns:
            For each of `embeddings`, the indices of the templates that are equal to it.
        """
        return alike(embeddings, self._embeddings)

    def nearest(
        self, model: "GalleryModel", probes: np.ndarray, top: int
    ) -> tuple[list[tuple[str, float]], tuple[str, ...]]:
        """Finds the people with the least scores, exactly, and those who tie for the first place.

        If the distance has lower bounds, people are compared in the order of their bounds, until
        the next bound exceeds the score of the last of the nearest people.

        Args:
            model: Model of the gallery.
            probes: Embeddings of the observed recordings, shape `(probes, ...)`.
            top: Number of people.

        Returns:
            `(candidates, tied)`. `candidates` holds `(name, score)` of each person, nearest first,
            with an infinite score for a person to whom a probe was denied. `tied` holds the names
            of the people who are as near as the first one, including the first one.
        """
        order, least = self._order(model, probes)
        scores = np.full(len(order), np.inf)
        start, count = 0, max(FIRST, 2 * top)
        while start < len(order):
            last = np.sort(scores)[min(top, len(scores)) - 1]
            if least[order[start]] > last + ROUNDING * abs(last):
                break
            codes = np.sort(order[start : start + count])
            values, denied = self.scores(model, probes, [self.names[code] for code in codes])
            scores[codes] = np.where(denied, np.inf, values)
            start, count = start + count, max(count, MOST)
        nearest = np.argsort(scores, kind="stable")[:top]
        candidates = [(self.names[code], float(scores[code])) for code in nearest]
        return candidates, self._tied(model, probes, scores)

    def _tied(self, model, probes, scores):
        """Returns the names of the people who are as near as the first one.

        People tie if their scores are equal up to rounding, or if they share the embeddings that
        are nearest to the probes.
        """
        least = scores.min(initial=np.inf)
        if not np.isfinite(least):
            return ()
        first = int(scores.argmin())
        tied = scores <= least + TIE * abs(least)
        shared = self._sharing(model, probes, self.names[first])
        tied[[code for code in shared if np.isfinite(scores[code])]] = True
        return tuple(self.names[code] for code in np.flatnonzero(tied))

    def _sharing(self, model, probes, person):
        """Returns the codes of people who have the embeddings of a person nearest to the probes."""
        enrolled = self.enrolled_of(person)
        matches = [rows[self.enrolled[rows]] for rows in self.equal_to(enrolled)]
        owners = [{self._codes[name] for name in self.people[rows]} for rows in matches]
        if all(len(codes) == 1 for codes in owners):
            return set()
        nearest = model.distances(probes, enrolled).argmin(axis=1)
        return set.intersection(*(owners[row] for row in nearest))

    def _order(self, model, probes):
        """Returns codes of people by ascending lower bounds of their scores, and the bounds."""
        bounds = self._bounds(model.distance) if len(self.names) > FIRST else None
        if bounds is None:
            return np.arange(len(self.names)), np.full(len(self.names), -np.inf)
        nearest = np.minimum.reduceat(bounds(probes), self._starts, axis=1)  # (probes, names)
        least = nearest.mean(axis=0)
        return np.argsort(least), least

    def _bounds(self, distance) -> Callable | None:
        if self._lower_bounds is NOT_COMPUTED:
            self._lower_bounds = distance.lower_bounds(self._embeddings[self._enrolled_rows])
        return self._lower_bounds

    def scores(
        self, model: "GalleryModel", probes: np.ndarray, names: Sequence[str]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Computes scores: the mean over probes of the least distance to a person's recordings.

        Args:
            model: Model of the gallery.
            probes: Embeddings of the observed recordings, shape `(probes, ...)`.
            names: People to compare with.

        Returns:
            Scores, shape `(names,)`; and whether a probe is nearer to a recording marked as not the
            person's than to the enrolled ones, shape `(names,)`.
        """
        if tuple(names) == self.names:
            rows, starts = self._enrolled_rows, self._starts
        else:
            parts = [self._rows_of(self._codes[name]) for name in names]
            rows = np.concatenate(parts)
            starts = np.cumsum([0, *map(len, parts[:-1])])
        distances = model.distances(probes, self._embeddings[rows])
        nearest = np.minimum.reduceat(distances, starts, axis=1)  # (probes, names)
        return nearest.mean(axis=0), self._denied(model, probes, nearest, names)

    def _denied(self, model, probes, nearest, names):
        denied = np.zeros(len(names), bool)
        if len(self._marked_rows):
            distances = model.distances(probes, self._embeddings[self._marked_rows])
            for i, name in enumerate(names):
                marked = distances[:, self._marked_codes == self._codes[name]]
                if marked.shape[1]:
                    denied[i] = (marked.min(axis=1) < nearest[:, i]).any()
        return denied
