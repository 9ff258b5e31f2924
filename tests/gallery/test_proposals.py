"""Tests of recordings that are kept on request, as proposals of templates or as strangers.

The recordings of a simulated person differ from each other by about 1, and from other people's
recordings by about 10.
"""

import contextlib
import datetime
import sqlite3

import numpy as np
import pytest
from scipy.cluster import hierarchy

from keras_dml import gallery as galleries
from keras_dml.gallery import Gallery, Threshold
from keras_dml.gallery import observations as observations_module
from keras_dml.gallery.strangers import complete_linkage
from tests.gallery.people import CHANNELS

KEY = bytes(range(32))
DAY = "2026-01-01"
LIMIT, CONFIDENT = 6.0, 4.0
THRESHOLD = Threshold(
    *(0.01, LIMIT, (0.0, 0.02), 0.9, (0.8, 1.0), 40, 1000, 300.0, 0.005, "counted"),
    confident=CONFIDENT,
)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "people.db"


@pytest.fixture
def gallery(path, model, people):
    """An encrypted gallery that keeps proposals and strangers. Its recordings are from `DAY`."""
    with Gallery(path, model, key=KEY) as gallery:
        gallery._records.set_threshold(THRESHOLD)
        for name in ("alice", "bob", "carol"):
            gallery.enroll(name, people(name), days=DAY)
        gallery.proposals.keep(30)
        gallery.strangers.keep(7)
        yield gallery


def content(path):
    return b"".join(file.read_bytes() for file in path.parent.iterdir())


def ciphertexts(path):
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return [blob for (blob,) in connection.execute("SELECT embedding FROM observations")]


def shift(recordings, size):
    """Increases the distances from recordings to the person's other recordings by `size`."""
    return [recording + size / CHANNELS for recording in recordings]


def test_an_accepted_recording_is_proposed_added_and_undone(gallery, people):
    probe = people("alice", 1)
    assert gallery.verify("alice", probe).accepted
    (proposal,) = gallery.proposals.list()
    assert proposal.person == "alice" and gallery.people()["alice"] == 4
    days = datetime.datetime.fromisoformat(proposal.expires) - datetime.datetime.fromisoformat(
        proposal.created
    )
    assert days == datetime.timedelta(days=30)
    added = gallery.proposals.accept(proposal.id)
    assert (added.kept, added.refused, added.enrolled) == ((0,), {}, 5)
    assert gallery.proposals.list() == () and gallery.verify("alice", probe).score < 1e-3
    *direct, last = gallery.list_recordings("alice")
    assert last.id == proposal.id and last.source.proposed
    assert not any(each.source.proposed for each in direct)
    assert gallery.proposals.undo(proposal.id) == "alice"
    assert gallery.list_recordings("alice") == tuple(direct)
    with pytest.raises(KeyError, match=proposal.id):
        gallery.proposals.undo(proposal.id)
    with pytest.raises(KeyError, match=direct[0].id):
        gallery.proposals.undo(direct[0].id)


def test_only_clear_new_recordings_of_another_day_are_proposed(gallery, people):
    gallery.verify("alice", people("bob", 1))  # rejected
    doubtful = shift(people("alice", 1), 5.0)
    decision = gallery.verify("alice", doubtful)
    assert decision.accepted and CONFIDENT < decision.score < LIMIT
    assert gallery.proposals.list() == ()
    gallery.identify(people("bob", 1))
    assert [each.person for each in gallery.proposals.list()] == ["bob"]
    gallery.enroll("alice", people("alice", 1))  # today
    gallery.verify("alice", people("alice", 1))
    assert [each.person for each in gallery.proposals.list()] == ["bob"]


@pytest.mark.parametrize("day", ["morning", "2"])
def test_a_label_that_is_not_a_date_counts_as_the_day_of_enrollment(gallery, people, day):
    gallery.enroll("erik", people("erik"), days=day)
    assert gallery.verify("erik", people("erik", 1)).accepted
    assert gallery.proposals.list() == ()


def test_one_recording_is_proposed_per_person_and_day(gallery, people):
    for count in (2, 1):
        assert gallery.verify("alice", people("alice", count)).accepted
    assert len(gallery.proposals.list()) == 1


def test_an_enrolled_recording_is_not_proposed(path, model, people):
    recordings = people("alice")
    with Gallery(path, model, key=KEY) as gallery:
        gallery._records.set_threshold(THRESHOLD)
        gallery.enroll("alice", recordings, days=DAY)
        gallery.proposals.keep(1)
        assert gallery.verify("alice", recordings[:1]).accepted
        assert gallery.proposals.list() == ()


