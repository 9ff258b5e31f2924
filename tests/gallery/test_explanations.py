"""Tests that `Gallery.explain` explains the distance to the nearest enrolled recording."""

import numpy as np
import pytest

from keras_dml._backend import keras
from keras_dml.gallery import Gallery
from keras_dml.layers import QuantileLayer


@pytest.fixture
def gallery(tmp_path):
    signal = keras.Input((None, 2))
    model = keras.Model(signal, QuantileLayer(6)(keras.layers.Identity()(signal)))
    with Gallery(tmp_path / "family.db", model) as opened:
        opened.enroll("alice", recordings(4))
        yield opened


def recordings(count, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.normal(i, 1, (40, 2)) for i in range(count)]


def test_the_parts_sum_to_the_score_and_the_moments_are_those_of_the_probe(gallery):
    (probe,) = recordings(1, seed=1)
    probe[20:28] += 9
    decision = gallery.verify("alice", probe, threshold=1.0)
    explanation = gallery.explain(decision.person, probe)
    np.testing.assert_allclose(explanation.distance, decision.score, rtol=1e-6)
    np.testing.assert_allclose(explanation.parts.sum(), decision.score, rtol=1e-6)
    np.testing.assert_allclose(
        explanation.timelines["probe"].parts.sum(), decision.score / 2, rtol=1e-6
    )
    first = explanation.moments[0]
    assert (first.recording, first.start, first.end) == ("probe", 20, 28)
    assert "steps 20 to 28 of probe" in str(explanation)


def test_explain_needs_one_recording_and_an_enrolled_person(gallery):
    with pytest.raises(ValueError, match="holds 2 recordings, .* Explain each"):
        gallery.explain("alice", recordings(2))
    with pytest.raises(KeyError, match="Nobody named 'bob'"):
        gallery.explain("bob", recordings(1))
