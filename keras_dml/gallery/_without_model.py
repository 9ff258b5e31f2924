"""Gallery operations that do not load the model: list, rename and remove what is stored."""

from __future__ import annotations

import contextlib
import os
import pathlib

from keras_dml.gallery import _reading
from keras_dml.gallery._card_thresholds import provisional_of
from keras_dml.gallery._choice import boundary_of, not_calibrated, threshold_of
from keras_dml.gallery._names import checked_name
from keras_dml.gallery._results import GalleryInfo, StoredRecording, Threshold
from keras_dml.gallery._store import Store
from keras_dml.gallery._tries import DEFAULT


def people(path: str | os.PathLike, *, key=None, keys=None) -> dict[str, int]:
    """Number of enrolled recordings by person, in the order of the names; loads no model.

    Args:
        path: Path of a gallery's file, or the URL of a database.
        key: As in `Gallery`.
        keys: As in `Gallery`.

    Raises:
        FileNotFoundError: If there is none.
        ValueError: If the file is no gallery, or is damaged.
        OSError: If it cannot be used.
    """
    with _opened(path, key, keys) as store:
        return store.people()


def remove(path: str | os.PathLike, person: str, *, key=None, keys=None) -> None:
    """Removes a person and all that is stored of them, as `Gallery.remove`; loads no model.

    Args:
        path: Path of a gallery's file, or the URL of a database.
        person: Name of the person.
        key: As in `Gallery`.
        keys: As in `Gallery`.

    Raises:
        FileNotFoundError: If there is no gallery.
        KeyError: If nobody of this name is enrolled.
        ValueError: If the file is no gallery, or is damaged.
        TimeoutError: If they were removed, but another process kept the log from being cut.
        OSError: If it cannot be used.
    """
    with _opened(path, key, keys) as store:
        if not store.remove(person):
            raise _unknown(store, person)


def rename(path: str | os.PathLike, person: str, name: str, *, key=None, keys=None) -> None:
    """Gives a person another name, as `Gallery.rename`; loads no model.

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
        OSError: If it cannot be used.
    """
    name = checked_name(name, "name")
    with _opened(path, key, keys) as store:
        if not store.rename(person, name):
            raise _unknown(store, person)


def list_recordings(
    path: str | os.PathLike, person: str, *, key=None, keys=None
) -> tuple[StoredRecording, ...]:
    """Lists the recordings enrolled of a person, as `Gallery.list_recordings`; loads no model.

    Args:
        path: Path of a gallery's file, or the URL of a database.
        person: Name of the person.
        key: As in `Gallery`.
        keys: As in `Gallery`.

    Raises:
        FileNotFoundError: If the gallery does not exist.
        KeyError: If nobody of this name is enrolled.
        ValueError: If the file is not a gallery or is damaged.
        OSError: If it cannot be used.
    """
    return _stored(path, person, True, key, keys)


def list_rejections(
    path: str | os.PathLike, person: str, *, key=None, keys=None
) -> tuple[StoredRecording, ...]:
    """Lists the recordings marked as not a person's, as `Gallery.list_rejections`; loads no model.

    Args:
        path: Path of a gallery's file, or the URL of a database.
        person: Name of the person.
        key: As in `Gallery`.
        keys: As in `Gallery`.

    Raises:
        FileNotFoundError, KeyError, ValueError, OSError: See `list_recordings`.
    """
    return _stored(path, person, False, key, keys)


def forget(path: str | os.PathLike, person: str, recordings, *, key=None, keys=None) -> None:
    """Removes recordings of a person, as `Gallery.forget`; loads no model.

    Args:
        path: Path of a gallery's file, or the URL of a database.
        person: Name of the person. With their last recording the person is removed.
        recordings: Ids of recordings, as `list_recordings` returns them.
        key: As in `Gallery`.
        keys: As in `Gallery`.

    Raises:
        FileNotFoundError: If the gallery does not exist.
        KeyError: If nobody of this name is enrolled, or an id is not one of the person's
            recordings: nothing is removed.
        ValueError: If `recordings` is empty, or the file is not a gallery or is damaged.
        TimeoutError: If they were removed, but another process kept the log from being cut.
        OSError: If it cannot be used.
    """
    _forget(path, person, recordings, True, key, keys)


def unreject(path: str | os.PathLike, person: str, recordings, *, key=None, keys=None) -> None:
    """Removes the marks of recordings as not a person's, as `Gallery.unreject`; loads no model.

    Args:
        path: Path of a gallery's file, or the URL of a database.
        person: Name of the person.
        recordings: Ids of recordings, as `list_rejections` returns them.
        key: As in `Gallery`.
        keys: As in `Gallery`.

    Raises:
        FileNotFoundError, KeyError, ValueError, TimeoutError, OSError: See `forget`.
    """
    _forget(path, person, recordings, False, key, keys)


def thresholds(path: str | os.PathLike, *, key=None, keys=None) -> dict[float, Threshold]:
    """Returns the thresholds of a gallery by false accept rate; loads no model.

    Args:
        path: Path of a gallery's file, or the URL of a database.
        key: As in `Gallery`.
        keys: As in `Gallery`.

    Raises:
        FileNotFoundError: If the gallery does not exist.
        ValueError: If the file is not a gallery or is damaged.
        OSError: If it cannot be used.
    """
    with _opened(path, key, keys) as store:
        return store.thresholds()


