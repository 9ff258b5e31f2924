"""The file of a gallery: what strangers, crowds and kills do to it."""

import pathlib
import signal
import sqlite3
import subprocess
import sys
import threading

import numpy as np
import pytest

from keras_dml.gallery._store import Store


@pytest.fixture
def path(tmp_path):
    return tmp_path / "people.db"


def embeddings(count, seed=0):
    return np.random.default_rng(seed).random((count, 2, 3), "float32")


def test_embeddings_come_back_flat_in_the_order_of_names(path):
    z = embeddings(3)
    with_closed(path, lambda store: [store.add("b", z[:2]), store.add("a", z[2:])])
    names, enrolled, flat = with_closed(path, Store.templates)
    assert names == ["a", "b", "b"] and enrolled.all()
    np.testing.assert_array_equal(flat, z[[2, 0, 1]].reshape(3, 6))


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


def test_a_later_version_is_refused(path):
    with_closed(path, Store.people)
    other = sqlite3.connect(path)
    other.execute("PRAGMA user_version = 99")
    other.close()
    with pytest.raises(ValueError, match="gallery of version 99"):
        Store(path)


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


def test_threads_write_one_after_the_other(path):
    store = Store(path)

    def write(thread):
        for i in range(10):
            store.add(f"person {thread}", embeddings(1, i))

    threads = [threading.Thread(target=write, args=(i,)) for i in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert store.people() == {f"person {i}": 10 for i in range(4)}
    store.close()


def test_a_failed_write_leaves_nothing(path):
    store = Store(path)
    store.add("a", embeddings(2))
    with pytest.raises(ValueError, match="NOT NULL"):
        store.add(None, embeddings(2))
    assert store.people() == {"a": 2}
    store.add("b", embeddings(1))  # and the file is not locked
    store.close()


WRITER = """
import sys
import numpy as np
from keras_dml.gallery._store import Store
store = Store(sys.argv[1])
for i in range(100_000):
    store.add(f"{sys.argv[2]} {i}", np.full((3, 2, 3), i, "float32"))
    print(i, flush=True)
"""


@pytest.mark.slow
def test_a_killed_process_loses_nothing_that_was_acknowledged_and_leaves_no_half(path):
    acknowledged = {}
    for kill in range(6):
        writers = {
            f"writer {kill} {i}": subprocess.Popen(
                [sys.executable, "-c", WRITER, str(path), f"writer {kill} {i}"],
                stdout=subprocess.PIPE,
                text=True,
                cwd=pathlib.Path(__file__).parents[2],
            )
            for i in range(2)
        }
        for name, writer in writers.items():  # both write by now, one is killed in the other's way
            acknowledged[name] = [int(writer.stdout.readline()) for _ in range(3 + kill)][-1]
        for name, writer in writers.items():
            writer.send_signal(signal.SIGKILL)
            rest = writer.communicate()[0].split("\n")[:-1]
            acknowledged[name] = int(rest[-1]) if rest else acknowledged[name]
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()
    names, _, flat = with_closed(path, Store.templates)
    count = {name: names.count(name) for name in set(names)}
    assert set(count.values()) == {3}  # nobody by half
    for name, last in acknowledged.items():
        assert all(f"{name} {i}" in count for i in range(last + 1))
    numbers = np.array([float(name.rsplit(" ", 1)[1]) for name in names])
    np.testing.assert_array_equal(flat, np.repeat(numbers[:, None], 6, axis=1))
