"""A part of an archive is never taken for the whole, nor the whole for a part."""

import pytest

from tfds_builders.common.parts import tell_part

pytestmark = pytest.mark.usefixtures("quiet")


def test_the_whole_and_more_than_it_are_not_mentioned(caplog):
    tell_part("A.zip", "Set", {"people": (24, 24), "trials": (1_021, 1_020)}, ["people"])
    assert caplog.messages == []


def test_all_counts_are_told_where_one_lacks(caplog):
    tell_part("A.zip", "Set", {"people": (24, 24), "trials": (900, 1_020)}, ["people"])
    assert caplog.messages == [
        "A.zip holds 24 of 24 people and 900 of 1,020 trials: a part of Set."
    ]


def test_other_splits_are_told_where_that_lacks_which_they_are_drawn_from(caplog):
    tell_part("A.zip", "Set", {"people": (23, 24)}, ["people"])
    assert caplog.messages[0].endswith("a part of Set, so its splits are those of the part.")
