"""Tests that `backup` copies the file of a gallery and `restore` restores the copy."""

import contextlib
import pathlib
import sqlite3

import numpy as np
import pytest

from keras_dml import gallery as galleries
from keras_dml.gallery import Gallery, Threshold
from keras_dml.gallery.records import Records

KEY = bytes(range(32))
THRESHOLD = Threshold(0.1, 3.0, (0.0, 0.2), 0.9, (0.8, 1.0), 5, 100, 300.0, 0.01, "counted")


def embeddings(count, seed=0):
    return np.random.default_rng(seed).random((count, 2, 3), "float32")


def filled(path, people, key=None):
    with contextlib.closing(Records(path, key)) as store:
        store.describe({"model": "m", "fingerprint": "f"})
        for seed, (name, count) in enumerate(people.items()):
            store.add(name, embeddings(count, seed))
        store.set_threshold(THRESHOLD)
    return path


def content(path, key=None):
    with contextlib.closing(Records(path, key)) as store:
        names, enrolled, flat = store.templates()
        return names, enrolled.tolist(), flat.tolist(), store.thresholds(), store.about()


@pytest.fixture(params=[None, KEY], ids=["plain", "encrypted"])
def key(request):
    return request.param


@pytest.fixture
def path(tmp_path, key):
    return filled(tmp_path / "family.db", {"alice": 3, "bob": 2}, key)


def test_a_copy_is_the_gallery_at_one_moment(path, key, tmp_path):
    before, copy = content(path, key), tmp_path / "copy.db"
    with contextlib.closing(Records(path, key)) as store:  # open, so there is a log
        galleries.backup(path, copy)
        store.remove("alice")
    assert content(copy, key) == before
    assert content(path, key)[0] == ["bob", "bob"]
    assert copy.stat().st_mode & 0o077 == 0


def test_a_copy_is_one_file(path, tmp_path):
    (tmp_path / "copies").mkdir()
    galleries.backup(path, tmp_path / "copies" / "copy.db")
    assert [file.name for file in (tmp_path / "copies").iterdir()] == ["copy.db"]


def test_a_gallery_is_restored(path, key, tmp_path):
    before, copy, new = content(path, key), tmp_path / "copy.db", tmp_path / "new.db"
    galleries.backup(path, copy)
    written = copy.read_bytes()
    galleries.restore(copy, new)
    assert content(new, key) == before and copy.read_bytes() == written


def test_an_existing_file_is_replaced_only_with_replace(path, key, tmp_path):
    copy, second = tmp_path / "copy.db", filled(tmp_path / "other.db", {"zoe": 1})
    galleries.backup(path, copy)
    (tmp_path / "empty").touch()
    before = content(second)
    for replace in (
        lambda: galleries.backup(path, second),
        lambda: galleries.restore(copy, second),
        lambda: galleries.backup(path, tmp_path / "empty"),
    ):
        with pytest.raises(FileExistsError, match="replace"):
            replace()
    assert content(second) == before and not (tmp_path / "empty").stat().st_size


def test_a_gallery_in_use_is_replaced_at_one_moment(path, key, tmp_path):
    copy = tmp_path / "copy.db"
    galleries.backup(path, copy)
    with contextlib.closing(Records(path, key)) as store:
        store.remove("alice")
        store.add("carol", embeddings(40, 7))
        changes = store.changes()
        galleries.restore(copy, path, replace=True)
        assert store.people() == {"alice": 3, "bob": 2} and store.changes() != changes
        store.add("dora", embeddings(1))
    assert content(path, key)[0] == ["alice"] * 3 + ["bob"] * 2 + ["dora"]
    with contextlib.closing(Records(copy, key)) as store:
        assert store.people() == {"alice": 3, "bob": 2}
    galleries.backup(path, copy, replace=True)
    assert content(copy, key) == content(path, key)


def test_a_replaced_gallery_leaves_no_name(path, tmp_path):
    second = filled(tmp_path / "other.db", {"wilhelmina": 50})
    galleries.backup(path, second, replace=True)
    files = list(tmp_path.glob("other.db*"))
    assert files and not any(b"wilhelmina" in file.read_bytes() for file in files)


