"""Embeddings of a gallery in memory, and the scores of probes against them."""

import numpy as np

from keras_dml._contents import alike

FIRST, MOST = 64, 512  # people that are compared at once, at first and later
ROUNDING = 1e-4  # fraction by which a lower bound may be above the distance
TIE = 1e-5  # fraction by which scores of equal embeddings differ: the rounding of a batch
UNKNOWN = object()


class Templates:
    """Embeddings in the order of their people's names.

    Args:
        people: Name of each embedding's person, in order.
        enrolled: Whether each is the person's own, or marked as not theirs.
        embeddings: Shape `(count, ...)`.

    Attributes:
        people: Name of each embedding's person.
        enrolled: Whether each is the person's own.
        names: People with at least one recording enrolled.
    """

    def __init__(self, people, enrolled, embeddings):
        people = np.asarray(people, dtype=object)
        self.people, self.enrolled = people, enrolled
        self._embeddings, self._enrolled = embeddings, enrolled
        self._own, self._marked = np.flatnonzero(enrolled), np.flatnonzero(~enrolled)
        owners = people[self._own]
        first = np.ones(len(owners), bool)
        first[1:] = owners[1:] != owners[:-1]
        self._starts = np.flatnonzero(first)
        self._lower = UNKNOWN
        self.names = tuple(owners[self._starts])
        self._codes = {name: code for code, name in enumerate(self.names)}
        self._marked_of = np.array(
            [self._codes.get(name, -1) for name in people[self._marked]], int
        )

    def enrolled_of(self, person):
        """Embeddings enrolled of a person, shape `(count, ...)`; none of one who is unknown."""
        if person not in self._codes:
            return self._embeddings[:0]
        code = self._codes[person]
        return self._embeddings[self._own[self._starts[code] : self._end(code)]]

    def _end(self, code):
        last = code + 1 == len(self.names)
        return len(self._own) if last else self._starts[code + 1]

    def same_as(self, embeddings):
        """Finds the embeddings of the same recordings.

        Args:
            embeddings: Shape `(count, ...)`.

        Returns:
            Indices of the equal ones here, for each of `embeddings`.
        """
        return alike(embeddings, self._embeddings)

    def nearest(self, model, probes, top):
        """Finds the people of the least scores, exactly, and those who tie for the first place.

        Where the distance has lower bounds, people are compared in the order of theirs, until the
        next one's is above the score of the last of the nearest.

        Args:
            model: `GalleryModel`.
            probes: Embeddings of recordings observed, shape `(probes, ...)`.
            top: Number of people.

        Returns:
            `(name, score)` of each, nearest first, with infinity for a person to whom a probe was
            denied; and the names of the people who are as near as the first one, that one included.
        """
        order, least = self._order(model, probes)
        scores = np.full(len(order), np.inf)
        start, count = 0, max(FIRST, 2 * top)
        while start < len(order):
            last = np.sort(scores)[min(top, len(scores)) - 1]
            if least[order[start]] > last + ROUNDING * abs(last):
                break
            codes = np.sort(order[start : start + count])
            found, denied = self.scores(model, probes, [self.names[code] for code in codes])
            scores[codes] = np.where(denied, np.inf, found)
            start, count = start + count, max(count, MOST)
        nearest = np.argsort(scores, kind="stable")[:top]
        candidates = [(self.names[code], float(scores[code])) for code in nearest]
        return candidates, self._tied(model, probes, scores)

    def _tied(self, model, probes, scores):
        """Names of the people who are as near as the first one: by their scores, or because they
        share the embeddings that are nearest to the probes."""
        least = scores.min(initial=np.inf)
        if not np.isfinite(least):
            return ()
        first = int(scores.argmin())
        tied = scores <= least + TIE * abs(least)
        shared = self._sharing(model, probes, self.names[first])
        tied[[code for code in shared if np.isfinite(scores[code])]] = True
        return tuple(self.names[code] for code in np.flatnonzero(tied))

    def _sharing(self, model, probes, person):
        """Numbers of the people who have the embeddings of a person that are nearest to probes."""
        enrolled = self.enrolled_of(person)
        matches = [rows[self.enrolled[rows]] for rows in self.same_as(enrolled)]
        owners = [{self._codes[name] for name in self.people[rows]} for rows in matches]
        if all(len(codes) == 1 for codes in owners):
            return set()
        nearest = model.distances(probes, enrolled).argmin(axis=1)
        return set.intersection(*(owners[row] for row in nearest))

    def _order(self, model, probes):
        """Numbers of the people by ascending lower bounds of their scores, and these."""
        bounds = self._bounds(model.distance) if len(self.names) > FIRST else None
        if bounds is None:
            return np.arange(len(self.names)), np.full(len(self.names), -np.inf)
        nearest = np.minimum.reduceat(bounds(probes), self._starts, axis=1)  # (probes, names)
        least = nearest.mean(axis=0)
        return np.argsort(least), least

    def _bounds(self, distance):
        if self._lower is UNKNOWN:
            self._lower = distance.lower_bounds(self._embeddings[self._own])
        return self._lower

    def scores(self, model, probes, names):
        """Mean over the probes of the least distance to those enrolled, by person.

        Args:
            model: `GalleryModel`.
            probes: Embeddings of recordings observed, shape `(probes, ...)`.
            names: People to compare with.

        Returns:
            Scores, shape `(names,)`, and whether a probe is nearer to one that is marked as not the
            person's than to those enrolled.
        """
        if tuple(names) == self.names:
            rows, starts = self._own, self._starts
        else:
            codes = [self._codes[name] for name in names]
            parts = [self._own[self._starts[code] : self._end(code)] for code in codes]
            rows = np.concatenate(parts)
            starts = np.cumsum([0, *map(len, parts[:-1])])
        distances = model.distances(probes, self._embeddings[rows])
        nearest = np.minimum.reduceat(distances, starts, axis=1)  # (probes, names)
        return nearest.mean(axis=0), self._denied(model, probes, nearest, names)

    def _denied(self, model, probes, nearest, names):
        denied = np.zeros(len(names), bool)
        if len(self._marked):
            distances = model.distances(probes, self._embeddings[self._marked])
            for i, name in enumerate(names):
                marked = distances[:, self._marked_of == self._codes[name]]
                if marked.shape[1]:
                    denied[i] = (marked.min(axis=1) < nearest[:, i]).any()
        return denied
