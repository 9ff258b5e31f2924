"""Tests that seals detect rows that other programs changed, and older copies of a gallery."""

import contextlib
import os
import shutil
import sqlite3

import numpy as np
import pytest

from keras_dml import gallery as galleries
from keras_dml.gallery import Threshold
from keras_dml.gallery.records import Records
from keras_dml.gallery.sqlite import LATER

KEY = bytes(range(32))
ENCRYPTED = ["encrypted file", "encrypted server"]
ALICE, BOB = (f"(SELECT id FROM people WHERE name = '{name}')" for name in ("alice", "bob"))
FIRST = f"(SELECT min(id) FROM templates WHERE person = {ALICE})"
SET = "(far, value) = (0.1, 1e30)"
OF_STATE = {  # changes that are detected without reading templates
    "a looser threshold": "UPDATE thresholds SET found = replace(found, '3.0', '1e30')",
    "a threshold of another rate": "UPDATE thresholds SET far = 0.001",
    "a dropped threshold": "DELETE FROM thresholds",
    "a doubled threshold": "INSERT INTO thresholds SELECT 0.5, found FROM thresholds",
    "a new boundary": "INSERT INTO boundaries SELECT far, found FROM thresholds",
    "another model": "UPDATE about SET value = '\"stranger\"' WHERE name = 'model'",
    "another fingerprint": "UPDATE about SET value = '\"0\"' WHERE name = 'fingerprint'",
    "other settings": "INSERT INTO about VALUES ('reading', '{}')",
    "a smaller number of changes": "UPDATE state SET number = number - 1",
    "another sum of people": "UPDATE state SET people = seal",
    "no state": "DELETE FROM state",
    "two states": "INSERT INTO state SELECT number + 1, people, seal FROM state",
    "a dropped person": f"DELETE FROM people WHERE id = {BOB}",
    "a dropped seal": f"DELETE FROM seals WHERE person = {BOB}",
    "swapped seals": "UPDATE seals SET seal = (SELECT max(seal) FROM seals)",
}
OF_TEMPLATES = {
    "a dropped template": f"DELETE FROM templates WHERE id = {FIRST}",
    "a doubled template": "INSERT INTO templates (person, enrolled, created, embedding) SELECT "
    f"person, enrolled, created, embedding FROM templates WHERE id = {FIRST}",
    "another time": "UPDATE templates SET created = '1999-01-01T00:00:00+00:00'",
    "another number": f"UPDATE templates SET id = 99 WHERE id = {FIRST}",
    "swapped templates": "UPDATE templates SET embedding = (SELECT embedding FROM templates AS "
    f"second WHERE second.person = {ALICE} AND second.id > {FIRST} LIMIT 1) WHERE id = {FIRST}",
}


class Flat:
    metric, numbers = "l1", 6

    def vectors(self, embeddings):
        return np.reshape(embeddings, (-1, self.numbers)).astype("float32")


def embeddings(count, seed=0):
    return np.random.default_rng(seed).random((count, 2, 3), "float32")


@contextlib.contextmanager
def opened(place):
    with contextlib.closing(Records(**place)) as store:
        store.describe({"model": "m", "fingerprint": "f"}, Flat)
        store.check()
        yield store


def fill(place):
    with opened(place) as store:
        store.add("alice", embeddings(3, 1))
        store.add("bob", embeddings(2, 2))
        store.set_threshold(
            Threshold(0.1, 3.0, (0.0, 0.2), 0.9, (0.8, 1.0), 5, 100, 300.0, 0.01, "counted")
        )


def change(place, statement):
    """Changes the rows of a gallery with SQL, as another program would."""
    if "://" in str(place["path"]):
        import psycopg

        with psycopg.connect(place["path"]) as connection:
            connection.execute("SET search_path = keras_dml, public")
            connection.execute("SET session_replication_role = replica")  # without foreign keys
            assert connection.execute(statement).rowcount
    else:
        with contextlib.closing(sqlite3.connect(place["path"])) as connection:
            connection.execute("PRAGMA foreign_keys = ON")
            assert connection.execute(statement).rowcount
            connection.commit()


