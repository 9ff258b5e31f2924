"""Tests that `merge` refuses all recordings that `enroll` refuses, such as outliers."""

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
        gallery._records.set_threshold(
            Threshold(
                *(0.01, (distances[0] + min(distances[1:])) / 2, (0.0, 0.1), 0.9, (0.8, 1.0)),
                *(24, 100, 300, 0.01, "counted"),
            )
        )
        yield gallery


@pytest.fixture(params=["gallery", "templates"])
def merge(request, gallery, model, tmp_path):
    """Function that merges `{person: recordings}` from a gallery without a threshold."""

    def merge(recordings):
        with Gallery(tmp_path / "other.db", model) as second:
            for person, values in recordings.items():
                second.enroll(person, values)
            if request.param == "gallery":
                return gallery.merge(second)
            second.export_templates(tmp_path / "other.npz")
            return gallery.merge(tmp_path / "other.npz")

    return merge


def test_an_imposter_is_not_merged_into_an_enrolled_person(gallery, merge, people):
    with pytest.warns(UserWarning, match="4 recordings of .* were left out"):
        assert merge({"alice": people("mallory")}) == {}
    assert gallery.people() == {"alice": 4, "bob": 4}
    assert not any(
        gallery.verify("alice", recording).accepted for recording in people("mallory", 8)
    )


@pytest.mark.slow
def test_an_imposter_among_genuine_recordings_is_left_out(gallery, merge, people):
    with pytest.warns(UserWarning, match="1 recordings of .* were left out"):
        assert merge({"alice": [*people("alice", 2), *people("mallory", 1)]}) == {"alice": 2}
    assert not any(
        gallery.verify("alice", recording).accepted for recording in people("mallory", 8)
    )


@pytest.mark.slow
def test_merging_a_new_person_adds_the_largest_group(gallery, merge, people):
    with pytest.warns(UserWarning, match="1 recordings of .* were left out"):
        assert merge({"mallory": [*people("mallory", 3), *people("bob", 1)]}) == {"mallory": 3}


def test_imposters_do_not_vouch_for_each_other_when_merged(gallery, merge, people):
    """Many recordings of an imposter are near to each other but far from the person."""
    far = [recording + 100 for recording in people("alice", 6)]
    with pytest.warns(UserWarning, match="6 recordings of .* were left out"):
        assert merge({"alice": far}) == {}
    assert gallery.people()["alice"] == 4


@pytest.mark.slow
def test_near_recordings_are_merged_without_a_warning(gallery, merge, people, recwarn):
    assert merge({"alice": people("alice", 2), "mallory": people("mallory", 3)}) == {
        "alice": 2,
        "mallory": 3,
    }
    assert not [warning for warning in recwarn if "left out" in str(warning.message)]
