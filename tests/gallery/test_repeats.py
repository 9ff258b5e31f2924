"""Tests that a recording is detected if it is enrolled twice: for one person, for two people, or in
two galleries.
"""

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
    """Adds recordings without a search for repetitions, as earlier releases did."""
    gallery._records.add(person, gallery._model.embed(recordings), enrolled=enrolled)


def copies(recording):
    """Returns copies of a recording in the forms that other programs may save."""
    return {
        "as it is": recording.copy(),
        "float32": recording.astype(np.float32),
        "six decimals": np.round(recording, 6),
        "in other memory": np.asfortranarray(recording),
    }


@pytest.mark.slow
@pytest.mark.parametrize("kind", copies(np.zeros((2, 2))))
def test_a_recording_of_a_person_counts_once_however_it_was_saved(gallery, people, kind):
    recording, another = people("carol", 2)
    copy = copies(recording)[kind]
    with pytest.warns(UserWarning, match="1 of these 3"):
        first = gallery.enroll("carol", [recording, another, copy])
    assert (first.kept, first.repeated, first.refused) == ((0, 1), {2: 0}, {})
    with pytest.warns(UserWarning, match="1 of these 1"):
        again = gallery.enroll("carol", copy)
    assert (again.kept, again.repeated, again.enrolled) == ((), {0: None}, 2)
    assert gallery.people()["carol"] == 2 and len(set(gallery.recordings("carol"))) == 2


def test_ten_copies_of_five_recordings_count_as_five(gallery, people):
    recordings = people("carol", 5)
    with pytest.warns(UserWarning, match="5 of these 10"):
        enrollment = gallery.enroll("carol", recordings + recordings)
    assert enrollment.enrolled == 5 and enrollment.repeated == {5 + i: i for i in range(5)}
    assert "recording 9 is the same as recording 4" in str(enrollment)


@pytest.mark.slow
@pytest.mark.parametrize("kind", copies(np.zeros((2, 2))))
def test_a_recording_of_another_person_is_refused_and_both_people_are_named(gallery, people, kind):
    shared, new = people("carol", 2)
    gallery.enroll("carol", shared)
    enrollment = gallery.enroll("dora", [new, copies(shared)[kind], copies(shared)[kind]])
    assert enrollment.kept == (0,) and {*enrollment.refused} == {1, 2} and not enrollment.repeated
    for reason in enrollment.refused.values():
        assert "'carol'" in reason and "'dora'" in reason
        assert not any(f"{number:.3f}" in reason for number in shared.ravel()[:20])
    assert gallery.people()["dora"] == 1


def test_different_recordings_are_not_repeats(gallery, people):
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        enrollment = gallery.enroll("carol", people("carol", 30))
    assert len(enrollment.kept) == 30


@pytest.mark.parametrize("scale", [1e-12, 1e6])
@pytest.mark.parametrize("place", FILES[:1], indirect=True)
def test_recordings_with_channels_of_small_units_are_not_repeats(gallery, people, scale):
    units = np.array([1.0, scale, 1.0])
    recordings = [units * recording for recording in people("carol", 8)]
    level = recordings[0].mean(axis=0)
    recordings.append(recordings[0] + [0, level[1] + scale, 0])  # differs only in one channel
    assert len(gallery.enroll("carol", recordings).kept) == 9


@pytest.mark.slow
def test_a_copy_does_not_vouch_for_an_imposter(gallery, people):
    names = [f"volunteer {i}" for i in range(24)]
    recordings = [recording for name in names for recording in people(name)]
    gallery.calibrate(recordings, np.repeat(names, 4), 0.05)
    stranger = people("mallory", 1)
    enrollment = gallery.enroll("dora", [*people("dora", 3), *stranger, *stranger])
    assert enrollment.kept == (0, 1, 2) and {*enrollment.refused} == {3, 4}
    enrollment = gallery.enroll("erin", [*people("erin", 1), *2 * people("trudy", 1)])
    assert not enrollment.kept and {*enrollment.refused} == {0, 1, 2}


def test_a_forgotten_recording_can_be_enrolled_again(gallery, people):
    (recording,) = people("carol", 1)
    (identity,) = gallery.enroll("carol", recording).ids
    gallery.forget("carol", identity)
    assert gallery.enroll("dora", recording).kept == (0,)
    gallery.remove("dora")
    assert gallery.enroll("carol", recording).kept == (0,)


@pytest.mark.slow
def test_a_recording_is_not_both_enrolled_and_marked(gallery, people):
    genuine, strange = people("alice", 1)[0], people("mallory", 1)[0]
    gallery.enroll("alice", genuine)
    with pytest.raises(ValueError, match="Recording 1 is enrolled as 'alice'"):
        gallery.reject("alice", [strange, genuine])
    assert gallery.enroll("alice", strange).kept == (0,)  # `reject` has stored nothing
    intruder = people("mallory", 1)[0]
    gallery.reject("alice", [intruder, intruder])
    gallery.reject("alice", intruder)
    assert (~gallery._templates().enrolled).sum() == 1
    enrollment = gallery.enroll("alice", intruder)
    assert not enrollment.kept and "'alice'" in enrollment.refused[0]
    assert gallery.enroll("mallory", intruder).kept == (0,)


