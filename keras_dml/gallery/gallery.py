"""`Gallery`: people enrolled under one model, and decisions about recordings."""

from __future__ import annotations

import dataclasses
import datetime
import math
import numbers
import os
import pathlib
import warnings
from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from keras_dml import _messages, evaluation, inputs
from keras_dml._arrays import whole
from keras_dml._messages import Message
from keras_dml._typing import ArrayLike, Path, Recordings
from keras_dml.explanations import Explanation, explain_nearest
from keras_dml.gallery import maintenance, template_files
from keras_dml.gallery.backups import backup
from keras_dml.gallery.boundary import Boundary, compute_boundary
from keras_dml.gallery.calibration import (
    calibrated,
    check_people,
    choose_boundary,
    choose_threshold,
    everybodys_claims,
    not_calibrated,
    not_enrolled,
    provisional,
    usual_count,
    warn_of_extrapolated,
    warn_of_fewer,
    warn_of_low_tar,
    warn_of_more,
    warn_of_trained,
    without_copies,
)
from keras_dml.gallery.enrollment import (
    find_repeats,
    outliers,
    rows_to_mark,
    rows_to_merge,
    warn_of_repeats,
)
from keras_dml.gallery.files import READING_OPTIONS, valid_options
from keras_dml.gallery.listening import Listening, checked_window, common_windows
from keras_dml.gallery.mean_template import MeanTemplate
from keras_dml.gallery.model import GalleryModel
from keras_dml.gallery.names import (
    checked_name,
    checked_people,
    composed,
    name_or_none,
    recording_id,
)
from keras_dml.gallery.records import Records
from keras_dml.gallery.results import (
    Candidate,
    Decision,
    Enrollment,
    GalleryInfo,
    Identification,
    Scale,
    StoredRecording,
    Threshold,
)
from keras_dml.gallery.store import is_url
from keras_dml.gallery.templates import Templates
from keras_dml.gallery.tries import DEFAULT, Tries, checked_client

if TYPE_CHECKING:
    from keras_dml._backend import keras

MOST_COMPARED = 50  # people whose recordings measure the distance of a recording to itself


