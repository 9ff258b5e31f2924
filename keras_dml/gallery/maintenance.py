"""Functions that manage a gallery without loading its model. The functions also work if the model
is lost.

The functions list, rename and remove people, purge a gallery, and check that the gallery can decide
on claims.
"""

from __future__ import annotations

import contextlib
import pathlib
from collections.abc import Iterable, Iterator

from keras_dml import _messages
from keras_dml import scoring as scorings
from keras_dml._messages import Message
from keras_dml._typing import Path
from keras_dml.gallery.calibration import (
    card_by_name,
    choose_boundary,
    choose_threshold,
    not_calibrated,
    provisional_by_name,
)
from keras_dml.gallery.completeness import Completeness, completeness
from keras_dml.gallery.names import checked_name
from keras_dml.gallery.reading_options import valid_options
from keras_dml.gallery.records import Records
from keras_dml.gallery.results import GalleryInfo, StoredRecording, Threshold
from keras_dml.gallery.tries import DEFAULT


def people(
    path: Path, *, key: bytes | Path | None = None, keys: Path | None = None
) -> dict[str, int]:
    """Returns `{person: number of enrolled recordings}`, sorted by name. Loads no model.

    Args:
        path: Path of a gallery's file, or the URL of a database.
        key: Key of an encrypted gallery, see `Gallery`.
        keys: Path of the file with the people's keys, see `Gallery`.

    Raises:
        FileNotFoundError: If the gallery does not exist.
        ValueError: If the file is not a gallery or is damaged.
        OSError: If the gallery cannot be used.
    """
    with _opened(path, key, keys) as records:
        return records.people()


def states(
    path: Path, *, key: bytes | Path | None = None, keys: Path | None = None
) -> dict[str, Completeness]:
    """Returns `{person: Completeness}`, sorted by name and without cohesion. Loads no model.

    Args:
        path: Path of a gallery's file, or the URL of a database.
        key: Key of an encrypted gallery, see `Gallery`.
        keys: Path of the file with the people's keys, see `Gallery`.

    Raises:
        FileNotFoundError, ValueError, OSError: See `people`.
    """
    with _opened(path, key, keys) as records:
        sources, card = records.sources(), card_by_name(records.about().get("model"))
        limits = [*records.thresholds().values(), *records.boundaries().values()]
        enrolled = min((limit.enrolled for limit in limits if limit.enrolled), default=None)
        return {
            name: completeness(name, sources.get(name, []), card, enrolled)
            for name in records.people()
        }


def remove(
    path: Path, person: str, *, key: bytes | Path | None = None, keys: Path | None = None
) -> None:
    """Removes a person and all data about the person, see `Gallery.remove`. Loads no model.

    Args:
        path: Path of a gallery's file, or the URL of a database.
        person: Name of the person.
        key: Key of an encrypted gallery, see `Gallery`.
        keys: Path of the file with the people's keys, see `Gallery`.

    Raises:
        FileNotFoundError: If the gallery does not exist.
        KeyError: If nobody with this name is enrolled.
        ValueError: If the file is not a gallery or is damaged.
        TimeoutError: If the person was removed, but the log of changes was not truncated because
            another process used the file.
        OSError: If the gallery cannot be used.
    """
    with _opened(path, key, keys) as records:
        if not records.remove(person):
            raise unknown_person(records, person)


def rename(
    path: Path,
    person: str,
    name: str,
    *,
    key: bytes | Path | None = None,
    keys: Path | None = None,
) -> None:
    """Gives a person another name, see `Gallery.rename`. Loads no model.

    Args:
        path: Path of a gallery's file, or the URL of a database.
        person: Name of the person.
        name: New name of the person.
        key: Key of an encrypted gallery, see `Gallery`.
        keys: Path of the file with the people's keys, see `Gallery`.

    Raises:
        FileNotFoundError: If the gallery does not exist.
        KeyError: If nobody with this name is enrolled.
        TypeError: If the new name is not a string.
        ValueError: If the new name is invalid, if another person has this name, or if the file is
            not a gallery or is damaged.
        OSError: If the gallery cannot be used.
    """
    name = checked_name(name, "name")
    with _opened(path, key, keys) as records:
        if not records.rename(person, name):
            raise unknown_person(records, person)


def list_recordings(
    path: Path, person: str, *, key: bytes | Path | None = None, keys: Path | None = None
) -> tuple[StoredRecording, ...]:
    """Lists the enrolled recordings of a person, see `Gallery.list_recordings`. Loads no model.

    Args:
        path: Path of a gallery's file, or the URL of a database.
        person: Name of the person.
        key: Key of an encrypted gallery, see `Gallery`.
        keys: Path of the file with the people's keys, see `Gallery`.

    Raises:
        FileNotFoundError: If the gallery does not exist.
        KeyError: If nobody with this name is enrolled.
        ValueError: If the file is not a gallery or is damaged.
        OSError: If the gallery cannot be used.
    """
    return _list_stored(path, person, True, key, keys)


