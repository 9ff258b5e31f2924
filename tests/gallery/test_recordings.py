"""Tests that single recordings have ids, are listed and can be removed."""

import datetime

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import keras_dml
from keras_dml import gallery as galleries
from keras_dml._backend import keras
from keras_dml.gallery import Gallery
from keras_dml.layers import QuantileLayer

NAMES = ("alice", "bob")
RECORDINGS = np.random.default_rng(0).normal(size=(6, 20, 2))
PROBES = np.random.default_rng(1).normal(size=(3, 20, 2))


@pytest.fixture(scope="module")
def model():
    signal = keras.Input((None, 2))
    return keras.Model(signal, QuantileLayer(4)(keras.layers.Identity()(signal)), name="channels")


@pytest.fixture
def gallery(model, place):
    with Gallery(model=model, tries=None, **place) as opened:
        yield opened


def state(gallery):
    """Returns the content of a gallery in a form that does not depend on the order."""
    counts = gallery.people()
    scores = {
        name: [gallery.verify(name, probe, threshold=0.0).score for probe in PROBES]
        for name in counts
    }
    return counts, {name: sorted(gallery.recordings(name)) for name in counts}, scores


def test_ids_are_equal_in_every_gallery_of_the_model(gallery, model, tmp_path):
    bad = np.zeros((5, 3))
    enrollment = gallery.enroll("alice", [RECORDINGS[0], bad, RECORDINGS[1]])
    assert enrollment.kept == (0, 2) and len(set(enrollment.ids)) == 2
    assert gallery.recordings("alice") == enrollment.ids
    with Gallery(tmp_path / "other.db", model) as second:
        assert second.enroll("alicia", RECORDINGS[1]).ids == enrollment.ids[1:]
    assert gallery.enroll("bob", [bad]).ids == ()


@pytest.mark.slow
def test_forgetting_equals_never_enrolling(gallery, model, tmp_path):
    ids = gallery.enroll("alice", list(RECORDINGS[:3])).ids
    gallery.forget("alice", ids[1])
    with Gallery(tmp_path / "never.db", model) as never:
        never.enroll("alice", [RECORDINGS[0], RECORDINGS[2]])
        assert state(gallery) == state(never)


@pytest.mark.parametrize("place", ["file"], indirect=True)
def test_a_forgotten_recording_leaves_no_byte(gallery, model):
    ids = gallery.enroll("alice", list(RECORDINGS[:3])).ids
    embedding = keras_dml.embed(model, RECORDINGS[1:2])[0, :2].astype("<f4").tobytes()

    def is_in_files():
        files = gallery.path.parent.glob(f"{gallery.path.name}*")
        return any(embedding[:16] in file_.read_bytes() for file_ in files)

    assert is_in_files()
    gallery.forget("alice", ids[1])
    assert not is_in_files()


def test_forgetting_the_last_recording_removes_the_person(gallery):
    (id_,) = gallery.enroll("alice", RECORDINGS[0]).ids
    gallery.reject("alice", RECORDINGS[1])
    gallery.forget("alice", id_)
    assert gallery.people() == {}
    gallery.enroll("alice", RECORDINGS[0])
    assert not gallery.verify("alice", RECORDINGS[1], threshold=1e9).denied


def test_recordings_are_listed_with_their_times(gallery, place):
    before = datetime.datetime.now(datetime.UTC).replace(microsecond=0)
    gallery.enroll("alice", RECORDINGS[0])
    gallery.enroll("alice", RECORDINGS[1])
    gallery.reject("alice", RECORDINGS[2])
    stored = gallery.list_recordings("alice")
    assert tuple(each.id for each in stored) == gallery.recordings("alice")
    times = [datetime.datetime.fromisoformat(each.created) for each in stored]
    assert before <= times[0] <= times[1] <= datetime.datetime.now(datetime.UTC)
    (marked,) = gallery.list_rejections("alice")
    assert marked.id not in gallery.recordings("alice")
    assert galleries.list_recordings(person="alice", **place) == stored
    assert galleries.list_rejections(person="alice", **place) == (marked,)
    for ask in (galleries.list_recordings, galleries.list_rejections):
        with pytest.raises(KeyError, match="Nobody named 'bob'"):
            ask(person="bob", **place)


