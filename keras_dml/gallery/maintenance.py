"""Gallery operations that do not load the model: list people, rename, remove, purge, check.

They also work if the model is lost.
"""

from __future__ import annotations

import contextlib
import pathlib
from collections.abc import Iterable, Iterator

from keras_dml import _messages
from keras_dml._messages import Message
from keras_dml._typing import Path
from keras_dml.gallery.calibration import (
    choose_boundary,
    choose_threshold,
    not_calibrated,
    provisional_by_name,
)
from keras_dml.gallery.files import valid_options
from keras_dml.gallery.names import checked_name
from keras_dml.gallery.records import Records
from keras_dml.gallery.results import GalleryInfo, StoredRecording, Threshold
from keras_dml.gallery.tries import DEFAULT


def people(
    path: Path, *, key: bytes | Path | None = None, keys: Path | None = None
) -> dict[str, int]:
    """Returns the number of enrolled recordings by person, sorted by name. Loads no model.

    Args:
        path: Path of a gallery's file, or the URL of a database.
        key: As in `Gallery`.
        keys: As in `Gallery`.

    Raises:
        FileNotFoundError: If the gallery does not exist.
        ValueError: If the file is not a gallery or is damaged.
        OSError: If the gallery cannot be used.
    """
    with _opened(path, key, keys) as records:
        return records.people()


def remove(
    path: Path, person: str, *, key: bytes | Path | None = None, keys: Path | None = None
) -> None:
    """Removes a person and everything that is stored of them, see `Gallery.remove`. Loads no model.

    Args:
        path: Path of a gallery's file, or the URL of a database.
        person: Name of the person.
        key: As in `Gallery`.
        keys: As in `Gallery`.

    Raises:
        FileNotFoundError: If the gallery does not exist.
        KeyError: If nobody of this name is enrolled.
        ValueError: If the file is not a gallery or is damaged.
        TimeoutError: If the person was removed, but another process prevented the log from being
            cut.
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
        name: The new name.
        key: As in `Gallery`.
        keys: As in `Gallery`.

    Raises:
        FileNotFoundError: If the gallery does not exist.
        KeyError: If nobody of this name is enrolled.
        TypeError, ValueError: If the new name is invalid or another person has it, or the file is
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
        key: As in `Gallery`.
        keys: As in `Gallery`.

    Raises:
        FileNotFoundError: If the gallery does not exist.
        KeyError: If nobody of this name is enrolled.
        ValueError: If the file is not a gallery or is damaged.
        OSError: If the gallery cannot be used.
    """
    return _list_stored(path, person, True, key, keys)


def list_rejections(
    path: Path, person: str, *, key: bytes | Path | None = None, keys: Path | None = None
) -> tuple[StoredRecording, ...]:
    """Lists recordings marked as not a person's, see `Gallery.list_rejections`. Loads no model.

    Args:
        path: Path of a gallery's file, or the URL of a database.
        person: Name of the person.
        key: As in `Gallery`.
        keys: As in `Gallery`.

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
        person: Name of the person. With their last recording the person is removed.
        recordings: Ids of recordings, as `list_recordings` returns them.
        key: As in `Gallery`.
        keys: As in `Gallery`.

    Raises:
        FileNotFoundError: If the gallery does not exist.
        KeyError: If nobody of this name is enrolled, or an id is not of the person's recordings.
            Nothing is removed then.
        ValueError: If `recordings` is empty, or the file is not a gallery or is damaged.
        TimeoutError: If the recordings were removed, but another process prevented the log from
            being cut.
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
    """Removes marks of recordings as not a person's, see `Gallery.unreject`. Loads no model.

    Args:
        path: Path of a gallery's file, or the URL of a database.
        person: Name of the person.
        recordings: Ids of recordings, as `list_rejections` returns them.
        key: As in `Gallery`.
        keys: As in `Gallery`.

    Raises:
        FileNotFoundError, KeyError, ValueError, TimeoutError, OSError: See `forget`.
    """
    with _opened(path, key, keys) as records:
        forget_stored(records, person, recordings, False)


def thresholds(
    path: Path, *, key: bytes | Path | None = None, keys: Path | None = None
) -> dict[float, Threshold]:
    """Returns the thresholds of a gallery by false accept rate. Loads no model.

    Args:
        path: Path of a gallery's file, or the URL of a database.
        key: As in `Gallery`.
        keys: As in `Gallery`.

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
    """Removes the threshold of a rate, see `Gallery.remove_threshold`. Loads no model.

    Args:
        path: Path of a gallery's file, or the URL of a database.
        far: Its false accept rate.
        key: As in `Gallery`.
        keys: As in `Gallery`.

    Raises:
        FileNotFoundError: If the gallery does not exist.
        ValueError: If no threshold of this rate was set, or the file is not a gallery or is
            damaged.
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
        key: As in `Gallery`.
        keys: As in `Gallery`.

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
    """Checks that a gallery can decide. Loads no model.

    Args:
        path: Path of a gallery's file, or the URL of a database.
        person: Name of a person who must be enrolled; None: no such check.
        far: Rate of the threshold or boundary that decides; None: the smallest.
        decides_by: `"threshold"` or `"boundary"`, which must be set; None: no such check.
        client: Name of a client that claims to be `person`, see `Gallery.verify`; None: no claim.
        key: As in `Gallery`.
        keys: As in `Gallery`.

    Raises:
        FileNotFoundError: If the gallery does not exist.
        KeyError: If nobody of this name is enrolled.
        TooManyTries: If the claim would be made during the pause after rejected claims.
        ValueError: If the threshold or boundary is not set, or the file is not a gallery, is
            damaged or has another key.
        OSError: If the gallery cannot be used.
    """
    with _opened(path, key, keys) as records:
        if decides_by == "threshold":
            card_thresholds = provisional_by_name(records.about().get("model"))
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
    """Rewrites a gallery without free space, see `Gallery.purge`. Loads no model.

    Args:
        path: Path of a gallery's file, or the URL of a database.
        key: As in `Gallery`.
        keys: As in `Gallery`.

    Returns:
        Sentences that name places where removed templates may still be; none for a file.

    Raises:
        FileNotFoundError: If the gallery does not exist.
        ValueError: If the file is not a gallery or is damaged.
        OSError: If the gallery cannot be used.
    """
    with _opened(path, key, keys) as records:
        return records.purge()


def exists(path: Path) -> bool:
    """Returns whether a file that may be a gallery exists and is not empty; True for every URL."""
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
    """Returns the `GalleryInfo` of records."""
    about = records.about()
    enrolled, marked, first = records.counts()
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
        provisional=provisional_by_name(about.get("model")),
    )


def forget_stored(
    records: Records, person: str, recordings: str | Iterable[str], enrolled: bool
) -> None:
    """Removes recordings of a person by their ids.

    Args:
        records: Records of the gallery.
        person: Name of the person.
        recordings: Id or ids.
        enrolled: True for recordings of the person, False for recordings marked as not theirs.
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
