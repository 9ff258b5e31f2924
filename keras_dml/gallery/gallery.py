"""The class `Gallery`, which stores enrolled people and decides who made a recording."""

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

from keras_dml import _messages, evaluation
from keras_dml import scoring as scorings
from keras_dml._arrays import number, whole
from keras_dml._messages import Message
from keras_dml._typing import ArrayLike, Path, Recordings
from keras_dml.gallery import maintenance, template_files
from keras_dml.gallery.backups import backup
from keras_dml.gallery.boundary import Boundary, compute_boundary
from keras_dml.gallery.calibration import (
    calibrated,
    check_people,
    choose_boundary,
    choose_threshold,
    claimed_recordings,
    everybodys_claims,
    imposter_medians,
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
from keras_dml.gallery.completeness import Completeness, completeness, mean_nearest
from keras_dml.gallery.enrollment import (
    checked_sources,
    find_repeats,
    outliers,
    rows_to_mark,
    rows_to_merge,
    warn_of_repeats,
)
from keras_dml.gallery.listening import Listening, checked_window, common_windows
from keras_dml.gallery.margins import confident_score, second_best_margin
from keras_dml.gallery.model import GalleryModel
from keras_dml.gallery.names import (
    checked_name,
    checked_people,
    composed,
    name_or_none,
    recording_id,
)
from keras_dml.gallery.observations import drop_expired, warn_of_failure
from keras_dml.gallery.proposals import Proposals
from keras_dml.gallery.reading_options import READING_OPTIONS, valid_options
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
from keras_dml.gallery.strangers import Strangers
from keras_dml.gallery.templates import Templates
from keras_dml.gallery.tries import DEFAULT, Tries, checked_client

if TYPE_CHECKING:
    from keras_dml import inputs
    from keras_dml._backend import keras
    from keras_dml.explanations import Explanation
    from keras_dml.gallery.mean_template import MeanTemplate

MOST_COMPARED = 50  # number of people on whose recordings `Scale.to_itself` is measured


class Gallery:
    """People enrolled under one model, for verification and identification.

    A gallery stores templates, the embeddings of enrolled recordings. A gallery is a SQLite file or
    a database on a PostgreSQL server with the extension pgvector (extra `postgres`). For a gallery
    in a file, all templates are read into memory, and each recording is compared with all
    templates. On a server, an index finds the 200 templates nearest to a recording, and the
    recording is compared only with the people who own these templates. The scores are exact for
    galleries in files and for galleries on servers.

    After a method has returned, its changes remain even if the process is killed. An interrupted
    call changes nothing. Several processes may use a gallery at the same time. A gallery contains
    personal data: embeddings, names and thresholds. If a key is given, the embeddings are encrypted
    (AES-256-GCM). Names, numbers of recordings, dates and thresholds are never encrypted. Enroll
    people under numbers if their names are secret. The index on a server is never encrypted, so
    encrypt the disk of the server.

    The scoring computes the score of a person, see `keras_dml.scoring`. With the scoring `nearest`,
    the score is the distance to the nearest enrolled recording of the person, averaged over the
    observed recordings. A smaller score means a better match. Only `enroll`, `merge`,
    `proposals.accept` and `strangers.name` add enrolled recordings.

    Args:
        path: Path of the gallery's file, or the URL of a database,
            `"postgresql://user:password@host:port/database"`. A file that does not exist is created
            and is readable only by its owner. A database contains one gallery.
        model: A `keras.Model` whose head has a distance, or the name or path of a model, see
            `keras_dml.zoo.load`. Default: the model with which the gallery was made.
        key: Key that encrypts the embeddings: 32 random bytes, the path of a file, or
            `"keyring:NAME"`. The file contains the 32 bytes, raw or in base64. `"keyring:NAME"`
            selects the password that `keyring set keras-dml NAME` stored. To write a key file, run
            `(umask 077; openssl rand -base64 32 > family.key)`. Default: the value of the
            environment variable KERAS_DML_GALLERY_KEY. If the environment variable is not set,
            nothing is encrypted.
        keys: Path of the file with one key per person. Only an encrypted gallery on a server needs
            a file of keys. Keep the file of keys outside the server and its backups. If a person is
            removed, the person's templates in the backups then become unreadable.
        tries: Object that limits rejected claims per person and client. If None, claims are not
            counted. Use `tries=None` only in experiments.
        scoring: Scoring of a new gallery, `"nearest"`, `"mean"` or `"two_covariance"`. Default: the
            scoring with which the gallery was made, or for a new gallery the scoring in the model
            card. Thresholds are valid only for one scoring, so the scoring cannot be changed.

    Attributes:
        scoring: Name of the scoring.
        proposals: The `Proposals`, accepted recordings that are proposed as further templates.
        strangers: The `Strangers`, recordings of unknown people that are kept for a limited time.

    Raises:
        TypeError: If `path`, `model` or `tries` has the wrong type.
        ValueError: If the file is not a gallery or is damaged, if the gallery has another model,
            key or scoring, if the model does not support the scoring, or if `model` is missing for
            a new gallery.
        OSError: If the file or the server cannot be used.

    Example:
        >>> import tempfile
        >>> rng = np.random.default_rng(0)
        >>> scale, time = [0.5, 0.4, 0.4, 60, 170, 80], np.arange(200)[:, None]
        >>> def walks(pace):
        ...     return [
        ...         scale * (np.sin(pace * time + np.arange(6)) + rng.normal(0, 0.1, (200, 6)))
        ...         for _ in range(8)
        ...     ]
        >>> folder = tempfile.TemporaryDirectory()
        >>> gallery = Gallery(f"{folder.name}/family.db", model="gait_lda")
        >>> gallery.enroll("alice", walks(0.05)).enrolled
        8
        >>> gallery.enroll("bob", walks(0.1)).enrolled
        8
        >>> gallery.identify(walks(0.1), threshold=-0.9).person
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
        scoring: str | None = None,
    ):
        _check_path(path, model)
        if not isinstance(tries, Tries | None):
            raise TypeError(
                Message(
                    "{tries} is of type {type}, but it must be Tries or None.",
                    type=type(tries).__name__,
                )
            )
        rule = None if scoring is None else scorings.get(scoring)
        loaded = None if model is None else self._load(model)  # before a file is created
        if rule is not None and loaded is not None:
            rule.check(loaded)
        self._records = Records(path, key, keys)
        try:
            self._model = self._checked_model(loaded, scoring)
            self._records.check()
        except BaseException:
            self.close()
            raise
        self._claims = self._records.claims(tries)
        self.proposals: Proposals = Proposals(self)
        self.strangers: Strangers = Strangers(self)
        self._cached_templates = self._cached_changes = None
        self._cached_scale = None, None  # templates, and the scale of their scores

    def _load(self, model: keras.Model | Path) -> GalleryModel:
        from keras_dml.gallery.keras_model import KerasModel  # loads Keras

        return KerasModel(model)

    def _checked_model(self, model, scoring):
        about = self._records.about()
        if model is None and not about:
            raise ValueError(
                Message(
                    "The gallery {path} names no model. Set {model} to the model with which the "
                    "people of the gallery were enrolled.",
                    path=self.path,
                )
            )
        model = self._load(about["model"]) if model is None else model
        if not about:
            scoring = scorings.card_scoring(model.card) if scoring is None else scoring
            scorings.get(scoring).check(model)
        created = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        facts = {"model": model.name, "fingerprint": model.fingerprint, "created": created}
        about = self._records.describe({**facts, "scoring": scoring}, model.index)
        self._about = {name: about[name] for name in ("model", "fingerprint")}
        if about["fingerprint"] != model.fingerprint:
            enrolled, marked, _ = self._records.counts()
            if not enrolled and not marked:
                raise ValueError(
                    f"Received the model {model.name!r}, but {self.path} was made for the model "
                    f"{about['model']!r}. Nobody is enrolled in this gallery. Either "
                    f"{self._records.removal} and try again, or name another gallery."
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
        self._scoring = scorings.get(about.get("scoring", scorings.DEFAULT))
        if scoring not in (None, self.scoring):
            raise ValueError(
                Message(
                    "{scoring} is {value!r}, but {path} was made for the scoring {expected!r}. "
                    "Thresholds are valid only for one scoring. Open the gallery without "
                    "{scoring}, or enroll the recordings in a new gallery.",
                    value=scoring,
                    path=self.path,
                    expected=self.scoring,
                )
            )
        self._scoring.check(model)
        return model

    @property
    def scoring(self) -> str:
        """Name of the scoring, see `keras_dml.scoring`."""
        return self._scoring.name

    @property
    def path(self) -> Path:
        """Path of the file, or the URL without its password."""
        return self._records.path

    @property
    def model(self) -> keras.Model:
        """The `keras.Model` of the gallery."""
        return self._model.model

    @property
    def inputs(self) -> inputs.Signals | inputs.Matrices | inputs.Images:
        """Object that checks recordings for the model of the gallery."""
        return self._model.inputs

    @property
    def thresholds(self) -> dict[float, Threshold]:
        """Thresholds that `calibrate` has set, `{false accept rate: Threshold}`."""
        return self._records.thresholds()

    @property
    def boundaries(self) -> dict[float, Boundary]:
        """Decision thresholds of `listen`, `{false match rate: Boundary}`."""
        return self._records.boundaries()

    @property
    def provisional(self) -> dict[float, Threshold]:
        """Thresholds in the model card, `{false accept rate: threshold}`.

        The gallery uses the thresholds of the card until `calibrate` sets a threshold. The card's
        false accept rates were measured on the people that the card describes. The rates are valid
        for similar people and recordings.
        """
        return provisional(self._card)

    @property
    def _card(self):
        """The model card with the thresholds of the gallery's scoring, or None."""
        return scorings.card_for(self._model.card, self.scoring)

    @property
    def deciding(self) -> Threshold | None:
        """Threshold that `verify` uses if the caller gives neither `far` nor `threshold`.

        If thresholds were calibrated, the threshold for the smallest false accept rate is used. If
        nothing was calibrated, the model card's threshold for a false accept rate of 1 % is used.
        None if no threshold exists.
        """
        return self._deciding(self.thresholds)

    def _deciding(self, thresholds):
        card_thresholds = self.provisional
        if not thresholds and not card_thresholds:
            return None
        return choose_threshold(thresholds, None, card_thresholds)

    @property
    def reading(self) -> dict[str, Any]:
        """Options with which the files of the first enrollment were read, `{name: value}`.

        The options `channels`, `rate_hz`, `time`, `time_unit` and `max_gap` are arguments of
        `keras_dml.recordings.read`. The dict may also contain the options `resample` and `units`.
        The option `units` contains the units of the files.
        """
        return valid_options(self._records.about().get("reading"))

    def remember_reading(self, options: Mapping[str, Any]) -> None:
        """Stores the options with which files were read, unless the gallery stores options already.

        Args:
            options: Options as in `reading`. Options with the value None are ignored.

        Raises:
            ValueError: If an option is unknown or invalid.
        """
        options = {name: value for name, value in options.items() if value is not None}
        if options != valid_options(options):
            raise ValueError(
                Message(
                    "{options} is {value!r}, but it must be a dictionary with valid values, and "
                    "its keys must be among {names}.",
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

    def __exit__(self, *_: Any) -> None:
        self.close()

    def people(self) -> dict[str, int]:
        """Returns `{person: number of enrolled recordings}`, sorted by name."""
        return self._records.people()

    def info(self) -> GalleryInfo:
        """Returns facts about the gallery, such as the model and the number of people."""
        return maintenance.describe(self._records)

    def completeness(self, person: str) -> Completeness:
        """Says how complete the enrollment of a person is, and what to record next.

        Args:
            person: Name of an enrolled person.

        Raises:
            KeyError: If nobody with this name is enrolled.
        """
        person, templates = self._templates_of(person)
        z = templates.enrolled_of(person)
        return completeness(
            person,
            self._records.sources().get(person, []),
            self._model.card,
            min((limit.enrolled for limit in self._limits() if limit.enrolled), default=None),
            mean_nearest(self._pair_scores(z, z)),
            self._scale(templates),
        )

    def enroll(
        self,
        person: str,
        recordings: ArrayLike | Recordings,
        *,
        days: str | Iterable[str] | None = None,
        devices: str | Iterable[str] | None = None,
    ) -> Enrollment:
        """Enrolls recordings of a new person or of a person who is enrolled already.

        The method refuses recordings that `unfit` reports. If thresholds were calibrated, the
        method also refuses outliers: recordings whose distance to every other recording of the
        person exceeds the largest threshold. `verify` would reject an outlier. If the person is
        already enrolled, the method accepts new recordings that are near to an enrolled recording.
        The method also accepts new recordings that are near to an accepted recording. For a new
        person, the method enrolls the largest group of recordings that are near to each other.

        A recording that is given twice or is already enrolled counts once. `Enrollment.repeated`
        and a `UserWarning` report repeated recordings. The method refuses a recording that is
        enrolled as another person, or that `reject` stored as an imposter of this person.
        Recordings are compared by their embeddings, so copies under another name or in another
        format are detected.

        Args:
            person: Name of the person, 1 to 200 printable characters.
            recordings: One recording or a list of recordings, as in `keras_dml.embed`.
            days: Day on which each recording was made, such as `"2026-03-01"`, or one day for all
                recordings. Default: the day of the enrollment. `completeness` counts the days.
            devices: Device that made each recording, or one device for all recordings. Default:
                unknown.

        Returns:
            An `Enrollment`: the indices of the enrolled and the refused recordings, and the reasons
            for refusals.

        Raises:
            ValueError: If the name is invalid, if `recordings` is empty, or if `days` or `devices`
                has another length.
        """
        person = checked_name(person)
        recordings = self._as_list(recordings)
        sources = checked_sources(days, devices, len(recordings))
        unfit = self._model.refused(recordings)
        rows = [i for i in range(len(recordings)) if i not in unfit]
        if not rows:
            return Enrollment(person, (), unfit, self.people().get(person, 0))
        z = self._model.embed([recordings[i] for i in rows])
        result = self._enroll_embeddings(person, z, [sources[i] for i in rows])
        warn_of_repeats(len(result.repeated), len(recordings))
        if result.kept:
            warn_of_more({person: result.enrolled}, self._limits())
        return dataclasses.replace(
            result,
            kept=tuple(rows[row] for row in result.kept),
            refused=unfit | {rows[row]: reason for row, reason in result.refused.items()},
            repeated={
                rows[row]: first if first is None else rows[first]
                for row, first in result.repeated.items()
            },
        )

    def _enroll_embeddings(self, person, z, sources, observed=()):
        """Enrolls embeddings as `enroll` does. Returns an `Enrollment` with the rows of `z`.

        Args:
            person: Name of the person in composed form.
            z: Embeddings, shape `(count, ...)`.
            sources: `Source` of each recording, or None.
            observed: Numbers of observations that are deleted if a recording is enrolled.
        """
        rows = np.arange(len(z))
        repeated, refused = find_repeats(person, z, self._templates_near([person], z))
        rows, z = _without(rows, z, repeated.keys() | refused.keys())
        if len(rows):
            reasons = self._outliers(person, z)
            refused |= {int(rows[row]): reason for row, reason in reasons.items()}
            rows, z = _without(rows, z, reasons.keys())
        for i in [i for i, first in repeated.items() if first in refused]:
            refused[i] = refused[repeated.pop(i)]
        added = tuple(rows.tolist())
        if not added:
            total = self.people().get(person, 0)
            return Enrollment(person, added, refused, total, repeated=repeated)
        ids = tuple(recording_id(embedding.tobytes()) for embedding in z.astype("<f4"))
        sources = [sources[row] for row in added]
        total = self._records.add(person, z, sources=sources, observed=observed)
        return Enrollment(person, added, refused, total, ids, repeated)

    def _outliers(self, person, z):
        """Returns `{row: reason}` for embeddings too far from the person's other embeddings."""
        limits = [threshold.value for threshold in self.thresholds.values()]
        enrolled = self._read_templates([person]).enrolled_of(person)
        if not limits or len(enrolled) + len(z) < 2:
            return {}
        limit = max(limits)
        if self._scoring.has_means:
            scores = dict(enumerate(self._scores_of_new(z, enrolled)))
            too_far = {row: score for row, score in scores.items() if score > limit}
        else:
            references = np.concatenate([enrolled, z])
            scores = self._model.distances(z, references)
            scores[np.arange(len(z)), len(enrolled) + np.arange(len(z))] = np.inf
            too_far = outliers(scores, len(enrolled), limit)
        measure = "score against the" if self._scoring.has_means else "distance to the nearest"
        plural = "s" if self._scoring.has_means else ""
        return {
            row: Message(
                "its {measure} other recording{plural} of {name!r} exceeds the threshold{scores}",
                measure=measure,
                plural=plural,
                name=person,
                scores=_messages.name("scores", f" ({score:.4g} > {limit:.4g})"),
            )
            for row, score in too_far.items()
        }

    def _scores_of_new(self, z, enrolled):
        """Computes the score of each new recording of a person against the person's enrolled
        recordings, or for a new person against the other new recordings."""
        references = [enrolled] * len(z)
        if not len(enrolled):
            references = [np.delete(z, row, axis=0) for row in range(len(z))]
        pairs = zip(z, references, strict=True)
        return [
            float(self._scoring.scores(self._model, probe[None], stored, [len(stored)])[0])
            for probe, stored in pairs
        ]

    def check_counts(self, people: Iterable[str]) -> None:
        """Emits a `UserWarning` if people have far fewer recordings than the calibration people.

        Args:
            people: Names of the people.
        """
        counts = self.people()
        warn_of_fewer({name: counts.get(name, 0) for name in people}, self._limits())

    def _limits(self):
        """Returns all calibrated thresholds, including the thresholds of `listen`."""
        return [*self.thresholds.values(), *self.boundaries.values()]

    def remove(self, person: str) -> None:
        """Removes a person and everything that is stored about the person.

        In a gallery file, no byte of the person's data remains. On a server, the rows of the person
        are deleted. If the gallery is encrypted, the person's key is destroyed. `purge` removes the
        deleted rows from the disk of the server, and names other places where the rows may remain.

        Args:
            person: Name of an enrolled person.

        Raises:
            KeyError: If nobody with this name is enrolled.
            TimeoutError: If the person was removed, but the log of changes was not truncated
                because another process used the file.
            OSError: If the disk is full. The message states whether the person was removed.
        """
        if not self._records.remove(person):
            raise maintenance.unknown_person(self._records, person)

    def rename(self, person: str, name: str) -> None:
        """Gives a person another name.

        The person's recordings, the recordings that `reject` stored and the thresholds do not
        change.

        Args:
            person: Name of an enrolled person.
            name: New name, 1 to 200 printable characters.

        Raises:
            KeyError: If nobody with the name `person` is enrolled.
            TypeError: If `name` is not a string.
            ValueError: If `name` is invalid, or if another person has this name.
            TimeoutError: If the person was renamed, but the log of changes still contains the old
                name because another process used the file.
        """
        name = checked_name(name, "name")
        person, _ = self._templates_of(person)
        if not self._records.rename(person, name):
            raise maintenance.unknown_person(self._records, person)

    def backup(self, path: Path, *, replace: bool = False) -> None:
        """Copies the gallery to a file, see `keras_dml.gallery.backup`.

        Args:
            path: Path of the copy.
            replace: Whether the copy may replace a gallery at `path`.
        """
        backup(self.path, path, replace=replace)

    def drop_expired(self) -> None:
        """Destroys recordings that `proposals` and `strangers` keep if their time is over.

        The gallery also does this when it is opened, when it keeps a recording, and when kept
        recordings are listed. Call this method from time to time while a gallery stays open.
        """
        drop_expired(self._records, wait=False)

    def purge(self) -> tuple[str, ...]:
        """Rewrites the gallery to free the space that removed people occupied.

        Returns:
            Sentences that name places where removed templates may remain, such as the log of
            changes of a server. Empty for a gallery in a file.
        """
        return self._records.purge()

    def unfit(self, recordings: ArrayLike | Recordings) -> dict[int, str]:
        """Finds recordings that are too poor to be compared.

        A recording is unfit if the model does not accept it. A recording is also unfit if it is
        flat, clipped, interrupted or otherwise unlike the recordings with which the model was
        trained.

        Models that `keras_dml.training.train` made, and models of the zoo whose card has the entry
        `quality`, contain a description of their training recordings. If a model describes its
        training recordings, the gallery refuses unfit recordings before it decides. If a model does
        not describe its training recordings, the gallery refuses only recordings that the model
        cannot take.

        Args:
            recordings: One recording or a list of recordings.

        Returns:
            `{index: reason}` for each unfit recording. Empty if all recordings are fit.

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

        The result contains the score. Do not show the score to the client who makes the claim: an
        attacker could use the score to change a recording step by step until the gallery accepts
        the recording.

        Args:
            person: Name of the claimed person.
            recordings: One recording, or several recordings that were made at the same time. The
                gallery makes one decision for all recordings.
            far: False accept rate that selects a calibrated threshold. Default: the smallest
                calibrated rate.
            threshold: Largest score that is accepted. If given, `threshold` replaces the calibrated
                threshold.
            client: Name of the client that makes the claim, such as a device. The gallery counts
                rejected claims per person and client, see `Tries`. An accepted claim resets the
                count if the default threshold would also accept the claim.

        Returns:
            A `Decision`.

        Raises:
            TooManyTries: If the claim is made during the pause after rejected claims.
            KeyError: If nobody with this name is enrolled.
            ValueError: If the model does not accept a recording, if a recording is `unfit`, or if
                no threshold exists.
        """
        self._claims.check(person, client)  # this check comes first, because it is fast
        thresholds = self.thresholds
        limit, used = self._limit(far, threshold, thresholds)
        person, templates = self._templates_of(person)
        probes = self._embed_fit(recordings)
        scores, denied = templates.scores(self._model, probes, [person])
        score, denied = float(scores[0]), bool(denied[0])  # NumPy rounds `limit`
        accepted = score <= limit and not denied
        resets = accepted and score <= self._strictest(limit, thresholds)
        self._claims.conclude(person, client, resets)
        if accepted:
            with warn_of_failure():
                self.proposals.observe(person, probes, templates)
        rates = {"scale": self._scale(templates), **_rates(used)}
        return Decision(accepted, person, score, limit, denied, **rates)

    def identify(
        self,
        recordings: ArrayLike | Recordings,
        top: int = 5,
        *,
        far: float | None = None,
        threshold: float | None = None,
        margin: float | None = None,
        client: str = "",
    ) -> Identification:
        """Decides which enrolled person made recordings, or whether a stranger made the recordings.

        If the scores of two people differ by at most a margin, the gallery does not decide between
        them. `calibrate` computes the margin from the errors of identification between the
        calibration people. Without a calibration, only equal scores prevent a decision. If neither
        `calibrate` nor the model card has set a threshold, the gallery lists the nearest people
        without a decision.

        Args:
            recordings: One recording, or several recordings that were made at the same time.
            top: Largest number of candidates in the result.
            far: False accept rate that selects a calibrated threshold, as in `verify`. The rate is
                valid if only one person is enrolled. If n people are enrolled, a stranger is
                accepted as one of them up to n times as often.
            threshold: Largest score that is accepted. If given, `threshold` replaces the calibrated
                threshold.
            margin: Difference of scores below which the gallery does not decide between two people.
                Default: the margin of the calibrated threshold.
            client: Name of the client, as in `verify`. If `identify` finds nobody, the gallery
                counts a failed call of `identify` for the nearest person. Failed calls of
                `identify` are counted separately from rejected claims and cause shorter pauses.

        Returns:
            An `Identification`.

        Raises:
            TooManyTries: If the call is made during the pause for the nearest person, see `Tries`.
            ValueError: If nobody is enrolled, if the model does not accept a recording, if a
                recording is `unfit`, or if no threshold was calibrated for the rate `far`.
        """
        top = whole("top", top, minimum=1)
        asks = far is not None or threshold is not None
        thresholds = self.thresholds
        decides = asks or thresholds or self.provisional
        limit, used = self._limit(far, threshold, thresholds) if decides else (None, None)
        client = checked_client(client)
        if margin is None:
            margin = 0.0 if used is None else used.margin
        margin = number("margin", margin, least=0)
        probes = self._embed_fit(recordings)
        templates, people = self._candidates(probes)
        self._check_anybody(templates)
        candidates, tied = templates.nearest(self._model, probes, top, margin)
        nearest = tuple(Candidate(person, score) for person, score in candidates)
        least = nearest[0].score  # the score is infinite if `reject` excludes every person
        is_near = limit is not None and math.isfinite(least) and least <= limit
        tied = tied if is_near and len(tied) > 1 else ()
        person = nearest[0].person if is_near and not tied else None
        if decides:
            resets = person is not None and least <= self._strictest(limit, thresholds)
            self._claims.conclude(nearest[0].person, client, resets, identified=True)
        with warn_of_failure():
            if person is not None:
                self.proposals.observe(person, probes, templates)
            elif used is not None and not tied:
                self.strangers.observe(probes)
        rates = {"scale": self._scale(templates), **_rates(used)}
        if used is not None and used.is_counted and used.among(people) < 1:
            rates["fpir"] = used.among(people)
        return Identification(person, nearest, limit, people, tied=tied, **rates)

    def _limit(self, far, threshold, thresholds):
        """Returns `(score, used)`: the largest accepted score, and the `Threshold` that sets this
        score. `used` is None if the caller gave `threshold`."""
        if threshold is not None:
            if not isinstance(threshold, numbers.Real) or math.isnan(threshold):
                raise ValueError(
                    Message(
                        "{threshold} is {value!r}, but it must be a number (a distance).",
                        value=threshold,
                    )
                )
            return float(threshold), None
        used = choose_threshold(thresholds, far, self.provisional)
        return used.value, used

    def _threshold(self, far):
        """Returns the `Threshold` for a false accept rate, see `choose_threshold`."""
        return choose_threshold(self.thresholds, far, self.provisional)

    def _strictest(self, limit, thresholds):
        """Returns the largest score at which an accepted claim resets the count of rejected claims.

        The returned score is the default threshold, or `limit` if the gallery has no default
        threshold. If a looser threshold could reset the count, an attacker could choose this
        threshold to avoid the pauses.
        """
        deciding = self._deciding(thresholds)
        return limit if deciding is None else deciding.value

    def _scale(self, templates):
        """Returns the `Scale` of the scores, see `Scale.from_card`. None if nobody is enrolled."""
        cached_templates, scale = self._cached_scale  # one read, because other threads change both
        if cached_templates is templates:
            return scale
        first = [templates.enrolled_of(name)[:1] for name in templates.names[:MOST_COMPARED]]
        scale = None
        if first:
            first = np.concatenate(first)
            singles = self._scoring.summary(self._model, first, np.ones(len(first), int))
            to_itself = np.diag(self._scoring.compare(self._model, singles, singles)).mean()
            scale = Scale.from_card(self._card, to_itself)
        self._cached_scale = templates, scale
        return scale

    def explain(self, person: str, recording: ArrayLike) -> Explanation:
        """Explains which moments and channels of a recording contribute to its distance to a
        person.

        A gallery stores embeddings, not recordings. The explanation therefore contains only moments
        of the observed recording, which is called `"probe"`. For a Wasserstein distance, half of
        the distance is attributed to the moments of the observed recording. The gallery averages
        the scores of several recordings, so explain each recording separately.

        Args:
            person: Name of an enrolled person, such as `decision.person`.
            recording: One recording.

        Returns:
            Explanation of the distance to the nearest enrolled recording of the person, see
            `keras_dml.explain`. The explanation reveals as much about the person as the enrolled
            embedding does.

        Raises:
            KeyError: If nobody with this name is enrolled.
            ValueError: If `recording` is not one recording, or if the model does not accept it.
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
        return self._model.explain(recordings[0], templates.enrolled_of(person))

    def calibrate(
        self,
        recordings: ArrayLike | Recordings,
        people: ArrayLike,
        far: float = 0.01,
        *,
        sessions: ArrayLike | None = None,
        groups: Mapping[Any, Any] | None = None,
        extrapolate: bool = False,
    ) -> Threshold:
        """Sets the threshold that accepts at most a fraction `far` of false claims.

        The method compares every recording with every person. If the recording belongs to the
        person, the comparison is a genuine claim. A genuine claim uses only the person's other
        recordings. A comparison with another person is a false claim. Use people with whom the
        model was not trained. The people need not be enrolled, and this method does not enroll
        them. Give as many recordings per person as you will enroll. With more enrolled recordings,
        the nearest recording is closer, and the false accept rate rises. A recording that is given
        twice counts once. A recording that is given for two people is ignored.

        If at least five people are given, but not enough people for `far`, the method uses the
        threshold for `far` in the model card. The method then adapts the card's threshold to the
        mean and the standard deviation of the scores of false claims. In about nine of ten
        calibrations with an adapted threshold, the false accept rate of other people is at most
        `far`.

        Args:
            recordings: List of recordings.
            people: Name of the person who made each recording.
            far: False accept rate, above 0 and below 1.
            sessions: Session of each recording, such as the day. If a person has recordings from
                several sessions, genuine claims compare only recordings from different sessions.
                Default: a genuine claim is compared with all other recordings of the person.
            groups: Group of each person, `{person: group}`, such as an age group or a sensor. Not
                all people need a group. If groups are given, the result contains the false accept
                rate between people of the same group.
            extrapolate: Whether to extrapolate the threshold if there are too few people for `far`,
                see `keras_dml.evaluation.certificate`.

        Returns:
            The threshold. The gallery also stores the threshold. The confidence intervals depend on
            the number of people, not on the number of recordings. A low rate therefore needs many
            people, and more recordings per person do not help.

        Raises:
            ValueError: If there is only one person, if no person has two recordings, if `groups`
                names none of the people, if a recording is `unfit`, or if there are too few people
                for `far`. If there are too few people, the message states how many people are
                needed.
        """
        recordings, people = self._with_people(recordings, people)
        warn_of_trained(self._model.trained_on, people)
        recordings, people, sessions = without_copies(recordings, people, sessions)
        z = self._model.embed(recordings)
        claims = everybodys_claims(self._model, self._scoring, z, people, sessions)
        threshold = calibrated(
            *claims,
            far,
            groups=groups,
            extrapolate=extrapolate,
            enrolled=usual_count(people),
            card=self._card,
        )
        margin = second_best_margin(
            *(claims[0], claimed_recordings(people, sessions), claims[1] == claims[2]),
            *(threshold.value, threshold.far),
        )
        confident = None
        if not self._scoring.has_means:
            medians = imposter_medians(self._model, self._scoring, z, people)
            confident = confident_score(medians, threshold.far, threshold.value)
        threshold = dataclasses.replace(threshold, margin=margin, confident=confident)
        self._records.set_threshold(threshold)
        warn_of_more(self.people(), [threshold])
        warn_of_fewer(self.people(), [threshold])
        warn_of_low_tar(threshold)
        warn_of_extrapolated(self.thresholds)
        return threshold

    def remove_threshold(self, far: float) -> None:
        """Removes a calibrated threshold.

        If the threshold for the smallest rate is removed, the threshold for the next larger rate
        decides by default.

        Args:
            far: False accept rate of the threshold.

        Raises:
            ValueError: If no threshold was calibrated for the rate `far`.
        """
        thresholds = self.thresholds
        if far not in thresholds:
            raise ValueError(not_calibrated(far, thresholds))
        self._records.remove_threshold(far)

    def evaluate(
        self, recordings: ArrayLike | Recordings, people: ArrayLike
    ) -> evaluation.Verification:
        """Measures the verification of new recordings against all enrolled people (EER, ROC, DET).

        `reject` stores imposter recordings for a person. If a new recording is nearest to an
        imposter recording of a person, the score against this person is set above all other scores.

        Args:
            recordings: List of recordings.
            people: Name of the person who made each recording. All claims by people who are not
                enrolled are false.

        Returns:
            A `keras_dml.evaluation.Verification`, with confidence intervals over people.

        Raises:
            ValueError: If nobody is enrolled, if nobody in `people` is enrolled, if all claims are
                true, or if a recording is `unfit`.
        """
        recordings, people = self._with_people(recordings, people)
        templates = self._templates()
        self._check_anybody(templates)
        names = templates.names
        z = self._model.embed(recordings)
        results = [templates.scores(self._model, probe[None], names) for probe in z]
        scores, denied = (np.stack(side) for side in zip(*results, strict=True))
        scores[denied] = np.nextafter(scores.max(), np.inf)  # larger than all other scores
        probes, claims = np.repeat(people, len(names)), np.tile(names, len(recordings))
        return evaluation.verification(
            scores.ravel(), probes == claims, people=(probes, claims), bootstrap=1000
        )

    def listen(self, person: str, *, far: float | None = None, client: str = "") -> Listening:
        """Begins to verify a recording that is not complete yet.

        The claim is accepted as soon as one window of the recording has a low enough score.
        `calibrate_listening` states for which recordings the false match rate is guaranteed.

        Args:
            person: Name of the claimed person.
            far: False match rate for which `calibrate_listening` was called. Default: the smallest
                calibrated rate.
            client: Name of the client, as in `verify`. A claim that ends without a decision counts
                as rejected.

        Returns:
            A `Listening`. Pass each new part of the recording to its method `add`.

        Raises:
            TooManyTries: If the claim is made during the pause after rejected claims.
            KeyError: If nobody with this name is enrolled.
            ValueError: If `calibrate_listening` was not called for the rate `far`, or an earlier
                version of the library set the decision threshold.
        """
        boundaries = self.boundaries
        boundary = choose_boundary(boundaries, far)
        person, _ = self._templates_of(person)
        self._claims.begin(person, client)
        # A claim may reset the count of rejected claims only if it is decided with the boundary for
        # the smallest rate.
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
        """Sets the threshold with which `listen` accepts at most a fraction `far` of false claims.

        On average over new people, the false match rate is at most `far`. The limit `far` does not
        depend on when the claim ends, see `keras_dml.evaluation.promise`.

        The rate is guaranteed if each claim consists of one recording, and this recording has at
        most as many windows as the shortest of `recordings`. The guarantee remains valid if an
        imposter repeats windows of the recording, leaves windows out or changes their order. The
        rate is not guaranteed if an imposter tries several recordings, changes a recording until it
        is accepted, or uses a replayed or forged recording of the person. Each recording that an
        imposter tries is another claim, so limit the number of claims.

        The method compares the windows of every recording with every person. For a genuine claim,
        the method compares a recording with the other recordings of the same person. For a false
        claim, the method compares a recording with all recordings of another person. The method
        needs at least `1 / far - 2` people.

        Args:
            recordings: List of recordings. `listen` decides after at most n windows, where n is the
                number of windows in the shortest recording. Give as many recordings per person as
                you will enroll.
            people: Name of the person who made each recording.
            far: False match rate, above 0 and below 1.
            window: Number of time steps per window. The first decision is possible after one
                window. Default: the input length of the model, if this length is fixed.
            sessions: Session of each recording, see `calibrate`.

        Returns:
            The `Boundary`. The gallery also stores the `Boundary`, which contains the threshold and
            the median time to a decision.

        Raises:
            ValueError: If there is only one person, if no person has two recordings, if there are
                too few people for `far`, if a recording is `unfit` or shorter than a window, or if
                the model does not take recordings.
        """
        recordings, people = self._with_people(recordings, people)
        check_people(people)
        warn_of_trained(self._model.trained_on, people)
        window = checked_window(self.inputs, window)
        recordings, people, sessions = without_copies(recordings, people, sessions)
        check_people(people)
        trajectories = self._trajectories(recordings, people, window, sessions)
        boundary = compute_boundary(*trajectories, far, window)
        contract = self.inputs.contract
        rate_hz = None if contract is None else contract.rate_hz
        boundary = dataclasses.replace(boundary, enrolled=usual_count(people), rate_hz=rate_hz)
        self._records.set_boundary(boundary)
        warn_of_more(self.people(), [boundary])
        warn_of_fewer(self.people(), [boundary])
        return boundary

    def _trajectories(self, recordings, people, window, sessions=None):
        """Computes the scores of all windows for genuine and false claims.

        Returns:
            `(scores, probes, claims)`: scores of shape `(claims, windows)`, the person who made the
            recording of each claim, and the claimed person.
        """
        count = common_windows(recordings, window)
        z, hidden = self._model.embed(recordings), not_enrolled(people, sessions)
        order = np.argsort(people, kind="stable")
        scores, probes, claims = [], [], []
        for i, recording in enumerate(recordings):
            windows = [recording[k * window : (k + 1) * window] for k in range(count)]
            rows = order[~hidden[i][order]]
            names, counts = np.unique(people[rows], return_counts=True)
            observed = self._scoring.summary(self._model, self._model.embed(windows), [1] * count)
            enrolled = self._scoring.summary(self._model, z[rows], counts)
            scores.append(self._scoring.compare(self._model, observed, enrolled).T)
            probes += [people[i]] * len(names)
            claims += names.tolist()
        return np.concatenate(scores), np.array(probes), np.array(claims)

    def reject(self, person: str, recordings: ArrayLike | Recordings) -> None:
        """Stores imposter recordings for a person (hard negatives).

        From then on, `verify` rejects a recording that is nearer to a stored imposter recording
        than to the person's enrolled recordings. Recordings that are already stored are not stored
        again.

        Args:
            person: Name of an enrolled person.
            recordings: One recording or a list of recordings of other people.

        Raises:
            KeyError: If nobody with this name is enrolled.
            ValueError: If the model does not accept a recording, if a recording is `unfit`, or if a
                recording is enrolled as this person.
        """
        person, templates = self._templates_of(person)
        z = self._embed_fit(recordings)
        self._records.add(person, z[rows_to_mark(person, z, templates)], enrolled=False)

    def recordings(self, person: str) -> tuple[str, ...]:
        """Returns the ids of a person's enrolled recordings, in the order of enrollment.

        An id is a digest of the embedding. The embedding cannot be computed from the id. The same
        recording has the same id in all galleries of a model, if the same library (Keras or LiteRT)
        computes the embeddings. Anyone who has a recording can therefore compute its id and find
        out whether the recording is enrolled.

        Args:
            person: Name of an enrolled person.

        Raises:
            KeyError: If nobody with this name is enrolled.
        """
        return tuple(recording_id(z.tobytes()) for z in self._enrolled_of(person))

    def list_recordings(self, person: str) -> tuple[StoredRecording, ...]:
        """Lists the ids and the enrollment times of a person's enrolled recordings.

        Args:
            person: Name of an enrolled person.

        Raises:
            KeyError: If nobody with this name is enrolled.
        """
        person, _ = self._templates_of(person)
        return self._records.stored(person) or ()

    def list_rejections(self, person: str) -> tuple[StoredRecording, ...]:
        """Lists the ids and the times of the recordings that `reject` stored for a person.

        Args:
            person: Name of an enrolled person.

        Raises:
            KeyError: If nobody with this name is enrolled.
        """
        person, _ = self._templates_of(person)
        return self._records.stored(person, enrolled=False) or ()

    def unreject(self, person: str, recordings: str | Iterable[str]) -> None:
        """Removes imposter recordings that `reject` stored for a person.

        Args:
            person: Name of an enrolled person.
            recordings: Id of a recording from `list_rejections`, or a list of ids.

        Raises:
            KeyError: If nobody with this name is enrolled, or if one of the ids does not belong to
                a recording that `reject` stored for this person. After a KeyError, nothing is
                changed.
            TimeoutError: If the recordings were removed, but the log of changes was not truncated
                because another process used the file.
        """
        person, _ = self._templates_of(person)
        maintenance.forget_stored(self._records, person, recordings, enrolled=False)

    def forget(self, person: str, recording: str | Iterable[str]) -> None:
        """Removes an enrolled recording of a person.

        In a file, no byte of the embedding remains. On a server, the embedding stays on the disk
        until `purge`. If this gallery was merged into another gallery or exported to a file, the
        recording remains there.

        Args:
            person: Name of an enrolled person. If the last recording is removed, the person is
                removed.
            recording: Id of the recording, from `Enrollment.ids` or `recordings`, or a list of ids.

        Raises:
            KeyError: If nobody with this name is enrolled, or if the person has no recording with
                one of the ids.
            TimeoutError: If the recording was removed, but the log of changes was not truncated
                because another process used the file.
        """
        person, _ = self._templates_of(person)
        maintenance.forget_stored(self._records, person, recording, enrolled=True)

    def mean_template(self, person: str) -> MeanTemplate:
        """Computes the mean embedding of a person's recordings, for devices with little memory.

        Args:
            person: Name of an enrolled person.

        Raises:
            KeyError: If nobody with this name is enrolled.
            ValueError: If no mean templates exist for the model's distance, see `MeanTemplate`.
        """
        from keras_dml.gallery.mean_template import MeanTemplate  # loads Keras

        return MeanTemplate.from_embeddings(self._model.distance, self._enrolled_of(person))

    def export_templates(self, path: Path) -> None:
        """Writes all templates (stored embeddings) to a file that `merge` or a device can read.

        The `.npz` file contains the arrays `header`, `people`, `enrolled` and `embeddings`. The
        array `header` is JSON text with the format, its version, the model and its fingerprint.
        Only the owner of the file may read it. The file is not encrypted.

        Args:
            path: Path of the file. An existing file is replaced.

        Raises:
            ValueError: If `path` is not a valid path, or is the path of this gallery.
            OSError: If the file cannot be written.
        """
        if all(map(os.path.exists, (path, self.path))) and os.path.samefile(path, self.path):
            raise ValueError(f"{path} is the gallery itself. Give the path of another file.")
        people, enrolled, flat = self._records.templates()
        z = flat.reshape(len(people), *self._model.embedding_shape)
        template_files.write(path, self._about, people, enrolled, z)

    def merge(self, other: Gallery | Path) -> dict[str, int]:
        """Adds the people of another gallery that has the same model.

        Recordings whose embeddings this gallery already contains are not added again. The
        thresholds of this gallery do not change. A recording that is too far from the person's
        other recordings is left out with a `UserWarning`, as in `enroll`. Leaving out distant
        recordings prevents attackers from adding their own recordings to a person who is enrolled
        here.

        The days and devices of recordings are also added, but a file that `export_templates` has
        written does not contain them. Recordings of such a file count as enrolled directly, even if
        a proposal added them to the other gallery.

        Args:
            other: The other gallery, which is not changed, or the path of a file that
                `export_templates` has written.

        Returns:
            `{person: number of added recordings}`.

        Raises:
            TypeError: If `other` is neither a `Gallery` nor a path.
            ValueError: If `other` has another model, if the file is invalid, if a recording is
                enrolled as two people, or if a recording is both enrolled as a person and stored as
                an imposter of this person. After a ValueError, nothing is added.
        """
        if isinstance(other, Gallery):
            source, about = other.path, other._about
            people, enrolled, embeddings = other._records.templates()
            sources = _sources_of_rows(people, enrolled, other._records.sources())
        elif isinstance(other, str | os.PathLike):
            source = other
            about, people, enrolled, embeddings = template_files.read(other)
            sources = [None] * len(people)
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
        added = self._records.add_all(
            [people[row] for row in rows], enrolled[rows], z[rows], [sources[row] for row in rows]
        )
        if added:
            warn_of_more(self.people(), self._limits())
        return added

    def _without_outliers(self, source, rows, people, enrolled, z):
        """Leaves out rows of another gallery if `enroll` would refuse the recordings in these rows.

        Args:
            source: Path of the other gallery, for the warning.
            rows: Rows of templates that this gallery does not contain yet.
            people: Name of the person of each template of the other gallery.
            enrolled: True for enrolled templates, False for templates that `reject` stored.
            z: Embeddings of the other gallery, shape `(count, ...)`.
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
        """Returns recordings as a list. Raises `ValueError` if a recording is `unfit`."""
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
        """Returns the `Templates` of all people. Reads the gallery again only if it has changed."""
        changes = self._records.changes()
        if self._cached_templates is None or self._cached_changes != changes:
            self._cached_templates, self._cached_changes = self._read_templates(), changes
            self._cached_scale = None, None
        return self._cached_templates

    def _candidates(self, probes):
        """Returns the `Templates` of the people nearest to `probes`, and the number of all
        people."""
        candidates = self._records.candidates(probes)
        if candidates is None:
            templates = self._templates()
            return templates, len(templates.names)
        names, people = candidates
        return self._read_templates(names), people

    def _templates_near(self, people, embeddings):
        """Returns the `Templates` of `people`, and of people whose templates are near to
        `embeddings`.

        For a gallery in a file, the result contains all people.
        """
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
        return Templates(names, enrolled, flat.reshape(len(names), *shape), self._scoring)

    def _templates_of(self, person) -> tuple[str, Templates]:
        """Returns the stored form of a person's name, and the `Templates` of this person."""
        name = name_or_none(person)
        if name is not None:
            templates = self._read_templates([name])
            if name in templates.names:
                return name, templates
        raise maintenance.unknown_person(self._records, person)

    def _single_scores(self, z, enrolled):
        """Returns the score of each recording against the enrolled recordings of one person.

        Args:
            z: Embeddings of the recordings, shape `(count, ...)`.
            enrolled: Embeddings of the person's recordings, at least one.
        """
        person = self._scoring.summary(self._model, enrolled, [len(enrolled)])
        return self._scoring.compare(self._model, self._singles(z), person)[:, 0]

    def _pair_scores(self, z, stored):
        """Returns the score of each recording against each of several recordings as the only
        enrolled recording, shape `(recordings, stored)`."""
        return self._scoring.compare(self._model, self._singles(z), self._singles(stored))

    def _check_pairs(self):
        """Raises `ValueError` if the threshold does not hold for pairs of single recordings."""
        if self._scoring.has_means:
            raise ValueError(
                Message(
                    "The scoring of the gallery is {value!r}, but recordings are kept only in a "
                    "gallery with the scoring 'nearest'. Other scorings compare means, so their "
                    "thresholds do not hold for pairs of single recordings. Enroll the people in a "
                    "new gallery with the scoring 'nearest'.",
                    value=self.scoring,
                )
            )

    def _singles(self, z):
        """Returns a summary with one set per recording."""
        return self._scoring.summary(self._model, z, np.ones(len(z), int))

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
    """Returns the fields of a result that describe the threshold, or an empty dictionary if the
    threshold is None."""
    if threshold is None:
        return {}
    names = ("far", "extrapolated", "provisional")
    return {name: getattr(threshold, name) for name in names}


def _sources_of_rows(people, enrolled, sources):
    """Returns the `Source` of each template, or None for templates that `reject` stored.

    Args:
        people: Name of the person of each template.
        enrolled: True for enrolled templates.
        sources: `Source` of each enrolled recording, `{person: sources}`.
    """
    remaining = {person: iter(each) for person, each in sources.items()}
    return [
        next(remaining[person]) if is_enrolled else None
        for person, is_enrolled in zip(people, enrolled, strict=True)
    ]


def _without(rows, z, left_out):
    """Removes the entries at the positions `left_out` from `rows` and from `z`."""
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
                "{file} is a new gallery, and a new gallery needs a model. Set {model}, for "
                "example to gait_qp_wl.",
                file=path,
            )
        )