def list_rejections(
    path: Path, person: str, *, key: bytes | Path | None = None, keys: Path | None = None
) -> tuple[StoredRecording, ...]:
    """Lists the imposter recordings that are stored for a person, see `Gallery.list_rejections`.
    Loads no model.

    Args:
        path: Path of a gallery's file, or the URL of a database.
        person: Name of the person.
        key: Key of an encrypted gallery, see `Gallery`.
        keys: Path of the file with the people's keys, see `Gallery`.

    Raises:
        FileNotFoundError, KeyError, ValueError, OSError: See `list_recordings`.
    """
    return _list_stored(path, person, False, key, keys)


def forget(
    path: Path,
    person: str,
    recordings: str | Iterable[str],
    *,
    key: bytes | Path | None = None,
    keys: Path | None = None,
) -> None:
    """Removes recordings of a person, see `Gallery.forget`. Loads no model.

    Args:
        path: Path of a gallery's file, or the URL of a database.
        person: Name of the person. If the last recording is removed, the person is removed.
        recordings: Id of a recording from `list_recordings`, or several ids.
        key: Key of an encrypted gallery, see `Gallery`.
        keys: Path of the file with the people's keys, see `Gallery`.

    Raises:
        FileNotFoundError: If the gallery does not exist.
        KeyError: If nobody with this name is enrolled, or if the person has no recording with one
            of the ids. After a KeyError, nothing is removed.
        ValueError: If `recordings` is empty, or if the file is not a gallery or is damaged.
        TimeoutError: If the recordings were removed, but the log of changes was not truncated
            because another process used the file.
        OSError: If the gallery cannot be used.
    """
    with _opened(path, key, keys) as records:
        forget_stored(records, person, recordings, True)


def unreject(
    path: Path,
    person: str,
    recordings: str | Iterable[str],
    *,
    key: bytes | Path | None = None,
    keys: Path | None = None,
) -> None:
    """Removes imposter recordings that are stored for a person, see `Gallery.unreject`. Loads no
    model.

    Args:
        path: Path of a gallery's file, or the URL of a database.
        person: Name of the person.
        recordings: Id of a recording from `list_rejections`, or several ids.
        key: Key of an encrypted gallery, see `Gallery`.
        keys: Path of the file with the people's keys, see `Gallery`.

    Raises:
        FileNotFoundError, KeyError, ValueError, TimeoutError, OSError: See `forget`.
    """
    with _opened(path, key, keys) as records:
        forget_stored(records, person, recordings, False)


def thresholds(
    path: Path, *, key: bytes | Path | None = None, keys: Path | None = None
) -> dict[float, Threshold]:
    """Returns the calibrated thresholds, `{false accept rate: Threshold}`. Loads no model.

    Args:
        path: Path of a gallery's file, or the URL of a database.
        key: Key of an encrypted gallery, see `Gallery`.
        keys: Path of the file with the people's keys, see `Gallery`.

    Raises:
        FileNotFoundError: If the gallery does not exist.
        ValueError: If the file is not a gallery or is damaged.
        OSError: If the gallery cannot be used.
    """
    with _opened(path, key, keys) as records:
        return records.thresholds()


def remove_threshold(
    path: Path, far: float, *, key: bytes | Path | None = None, keys: Path | None = None
) -> None:
    """Removes a calibrated threshold, see `Gallery.remove_threshold`. Loads no model.

    Args:
        path: Path of a gallery's file, or the URL of a database.
        far: False accept rate of the threshold.
        key: Key of an encrypted gallery, see `Gallery`.
        keys: Path of the file with the people's keys, see `Gallery`.

    Raises:
        FileNotFoundError: If the gallery does not exist.
        ValueError: If no threshold was calibrated for the rate `far`, or if the file is not a
            gallery or is damaged.
        OSError: If the gallery cannot be used.
    """
    with _opened(path, key, keys) as records:
        rates = records.thresholds()
        if far not in rates:
            raise ValueError(not_calibrated(far, rates))
        records.remove_threshold(far)


def info(path: Path, *, key: bytes | Path | None = None, keys: Path | None = None) -> GalleryInfo:
    """Returns facts about a gallery, see `Gallery.info`. Loads no model.

    Args:
        path: Path of a gallery's file, or the URL of a database.
        key: Key of an encrypted gallery, see `Gallery`.
        keys: Path of the file with the people's keys, see `Gallery`.

    Raises:
        FileNotFoundError: If the gallery does not exist.
        ValueError: If the file is not a gallery or is damaged.
        OSError: If the gallery cannot be used.
    """
    with _opened(path, key, keys) as records:
        return describe(records)


