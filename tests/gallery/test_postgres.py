"""Tests that galleries on PostgreSQL survive foreign changes, removals and killed processes."""

import contextlib
import pathlib
import sqlite3
import sys
import traceback

import numpy as np
import pytest

from keras_dml import cli
from keras_dml import gallery as galleries
from keras_dml.cli import _console
from keras_dml.gallery import Gallery, encryption
from keras_dml.gallery.records import Records

postgres = pytest.importorskip("keras_dml.gallery.postgres", exc_type=ImportError)
psycopg = postgres.psycopg

KEY = bytes(range(32))
NUMBERS = 40


class Flat:
    """Index with the embeddings themselves as vectors."""

    metric, numbers = "l1", NUMBERS

    def vectors(self, embeddings):
        return np.reshape(embeddings, (-1, self.numbers)).astype("float32")


class Wide(Flat):
    numbers = 4001


@contextlib.contextmanager
def opened(url, *args, index=Flat):
    with contextlib.closing(Records(url, *args)) as store:
        store.describe({"model": "m", "fingerprint": "f"}, index)
        yield store


@pytest.fixture
def store(database):
    with opened(database) as store:
        yield store


def embeddings(count, seed=0):
    return np.random.default_rng(seed).random((count, NUMBERS), "float32")


def run(url, statement):
    with psycopg.connect(url, autocommit=True) as connection:
        return connection.execute(statement)


@pytest.mark.slow
def test_candidates_are_the_owners_of_the_nearest_templates(store):
    z = embeddings(600)
    for i in range(300):
        store.add(f"{i:03d}", z[2 * i : 2 * i + 2])
    store.add("none", z[:1], enrolled=False)  # imposters are not in the index
    names, people = store.candidates(z[42:43] + 1e-3)
    distances = np.abs(z - z[42]).sum(axis=1)
    expected = {f"{i // 2:03d}" for i in np.argsort(distances)[:200]}
    assert people == 301 and "021" in names and "none" not in names
    assert len(expected & set(names)) > 0.95 * len(expected)
    both, _ = store.candidates(z[[42, 99]])
    assert set(names) < set(both) and "049" in both
    store.remove("021")
    names, people = store.candidates(z[42:43])
    assert people == 300 and "021" not in names


def test_the_index_can_be_rebuilt_after_enrollments(database):
    """Without the index, the server compares all vectors and must find the same candidates."""
    with opened(database):
        index = run(database, "SELECT pg_get_indexdef('keras_dml.nearest_vectors'::regclass)")
        (index,) = index.fetchone()
        run(database, "DROP INDEX keras_dml.nearest_vectors")
    z = embeddings(300)
    with opened(database) as store:
        store.add_all([f"{i:03d}" for i in range(300)], np.ones(300, bool), z)
        names, _ = store.candidates(z[42:43])
        expected = np.argsort(np.abs(z - z[42]).sum(axis=1))[:200]
        assert len({f"{i:03d}" for i in expected} & set(names)) > 190  # rounded to 16 bits
        run(database, index)
    with opened(database) as store:
        assert "042" in store.candidates(z[42:43])[0]
    query = "SELECT indexdef FROM pg_indexes WHERE indexname = 'nearest_vectors'"
    assert run(database, query).fetchone() == (index,)


def test_nobody_is_a_candidate_of_an_empty_gallery(store):
    assert store.candidates(embeddings(1)) == ([], 0)


def test_the_key_of_a_lost_enrollment_is_not_used_for_another_person(database, tmp_path):
    with opened(database, KEY, tmp_path / "people.keys") as store:
        with pytest.raises(KeyboardInterrupt), store._store.writing() as lost:
            store._add_person(lost, "lost")
            raise KeyboardInterrupt
        run(database, "ALTER TABLE keras_dml.people ALTER COLUMN id RESTART")  # as after a crash
        store.add("ann", embeddings(2))
        assert store.templates()[0] == ["ann", "ann"]


