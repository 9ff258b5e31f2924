"""People enrolled under one model."""

from __future__ import annotations

import datetime
import os
import pathlib

import numpy as np

from keras_dml.gallery import _reading
from keras_dml.gallery._backups import backup
from keras_dml.gallery._calibration import warn_of_fewer, warn_of_more
from keras_dml.gallery._cohesion import apart
from keras_dml.gallery._decisions import Decisions
from keras_dml.gallery._explanations import Explanations
from keras_dml.gallery._listens import Listens
from keras_dml.gallery._model import GalleryModel
from keras_dml.gallery._names import checked_name, recording_id
from keras_dml.gallery._places import is_url
from keras_dml.gallery._recordings import Recordings
from keras_dml.gallery._repeats import compared, warn_of_repeats
from keras_dml.gallery._results import Enrollment, GalleryInfo
from keras_dml.gallery._sharing import Sharing
from keras_dml.gallery._store import Store
from keras_dml.gallery._templates import Templates
from keras_dml.gallery._tries import DEFAULT, Tries
from keras_dml.gallery._without_model import described


class Gallery(Decisions, Explanations, Listens, Recordings, Sharing):
    """People enrolled under one model: who is it, is it the one who is claimed, or a stranger?

    They are kept in a SQLite file, read into memory and compared exactly; or in a database of a
    PostgreSQL server with pgvector (extra `postgres`), whose index names the 200 nearest templates,
    which are compared exactly. Nothing else differs.

    What a method returned is kept, also if the process is killed in the next instant; a call that
    was interrupted left nothing. Several processes may use the file at once. It holds embeddings,
    names and thresholds: personal data. With a key the embeddings are encrypted (AES-256-GCM);
    names, numbers of recordings, dates and thresholds are not, so enroll people under numbers where
    their names must not be read; and neither is a server's index, so keep its disk encrypted.

    A score is the mean over the recordings observed of the least distance to those enrolled of a
    person (Abdelwahab2019, section 6); smaller is closer. Nothing is enrolled but by `enroll`.

    Args:
        path: Path of the gallery's file; a new one is created, readable by its owner alone. Or
            `"postgresql://user:password@host:port/database"`, one gallery a database.
        model: A `keras.Model` whose head names a distance, or the name or path of one, as
            `keras_dml.zoo.load` takes it. None: the one that the gallery names.
        key: What encrypts the embeddings: 32 random bytes; the path of a file of them, raw or in
            base64 (`(umask 077; openssl rand -base64 32 > family.key)`); or `"keyring:NAME"`, what
            `keyring set keras-dml NAME` was given. None: what the environment variable
            KERAS_DML_GALLERY_KEY holds; without it nothing is encrypted.
        keys: On a server and with a key, path of the file of the people's keys: apart from the
            server and its backups, so that who is removed is forgotten there too.
        tries: `Tries`: how many claims of a person and a client may be rejected, and how long the
            pauses after them are. None: claims are not counted, for experiments of your own.

    Raises:
        TypeError: If `tries` is invalid, `model` is neither a model nor a name, or `path` is none.
        ValueError: If the file is no gallery, is damaged, is another model's or of another key; or
            a new gallery is given no model.
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

    def __init__(self, path, model=None, *, key=None, keys=None, tries=DEFAULT):
        _check_path(path, model)
        if not isinstance(tries, Tries | None):
            raise TypeError(f"`tries` must be Tries or None. Received {type(tries).__name__}.")
        found = None if model is None else GalleryModel(model)  # before a file is made for it
        self._store = Store(path, key, keys)
        try:
            self._model = self._checked_model(found)
            self._store.check()
        except BaseException:
            self.close()
            raise
        self._claims = self._store.claims(tries)
        self._known = self._changes = None

    def _checked_model(self, found):
        about = self._store.about()
        if found is None and not about:
            raise ValueError(f"{self.path} names no model: give the one of its people.")
        found = GalleryModel(about["model"]) if found is None else found
        created = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        mine = {"model": found.name, "fingerprint": found.fingerprint, "created": created}
        about = self._store.describe(mine, found.index)
        self._about = {name: about[name] for name in ("model", "fingerprint")}
        if about["fingerprint"] != found.fingerprint:
            enrolled, marked, _ = self._store.counts()
            if not enrolled and not marked:
                remedy = "drop its schema keras_dml" if self._store.is_server else "remove the file"
                raise ValueError(
                    f"{self.path} was made for the model {about['model']!r}; received "
                    f"{found.name!r}. Nobody is enrolled in it: {remedy} and repeat this, or name "
                    "another gallery."
                )
            raise ValueError(
                f"The people of {self.path} are enrolled under the model {about['model']!r} of "
                f"fingerprint {about['fingerprint'][:12]}; received {found.name!r} of "
                f"{found.fingerprint[:12]}. Embeddings of two models cannot be compared: open the "
                "gallery with its model, or enroll kept recordings in a new one, "
                "`Gallery(new_path, model)`."
            )
        return found

    @property
    def path(self):
        """Path of the file, or the URL without its password."""
        return self._store.path

    @property
    def model(self):
        """The `keras.Model`."""
        return self._model.model

    @property
    def thresholds(self):
        """`Threshold` by false accept rate, those that `calibrate` has set."""
        return self._store.thresholds()

    @property
    def reading(self) -> dict:
        """Options by which the files of the first enrollment were read, `{name: value}`: the
        `channels`, `rate_hz`, `time`, `time_unit` and `max_gap` of `keras_dml.recordings.read`,
        `resample`, and the `units` of the files."""
        return _reading.checked(self._store.about().get(_reading.NAME))

    def remember_reading(self, options: dict) -> None:
        """Keeps the options by which files were read, unless the gallery has some already.

        Args:
            options: See `reading`. Values that are None are left out.

        Raises:
            ValueError: If an option is unknown or invalid.
        """
        options = {name: value for name, value in options.items() if value is not None}
        if options != _reading.checked(options):
            raise ValueError(
                f"`options` must be valid values of {', '.join(_reading.VALID)}. Received "
                f"{options!r}."
            )
        if options:
            self._store.remember(_reading.NAME, options)

    def close(self):
        """Closes the file or the connection; the gallery cannot be used afterwards."""
        self._store.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def people(self) -> dict[str, int]:
        """Number of enrolled recordings by person, in the order of the names."""
        return self._store.people()

    def enroll(self, person: str, recordings) -> Enrollment:
        """Enrolls recordings of a person, known or new.

        A recording that is `unfit` is refused. Where thresholds are set, so is one that is further
        than the largest of them from every other recording of the person, those enrolled and those
        that are as near to these as that: it would not be accepted as this person's. Of somebody
        new the largest group of recordings so near to each other is enrolled.

        A recording that is given twice or enrolled already counts once, which `repeated` and a
        `UserWarning` say. A recording that is enrolled as another person, or marked as not this
        person's, is refused. Recordings are compared by their embeddings, so that a copy under
        another name or in another format is noticed.

        Args:
            person: Name, of 1 to 200 printable characters.
            recordings: Recordings as `keras_dml.embed` takes them, one array or a list.

        Returns:
            `Enrollment`: what was kept, what was refused and why.

        Raises:
            ValueError: If the name is none, or there are no recordings.
        """
        person = checked_name(person)
        listed = self._listed(recordings)
        refused, repeated = self._model.refused(listed), {}
        rows = np.array([i for i in range(len(listed)) if i not in refused], int)
        if len(rows):
            z = self._model.embed([listed[i] for i in rows])
            again, reasons = compared(person, z, self._near_to([person], z))
            repeated = {
                int(rows[row]): first if first is None else int(rows[first])
                for row, first in again.items()
            }
            refused |= {int(rows[row]): reason for row, reason in reasons.items()}
            rows, z = _without(rows, z, again.keys() | reasons.keys())
        if len(rows):
            apart = self._apart(person, z)
            refused |= {int(rows[row]): reason for row, reason in apart.items()}
            rows, z = _without(rows, z, apart.keys())
        for i in [i for i, first in repeated.items() if first in refused]:
            refused[i] = refused[repeated.pop(i)]
        warn_of_repeats(len(repeated), len(listed))
        added = tuple(rows.tolist())
        if not added:
            total = self.people().get(person, 0)
            return Enrollment(person, added, refused, total, repeated=repeated)
        ids = tuple(recording_id(one.tobytes()) for one in z.astype("<f4"))
        total = self._store.add(person, z)
        warn_of_more({person: total}, self._rates())
        return Enrollment(person, added, refused, total, ids, repeated)

    def check_counts(self, people) -> None:
        """Warns if thresholds were set by people with many more recordings than those enrolled of
        some people, as a `UserWarning`.

        Args:
            people: Names of the people.
        """
        counts = self.people()
        warn_of_fewer({name: counts.get(name, 0) for name in people}, self._rates())

    def _rates(self):
        """All that was set by people: thresholds and boundaries."""
        return [*self.thresholds.values(), *self.boundaries.values()]

    def _apart(self, person, z):
        """Why some embeddings do not belong to the others of a person, by row."""
        limits = [one.value for one in self.thresholds.values()]
        own = self._read([person]).enrolled_of(person)
        others = np.concatenate([own, z]) if len(own) else z
        if not limits or len(others) < 2:
            return {}
        scores = self._model.distances(z, others)
        scores[np.arange(len(z)), len(own) + np.arange(len(z))] = np.inf
        return {
            row: f"it is {nearest:.4g} from the nearest other recording of {person!r}, more than "
            f"the threshold of {max(limits):.4g}"
            for row, nearest in apart(scores, len(own), max(limits)).items()
        }

    def remove(self, person: str) -> None:
        """Removes a person and all that is stored of them.

        No byte of it stays in a file. On a server their key is destroyed, if the gallery has one,
        and the rows are; what they held is gone from the disk after `purge`, which says where else
        it may be.

        Raises:
            KeyError: If nobody of this name is enrolled.
            TimeoutError: If it was removed, but another process kept the log from being cut.
            OSError: If the disk is full; the message says whether it was removed.
        """
        if not self._store.remove(person):
            raise KeyError(self._unknown(person, self.people()))

    def rename(self, person: str, name: str) -> None:
        """Gives a person another name. Recordings, marks and thresholds stay as they are.

        Args:
            person: A person who is enrolled.
            name: The new name, of 1 to 200 printable characters.

        Raises:
            KeyError: If nobody of the name `person` is enrolled.
            TypeError: If `name` is not a string.
            ValueError: If `name` is invalid, or another person has it.
            TimeoutError: If the person was renamed, but another process kept the log from being
                cut, which still has the old name.
        """
        name = checked_name(name, "name")
        person, _ = self._enrolled(person)
        if not self._store.rename(person, name):
            raise KeyError(self._unknown(person, self.people()))

    def info(self) -> GalleryInfo:
        """Returns facts about the gallery: its model, counts, time, thresholds; no embeddings."""
        return described(self._store)

    def backup(self, path, *, replace=False) -> None:
        """Copies the gallery to a file, see `keras_dml.gallery.backup`."""
        backup(self.path, path, replace=replace)

    def purge(self) -> tuple[str, ...]:
        """Writes all anew without free space, as after many removals.

        Returns:
            Where removed templates may still be, sentences; none of a file. A server keeps a log of
            changes, with the vectors of its index in clear, until it is written over.
        """
        return self._store.purge()

    def _listed(self, recordings):
        listed = self._model.listed(recordings)
        if not listed:
            raise ValueError("`recordings` is empty; give at least one.")
        return listed

    def _templates(self):
        changes = self._store.changes()
        if self._known is None or self._changes != changes:
            self._known, self._changes = self._read(), changes
        return self._known

    def _near(self, probes):
        """Embeddings among which the nearest are, and the number of people they are of."""
        if not self._store.is_server:
            known = self._templates()
            return known, len(known.names)
        names, people = self._store.candidates(probes)
        return self._read(names), people

    def _near_to(self, people, embeddings):
        """`Templates` of people and of those near to embeddings; of a file everybody's."""
        if not self._store.is_server:
            return self._templates()
        names, _ = self._store.candidates(embeddings)
        return self._read([*names, *people])

    def _read(self, people=None):
        names, enrolled, flat = self._store.templates(people)
        shape = self._model.embedding_shape
        if names and flat.shape[1] != np.prod(shape):
            raise ValueError(
                f"{self.path} holds embeddings of {flat.shape[1]} numbers, and its model gives "
                f"{np.prod(shape)}: it is damaged."
            )
        return Templates(names, enrolled, flat.reshape(len(names), *shape))

    def _unknown(self, person, names):
        return (
            f"Nobody named {person!r} is enrolled in {self.path}, which has {len(names)} people: "
            "`people()` lists them."
        )


def _without(rows, z, left_out):
    """Returns indices of recordings and their embeddings without those at some positions."""
    positions = [i for i in range(len(rows)) if i not in left_out]
    return rows[positions], z[positions]


def _check_path(path, model):
    if not isinstance(path, str | os.PathLike):
        raise TypeError(
            "`path` must be the path of a gallery's file, or the URL of a database. Received "
            f"{path!r}."
        )
    if is_url(path):
        return
    path = pathlib.Path(path)
    if path.is_dir():
        raise ValueError(f"{path} is a folder; name a file in it, such as {path}/people.db.")
    if model is None and not path.exists():
        raise ValueError(
            f"{path} is a new gallery: say which model its people are enrolled under, "
            '`Gallery(path, model="gait_qp_wl")`.'
        )
