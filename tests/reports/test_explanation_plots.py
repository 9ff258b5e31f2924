"""Tests that plots of explanations show moments, channels, pairs and regions."""

import numpy as np
import pytest

from keras_dml import reports
from keras_dml.explanations import Explanation, Timeline

RECORDING = np.random.default_rng(0).normal(size=(40, 3))


def found(**options):
    parts = np.diag([1.0, 3.0])
    names = ("left", "right")
    return Explanation(4.0, parts, (names, names), "What the parts are.", **options)


def removed(**options):
    return Explanation(-0.5, None, (), "How.", by_removal=True, **options)


def text_of(axes):
    return axes.get_title("left")


def test_recordings_are_drawn_with_their_moments_the_darkest_the_largest():
    parts = np.zeros(40)
    parts[10:20], parts[30:35], parts[0:5] = 0.2, 0.1, -0.1
    lines = {name: Timeline(RECORDING, parts, 0, 0) for name in "ab"}
    figure = reports.explanation(found(timelines=lines, rate_hz=10.0))
    first, second = figure.axes
    assert [text_of(axes) for axes in figure.axes] == ["recording a", "recording b"]
    spans = [patch for patch in first.patches if patch.get_alpha()]
    assert [span.get_x() for span in spans] == [1.0, 3.0, 0.0]
    assert spans[0].get_alpha() > spans[1].get_alpha() == spans[2].get_alpha()
    assert spans[0].get_facecolor()[:3] == spans[1].get_facecolor()[:3]
    assert spans[0].get_facecolor()[:3] != spans[2].get_facecolor()[:3]
    assert first.get_xlabel() == "seconds" and len(first.lines) == 3
    assert "1.00 to 2.00 s of a" in figure._suptitle.get_text().replace("\n", " ")


def test_channels_and_their_pairs_are_drawn_side_by_side(tmp_path):
    figure = reports.explanation(found(channels={"left": 1.0, "right": 3.0}), caption="Two ears.")
    assert [text_of(axes) for axes in figure.axes] == ["largest channels", "largest pairs"]
    assert [patch.get_width() for patch in figure.axes[0].patches] == [3.0, 1.0]
    assert "What the parts are. Two ears." in figure._supxlabel.get_text()
    png, svg = reports.save(figure, tmp_path / "why")
    assert png.stat().st_size > 1000 and svg.exists()


@pytest.mark.parametrize("channels", [1, 20])
def test_recordings_of_any_width_and_without_a_rate(channels):
    recording = np.zeros((5, channels))
    lines = {"probe": Timeline(recording, np.full(5, 0.4), 0, 0)}
    figure = reports.explanation(found(timelines=lines))
    assert figure.axes[0].get_xlabel() == "steps" and len(figure.axes[0].lines) <= 12


def test_changes_by_removal_are_colored_by_sign_and_the_largest_is_the_title():
    parts = np.repeat([0.01, -0.02, 0.0, 0.0], 10)
    spans = ((0, 10), (10, 20), (20, 30), (30, 40))
    lines = {"probe": Timeline(RECORDING, parts, 0, 0, spans)}
    figure = reports.explanation(
        removed(timelines=lines, channels={"left": 0.1, "right": -0.3}, rate_hz=10.0)
    )
    assert "Without right the recordings are further apart" in figure._suptitle.get_text()
    recording, bars = figure.axes
    assert [span.get_x() for span in recording.patches if span.get_alpha()] == [0.0, 1.0]
    colors = {patch.get_facecolor() for patch in bars.patches}
    assert text_of(bars) == "largest channels" and len(colors) == 2
    alone = reports.explanation(removed(timelines=lines))
    assert "Without steps 10 to 20 of probe" in alone._suptitle.get_text().replace("\n", " ")
    assert len(alone.axes) == 1


def test_regions_are_drawn_and_an_empty_explanation_has_a_title():
    figure = reports.explanation(removed(regions={"rows 0 to 5, columns 0 to 5 of a": 0.2}))
    assert [text_of(axes) for axes in figure.axes] == ["largest regions"]
    nothing = removed(timelines={"probe": Timeline(RECORDING, np.zeros(40), 0, 0, ((0, 40),))})
    assert "No single moment" in reports.explanation(nothing)._suptitle.get_text()
