"""Tests plots of error curves and histograms of scores."""

import numpy as np
import pytest
from scipy.stats import norm

from keras_dml import reports
from keras_dml.evaluation import verification


def trials(shift=2.3, people=36, seed=0):
    scores = 3 + 0.6 * np.random.default_rng(seed).normal(size=(people, people))
    return verification(scores - shift * np.eye(people), np.eye(people, dtype=bool))


def texts(figure):
    """Returns all texts of a figure."""
    figure.draw_without_rendering()
    return "\n".join(text.get_text() for text in figure.findobj(lambda a: hasattr(a, "get_text")))


@pytest.fixture
def separated():
    return verification([0.1, 0.2, 0.8, 0.9, 1.0], [True, True, False, False, False])


def test_the_title_has_the_finding_and_the_caption_the_counts():
    text = texts(reports.verification_curves(trials(), caption="Gait, seed 0."))
    assert "Equal error rate 2.8 %" in text
    assert "36 genuine, 1,260 imposter trials. Gait, seed 0." in text


def test_several_methods_are_named_with_their_error_rates():
    results = {"QP-WL": trials(2.5), "MP-NPL": trials(1.5)}
    text = texts(reports.verification_curves(results))
    eers = [f"{100 * result.eer:.1f} %" for result in results.values()]
    assert f"QP-WL has the lowest EER ({eers[0]}), and MP-NPL has the highest ({eers[1]})" in text
    assert f"MP-NPL  EER {eers[1]}" in text


def test_trials_without_error_have_a_note(separated):
    text = texts(reports.verification_curves(separated))
    assert "All 2 genuine trials are closer than all 3 imposter trials" in text
    assert "no error in these trials" in text
    assert "correct side of the threshold 0.5" in texts(reports.score_histogram(separated))


def test_det_axes_are_normal_deviates():
    det = reports.verification_curves(trials()).axes[1]
    places = det.transData.transform([(rate, rate) for rate in norm.cdf([-2.5, -1.5, -0.5])])
    np.testing.assert_allclose(*np.diff(places, axis=0), rtol=1e-6)


def test_the_line_runs_through_the_points_of_the_curve():
    result = trials()
    roc, det = reports.verification_curves(result).axes
    far, tar = roc.get_lines()[0].get_data()
    points = set(zip(result.roc.far, result.roc.tar, strict=True))
    assert set(zip(far[1:], tar[1:], strict=True)) <= points
    assert tar[0] == result.roc.tar[result.roc.far <= far[0]].max()
    dot = det.get_lines()[-1]
    assert dot.get_xdata() == dot.get_ydata() == [result.eer]


def test_repetitions_are_drawn_as_their_mean_with_standard_errors():
    runs = [trials(1.8, seed=seed) for seed in range(5)]
    figure = reports.verification_curves({"QP-WL": runs}, caption="Gait.")
    assert "Mean of 5 repetitions; bands: ± one standard error." in texts(figure)
    roc = figure.axes[0]
    far, tar = roc.get_lines()[0].get_data()
    at = np.searchsorted(far, 0.1)
    reached = [run.roc.tar[run.roc.far <= far[at]].max() for run in runs]
    assert tar[at] == pytest.approx(np.mean(reached), abs=0.02)
    edges = roc.collections[0].get_paths()[0].vertices
    heights = edges[np.isclose(edges[:, 0], far[at]), 1]
    error = np.std(reached, ddof=1) / np.sqrt(5)
    assert np.ptp(heights) == pytest.approx(2 * error, rel=0.5)


def test_a_title_argument_is_used():
    assert "Shoes matter" in texts(reports.verification_curves(trials(), title="Shoes matter"))
    assert "Shoes matter" in texts(reports.score_histogram(trials(), title="Shoes matter"))


def test_bars_of_each_kind_sum_to_one():
    result = trials()
    axes = reports.score_histogram(result, unit="Wasserstein distance").axes[0]
    for bars in axes.patches:
        assert np.nansum(bars.get_data().values) == pytest.approx(1.0)
    threshold = [line for line in axes.get_lines() if line.get_linestyle() == "--"]
    assert threshold[0].get_xdata() == [result.eer_threshold] * 2
    assert "Wasserstein distance; smaller is closer" in axes.get_xlabel()


def test_scores_that_are_all_equal_can_be_drawn(tmp_path):
    result = verification(np.ones(6), np.arange(6) < 3)
    for name, draw in (("h", reports.score_histogram), ("c", reports.verification_curves)):
        assert reports.save(draw(result), tmp_path / name)


def test_tables_contain_all_drawn_points(separated):
    table = reports.verification_table({"QP-WL": [separated, separated]})
    assert {len(column) for column in table.values()} == {2 * separated.roc.far.size}
    assert set(table["repetition"]) == {0, 1} and set(table["method"]) == {"QP-WL"}
    scores = reports.scores_table(separated)
    assert scores["kind"] == ["genuine"] * 2 + ["imposter"] * 3
    assert scores["score"] == [0.1, 0.2, 0.8, 0.9, 1.0]


def test_no_results_are_refused():
    with pytest.raises(ValueError, match="at least one method"):
        reports.verification_curves({})
