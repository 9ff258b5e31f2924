"""Compares new recordings with templates, which are the stored embeddings of a gallery."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from keras_dml import scoring as scorings
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
        scoring: Scoring of the gallery.

    Attributes:
        people: Name of the person of each embedding.
        enrolled: True for enrolled embeddings, False for embeddings that `reject` stored.
        names: Names of the people with at least one enrolled recording.
    """

    def __init__(
        self,
        people: Sequence[str],
        enrolled: np.ndarray,
        embeddings: np.ndarray,
        scoring: scorings.Scoring,
    ):
        self.people: np.ndarray = np.asarray(people, dtype=object)
        self.enrolled = enrolled
        self._embeddings, self._scoring = embeddings, scoring
        self._enrolled_rows, self._marked_rows = np.flatnonzero(enrolled), np.flatnonzero(~enrolled)
        owners = self.people[self._enrolled_rows]
        first = np.ones(len(owners), bool)
        first[1:] = owners[1:] != owners[:-1]
        self._starts = np.flatnonzero(first)  # first index of each person in `_enrolled_rows`
        self._lower_bounds = NOT_COMPUTED
        self._means = None  # `Summary` of all people, if it contains means
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
        self, model: "GalleryModel", probes: np.ndarray, top: int, margin: float = 0.0
    ) -> tuple[list[tuple[str, float]], tuple[str, ...]]:
        """Finds the people with the smallest scores.

        The result is exact. If the distance has lower bounds, people are compared in ascending
        order of their lower bounds. The comparison ends as soon as the next lower bound exceeds the
        `top` smallest scores so far, and exceeds the smallest score by more than `margin`.

        Args:
            model: Model of the gallery.
            probes: Embeddings of the observed recordings, shape `(probes, ...)`.
            top: Number of people to find.
            margin: Difference of scores below which two people count as equally near.

        Returns:
            `(candidates, tied)`. `candidates` contains `(name, score)` for the nearest people, in
            ascending order of the scores. A person's score is infinite if an imposter embedding is
            nearer to a probe than the person's enrolled embeddings are. `reject` stores imposter
            embeddings. `tied` contains the names of all people whose score exceeds the smallest
            score by at most `margin`.
        """
        order, least = self._order(model, probes)
        scores = np.full(len(order), np.inf)
        start, count = 0, max(FIRST, 2 * top)
        while start < len(order):
            last = np.sort(scores)[min(top, len(scores)) - 1]
            last = max(last, scores.min() + margin)
            if least[order[start]] > last + ROUNDING * abs(last):
                break
            codes = np.sort(order[start : start + count])
            values, denied = self.scores(model, probes, [self.names[code] for code in codes])
            scores[codes] = np.where(denied, np.inf, values)
            start, count = start + count, max(count, MOST)
        nearest = np.argsort(scores, kind="stable")[:top]
        candidates = [(self.names[code], float(scores[code])) for code in nearest]
        return candidates, self._tied(model, probes, scores, margin)

    def _tied(self, model, probes, scores, margin):
        """Returns the names of all people who are about as near as the nearest person.

        The scores of two people count as equal if they differ by at most `margin` or only by
        rounding. If the score is the distance to the nearest embedding, they also count as equal if
        the embeddings that are nearest to the probes are enrolled for both people.
        """
        least = scores.min(initial=np.inf)
        if not np.isfinite(least):
            return ()
        first = int(scores.argmin())
        tied = scores <= least + max(margin, TIE * abs(least))
        shared = ()
        if not self._scoring.has_means:
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
        has_bounds = len(self.names) > FIRST and not self._scoring.has_means
        bounds = self._bounds(model) if has_bounds else None
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

        The scoring of the gallery computes the scores, see `keras_dml.scoring`.

        Args:
            model: Model of the gallery.
            probes: Embeddings of the observed recordings, shape `(probes, ...)`.
            names: Names of the people.

        Returns:
            `(scores, denied)`, two arrays of shape `(names,)`. `denied` is True for a person if an
            imposter embedding is nearer to a probe than the person's enrolled embeddings are.
            `reject` stores imposter embeddings.
        """
        observed = self._scoring.summary(model, probes, [len(probes)])
        enrolled = self._summary(model, names)
        scores = self._scoring.compare(model, observed, enrolled)[0]
        return scores, self._denied(model, probes, names)

    def _summary(self, model, names):
        """Returns the `Summary` of the enrolled recordings of people."""
        if not self._scoring.has_means:
            embeddings, counts = self._rows_and_counts(names)
            return self._scoring.summary(model, embeddings, counts)
        if self._means is None:
            self._means = self._scoring.summary(model, *self._rows_and_counts(self.names))
        codes = [self._codes[name] for name in names]
        return scorings.Summary(self._means.embeddings[codes], self._means.counts[codes])

    def _rows_and_counts(self, names):
        """Returns the enrolled embeddings of people, one person after the other, and the number of
        embeddings of each person."""
        rows = [self._rows_of(self._codes[name]) for name in names]
        return self._embeddings[np.concatenate(rows)], np.array([len(part) for part in rows])

    def _denied(self, model, probes, names):
        denied = np.zeros(len(names), bool)
        marked_codes = {*self._marked_codes.tolist()}
        for i, name in enumerate(names):
            if self._codes[name] not in marked_codes:
                continue
            marked = self._marked_rows[self._marked_codes == self._codes[name]]
            nearest = model.distances(probes, self.enrolled_of(name)).min(axis=1)
            imposters = model.distances(probes, self._embeddings[marked]).min(axis=1)
            denied[i] = (imposters < nearest).any()
        return denied
