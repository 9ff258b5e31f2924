"""Single recordings of the people of a gallery."""

from __future__ import annotations

from keras_dml.gallery._mean_template import MeanTemplate
from keras_dml.gallery._names import recording_id


class Recordings:
    """The part of a gallery that knows recordings; it needs `_store`, `_model` and `_enrolled`."""

    def recordings(self, person: str) -> tuple[str, ...]:
        """Ids of the recordings enrolled of a person, in the order of enrollment.

        An id is a digest of the embedding, the same in every gallery of the model: nobody computes
        the embedding from it, but who has the embedding finds it again.

        Raises:
            KeyError: If nobody of this name is enrolled.
        """
        return tuple(recording_id(one.tobytes()) for one in self._enrolled_of(person))

    def forget(self, person: str, recording: str) -> None:
        """Removes one recording of a person: the gallery is as if it had never been enrolled.

        No byte of it stays in a file; on a server it does until `purge`. A gallery that was merged
        or exported before still has it.

        Args:
            person: A person who is enrolled; with their last recording the person is removed.
            recording: Id of the recording, as in `Enrollment.ids` and `recordings`.

        Raises:
            KeyError: If nobody of this name is enrolled, or the person has no such recording.
            TimeoutError: If it was removed, but another process kept the log from being cut.
        """
        person, _ = self._enrolled(person)
        if not self._store.forget(person, recording):
            raise KeyError(
                f"{person!r} has no recording {recording!r} in {self.path}: `recordings` lists the "
                "ids of those enrolled."
            )

    def mean_template(self, person: str) -> MeanTemplate:
        """One embedding in the place of all recordings enrolled of a person, for a small device.

        Raises:
            KeyError: If nobody of this name is enrolled.
            ValueError: If the model's distance has no mean that recordings can be taken out of.
        """
        return MeanTemplate.of(self._model.distance, self._enrolled_of(person))

    def _enrolled_of(self, person):
        person, known = self._enrolled(person)
        return known.enrolled_of(person)
