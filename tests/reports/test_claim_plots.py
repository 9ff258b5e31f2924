"""Tests that plots of claims show each claim, the threshold and a correct title."""

import numpy as np
import pytest

from keras_dml import reports
from keras_dml.gallery import Decision

LIMIT = -0.6
SCORES = {  # from the person of a recording and the claimed person to the score
    ("ann", "ann"): -0.9,
    ("ann", "bob"): -0.2,
    ("bob", "ann"): -0.7,
    ("bob", "bob"): -0.5,
    ("eve", "ann"): 0.1,
    ("eve", "bob"): -0.3,
}
PEOPLE = [who for who, _ in SCORES]
DECISIONS = [
    Decision(score <= LIMIT, claimed, score, LIMIT) for (_, claimed), score in SCORES.items()
]


def points(axes):
    """Returns the points of a plot as a dict from (column, kind) to similarities."""
    labels = [line.get_label() for line in axes.lines if len(line.get_xdata()) == 1]
    kinds = [label for label in labels if not label.startswith("_")]
    result = {}
    for i, line in enumerate(line for line in axes.lines if len(line.get_xdata()) == 1):
        column = round(float(line.get_xdata()[0]))
        result[column, kinds[i % 3]] = list(line.get_ydata())
    return result


def test_each_claim_is_a_point_in_the_column_of_the_person_claimed():
    (axes,) = reports.claims(DECISIONS, PEOPLE).axes
    assert [label.get_text() for label in axes.get_xticklabels()] == ["“I am ann”", "“I am bob”"]
    true, other, stranger = (text.get_text() for text in axes.get_legend().get_texts())
    assert "true" in true and "enrolled" in other and "stranger" in stranger
    assert points(axes) == {
        (0, true): [0.9],
        (0, other): [0.7],
        (0, stranger): [-0.1],
        (1, true): [0.5],
        (1, other): [0.2],
        (1, stranger): [0.3],
    }


def test_the_threshold_divides_accepted_from_rejected():
    (axes,) = reports.claims(DECISIONS, PEOPLE).axes
    assert [text.get_text() for text in axes.texts] == ["accepted", "rejected"]
    (line,) = (line for line in axes.lines if line.get_linestyle() == "--")
    assert set(line.get_ydata()) == {-LIMIT}


def test_the_title_counts_decisions_that_are_right(tmp_path):
    figure = reports.claims(DECISIONS, PEOPLE, caption="Walks.")
    assert figure._suptitle.get_text() == "4 of 6 claims are decided correctly"
    assert reports.claims(DECISIONS, PEOPLE, title="Hello")._suptitle.get_text() == "Hello"
    png, svg = reports.save(figure, tmp_path / "who")
    assert png.stat().st_size > 1000 and svg.exists()


def test_infinite_thresholds_and_scores_leave_the_axis_finite(tmp_path):
    decisions = [Decision(True, "ann", score, np.inf) for score in (1.0, np.inf)]
    figure = reports.claims(decisions, ["ann", "bob"])
    assert np.isfinite(figure.axes[0].get_ylim()).all()
    reports.save(figure, tmp_path / "who")


@pytest.mark.parametrize("count", [0, 3])
def test_lists_of_other_lengths_are_refused(count):
    with pytest.raises(ValueError, match=f"{count} decisions and 6"):
        reports.claims(DECISIONS[:count], PEOPLE)


def test_several_thresholds_are_refused():
    decisions = [*DECISIONS[1:], Decision(True, "ann", -0.9, -0.8)]
    with pytest.raises(ValueError, match="-0.8, -0.6"):
        reports.claims(decisions, PEOPLE)
