"""Tests that people are split into training and test sets, and that recordings are split into
enrolled and new (observed) recordings."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_dml.evaluation import split_subjects
from keras_dml.evaluation.splits import random_enrollments, session_enrollments
from tests.goldens import golden


def recordings(sizes):
    return np.repeat(list(sizes), list(sizes.values()))


def test_all_but_five_are_enrolled_and_too_few_are_left_out():
    example = golden("enrolment_counts")
    labels = recordings(example["inputs"]["sequences"])
    observed = example["inputs"]["observed"]
    for draw in random_enrollments(labels, observed=observed):
        counts = [len(rows) for rows in draw.enrolled]
        assert dict(zip(draw.people, counts, strict=True)) == example["expected"]["enrolled"]
        assert list(draw.left_out) == example["expected"]["left_out"]
        assert draw.observed.shape == (3, observed)


@pytest.mark.parametrize("name", ["diem", "gait", "eeg"])
def test_people_split_as_in_the_paper(name):
    example = golden("counts")
    total, expected = example["inputs"]["subjects"][name], example["expected"]
    train, validation, test = split_subjects(np.arange(total))
    assert len(train) + len(validation) == expected["train"][name]
    assert len(validation) == expected["validation"][name]
    assert len(test) == expected["test"][name]


@given(st.integers(2, 90), st.integers(0, 5))
def test_each_person_is_in_one_set_only(people, seed):
    parts = split_subjects([f"s{i}" for i in range(people)] * 2, seed=seed)
    together = np.concatenate(parts)
    assert together.size == np.unique(together).size == people
    assert all(np.array_equal(part, np.sort(part)) for part in parts)


def test_a_split_depends_on_the_set_of_people_and_the_seed_only():
    first = split_subjects(["c", "a", "b", "a", "d"], seed=3)
    again = split_subjects(["a", "b", "c", "d"], seed=3)
    assert [list(part) for part in first] == [list(part) for part in again]


@given(st.lists(st.integers(0, 9), min_size=2, max_size=6), st.integers(1, 4), st.integers(0, 9))
def test_no_recording_is_both_enrolled_and_observed(sizes, observed, seed):
    labels = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(sizes)), sizes))
    if sum(size > observed for size in sizes) < 2:
        return
    for draw in random_enrollments(labels, observed=observed, repetitions=3, seed=seed):
        for person, enrolled, probes in zip(draw.people, draw.enrolled, draw.observed, strict=True):
            together = np.concatenate([enrolled, probes])
            np.testing.assert_array_equal(np.sort(together), np.flatnonzero(labels == person))


def test_draws_differ_from_one_another_and_repeat_with_the_seed():
    labels = recordings({"a": 20, "b": 20})
    first, again = (random_enrollments(labels, repetitions=4, seed=1) for _ in range(2))
    for one, two in zip(first, again, strict=True):
        np.testing.assert_array_equal(one.observed, two.observed)
    assert len({draw.observed.tobytes() for draw in first}) == 4


def test_a_draw_does_not_depend_on_how_many_follow():
    labels = recordings({"a": 20, "b": 20})
    few, many = (random_enrollments(labels, repetitions=count) for count in (2, 6))
    np.testing.assert_array_equal(few[1].observed, many[1].observed)


def test_no_session_is_both_enrolled_and_observed():
    rng = np.random.default_rng(0)
    subjects, sessions = rng.integers(0, 6, 400), rng.integers(2001, 2005, 400)
    for draw in session_enrollments(subjects, sessions):
        for enrolled, probes in zip(draw.enrolled, draw.observed, strict=True):
            assert sessions[enrolled].max() < sessions[probes].min()
            assert len(set(sessions[probes])) == 1


def test_all_earlier_recordings_are_enrolled_and_the_rest_of_the_latest_is_not_used():
    subjects, sessions = np.repeat(["a", "b"], 9), np.tile([0, 0, 1, 1, 2, 2, 2, 2, 2], 2)
    draw = session_enrollments(subjects, sessions, observed=3)[0]
    assert [list(rows) for rows in draw.enrolled] == [[0, 1, 2, 3], [9, 10, 11, 12]]
    assert all(4 <= row % 9 for row in draw.observed.ravel())


def test_sessions_may_be_dates():
    subjects = np.repeat(["a", "b"], 4)
    sessions = np.tile(["2021-05-01", "2020-12-31", "2021-05-01", "2020-01-01"], 2)
    draw = session_enrollments(subjects, sessions, observed=2)[0]
    assert sorted(draw.observed[0]) == [0, 2]


def test_people_with_one_session_or_a_short_last_one_are_left_out_and_counted():
    subjects = np.repeat(["one", "short", "good", "fine"], 6)
    sessions = np.r_[np.zeros(6), [0] * 5, 1, np.tile([0, 0, 0, 1, 1, 1], 2)].astype(int)
    draw = session_enrollments(subjects, sessions, observed=3)[0]
    assert list(draw.people) == ["fine", "good"]
    assert set(draw.left_out) == {"one", "short"}


def test_too_few_people_are_refused_with_what_is_needed():
    with pytest.raises(ValueError, match="1 of 2 people have more than 5 recordings"):
        random_enrollments(recordings({"a": 9, "b": 5}))
    with pytest.raises(ValueError, match="0 of 2 people have .*5 recordings in the latest session"):
        session_enrollments(recordings({"a": 9, "b": 9}), np.tile([0, 0, 0, 0, 0, 1, 1, 1, 1], 2))
    with pytest.raises(ValueError, match="1 people. Expected at least 2"):
        split_subjects(["a", "a"])


@pytest.mark.parametrize("request_", [{"observed": 0}, {"repetitions": 0}])
def test_counts_below_one_are_refused(request_):
    with pytest.raises(ValueError, match="at least 1"):
        random_enrollments(recordings({"a": 9, "b": 9}), **request_)


def test_sessions_must_fit_the_recordings():
    with pytest.raises(ValueError, match=r"\(4,\).*\(3,\)"):
        session_enrollments(["a", "a", "b", "b"], [0, 1, 0])


@pytest.mark.parametrize(
    ("labels", "message"), [([[1], [2]], "flat list"), ([1.0, np.nan], "with NaN")]
)
def test_invalid_labels_are_refused(labels, message):
    with pytest.raises(ValueError, match=message):
        random_enrollments(labels)


def test_labels_may_be_numbers_with_decimals():
    assert list(random_enrollments([1.5] * 7 + [2.5] * 7)[0].people) == [1.5, 2.5]


def test_labels_of_a_data_frame_are_accepted():
    labels = np.array(["a"] * 7 + ["b"] * 7, dtype=object)
    assert list(random_enrollments(labels)[0].people) == ["a", "b"]