@pytest.mark.slow
@pytest.mark.parametrize("place", ENCRYPTED, indirect=True)
@pytest.mark.parametrize("statement", OF_STATE.values(), ids=OF_STATE.keys())
def test_changed_rows_are_refused_on_opening(place, statement):
    fill(place)
    change(place, statement)
    for use in (galleries.people, galleries.info, galleries.thresholds):
        with pytest.raises(ValueError, match="something other than keras-dml has changed it"):
            use(**place)
    with pytest.raises(ValueError, match="Restore a backup"):
        galleries.check(person="alice", decides_by="threshold", **place)


@pytest.mark.parametrize("place", ENCRYPTED[:1], indirect=True)
def test_a_dropped_key_is_detected(place):
    fill(place)
    change(place, f"DELETE FROM keys WHERE person = {BOB}")
    with pytest.raises(ValueError, match="the key of 'bob' is missing"):
        galleries.people(**place)


@pytest.mark.parametrize("place", ENCRYPTED, indirect=True)
@pytest.mark.parametrize("statement", OF_TEMPLATES.values(), ids=OF_TEMPLATES.keys())
def test_changed_templates_are_refused_on_opening_or_reading(place, statement):
    fill(place)
    change(place, statement)
    with pytest.raises(ValueError, match="the recordings of '"):
        with opened(place) as store:
            store.templates(["alice", "bob"])


@pytest.mark.parametrize("place", ENCRYPTED, indirect=True)
@pytest.mark.parametrize(
    "statement",
    [
        *(
            OF_STATE[name]
            for name in ("a looser threshold", "another model", "a dropped threshold")
        ),
        *OF_TEMPLATES.values(),
    ],
)
def test_rows_that_change_under_an_open_gallery_are_refused_before_decisions(place, statement):
    fill(place)
    with opened(place) as store:
        store.templates(), store.thresholds()
        change(place, statement)
        with pytest.raises(ValueError, match="something other than keras-dml has changed it"):
            store.thresholds(), store.templates(["alice"])
        if statement in OF_STATE.values():
            with pytest.raises(ValueError, match="has changed it"):
                store.add("bob", embeddings(1, 3))  # adding a person would sign the foreign change


@pytest.mark.parametrize("place", ENCRYPTED, indirect=True)
def test_the_next_writer_does_not_sign_a_foreign_change(place):
    fill(place)
    with opened(place) as store:
        change(place, OF_TEMPLATES["a dropped template"])
        with pytest.raises(ValueError, match="the recordings of 'alice'"):
            store.add("alice", embeddings(1, 3))
    with pytest.raises(ValueError, match="the recordings of 'alice'"):
        with opened(place) as store:
            store.templates()


@pytest.mark.parametrize("place", ENCRYPTED, indirect=True)
def test_every_operation_keeps_the_seals_valid(place):
    fill(place)
    with opened(place) as store:
        store.add("carol", embeddings(1, 4))
        store.add("carol", embeddings(1, 5), enrolled=False)
        store.rename("carol", "caroline")
        store.forget("alice", [store.stored("alice")[0].id])
        store.forget("caroline", [store.stored("caroline", False)[0].id], enrolled=False)
        store.add_all(["dora", "alice"], [True, True], embeddings(2, 6).reshape(2, 6))
        store.remember("reading", {"time": "t"})
        store.remove_threshold(0.1)
        store.remove("bob")
        store.purge()
        store.check()
        with opened(place) as second:
            assert second.people() == {"alice": 3, "caroline": 1, "dora": 1}
            assert set(second.templates()[0]) == {"alice", "caroline", "dora"}
            second.add("eve", embeddings(1, 7))
        store.add("eve", embeddings(1, 8))
    with opened(place) as store:
        assert store.templates()[0].count("eve") == 2


