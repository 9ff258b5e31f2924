"""Tests that `People` cuts windows, selects recordings and divides people into halves. Also tests
the function `folds`.
"""

import numpy as np
import pytest

from keras_dml.training import People, folds


def some():
    signals = [np.full((n, 2), float(i)) for i, n in enumerate((25, 10, 31, 9))]
    return People(signals, ["ann", "ann", "bob", "cid"], [1, 2, 1, 1])


def test_windows_lie_side_by_side_and_keep_person_and_session():
    windows = some().windows(10)
    assert [len(signal) for signal in windows.signals] == [10] * 6
    assert windows.subjects == ["ann", "ann", "ann", "bob", "bob", "bob"]
    assert windows.sessions == [1, 1, 2, 1, 1, 1]


def test_people_with_too_few_long_recordings_are_left_out():
    assert set(some().at_least(10, 2).subjects) == {"ann"}
    assert set(some().at_least(10, 1).subjects) == {"ann", "bob"}


def test_people_are_picked_and_joined():
    picked = some().select({"cid"}) + some().select({"bob"})
    assert picked.subjects == ["cid", "bob"] and len(picked.signals) == 2


def test_recordings_are_taken_by_index_by_mask_and_by_person():
    assert some().take([2, 0]).subjects == ["bob", "ann"]
    assert some().take([True, False, False, True]).subjects == ["ann", "cid"]
    assert some().without({"ann"}).subjects == ["bob", "cid"]


def test_halves_are_the_first_and_the_last_sessions_of_each_person():
    people = People([None] * 6, ["a", "b", "a", "a", "b", "a"], [7, 2, 1, 9, 1, 3])
    assert people.halves().sessions == [2, 2, 1, 2, 1, 1]


def test_a_faster_walk_is_shorter_and_another_persons():
    signal = np.sin(np.arange(400) / 5)[:, None].astype("float32")
    found = People([signal], ["a"], [7]).at_tempos((0.8, 1.0, 1.25))
    assert found.subjects == ["a x0.8", "a", "a x1.25"] and found.sessions == [7, 7, 7]
    assert [len(one) for one in found.signals] == [499, 400, 320]
    np.testing.assert_array_equal(found.signals[1], signal)
    expected = np.sin(1.25 * np.arange(320) / 5)
    np.testing.assert_allclose(found.signals[2][:, 0], expected, rtol=0, atol=0.01)


def test_folds_hold_everybody_once():
    names = [f"person {i}" for i in range(17)]
    parts = folds(names * 3, 4, seed=7)
    assert [len(part) for part in parts] == [4, 4, 4, 5]
    assert sorted(name for part in parts for name in part) == sorted(names)
    assert parts == folds(names[::-1], 4, seed=7) != folds(names, 4, seed=8)


def test_more_folds_than_people_are_refused():
    with pytest.raises(ValueError, match="`count` is 4, .*number of people, 3"):
        folds("abc", 4)
