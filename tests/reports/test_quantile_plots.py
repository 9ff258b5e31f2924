"""Tests plots of the quantile functions of two people."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import trapezoid

from keras_dml import reports
from keras_dml.reports.quantile_plots import filter_distances

KNOTS = np.r_[0.0, np.sort(np.random.default_rng(0).uniform(size=6)), 1.0]


def person(recordings=4, filters=5, seed=0, shift=()):
    """Draws quantile embeddings whose filters are equal except for shifts.

    The shifts are given as a dict from filter indices to shifts.
    """
    rng = np.random.default_rng(seed)
    values = np.sort(rng.normal(size=(recordings, filters, KNOTS.size)), axis=-1)
    for index, by in dict(shift).items():
        values[:, index] += by
    rows = np.broadcast_to(KNOTS, (recordings, 1, KNOTS.size))
    return np.concatenate([values, rows], axis=1)


def titles(figure):
    return figure._suptitle.get_text().replace("\n", " "), [
        a.get_title("left") for a in figure.axes
    ]


@given(st.integers(0, 1000))
def test_distances_are_those_of_numerical_integration(seed):
    first, second = (person(1, seed=seed + k)[:, :-1] for k in (0, 5000))
    r = np.linspace(0, 1, 20001)
    for k, found in enumerate(filter_distances(first, second, KNOTS)[0]):
        gap = np.interp(r, KNOTS, first[0, k]) - np.interp(r, KNOTS, second[0, k])
        assert found == pytest.approx(trapezoid(np.abs(gap), r), abs=1e-4)


def test_equal_recordings_have_no_distance():
    one = person()[:, :-1]
    assert filter_distances(one[:1], one[:1], KNOTS)[0].max() == 0.0


def test_distances_within_are_means_over_pairs_of_one_person():
    first, second = person(3)[:, :-1], person(2, seed=1)[:, :-1]
    within = filter_distances(first, second, KNOTS)[1]
    pairs = [(first, 0, 1), (first, 0, 2), (first, 1, 2), (second, 0, 1)]
    loop = [filter_distances(e[i : i + 1], e[j : j + 1], KNOTS)[0] for e, i, j in pairs]
    np.testing.assert_allclose(within, np.mean(loop, axis=0))


def test_the_filters_that_differ_most_are_drawn_first():
    figure = reports.quantile_curves(
        person(), person(seed=1, shift={3: 9.0, 1: -5.0}), names=("walker 1", "walker 2"), filters=2
    )
    title, panels = titles(figure)
    assert title.startswith("walker 1 and walker 2 differ most in filters 3 and 1 (")
    assert [panel.split(":")[0] for panel in panels] == ["filter 3", "filter 1"]
    assert "within one person" in panels[0]


def test_a_filter_that_varies_within_a_person_is_not_preferred():
    first, second = person(shift={0: 4.0}), person(seed=1)
    first[::2, 2], second[::2, 2] = (
        first[::2, 2] + 50,
        second[::2, 2] + 50,
    )  # for both people
    _, panels = titles(reports.quantile_curves(first, second, filters=1))
    assert panels[0].startswith("filter 0")


def test_every_recording_and_the_medians_are_drawn():
    first, second = person(3), person(2, seed=1)
    axes = reports.quantile_curves(first, second, filters=1).axes[0]
    assert len(axes.get_lines()) == 3 + 1 + 2 + 1
    index = int(axes.get_title("left").split(":")[0].split()[1])
    drawn = axes.get_lines()[3].get_ydata()
    np.testing.assert_allclose(drawn, np.median(first[:, index], axis=0))
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["Person A", "Person B"]


def test_single_recordings_have_no_distance_within(tmp_path):
    figure = reports.quantile_curves(person(1), person(1, seed=1), filters=1)
    title, panels = titles(figure)
    assert "most in filter " in title
    assert "one person" not in panels[0]
    assert reports.save(figure, tmp_path / "curves")


def test_the_same_person_twice_can_be_drawn():
    assert "(0 % of their distance)" in titles(reports.quantile_curves(person(1), person(1)))[0]


def test_embeddings_of_another_model_are_refused():
    other = person(seed=1)
    other[:, -1] = other[:, -1] ** 2
    with pytest.raises(ValueError, match="different knots"):
        reports.quantile_curves(person(), other)


def test_knots_rounded_by_a_half_precision_file_are_the_same():
    rounded = person(seed=1).astype(np.float16)
    assert reports.quantile_curves(person(), rounded)


@pytest.mark.parametrize("second", [np.ones((4, 64)), np.ones((4, 3, 8))])
def test_embeddings_without_quantiles_are_refused(second):
    with pytest.raises(ValueError, match="max pooling"):
        reports.quantile_curves(person(), second)


def test_an_empty_set_of_recordings_is_refused():
    with pytest.raises(ValueError, match="at least one recording.*4 and 0"):
        reports.quantile_curves(person(), person()[:0])


def test_values_that_are_not_finite_are_refused():
    bad = person()
    bad[0, 0, 0] = np.nan
    with pytest.raises(ValueError, match="finite"):
        reports.quantile_curves(person(), bad)


@pytest.mark.parametrize("filters", [0, 6])
def test_too_many_filters_are_refused(filters):
    with pytest.raises(ValueError, match="between 1 and 5"):
        reports.quantile_curves(person(), person(seed=1), filters=filters)
