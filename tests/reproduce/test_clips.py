"""Which clips can be trained on, and on whom settings are chosen."""

import numpy as np
import pytest

from keras_dml.reproduce.potato.clips import clips_of, partner
from tests.reproduce.motions import motions


def test_classes_that_two_people_leave_too_small_are_left_out():
    matrices, classes, people = motions()
    rare = ~((classes == "jog") & np.isin(people, ["c", "d"]))
    clips = clips_of(matrices[rare], classes[rare], people[rare], per_class=5)
    assert (clips.classes, clips.left_out) == (("hop", "sit"), ("jog",))
    assert np.bincount(clips.labels).tolist() == [12, 12]
    assert len(clips.matrices) == len(clips.people) == 24


def test_nobody_held_out_is_trained_on():
    clips = clips_of(*motions(), per_class=5)
    known = clips.split(["a", "c"])
    assert set(clips.people[known]) == {"b", "d"}
    assert clips.names == ["a", "b", "c", "d"]


@pytest.mark.parametrize("count", range(3, 8))
def test_the_partner_is_another_person_and_an_even_number_pair_up(count):
    names = [f"p{i}" for i in range(count)]
    for name in names:
        other = partner(names, name)
        assert other != name
        assert count % 2 or partner(names, other) == name


def test_other_recordings_have_another_digest():
    matrices, classes, people = motions()
    first = clips_of(matrices, classes, people, 5)
    moved = matrices.copy()
    moved[0, 0, 0] += 1e-6
    assert first.digest == clips_of(matrices, classes, people, 5).digest
    assert first.digest != clips_of(moved, classes, people, 5).digest
    assert first.digest != clips_of(matrices, classes, people[::-1], 5).digest


def spoiled(change):
    arrays = list(motions())
    change(arrays)
    return arrays


def without_two(arrays):
    kept = np.isin(arrays[2], ["a", "b"])
    arrays[:] = [array[kept] for array in arrays]


def unfinished(arrays):
    arrays[0][5, 1, 1] = np.nan


def flat(arrays):
    arrays[0] = arrays[0][:, 0]


def short(arrays):
    arrays[1] = arrays[1][1:]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (without_two, "At least 3 people.*Received a, b"),
        (unfinished, "Clip 5 is not; leave it out"),
        (flat, r"must be square.*\(36, 4\)"),
        (short, r"one a clip, shape \(36,\)"),
    ],
)
def test_what_cannot_be_run_is_one_clear_error(change, message):
    with pytest.raises(ValueError, match=message):
        clips_of(*spoiled(change), per_class=5)


def test_too_few_clips_say_how_many_there_are():
    with pytest.raises(ValueError, match=r"Batches take 7 clips.*\[6, 6\]"):
        clips_of(*motions(), per_class=7)