@pytest.mark.parametrize(("metric", "operator"), [("l1", "<+>"), ("l2", "<->")])
def test_the_index_serves_the_metric_of_the_model(database, monkeypatch, metric, operator):
    monkeypatch.setattr(Flat, "metric", metric)
    with opened(database) as store:
        store.add("a", embeddings(20))
        assert store.candidates(embeddings(1)) == (["a"], 1)
    with psycopg.connect(database) as connection:
        connection.execute("SET enable_seqscan = off")
        connection.execute("SET search_path = keras_dml, public")
        vector = f"'{[0.5] * NUMBERS}'::halfvec({NUMBERS})"
        plan = connection.execute(
            f"EXPLAIN SELECT person FROM nearest ORDER BY vector {operator} {vector} LIMIT 200"
        )
        assert "Index Scan using nearest_vectors" in str(plan.fetchall())


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("CREATE VIEW keras_dml.guests AS SELECT * FROM keras_dml.people", "views"),
        ("CREATE TABLE keras_dml.more (name text)", "tables"),
        ("DROP TABLE keras_dml.thresholds", "lacks a table"),
        (
            "CREATE RULE spy AS ON INSERT TO keras_dml.people DO ALSO DELETE FROM "
            "keras_dml.templates",
            "rules",
        ),
        (
            "CREATE TRIGGER spy BEFORE UPDATE ON keras_dml.people FOR EACH ROW EXECUTE FUNCTION "
            "suppress_redundant_updates_trigger()",
            "triggers",
        ),
        ("COMMENT ON SCHEMA keras_dml IS 'people enrolled by keras-dml, version 99'", "99"),
    ],
)
def test_a_gallery_that_somebody_has_changed_is_refused(database, statement, message):
    with opened(database):
        pass
    run(database, statement)
    with pytest.raises(ValueError, match=f"The schema keras_dml of .*{message}"):
        Records(database)


def test_another_program_s_schema_is_refused_and_left(database):
    run(database, "CREATE SCHEMA keras_dml CREATE TABLE songs (name text)")
    with pytest.raises(ValueError, match="not a gallery of this release"):
        Records(database)
    tables = run(database, "SELECT tablename FROM pg_tables WHERE schemaname = 'keras_dml'")
    assert tables.fetchall() == [("songs",)]


def test_other_tables_of_the_database_are_left(database):
    run(database, "CREATE TABLE people (name text); INSERT INTO people VALUES ('guest')")
    with opened(database) as store:
        store.add("alice", embeddings(1))
        store.purge()
        assert store.people() == {"alice": 1}
    assert run(database, "SELECT * FROM people").fetchall() == [("guest",)]


def test_embeddings_that_are_too_long_for_the_index_are_refused(database):
    with pytest.raises(ValueError, match="up to 4,000 numbers"):
        with opened(database, index=Wide):
            pass
    with opened(database) as store:  # without an index
        assert store.about() == {"model": "m", "fingerprint": "f"}


def test_a_distance_without_vectors_is_refused(database):
    with pytest.raises(ValueError, match="Keep the people of this model in a gallery file"):
        with opened(database, index=lambda: None):
            pass


def test_numbers_that_are_too_large_for_the_index_are_refused(store):
    with pytest.raises(ValueError, match="contains the number 7e.* holds numbers up to 65,504"):
        store.add("a", np.full((1, NUMBERS), 7e4, "float32"))
    assert store.people() == {}


def test_a_killed_server_is_an_error_and_what_was_acknowledged_is_there(server, store, database):
    store.add("alice", embeddings(2))
    with opened(database) as second:
        server.kill()
        with pytest.raises(OSError, match="cannot be used: .* before you repeat it"):
            store.add("bob", embeddings(2))
        with pytest.raises(OSError, match="cannot be used: .* Nothing was changed"):
            store.people()
        server.start()
        assert store.people() == {"alice": 2}  # after a new connection
        store.add("carol", embeddings(1))
        with pytest.raises(OSError):
            second.people()
        assert second.people() == {"alice": 2, "carol": 1}
    assert set(store.candidates(embeddings(1))[0]) == {"alice", "carol"}


@pytest.mark.parametrize(
    ("url", "error"),
    [
        ("postgresql://me:secret@nowhere.invalid/db", OSError),
        ("postgresql://me:secret%zz@host/db", ValueError),
        ("postgresql://me@host/db?nonsense=1&password=secret", ValueError),
    ],
)
def test_an_unreachable_server_is_an_error_without_the_password(url, error):
    with pytest.raises(error, match="postgresql://me@") as found:
        Records(url)
    assert "secret" not in "".join(traceback.format_exception(found.value))


