"""Tests the retrieval of each actor's motions among other actors' clips, with simple distances."""

import numpy as np
import pytest

from keras_dml.training import People
from zoo import motions


@pytest.fixture
def every():
    """Builds two clips per actor. A clip is a number that encodes the motion and the actor."""
    clips = People([], [], [])
    for number, actor in enumerate(motions.ACTORS):
        for motion, place in (("hop", 0.0), ("jog", 10.0)):
            clips += People([np.full((4, 1), place + 0.1 * number)], [motion], [actor])
    return clips


def between(signals):
    places = np.array([signal[0, 0] for signal in signals])
    return np.abs(places[:, None] - places)


def test_clips_of_an_actor_and_of_all_others(every):
    own, others = motions.by_actor(every, "bk")
    assert own.sessions == ["bk"] * 2 and set(others.sessions) == {"bd", "dg", "mm"}
    both, rest = motions.by_actor(every, ("bd", "mm"))
    assert set(both.sessions) == {"bd", "mm"} and set(rest.sessions) == {"bk", "dg"}


def test_motions_far_apart_are_always_found(every):
    found = motions.over_actors(every, [between] * 4)
    values = {row["metric"]: row["value"] for row in found.figures}
    assert values == {"recall_at_1": 1, "recall_at_3": 1, "map_at_r": 1, "auc": 1, "eer": 0}
    assert found.headline["motions"] == 2 and found.headline["probes"] == 8
    assert (found.trials.enrolled == 3).all()


@pytest.mark.filterwarnings("ignore:.*may be similarities:UserWarning")  # distances are reversed
def test_an_actors_distances_are_those_of_its_own_function(every):
    def reversed_order(signals):
        return 20 - between(signals)

    found = motions.over_actors(every, [reversed_order, *[between] * 3])
    folds = {row["metric"]: row["folds"] for row in found.figures}
    assert folds["recall_at_1"] == [0, 1, 1, 1]


def test_all_actors_stand_under_one_threshold_whatever_the_unit_of_each_network(every):
    def tenfold(signals):
        return 10 * (between(signals) + 1)

    def plain(signals):
        return between(signals) + 1

    scaled, same = (motions.over_actors(every, [one, *[plain] * 3]) for one in (tenfold, plain))
    np.testing.assert_allclose(scaled.trials.scores, same.trials.scores, rtol=1e-12)
    assert {row["metric"]: row["value"] for row in scaled.headline["rows"]}["eer"] == 0


def test_a_clip_keeps_its_ends_when_resampled():
    signal = np.arange(10.0)[:, None]
    np.testing.assert_allclose(motions.resampled(signal, 4)[:, 0], [0, 3, 6, 9], rtol=0, atol=1e-6)
