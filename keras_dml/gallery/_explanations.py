"""Why a recording is near to a person of a gallery, or far."""

from __future__ import annotations

from keras_dml.explanations import Explanation, explain_nearest


class Explanations:
    """The part of a gallery that explains; it needs `_model`, `_listed` and `_enrolled`."""

    def explain(self, person: str, recording) -> Explanation:
        """Explains the score of a recording against a person by moments and channels, see
        `keras_dml.explain`.

        The gallery keeps embeddings, not recordings: the moments are those of the recording
        observed alone, called `"probe"`, and carry half of a Wasserstein distance. The score of
        several recordings is the mean of theirs; explain each by itself.

        Args:
            person: A person who is enrolled, such as `decision.person`.
            recording: One recording.

        Returns:
            `keras_dml.explanations.Explanation` of the distance to the nearest recording enrolled
            of the person. It reveals as much as the enrolled embedding.

        Raises:
            KeyError: If nobody of this name is enrolled.
            ValueError: If it is not one recording, or the model does not take it.
        """
        listed = self._listed(recording)
        person, known = self._enrolled(person)
        if len(listed) != 1:
            raise ValueError(
                f"`recording` must be one recording. Received {len(listed)}: explain each by "
                "itself, the score of all is the mean of theirs."
            )
        return explain_nearest(self._model.model, listed[0], known.enrolled_of(person))