@pytest.mark.slow
def test_a_rejection_is_undone(gallery, place):
    gallery.enroll("alice", RECORDINGS[0])
    before = state(gallery)
    gallery.reject("alice", list(RECORDINGS[1:4]))
    first, second, third = (each.id for each in gallery.list_rejections("alice"))
    (id_,) = gallery.recordings("alice")
    for wrong in ([first, id_], ["0" * 16]):
        with pytest.raises(KeyError, match="has no marked recording"):
            gallery.unreject("alice", wrong)
    assert len(gallery.list_rejections("alice")) == 3
    gallery.unreject("alice", [first, third])
    assert [each.id for each in gallery.list_rejections("alice")] == [second]
    galleries.unreject(person="alice", recordings=second, **place)
    assert not gallery.verify("alice", RECORDINGS[1], threshold=1e9).denied
    assert state(gallery) == before


def test_several_recordings_are_forgotten_at_once_or_none(gallery, place):
    ids = gallery.enroll("alice", list(RECORDINGS[:4])).ids
    with pytest.raises(KeyError, match="'alice' has no recording 'x'"):
        galleries.forget(person="alice", recordings=[ids[0], "x"], **place)
    with pytest.raises(ValueError, match="at least one"):
        galleries.forget(person="alice", recordings=[], **place)
    with pytest.raises(KeyError, match="Nobody named 'bob'"):
        galleries.forget(person="bob", recordings=ids[0], **place)
    assert gallery.recordings("alice") == ids and "bob" not in gallery.people()
    galleries.forget(person="alice", recordings=[ids[0], ids[2], ids[0]], **place)
    assert gallery.recordings("alice") == (ids[1], ids[3])
    galleries.forget(person="alice", recordings=[ids[1], ids[3]], **place)
    assert gallery.people() == {}


def test_unknown_recordings_cannot_be_forgotten(gallery):
    (id_,) = gallery.enroll("alice", RECORDINGS[0]).ids
    gallery.enroll("bob", RECORDINGS[1])
    with pytest.raises(KeyError, match="'bob' has no recording"):
        gallery.forget("bob", id_)
    with pytest.raises(KeyError, match="Nobody named 'carol'"):
        gallery.forget("carol", id_)
    assert gallery.people() == {"alice": 1, "bob": 1}


# Each recording belongs to one person.
steps = st.dictionaries(st.integers(0, 5), st.sampled_from(NAMES), max_size=6).map(
    lambda owners: [(name, i) for i, name in owners.items()]
)


@pytest.mark.slow
@settings(max_examples=8)
@given(remaining=steps, gone=steps, order=st.randoms(use_true_random=False))
def test_the_order_of_enrolling_forgetting_and_merging_does_not_matter(
    model, tmp_path_factory, remaining, gone, order
):
    """Two devices enroll and forget recordings in a random order, and then merge."""
    folder = tmp_path_factory.mktemp("devices")
    gone = [(name, i) for name, i in gone if i not in dict(map(reversed, remaining))]
    with (
        Gallery(folder / "first.db", model) as first,
        Gallery(folder / "second.db", model) as second,
        Gallery(folder / "plain.db", model) as plain,
    ):
        waiting = [*remaining, *gone]
        order.shuffle(waiting)
        for name, i in waiting:
            device = order.choice([first, second])
            (id_,) = device.enroll(name, RECORDINGS[i]).ids
            if (name, i) in gone:
                device.forget(name, id_)
        first.merge(second)
        for name, i in remaining:
            plain.enroll(name, RECORDINGS[i])
        assert state(first) == state(plain)
