"""Who trains, who chooses settings and who is tested."""

import numpy as np
import pytest

from keras_dml.reproduce.wasserstein.recordings import divide, recordings_of
from tests.reproduce import people as small


def groups(division):
    return division.train, division.validation, division.test


def test_half_of_the_people_are_tested_and_a_fifth_of_the_others_choose():
    parts = groups(small.division(people=20))
    assert [len(part.names) for part in parts] == [8, 2, 10]
    assert len(set().union(*(part.names for part in parts))) == 20
    assert sum(len(part) for part in parts) == 20 * 7


def test_films_are_shared_by_no_two_of_training_and_test():
    parts = groups(small.division(films=True, takes=12))
    train, validation, test = (set(part.blocks.tolist()) for part in parts)
    assert train == validation and not train & test and len(train | test) == 12
    few = groups(small.division(films=True, takes=3))
    assert all(set(part.blocks.tolist()) == {0, 1, 2} for part in few)


def test_some_people_are_taken_of_those_who_can_be_tested():
    given = small.arrays(people=20)
    single = [name == "p03" for name in given["subjects"]]
    given["blocks"] = np.where(single, 0, given["blocks"])
    parts = groups(divide(recordings_of(**given), 16))
    names = set().union(*(part.names for part in parts))
    assert len(names) == 16 and "p03" not in names


def test_who_cannot_be_paired_or_tested_is_left_out():
    given = small.arrays(people=20)
    whole = divide(recordings_of(**given))
    alone, once = whole.train.names[0], whole.test.names[0]
    given["blocks"] = [
        0 if name == once else block
        for name, block in zip(given["subjects"], given["blocks"], strict=True)
    ]
    kept = [name != alone for name in given["subjects"]]
    kept[kept.index(False)] = True
    parts = groups(divide(recordings_of(**given).take(kept)))
    assert alone not in parts[0].names and once not in parts[2].names


def test_velocities_are_degrees_a_millisecond():
    gaze = np.array([[0.0, 0.0], [3.0, 0.0], [3.0, -6.0]])
    found = recordings_of([gaze], ["a"], [0], rate_hz=30, gaze=[gaze]).velocities
    np.testing.assert_allclose(found, [[[0, 0], [0.09, 0], [0, -0.18]]], rtol=1e-6)


def test_other_recordings_have_another_digest():
    given = small.arrays()
    digest = recordings_of(**given).digest
    assert digest == recordings_of(**given).digest
    for key in ("subjects", "blocks", "gaze"):
        assert recordings_of(**{**given, key: given[key][::-1]}).digest != digest


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"subjects": ["a"]}, r"one entry a recording.*'subjects': 1"),
        ({"signals": [np.full((9, 3), np.nan)] * 112}, "Recording 0, of shape .* leave it out"),
        ({"gaze": [np.zeros((i + 2, 2)) for i in range(112)]}, "windows of one length"),
    ],
)
def test_what_does_not_fit_is_one_clear_error(change, message):
    with pytest.raises(ValueError, match=message):
        recordings_of(**{**small.arrays(), **change})


@pytest.mark.parametrize("count", [1, 6])
def test_too_few_people_are_one_clear_error(count):
    with pytest.raises(ValueError, match="people are needed.*Received"):
        small.division(people=count)
