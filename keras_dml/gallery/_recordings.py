"""Single recordings of the people of a gallery."""

from __future__ import annotations

from keras_dml.gallery._mean_template import MeanTemplate
from keras_dml.gallery._names import recording_id
from keras_dml.gallery._results import StoredRecording
from keras_dml.gallery._without_model import forget_stored


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

    def list_recordings(self, person: str) -> tuple[StoredRecording, ...]:
        """Lists the recordings enrolled of a person, with the id and time of each.

        Raises:
            KeyError: If nobody of this name is enrolled.
        """
        person, _ = self._enrolled(person)
        return self._store.stored(person)

    def list_rejections(self, person: str) -> tuple[StoredRecording, ...]:
        """Lists the recordings that `reject` marked as not a person's, with the id and time of
        each.

        Raises:
            KeyError: If nobody of this name is enrolled.
        """
        person, _ = self._enrolled(person)
        return self._store.stored(person, enrolled=False)

    def unreject(self, person: str, recordings) -> None:
        """Removes the marks of recordings as not a person's: the gallery is as if `reject` had not
        marked them.

        Args:
            person: A person who is enrolled.
            recordings: Id of a recording as `list_rejections` returns it, or a list of ids.

        Raises:
            KeyError: If nobody of this name is enrolled, or an id is not one of a marked recording
                of the person: nothing is changed.
            TimeoutError: If the marks were removed, but another process kept the log from being
                cut.
        """
        person, _ = self._enrolled(person)
        forget_stored(self._store, person, recordings, enrolled=False)

    def forget(self, person: str, recording: str) -> None:
        """Removes one recording of a person: the gallery is as if it had never been enrolled.

        No byte of it stays in a file; on a server it does until `purge`. A gallery that was merged
        or exported before still has it.

        Args:
            person: A person who is enrolled; with their last recording the person is removed.
            recording: Id of the recording, as in `Enrollment.ids` and `recordings`, or a list of
                ids.

        Raises:
            KeyError: If nobody of this name is enrolled, or the person has no such recording.
            TimeoutError: If it was removed, but another process kept the log from being cut.
        """
        person, _ = self._enrolled(person)
        forget_stored(self._store, person, recording, enrolled=True)

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
