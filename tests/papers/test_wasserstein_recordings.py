"""Tests the division of people into training, validation and test."""

import numpy as np
import pytest

from tests.papers import people as small
from zoo.papers.wasserstein.recordings import divide, make_recordings


def groups(division):
    return division.train, division.validation, division.test


def test_half_of_the_people_are_tested_and_a_fifth_of_the_others_choose_settings():
    parts = groups(small.division(people=20))
    assert [len(part.names) for part in parts] == [8, 2, 10]
    assert len(set().union(*(part.names for part in parts))) == 20
    assert sum(len(part) for part in parts) == 20 * 7


def test_training_and_test_share_no_film():
    parts = groups(small.division(films=True, takes=12))
    train, validation, test = (set(part.blocks.tolist()) for part in parts)
    assert train == validation and not train & test and len(train | test) == 12
    few = groups(small.division(films=True, takes=3))
    assert all(set(part.blocks.tolist()) == {0, 1, 2} for part in few)


def test_limited_people_are_among_people_who_can_be_tested():
    arrays = small.arrays(people=20)
    has_one_block = [name == "p03" for name in arrays["subjects"]]
    arrays["blocks"] = np.where(has_one_block, 0, arrays["blocks"])
    parts = groups(divide(make_recordings(**arrays), 16))
    names = set().union(*(part.names for part in parts))
    assert len(names) == 16 and "p03" not in names


def test_people_without_pairs_or_without_two_blocks_are_left_out():
    arrays = small.arrays(people=20)
    division = divide(make_recordings(**arrays))
    unpaired, one_block = division.train.names[0], division.test.names[0]
    arrays["blocks"] = [
        0 if name == one_block else block
        for name, block in zip(arrays["subjects"], arrays["blocks"], strict=True)
    ]
    mask = [name != unpaired for name in arrays["subjects"]]
    mask[mask.index(False)] = True
    parts = groups(divide(make_recordings(**arrays).select(mask)))
    assert unpaired not in parts[0].names and one_block not in parts[2].names


def test_velocities_are_in_degrees_per_millisecond():
    gaze = np.array([[0.0, 0.0], [3.0, 0.0], [3.0, -6.0]])
    velocities = make_recordings([gaze], ["a"], [0], rate_hz=30, gaze=[gaze]).velocities
    np.testing.assert_allclose(velocities, [[[0, 0], [0.09, 0], [0, -0.18]]], rtol=1e-6)


def test_digest_depends_on_subjects_blocks_and_gaze():
    arrays = small.arrays()
    digest = make_recordings(**arrays).digest
    assert digest == make_recordings(**arrays).digest
    for key in ("subjects", "blocks", "gaze"):
        assert make_recordings(**{**arrays, key: arrays[key][::-1]}).digest != digest


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"subjects": ["a"]}, "'subjects': 1"),
        ({"signals": [np.full((9, 3), np.nan)] * 112}, "Recording 0"),
        ({"gaze": [np.zeros((i + 2, 2)) for i in range(112)]}, "one length"),
    ],
)
def test_invalid_recordings_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        make_recordings(**{**small.arrays(), **change})


@pytest.mark.parametrize("count", [1, 6])
def test_too_few_people_are_refused(count):
    with pytest.raises(ValueError, match=f"Received {count} people"):
        small.division(people=count)
