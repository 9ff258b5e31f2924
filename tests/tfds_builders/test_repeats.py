"""Tests that repeated items are reported. If a repeated item belongs to two owners, the item is
refused.
"""

import numpy as np
import pytest

from tfds_builders.common.errors import ArchiveError
from tfds_builders.common.repeats import Contents, Repeats


def test_repeats_of_one_owner_are_counted_and_told_once(caplog):
    repeats = Repeats("a.zip", "trials", "kept")
    for item in ("1", "2", "3"):
        repeats.add(b"same", item, "anna")
    repeats.add(b"other", "4", "anna")
    repeats.report()
    repeats.report()
    assert repeats.same_as == {"2": "1", "3": "1"}
    assert [record.getMessage() for record in caplog.records] == [
        "a.zip: repeated trials: 2 (kept). The first is 2, which is the same as 1."
    ]


def test_the_same_of_two_owners_is_refused_with_both_names():
    repeats = Repeats("a.zip", "trials", "kept")
    repeats.add(b"same", "1", "anna")
    with pytest.raises(ArchiveError, match=r"a.zip: 1 \(anna\) and 2 \(bert\) have the same"):
        repeats.add(b"same", "2", "bert")


def test_arrays_count_by_their_values_whatever_their_order_in_memory():
    repeats = Repeats("a.zip", "clips", "kept")
    values = np.arange(6.0).reshape(2, 3)
    repeats.add(values, "1", "anna")
    repeats.add(np.asfortranarray(values), "2", "anna")
    repeats.add(values + 1, "3", "bert")
    assert repeats.same_as == {"2": "1"}


def test_what_another_process_has_met_counts_the_same():
    here, there = (Repeats("a.zip", "trials", "kept") for _ in range(2))
    contents = Contents()
    for content, item in ((b"same", "1"), (np.arange(3), "2"), (b"same", "3")):
        here.add(content, item, "anna")
        contents.add(content, item, "anna")
    for added in contents.added:
        there.add_digest(*added)
    assert there.same_as == here.same_as == {"3": "1"}
