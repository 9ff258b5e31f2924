"""Tests that plots of identifications show the nearest people and the result."""

import numpy as np
import pytest

from keras_dml import reports
from keras_dml.gallery import Candidate, Identification


def found(person, threshold=3.0, **scores):
    candidates = [Candidate(*one) for one in sorted(scores.items(), key=lambda one: one[1])]
    return Identification(person, tuple(candidates), threshold, len(candidates))


TWO = {
    "a walk of alice": found("alice", alice=1.0, bob=5.0),
    "a walk of nobody": found(None, alice=6.0, bob=4.0),
}


def told(axes):
    return [text.get_text() for text in axes.texts]


def test_each_recording_has_a_row_with_its_people_its_threshold_and_who_it_is():
    (axes,) = reports.identifications(TWO).axes
    assert [label.get_text() for label in axes.get_yticklabels()] == list(TWO)
    assert told(axes) == ["→ alice", "→ a stranger"]
    assert [bar.get_width() for bar in axes.patches] == [3.0, 3.0]
    drawn = [(line.get_xdata()[0], line.get_ydata()[0]) for line in axes.lines if len(line._x)]
    assert drawn == [(1.0, 1), (5.0, 1), (4.0, 0), (6.0, 0)]


def test_a_person_looks_the_same_in_all_rows_and_the_nearest_is_filled():
    (axes,) = reports.identifications(TWO).axes
    alice, bob, bob_again, alice_again = axes.lines[:4]
    assert alice.get_color() == alice_again.get_color() != bob.get_color()
    assert bob.get_marker() == bob_again.get_marker() != alice.get_marker()
    filled = [line.get_markerfacecolor() != "white" for line in axes.lines[:4]]
    assert filled == [True, False, True, False]


def test_the_title_counts_and_may_be_given(tmp_path):
    assert "1 of 2 recordings are from enrolled people, and 1 are from strangers" in _title(TWO)
    assert reports.identifications(TWO, title="Hello")._suptitle.get_text() == "Hello"
    png, svg = reports.save(reports.identifications(TWO, caption="Walks."), tmp_path / "who")
    assert png.stat().st_size > 1000 and svg.exists()


def _title(given):
    return reports.identifications(given)._suptitle.get_text().replace("\n", " ")


def test_infinite_thresholds_and_scores_leave_the_axis_finite(tmp_path):
    (axes,) = reports.identifications({"it": found("a", np.inf, a=2.0, b=np.inf)}).axes
    assert np.isfinite(axes.get_xlim()).all() and axes.patches[0].get_width() >= 2.0


def test_an_empty_dict_is_refused():
    with pytest.raises(ValueError, match="`results` is empty"):
        reports.identifications({})


def test_bars_of_negative_distances_lie_between_the_start_of_the_axis_and_the_threshold():
    negative = {"it": found("a", -0.6, a=-0.9, b=-0.2), "that": found(None, -0.6, a=0.1)}
    (axes,) = reports.identifications(negative).axes
    start, end = axes.get_xlim()
    assert start < -0.9 and end > 0.1 and not axes.xaxis_inverted()
    for bar in axes.patches:
        assert bar.get_x() == start
        assert bar.get_x() + bar.get_width() == pytest.approx(-0.6)