def test_the_password_is_not_in_the_path(database):
    with opened(database.replace("postgres@", "postgres:secret@")) as store:
        assert store.path == database
        with opened(store.path) as again:
            assert again.about() == {"model": "m", "fingerprint": "f"}


@pytest.mark.parametrize(
    ("url", "printed"),
    [
        ("postgresql://", "postgresql://"),
        ("postgresql:///family", "postgresql:///family"),
        ("postgresql://?service=family", "postgresql://?service=family"),
        ("postgres://me:secret@h1:1,h2:2/db?x=1", "postgres://me@h1:1,h2:2/db?x=1"),
        (
            "postgresql://host:5432/db?user=a@b&password=secret",
            "postgresql://host:5432/db?user=a%40b",
        ),
        ("postgresql://me:secret?x#y@host/db", "postgresql://me@host/db"),
        ("postgresql://me:se/secret@host/db", "postgresql://me@host/db"),
        ("postgresql://me:se@secret@host/db", "postgresql://me@host/db"),
        ("postgresql://me@host/db?sslpassword=secret", "postgresql://me@host/db"),
        ("people.db", "people.db"),
    ],
)
def test_a_url_is_printed_without_its_password(url, printed):
    assert galleries.hide_password(url) == printed


@pytest.mark.parametrize("password", ["se/cret", "se@cret", "/cret", "cret/5432"])
def test_a_password_that_ends_in_a_url_is_refused_and_not_printed(password):
    with pytest.raises(ValueError, match="%40 for @ and %2F for /") as error:
        Records(f"postgresql://me:{password}@host.invalid/db")
    assert "cret" not in str(error.value)


@pytest.fixture
def roles(server):
    """URL of a database whose owner is not a superuser. A second role `clerk` exists, too."""
    server.run("CREATE ROLE owner LOGIN")
    server.run("CREATE ROLE clerk LOGIN")
    server.run("CREATE DATABASE owned OWNER owner")
    yield server.url("owned").replace("postgres@", "owner@")
    server.run("DROP DATABASE owned WITH (FORCE)")
    server.run("DROP ROLE owner")
    server.run("DROP ROLE clerk")


def test_a_missing_privilege_is_named_with_the_grant(server, roles):
    clerk = roles.replace("owner@", "clerk@")
    with pytest.raises(PermissionError, match="CREATE EXTENSION vector"):
        Records(roles)
    run(server.url("owned"), "CREATE EXTENSION vector")
    with pytest.raises(PermissionError, match="GRANT CREATE ON DATABASE"):
        Records(clerk)
    with opened(roles) as store:
        store.add("alice", embeddings(1))
    with pytest.raises(PermissionError, match="GRANT USAGE ON SCHEMA keras_dml"):
        Records(clerk)
    run(roles, "GRANT USAGE ON SCHEMA keras_dml TO clerk")
    run(roles, "GRANT SELECT, UPDATE ON ALL TABLES IN SCHEMA keras_dml TO clerk")
    with opened(clerk) as store:
        assert store.people() == {"alice": 1}
        with pytest.raises(PermissionError, match="missing privilege. Nothing was changed"):
            store.add("bob", embeddings(1, 1))
        assert store.people() == {"alice": 1}


def test_only_the_owner_purges_a_gallery(server, roles):
    """For other roles, VACUUM only warns and skips the tables, so deleted rows would remain."""
    run(server.url("owned"), "CREATE EXTENSION vector")
    clerk = roles.replace("owner@", "clerk@")
    rights = "SELECT, INSERT, UPDATE, DELETE"
    with opened(roles) as store:
        store.add("alice", embeddings(1))
        run(roles, "GRANT USAGE ON SCHEMA keras_dml TO clerk")
        run(roles, f"GRANT {rights} ON ALL TABLES IN SCHEMA keras_dml TO clerk")
        with opened(clerk) as store_of_clerk:
            store_of_clerk.add("bob", embeddings(1, 1))
            assert store_of_clerk.rename("bob", "carol")
            assert store_of_clerk.remove("carol")
            with pytest.raises(PermissionError, match="only the role that made the gallery"):
                store_of_clerk.purge()
        assert store.purge()


