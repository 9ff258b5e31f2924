"""The file of a gallery, and what strangers do to it."""

import contextlib
import errno
import json
import math
import os
import sqlite3

import numpy as np
import pytest

from keras_dml.gallery._places import APPLICATION
from keras_dml.gallery._sqlite import LATER
from keras_dml.gallery._store import KEYS_SCHEMA, SCHEMA, Store


@pytest.fixture
def path(tmp_path):
    return tmp_path / "people.db"


def embeddings(count, seed=0):
    return np.random.default_rng(seed).random((count, 2, 3), "float32")


def with_closed(path, use):
    store = Store(path)
    try:
        return use(store)
    finally:
        store.close()


def test_the_file_is_for_its_owner_alone(path):
    with_closed(path, Store.people)
    assert path.stat().st_mode & 0o077 == 0


def test_a_file_that_is_no_database_is_refused_and_left(path):
    path.write_bytes(b"my diary\n" * 100)
    with pytest.raises(ValueError, match="is no gallery of keras-dml, or it is damaged"):
        Store(path)
    assert path.read_bytes() == b"my diary\n" * 100


def test_another_program_s_database_is_refused_and_left(path):
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE songs (name TEXT)")
    other.commit()
    other.close()
    before = path.read_bytes()
    with pytest.raises(ValueError, match="no gallery of keras-dml"):
        Store(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TRIGGER spy AFTER INSERT ON people BEGIN DELETE FROM templates; END",
        "CREATE VIEW guests AS SELECT * FROM people",
        "CREATE TABLE more (name TEXT)",
        "DROP TABLE thresholds",
    ],
)
def test_a_gallery_that_somebody_has_changed_is_refused(path, statement):
    with_closed(path, Store.people)
    other = sqlite3.connect(path)
    other.execute(statement)
    other.commit()
    other.close()
    with pytest.raises(ValueError, match="that no gallery has"):
        Store(path)


RATES = {"far": 0.01, "far_ci95": [0, 1], "tar": 1, "tar_ci95": [0, 1], "people": 2, "trials": 2}
LIMITS = {"value": 1, "reject_above": 2, "spread": 1, "window": 1, "windows": 1, "seen": 0}
STEPS = {"steps_to_accept": None, "steps_to_reject": None}


@pytest.mark.parametrize(
    ("table", "found"),
    [
        ("thresholds", {"value": math.inf, "strictest": 0.1, "method": "counted"}),
        ("boundaries", LIMITS | STEPS | {"value": math.inf}),
        ("boundaries", LIMITS | STEPS | {"spread": -math.inf}),
    ],
)
def test_a_threshold_that_accepts_everybody_is_none(path, table, found):
    test_a_threshold_that_is_none_is_said_to_be(path, table, json.dumps(RATES | found))


@pytest.mark.parametrize("found", ["no json", "{}", "[1]", '{"value": "<b>"}'])
@pytest.mark.parametrize("table", ["thresholds", "boundaries"])
def test_a_threshold_that_is_none_is_said_to_be(path, table, found):
    with_closed(path, Store.people)
    other = sqlite3.connect(path)
    other.execute(f"INSERT INTO {table} VALUES (0.01, ?)", (found,))
    other.commit()
    other.close()
    with pytest.raises(ValueError, match=f"of its {table} for FAR 1 %.* Calibrate that rate again"):
        with_closed(path, getattr(Store, table))


def test_a_later_version_is_refused(path):
    with_closed(path, Store.people)
    other = sqlite3.connect(path)
    other.execute("PRAGMA user_version = 99")
    other.close()
    with pytest.raises(ValueError, match="gallery of version 99"):
        Store(path)


def test_a_place_where_nothing_can_be_written_is_refused_in_words(tmp_path, monkeypatch):
    (tmp_path / "diary").touch()
    with pytest.raises(OSError, match="cannot be written: .* name a file in a folder"):
        Store(tmp_path / "diary" / "people.db")

    def denied(*_):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "open", denied)
    with pytest.raises(PermissionError, match=r"people.db cannot be written: Permission denied\."):
        Store(tmp_path / "people.db")


@pytest.mark.parametrize("kept", [0.3, 0.7, 0.99])
def test_a_file_that_was_cut_is_an_error_and_no_smaller_gallery(path, kept):
    def fill(store):
        for i in range(50):
            store.add(f"person {i}", embeddings(4, i))
        store.purge()

    with_closed(path, fill)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(kept * len(whole))])
    with pytest.raises((ValueError, OSError)):
        with_closed(path, Store.templates)


def test_a_full_disk_is_an_error_and_nothing_is_lost(path):
    store = Store(path)
    store.add("alice", embeddings(2))
    run = store._database._connection.execute
    run(f"PRAGMA max_page_count = {run('PRAGMA page_count').fetchone()[0] + 1}")  # as if it were
    with pytest.raises(OSError, match="database or disk is full. Nothing was changed"):
        store.add("bob", embeddings(2000))
    assert store.people() == {"alice": 2}
    run("PRAGMA max_page_count = 100000")
    assert store.add("bob", embeddings(2000)) == 2000
    store.close()


@contextlib.contextmanager
def with_files_of_at_most(size):
    """A disk that takes no more of a file, as one that is full."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_disk_that_takes_no_more_leaves_what_was_enrolled(path):
    store = Store(path)
    store.add("alice", embeddings(2))
    with with_files_of_at_most(200_000), pytest.raises(OSError, match="Nothing was changed"):
        store.add("bob", embeddings(5000))
    assert store.people() == {"alice": 2}
    assert store.add("bob", embeddings(5000)) == 5000
    store.close()


def test_a_removal_that_a_full_disk_cut_short_says_what_is_still_there(path):
    store = Store(path)
    for name, count in (("bob", 5000), ("alice", 2)):  # alice stands at the end of the file
        store.add(name, embeddings(count))
        store.purge()
    with with_files_of_at_most(100_000), pytest.raises(OSError, match="still in its files") as told:
        store.remove("alice")
    assert "Call `purge` when there is room" in str(told.value)
    assert store.people() == {"bob": 5000}
    store.purge()
    assert b"alice" not in path.read_bytes()
    store.close()


def test_a_reader_sees_one_moment(path):
    store, writer = Store(path), Store(path)
    with store._database.reading() as run:
        before = run("SELECT count(*) FROM people").fetchone()
        writer.add("alice", embeddings(1))
        assert run("SELECT count(*) FROM people").fetchone() == before
    assert store.people() == {"alice": 1}
    store.close(), writer.close()


VERSION_1 = [
    statement for statement in SCHEMA + KEYS_SCHEMA if statement.split()[2] not in LATER[1]
]


def of_version_1(path):
    """Writes an empty gallery as releases before limits of tries wrote it."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute("PRAGMA user_version = 1")
        for statement in VERSION_1:
            connection.execute(statement)
        connection.commit()
    path.chmod(0o600)  # otherwise opening it warns
    return path


def test_files_of_version_1_are_opened_and_become_version_2(path):
    assert len(VERSION_1) == 7
    with contextlib.closing(Store(of_version_1(path))) as store:
        store.add("alice", embeddings(2))
    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (2,)
    assert with_closed(path, Store.people) == {"alice": 2}


def test_a_file_of_version_1_that_somebody_has_changed_is_refused(path):
    of_version_1(path)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("DROP TABLE thresholds")
        connection.commit()
    before = path.read_bytes()
    with pytest.raises(ValueError, match="that no gallery has"):
        Store(path)
    assert path.read_bytes() == before
