"""Tests that false accepts of recorded walks do not exceed the guaranteed rates."""

import numpy as np
import pytest

from keras_dml import evaluation, zoo
from keras_dml.gallery import Gallery
from keras_dml.gallery.boundary import compute_boundary
from tests.bench import far_promise

pytestmark = pytest.mark.slow
GAIT, SPLITS = far_promise.SETS["gait"], 60


@pytest.fixture(scope="module")
def claims(data_dir, tmp_path_factory):
    """Scores of claims for thresholds of `verify` and for thresholds of `listen`."""
    folder = tmp_path_factory.mktemp("embeddings")
    return [
        find("gait", GAIT, folder) for find in (far_promise.of_thresholds, far_promise.of_listening)
    ]


def test_other_walkers_have_a_rate_within_the_interval(claims):
    rate, low, high = far_promise.threshold_keeps(claims[0], GAIT.far[0], SPLITS, seed=1).T
    assert len(rate) == SPLITS and np.mean((low <= rate) & (rate <= high)) >= 0.95


def test_other_walkers_have_at_most_the_promised_rate_when_a_claim_ends(claims):
    rate, low, high, tar, _ = far_promise.listening_keeps(claims[1], GAIT, SPLITS, seed=1).T
    assert np.mean((low <= rate) & (rate <= high)) >= 0.95
    assert rate.max() <= GAIT.far[1] and tar.mean() > 0.9


def test_a_gallery_sets_the_threshold_and_the_boundary_that_are_measured(claims, tmp_path):
    """The calibration includes the walker with the shortest walk, because the length of the
    shortest walk determines the length of the claims.
    """
    walkers = GAIT.walkers().at_least(GAIT.window * GAIT.windows, 2)
    shortest = walkers.subjects[np.argmin([len(signal) for signal in walkers.signals])]
    volunteers = [shortest, *sorted(set(walkers.subjects) - {shortest})[:21]]
    half = walkers.select(volunteers)
    windows = half.windows(GAIT.probe)
    with Gallery(tmp_path / "walkers.db", zoo.load("gait_lda")) as gallery:
        set_ = gallery.calibrate(windows.signals, windows.subjects, GAIT.far[0])
        listened = gallery.calibrate_listening(
            half.signals, half.subjects, GAIT.far[1], window=GAIT.window
        )
    scores, *people = far_promise.among(claims[0], volunteers)
    certificate = evaluation.certificate(scores, people, GAIT.far[0])
    assert (set_.value, *set_.far_ci95) == pytest.approx(
        (certificate.threshold, *certificate.ci95), rel=1e-4
    )
    measured = compute_boundary(*far_promise.among(claims[1], volunteers), GAIT.far[1], GAIT.window)
    figures = ("value", "reject_above", "spread", "windows", "seen", "tar", "trials")
    assert [getattr(listened, name) for name in figures] == pytest.approx(
        [getattr(measured, name) for name in figures], rel=1e-4
    )
