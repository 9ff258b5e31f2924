"""Tests that `Records` stores the same data in a file and on a server."""

import contextlib
import importlib
import threading

import numpy as np
import pytest

from keras_dml import gallery as galleries
from keras_dml.gallery import Threshold, sqlite
from keras_dml.gallery import store as store_module
from keras_dml.gallery.records import Records

SHAPE = (2, 3)


class Flat:
    """Index with the embeddings themselves as vectors."""

    metric, numbers = "l1", 6

    def vectors(self, embeddings):
        return np.reshape(embeddings, (-1, self.numbers)).astype("float32")


@contextlib.contextmanager
def opened(place):
    with contextlib.closing(Records(**place)) as store:
        store.describe({"model": "m", "fingerprint": "f"}, Flat)
        yield store


@pytest.fixture
def store(place):
    with opened(place) as store:
        yield store


def embeddings(count, seed=0):
    return np.random.default_rng(seed).random((count, *SHAPE), "float32")


def test_templates_of_any_number_of_people_are_read_at_once(store):
    """A statement may have at most 32,766 values in a file and 65,535 on a server."""
    z = embeddings(2)
    store.add("ann o'hara \N{SNOWMAN}", z[:1])
    store.add("bob", z[1:])
    names, _, flat = store.templates(["ann o'hara \N{SNOWMAN}", *map(str, range(70_000))])
    assert names == ["ann o'hara \N{SNOWMAN}"]
    np.testing.assert_array_equal(flat, z[:1].reshape(1, 6))
    assert store.templates([])[0] == []


def test_templates_returns_flat_embeddings_sorted_by_name(store, place):
    z = embeddings(4)
    store.add("b", z[:2])
    store.add("Z", z[2:3])
    store.add("b", z[3:], enrolled=False)
    with opened(place) as again:
        names, enrolled, flat = again.templates()
    assert names == ["Z", "b", "b", "b"]
    assert enrolled.tolist() == [True, True, True, False]
    np.testing.assert_array_equal(flat, z[[2, 0, 1, 3]].reshape(4, 6))
    names, _, flat = store.templates(["b", "nobody"])
    assert names == ["b"] * 3 and flat.shape == (3, 6)
    assert store.templates([])[0] == store.templates(["nobody"])[0] == []


def test_names_of_any_language_keep_their_order(store):
    names = ["Ångström", "ångström", "Zoë", "a b", "李小龍", "O'Brien", "x%s?", "🙂"]
    for name in names:
        store.add(name, embeddings(1))
    assert list(store.people()) == sorted(names)
    assert store.templates()[0] == sorted(names)


def test_facts_about_a_gallery_are_written_once(store, place):
    with opened(place) as again:
        assert again.describe({"model": "other"}, Flat) == {"model": "m", "fingerprint": "f"}
        assert again.about() == {"model": "m", "fingerprint": "f"}


def test_rejected_recordings_are_not_counted_as_enrolled(store):
    assert store.add("a", embeddings(2)) == 2
    assert store.add("a", embeddings(3), enrolled=False) == 2
    assert store.people() == {"a": 2}


def test_add_all_adds_nothing_twice(store):
    store.add("a", embeddings(2))
    templates = store.templates()
    assert store.add_all(*templates) == {}
    z = embeddings(1, 1).reshape(1, 6)
    assert store.add_all(["a", "b", "b"], [True, True, False], z[[0, 0, 0]]) == {"a": 1, "b": 2}
    assert store.add_all(["b"], [True], z) == {}
    assert store.people() == {"a": 3, "b": 1}


def test_a_threshold_replaces_the_one_of_the_same_rate(store, place):
    def threshold(far, value):
        return Threshold(far, value, (0.0, 0.1), 0.9, (0.8, 1.0), 5, 100, 300, 0.01, "counted")

    for limit in (threshold(0.01, 3.0), threshold(0.1, 5.0), threshold(0.01, 4.0)):
        store.set_threshold(limit)
    with opened(place) as again:
        assert again.thresholds() == {0.01: threshold(0.01, 4.0), 0.1: threshold(0.1, 5.0)}


