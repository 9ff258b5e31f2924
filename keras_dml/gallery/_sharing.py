"""What galleries give to each other and to devices."""

from __future__ import annotations

import os
import warnings

import numpy as np

from keras_dml.gallery import _exported
from keras_dml.gallery._calibration import warn_of_more
from keras_dml.gallery._names import checked_name, composed
from keras_dml.gallery._repeats import rows_to_merge


class Sharing:
    """The part of a gallery that other galleries and devices read; it needs `_store`, `_model`,
    `_about`, `people`, `_apart`, `_near_to` and `_rates`."""

    def export_templates(self, path) -> None:
        """Writes all embeddings to a file, for `merge` or for a device.

        The file is a `.npz` of `header` (JSON: format, version, model, fingerprint), `people`,
        `enrolled` and `embeddings`. It is for its owner alone and not encrypted.

        Args:
            path: Path of the file; another one there is replaced.

        Raises:
            ValueError: If no file can be there, or it is the gallery itself.
            OSError: If it cannot be written.
        """
        if all(map(os.path.exists, (path, self.path))) and os.path.samefile(path, self.path):
            raise ValueError(f"{path} is the gallery itself, so it is left as it is.")
        people, enrolled, flat = self._store.templates()
        z = flat.reshape(len(people), *self._model.embedding_shape)
        _exported.write(path, self._about, people, enrolled, z)

    def merge(self, other) -> dict[str, int]:
        """Adds the people of another gallery of the same model. Recordings of a person that are
        here already, by their embeddings, are not added twice. Thresholds stay those of this
        gallery.

        Recordings that `enroll` would refuse because they are too far from the person's others are
        left out, with a `UserWarning`: otherwise somebody could have recordings of their own added
        to a person who is enrolled here.

        Args:
            other: The other gallery, which is not changed; or the path of a file that
                `export_templates` has written.

        Returns:
            Number of recordings added by person.

        Raises:
            TypeError: If it is neither.
            ValueError: If it is another model's, the file is no such file, or a recording is
                enrolled as two people, or as a person and marked as not theirs: nothing is added.
        """
        if isinstance(other, Sharing):
            place, about, given = other.path, other._about, other._store.templates()
        elif isinstance(other, str | os.PathLike):
            about, *given = _exported.read(other)
            place = other
        else:
            raise TypeError(
                "`other` must be a Gallery, or the path of exported templates. Received "
                f"{type(other).__name__}."
            )
        if about["fingerprint"] != self._model.fingerprint:
            raise ValueError(
                f"{place} is a gallery of {about['model']!r}, {self.path} one of "
                f"{self._model.name!r}: embeddings of two models cannot be compared. Enroll the "
                "recordings again."
            )
        people, enrolled, embeddings = given
        shape = self._model.embedding_shape
        if people and embeddings[0].size != np.prod(shape):
            raise ValueError(f"{place} holds embeddings of another size: it is damaged.")
        self._model.check(embeddings.reshape(len(people), *shape))
        for person in dict.fromkeys(people):
            checked_name(person)
        people = [composed(person) for person in people]
        z = embeddings.reshape(len(people), *shape)
        rows = rows_to_merge(place, people, enrolled, z, self._near_to({*people}, z))
        rows = self._fitting(place, rows, people, enrolled, z)
        added = self._store.add_all([people[row] for row in rows], enrolled[rows], z[rows])
        if added:
            warn_of_more(self.people(), self._rates())
        return added

    def _fitting(self, place, rows, people, enrolled, z):
        """Rows of another gallery without those that do not belong to the others of their person.

        Args:
            place: Path of the other gallery, for the warning.
            rows: Rows that are new here.
            people: Person of each template.
            enrolled: Whether each is the person's own.
            z: Embeddings, shape `(count, ...)`.
        """
        reasons, own = {}, {}
        for row in rows:
            if enrolled[row]:
                own.setdefault(people[row], []).append(row)
        for person, new in own.items():
            for i, reason in self._apart(person, z[new]).items():
                reasons[new[i]] = reason
        if reasons:
            warnings.warn(
                f"{len(reasons)} recordings of {place} were left out, as `enroll` refuses them. "
                f"The first: {next(iter(reasons.values()))}.",
                stacklevel=3,
            )
        known = self.people().keys() | {
            people[row] for row in rows if row not in reasons and enrolled[row]
        }
        return [row for row in rows if row not in reasons and people[row] in known]
