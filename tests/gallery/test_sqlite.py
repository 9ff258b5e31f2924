"""Tests that a gallery in an SQLite file raises an error for a damaged file, a change by another
program, a full disk, and a file of another version.
"""

import contextlib
import errno
import json
import math
import os
import sqlite3

import numpy as np
import pytest

from keras_dml import gallery as galleries
from keras_dml.gallery.records import Records
from keras_dml.gallery.sqlite import APPLICATION, LATER, SCHEMA


@pytest.fixture
def path(tmp_path):
    return tmp_path / "people.db"


def embeddings(count, seed=0):
    return np.random.default_rng(seed).random((count, 2, 3), "float32")


def with_closed(path, use):
    store = Records(path)
    try:
        return use(store)
    finally:
        store.close()


def test_the_file_is_for_its_owner_alone(path):
    with_closed(path, Records.people)
    assert path.stat().st_mode & 0o077 == 0


def test_a_file_that_is_not_a_database_is_refused_and_unchanged(path):
    path.write_bytes(b"my diary\n" * 100)
    with pytest.raises(ValueError, match="gallery of keras-dml, or it is damaged"):
        Records(path)
    assert path.read_bytes() == b"my diary\n" * 100


def test_the_database_of_another_program_is_refused_and_unchanged(path):
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE songs (name TEXT)")
    connection.commit()
    connection.close()
    before = path.read_bytes()
    with pytest.raises(ValueError, match="gallery of keras-dml"):
        Records(path)
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
    with_closed(path, Records.people)
    connection = sqlite3.connect(path)
    connection.execute(statement)
    connection.commit()
    connection.close()
    with pytest.raises(ValueError, match="that a gallery does not have"):
        Records(path)


DAMAGE = {
    "statement": (b"CREATE TABLE about", b"CREATE \xb3ABLE about"),
    "column": (b"enrolled INTEGER", b"enroll\xf1d INTEGE\xb3"),
    "table": (b"tablethresholds", b"tablethre\xb3holds"),
    "index": (b"indextemplates_of_person", b"indextemplates\xffof_person"),
    "escape code": (b"CREATE TABLE seals (person", b"CREATE TABLE \x1b[2J\x07 (person"),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_an_error_of_sqlite_that_quotes_damaged_bytes_is_readable(path, kind):
    with_closed(path, Records.people)
    content, (old, new) = path.read_bytes(), DAMAGE[kind]
    assert content.count(old) == 1 and len(old) == len(new)
    path.write_bytes(content.replace(old, new))
    calls = (
        lambda: Records(path),
        lambda: galleries.people(path),
        lambda: galleries.backup(path, path.parent / "copy.db"),
        lambda: galleries.restore(path, path.parent / "copy.db"),
    )
    for call in calls:
        with pytest.raises(ValueError) as caught:
            call()
        assert type(caught.value) is ValueError
        assert str(path) in str(caught.value) and str(caught.value).isprintable()


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO people VALUES (1, CAST(x'62b30a1b' AS TEXT))",
        "INSERT INTO about VALUES ('model', CAST(x'22b322' AS TEXT))",
        "INSERT INTO thresholds VALUES (0.1, CAST(x'22b322' AS TEXT))",
    ],
)
def test_text_that_is_not_utf_8_is_reported_as_damage(path, statement):
    with_closed(path, Records.people)
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)
    with pytest.raises(ValueError, match="damaged") as caught:
        galleries.info(path)
    assert type(caught.value) is ValueError
    assert str(path) in str(caught.value) and str(caught.value).isprintable()


RATES = {"far": 0.01, "far_ci95": [0, 1], "tar": 1, "tar_ci95": [0, 1], "people": 2, "trials": 2}
LIMITS = {"value": 1, "reject_above": 2, "spread": 1, "window": 1, "windows": 1, "seen": 0}
STEPS = {"steps_to_accept": None, "steps_to_reject": None}


@pytest.mark.parametrize(
    ("table", "text"),
    [
        ("thresholds", {"value": math.inf, "strictest": 0.1, "method": "counted"}),
        ("boundaries", LIMITS | STEPS | {"value": math.inf}),
        ("boundaries", LIMITS | STEPS | {"spread": -math.inf}),
    ],
)
def test_an_infinite_threshold_is_refused(path, table, text):
    test_an_invalid_threshold_is_reported(path, table, json.dumps(RATES | text))


