import numpy as np

from zoo.people import People


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
    picked = some().of({"cid"}) + some().of({"bob"})
    assert picked.subjects == ["cid", "bob"] and len(picked.signals) == 2
