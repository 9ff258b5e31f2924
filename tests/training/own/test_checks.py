"""Tests that recordings are selected for training, and that rejected recordings have a reason."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_dml.quality import Usual
from keras_dml.training.own import checks
from tests.training.own.conftest import recordings_of


def accepted(recordings, people, sessions=None, is_sound=False):
    count = len(recordings)
    names = [f"file {i}" for i in range(count)]
    sessions = [None] * count if sessions is None else sessions
    return checks.select_usable(recordings, people, sessions, names, Usual(tuple("xyz"), is_sound))


def test_another_unit_is_detected():
    recordings, people = recordings_of(3)
    recordings[5] = 9.81 * recordings[5]
    found, names, usual, refused = accepted(recordings, people)
    assert list(refused) == ["file 5"] and "times as strong as usual" in refused["file 5"]
    assert len(found.signals) == 11 == len(names) and "file 5" not in names
    assert len(usual.stddev) == 3


def test_copies_are_left_out():
    recordings, people = recordings_of(2)
    recordings[2], recordings[6] = recordings[1].copy(), np.round(recordings[3], 5)
    found, names, _, refused = accepted(recordings, people)
    assert refused["file 2"] == "it is the same as file 1"
    assert "of another person, so its person is unknown" in refused["file 3"]
    assert refused["file 6"] == "it is the same as file 3"
    assert names == ["file 0", "file 1", "file 4", "file 5", "file 7"]


def test_sessions_are_numbered_in_natural_order():
    recordings, people = recordings_of(1, each=4)
    found, *_ = accepted(recordings, people, ["day 10", "day 2", "Day 1", "day 10"])
    assert found.sessions == [3, 2, 1, 3]
    found, *_ = accepted(recordings, people, ["2026-01-31", "2025-12-31", None, "2026-01-02"])
    assert found.sessions == [4, 2, 1, 3]


def test_sessions_with_equal_numbers_keep_their_order():
    alike = ["0" * i + "1" for i in range(12)]
    assert checks.number_sessions(["a"] * 12, alike) == list(range(1, 13))


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(st.lists(st.one_of(st.none(), st.integers(), st.text(max_size=6)), min_size=1, max_size=8))
def test_sessions_of_any_type_can_be_numbered(sessions):
    found = checks.number_sessions(["a"] * len(sessions), sessions)
    assert set(found) == set(range(1, len(set(sessions)) + 1))


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(
    st.one_of(
        st.none(),
        st.text(max_size=3),
        st.lists(st.floats(), max_size=4),
        st.integers(0, 3).map(lambda n: np.zeros((n, 3))),
        st.integers(1, 4).map(lambda n: np.zeros((9, n), complex)),
    )
)
def test_invalid_recordings_are_left_out(given):
    recordings, people = recordings_of(2, each=2)
    found, _, _, refused = accepted([*recordings, given], [*people, "person 0"])
    assert list(refused) == ["file 4"] and refused["file 4"]
    assert len(found.signals) == 4