@pytest.mark.parametrize("place", ["file"], indirect=True)
def test_a_damaged_template_of_a_plain_gallery_is_refused(place):
    fill(place)
    with opened(place) as store:
        _, _, flat = store.templates()
        store.purge()
    whole = place["path"].read_bytes()
    refused = 0
    for row in flat:
        start = whole.index(row.tobytes())
        for byte in range(start, start + row.nbytes, 3):
            damaged = bytearray(whole)
            damaged[byte] ^= 1 << byte % 8
            place["path"].write_bytes(damaged)
            with contextlib.closing(Records(**place)) as store:
                with pytest.raises(ValueError, match="is damaged"):
                    store.templates()
            refused += 1
    assert refused == 5 * 8
    place["path"].write_bytes(whole)
    with opened(place) as store:
        np.testing.assert_array_equal(store.templates()[2], flat)


@pytest.mark.parametrize("place", ["file", "server"], indirect=True)
@pytest.mark.parametrize("statement", OF_TEMPLATES.values(), ids=OF_TEMPLATES.keys())
def test_changed_templates_of_a_plain_gallery_are_refused(place, statement):
    fill(place)
    change(place, statement)
    with pytest.raises(ValueError, match="the recordings of 'alice'"):
        with opened(place) as store:
            store.templates(["alice"])


