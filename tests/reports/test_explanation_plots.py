"""The picture of an explanation."""

import numpy as np
import pytest

from keras_dml import reports
from keras_dml.explanations import Explanation, Timeline

RECORDING = np.random.default_rng(0).normal(size=(40, 3))


def found(**options):
    parts = np.diag([1.0, 3.0])
    names = ("left", "right")
    return Explanation(4.0, parts, (names, names), "What the parts are.", **options)


def text_of(axes):
    return axes.get_title("left")


def test_recordings_are_drawn_with_their_moments_the_darkest_the_largest():
    parts = np.zeros(40)
    parts[10:20], parts[30:35], parts[0:5] = 0.2, 0.1, -0.1
    lines = {name: Timeline(RECORDING, parts, 0, 0) for name in "ab"}
    figure = reports.explanation(found(timelines=lines, rate_hz=10.0))
    first, second, bars = figure.axes
    assert [text_of(axes) for axes in figure.axes] == [
        "recording a",
        "recording b",
        "largest parts",
    ]
    spans = [patch for patch in first.patches if patch.get_alpha()]
    assert [span.get_x() for span in spans] == [1.0, 3.0, 0.0]
    assert spans[0].get_alpha() > spans[1].get_alpha() == spans[2].get_alpha()
    assert spans[0].get_facecolor()[:3] == spans[1].get_facecolor()[:3]
    assert spans[0].get_facecolor()[:3] != spans[2].get_facecolor()[:3]
    assert first.get_xlabel() == "seconds" and len(first.lines) == 3
    assert [label.get_text() for label in bars.get_yticklabels()][0] == "right"
    assert "1.00 to 2.00 s of a" in figure._suptitle.get_text().replace("\n", " ")


def test_channels_stand_beside_the_parts(tmp_path):
    figure = reports.explanation(found(channels={"left": 1.0, "right": 3.0}), caption="Two ears.")
    assert [text_of(axes) for axes in figure.axes] == ["largest channels", "largest parts"]
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
