"""Merging applies the gate of enrolling: nobody becomes a person by somebody else's gallery."""

import pytest

from keras_dml.gallery import Gallery, Threshold

NAMES = ("alice", "bob", "mallory")


@pytest.fixture
def gallery(model, people, place):
    with Gallery(model=model, tries=None, **place) as gallery:
        for name in ("alice", "bob"):
            gallery.enroll(name, people(name))
        distances = [
            gallery.verify("alice", people(name, 1), threshold=0.0).score for name in NAMES
        ]
        assert distances[0] < min(distances[1:])
        gallery._store.set_threshold(
            Threshold(
                *(0.01, (distances[0] + min(distances[1:])) / 2, (0.0, 0.1), 0.9, (0.8, 1.0)),
                *(24, 100, 300, 0.01, "counted"),
            )
        )
        yield gallery


@pytest.fixture(params=["gallery", "templates"])
def merge(request, gallery, model, tmp_path):
    """Function that merges `{person: recordings}` of a gallery without a threshold."""

    def merge(recordings):
        with Gallery(tmp_path / "other.db", model) as other:
            for person, given in recordings.items():
                other.enroll(person, given)
            if request.param == "gallery":
                return gallery.merge(other)
            other.export_templates(tmp_path / "other.npz")
            return gallery.merge(tmp_path / "other.npz")

    return merge


def test_a_stranger_is_not_merged_into_a_known_person(gallery, merge, people):
    with pytest.warns(UserWarning, match="4 recordings of .* were left out"):
        assert merge({"alice": people("mallory")}) == {}
    assert gallery.people() == {"alice": 4, "bob": 4}
    assert not any(gallery.verify("alice", one).accepted for one in people("mallory", 8))


def test_a_stranger_among_a_person_s_own_recordings_is_left_out(gallery, merge, people):
    with pytest.warns(UserWarning, match="1 recordings of .* were left out"):
        assert merge({"alice": [*people("alice", 2), *people("mallory", 1)]}) == {"alice": 2}
    assert not any(gallery.verify("alice", one).accepted for one in people("mallory", 8))


def test_of_somebody_new_the_largest_group_is_merged(gallery, merge, people):
    with pytest.warns(UserWarning, match="1 recordings of .* were left out"):
        assert merge({"mallory": [*people("mallory", 3), *people("bob", 1)]}) == {"mallory": 3}


def test_strangers_do_not_vouch_for_each_other(gallery, merge, people):
    """Many recordings that are near to each other are as far from the person as one."""
    far = [one + 100 for one in people("alice", 6)]
    with pytest.warns(UserWarning, match="6 recordings of .* were left out"):
        assert merge({"alice": far}) == {}
    assert gallery.people()["alice"] == 4


def test_people_who_fit_are_merged_without_a_word(gallery, merge, people, recwarn):
    assert merge({"alice": people("alice", 2), "mallory": people("mallory", 3)}) == {
        "alice": 2,
        "mallory": 3,
    }
    assert not [one for one in recwarn if "left out" in str(one.message)]
