"""Tests that `train` correctly determines the kind of recordings, the window length, the enrolled
recordings, the probes, and whether the recordings contain gravity.
"""

import numpy as np
import pytest

from keras_dml.training import People
from keras_dml.training.own import cross_validation, task
from keras_dml.training.own.task import Task
from tests.training.own.conftest import recordings_of

SMALL = Task(("x", "y", "z"), ("g",) * 3, 20.0, task.SEQUENCES, 40)


def test_the_kind_is_inferred_from_channels_and_rate():
    assert task.resolve_kind(None, 1, 16_000) == task.SOUND
    assert task.resolve_kind(None, 64, 256) == task.COVARIANCES
    assert task.resolve_kind(None, 1, 100) == task.resolve_kind(None, 6, 50_000) == task.SEQUENCES
    assert task.resolve_kind(task.SOUND, 1, 100) == task.SOUND
    assert task.resolve_kind(task.SEQUENCES, 2, 16_000) == task.SEQUENCES


@pytest.mark.parametrize(("kind", "channels"), [(None, 2), (task.SOUND, 2), (task.SOUND, 6)])
def test_sound_of_several_channels_is_refused(kind, channels):
    with pytest.raises(ValueError, match=f"have {channels} channels at 16000 Hz"):
        task.resolve_kind(kind, channels, 16_000)


def test_the_window_depends_on_the_kind_and_the_recordings():
    assert task.resolve_window(None, task.SEQUENCES, 50, [1800] * 20) == 500
    assert task.resolve_window(None, task.SEQUENCES, 50, [300] * 19 + [20]) == 300
    assert task.resolve_window(4, task.SEQUENCES, 50, [300]) == 200


def test_windows_of_events_count_events():
    assert task.resolve_window(None, task.SEQUENCES, None, [1800] * 20) == task.WINDOW_EVENTS
    assert task.resolve_window(None, task.SEQUENCES, None, [40] * 19 + [9]) == 40
    assert task.resolve_window(32, task.SEQUENCES, None, [40]) == 32
    for window in (32.5, 0, float("nan")):
        with pytest.raises(ValueError, match="`window` is .* whole number of events"):
            task.resolve_window(window, task.SEQUENCES, None, [40])
    with pytest.raises(ValueError, match="has 7 events"):
        task.resolve_window(7, task.SEQUENCES, None, [40])


def test_events_are_sequences():
    assert task.resolve_kind(None, 20, None) == task.SEQUENCES
    for kind in (task.COVARIANCES, task.SOUND):
        with pytest.raises(ValueError, match=f"`kind` is '{kind}'"):
            task.resolve_kind(kind, 1, None)


def test_gravity_is_detected_by_the_mean_of_each_recording(rng):
    noise = [rng.normal(size=(90, 3)) for _ in range(12)]
    directions = [one / np.linalg.norm(one) for one in rng.normal(size=(12, 3))]
    for gravity in (1.0, 9.81):
        assert task.has_gravity(
            [0.3 * gravity * x + gravity * up for x, up in zip(noise, directions, strict=True)]
        )
    assert not task.has_gravity(noise)
    assert not task.has_gravity([x + 5 * up for x, up in zip(noise, directions, strict=True)])
    assert not task.has_gravity([np.ones((9, 6))])


def test_the_last_session_is_observed():
    people = People([np.zeros((50, 1))] * 5, ["a", "a", "b", "b", "c"], [1, 2, 1, 3, 1])
    found, repeats = task.split_sides(people)
    assert repeats == "sessions" and found.sessions == people.sessions
    assert task.measurable(found, 40) == ["a", "b"]


def test_without_sessions_later_recordings_are_observed():
    signals = [np.full((n, 1), float(i)) for i, n in enumerate((50, 60, 50, 101))]
    people = People(signals, ["a", "a", "a", "b"], [1, 1, 1, 1])
    found, repeats = task.split_sides(people)
    assert repeats == "blocks"
    assert [len(x) for x in found.signals] == [50, 60, 50, 50, 51]
    assert found.sessions == [1, 2, 2, 1, 2]


def test_windows_of_a_person_are_thinned_evenly():
    people = People(list(range(10)), ["a"] * 9 + ["b"], [1] * 10)
    assert task.thin(people, people.subjects, 3).signals == [0, 4, 8, 9]


def test_groups_are_measured_by_models_that_never_saw_them():
    signals, subjects = recordings_of(7)
    people = task.split_sides(People(signals, subjects, [1] * len(signals)))[0]
    lonely = People([signals[0][:45]], ["lonely"], [1])
    everybody = people + lonely
    groups = cross_validation.split_into_groups(SMALL, everybody)
    assert len(groups) == 3
    own = [set(group.subjects) for group in groups]
    assert set().union(*own) == set(subjects) and sum(map(len, own)) == 7
    for group, names in zip(groups, own, strict=True):
        known = cross_validation.without_groups(everybody, [group])
        assert set(known.subjects) == {*subjects, "lonely"} - names
        assert {len(x) for x in group.signals} == {40}
    assert set(cross_validation.without_groups(everybody, groups).subjects) == {"lonely"}


def test_fewer_than_four_people_make_no_groups():
    signals, subjects = recordings_of(3)
    people = task.split_sides(People(signals, subjects, [1] * len(signals)))[0]
    assert cross_validation.split_into_groups(SMALL, people) == []


@pytest.mark.parametrize("window", [0, -1, float("inf"), None, "2"])
def test_a_window_must_be_a_positive_number(window):
    if window is None:
        assert task.resolve_window(window, task.SOUND, 8000, [80_000]) == 32_000
    else:
        with pytest.raises(ValueError, match="`window` is .*positive number of seconds"):
            task.resolve_window(window, task.SOUND, 8000, [80_000])


def test_pieces_of_one_file_are_on_one_side():
    signals = [np.full((50, 1), i) for i in range(10)]
    files = ["a", "a", "a", "b", "c", "d", "d", "e", "e", "e"]
    people, repeats = task.split_sides(People(signals, ["ann"] * 10, [1] * 10), files)
    assert repeats == "blocks" and people.sessions == [1] * 5 + [2] * 5
    people, _ = task.split_sides(People(signals[:4], ["ann"] * 4, [1] * 4), files[:4])
    assert people.sessions == [1, 1, 1, 2]
    people, _ = task.split_sides(People(signals[:3], ["ann"] * 3, [1] * 3), files[:3])
    assert people.sessions == [1, 2, 2]  # a single file is cut in two, like a single recording