class Gallery:
    """People enrolled under one model, for verification and identification.

    A gallery is a SQLite file, whose templates are read into memory and compared exactly. Or it is
    a database on a PostgreSQL server with pgvector (extra `postgres`). There an index finds the 200
    nearest templates, and their people are compared exactly. Nothing else differs.

    The changes of a method that has returned survive a killed process. A call that was interrupted
    changes nothing. Several processes may use a gallery at the same time. It holds embeddings,
    names and thresholds, which are personal data. With a key, embeddings are encrypted
    (AES-256-GCM). Names, numbers of recordings, dates and thresholds are not, so enroll people
    under numbers if their names are secret. The index of a server is not encrypted either, so
    encrypt the server's disk.

    A score is the mean, over the observed recordings, of the least distance to the enrolled
    recordings of a person (Abdelwahab2019, section 6). Smaller is closer. Only `enroll` and `merge`
    add recordings to people.

    Args:
        path: Path of the gallery's file. A new file is created and is readable by its owner alone.
            Or the URL of a database, `"postgresql://user:password@host:port/database"`. A database
            holds one gallery.
        model: A `keras.Model` whose head names a distance, or the name or path of a model, see
            `keras_dml.zoo.load`. None: the model that the gallery names.
        key: Key that encrypts the embeddings: 32 random bytes; the path of a file of 32 bytes, raw
            or in base64 (`(umask 077; openssl rand -base64 32 > family.key)`); or `"keyring:NAME"`
            for the password that `keyring set keras-dml NAME` stored. None: the value of the
            environment variable KERAS_DML_GALLERY_KEY. Without it nothing is encrypted.
        keys: Path of the file of the people's keys, for an encrypted gallery on a server. Keep it
            apart from the server and its backups, so that removed people are forgotten there too.
        tries: Limit of rejected claims per person and client, and the pauses after them. None:
            claims are not counted, for experiments.

    Raises:
        TypeError: If `path`, `model` or `tries` has the wrong type.
        ValueError: If the file is not a gallery, is damaged, or has another model or key; or a new
            gallery is given no model.
        OSError: If the file or the server cannot be used.

    Example:
        >>> import tempfile
        >>> rng = np.random.default_rng(0)
        >>> def utterances(offset):
        ...     return [rng.normal(offset, 0.1, (20, 12)) for _ in range(8)]
        >>> folder = tempfile.TemporaryDirectory()
        >>> gallery = Gallery(f"{folder.name}/family.db", model="vowels_qp_wl")
        >>> gallery.enroll("alice", utterances(0.0)).enrolled
        8
        >>> gallery.enroll("bob", utterances(1.0)).enrolled
        8
        >>> gallery.identify(utterances(1.0), threshold=100.0).person
        'bob'
        >>> gallery.close(), folder.cleanup()
        (None, None)
    """

    def __init__(
        self,
        path: Path,
        model: keras.Model | Path | None = None,
        *,
        key: bytes | Path | None = None,
        keys: Path | None = None,
        tries: Tries | None = DEFAULT,
    ):
        _check_path(path, model)
        if not isinstance(tries, Tries | None):
            raise TypeError(
                Message(
                    "{tries} is of type {type}, but it must be Tries or None.",
                    type=type(tries).__name__,
                )
            )
        loaded = None if model is None else GalleryModel(model)  # before a file is created
        self._records = Records(path, key, keys)
        try:
            self._model = self._checked_model(loaded)
            self._records.check()
        except BaseException:
            self.close()
            raise
        self._claims = self._records.claims(tries)
        self._cached_templates = self._cached_changes = None

    def _checked_model(self, model):
        about = self._records.about()
        if model is None and not about:
            raise ValueError(
                Message(
                    "{path} names no model. Set {model} to the model that its people were enrolled "
                    "with.",
                    path=self.path,
                )
            )
        model = GalleryModel(about["model"]) if model is None else model
        created = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        facts = {"model": model.name, "fingerprint": model.fingerprint, "created": created}
        about = self._records.describe(facts, model.index)
        self._about = {name: about[name] for name in ("model", "fingerprint")}
        if about["fingerprint"] != model.fingerprint:
            enrolled, marked, _ = self._records.counts()
            if not enrolled and not marked:
                raise ValueError(
                    f"Received the model {model.name!r}, but {self.path} was made for the model "
                    f"{about['model']!r}. Nobody is enrolled in this gallery, so "
                    f"{self._records.removal} and repeat this, or name another gallery."
                )
            raise ValueError(
                Message(
                    "Received the model {name!r} with fingerprint {fingerprint}, but the people of "
                    "{path} are enrolled with the model {expected!r} with fingerprint "
                    "{expected_fingerprint}. Embeddings of two models cannot be compared. Open the "
                    "gallery with its model, or enroll the recordings in a new gallery by "
                    "{Gallery(new_path, model)}.",
                    name=model.name,
                    fingerprint=model.fingerprint[:12],
                    path=self.path,
                    expected=about["model"],
                    expected_fingerprint=about["fingerprint"][:12],
                )
            )
        return model

    @property
    def path(self) -> Path:
        """Path of the file, or the URL without its password."""
        return self._records.path

    @property
    def model(self) -> keras.Model:
        """The `keras.Model`."""
        return self._model.model

    @property
    def thresholds(self) -> dict[float, Threshold]:
        """Thresholds that `calibrate` has set, by false accept rate."""
        return self._records.thresholds()

    @property
    def boundaries(self) -> dict[float, Boundary]:
        """Boundaries that `calibrate_listening` has set, by false match rate."""
        return self._records.boundaries()

    @property
    def provisional(self) -> dict[float, Threshold]:
        """Thresholds of the model's card by false accept rate. They decide until one is set, and
        hold for people and recordings like those of the card."""
        return provisional(self._model.card)

    @property
    def deciding(self) -> Threshold | None:
        """The threshold that decides if no rate is given: that of the smallest rate that was set,
        or of 1 % on the model's card. None without a threshold."""
        limits, card_limits = self.thresholds, self.provisional
        return choose_threshold(limits, None, card_limits) if limits or card_limits else None

    @property
    def reading(self) -> dict[str, Any]:
        """Options by which the files of the first enrollment were read, `{name: value}`: the
        `channels`, `rate_hz`, `time`, `time_unit` and `max_gap` of `keras_dml.recordings.read`,
        `resample`, and the `units` of the files."""
        return valid_options(self._records.about().get("reading"))

    def remember_reading(self, options: Mapping[str, Any]) -> None:
        """Stores the options by which files were read, unless the gallery has some already.

        Args:
            options: See `reading`. Values that are None are left out.

        Raises:
            ValueError: If an option is unknown or invalid.
        """
        options = {name: value for name, value in options.items() if value is not None}
        if options != valid_options(options):
            raise ValueError(
                Message(
                    "{options} is {value!r}, but it must hold valid values of {names}.",
                    value=options,
                    names=", ".join(READING_OPTIONS),
                )
            )
        if options:
            self._records.remember("reading", options)

    def close(self) -> None:
        """Closes the file or the connection. The gallery cannot be used afterwards."""
        self._records.close()

    def __enter__(self) -> Gallery:
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def people(self) -> dict[str, int]:
        """Returns the number of enrolled recordings by person, sorted by name."""
        return self._records.people()

    def info(self) -> GalleryInfo:
        """Returns facts about the gallery: its model, counts, time, thresholds; no embeddings."""
        return maintenance.describe(self._records)

    def enroll(self, person: str, recordings: ArrayLike | Recordings) -> Enrollment:
        """Enrolls recordings of a new person or of a person who is enrolled already.

        A recording that is `unfit` is refused. If thresholds are set, a recording is also refused
        if its distance to all other recordings of the person exceeds the largest threshold, because
        it would not be accepted as this person's. These other recordings are the enrolled ones and
        the new ones that are near to them. For a new person, the largest group of recordings near
        to each other is enrolled.

        A recording that is given twice or is enrolled already counts once. `Enrollment.repeated`
        and a `UserWarning` report it. A recording that is enrolled as another person, or marked as
        not this person's, is refused. Recordings are compared by their embeddings, so a copy under
        another name or in another format is detected.

        Args:
            person: Name, of 1 to 200 printable characters.
            recordings: Recordings as `keras_dml.embed` takes them, one array or a list.

        Returns:
            `Enrollment`: which recordings were enrolled, which were refused, and the reasons.

        Raises:
            ValueError: If the name is invalid, or `recordings` is empty.
        """
        person = checked_name(person)
        recordings = self._as_list(recordings)
        refused, repeated = self._model.refused(recordings), {}
        rows = np.array([i for i in range(len(recordings)) if i not in refused], int)
        if len(rows):
            z = self._model.embed([recordings[i] for i in rows])
            repeats, reasons = find_repeats(person, z, self._templates_near([person], z))
            repeated = {
                int(rows[row]): first if first is None else int(rows[first])
                for row, first in repeats.items()
            }
            refused |= {int(rows[row]): reason for row, reason in reasons.items()}
            rows, z = _without(rows, z, repeats.keys() | reasons.keys())
        if len(rows):
            reasons = self._outliers(person, z)
            refused |= {int(rows[row]): reason for row, reason in reasons.items()}
            rows, z = _without(rows, z, reasons.keys())
        for i in [i for i, first in repeated.items() if first in refused]:
            refused[i] = refused[repeated.pop(i)]
        warn_of_repeats(len(repeated), len(recordings))
        added = tuple(rows.tolist())
        if not added:
            total = self.people().get(person, 0)
            return Enrollment(person, added, refused, total, repeated=repeated)
        ids = tuple(recording_id(embedding.tobytes()) for embedding in z.astype("<f4"))
        total = self._records.add(person, z)
        warn_of_more({person: total}, self._limits())
        return Enrollment(person, added, refused, total, ids, repeated)

    def _outliers(self, person, z):
        """Returns the reasons why embeddings are too far from a person's others, by row."""
        limits = [threshold.value for threshold in self.thresholds.values()]
        enrolled = self._read_templates([person]).enrolled_of(person)
        references = np.concatenate([enrolled, z]) if len(enrolled) else z
        if not limits or len(references) < 2:
            return {}
        scores = self._model.distances(z, references)
        scores[np.arange(len(z)), len(enrolled) + np.arange(len(z))] = np.inf
        return {
            row: Message(
                "it is further from the nearest other recording of {name!r} than the threshold"
                "{scores}",
                name=person,
                scores=_messages.name("scores", f" ({nearest:.4g} > {max(limits):.4g})"),
            )
            for row, nearest in outliers(scores, len(enrolled), max(limits)).items()
        }

    def check_counts(self, people: Iterable[str]) -> None:
        """Emits a `UserWarning` if people have many fewer recordings than the people who set the
        thresholds.

        Args:
            people: Names of the people.
        """
        counts = self.people()
        warn_of_fewer({name: counts.get(name, 0) for name in people}, self._limits())

    def _limits(self):
        """Returns all thresholds and boundaries that were set."""
        return [*self.thresholds.values(), *self.boundaries.values()]

    def remove(self, person: str) -> None:
        """Removes a person and everything that is stored of them.

        In a file, no byte of it remains. On a server, the rows are deleted, and if the gallery is
        encrypted, the person's key is destroyed. The deleted rows are gone from the server's disk
        after `purge`, which names other places where they may be.

        Raises:
            KeyError: If nobody of this name is enrolled.
            TimeoutError: If the person was removed, but another process prevented the log from
                being cut.
            OSError: If the disk is full. The message states whether the person was removed.
        """
        if not self._records.remove(person):
            raise maintenance.unknown_person(self._records, person)

    def rename(self, person: str, name: str) -> None:
        """Gives a person another name. Recordings, marks and thresholds stay as they are.

        Args:
            person: A person who is enrolled.
            name: The new name, of 1 to 200 printable characters.

        Raises:
            KeyError: If nobody of the name `person` is enrolled.
            TypeError: If `name` is not a string.
            ValueError: If `name` is invalid, or another person has it.
            TimeoutError: If the person was renamed, but another process prevented the log from
                being cut, which still has the old name.
        """
        name = checked_name(name, "name")
        person, _ = self._templates_of(person)
        if not self._records.rename(person, name):
            raise maintenance.unknown_person(self._records, person)

    def backup(self, path: Path, *, replace: bool = False) -> None:
        """Copies the gallery to a file, see `keras_dml.gallery.backup`."""
        backup(self.path, path, replace=replace)

    def purge(self) -> tuple[str, ...]:
        """Rewrites the gallery without free space, as after many removals.

        Returns:
            Sentences that name places where removed templates may still be; none for a file. A
            server has a log of changes, with the vectors of its index, until it is overwritten.
        """
        return self._records.purge()

    def unfit(self, recordings: ArrayLike | Recordings) -> dict[int, str]:
        """Returns the reasons why recordings are not fit to be compared, by their index.

        A recording is unfit if the model does not accept it, or if it is flat, clipped, interrupted
        or otherwise unlike the recordings of the model's training.

        A model that `keras_dml.training.train` made, or a model of the zoo whose card has
        `quality`, describes its training recordings. Such a model refuses unfit recordings before
        anything is decided. Other models accept all recordings that they can compute.

        Args:
            recordings: One recording or several.

        Returns:
            Reasons by the index of the recording; empty if all are fit.

        Raises:
            ValueError: If `recordings` is empty.
        """
        return self._model.refused(self._as_list(recordings))

    def verify(
        self,
        person: str,
        recordings: ArrayLike | Recordings,
        *,
        far: float | None = None,
        threshold: float | None = None,
        client: str = "",
    ) -> Decision:
        """Decides whether recordings belong to a person.

        The result has the score, which tells an attacker whether a changed recording is closer. A
        program that calls this method has the model and the embeddings anyway. Do not show the
        score to the client who makes the claim.

        Args:
            person: The person claimed.
            recordings: One recording, or several of the same moment, which get one decision.
            far: False accept rate of the threshold, one that was calibrated; None: the smallest.
            threshold: A threshold to use instead.
            client: Name of the client that claims, such as a device. Rejected claims are counted
                per person and client, see `Tries`. An accepted claim resets the count, unless only
                a looser threshold than the one that decides by default accepts it.

        Returns:
            `Decision`.

        Raises:
            TooManyTries: During the pause after rejected claims.
            KeyError: If nobody of this name is enrolled.
            ValueError: If the model does not accept a recording, a recording is `unfit`, or no
                threshold is set.
        """
        self._claims.check(person, client)  # first, because it is cheap
        limit, used = self._limit(far, threshold)
        person, templates = self._templates_of(person)
        probes = self._embed_fit(recordings)
        self._claims.begin(person, client)
        scores, denied = templates.scores(self._model, probes, [person])
        score, denied = float(scores[0]), bool(denied[0])  # NumPy would round the limit to float32
        accepted = score <= limit and not denied
        if accepted and score <= self._strictest(limit):
            self._claims.accept(person, client)
        rates = {"scale": self._scale(templates), **_rates(used)}
        return Decision(accepted, person, score, limit, denied, **rates)

    def identify(
        self,
        recordings: ArrayLike | Recordings,
        top: int = 5,
        *,
        far: float | None = None,
        threshold: float | None = None,
        client: str = "",
    ) -> Identification:
        """Decides which person recordings belong to, or that they are a stranger's.

        The gallery does not decide between two people who are equally near. Without a threshold,
        set or on the model's card, it does not decide and lists the nearest people.

        Args:
            recordings: One recording, or several of the same moment.
            top: Most candidates listed.
            far: As in `verify`: the rate at which one person is taken for another. With n people
                enrolled, a stranger is taken for one of them up to n times as often.
            threshold: A threshold to use instead.
            client: As in `verify`. Identifications of strangers are counted for the nearest person,
                separately from claims and with shorter pauses.

        Returns:
            `Identification`.

        Raises:
            TooManyTries: During the pause of the nearest person, see `verify`.
            ValueError: If nobody is enrolled, the model does not accept a recording, a recording is
                `unfit`, or the rate `far` has no threshold.
        """
        top = whole("top", top, minimum=1)
        asks = far is not None or threshold is not None
        decides = asks or self.thresholds or self.provisional
        limit, used = self._limit(far, threshold) if decides else (None, None)
        client = checked_client(client)
        probes = self._embed_fit(recordings)
        templates, people = self._candidates(probes)
        self._check_anybody(templates)
        candidates, tied = templates.nearest(self._model, probes, top)
        nearest = tuple(Candidate(person, score) for person, score in candidates)
        if decides:
            self._claims.begin(nearest[0].person, client, identified=True)
        least = nearest[0].score  # infinite if a recording was denied to everybody
        is_near = limit is not None and math.isfinite(least) and least <= limit
        tied = tied if is_near and len(tied) > 1 else ()
        person = nearest[0].person if is_near and not tied else None
        if person is not None and least <= self._strictest(limit):
            self._claims.accept(person, client, identified=True)
        rates = {"scale": self._scale(templates), **_rates(used)}
        if used is not None and used.is_counted and used.among(people) < 1:
            rates["fpir"] = used.among(people)
        return Identification(person, nearest, limit, people, tied=tied, **rates)

    def _limit(self, far, threshold):
        """Returns the largest score that is accepted, and its `Threshold` or None."""
        if threshold is not None:
            if not isinstance(threshold, numbers.Real) or math.isnan(threshold):
                raise ValueError(
                    Message(
                        "{threshold} is {value!r}, but it must be a number, a distance.",
                        value=threshold,
                    )
                )
            return float(threshold), None
        used = self._threshold(far)
        return used.value, used

    def _threshold(self, far):
        """Returns the `Threshold` of a rate; None: of the smallest."""
        return choose_threshold(self.thresholds, far, self.provisional)

    def _strictest(self, limit):
        """Returns the largest score of an accepted claim that resets the count of rejected ones.

        It is the threshold that decides by default, or `limit` without one. Otherwise an
        attacker could reset the count by claims at a loose threshold.
        """
        deciding = self.deciding
        return limit if deciding is None else deciding.value

    def _scale(self, templates):
        """Returns the `Scale` of a gallery, see `Scale.from_card`; None without people."""
        first = [templates.enrolled_of(name)[:1] for name in templates.names[:MOST_COMPARED]]
        if not first:
            return None
        first = np.concatenate(first)
        to_itself = np.mean(np.diag(self._model.distances(first, first)), dtype=np.float64)
        return Scale.from_card(self._model.card, to_itself)

    def explain(self, person: str, recording: ArrayLike) -> Explanation:
        """Explains which moments and channels make the score of a recording against a person.

        A gallery keeps embeddings, not recordings. So only moments of the observed recording are
        explained, called `"probe"`. They carry half of a Wasserstein distance. The score of several
        recordings is the mean of their scores, so explain each of them separately.

        Args:
            person: A person who is enrolled, such as `decision.person`.
            recording: One recording.

        Returns:
            Explanation of the distance to the nearest enrolled recording of the person, see
            `keras_dml.explain`. It reveals as much as the enrolled embedding.

        Raises:
            KeyError: If nobody of this name is enrolled.
            ValueError: If it is not one recording, or the model does not accept it.
        """
        recordings = self._as_list(recording)
        person, templates = self._templates_of(person)
        if len(recordings) != 1:
            raise ValueError(
                Message(
                    "{recording} holds {count} recordings, but it must be one recording. Explain "
                    "each recording separately. The score of several recordings is the mean of "
                    "their scores.",
                    count=len(recordings),
                )
            )
        return explain_nearest(self._model.model, recordings[0], templates.enrolled_of(person))

    def calibrate(
        self,
        recordings: ArrayLike | Recordings,
        people: ArrayLike,
        far: float = 0.01,
        *,
        sessions: ArrayLike | None = None,
        groups: Mapping | None = None,
        extrapolate: bool = False,
    ) -> Threshold:
        """Sets the threshold that accepts at most a fraction of these people's false claims.

        Each recording claims to be every person in turn: its own person, by the other recordings of
        that person, and each of the other people. Give recordings of people whom the model has
        never seen. Give as many recordings per person as you will enroll: with more enrolled
        recordings the nearest one is closer, and false accepts rise. These people need not be
        enrolled, and this method does not enroll them. A recording that is given twice counts once.
        A recording that is given for two people is left out.

        If five people or more are too few for the rate, and the model's card has a threshold of the
        rate, then this threshold is moved to the mean and the spread of these people's false
        claims. About nine of ten groups of people keep the rate.

        Args:
            recordings: List of recordings.
            people: Person of each.
            far: False accept rate, above 0 and below 1.
            sessions: Session of each recording, such as the day. A recording then claims its own
                person by the recordings of other sessions, if the person has any. None: by all
                other recordings.
            groups: Group of each person, `{person: group}`, such as age or sensor, for the rate at
                which people of one group are taken for each other. People who are left out have no
                group.
            extrapolate: See `keras_dml.evaluation.certificate`.

        Returns:
            The threshold, which the gallery stores. Its intervals are over people: many recordings
            of few people do not support a small rate.

        Raises:
            ValueError: If there is only one person, nobody has two recordings, nobody has a group,
                a recording is `unfit`, or the people are too few to support the rate. The message
                states how many people the rate needs.
        """
        recordings, people = self._with_people(recordings, people)
        warn_of_trained(self._model.trained_on, people)
        recordings, people, sessions = without_copies(recordings, people, sessions)
        z = self._model.embed(recordings)
        claims = everybodys_claims(self._model.distances(z, z), people, sessions)
        threshold = calibrated(
            *claims,
            far,
            groups=groups,
            extrapolate=extrapolate,
            enrolled=usual_count(people),
            card=self._model.card,
        )
        self._records.set_threshold(threshold)
        warn_of_more(self.people(), [threshold])
        warn_of_fewer(self.people(), [threshold])
        warn_of_low_tar(threshold)
        warn_of_extrapolated(self.thresholds)
        return threshold

    def remove_threshold(self, far: float) -> None:
        """Removes a threshold, such as the smallest one, which decides if no rate is given.

        Args:
            far: Its false accept rate.

        Raises:
            ValueError: If no threshold of this rate was set.
        """
        thresholds = self.thresholds
        if far not in thresholds:
            raise ValueError(not_calibrated(far, thresholds))
        self._records.remove_threshold(far)

    def evaluate(
        self, recordings: ArrayLike | Recordings, people: ArrayLike
    ) -> evaluation.Verification:
        """Measures verification of new recordings against everybody enrolled (EER, ROC, DET).

        A recording that is nearest to a recording marked as not a person's gets a larger score for
        this person than all others.

        Args:
            recordings: List of recordings.
            people: Person of each. A person who is not enrolled makes only false claims.

        Returns:
            `keras_dml.evaluation.Verification`, with intervals over people.

        Raises:
            ValueError: If nobody is enrolled, none of the people is enrolled, all claims are true,
                or a recording is `unfit`.
        """
        recordings, people = self._with_people(recordings, people)
        templates = self._templates()
        self._check_anybody(templates)
        names = templates.names
        z = self._model.embed(recordings)
        results = [templates.scores(self._model, probe[None], names) for probe in z]
        scores, denied = (np.stack(side) for side in zip(*results, strict=True))
        scores[denied] = np.nextafter(scores.max(), np.inf)  # behind all that are not denied
        probes, claims = np.repeat(people, len(names)), np.tile(names, len(recordings))
        return evaluation.verification(
            scores.ravel(), probes == claims, people=(probes, claims), bootstrap=1000
        )

    def listen(self, person: str, *, far: float | None = None, client: str = "") -> Listening:
        """Begins a claim that is decided as soon as possible while its recording grows.

        The claim is accepted as soon as one window is near enough. See `calibrate_listening` for
        the recordings for which the false match rate holds.

        Args:
            person: The person claimed.
            far: False match rate of the boundary, one that was set; None: the smallest.
            client: As in `verify`. A claim that ends without a decision counts as rejected.

        Returns:
            `Listening`: pass the recording to its method `add` as it grows.

        Raises:
            TooManyTries: During the pause after rejected claims.
            KeyError: If nobody of this name is enrolled.
            ValueError: If no boundary is set, the rate has none, or an earlier version set it.
        """
        boundaries = self.boundaries
        boundary = choose_boundary(boundaries, far)
        person, _ = self._templates_of(person)
        self._claims.begin(person, client)
        # A looser boundary than the strictest one must not reset the count of rejected claims.
        resets = boundary.far == min(boundaries)
        accept = partial(self._claims.accept, person, client) if resets else lambda: None
        return Listening(self, person, boundary, accept)

    def calibrate_listening(
        self,
        recordings: ArrayLike | Recordings,
        people: ArrayLike,
        far: float = 0.05,
        *,
        window: int | None = None,
        sessions: ArrayLike | None = None,
    ) -> Boundary:
        """Sets the boundary at which `listen` accepts at most a fraction of false claims.

        The rate holds on average for new people, whenever the claim ends, see
        `keras_dml.evaluation.promise`.

        A claim is one recording of at most as many windows as the recordings given here. The rate
        also holds if its windows are repeated, left out or played in any order. It does not hold
        for the best of several recordings, for a recording that is changed until it is accepted, or
        for a replay or forgery of the person's own recordings. Each new recording is one more
        claim, so limit the number of claims.

        Each recording claims to be every person in turn, window by window: its own person, by the
        other recordings of that person, and each of the other people, by all of their recordings.
        A rate needs at least 1 / far - 2 people.

        Args:
            recordings: List of recordings, each as long as a claim may last: the shortest one sets
                after how many windows `listen` rejects. Give as many recordings per person as you
                will enroll.
            people: Person of each.
            far: False match rate, above 0 and below 1.
            window: Steps of a window, the shortest time to a decision; None: the length of
                recordings, if the model takes only one length.
            sessions: Session of each recording, see `calibrate`.

        Returns:
            The boundary, which the gallery stores, with the time to a decision.

        Raises:
            ValueError: If there is only one person, nobody has two recordings, the people are too
                few to promise the rate, a recording is `unfit` or shorter than a window, or the
                model does not take recordings.
        """
        recordings, people = self._with_people(recordings, people)
        check_people(people)
        warn_of_trained(self._model.trained_on, people)
        window = checked_window(self.model, window)
        recordings, people, sessions = without_copies(recordings, people, sessions)
        check_people(people)
        trajectories = self._trajectories(recordings, people, window, sessions)
        boundary = compute_boundary(*trajectories, far, window)
        contract = inputs.from_model(self.model).contract
        rate_hz = None if contract is None else contract.rate_hz
        boundary = dataclasses.replace(boundary, enrolled=usual_count(people), rate_hz=rate_hz)
        self._records.set_boundary(boundary)
        warn_of_more(self.people(), [boundary])
        warn_of_fewer(self.people(), [boundary])
        return boundary

    def _trajectories(self, recordings, people, window, sessions=None):
        """Returns the scores of the windows of everybody's claims, shape `(claims, windows)`, the
        person of each claim's recording, and the person claimed."""
        count = common_windows(recordings, window)
        z, hidden = self._model.embed(recordings), not_enrolled(people, sessions)
        names = np.unique(people)
        scores, probes, claims = [], [], []
        for i, recording in enumerate(recordings):
            windows = [recording[k * window : (k + 1) * window] for k in range(count)]
            distances = self._model.distances(self._model.embed(windows), z)
            distances[:, hidden[i]] = np.inf
            for name in names:
                nearest = distances[:, people == name].min(axis=1)
                if np.isfinite(nearest).all():  # not a claim by the person's only recording
                    scores.append(nearest)
                    probes.append(people[i])
                    claims.append(name)
        return np.stack(scores).astype(np.float64), np.array(probes), np.array(claims)

    def reject(self, person: str, recordings: ArrayLike | Recordings) -> None:
        """Marks recordings as not a person's (hard negatives).

        A recording that is nearer to a marked recording than to the enrolled ones is no longer
        accepted as this person's. Recordings that are marked already are ignored.

        Args:
            person: A person who is enrolled.
            recordings: One recording or several.

        Raises:
            KeyError: If nobody of this name is enrolled.
            ValueError: If the model does not accept a recording, or a recording is `unfit` or
                enrolled as the person's.
        """
        person, templates = self._templates_of(person)
        z = self._embed_fit(recordings)
        self._records.add(person, z[rows_to_mark(person, z, templates)], enrolled=False)

    def recordings(self, person: str) -> tuple[str, ...]:
        """Returns the ids of a person's enrolled recordings, in the order of enrollment.

        An id is a digest of the embedding and is the same in every gallery of the model. The
        embedding cannot be computed from the id, but a known embedding can be recognized by it.

        Raises:
            KeyError: If nobody of this name is enrolled.
        """
        return tuple(recording_id(z.tobytes()) for z in self._enrolled_of(person))

    def list_recordings(self, person: str) -> tuple[StoredRecording, ...]:
        """Lists the enrolled recordings of a person, with the id and time of each.

        Raises:
            KeyError: If nobody of this name is enrolled.
        """
        person, _ = self._templates_of(person)
        return self._records.stored(person) or ()

    def list_rejections(self, person: str) -> tuple[StoredRecording, ...]:
        """Lists the recordings that `reject` marked as not a person's, with id and time of each.

        Raises:
            KeyError: If nobody of this name is enrolled.
        """
        person, _ = self._templates_of(person)
        return self._records.stored(person, enrolled=False) or ()

    def unreject(self, person: str, recordings: str | Iterable[str]) -> None:
        """Removes marks of `reject`: the gallery is as if the recordings had not been marked.

        Args:
            person: A person who is enrolled.
            recordings: Id of a recording as `list_rejections` returns it, or a list of ids.

        Raises:
            KeyError: If nobody of this name is enrolled, or an id is not of a marked recording of
                the person. Nothing is changed then.
            TimeoutError: If the marks were removed, but another process prevented the log from
                being cut.
        """
        person, _ = self._templates_of(person)
        maintenance.forget_stored(self._records, person, recordings, enrolled=False)

    def forget(self, person: str, recording: str | Iterable[str]) -> None:
        """Removes a recording of a person: the gallery is as if it had never been enrolled.

        In a file no byte of it remains. On a server it remains until `purge`. A gallery that was
        merged or exported before still has it.

        Args:
            person: A person who is enrolled. With the last recording the person is removed.
            recording: Id of the recording, as in `Enrollment.ids` and `recordings`, or a list of
                ids.

        Raises:
            KeyError: If nobody of this name is enrolled, or the person has no such recording.
            TimeoutError: If the recording was removed, but another process prevented the log from
                being cut.
        """
        person, _ = self._templates_of(person)
        maintenance.forget_stored(self._records, person, recording, enrolled=True)

    def mean_template(self, person: str) -> MeanTemplate:
        """Returns one embedding in place of all enrolled recordings of a person, for small devices.

        Raises:
            KeyError: If nobody of this name is enrolled.
            ValueError: If the model's distance has no mean from which recordings can be removed.
        """
        return MeanTemplate.from_embeddings(self._model.distance, self._enrolled_of(person))

    def export_templates(self, path: Path) -> None:
        """Writes all embeddings to a file, for `merge` or for a device.

        The file is a `.npz` of `header` (JSON: format, version, model, fingerprint), `people`,
        `enrolled` and `embeddings`. Only its owner may read it, and it is not encrypted.

        Args:
            path: Path of the file; an existing file is replaced.

        Raises:
            ValueError: If `path` cannot be the path of a file, or is the gallery itself.
            OSError: If the file cannot be written.
        """
        if all(map(os.path.exists, (path, self.path))) and os.path.samefile(path, self.path):
            raise ValueError(f"{path} is the gallery itself. Give the path of another file.")
        people, enrolled, flat = self._records.templates()
        z = flat.reshape(len(people), *self._model.embedding_shape)
        template_files.write(path, self._about, people, enrolled, z)

    def merge(self, other: Gallery | Path) -> dict[str, int]:
        """Adds the people of another gallery of the same model.

        Recordings of a person that are here already, compared by their embeddings, are not added
        again. This gallery keeps its thresholds. Recordings that `enroll` would refuse because they
        are too far from the person's others are left out, with a `UserWarning`. Otherwise an
        attacker could add recordings of themselves to a person who is enrolled here.

        Args:
            other: The other gallery, which is not changed; or the path of a file that
                `export_templates` has written.

        Returns:
            Number of recordings added by person.

        Raises:
            TypeError: If `other` has another type.
            ValueError: If `other` has another model, the file is invalid, or a recording is
                enrolled as two people, or as a person and marked as not theirs. Nothing is added
                then.
        """
        if isinstance(other, Gallery):
            source, about = other.path, other._about
            people, enrolled, embeddings = other._records.templates()
        elif isinstance(other, str | os.PathLike):
            source = other
            about, people, enrolled, embeddings = template_files.read(other)
        else:
            raise TypeError(
                Message(
                    "{other} is of type {type}, but it must be a Gallery, or the path of exported "
                    "templates.",
                    type=type(other).__name__,
                )
            )
        if about["fingerprint"] != self._model.fingerprint:
            raise ValueError(
                f"{source} has the model {about['model']!r}, but {self.path} has the model "
                f"{self._model.name!r}. Embeddings of two models cannot be compared. Enroll the "
                "recordings again."
            )
        shape = self._model.embedding_shape
        if people and embeddings[0].size != np.prod(shape):
            raise ValueError(
                f"{source} is damaged, because it holds embeddings of another size. Export the "
                "templates again."
            )
        z = embeddings.reshape(len(people), *shape)
        self._model.check(z)
        for person in dict.fromkeys(people):
            checked_name(person)
        people = [composed(person) for person in people]
        rows = rows_to_merge(source, people, enrolled, z, self._templates_near({*people}, z))
        rows = self._without_outliers(source, rows, people, enrolled, z)
        added = self._records.add_all([people[row] for row in rows], enrolled[rows], z[rows])
        if added:
            warn_of_more(self.people(), self._limits())
        return added

    def _without_outliers(self, source, rows, people, enrolled, z):
        """Returns the rows of another gallery that are near enough to their person's others.

        Args:
            source: Path of the other gallery, for the warning.
            rows: Rows that are new here.
            people: Person of each template.
            enrolled: True for templates of the person, False for templates marked as not theirs.
            z: Embeddings, shape `(count, ...)`.
        """
        reasons, rows_by_person = {}, {}
        for row in rows:
            if enrolled[row]:
                rows_by_person.setdefault(people[row], []).append(row)
        for person, new in rows_by_person.items():
            for i, reason in self._outliers(person, z[new]).items():
                reasons[new[i]] = reason
        if reasons:
            warnings.warn(
                Message(
                    "{count} recordings of {source} were left out, because {enroll()} would refuse "
                    "them. Reason for the first recording: {reason}.",
                    count=len(reasons),
                    source=source,
                    reason=next(iter(reasons.values())),
                ),
                stacklevel=3,
            )
        enrolled_people = self.people().keys() | {
            people[row] for row in rows if row not in reasons and enrolled[row]
        }
        return [row for row in rows if row not in reasons and people[row] in enrolled_people]

    def _as_list(self, recordings):
        recordings = self._model.as_list(recordings)
        if not recordings:
            raise ValueError(Message("{recordings} is empty. Give at least one recording."))
        return recordings

    def _fit_list(self, recordings):
        """Returns recordings as a list. Raises `ValueError` if one is unfit."""
        recordings = self._as_list(recordings)
        reasons = self._model.unfit(recordings)
        if reasons:
            i = next(iter(reasons))
            hint = Message(" {unfit()} names all {count} such recordings.", count=len(reasons))
            raise ValueError(
                Message(
                    "Recording {i} is not fit to be compared: {reason}. Leave it out, or record "
                    "again.{hint}",
                    i=i,
                    reason=reasons[i],
                    hint=hint if len(reasons) > 1 else "",
                )
            )
        return recordings

    def _embed_fit(self, recordings):
        return self._model.embed(self._fit_list(recordings))

    def _with_people(self, recordings, people):
        recordings = self._fit_list(recordings)
        return recordings, checked_people(people, len(recordings))

    def _templates(self):
        """Returns the `Templates` of everybody, from memory unless the gallery has changed."""
        changes = self._records.changes()
        if self._cached_templates is None or self._cached_changes != changes:
            self._cached_templates, self._cached_changes = self._read_templates(), changes
        return self._cached_templates

    def _candidates(self, probes):
        """Returns `Templates` that include the nearest ones, and the number of all people."""
        candidates = self._records.candidates(probes)
        if candidates is None:
            templates = self._templates()
            return templates, len(templates.names)
        names, people = candidates
        return self._read_templates(names), people

    def _templates_near(self, people, embeddings):
        """Returns `Templates` of people and of those near to embeddings; everybody's of a file."""
        candidates = self._records.candidates(embeddings)
        if candidates is None:
            return self._templates()
        return self._read_templates([*candidates[0], *people])

    def _read_templates(self, people=None):
        names, enrolled, flat = self._records.templates(people)
        shape = self._model.embedding_shape
        if names and flat.shape[1] != np.prod(shape):
            raise ValueError(
                f"{self.path} is damaged: it holds embeddings of {flat.shape[1]} numbers, but its "
                f"model gives embeddings of {np.prod(shape)} numbers. Restore a backup."
            )
        return Templates(names, enrolled, flat.reshape(len(names), *shape))

    def _templates_of(self, person) -> tuple[str, Templates]:
        """Returns the name of a person as it is stored, and `Templates` of this person alone."""
        name = name_or_none(person)
        if name is not None:
            templates = self._read_templates([name])
            if name in templates.names:
                return name, templates
        raise maintenance.unknown_person(self._records, person)

    def _enrolled_of(self, person):
        """Returns the enrolled embeddings of a person."""
        person, templates = self._templates_of(person)
        return templates.enrolled_of(person)

    def _check_anybody(self, templates):
        if not templates.names:
            raise ValueError(
                Message("Nobody is enrolled in {path}. Use {enroll()} first.", path=self.path)
            )


def _rates(threshold):
    """Returns the fields of a result that describe its `Threshold`, or None."""
    if threshold is None:
        return {}
    names = ("far", "extrapolated", "provisional")
    return {name: getattr(threshold, name) for name in names}


def _without(rows, z, left_out):
    """Returns indices of recordings and their embeddings without those at some positions."""
    positions = [i for i in range(len(rows)) if i not in left_out]
    return rows[positions], z[positions]


def _check_path(path, model):
    if not isinstance(path, str | os.PathLike):
        raise TypeError(
            Message(
                "{path} is {value!r}, but it must be the path of a gallery's file, or the URL of a "
                "database.",
                value=path,
            )
        )
    if is_url(path):
        return
    path = pathlib.Path(path)
    if path.is_dir():
        raise ValueError(f"{path} is a folder. Name a file in it, such as {path}/people.db.")
    if model is None and not path.exists():
        raise ValueError(
            Message(
                "{file} is a new gallery, and a new gallery needs a model. Set {model}, such as to "
                "gait_qp_wl.",
                file=path,
            )
        )