def test_only_galleries_are_copied_and_replaced(path, tmp_path):
    diary, music, copy = (tmp_path / name for name in ("diary.txt", "music.db", "copy.db"))
    diary.write_text("years of work " * 100)
    with contextlib.closing(sqlite3.connect(music)) as connection:
        connection.execute("CREATE TABLE songs (name TEXT)")
        connection.commit()
    for file in (diary, music):
        before = file.read_bytes()
        for use in (
            lambda file=file: galleries.backup(path, file, replace=True),
            lambda file=file: galleries.backup(file, copy),
            lambda file=file: galleries.restore(file, copy),
            lambda file=file: galleries.restore(path, file, replace=True),
        ):
            with pytest.raises(ValueError, match=file.name):
                use()
        assert file.read_bytes() == before and not copy.exists()
    for place in (tmp_path, tmp_path / "copy.db" / ""):
        with pytest.raises((ValueError, OSError)):
            galleries.backup(path, str(place) + "/", replace=True)
    for use in (galleries.backup, galleries.restore):
        with pytest.raises(FileNotFoundError, match="gone.db"):
            use(tmp_path / "gone.db", copy)
        with pytest.raises(FileNotFoundError, match="folder"):
            use(path, tmp_path / "no folder" / "copy.db")
        with pytest.raises(ValueError, match="itself"):
            use(path, path, replace=True)
    assert not copy.exists()


def test_a_damaged_copy_is_not_restored(path, tmp_path):
    copy, new = tmp_path / "copy.db", tmp_path / "new.db"
    galleries.backup(path, copy)
    whole = copy.read_bytes()
    copy.write_bytes(whole[: len(whole) // 2])
    with pytest.raises((ValueError, OSError), match="copy.db"):
        galleries.restore(copy, new)
    assert not new.exists()


def test_a_disk_that_is_full_leaves_no_copy(tmp_path):
    path = filled(tmp_path / "family.db", {"alice": 3000})
    resource = pytest.importorskip("resource")
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limit[1]))
    try:
        with pytest.raises(OSError, match="copy.db"):
            galleries.backup(path, tmp_path / "copy.db")
        with pytest.raises(OSError, match="copy.db"):
            galleries.restore(path, tmp_path / "copy.db")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert {file.name for file in tmp_path.iterdir()} <= {
        f"family.db{end}" for end in ("", "-wal", "-shm")
    }


@pytest.mark.parametrize("url", ["postgresql://me:secret@host/db", "postgres://host/db"])
def test_backup_of_a_server_names_the_tools_of_postgresql(path, url, tmp_path):
    with pytest.raises(ValueError, match="pg_dump") as error:
        galleries.backup(url, tmp_path / "copy.db")
    assert "secret" not in str(error.value)
    with pytest.raises(ValueError, match="psql"):
        galleries.restore(path, url)


@pytest.mark.parametrize("place", ["file", "encrypted file"], indirect=True)
def test_an_open_gallery_is_copied_and_described(model, place, people, tmp_path):
    copy = tmp_path / "copy.db"
    with Gallery(model=model, **place) as gallery:
        gallery.enroll("alice", people("alice"))
        gallery.reject("alice", people("bob", 1))
        gallery.backup(copy)
        facts = gallery.info()
    key = place.get("key")
    assert (facts.people, facts.recordings, facts.marked) == (1, 4, 1)
    assert facts.encrypted == ("key" in place) and facts.model == model.name
    assert facts.created <= galleries.list_recordings(copy, "alice", key=key)[0].created
    again = galleries.info(copy, key=key)
    assert pathlib.Path(again.path) == copy
    assert (again.fingerprint, again.created) == (facts.fingerprint, facts.created)
    assert "alice" not in str(facts) and not facts.thresholds


def test_options_of_the_first_enrollment_are_kept(model, place):
    with Gallery(model=model, **place) as gallery:
        assert gallery.reading == {}
        for wrong in ({"rate_hz": -1}, {"channels": "x"}, {"colour": "red"}):
            with pytest.raises(ValueError, match="`options`"):
                gallery.remember_reading(wrong)
        gallery.remember_reading({})
        gallery.remember_reading({"time": "clock", "rate_hz": None})
        gallery.remember_reading({"time": "other"})
        assert gallery.reading == gallery.info().reading == {"time": "clock"}