def test_an_encrypted_gallery_keeps_its_keys_apart(database, tmp_path):
    keys = tmp_path / "people.keys"
    with pytest.raises(ValueError, match="Set `keys` to the path of a file"):
        Records(database, KEY)
    with opened(database, KEY, keys) as store:
        store.add("alice", embeddings(1))
    assert keys.stat().st_mode & 0o077 == 0
    with pytest.raises(ValueError, match="the keys of the gallery are missing"):
        Records(database, KEY, tmp_path / "other.keys")
    with pytest.raises(ValueError, match="made with another key"):
        Records(database, KEY[::-1], keys)
    with pytest.raises(ValueError, match=f"Give its key by `key` or by {encryption.ENVIRONMENT}"):
        Records(database)


def test_a_gallery_in_a_file_refuses_a_file_of_keys(tmp_path):
    with pytest.raises(ValueError, match="`keys` is given.* only `key`"):
        Records(tmp_path / "people.db", KEY, tmp_path / "people.keys")
    assert not any(tmp_path.iterdir())


def test_one_file_keeps_the_keys_of_several_galleries(server, tmp_path):
    keys = tmp_path / "all.keys"
    with opened(server.database(), KEY, keys) as first:
        with opened(server.database(), KEY, keys) as second:
            first.add("alice", embeddings(1))
            second.add("alice", embeddings(1, 1))
            first.remove("alice")
            np.testing.assert_array_equal(second.templates()[2], embeddings(1, 1))


@pytest.mark.slow
def test_removal_destroys_the_key_and_lists_remaining_places(server, database, tmp_path):
    keys, secret = tmp_path / "people.keys", embeddings(3, 7)
    with opened(database, KEY, keys) as store:
        store.add("alice", embeddings(1))
        store.add("mallory", secret)
        wrapped = [
            secret_ for (secret_,) in sqlite3.connect(keys).execute("SELECT wrapped FROM keys")
        ]
        assert len(wrapped) == 3  # keys of two people, and one row for the gallery
        run(database, "ANALYZE")  # ANALYZE copies samples of columns into a table of the server
        store.remove("mallory")
        contents = [path.read_bytes() for path in tmp_path.iterdir()]
        assert sum(any(secret_[:16] in file for file in contents) for secret_ in wrapped) == 2
        places = store.purge()
    server.run("CHECKPOINT")
    patterns = [row.tobytes()[:16] for row in secret]  # exact numbers are encrypted
    patterns += [row.astype("float16").tobytes()[:16] for row in secret]  # numbers in the index
    patterns.append(b"mallory")
    files = [path for path in server.files() if any(secret_ in read(path) for secret_ in patterns)]
    assert [path for path in files if path.parent.name != "pg_wal"] == []
    assert "write-ahead log" in places[0] and "Backups" in places[-1]


def read(path):
    try:
        return pathlib.Path(path).read_bytes()
    except FileNotFoundError:  # the server has removed it meanwhile
        return b""


def test_an_interrupted_removal_can_be_repeated(database, tmp_path):
    keys = tmp_path / "people.keys"
    with opened(database, KEY, keys) as store:
        store.add("alice", embeddings(1))
        store.add("bob", embeddings(1))
        connection = sqlite3.connect(keys)
        connection.execute("DELETE FROM keys WHERE rowid = (SELECT max(rowid) FROM keys)")
        connection.commit()
        connection.close()
        assert set(store.templates()[0]) == {"alice"}  # without a key, the templates are left out
        assert store.remove("bob") and store.people() == {"alice": 1}


def test_neither_template_nor_key_is_in_errors_or_the_server_s_log(server, database, tmp_path):
    secret, messages = embeddings(1, 9), []
    with opened(database, KEY, tmp_path / "people.keys") as store:
        for person in (None, "a\0b", 7):
            with pytest.raises((ValueError, OSError)) as error:
                store.add(person, secret)
            messages.append("".join(traceback.format_exception(error.value)))
    messages += [
        read(path).decode(errors="replace") for path in server.files() if path.name == "log"
    ]
    assert len(messages) == 4
    for text in messages:
        assert not [number for number in secret.ravel() if f"{number:.8f}"[:7] in text]
        assert secret.tobytes().hex()[:16] not in text and KEY.hex()[:16] not in text


