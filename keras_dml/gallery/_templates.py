"""All embeddings of a gallery in memory, and the scores of probes against them."""

import numpy as np


class Templates:
    """Embeddings in the order of their people's names.

    Args:
        people: Name of each embedding's person, in order.
        enrolled: Whether each is the person's own, or marked as not theirs.
        embeddings: Shape `(count, ...)`.

    Attributes:
        names: People with at least one recording enrolled.
    """

    def __init__(self, people, enrolled, embeddings):
        people = np.asarray(people, dtype=object)
        self._embeddings, self._enrolled = embeddings, enrolled
        self._own, self._marked = np.flatnonzero(enrolled), np.flatnonzero(~enrolled)
        owners = people[self._own]
        first = np.ones(len(owners), bool)
        first[1:] = owners[1:] != owners[:-1]
        self._starts = np.flatnonzero(first)
        self.names = tuple(owners[self._starts])
        codes = {name: code for code, name in enumerate(self.names)}
        self._marked_of = np.array([codes.get(name, -1) for name in people[self._marked]], int)

    def enrolled_of(self, person):
        """Embeddings enrolled of a person, shape `(count, ...)`; none of one who is unknown."""
        if person not in self.names:
            return self._embeddings[:0]
        code = self.names.index(person)
        return self._embeddings[self._own[self._starts[code] : self._end(code)]]

    def _end(self, code):
        last = code + 1 == len(self.names)
        return len(self._own) if last else self._starts[code + 1]

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
        if len(names) == len(self.names):
            rows, starts = self._own, self._starts
        else:
            codes = [self.names.index(name) for name in names]
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
                marked = distances[:, self._marked_of == self.names.index(name)]
                if marked.shape[1]:
                    denied[i] = (marked.min(axis=1) < nearest[:, i]).any()
        return denied
