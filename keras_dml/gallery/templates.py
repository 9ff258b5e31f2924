"""Compares new recordings with templates, which are the stored embeddings of a gallery."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from keras_dml._contents import alike

if TYPE_CHECKING:
    from keras_dml.gallery.model import GalleryModel

FIRST, MOST = 64, 512  # number of people who are compared in the first step and in each later step
ROUNDING = 1e-4  # largest fraction by which rounding makes a lower bound exceed the distance
TIE = 1e-5  # fraction by which rounding may change the scores of equal embeddings
NOT_COMPUTED = object()


class Templates:
    """Stored embeddings, sorted by the names of the people.

    Args:
        people: Name of the person of each embedding, sorted.
        enrolled: True for enrolled embeddings, False for embeddings that `reject` stored.
        embeddings: Embeddings, shape `(count, ...)`.

    Attributes:
        people: Name of the person of each embedding.
        enrolled: True for enrolled embeddings, False for embeddings that `reject` stored.
        names: Names of the people with at least one enrolled recording.
    """

    def __init__(self, people: Sequence[str], enrolled: np.ndarray, embeddings: np.ndarray):
        self.people: np.ndarray = np.asarray(people, dtype=object)
        self.enrolled = enrolled
        self._embeddings = embeddings
        self._enrolled_rows, self._marked_rows = np.flatnonzero(enrolled), np.flatnonzero(~enrolled)
        owners = self.people[self._enrolled_rows]
        first = np.ones(len(owners), bool)
        first[1:] = owners[1:] != owners[:-1]
        self._starts = np.flatnonzero(first)  # first index of each person in `_enrolled_rows`
        self._lower_bounds = NOT_COMPUTED
        self._owners = {}  # codes of the people for whom each embedding of a person is enrolled
        self.names: tuple[str, ...] = tuple(owners[self._starts])
        self._codes = {name: code for code, name in enumerate(self.names)}
        self._marked_codes = np.array(
            [self._codes.get(name, -1) for name in self.people[self._marked_rows]], int
        )

    def enrolled_of(self, person: str) -> np.ndarray:
        """Returns the enrolled embeddings of a person, shape `(count, ...)`. May be empty."""
        if person not in self._codes:
            return self._embeddings[:0]
        return self._embeddings[self._rows_of(self._codes[person])]

    def _rows_of(self, code):
        last = code + 1 == len(self.names)
        end = len(self._enrolled_rows) if last else self._starts[code + 1]
        return self._enrolled_rows[self._starts[code] : end]

    def equal_to(self, embeddings: np.ndarray) -> list[np.ndarray]:
        """Finds templates that are equal to embeddings.

        Args:
            embeddings: Embeddings, shape `(count, ...)`.

        Returns:
            For each embedding, the indices of the templates that are equal to the embedding.
        """
        return alike(embeddings, self._embeddings)

    def nearest(
        self, model: "GalleryModel", probes: np.ndarray, top: int
    ) -> tuple[list[tuple[str, float]], tuple[str, ...]]:
        """Finds the people with the smallest scores.

        The result is exact. If the distance has lower bounds, people are compared in ascending
        order of their lower bounds. The comparison ends as soon as the next lower bound exceeds the
        `top` smallest scores so far.

        Args:
            model: Model of the gallery.
            probes: Embeddings of the observed recordings, shape `(probes, ...)`.
            top: Number of people to find.

        Returns:
            `(candidates, tied)`. `candidates` contains `(name, score)` for the nearest people, in
            ascending order of the scores. A person's score is infinite if an imposter embedding is
            nearer to a probe than the person's enrolled embeddings are. `reject` stores imposter
            embeddings. `tied` contains the names of all people with the smallest score.
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
        """Returns the names of all people with the smallest score.

        The scores of two people count as equal if they differ only by rounding, or if the
        embeddings that are nearest to the probes are enrolled for both people.
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
        """Finds the embeddings of one person that are nearest to the probes. Returns the codes of
        all people for whom the same embeddings are enrolled."""
        enrolled = self.enrolled_of(person)
        if person not in self._owners:
            matches = [rows[self.enrolled[rows]] for rows in self.equal_to(enrolled)]
            self._owners[person] = [
                {self._codes[name] for name in self.people[rows]} for rows in matches
            ]
        owners = self._owners[person]
        if all(len(codes) == 1 for codes in owners):
            return set()
        nearest = model.distances(probes, enrolled).argmin(axis=1)
        return set.intersection(*(owners[row] for row in nearest))

    def _order(self, model, probes):
        """Returns the codes of people, sorted by a lower bound of each person's score. Also returns
        the lower bounds."""
        bounds = self._bounds(model) if len(self.names) > FIRST else None
        if bounds is None:
            return np.arange(len(self.names)), np.full(len(self.names), -np.inf)
        nearest = np.minimum.reduceat(bounds(probes), self._starts, axis=1)  # (probes, names)
        least = nearest.mean(axis=0)
        return np.argsort(least), least

    def _bounds(self, model) -> Callable[..., Any] | None:
        if self._lower_bounds is NOT_COMPUTED:
            self._lower_bounds = model.lower_bounds(self._embeddings[self._enrolled_rows])
        return self._lower_bounds

    def scores(
        self, model: "GalleryModel", probes: np.ndarray, names: Sequence[str]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Computes the scores of probes against people.

        A score is the distance from a probe to the nearest enrolled recording of the person,
        averaged over the probes.

        Args:
            model: Model of the gallery.
            probes: Embeddings of the observed recordings, shape `(probes, ...)`.
            names: Names of the people.

        Returns:
            `(scores, denied)`, two arrays of shape `(names,)`. `denied` is True for a person if an
            imposter embedding is nearer to a probe than the person's enrolled embeddings are.
            `reject` stores imposter embeddings.
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
