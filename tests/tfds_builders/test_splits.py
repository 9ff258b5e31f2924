"""Tests that splits by subject, and by subject and video, are disjoint, complete and stable."""

import pytest

from tfds_builders.common.splits import by_subject, by_subject_and_video

FRACTIONS = {"train": 0.65, "validation": 0.10, "test": 0.25}


def test_180_people_become_117_18_and_45():
    splits = by_subject(map(str, range(180)), FRACTIONS)
    assert [len(people) for people in splits.values()] == [117, 18, 45]


def test_splits_are_disjoint_and_complete_whatever_the_order_of_the_ids():
    ids = [str(i) for i in range(37)]
    splits = by_subject(ids, FRACTIONS)
    assert sorted(sum(splits.values(), ())) == sorted(ids)
    assert by_subject([*reversed(ids), *ids], FRACTIONS) == splits


def test_the_order_is_pinned():
    assert by_subject("abcd", {"x": 0.5, "y": 0.5}) == {"x": ("d", "a"), "y": ("c", "b")}


def test_one_more_person_moves_at_most_those_at_the_borders():
    before = by_subject(map(str, range(100)), FRACTIONS)
    after = by_subject(map(str, range(101)), FRACTIONS)
    moved = sum(len(set(before[split]) - set(after[split])) for split in FRACTIONS)
    assert moved <= len(FRACTIONS) - 1


@pytest.mark.parametrize("count", range(3, 12))
def test_every_split_has_somebody(count):
    assert all(by_subject(map(str, range(count)), FRACTIONS).values())


@pytest.mark.parametrize(
    ("ids", "fractions", "message"),
    [
        ("ab", FRACTIONS, "2 .* cannot be divided into the splits train, validation, test"),
        ("abc", {"x": 0.5, "y": 0.6}, "add up to 1"),
        ("abc", {"x": 1.5, "y": -0.5}, "positive"),
    ],
)
def test_impossible_splits_are_refused(ids, fractions, message):
    with pytest.raises(ValueError, match=message):
        by_subject(ids, fractions)


def test_splits_by_subject_and_video_share_neither_and_keep_the_order():
    keys = [(f"p{i}", f"v{j}") for i in range(20) for j in range(10)]
    splits = by_subject_and_video(keys, FRACTIONS)
    for at in (0, 1):
        parts = [{key[at] for key in kept} for kept in splits.values()]
        assert sum(map(len, parts)) == len(set.union(*parts)) == (20, 10)[at]
    assert all([key for key in keys if key in kept] == list(kept) for kept in splits.values())


HALVES = {"train": 0.5, "test": 0.5}


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ([("p", "v"), ("q", "v")], r"1 video\(s\) cannot be divided"),
        ([("p", "v"), ("p", "w")], r"1 subject\(s\) cannot be divided"),
        ([("a", "c"), ("b", "d")], "The split train, test is empty"),
    ],
)
def test_recordings_that_leave_a_split_empty_are_refused(keys, message):
    with pytest.raises(ValueError, match=message):
        by_subject_and_video(keys, HALVES)
