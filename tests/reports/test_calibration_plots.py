"""Tests Tippett plots, plots of the empirical cross-entropy, and error rates by threshold."""

import math

import numpy as np
import pytest

from keras_dml import evaluation, reports


@pytest.fixture(scope="module")
def ratios():
    rng = np.random.default_rng(0)
    genuine = np.arange(400) < 100
    return rng.normal(np.where(genuine, 2.0, -2.0), 2.0), genuine


def lines_of(figure):
    (axes,) = figure.axes
    lines = {line.get_label(): line for line in axes.get_lines()}
    assert lines
    return lines


def test_a_tippett_plot_shows_the_fractions_above_each_ratio(ratios):
    values, genuine = ratios
    lines = lines_of(reports.tippett(values, genuine, caption="Simulated."))
    for name, kind in (("genuine trials", genuine), ("imposter trials", ~genuine)):
        x, y = lines[name].get_data()
        for edge, fraction in zip(x[1:-1], y[1:-1], strict=True):
            assert fraction == pytest.approx(np.mean(values[kind] / math.log(10) > edge), abs=0.011)


def test_a_tippett_plot_states_the_misleading_fractions(ratios):
    values, genuine = ratios
    title = reports.tippett(values, genuine).get_suptitle().replace("\n", " ")
    assert f"{100 * np.mean(values[genuine] < 0):.1f} %" in title
    assert f"{100 * np.mean(values[~genuine] > 0):.1f} %" in title


def test_curves_of_cross_entropy_are_those_of_evaluation(ratios):
    values, genuine = ratios
    figure = reports.cross_entropy(values, genuine)
    lines = lines_of(figure)
    odds = math.log(10) * lines["with the ratios"].get_xdata()
    expected = evaluation.empirical_cross_entropy(values, genuine, odds)
    np.testing.assert_allclose(lines["with the ratios"].get_ydata(), expected)
    best = lines["after the best increasing map (PAV)"].get_ydata()
    assert (best <= expected + 1e-9).all()
    assert (best <= lines["without the ratios"].get_ydata() + 1e-9).all()
    assert f"Cllr {evaluation.cllr(values, genuine):.2f}" in figure.get_suptitle()


def test_infinite_ratios_are_drawn(tmp_path):
    values, genuine = np.array([math.inf, 1.0, -math.inf, -1.0]), np.arange(4) < 2
    for figure in (reports.tippett(values, genuine), reports.cross_entropy(values, genuine)):
        assert reports.save(figure, tmp_path / "plot")[1].stat().st_size > 1000


@pytest.mark.parametrize("sign", [1, -1])
def test_error_rates_are_drawn_in_the_unit_of_the_scores(sign):
    rng = np.random.default_rng(0)
    people = np.repeat(np.arange(20), 3)
    vectors = rng.normal(size=(20, 8))[people] + 0.7 * rng.normal(size=(60, 8))
    trials = evaluation.embedding_trials(vectors, people)
    report = evaluation.thresholds_of(
        sign * trials.scores,
        trials.people,
        fars=[0.1],
        check=[sign * 0.25],
        higher_is_closer=sign < 0,
    )
    figure = reports.error_rates_by_threshold(report)
    _, axes = figure.axes
    far, frr = axes.get_lines()[:2]
    genuine = trials.people[0] == trials.people[1]
    for line, kind, is_accepted in ((far, ~genuine, True), (frr, genuine, False)):
        for threshold, rate in zip(*line.get_data(), strict=True):
            accepted = trials.scores[kind] <= sign * threshold
            expected = np.mean(accepted if is_accepted else ~accepted)
            assert rate == pytest.approx(expected) or (np.isnan(rate) and expected == 0)
    marks = [line.get_xdata()[0] for line in axes.get_lines()[2:]]
    assert marks == [report.thresholds[0].threshold, sign * 0.25]
