"""The same recording twice: within a person, across people, in galleries that merge."""

import warnings

import numpy as np
import pytest

from keras_dml import _contents
from keras_dml.gallery import Gallery, _decide

FILES = ["file", "encrypted file"]
SERVERLESS = pytest.mark.parametrize("place", FILES, indirect=True)


@pytest.fixture
def gallery(model, people, place):
    with Gallery(model=model, **place) as opened:
        for name in ("bob", "alice"):
            opened.enroll(name, people(name))
        yield opened


def add_unchecked(gallery, person, recordings, enrolled=True):
    """Adds recordings as earlier releases did, which compared none."""
    gallery._store.add(person, gallery._model.embed(recordings), enrolled=enrolled)


def copies(recording):
    """The recording as another program may have saved it."""
    return {
        "as it is": recording.copy(),
        "float32": recording.astype(np.float32),
        "six decimals": np.round(recording, 6),
        "in other memory": np.asfortranarray(recording),
    }


@pytest.mark.parametrize("kind", copies(np.zeros((2, 2))))
def test_a_recording_of_a_person_counts_once_however_it_was_saved(gallery, people, kind):
    recording, other = people("carol", 2)
    copy = copies(recording)[kind]
    with pytest.warns(UserWarning, match="1 of these 3"):
        first = gallery.enroll("carol", [recording, other, copy])
    assert (first.kept, first.repeated, first.refused) == ((0, 1), {2: 0}, {})
    with pytest.warns(UserWarning, match="1 of these 1"):
        again = gallery.enroll("carol", copy)
    assert (again.kept, again.repeated, again.enrolled) == ((), {0: None}, 2)
    assert gallery.people()["carol"] == 2 and len(set(gallery.recordings("carol"))) == 2


def test_ten_recordings_of_five_files_are_five(gallery, people):
    recordings = people("carol", 5)
    with pytest.warns(UserWarning, match="5 of these 10"):
        found = gallery.enroll("carol", recordings + recordings)
    assert found.enrolled == 5 and found.repeated == {5 + i: i for i in range(5)}
    assert "recording 9 is the same as recording 4" in str(found)


@pytest.mark.slow
@pytest.mark.parametrize("kind", copies(np.zeros((2, 2))))
def test_a_recording_of_somebody_else_is_refused_and_both_are_named(gallery, people, kind):
    shared, new = people("carol", 2)
    gallery.enroll("carol", shared)
    found = gallery.enroll("dora", [new, copies(shared)[kind], copies(shared)[kind]])
    assert found.kept == (0,) and {*found.refused} == {1, 2} and not found.repeated
    for reason in found.refused.values():
        assert "'carol'" in reason and "'dora'" in reason
        assert not any(f"{number:.3f}" in reason for number in shared.ravel()[:20])
    assert gallery.people()["dora"] == 1


def test_different_recordings_are_never_the_same(gallery, people):
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        found = gallery.enroll("carol", people("carol", 30))
    assert len(found.kept) == 30


@pytest.mark.parametrize("scale", [1e-12, 1e6])
@pytest.mark.parametrize("place", FILES[:1], indirect=True)
def test_units_of_channels_do_not_make_recordings_the_same(gallery, people, scale):
    units = np.array([1.0, scale, 1.0])
    recordings = [units * one for one in people("carol", 8)]
    level = recordings[0].mean(axis=0)
    recordings.append(recordings[0] + [0, level[1] + scale, 0])  # differs in one channel only
    assert len(gallery.enroll("carol", recordings).kept) == 9


def test_a_copy_does_not_vouch_for_a_recording_of_somebody_else(gallery, people):
    names = [f"volunteer {i}" for i in range(24)]
    recordings = [one for name in names for one in people(name)]
    gallery.calibrate(recordings, np.repeat(names, 4), 0.05)
    stranger = people("mallory", 1)
    found = gallery.enroll("dora", [*people("dora", 3), *stranger, *stranger])
    assert found.kept == (0, 1, 2) and {*found.refused} == {3, 4}
    found = gallery.enroll("erin", [*people("erin", 1), *2 * people("trudy", 1)])
    assert not found.kept and {*found.refused} == {0, 1, 2}


def test_somebody_s_own_recording_is_enrolled_again_after_it_was_forgotten(gallery, people):
    (recording,) = people("carol", 1)
    (identity,) = gallery.enroll("carol", recording).ids
    gallery.forget("carol", identity)
    assert gallery.enroll("dora", recording).kept == (0,)
    gallery.remove("dora")
    assert gallery.enroll("carol", recording).kept == (0,)