def add_proposal(gallery, person, recordings):
    """Keeps recordings as if they had been proposed on a day without enrollments."""
    z = gallery._embed_fit(recordings)
    gallery.proposals._observations.add(z, person)
    return gallery.proposals.list()[-1]


def test_an_added_proposal_vouches_for_nothing(gallery, people):
    """A person who walks in by small steps gets no further than the first step."""
    level, probe = people("alice", 1), None
    for step in (2.5, 6.5):
        probe = shift(level, step)
        proposal = add_proposal(gallery, "alice", probe)
        result = gallery.proposals.accept(proposal.id)
        assert bool(result.kept) == (step < CONFIDENT)
    assert gallery.verify("alice", probe).score < LIMIT  # near to the added recording
    assert "directly enrolled" in result.refused[0]


def test_a_proposal_that_raises_the_false_accept_rate_is_refused(path, model, people):
    people.is_like("bob", people.level("alice") + 8 / CHANNELS)
    with Gallery(path, model, key=KEY) as gallery:
        gallery._records.set_threshold(THRESHOLD)
        for name in ("alice", "bob"):
            gallery.enroll(name, people(name), days=DAY)
        gallery.proposals.keep(30)
        between = shift(people("alice", 1), 3.2)
        assert not gallery.verify("alice", people("bob", 1)).accepted
        proposal = add_proposal(gallery, "alice", between)
        result = gallery.proposals.accept(proposal.id)
        assert not result.kept and "other people" in result.refused[0]
        assert gallery.people()["alice"] == 4 and len(gallery.proposals.list()) == 1


@pytest.mark.parametrize("kind", ["proposals", "strangers"])
def test_a_destroyed_recording_leaves_no_byte(gallery, people, path, kind):
    kept = getattr(gallery, kind)
    gallery.verify("alice", people("alice", 2))
    gallery.identify(people("dora", 2))
    secrets = ciphertexts(path)
    assert len(secrets) == 3 and all(secret[:16] in content(path) for secret in secrets)
    for each in kept.list():
        kept.destroy(each.id)
    left = ciphertexts(path)
    assert kept.list() == () and len(left) == (2 if kind == "proposals" else 1)
    assert [secret for secret in secrets if secret[:16] in content(path)] == left
    with pytest.raises(KeyError, match="0123"):
        kept.destroy("0123")


def test_an_expired_recording_leaves_no_byte_at_the_next_opening(
    gallery, people, path, monkeypatch
):
    def move_clock(days):
        time = observations_module.now() + datetime.timedelta(days=days)
        monkeypatch.setattr(observations_module, "now", lambda: time)

    gallery.verify("alice", people("alice", 1))
    gallery.identify(people("dora", 1))
    secrets = ciphertexts(path)
    assert len(secrets) == 2
    move_clock(31)
    assert galleries.people(path, key=KEY)["alice"] == 4  # opens the gallery
    assert ciphertexts(path) == []
    assert not any(secret[:16] in content(path) for secret in secrets)
    gallery.identify(people("dora", 1))
    assert len(ciphertexts(path)) == 1
    move_clock(8)
    gallery.purge()
    assert ciphertexts(path) == []


def test_nothing_is_kept_without_a_request(path, model, people):
    with Gallery(path, model, key=KEY) as gallery:
        gallery._records.set_threshold(THRESHOLD)
        gallery.enroll("alice", people("alice"), days=DAY)
        gallery.verify("alice", people("alice", 1))
        gallery.identify(people("dora", 1))
        assert ciphertexts(path) == []
        assert gallery.proposals.days is None and gallery.strangers.days is None


def test_the_end_of_a_request_destroys_its_recordings(gallery, people, path):
    gallery.verify("alice", people("alice", 1))
    gallery.identify(people("dora", 1))
    gallery.proposals.keep(None)
    assert gallery.proposals.days is None and len(ciphertexts(path)) == 1
    gallery.strangers.keep(None)
    assert ciphertexts(path) == []


def test_the_request_needs_an_encrypted_file(path, model, people):
    with Gallery(path, model) as gallery:
        for kept in (gallery.proposals, gallery.strangers):
            with pytest.raises(ValueError, match="not encrypted.*`key`"):
                kept.keep(7)
    for days in (0, -1.0, np.nan, 366.5, 1e7, 1e12):
        with Gallery(path.with_name("other.db"), model, key=KEY) as gallery:
            with pytest.raises(ValueError, match="days"):
                gallery.proposals.keep(days)