def as_version_1(path):
    """Converts a gallery's file to the format of an earlier release, which had no seals."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        for table in LATER[1]:
            connection.execute(f"DROP TABLE IF EXISTS {table}")
        connection.execute("PRAGMA user_version = 1")
        connection.commit()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def test_a_gallery_of_an_earlier_release_is_sealed_at_the_next_opening(tmp_path):
    place = {"path": tmp_path / "people.db", "key": KEY}
    fill(place)
    as_version_1(place["path"])
    before = place["path"].read_bytes()
    for key, message in ((None, "Give its key"), (bytes(32), "another key")):
        with pytest.raises(ValueError, match=message):
            Records(place["path"], key)
    assert place["path"].read_bytes() == before
    with pytest.warns(UserWarning, match="made by an earlier release and is sealed now"):
        with opened(place) as store:
            assert store.templates()[0] == ["alice"] * 3 + ["bob"] * 2
    with opened(place):  # opening emits no warning
        pass
    change(place, OF_STATE["a looser threshold"])
    with pytest.raises(ValueError, match="has changed it"):
        galleries.people(**place)


@pytest.mark.parametrize("place", ["server", "encrypted server"], indirect=True)
def test_a_database_of_an_earlier_release_is_sealed_at_the_next_opening(place, recwarn):
    import psycopg

    from keras_dml.gallery.postgres import LATER, UNSEALED

    fill(place)
    with psycopg.connect(place["path"], autocommit=True) as connection:
        tables = ", ".join(f"keras_dml.{table}" for table in LATER[UNSEALED])
        connection.execute(f"DROP TABLE {tables}")
        mark = UNSEALED
        connection.execute(f"COMMENT ON SCHEMA keras_dml IS '{mark}'")
    if "keys" in place:
        with contextlib.closing(sqlite3.connect(place["keys"])) as connection:
            connection.execute("DELETE FROM counters")
            connection.commit()
    with opened(place) as store:
        assert store.templates()[0] == ["alice"] * 3 + ["bob"] * 2
        store.add("bob", embeddings(1, 3))
        store.claims(galleries.Tries()).begin("alice", "")
    messages = [warning for warning in recwarn if "is sealed now" in str(warning.message)]
    assert len(messages) == ("keys" in place)
    change(place, OF_TEMPLATES["a dropped template"])
    with opened(place) as store:
        with pytest.raises(ValueError, match="the recordings of 'alice'"):
            store.templates()


def test_a_backup_of_an_earlier_release_is_copied_as_it_is(tmp_path):
    place = {"path": tmp_path / "people.db", "key": KEY}
    fill(place)
    as_version_1(place["path"])
    galleries.backup(place["path"], tmp_path / "copy.db")
    galleries.restore(tmp_path / "copy.db", tmp_path / "new.db")
    with pytest.warns(UserWarning, match="sealed now"):
        assert galleries.people(tmp_path / "new.db", key=KEY) == {"alice": 3, "bob": 2}


@pytest.fixture
def with_key_file(tmp_path):
    """Gallery whose key is in a file in another folder."""
    (tmp_path / "safe").mkdir()
    key = tmp_path / "safe" / "family.key"
    key.touch(mode=0o600)
    key.write_bytes(KEY)
    place = {"path": tmp_path / "people.db", "key": key}
    fill(place)
    return place


def copied(place, name):
    """Returns a copy of the file of a closed gallery."""
    copy = place["path"].with_name(name)
    shutil.copy(place["path"], copy)
    return copy


def test_an_older_copy_in_the_place_of_the_gallery_is_refused(with_key_file):
    place = with_key_file
    old = copied(place, "old.db")
    with opened(place) as store:
        store.remove("bob")
    os.replace(old, place["path"])
    for use in (galleries.people, galleries.info):
        with pytest.raises(ValueError, match="is an older copy of this gallery"):
            use(**place)
    galleries.accept_older(**place)
    assert galleries.people(**place) == {"alice": 3, "bob": 2}
    with opened(place) as store:
        store.add("carol", embeddings(1))


def test_a_process_killed_before_the_counter_is_written_leaves_a_gallery_that_opens(with_key_file):
    with opened(with_key_file) as store:
        store._counter.keep = lambda number: None  # as if the process were killed before this step
        store.remove("bob")
    assert galleries.people(**with_key_file) == {"alice": 3}
    with opened(with_key_file) as store:
        store.add("carol", embeddings(1))


def test_a_gallery_without_seals_in_the_place_of_a_sealed_one_is_refused(with_key_file):
    as_version_1(with_key_file["path"])
    with pytest.raises(ValueError, match="has no seals, but it had seals"):
        galleries.people(**with_key_file)


def test_a_backup_that_is_restored_with_the_key_is_accepted(with_key_file, tmp_path):
    copy = tmp_path / "copy.db"
    galleries.backup(with_key_file["path"], copy)
    with opened(with_key_file) as store:
        store.remove("bob")
    galleries.restore(copy, with_key_file["path"], replace=True, key=with_key_file["key"])
    assert galleries.people(**with_key_file) == {"alice": 3, "bob": 2}
    assert galleries.people(copy, key=with_key_file["key"]) == {"alice": 3, "bob": 2}


def test_a_restore_under_an_open_gallery_loses_nothing_without_an_error(with_key_file, tmp_path):
    copy = tmp_path / "copy.db"
    galleries.backup(with_key_file["path"], copy)
    with opened(with_key_file) as store:
        store.add("carol", embeddings(1))
        galleries.restore(copy, with_key_file["path"], replace=True)
        with pytest.raises(ValueError, match="is an older copy"):
            store.add("dora", embeddings(1))
        galleries.accept_older(**with_key_file)
        store.add("dora", embeddings(1))
    assert galleries.people(**with_key_file) == {"alice": 3, "bob": 2, "dora": 1}


def test_a_key_given_as_bytes_creates_no_file_of_counters(tmp_path):
    place = {"path": tmp_path / "people.db", "key": KEY}
    fill(place)
    assert [file.name for file in tmp_path.iterdir()] == ["people.db"]


@pytest.mark.parametrize("place", ["encrypted server"], indirect=True)
def test_older_rows_of_a_server_are_refused(place):
    import psycopg

    fill(place)
    tables = ("about", "people", "templates", "thresholds", "seals", "state")

    def rows(run):
        return {table: run(f"SELECT * FROM {table} ORDER BY 1").fetchall() for table in tables}

    with psycopg.connect(place["path"], autocommit=True) as connection:
        connection.execute("SET search_path = keras_dml, public")
        before = rows(connection.execute)
        with opened(place) as store:
            store.remove_threshold(0.1)
        for table in ("thresholds", "state"):
            connection.execute(f"DELETE FROM {table}")
            for row in before[table]:
                marks = ", ".join(["%s"] * len(row))
                connection.execute(f"INSERT INTO {table} VALUES ({marks})", row)
        assert rows(connection.execute) == before
    with pytest.raises(ValueError, match="is an older copy of this gallery"):
        galleries.thresholds(**place)
    galleries.accept_older(**place)
    assert list(galleries.thresholds(**place)) == [0.1]
