"""Tests plots that compare losses."""

import numpy as np
import pytest

from keras_dml import reports

METHODS = ["No network", "NRA", "RPL"]


def texts(figure):
    """Returns all texts of a figure."""
    figure.draw_without_rendering()
    return "\n".join(text.get_text() for text in figure.findobj(lambda a: hasattr(a, "get_text")))


def comparison():
    return {
        "method": METHODS,
        "nmi": [0.5, None, 0.7],
        "nmi_stderr": [None, None, 0.01],
        "nmi_paper": [None, 0.641, 0.654],
    }


def test_losses_and_figures_of_the_paper_are_drawn_side_by_side():
    figure = reports.loss_comparison(
        comparison(), figures={"nmi": "NMI"}, own="RPL", title="It holds", caption="5 seeds."
    )
    text = texts(figure)
    for part in (*METHODS, "NMI", "It holds", "5 seeds.", "the paper"):
        assert part in text
    here, papers = (points.get_offsets() for points in figure.axes[0].collections[-2:])
    np.testing.assert_array_equal(np.ma.filled(here[:, 0], np.nan), [0.5, np.nan, 0.7])
    np.testing.assert_array_equal(np.ma.filled(papers[:, 0], np.nan), [np.nan, 0.641, 0.654])


def test_people_have_different_marks():
    table = {
        "method": ["N-pair-mc", "N-pair-mc", "RPL", "RPL"],
        "person": ["bd", "mm"] * 2,
        "value": [0.9, 0.95, 0.97, 1.0],
        "value_stderr": [None] * 4,
    }
    text = texts(reports.loss_people(table, own="RPL", title="bd is hard"))
    for part in ("bd", "mm", "RPL", "N-pair-mc", "held-out person"):
        assert part in text


def test_distances_are_drawn_for_both_kinds():
    shares = np.linspace(0, 1, 5).tolist()
    table = {
        "method": ["RPL"] * 10,
        "kind": ["own"] * 5 + ["other"] * 5,
        "fraction": shares * 2,
        "distance": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
    }
    figure = reports.loss_spread(table, title="Apart")
    assert "own class" in texts(figure) and "other class" in texts(figure)
    medians = [line.get_xdata() for line in figure.axes[0].get_lines() if line.get_marker() == "o"]
    assert [float(np.ravel(median)[0]) for median in medians] == [3.0, 8.0]


@pytest.mark.parametrize("logarithmic", [False, True])
def test_a_sweep_marks_each_value(logarithmic):
    table = {"value": [0.1, 1.0], "recall_at_1": [0.9, 0.95], "recall_at_1_stderr": [None, 0.01]}
    figure = reports.loss_sweep(
        table, value="weight", unit="", title="Flat", logarithmic=logarithmic
    )
    text = texts(figure)
    assert "0.1" in text and "weight" in text and "Recall@1" in text


def test_curves_have_a_line_for_each_value():
    table = {
        "value": [2, 2, 100, 100],
        "seen": [10, 20] * 2,
        "loss": [1.0, 0.5, 0.8, 0.2],
        "loss_stderr": [None] * 4,
        "recall_at_1": [0.9, 0.91, 0.92, 0.96],
        "recall_at_1_stderr": [0.01] * 4,
    }
    figure = reports.loss_curves(table, value="N_I", title="More helps")
    assert len(figure.axes[0].containers) == len(figure.axes[1].containers) == 2
    assert figure.axes[1].get_legend().get_title().get_text() == "N_I"