@pytest.mark.parametrize("place", ["encrypted server"], indirect=True)
def test_the_request_is_refused_on_a_server(place, model):
    with Gallery(model=model, **place) as gallery:
        with pytest.raises(ValueError, match="server"):
            gallery.strangers.keep(7)
        assert gallery.strangers.list() == ()


def test_strangers_are_grouped_named_and_destroyed(gallery, people):
    for name in ("dora", "erik", "dora", "dora"):
        assert gallery.identify(people(name, 1)).person is None
    dora, erik = gallery.strangers.list()
    assert (len(dora.recordings), len(erik.recordings)) == (3, 1) and dora.days == 1
    assert "came 3 times" in str(dora) and dora.expires > dora.last
    enrolled = gallery.strangers.name(dora.id, "dora")
    assert enrolled.enrolled == 3 and gallery.identify(people("dora", 1)).person == "dora"
    assert gallery.strangers.list() == (erik,)
    assert gallery.strangers.destroy(erik.id) == 1 and gallery.strangers.list() == ()
    with pytest.raises(KeyError, match=dora.id):
        gallery.strangers.name(dora.id, "dora")


def test_a_stranger_is_not_named_as_another_person(gallery, people):
    gallery.identify(people("dora", 1))
    (dora,) = gallery.strangers.list()
    result = gallery.strangers.name(dora.id, "alice")
    assert not result.kept and "exceeds the threshold" in result.refused[0]
    assert gallery.strangers.list() == (dora,)


@pytest.mark.parametrize("count", [0, 1, 2, 30])
def test_groups_agree_with_complete_linkage_of_scipy(rng, count):
    points = rng.normal(size=(count, 2))
    distances = np.linalg.norm(points[:, None] - points, axis=-1)
    for limit in (-np.inf, 0.5, 2.0, 100.0):
        groups = complete_linkage(distances, limit)
        expected = np.arange(count)
        if count > 1:
            tree = hierarchy.linkage(points, "complete")
            expected = hierarchy.fcluster(tree, limit, "distance")
        np.testing.assert_array_equal(groups[:, None] == groups, expected[:, None] == expected)


def test_a_chain_of_similar_strangers_is_not_one_group(gallery, people):
    dora = people("dora", 1)
    for step in range(5):
        gallery.identify(shift(dora, 0.8 * LIMIT * step))
    groups = gallery.strangers.list()
    assert sum(len(group.recordings) for group in groups) == 5
    assert max(len(group.recordings) for group in groups) == 2


def test_the_number_of_strangers_is_bounded(gallery, people, monkeypatch):
    monkeypatch.setitem(observations_module.MOST, "strangers", 3)
    for _ in range(5):
        gallery.identify(people("dora", 1))
    assert len(gallery.strangers.list()[0].recordings) == 3


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE observations SET expires = '2099-01-01T00:00:00+00:00'",
        "UPDATE observations SET person = (SELECT id FROM people WHERE name = 'bob')",
    ],
)
def test_another_program_cannot_change_what_is_kept(gallery, people, path, statement):
    gallery.verify("alice", people("alice", 1))
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute(statement)
        connection.commit()
    with pytest.warns(UserWarning, match="unreadable-1"):
        assert gallery.proposals.list() == ()
    gallery.proposals.destroy("unreadable-1")
    assert gallery.proposals.list() == () and ciphertexts(path) == []


def test_proposals_follow_a_person(gallery, people, path):
    gallery.verify("alice", people("alice", 1))
    gallery.rename("alice", "Alice A.")
    assert [each.person for each in gallery.proposals.list()] == ["Alice A."]
    secrets = ciphertexts(path)
    gallery.remove("Alice A.")
    assert gallery.proposals.list() == () and secrets[0][:16] not in content(path)


def test_no_repr_contains_an_embedding(gallery, people):
    gallery.verify("alice", people("alice", 1))
    (kept,) = gallery.proposals._observations.list()
    assert "embedding" not in repr(kept) and "array" not in repr(gallery.proposals.list())


def test_a_decision_does_not_fail_if_its_recording_cannot_be_kept(gallery, people, monkeypatch):
    def fail(*_):
        raise OSError("The disk is full.")

    monkeypatch.setattr(observations_module.Observations, "add", fail)
    with pytest.warns(UserWarning, match="disk is full"):
        assert gallery.verify("alice", people("alice", 1)).accepted
    with pytest.warns(UserWarning, match="disk is full"):
        assert gallery.identify(people("dora", 1)).person is None