@pytest.mark.parametrize("text", ["no json", "{}", "[1]", '{"value": "<b>"}'])
@pytest.mark.parametrize("table", ["thresholds", "boundaries"])
def test_an_invalid_threshold_is_reported(path, table, text):
    with_closed(path, Records.people)
    connection = sqlite3.connect(path)
    connection.execute(f"INSERT INTO {table} VALUES (0.01, ?)", (text,))
    connection.commit()
    connection.close()
    with pytest.raises(ValueError, match=f"{table} for FAR 1 %.* Calibrate again for this rate"):
        with_closed(path, getattr(Records, table))


def test_a_later_version_is_refused(path):
    with_closed(path, Records.people)
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(ValueError, match="gallery of version 99"):
        Records(path)


def test_an_unwritable_place_is_refused_with_a_remedy(tmp_path, monkeypatch):
    (tmp_path / "diary").touch()
    with pytest.raises(OSError, match="cannot be written: .* Name a file in a folder"):
        Records(tmp_path / "diary" / "people.db")

    def denied(*_):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "open", denied)
    with pytest.raises(PermissionError, match=r"people.db cannot be written: Permission denied\."):
        Records(tmp_path / "people.db")


@pytest.mark.parametrize("share", [0.3, 0.7, 0.99])
def test_a_truncated_file_is_an_error(path, share):
    def fill(store):
        for i in range(50):
            store.add(f"person {i}", embeddings(4, i))
        store.purge()

    with_closed(path, fill)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises((ValueError, OSError)):
        with_closed(path, Records.templates)


def test_a_full_disk_is_an_error_and_loses_nothing(path):
    store = Records(path)
    store.add("alice", embeddings(2))
    run = store._store._connection.execute
    run(f"PRAGMA max_page_count = {run('PRAGMA page_count').fetchone()[0] + 1}")  # like a full disk
    with pytest.raises(OSError, match="database or disk is full. Nothing was changed"):
        store.add("bob", embeddings(2000))
    assert store.people() == {"alice": 2}
    run("PRAGMA max_page_count = 100000")
    assert store.add("bob", embeddings(2000)) == 2000
    store.close()


@contextlib.contextmanager
def with_files_of_at_most(size):
    """Limits the size of files to simulate a full disk."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_keeps_earlier_enrollments(path):
    store = Records(path)
    store.add("alice", embeddings(2))
    with with_files_of_at_most(200_000), pytest.raises(OSError, match="Nothing was changed"):
        store.add("bob", embeddings(5000))
    assert store.people() == {"alice": 2}
    assert store.add("bob", embeddings(5000)) == 5000
    store.close()


def test_a_removal_on_a_full_disk_reports_the_remaining_data(path):
    store = Records(path)
    for name, count in (("bob", 5000), ("alice", 2)):  # alice's rows are at the end of the file
        store.add(name, embeddings(count))
        store.purge()
    with (
        with_files_of_at_most(100_000),
        pytest.raises(OSError, match="its files on the disk still hold") as error,
    ):
        store.remove("alice")
    assert "Use `purge` when there is room" in str(error.value)
    assert store.people() == {"bob": 5000}
    store.purge()
    assert b"alice" not in path.read_bytes()
    store.close()


def test_a_reader_sees_one_moment(path):
    store, writer = Records(path), Records(path)
    with store._store.reading() as run:
        before = run("SELECT count(*) FROM people").fetchone()
        writer.add("alice", embeddings(1))
        assert run("SELECT count(*) FROM people").fetchone() == before
    assert store.people() == {"alice": 1}
    store.close(), writer.close()


VERSION_1 = [statement for statement in SCHEMA if statement.split()[2] not in LATER[1]]


def of_version_1(path):
    """Writes an empty gallery in the format of a release that did not count rejected claims."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute("PRAGMA user_version = 1")
        for statement in VERSION_1:
            connection.execute(statement)
        connection.commit()
    path.chmod(0o600)  # otherwise opening the file emits a warning
    return path


def test_files_of_version_1_are_opened_and_become_version_3(path):
    assert len(VERSION_1) == 7
    with contextlib.closing(Records(of_version_1(path))) as store:
        store.add("alice", embeddings(2))
    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (3,)
    assert with_closed(path, Records.people) == {"alice": 2}


def test_a_file_of_version_1_that_somebody_has_changed_is_refused(path):
    of_version_1(path)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("DROP TABLE thresholds")
        connection.commit()
    before = path.read_bytes()
    with pytest.raises(ValueError, match="that a gallery does not have"):
        Records(path)
    assert path.read_bytes() == before
