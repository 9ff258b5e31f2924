"""Tests that scores from 0 to 100 are computed from distances and the model card."""

import numpy as np
import pytest

from keras_dml.gallery import Gallery
from keras_dml.gallery.results import Scale
from keras_dml.zoo import lookup, reading


@pytest.mark.parametrize(
    ("scale", "distance", "closeness"),
    [
        (Scale(0.0, 20.0), 0.0, 100),
        (Scale(0.0, 20.0), 5.0, 75),
        (Scale(0.0, 20.0), 20.0, 0),
        (Scale(0.0, 20.0), 80.0, 0),
        (Scale(-1.0, -0.2), -1.0, 100),
        (Scale(-1.0, -0.2), -0.6, 50),
        (Scale(-1.0, -0.2), -1.1, 100),
        (Scale(-9.0, -2.0), np.inf, 0),
    ],
)
def test_closeness_is_0_at_other_people_and_100_at_the_same_recording(scale, distance, closeness):
    assert scale.closeness(distance) == pytest.approx(closeness)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gait_lda", "vowels_qp_wl"])
def test_an_enrolled_recording_has_closeness_100_and_no_distance_is_printed(tmp_path, name):
    (ada, bo, *_), _ = reading.read_golden(lookup.find(name) / "golden.npz")
    with Gallery(tmp_path / "a.db", name) as gallery:
        gallery._model._gate = None  # the quality gate would refuse the golden recordings
        gallery.enroll("ada", ada)
        gallery.enroll("bo", bo)
        decision = gallery.verify("ada", ada)
        assert decision.accepted and decision.closeness == pytest.approx(100, abs=0.1)
        assert "closeness 100.0 of 100" in str(decision) and "-" not in str(decision).split(",")[0]
        assert f"distance {decision.score:.4g}" in decision.in_words(distances=True)
        everybody = gallery.identify(bo)
        near, far = (everybody.closeness(candidate) for candidate in everybody.candidates)
        assert everybody.person == "bo" and near == pytest.approx(100, abs=0.1) and 0 <= far < near


def test_without_a_card_distances_are_printed(tmp_path, model, people):
    with Gallery(tmp_path / "a.db", model) as gallery:
        gallery.enroll("alice", people("alice"))
        decision = gallery.verify("alice", people("alice", 1), threshold=1e9)
        assert decision.closeness is None and f"distance {decision.score:.4g}" in str(decision)
        nearest = gallery.identify(people("alice", 1))
        assert nearest.closeness(nearest.candidates[0]) is None