def test_a_recording_is_not_both_enrolled_and_marked(gallery, people):
    own, strange = people("alice", 1)[0], people("mallory", 1)[0]
    gallery.enroll("alice", own)
    with pytest.raises(ValueError, match="Recording 1 is enrolled as 'alice'"):
        gallery.reject("alice", [strange, own])
    assert gallery.enroll("alice", strange).kept == (0,)  # nothing was marked
    intruder = people("mallory", 1)[0]
    gallery.reject("alice", [intruder, intruder])
    gallery.reject("alice", intruder)
    assert (~gallery._templates().enrolled).sum() == 1
    found = gallery.enroll("alice", intruder)
    assert not found.kept and "'alice'" in found.refused[0]
    assert gallery.enroll("mallory", intruder).kept == (0,)


@pytest.mark.parametrize("exported", [False, True])
def test_merging_the_same_recording_under_two_names_is_refused_and_adds_nothing(
    gallery, model, people, tmp_path, exported
):
    shared = people("carol", 1)
    gallery.enroll("carol", shared)
    before = gallery.people()
    with Gallery(tmp_path / "other.db", model) as other:
        other.enroll("dora", people("dora"))
        other.enroll("karol", [np.round(shared[0], 6)])
        given = other
        if exported:
            given = tmp_path / "other.npz"
            other.export_templates(given)
        with pytest.raises(ValueError, match="'carol'.*'karol'"):
            gallery.merge(given)
    assert gallery.people() == before


@SERVERLESS
def test_galleries_that_hold_a_recording_twice_are_not_merged(gallery, model, people, tmp_path):
    shared = people("carol", 1)
    with Gallery(tmp_path / "other.db", model) as other:
        add_unchecked(other, "carol", shared)
        add_unchecked(other, "dora", shared)
        with pytest.raises(ValueError, match="'carol'.*'dora'"):
            gallery.merge(other)
    with Gallery(tmp_path / "third.db", model) as third:
        third.enroll("alice", people("alice", 1))
        marked = people("mallory", 1)
        third.reject("alice", marked)
        gallery.enroll("alice", marked)
        with pytest.raises(ValueError, match="enrolled as 'alice' and marked"):
            gallery.merge(third)


def test_merging_adds_a_recording_of_a_person_once(gallery, model, people, tmp_path):
    shared, new = people("carol", 2)
    gallery.enroll("carol", shared)
    with Gallery(tmp_path / "other.db", model) as other:
        add_unchecked(other, "carol", [np.round(shared, 6), new, new.astype(np.float32)])
        assert gallery.merge(other) == {"carol": 1}
        assert gallery.merge(other) == {}


@pytest.mark.slow
@pytest.mark.parametrize("names", [("bella", "anna"), ("anna", "bella"), ("c", "b", "a")])
def test_no_order_of_names_decides_a_tie(model, people, place, names):
    """Earlier releases took one recording under two names."""
    shared = people("shared", 1)
    with Gallery(model=model, **place) as gallery:
        for name in names:
            gallery.enroll(name, people(name))
            add_unchecked(gallery, name, shared)
        for top in (1, 5):
            found = gallery.identify(shared, top, threshold=1e9)
            assert found.person is None and sorted(found.tied) == sorted(names)
            assert all(name in found.answer for name in names)
        assert gallery.identify(shared, threshold=-1.0).tied == ()
        clear = gallery.identify(people(names[0]), threshold=1e9)
        assert clear.person == names[0] and clear.tied == ()


@SERVERLESS
def test_who_is_denied_does_not_tie(model, people, place):
    shared = people("shared", 1)
    with Gallery(model=model, **place) as gallery:
        for name in ("anna", "bella"):
            add_unchecked(gallery, name, shared)
        probe = shared[0] + 0.01
        add_unchecked(gallery, "anna", [probe], enrolled=False)
        found = gallery.identify(probe, threshold=1e9)
        assert found.person == "bella" and found.tied == ()


def test_a_device_names_both(monkeypatch):
    class Watch(_decide.Gallery):
        def __init__(self):
            self.threshold = 1.0

        def scores(self, *recordings):
            return {"bella": 0.5, "anna": 0.5, "carol": 0.7}

    with pytest.raises(ValueError, match="bella and anna are equally near"):
        Watch().identify(None)


def test_equal_embeddings_are_found_like_by_a_slow_loop():
    rng = np.random.default_rng(0)
    some = rng.normal(size=(40, 3, 5)) * [[[1e-9], [1.0], [1e6]]]
    noise = rng.uniform(-1, 1, size=some.shape) * np.abs(some).max(axis=-1, keepdims=True)
    sizes = rng.choice([0, 0.5, 0.9, 1.2, 5], size=(40, 1, 1)) * _contents.TOLERANCE
    others = (some + sizes * noise)[rng.permutation(40)]
    expected = [
        [
            j
            for j, y in enumerate(others)
            if all(
                np.abs(a - b).max() <= _contents.TOLERANCE * max(np.abs(a).max(), np.abs(b).max())
                for a, b in zip(x, y, strict=True)
            )
        ]
        for x in some
    ]
    found = [rows.tolist() for rows in _contents.alike(some, others)]
    assert found == expected and 10 < sum(map(len, expected)) < 40
    assert [len(rows) for rows in _contents.alike(some, others[:0])] == 40 * [0]
