"""Tests which clips are used for training, and on which people settings are chosen."""

import numpy as np
import pytest

from tests.papers.motions import motions
from zoo.papers.potato.data import make_clips, partner


def test_classes_too_small_without_two_people_are_left_out():
    matrices, classes, people = motions()
    mask = ~((classes == "jog") & np.isin(people, ["c", "d"]))
    clips = make_clips(matrices[mask], classes[mask], people[mask], per_class=5)
    assert (clips.classes, clips.left_out) == (("hop", "sit"), ("jog",))
    assert np.bincount(clips.labels).tolist() == [12, 12]
    assert len(clips.matrices) == len(clips.people) == 24


def test_people_held_out_are_not_trained_on():
    clips = make_clips(*motions(), per_class=5)
    mask = clips.training_mask(["a", "c"])
    assert set(clips.people[mask]) == {"b", "d"}
    assert clips.names == ["a", "b", "c", "d"]


@pytest.mark.parametrize("count", range(3, 8))
def test_an_even_number_of_people_forms_pairs_of_partners(count):
    names = [f"p{i}" for i in range(count)]
    for name in names:
        person = partner(names, name)
        assert person != name
        assert count % 2 or partner(names, person) == name


def test_digest_depends_on_matrices_and_people():
    matrices, classes, people = motions()
    first = make_clips(matrices, classes, people, 5)
    changed = matrices.copy()
    changed[0, 0, 0] += 1e-6
    assert first.digest == make_clips(matrices, classes, people, 5).digest
    assert first.digest != make_clips(changed, classes, people, 5).digest
    assert first.digest != make_clips(matrices, classes, people[::-1], 5).digest


def keep_two_people(arrays):
    mask = np.isin(arrays[2], ["a", "b"])
    arrays[:] = [array[mask] for array in arrays]


def add_nan(arrays):
    arrays[0][5, 1, 1] = np.nan


def flatten_matrices(arrays):
    arrays[0] = arrays[0][:, 0]


def drop_a_class(arrays):
    arrays[1] = arrays[1][1:]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (keep_two_people, "a, b.*At least 3 people"),
        (add_nan, "Clip 5"),
        (flatten_matrices, r"\(36, 4\).*square"),
        (drop_a_class, r"`classes`.*\(36,\)"),
    ],
)
def test_invalid_clips_are_refused(change, message):
    arrays = list(motions())
    change(arrays)
    with pytest.raises(ValueError, match=message):
        make_clips(*arrays, per_class=5)


def test_error_for_small_classes_states_their_sizes():
    with pytest.raises(ValueError, match="have 6 and 6 clips.*7 clips"):
        make_clips(*motions(), per_class=7)
