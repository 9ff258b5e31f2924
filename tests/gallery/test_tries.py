"""Tests that rejected claims are counted per person and client and cause pauses."""

import contextlib
import itertools
import sqlite3
import threading

import numpy as np
import pytest

from keras_dml import gallery as galleries
from keras_dml.gallery import Gallery, TooManyTries, Tries, tries
from keras_dml.gallery.records import Records

FEW = Tries(free=2, pause=10.0, longest=40.0, longest_identified=20.0)


class Clock:
    """Simulated clock that tests can set."""

    def __init__(self):
        self.now = 1e9

    def time(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(tries, "time", clock)
    return clock


class Flat:
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
        for name in ("alice", "bob"):
            store.add(name, np.ones((1, 2, 3), "float32"))
        yield store


def seconds_of(claims, person="alice", client=""):
    """Makes a claim. Returns the remaining seconds of the pause, or 0 if the claim is decided."""
    try:
        claims.begin(person, client)
    except TooManyTries as error:
        return error.seconds
    return 0.0


def test_pauses_double_up_to_the_longest():
    assert [FEW.seconds_after(failures) for failures in range(7)] == [0, 0, 0, 10, 20, 40, 40]
    assert FEW.seconds_after(10**9) == 40
    assert [FEW.seconds_after(failures, identified=True) for failures in (2, 3, 4, 5)] == [
        *(0, 10, 20, 20)
    ]


@pytest.mark.parametrize(
    ("options", "error", "name"),
    [
        ({"free": -1}, ValueError, "free"),
        ({"free": 1.5}, TypeError, "free"),
        ({"pause": 0.0}, ValueError, "pause"),
        ({"longest": float("inf")}, ValueError, "longest"),
    ],
)
def test_invalid_limits_are_refused(options, error, name):
    with pytest.raises(error, match=name):
        Tries(**options)


def test_rejected_claims_are_followed_by_growing_pauses(store, clock):
    claims = store.claims(FEW)
    assert [seconds_of(claims) for _ in range(4)] == [0, 0, 0, 10]
    clock.now += 9
    assert seconds_of(claims) == 1  # a refused claim does not make the pause longer
    clock.now += 1
    assert [seconds_of(claims) for _ in range(2)] == [0, 20]


def test_counts_belong_to_a_person_and_a_client(store, clock):
    claims = store.claims(FEW)
    for _ in range(3):
        claims.begin("alice", "door")
    assert seconds_of(claims, "alice", "door") == 10
    assert seconds_of(claims, "alice", "phone") == seconds_of(claims, "bob", "door") == 0
    claims.accept("alice", "phone")  # resets neither the other client nor the other person
    assert seconds_of(claims, "alice", "door") == 10
    claims.accept("alice", "door")
    assert [seconds_of(claims, "alice", "door") for _ in range(4)] == [0, 0, 0, 10]


def test_another_process_and_a_restart_share_the_count(store, place, clock):
    claims = store.claims(FEW)
    claims.begin("alice", "")
    with opened(place) as second:
        for _ in range(2):
            second.claims(FEW).begin("alice", "")
        assert seconds_of(claims) == 10
    with opened(place) as again:
        assert seconds_of(again.claims(FEW)) == 10


def test_claims_at_once_are_all_counted(store, place, clock):
    """Simultaneous claims must not get more decisions than consecutive claims."""
    answers = []

    def claim():
        with opened(place) as second:
            answers.append(seconds_of(second.claims(FEW)))

    threads = [threading.Thread(target=claim) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 8 and answers.count(0.0) == 3


def test_an_accepted_claim_writes_only_to_reset_a_count(tmp_path, clock):
    path = tmp_path / "f.db"
    with opened({"path": path}) as store, contextlib.closing(sqlite3.connect(path)) as other:
        store.add("alice", np.ones((1, 2, 3), "float32"))
        claims, versions = store.claims(FEW), []
        for resets in (True, True, False, True, True):
            claims.conclude("alice", "", resets=resets)
            versions += other.execute("PRAGMA data_version").fetchone()
        assert [after != before for before, after in itertools.pairwise(versions)] == [
            *(False, True, True, False)
        ]


def test_an_accepted_claim_in_a_pause_is_refused(store, clock):
    claims = store.claims(FEW)
    for _ in range(3):
        claims.conclude("alice", "", resets=False)
    for resets in (True, False, True):
        with pytest.raises(TooManyTries) as error:
            claims.conclude("alice", "", resets=resets)
        assert error.value.seconds == 10
    clock.now += 10
    claims.conclude("alice", "", resets=True)
    assert [seconds_of(claims) for _ in range(4)] == [0, 0, 0, 10]


def test_setting_the_clock_neither_helps_nor_locks_out(store, clock):
    claims = store.claims(FEW)
    for _ in range(3):
        claims.begin("alice", "")
    clock.now -= 1e6
    assert seconds_of(claims) == 10  # not longer than the pause


def test_old_claims_are_forgotten(store, clock):
    claims = store.claims(FEW)
    for _ in range(3):
        claims.begin("alice", "")
    clock.now += 24 * 40 + 1
    assert [seconds_of(claims) for _ in range(4)] == [0, 0, 0, 10]


def test_a_renamed_person_keeps_the_count_and_a_removed_one_leaves_none(store, clock):
    claims = store.claims(FEW)
    for _ in range(3):
        claims.begin("alice", "client of alice")
    store.rename("alice", "alicia")
    assert seconds_of(claims, "alicia", "client of alice") == 10
    store.remove("alicia")
    with store._store.reading() as run:
        assert run("SELECT count(*) FROM tries").fetchone()[0] == 0


@pytest.mark.parametrize(
    ("client", "error"), [(7, TypeError), (None, TypeError), ("x" * 201, ValueError)]
)
def test_an_invalid_client_is_refused(store, client, error):
    with pytest.raises(error, match="client"):
        store.claims(FEW).begin("alice", client)


@pytest.mark.parametrize("person", ["nobody", "\ud800", "", None, 7, b"alice"])
def test_unknown_people_have_no_pause(store, person):
    store.claims(FEW).check(person, "")


@pytest.fixture
def gallery(model, place, people):
    with Gallery(model=model, tries=FEW, **place) as gallery:
        for name in ("alice", "bob"):
            gallery.enroll(name, people(name))
        yield gallery


def limit_between(gallery, person, genuine, false):
    """Returns a threshold that accepts one recording of a person and rejects another."""
    with_own = gallery.verify(person, genuine, threshold=1e9).score
    with_others = gallery.verify(person, false, threshold=1e9).score
    assert with_own < with_others
    return (with_own + with_others) / 2


@pytest.mark.slow
def test_a_rejected_person_waits_and_an_accepted_one_does_not(gallery, people, clock):
    genuine, false = people("alice", 1), people("bob", 1)
    limit = limit_between(gallery, "alice", genuine, false)
    for _ in range(3):
        assert not gallery.verify("alice", false, threshold=limit).accepted
    for recordings in (false, genuine):  # genuine claims have to wait, too
        with pytest.raises(TooManyTries) as error:
            gallery.verify("alice", recordings, threshold=limit)
        assert error.value.seconds == 10
    assert gallery.verify("bob", false, threshold=limit).accepted
    assert gallery.verify("alice", genuine, threshold=limit, client="phone").accepted
    clock.now += 10
    assert gallery.verify("alice", genuine, threshold=limit).accepted
    for _ in range(10):
        assert gallery.verify("alice", genuine, threshold=limit).accepted


@pytest.mark.slow
def test_a_stranger_counts_as_the_nearest_person(gallery, people, clock):
    genuine, stranger = people("alice", 1), people("alice's brother", 1)
    people.is_like("alice's brother", people.level("alice") + 2)
    stranger = people("alice's brother", 1)
    limit = limit_between(gallery, "alice", genuine, stranger)
    for _ in range(3):
        assert gallery.identify(stranger, threshold=limit).person is None
    for recording in (stranger, genuine):
        with pytest.raises(TooManyTries) as error:
            gallery.identify(recording, threshold=limit)
        assert "alice" not in str(error.value)
    assert (
        gallery.identify(people("bob", 1), threshold=limit).person == "bob"
    )  # resets only the count of bob
    with pytest.raises(TooManyTries):
        gallery.identify(stranger, threshold=limit)


@pytest.mark.slow
def test_strangers_do_not_lock_a_person_out(gallery, people, clock):
    genuine = people("alice", 1)
    people.is_like("alice's brother", people.level("alice") + 2)
    stranger = people("alice's brother", 1)
    limit = limit_between(gallery, "alice", genuine, stranger)
    for _ in range(6):  # more identifications than cause no pause
        assert gallery.identify(stranger, threshold=limit).person is None
        clock.now += 20
    assert gallery.verify("alice", genuine, threshold=limit).accepted
    assert gallery.identify(genuine, threshold=limit).person == "alice"
    for _ in range(3):  # the accepted identification has reset the count
        assert gallery.identify(stranger, threshold=limit).person is None
    with pytest.raises(TooManyTries) as error:
        gallery.identify(genuine, threshold=limit)
    assert error.value.seconds == 10


def test_a_loose_threshold_does_not_reset_the_count(gallery, people, clock):
    false = people("bob", 1)
    strict = galleries.Threshold(
        0.01, 0.001, (0.0, 0.1), 0.9, (0.8, 1.0), 5, 100, 300, 0.01, "counted"
    )
    gallery._records.set_threshold(strict)
    for _ in range(2):
        assert not gallery.verify("alice", false).accepted
    assert gallery.verify("alice", false, threshold=1e9).accepted
    with pytest.raises(TooManyTries):
        gallery.verify("alice", false)


@pytest.mark.slow
def test_the_limit_can_be_switched_off(model, place, people):
    with Gallery(model=model, tries=None, **place) as gallery:
        gallery.enroll("alice", people("alice"))
        for _ in range(20):
            assert not gallery.verify("alice", people("bob", 1), threshold=-1.0).accepted
    with pytest.raises(TypeError, match="tries"):
        Gallery(model=model, tries=3, **place)


def test_three_rejected_claims_have_no_pause_by_default(model, tmp_path, people):
    with Gallery(tmp_path / "people.db", model) as gallery:
        gallery.enroll("alice", people("alice"))
        for _ in range(3):
            assert not gallery.verify("alice", people("bob", 1), threshold=0.0).accepted
        assert gallery.verify("alice", people("alice", 1), threshold=1e9).accepted


def test_a_pause_is_refused_before_the_model_is_loaded(tmp_path, clock):
    with opened({"path": tmp_path / "people.db"}) as store:
        store.add("alice", np.ones((1, 2, 3), "float32"))
        for _ in range(6):
            store.claims(Tries()).begin("alice", "")
    galleries.check(tmp_path / "people.db", "alice")
    with pytest.raises(TooManyTries):
        galleries.check(tmp_path / "people.db", "alice", client="")