def test_a_missing_driver_names_the_extra(monkeypatch):
    monkeypatch.delitem(sys.modules, "keras_dml.gallery.postgres", raising=False)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(ImportError, match="keras-dml.postgres"):
        Records("postgresql://host/db")


def test_an_old_pgvector_is_refused(database, monkeypatch):
    monkeypatch.setattr(postgres, "PGVECTOR", (99, 0, 0))
    with pytest.raises(ValueError, match="a gallery needs 99.0.0 or later"):
        Records(database)


def test_a_command_merges_two_encrypted_galleries_of_servers(server, model, people, tmp_path):
    model.save(tmp_path / "channels.keras")
    places, words = [server.database() for _ in "ab"], []
    for number, (url, name) in enumerate(zip(places, ("ann", "bob"), strict=True)):
        key, keys = tmp_path / f"{number}.key", tmp_path / f"{number}.keys"
        key.touch(mode=0o600)
        key.write_bytes(bytes([number] * 32))
        words.append((str(key), str(keys)))
        with Gallery(url, tmp_path / "channels.keras", key=key, keys=keys) as gallery:
            gallery.enroll(name, people(name))
    (key, keys), (other_key, other_keys) = words
    options = ("--key", key, "--keys", keys, "--other-key", other_key, "--other-keys", other_keys)
    with pytest.raises(SystemExit) as stop:
        cli.main(["merge", *places, *options])
    assert not stop.value.code
    with Gallery(places[0], key=key, keys=keys) as gallery:
        assert gallery.people() == {"ann": 4, "bob": 4}


def test_a_command_purges_a_server_and_lists_remaining_places(server, model, people, monkeypatch):
    url, messages = server.database(), []
    monkeypatch.setattr(_console, "note", messages.append)
    monkeypatch.setattr(_console, "echo", messages.append)
    with Gallery(url, model) as gallery:
        for name in ("ann", "bob"):
            gallery.enroll(name, people(name))
    cli.remove.run(url, "ann")
    assert messages == [
        "ann removed, 1 left",
        "Note: removed data stays on the disk of the server until you use --purge.",
    ]
    cli.remove.run(url, "bob", purge=True)
    assert messages[2] == "bob removed, 0 left"
    assert "write-ahead log" in messages[3] and "Backups" in messages[-1]


def test_no_command_prints_the_password_of_a_url(
    server, model, people, tmp_path, capfd, monkeypatch
):
    """`export` names files after the database, because the URL may contain a password."""
    monkeypatch.chdir(tmp_path)
    model.save("channels.keras")
    url = server.database().replace("postgres@", "postgres:sesame@")
    with Gallery(url, tmp_path / "channels.keras") as gallery:
        gallery.enroll("ann", people("ann"))
        name = gallery.info().path.partition("?")[0].rpartition("/")[2]
    commands = (
        ("people", url),
        ("info", url),
        ("enroll", url, "nowhere/"),
        ("verify", url, "ann", "nowhere.csv"),
        ("backup", url, "copy.db"),
        ("restore", "copy.db", url),
        ("export", url, "--to", "templates"),
        ("merge", url, url),
        ("remove", url, "nobody"),
    )
    for words in commands:
        with contextlib.suppress(SystemExit):
            cli.main(words)
    printed = capfd.readouterr()
    assert "ann" in printed.out and "nobody" in printed.err
    assert "sesame" not in printed.out + printed.err
    assert (tmp_path / f"{name}_templates.npz").is_file()


def test_archive_and_replicas_are_listed_only_if_they_exist():
    alone = postgres.places_of_deleted_rows("1 GB", False, 0)
    assert len(alone) == 2 and "1 GB" in alone[0]
    archived = postgres.places_of_deleted_rows("1 GB", True, 0)
    assert [place for place in archived if place not in alone] == [archived[1]]
    assert "archive" in archived[1]
    replicated = postgres.places_of_deleted_rows("1 GB", False, 3)
    assert [place for place in replicated if place not in alone] == [replicated[1]]
    assert "3 replication slots" in replicated[1]