def remove_threshold(path: str | os.PathLike, far: float, *, key=None, keys=None) -> None:
    """Removes the threshold of a rate, as `Gallery.remove_threshold`; loads no model.

    Args:
        path: Path of a gallery's file, or the URL of a database.
        far: Its false accept rate.
        key: As in `Gallery`.
        keys: As in `Gallery`.

    Raises:
        FileNotFoundError: If the gallery does not exist.
        ValueError: If no threshold of this rate was set, or the file is not a gallery or is
            damaged.
        OSError: If it cannot be used.
    """
    with _opened(path, key, keys) as store:
        known_rates = store.thresholds()
        if far not in known_rates:
            raise ValueError(not_calibrated(far, known_rates))
        store.remove_threshold(far)


def info(path: str | os.PathLike, *, key=None, keys=None) -> GalleryInfo:
    """Returns facts about a gallery, as `Gallery.info`; loads no model.

    Args:
        path: Path of a gallery's file, or the URL of a database.
        key: As in `Gallery`.
        keys: As in `Gallery`.

    Raises:
        FileNotFoundError: If the gallery does not exist.
        ValueError: If the file is not a gallery or is damaged.
        OSError: If it cannot be used.
    """
    with _opened(path, key, keys) as store:
        return described(store)


def check(
    path: str | os.PathLike,
    person=None,
    *,
    far=None,
    decides_by=None,
    client=None,
    key=None,
    keys=None,
) -> None:
    """Checks that a gallery can answer, and loads no model.

    Args:
        path: Path of a gallery's file, or the URL of a database.
        person: Name of a person who must be enrolled; None: anybody.
        far: Rate of the threshold or boundary that decides; None: the smallest.
        decides_by: `"threshold"` or `"boundary"`, which must be set; None: neither.
        client: Name of a client that claims to be `person`, see `Gallery.verify`; None: nobody
            claims.
        key: As in `Gallery`.
        keys: As in `Gallery`.

    Raises:
        FileNotFoundError: If the gallery does not exist.
        KeyError: If nobody of this name is enrolled.
        TooManyTries: If the claim would be made during the pause after rejected claims.
        ValueError: If the threshold or boundary is not set, or the file is not a gallery, is
            damaged or of another key.
        OSError: If it cannot be used.
    """
    with _opened(path, key, keys) as store:
        if decides_by == "threshold":
            model = store.about().get("model")
            threshold_of(store.thresholds(), far, provisional_of(model))
        if decides_by == "boundary":
            boundary_of(store.boundaries(), far)
        if person is not None and not store.has(person):
            raise _unknown(store, person)
        if person is not None and client is not None:
            store.claims(DEFAULT).check(person, client)


def described(store):
    """Returns `GalleryInfo` of a `Store`."""
    about = store.about()
    enrolled, marked, first = store.counts()
    return GalleryInfo(
        path=str(store.path),
        model=about.get("model"),
        fingerprint=about.get("fingerprint"),
        created=about.get("created", first),
        encrypted=store.is_encrypted,
        people=len(store.people()),
        recordings=enrolled,
        marked=marked,
        reading=_reading.checked(about.get(_reading.NAME)),
        thresholds=store.thresholds(),
        boundaries=store.boundaries(),
        provisional=provisional_of(about.get("model")),
    )


def forget_stored(store, person, recordings, enrolled):
    """Removes recordings of a person from a `Store` by their ids.

    Args:
        store: `Store`.
        person: Name of the person.
        recordings: Id or ids.
        enrolled: Whether they are enrolled; else they are marked as not the person's.
    """
    ids = [recordings] if isinstance(recordings, str) else list(recordings)
    if not ids:
        raise ValueError("`recordings` is empty; give at least one id.")
    if store.stored(person) is None:
        raise _unknown(store, person)
    if missing := store.forget(person, ids, enrolled):
        kind, method = ("", "list_recordings") if enrolled else ("marked ", "list_rejections")
        raise KeyError(
            f"{person!r} has no {kind}recording {missing[0]!r} in {store.path}: `{method}` lists "
            "the ids. Nothing was removed."
        )


def _forget(path, person, recordings, enrolled, key, keys):
    with _opened(path, key, keys) as store:
        forget_stored(store, person, recordings, enrolled)


def _stored(path, person, enrolled, key, keys):
    with _opened(path, key, keys) as store:
        stored = store.stored(person, enrolled)
        if stored is None:
            raise _unknown(store, person)
        return stored


def _unknown(store, person):
    return KeyError(
        f"Nobody named {person!r} is enrolled in {store.path}, which has {len(store.people())} "
        "people: `people()` lists them."
    )


def purge(path: str | os.PathLike, *, key=None, keys=None) -> tuple[str, ...]:
    """Writes all anew without free space, as `Gallery.purge`; loads no model.

    Args:
        path: Path of a gallery's file, or the URL of a database.
        key: As in `Gallery`.
        keys: As in `Gallery`.

    Returns:
        Where removed templates may still be, sentences; none of a file.

    Raises:
        FileNotFoundError: If the gallery does not exist.
        ValueError: If the file is no gallery, or is damaged.
        OSError: If it cannot be used.
    """
    with _opened(path, key, keys) as store:
        return store.purge()


def exists(path: str | os.PathLike) -> bool:
    """Whether there is a file that may be a gallery, and not an empty one; of a URL always."""
    file = pathlib.Path(path)
    return "://" in str(path) or (file.exists() and file.stat().st_size > 0)


def check_exists(path):
    """Raises `FileNotFoundError` if the gallery at a path does not exist."""
    if not exists(path):
        raise FileNotFoundError(f"There is no gallery {str(path)!r}.")


@contextlib.contextmanager
def _opened(path, key, keys):
    check_exists(path)
    with contextlib.closing(Store(path, key, keys)) as store:
        store.check()
        yield store
