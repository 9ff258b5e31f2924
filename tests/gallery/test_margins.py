"""Tests of the margin to the second best person in identification, and of confident scores."""

import itertools

import numpy as np
import pytest

from keras_dml import scoring, zoo
from keras_dml.gallery import Gallery
from keras_dml.gallery.calibration import (
    claimed_recordings,
    everybodys_claims,
    imposter_medians,
    provisional,
)
from keras_dml.gallery.margins import MOST_LOST, confident_score, second_best_margin


class Line:
    """Model whose embeddings are points on a line."""

    def distances(self, probes, stored):
        return np.abs(probes[:, None] - stored)


def line(points, people):
    """Returns the claims of points on a line: scores, recordings, and whether they are genuine."""
    points, people = np.array(points, float), np.array(people)
    scores, probes, claims = everybodys_claims(Line(), scoring.get("nearest"), points, people)
    return scores, claimed_recordings(people), probes == claims


def test_the_margin_is_the_gap_of_the_wrong_identifications():
    # the third recording of `a` is nearer to `b` (distance 3) than to `a` (distance 4)
    claims = line([0, 1, 5, 8, 8.5, 9], list("aaabbb"))
    margin = second_best_margin(*claims, value=4.0, far=0.01)
    assert margin == pytest.approx(1.0)
    assert second_best_margin(*claims, value=2.0, far=0.01) == 0  # a stranger
    assert second_best_margin(*claims, value=4.0, far=0.2) == 0  # 1 of 6 allowed


def test_claims_are_numbered_by_recording():
    people, sessions = np.array(list("aabbc")), np.array(list("xyzzx"))
    numbers = claimed_recordings(people, sessions)
    points, nearest = np.arange(5.0), scoring.get("nearest")
    scores, *_ = everybodys_claims(Line(), nearest, points, people, sessions)
    assert len(numbers) == len(scores) and np.bincount(numbers).tolist() == [3, 3, 3, 3, 2]


def test_the_margin_gives_up_few_right_identifications(rng):
    people = np.repeat(np.arange(10), 10)
    points = people + rng.normal(scale=0.4, size=100)  # people overlap strongly
    claims = line(points, people)
    margin = second_best_margin(*claims, value=1.0, far=0.01)
    distances = np.abs(points[:, None] - points) + np.diag(np.full(100, np.inf))
    lost = total = 0
    for row, person in zip(distances, people, strict=True):
        own, other = row[people == person].min(), row[people != person].min()
        total += own <= other
        lost += own <= other <= own + margin
    assert margin > 0 and lost <= MOST_LOST * total + 1


def test_a_confident_score_accepts_a_tenth_of_the_rate(rng):
    medians = rng.permutation(np.arange(1, 1001))
    scores = [confident_score(medians, far, 500.0) for far in (1e-4, 0.01, 0.02, 0.1, 0.9)]
    assert scores == [1, 1, 2, 10, 90]  # 1: the smallest score, if there are too few recordings
    assert confident_score(medians, 0.1, 7.0) == 7  # never above the threshold
    assert confident_score(np.repeat([1, 2, 3], [4, 7, 989]), 0.1, 5.0) == 1


def test_median_scores_compare_a_recording_with_each_other_person():
    points, people = np.array([0.0, 1, 5, 9, 20, 40]), np.array(list("aaabbc"))
    medians = imposter_medians(Line(), scoring.get("nearest"), points, people)
    expected = [
        np.median([abs(x - y) for y in points[people == person]])
        for person in "abc"
        for x in points[people != person]
    ]
    np.testing.assert_allclose(medians, expected)


def test_the_next_stricter_threshold_of_a_card_is_its_confident_score():
    thresholds = provisional(zoo.card("gait_lda"))
    rates = sorted(thresholds)
    assert rates == [0.001, 0.01, 0.05, 0.1] and thresholds[0.001].confident is None
    for stricter, rate in itertools.pairwise(rates):
        assert thresholds[rate].confident == thresholds[stricter].value < thresholds[rate].value


def calibrated(path, model, people):
    """Returns a gallery with two similar people, and a calibrated threshold."""
    people.is_like("bob", people.level("alice"))
    names = ["alice", "bob", *"cdefghijklmnopqrstuvwxyz"]
    gallery = Gallery(path, model)
    gallery.calibrate([r for n in names for r in people(n)], np.repeat(names, 4), far=0.3)
    for name in ("alice", "bob", "c"):
        gallery.enroll(name, people(name))
    return gallery


def test_two_people_who_are_nearly_equally_near_are_not_identified(model, people, tmp_path):
    with calibrated(tmp_path / "people.db", model, people) as gallery:
        probe = people("alice", 1)
        first, second = gallery.identify(probe, threshold=1e9).candidates[:2]
        gap = second.score - first.score
        clear = gallery.identify(probe, 1, threshold=1e9, margin=0.9 * gap)
        assert clear.person == first.person and clear.tied == ()
        for top in (1, 5):
            unclear = gallery.identify(probe, top, threshold=1e9, margin=1.1 * gap)
            assert unclear.person is None and {*unclear.tied} == {first.person, second.person}
            assert all(name in unclear.answer for name in unclear.tied)
        with pytest.raises(ValueError, match="margin"):
            gallery.identify(probe, margin=-1.0)


def test_the_calibrated_margin_is_the_default_and_is_stored(model, people, tmp_path):
    with calibrated(tmp_path / "people.db", model, people) as gallery:
        (threshold,) = gallery.thresholds.values()
        assert threshold.confident < threshold.value
        gallery._records.set_threshold(threshold.__class__(**vars(threshold) | {"margin": 1e9}))
        unclear = gallery.identify(people("c", 1))
        assert unclear.person is None and len(unclear.tied) == 3
        assert gallery.thresholds[threshold.far].margin == 1e9
