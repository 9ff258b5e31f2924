"""Tests plots of the protocol of Abdelwahab2019."""

import numpy as np
import pytest
from matplotlib.colors import to_rgba
from scipy.spatial.distance import cdist

from keras_dml import reports
from keras_dml.reports import style
from tests.reports.test_loss_plots import texts

METHODS = ("QP-WL", "MP-NPL")


def protocol():
    rows = [
        (method, "verification", n, None, "auc", 0.9 + n / 100, 0.01, 0.95 if n == 1 else None)
        for method in METHODS
        for n in (1, 2)
    ]
    for method in METHODS:
        for n in (1, 2):
            for fraction in (0.25, 0.5):
                value = 0.5 + n / 10
                rows.append((method, "identification", n, fraction, "accuracy", value, 0.02, None))
                rows.append((method, "imposters", n, fraction, "auc", value, 0.02, None))
    names = ("method", "protocol", "n", "fraction", "metric", "value", "stderr", "paper")
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))


def lines(axes):
    return [bars.lines[0].get_data() for bars in axes.containers]


def test_each_protocol_has_its_panel_and_the_papers_figures():
    figure = reports.protocol_curves(protocol(), title="It holds", caption="5 seeds.")
    text = texts(figure)
    for part in (
        *METHODS,
        "It holds",
        "5 seeds.",
        "Diamonds: the paper",
        "imposters, 2 recordings",
    ):
        assert part in text, part
    verification, identification, imposters = figure.axes
    for axes, at, values in (
        (verification, [1, 2], [0.91, 0.92]),
        (identification, [0.25, 0.5], [0.7, 0.7]),  # for the largest n
        (imposters, [0.25, 0.5], [0.7, 0.7]),
    ):
        assert len(axes.containers) == 2
        for line in lines(axes):
            np.testing.assert_allclose(line, (at, values), rtol=1e-12)
    diamonds = np.ma.filled(verification.collections[-1].get_offsets(), np.nan)
    np.testing.assert_array_equal(diamonds, [[1, 0.95], [np.nan, np.nan]])


def test_without_a_paper_the_caption_does_not_explain_diamonds():
    table = protocol()
    table["paper"] = [None] * len(table["n"])
    assert "Diamonds" not in texts(reports.protocol_curves(table, title="It holds"))


def test_distances_are_drawn_before_and_after_training():
    fractions = [0.0, 0.5, 1.0]
    kinds = [(stage, kind) for stage in ("before", "after") for kind in ("same", "other")]
    table = {
        "method": ["QP-WL"] * 12,
        "stage": [stage for stage, _ in kinds for _ in fractions],
        "kind": [kind for _, kind in kinds for _ in fractions],
        "fraction": fractions * 4,
        "distance": [0.9, 1.0, 1.1, 0.9, 1.0, 1.1, 0.1, 0.2, 0.3, 0.8, 1.0, 1.2],
    }
    figure = reports.person_distances(table, title="They part", caption="First seed.")
    text = texts(figure)
    for part in ("before", "after", "same person", "other person", "QP-WL", "First seed."):
        assert part in text, part
    after = [line.get_xdata() for line in figure.axes[1].get_lines() if line.get_label()[0] != "_"]
    np.testing.assert_allclose(np.ravel(after), [0.2, 1.0], rtol=1e-12)


def test_a_map_marks_people():
    table = {
        "panel": ["QP-WL"] * 4 + ["MP-NPL"] * 4,
        "person": ["person 1", "person 1", "person 2", "person 2"] * 2,
        "x": list(range(8)),
        "y": [0.0] * 8,
    }
    figure = reports.embedding_maps(table, title="Apart")
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["QP-WL", "MP-NPL"]
    first = figure.axes[1].collections[0]
    np.testing.assert_array_equal(first.get_offsets()[:, 0], [4, 5])
    assert tuple(first.get_facecolor()[0]) == to_rgba(style.PALETTE[0], 0.8)
    assert "person 2" in texts(figure)


@pytest.mark.parametrize("count", [3, 12])
def test_points_of_a_plane_are_recovered(count, rng):
    points = rng.normal(size=(count, 2)) * [3, 1]
    plane = reports.embedding_plane(cdist(points, points))
    np.testing.assert_allclose(cdist(plane, plane), cdist(points, points), rtol=0, atol=1e-6)
    assert (np.take_along_axis(plane, np.abs(plane).argmax(axis=0)[None], axis=0) > 0).all()


@pytest.mark.parametrize("distance", [0.0, 1e-8])
def test_nearly_equal_points_have_a_plane(distance):
    same = np.full((5, 5), distance) * ~np.eye(5, dtype=bool)
    assert np.abs(reports.embedding_plane(same)).max() <= distance
