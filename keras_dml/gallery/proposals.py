"""Proposes recordings that were accepted with a margin as further templates of a person.

A template ages, but a template that updates itself can be poisoned by another person. Therefore a
gallery only proposes recordings, and a person decides. A recording is proposed only if it is near
to most of the recordings that were enrolled directly. Recordings that a proposal added do not
count. If one near recording were enough, another person could walk in from the side of this
recording (`zoo/templates_over_time.md`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from keras_dml._messages import Message
from keras_dml.gallery import observations
from keras_dml.gallery.calibration import warn_of_more
from keras_dml.gallery.enrollment import find_repeats
from keras_dml.gallery.names import composed
from keras_dml.gallery.observations import Observations
from keras_dml.gallery.results import Enrollment, Source

if TYPE_CHECKING:
    from keras_dml.gallery.gallery import Gallery
    from keras_dml.gallery.templates import Templates


class Proposal(NamedTuple):
    """A recording that is proposed as a template, without its embedding.

    Attributes:
        id: Id of the recording.
        person: Name of the person as whom the recording was accepted.
        created: Time of the decision (ISO 8601, UTC).
        expires: Time at which the recording is destroyed (ISO 8601, UTC).
    """

    id: str
    person: str
    created: str
    expires: str


class Proposals:
    """The proposals of a gallery, `Gallery.proposals`.

    Nothing is proposed until `keep` is called. Then `Gallery.verify` and `Gallery.identify` keep an
    accepted recording if all of these conditions are fulfilled:

    - The median of the distances from the recording to the directly enrolled recordings of the
      person is at most `Threshold.confident`. If this attribute is None, nothing is proposed.
    - No enrolled or proposed recording of the person is from the day of the decision (UTC). If the
      label of an enrolled recording is not a date, its day is the day of its enrollment. At most
      one recording is therefore proposed per person and day.
    - The recording is not enrolled yet.

    Args:
        gallery: The gallery.
    """

    def __init__(self, gallery: Gallery):
        self._gallery = gallery
        self._observations = Observations(gallery._records, "proposals")

    @property
    def days(self) -> float | None:
        """Number of days for which proposals are kept. None if nothing is proposed."""
        return self._observations.days

    def keep(self, days: float | None) -> None:
        """Sets for how many days a recording is proposed.

        The gallery must be encrypted and in a file. The setting is stored in the gallery.

        Args:
            days: Number of days, at most 366. If None, nothing is proposed any more, and all
                proposals are destroyed.

        Raises:
            ValueError: If the gallery is not encrypted, if it is on a server, if its scoring is not
                `nearest`, or if `days` is not above 0 or is above 366.
        """
        if days is not None:
            self._gallery._check_pairs()
        self._observations.keep(days)

    def list(self) -> tuple[Proposal, ...]:
        """Returns the proposals in the order in which they were made."""
        return tuple(
            Proposal(each.id, each.person, each.created, each.expires)
            for each in self._observations.list()
        )

    def check(self, recordings: Iterable[str]) -> None:
        """Checks that recordings are proposed.

        Args:
            recordings: Ids of proposals.

        Raises:
            KeyError: If no proposal has one of these ids.
        """
        ids = {each.id for each in self._observations.list()}
        for recording in recordings:
            if recording not in ids:
                raise self._observations.unknown(recording)

    def accept(self, recording: str) -> Enrollment:
        """Adds a proposed recording to the templates of its person.

        The recording is refused if it is not near enough to the directly enrolled recordings any
        more. The recording is also refused if it raises the fraction of other people's templates
        that are accepted as this person above the lower end of the 95 % interval of the threshold's
        false accept rate. A refused recording stays in the list.

        Args:
            recording: Id of the proposal.

        If the recording is already enrolled as this person, it is destroyed instead.

        Returns:
            An `Enrollment`. If the recording was refused, `Enrollment.refused` has the reason. If
            it is already enrolled, `Enrollment.repeated` contains it.

        Raises:
            KeyError: If no proposal has this id.
        """
        gallery, proposal = self._gallery, self._observations.find(recording)
        z = proposal.embedding.reshape(1, *gallery._model.embedding_shape)
        source = Source(proposal.created[:10], proposed=True)
        repeated, _ = find_repeats(proposal.person, z, gallery._templates())
        if repeated:
            self._observations.destroy(proposal.id)
            total = gallery.people().get(proposal.person, 0)
            return Enrollment(proposal.person, (), {}, total, repeated=repeated)
        reason = self._reason_to_refuse(proposal.person, z)
        if reason is not None:
            total = gallery.people().get(proposal.person, 0)
            return Enrollment(proposal.person, (), {0: reason}, total)
        result = gallery._enroll_embeddings(proposal.person, z, [source], [proposal.row])
        warn_of_more({proposal.person: result.enrolled}, gallery._limits())
        return result

    def undo(self, recording: str) -> str:
        """Removes a recording that a proposal added. No byte of its embedding remains.

        Args:
            recording: Id of the recording.

        Returns:
            Name of the person from whose templates the recording was removed.

        Raises:
            KeyError: If no proposal added a recording with this id.
        """
        for person in self._gallery.people():
            for stored in self._gallery.list_recordings(person):
                if stored.id == recording and stored.source.proposed:
                    self._gallery.forget(person, recording)
                    return person
        raise KeyError(
            Message(
                "No proposal added a recording {id!r}. {list_recordings()} shows which recordings "
                "proposals added.",
                id=recording,
            )
        )

    def destroy(self, recordings: str | Iterable[str]) -> None:
        """Destroys proposals. No byte of the embeddings remains in the file.

        Args:
            recordings: Id of a proposal, or several ids.

        Raises:
            KeyError: If an id is unknown. Then nothing is destroyed.
        """
        self._observations.destroy(recordings)

    def observe(self, person: str, probes: np.ndarray, templates: Templates) -> None:
        """Keeps the recordings of an accepted claim that fulfill the conditions of the class.

        Args:
            person: Name of the person.
            probes: Embeddings of the recordings, shape `(count, ...)`.
            templates: Templates that contain all templates of the person.
        """
        if self.days is None:
            return
        person = composed(person)
        today = observations.now().date().isoformat()
        if today in self._gallery._records.dates(person):
            return
        is_near = self._distances_to_direct(person, probes, templates) <= self._limit()
        is_new = [not len(rows) for rows in templates.equal_to(probes)]
        self._observations.add(probes[is_near & is_new][:1], person)

    def _limit(self):
        threshold = self._gallery.deciding
        if threshold is None or threshold.confident is None:
            return -np.inf
        return threshold.confident

    def _distances_to_direct(self, person, z, templates):
        """Returns the median distance from each embedding to the directly enrolled recordings."""
        sources = self._gallery._records.sources()[person]
        is_direct = [not source.proposed for source in sources]
        direct = templates.enrolled_of(person)[is_direct]
        if not len(direct):
            return np.full(len(z), np.inf)
        return np.median(self._gallery._pair_scores(z, direct), axis=1)

    def _reason_to_refuse(self, person, z):
        """Returns why an embedding must not be added to a person's templates, or None."""
        gallery, threshold = self._gallery, self._gallery.deciding
        templates = gallery._templates()
        if self._distances_to_direct(person, z, templates)[0] > self._limit():
            return Message(
                "its distance to the directly enrolled recordings of {name!r} is not far enough "
                "below the threshold any more",
                name=person,
            )
        before, after = (
            false_accepts(gallery, templates, person, added, threshold.value)
            for added in (z[:0], z)
        )
        highest = threshold.far_ci95[0]  # the least rate that the calibration makes plausible
        if after > max(before, highest):
            return Message(
                "it would accept {after:.1%} of the other people's recordings as {name!r}, more "
                "than the {highest:.1%} that the threshold allows for",
                after=after,
                name=person,
                highest=highest,
            )
        return None


def false_accepts(
    gallery: Gallery, templates: Templates, person: str, added: np.ndarray, limit: float
) -> float:
    """Returns the fraction of other people's templates that are accepted as a person.

    The fraction is computed for each other person and then averaged, because the templates of a
    person are not independent.

    Args:
        gallery: The gallery.
        templates: Templates of all people.
        person: Name of the person.
        added: Embeddings that are added to the person's templates, shape `(count, ...)`.
        limit: Largest distance that is accepted.
    """
    z = np.concatenate([templates.enrolled_of(person), added])
    rates = [
        (gallery._single_scores(templates.enrolled_of(name), z) <= limit).mean()
        for name in templates.names
        if name != person
    ]
    return float(np.mean(rates)) if rates else 0.0