def check(
    path: Path,
    person: str | None = None,
    *,
    far: float | None = None,
    decides_by: str | None = None,
    client: str | None = None,
    key: bytes | Path | None = None,
    keys: Path | None = None,
) -> None:
    """Checks that a gallery can decide on a claim. Loads no model.

    Args:
        path: Path of a gallery's file, or the URL of a database.
        person: Name of a person who must be enrolled. If None, no person is checked.
        far: False accept rate of the threshold that must exist. Default: the smallest rate.
        decides_by: `"threshold"` if a threshold of `verify` must exist, `"boundary"` if a threshold
            of `listen` must exist. If None, no threshold is checked.
        client: Name of a client that will claim to be `person`. The client must not be in a pause
            after rejected claims, see `Gallery.verify`. If None, the function does not check for a
            pause.
        key: Key of an encrypted gallery, see `Gallery`.
        keys: Path of the file with the people's keys, see `Gallery`.

    Raises:
        FileNotFoundError: If the gallery does not exist.
        KeyError: If nobody with this name is enrolled.
        TooManyTries: If the client must wait after rejected claims.
        ValueError: If the threshold does not exist, if the file is not a gallery, or if the gallery
            is damaged or has another key.
        OSError: If the gallery cannot be used.
    """
    with _opened(path, key, keys) as records:
        if decides_by == "threshold":
            about = records.about()
            scoring = about.get("scoring", scorings.DEFAULT)
            card_thresholds = provisional_by_name(about.get("model"), scoring)
            choose_threshold(records.thresholds(), far, card_thresholds)
        if decides_by == "boundary":
            choose_boundary(records.boundaries(), far)
        if person is not None and not records.has(person):
            raise unknown_person(records, person)
        if person is not None and client is not None:
            records.claims(DEFAULT).check(person, client)


def purge(
    path: Path, *, key: bytes | Path | None = None, keys: Path | None = None
) -> tuple[str, ...]:
    """Removes deleted data from the disk, see `Gallery.purge`. Loads no model.

    Args:
        path: Path of a gallery's file, or the URL of a database.
        key: Key of an encrypted gallery, see `Gallery`.
        keys: Path of the file with the people's keys, see `Gallery`.

    Returns:
        Sentences that name places where removed templates may remain. Empty for a gallery in a
        file.

    Raises:
        FileNotFoundError: If the gallery does not exist.
        ValueError: If the file is not a gallery or is damaged.
        OSError: If the gallery cannot be used.
    """
    with _opened(path, key, keys) as records:
        return records.purge()


def exists(path: Path) -> bool:
    """Returns True if `path` is a URL, or is the path of a file that is not empty."""
    file = pathlib.Path(path)
    return "://" in str(path) or (file.exists() and file.stat().st_size > 0)


def check_exists(path: Path) -> None:
    """Raises `FileNotFoundError` if the gallery at a path does not exist."""
    if not exists(path):
        raise FileNotFoundError(f"The gallery {str(path)!r} does not exist.")


@contextlib.contextmanager
def _opened(path, key, keys) -> Iterator[Records]:
    check_exists(path)
    with contextlib.closing(Records(path, key, keys)) as records:
        records.check()
        yield records


def describe(records: Records) -> GalleryInfo:
    """Returns facts about the gallery to which the records belong."""
    about = records.about()
    enrolled, marked, first = records.counts()
    scoring = about.get("scoring", scorings.DEFAULT)
    return GalleryInfo(
        path=str(records.path),
        model=about.get("model"),
        fingerprint=about.get("fingerprint"),
        created=about.get("created", first),
        encrypted=records.is_encrypted,
        people=len(records.people()),
        recordings=enrolled,
        marked=marked,
        reading=valid_options(about.get("reading")),
        thresholds=records.thresholds(),
        boundaries=records.boundaries(),
        provisional=provisional_by_name(about.get("model"), scoring),
        scoring=scoring,
    )


def forget_stored(
    records: Records, person: str, recordings: str | Iterable[str], enrolled: bool
) -> None:
    """Removes recordings of a person by their ids.

    Args:
        records: Records of the gallery.
        person: Name of the person.
        recordings: Id of a recording, or several ids.
        enrolled: True for enrolled recordings, False for recordings that `reject` stored.
    """
    ids = [recordings] if isinstance(recordings, str) else list(recordings)
    if not ids:
        raise ValueError(Message("{recordings} is empty. Give at least one id."))
    if records.stored(person) is None:
        raise unknown_person(records, person)
    if missing := records.forget(person, ids, enrolled):
        raise KeyError(
            Message(
                "{person!r} has no {kind}recording {id!r} in {path}. Nothing was removed. {list} "
                "shows the ids.",
                person=person,
                kind="" if enrolled else "marked ",
                id=missing[0],
                path=records.path,
                list=_messages.name("list_recordings()" if enrolled else "list_rejections()"),
            )
        )


def _list_stored(path, person, enrolled, key, keys):
    with _opened(path, key, keys) as records:
        stored = records.stored(person, enrolled)
        if stored is None:
            raise unknown_person(records, person)
        return stored


def unknown_person(records: Records, person: str) -> KeyError:
    """Returns the error for a person who is not enrolled."""
    return KeyError(
        Message(
            "Nobody named {person!r} is enrolled in {path}, which has {count} people. {people()} "
            "lists them.",
            person=person,
            path=records.path,
            count=len(records.people()),
        )
    )