def test_changes_of_other_connections_are_detected(store, place):
    with opened(place) as second:
        seen = [second.changes()]
        for change in (
            lambda: store.add("a", embeddings(1)),
            lambda: second.add("b", embeddings(1)),
            lambda: store.remove("b"),
        ):
            change()
            seen.append(second.changes())
        assert len(set(seen)) == 4 and second.changes() == seen[-1]


def test_a_removed_person_leaves_no_row(store):
    store.add("a", embeddings(2))
    store.add("b", embeddings(2))
    store.add("b", embeddings(1), enrolled=False)
    assert store.remove("b") and not store.remove("b")
    assert store.people() == {"a": 2} and set(store.templates()[0]) == {"a"}
    store.purge()
    assert store.add("b", embeddings(1)) == 1


def test_threads_write_one_after_the_other(store):
    def write(thread):
        for i in range(10):
            store.add(f"person {thread}", embeddings(1, i))

    threads = [threading.Thread(target=write, args=(i,)) for i in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert store.people() == {f"person {i}": 10 for i in range(4)}


def test_two_connections_add_to_one_person(store, place):
    def write(connection):
        for i in range(10):
            connection.add("a", embeddings(1, i))

    with opened(place) as second:
        threads = [threading.Thread(target=write, args=(thread,)) for thread in (store, second)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert second.people() == {"a": 20} and len(second.templates()[0]) == 20


def test_a_failed_write_leaves_nothing(store):
    store.add("a", embeddings(2))
    with pytest.raises(ValueError, match="(?i)not.null"):
        store.add(None, embeddings(2))
    assert store.people() == {"a": 2}
    store.add("b", embeddings(1))  # the store is not locked


def test_a_closed_store_gives_a_clear_error(store):
    store.close()
    for use in (store.people, store.templates, store.changes):
        with pytest.raises(ValueError, match="is closed. Open it again"):
            use()


@pytest.mark.parametrize("place", ["file", "encrypted file"], indirect=True)
def test_purge_of_a_file_names_no_place(store):
    assert store.purge() == ()


def test_people_are_listed_and_removed_without_the_model(store, place):
    store.add("ann", embeddings(2))
    store.add("bob", embeddings(1))
    assert galleries.people(**place) == {"ann": 2, "bob": 1}
    galleries.remove(person="ann", **place)
    assert galleries.people(**place) == store.people() == {"bob": 1}
    with pytest.raises(KeyError, match="ann"):
        galleries.remove(person="ann", **place)
    galleries.purge(**place)
    assert galleries.exists(place["path"]) and store.people() == {"bob": 1}


def test_a_missing_gallery_is_an_error_and_is_not_created(tmp_path):
    (tmp_path / "empty.db").touch()
    for path in (tmp_path / "gone.db", tmp_path / "empty.db"):
        for use in (galleries.people, galleries.purge, lambda path: galleries.remove(path, "ann")):
            with pytest.raises(FileNotFoundError, match=path.name):
                use(path)
        assert not galleries.exists(path)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["empty.db"]


def test_every_store_has_the_methods_of_the_interface():
    pytest.importorskip("psycopg")
    methods = {name for name in vars(store_module.Store) if not name.startswith("_")}
    assert {"reading", "writing", "candidates", "purge"} <= methods
    for module, name in {store_module.FILE, *store_module.SCHEMES.values()}:
        kind = getattr(importlib.import_module(f"keras_dml.gallery.{module}"), name)
        assert methods <= {*dir(kind)}, name


def test_a_store_is_added_by_one_class_and_its_url_scheme(tmp_path, monkeypatch):
    class Toy(sqlite.SQLiteStore):
        def __init__(self, url, upgrade):
            super().__init__(tmp_path / str(url).removeprefix("toy://"), upgrade)

    monkeypatch.setattr(sqlite, "Toy", Toy, raising=False)
    monkeypatch.setitem(store_module.SCHEMES, "toy", ("sqlite", "Toy"))
    with opened({"path": "toy://people.db"}) as records:
        records.add("ann", embeddings(2))
    assert (
        galleries.people("toy://people.db")
        == {"ann": 2}
        == galleries.people(tmp_path / "people.db")
    )