@pytest.mark.slow
@pytest.mark.parametrize("exported", [False, True])
def test_merging_the_same_recording_under_two_names_is_refused_and_adds_nothing(
    gallery, model, people, tmp_path, exported
):
    shared = people("carol", 1)
    gallery.enroll("carol", shared)
    before = gallery.people()
    with Gallery(tmp_path / "other.db", model) as second:
        second.enroll("dora", people("dora"))
        second.enroll("karol", [np.round(shared[0], 6)])
        source = second
        if exported:
            source = tmp_path / "other.npz"
            second.export_templates(source)
        with pytest.raises(ValueError, match="'carol'.*'karol'"):
            gallery.merge(source)
    assert gallery.people() == before


@SERVERLESS
def test_galleries_with_a_recording_of_two_people_are_not_merged(gallery, model, people, tmp_path):
    shared = people("carol", 1)
    with Gallery(tmp_path / "other.db", model) as second:
        add_unchecked(second, "carol", shared)
        add_unchecked(second, "dora", shared)
        with pytest.raises(ValueError, match="'carol'.*'dora'"):
            gallery.merge(second)
    with Gallery(tmp_path / "third.db", model) as third:
        third.enroll("alice", people("alice", 1))
        marked = people("mallory", 1)
        third.reject("alice", marked)
        gallery.enroll("alice", marked)
        with pytest.raises(ValueError, match="enrolled as 'alice' and stored by .*reject"):
            gallery.merge(third)


@pytest.mark.slow
def test_merging_adds_a_recording_of_a_person_once(gallery, model, people, tmp_path):
    shared, new = people("carol", 2)
    gallery.enroll("carol", shared)
    with Gallery(tmp_path / "other.db", model) as second:
        add_unchecked(second, "carol", [np.round(shared, 6), new, new.astype(np.float32)])
        assert gallery.merge(second) == {"carol": 1}
        assert gallery.merge(second) == {}


@pytest.mark.slow
@pytest.mark.parametrize("names", [("bella", "anna"), ("anna", "bella"), ("c", "b", "a")])
def test_the_order_of_names_does_not_decide_a_tie(model, people, place, names):
    """Several people tie because an earlier release enrolled one recording for all of them."""
    shared = people("shared", 1)
    with Gallery(model=model, **place) as gallery:
        for name in names:
            gallery.enroll(name, people(name))
            add_unchecked(gallery, name, shared)
        for top in (1, 5):
            identification = gallery.identify(shared, top, threshold=1e9)
            assert identification.person is None and sorted(identification.tied) == sorted(names)
            assert all(name in identification.answer for name in names)
        assert gallery.identify(shared, threshold=-1.0).tied == ()
        clear = gallery.identify(people(names[0]), threshold=1e9)
        assert clear.person == names[0] and clear.tied == ()


@SERVERLESS
def test_denied_people_do_not_tie(model, people, place):
    shared = people("shared", 1)
    with Gallery(model=model, **place) as gallery:
        for name in ("anna", "bella"):
            add_unchecked(gallery, name, shared)
        probe = shared[0] + 0.01
        add_unchecked(gallery, "anna", [probe], enrolled=False)
        identification = gallery.identify(probe, threshold=1e9)
        assert identification.person == "bella" and identification.tied == ()


def test_a_device_names_both_people_of_a_tie(monkeypatch):
    class Watch(_decide.Gallery):
        def __init__(self):
            self.threshold, self.margin = 1.0, 0.0

        def scores(self, *recordings):
            return {"bella": 0.5, "anna": 0.5, "carol": 0.7}

    with pytest.raises(ValueError, match="bella and anna are about equally near"):
        Watch().identify(None)


def test_equal_embeddings_are_found_as_by_a_slow_loop():
    rng = np.random.default_rng(0)
    some = rng.normal(size=(40, 3, 5)) * [[[1e-9], [1.0], [1e6]]]
    noise = rng.uniform(-1, 1, size=some.shape) * np.abs(some).max(axis=-1, keepdims=True)
    sizes = rng.choice([0, 0.5, 0.9, 1.2, 5], size=(40, 1, 1)) * _contents.TOLERANCE
    noisy = (some + sizes * noise)[rng.permutation(40)]
    expected = [
        [
            j
            for j, y in enumerate(noisy)
            if all(
                np.abs(a - b).max() <= _contents.TOLERANCE * max(np.abs(a).max(), np.abs(b).max())
                for a, b in zip(x, y, strict=True)
            )
        ]
        for x in some
    ]
    rows_found = [rows.tolist() for rows in _contents.alike(some, noisy)]
    assert rows_found == expected and 10 < sum(map(len, expected)) < 40
    assert [len(rows) for rows in _contents.alike(some, noisy[:0])] == 40 * [0]
