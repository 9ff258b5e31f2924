"""What a gallery decides, and the thresholds that it decides by."""

from __future__ import annotations

import math
import numbers

import numpy as np

from keras_dml import evaluation
from keras_dml._arrays import whole
from keras_dml.gallery._calibration import (
    calibrated,
    everybodys_claims,
    usual_count,
    warn_of_extrapolated,
    warn_of_fewer,
    warn_of_low_tar,
    warn_of_more,
    warn_of_trained,
    without_copies,
)
from keras_dml.gallery._card_thresholds import provisional
from keras_dml.gallery._choice import not_calibrated, threshold_of
from keras_dml.gallery._closeness import scale_of
from keras_dml.gallery._names import checked_people, name_or_none
from keras_dml.gallery._repeats import rows_to_mark
from keras_dml.gallery._results import Candidate, Decision, Identification, Threshold
from keras_dml.gallery._tries import checked_client


class Decisions:
    """The part of a gallery that compares: what is enrolled comes from `_templates`, all of it,
    from `_near` or from `_read`."""

    def unfit(self, recordings) -> dict[int, str]:
        """Why recordings are not fit to be compared: the model does not take them, or they are
        flat, clipped, interrupted or otherwise unlike those of its training.

        A model that `keras_dml.training.train` made, or one of the zoo whose card has `quality`,
        knows what its recordings are like, and unfit ones are refused before anything is decided by
        them. Another one takes all that it can.

        Args:
            recordings: One recording or several.

        Returns:
            Reasons by the index of the recording; of those that are fit there is none.

        Raises:
            ValueError: If there are no recordings.
        """
        return self._model.refused(self._listed(recordings))

    def verify(self, person: str, recordings, *, far=None, threshold=None, client="") -> Decision:
        """Decides whether recordings are a person's.

        The result has the score, which tells somebody who tries to be accepted whether a changed
        recording is closer. It is there because a program that calls this has the model and the
        embeddings at hand. Do not pass it on to the person who is claimed to be somebody.

        Args:
            person: The person claimed.
            recordings: One recording, or several of the same moment, which are decided on together.
            far: False accept rate of the threshold, one that was calibrated; None: the smallest.
            threshold: A threshold of your own instead.
            client: Name of the client that claims, such as a device. Rejected claims are counted
                for each person and client, see `Tries`. An accepted claim resets the count, unless
                only a looser threshold than the one that decides by default accepts it.

        Returns:
            `Decision`.

        Raises:
            TooManyTries: If the claim is made during the pause after rejected claims.
            KeyError: If nobody of this name is enrolled.
            ValueError: If the model does not take a recording, one is `unfit`, or there is no
                threshold.
        """
        self._claims.check(person, client)  # at first: a refusal costs little
        limit, used = self._limit(far, threshold)
        person, known = self._enrolled(person)
        probes = self._embedded(recordings)
        self._claims.begin(person, client)
        scores, denied = known.scores(self._model, probes, [person])
        score, denied = float(scores[0]), bool(denied[0])  # NumPy would round the limit to float32
        accepted = score <= limit and not denied
        if accepted and score <= self._strictest(limit):
            self._claims.accept(person, client)
        rates = {"scale": scale_of(self._model, known), **_rates(used)}
        return Decision(accepted, person, score, limit, denied, **rates)

    def identify(
        self, recordings, top: int = 5, *, far=None, threshold=None, client=""
    ) -> Identification:
        """Decides who it is, or that it is a stranger; nobody if people are equally near.

        Without any threshold, set or on the model's card, there is no decision: the nearest people
        are listed.

        Args:
            recordings: One recording, or several of the same moment.
            top: Most candidates listed.
            far: As in `verify`: the rate at which one person is taken for another. With n people
                enrolled, a stranger is taken for somebody up to n times as often.
            threshold: A threshold of your own instead.
            client: As in `verify`. Strangers are counted for the nearest person, apart from claims
                and with shorter pauses.

        Returns:
            `Identification`.

        Raises:
            TooManyTries: If the nearest person cannot be claimed now, see `verify`.
            ValueError: If nobody is enrolled, the model does not take a recording, one is `unfit`,
                or there is no threshold of the rate `far`.
        """
        top = whole("top", top, minimum=1)
        asks = far is not None or threshold is not None
        decides = asks or self.thresholds or self.provisional
        limit, used = self._limit(far, threshold) if decides else (None, None)
        client = checked_client(client)
        probes = self._embedded(recordings)
        templates, people = self._near(probes)
        self._check_anybody(templates)
        candidates, tied = templates.nearest(self._model, probes, top)
        nearest = tuple(Candidate(person, score) for person, score in candidates)
        if decides:
            self._claims.begin(nearest[0].person, client, identified=True)
        least = nearest[0].score  # infinite for one to whom a recording was denied
        is_near = limit is not None and math.isfinite(least) and least <= limit
        tied = tied if is_near and len(tied) > 1 else ()
        person = nearest[0].person if is_near and not tied else None
        if person is not None and least <= self._strictest(limit):
            self._claims.accept(person, client, identified=True)
        rates = {"scale": scale_of(self._model, templates), **_rates(used)}
        if used is not None and used.is_counted and used.among(people) < 1:
            rates["fpir"] = used.among(people)
        return Identification(person, nearest, limit, people, tied=tied, **rates)

    def reject(self, person: str, recordings) -> None:
        """Marks recordings as not this person's: what is nearer to them than to those enrolled is
        no longer accepted as this person. A recording that is marked already is not marked again.

        Args:
            person: A person who is enrolled.
            recordings: One recording or several.

        Raises:
            KeyError: If nobody of this name is enrolled.
            ValueError: If the model does not take a recording, one is `unfit`, or one is enrolled
                as the person's.
        """
        person, templates = self._enrolled(person)
        z = self._embedded(recordings)
        self._store.add(person, z[rows_to_mark(person, z, templates)], enrolled=False)

    def calibrate(
        self,
        recordings,
        people,
        far: float = 0.01,
        *,
        sessions=None,
        groups=None,
        extrapolate=False,
    ) -> Threshold:
        """Sets the threshold that accepts at most a fraction of these people's false claims.

        Each recording claims to be of everybody in turn: of its own person, by the other recordings
        of that person, and of every other one. Give people whom the model has never seen, with
        several recordings each, as many as you enroll: the nearest of more is nearer. They need not
        be enrolled, and are not by this. A recording that is given twice counts once. A recording
        that is given for two people is left out.

        Where five people or more are too few for the rate, the threshold is that of the model's
        card, if it has one of the rate, moved to the mean and the spread of these people's false
        claims: about nine of ten groups of people keep the rate.

        Args:
            recordings: List of recordings.
            people: Person of each.
            far: False accept rate, above 0 and below 1.
            sessions: Session of each recording, such as the day: a recording is then its own
                person's by those of other sessions, where the person has any. None: by all others.
            groups: Group of each person, `{person: group}`, such as of age or sensor, for the rate
                at which people of one group are taken for each other; those without one have None.
            extrapolate: See `keras_dml.evaluation.certificate`.

        Returns:
            `Threshold`, which the gallery keeps: with intervals over people, for a rate that few
            people cannot show is not shown by many recordings.

        Raises:
            ValueError: If there is one person only, nobody has two recordings, nobody has a group,
                a recording is `unfit`, or the people are too few to support the rate: the message
                says how many it takes.
        """
        listed, people = self._named(recordings, people)
        warn_of_trained(self._model.trained_on, people)
        listed, people, sessions = without_copies(listed, people, sessions)
        z = self._model.embed(listed)
        claims = everybodys_claims(self._model.distances(z, z), people, sessions)
        options = {"groups": groups, "extrapolate": extrapolate, "enrolled": usual_count(people)}
        options["card"] = self._model.card
        found = calibrated(*claims, far, **options)
        self._store.set_threshold(found)
        warn_of_more(self.people(), [found])
        warn_of_fewer(self.people(), [found])
        warn_of_low_tar(found)
        warn_of_extrapolated(self.thresholds)
        return found

    @property
    def provisional(self) -> dict[float, Threshold]:
        """Thresholds of the model's card by false accept rate, which decide while none is set. They
        hold for people and recordings like those of the card."""
        return provisional(self._model.card)

    @property
    def deciding(self) -> Threshold | None:
        """The threshold that decides if no rate is named: that of the smallest rate that was set,
        or of 1 % on the model's card. None if there is none."""
        limits, of_card = self.thresholds, self.provisional
        return threshold_of(limits, None, of_card) if limits or of_card else None

    def remove_threshold(self, far: float) -> None:
        """Removes a threshold, such as the smallest that decides where no rate is named.

        Args:
            far: Its false accept rate.

        Raises:
            ValueError: If none of this rate was set.
        """
        known = self.thresholds
        if far not in known:
            raise ValueError(not_calibrated(far, known))
        self._store.remove_threshold(far)

    def evaluate(self, recordings, people):
        """Figures of recordings observed later, each against everybody enrolled. One that is
        nearest to a recording marked as not a person's is further from them than all others.

        Args:
            recordings: List of recordings.
            people: Person of each; one who is not enrolled gives false claims alone.

        Returns:
            `keras_dml.evaluation.Verification`, with intervals over people.

        Raises:
            ValueError: If nobody is enrolled, or none of the people is, all claims are true, or a
                recording is `unfit`.
        """
        listed, people = self._named(recordings, people)
        known = self._templates()
        self._check_anybody(known)
        z = self._model.embed(listed)
        found = [known.scores(self._model, one[None], known.names) for one in z]
        scores, denied = (np.stack(side) for side in zip(*found, strict=True))
        scores[denied] = np.nextafter(scores.max(), np.inf)  # behind all that is not denied
        probes, claims = np.repeat(people, len(known.names)), np.tile(known.names, len(listed))
        return evaluation.verification(
            scores.ravel(), probes == claims, people=(probes, claims), bootstrap=1000
        )

    def _named(self, recordings, people):
        listed = self._fit(recordings)
        return listed, checked_people(people, len(listed))

    def _embedded(self, recordings):
        return self._model.embed(self._fit(recordings))

    def _fit(self, recordings):
        """Recordings as a list, of which all are fit to be compared."""
        listed = self._listed(recordings)
        reasons = self._model.unfit(listed)
        if reasons:
            i = next(iter(reasons))
            named = f" `unfit` names all {len(reasons)} such ones." if len(reasons) > 1 else ""
            raise ValueError(
                f"Recording {i} is not fit to be compared: {reasons[i]}. Leave it out, or record "
                f"again.{named}"
            )
        return listed

    def _limit(self, far, threshold):
        """The largest score that is accepted, and the `Threshold` that it is of, if any."""
        if threshold is not None:
            if not isinstance(threshold, numbers.Real) or math.isnan(threshold):
                raise ValueError(
                    f"`threshold` must be a number, a distance. Received {threshold!r}."
                )
            return float(threshold), None
        found = self._set(far)
        return found.value, found

    def _strictest(self, limit):
        """The largest score of an accepted claim that resets the count of rejected ones: that of
        the threshold which decides by default, or `limit` if there is none. Otherwise somebody
        would reset the count by claims at a loose threshold."""
        deciding = self.deciding
        return limit if deciding is None else deciding.value

    def _set(self, far):
        """The `Threshold` of a rate; None: of the smallest."""
        return threshold_of(self.thresholds, far, self.provisional)

    def _check_anybody(self, known):
        if not known.names:
            raise ValueError(f"Nobody is enrolled in {self.path}: call `enroll` first.")

    def _enrolled(self, person):
        """The name of a person as it is kept, and `Templates` of them alone."""
        name = name_or_none(person)
        known = None if name is None else self._read([name])
        if known is None or name not in known.names:
            raise KeyError(self._unknown(person, self.people()))
        return name, known


def _rates(threshold):
    """What an answer says of the `Threshold` that it is by, or of None."""
    if threshold is None:
        return {}
    names = ("far", "extrapolated", "provisional")
    return {name: getattr(threshold, name) for name in names}
