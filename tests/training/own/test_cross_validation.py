"""Tests that thresholds of cross-validated methods keep their false accept rates."""

import dataclasses
import itertools

import numpy as np
import pytest

from keras_dml.training import People
from keras_dml.training.own import card, cross_validation
from keras_dml.training.own.task import SOUND, Task
from tests.training.own.scores import scored

GAPS = {"best": 1.5, "ready": 1.0, "closed form": 0.8}
TASK = Task(("sound",), ("as recorded",), 16_000.0, SOUND, 32_000)
PEOPLE = People([np.zeros((32_000, 1), "float32")], ["ann"], ["0"])


def test_a_carried_threshold_keeps_its_rate_on_unseen_people():
    one = scored("one", (1.5,) * 60)
    certified, rates = cross_validation.threshold_for_far(one, [one] * 60, 0.05)
    value = certified.threshold
    assert rates.far == pytest.approx(0.05, abs=0.01) and rates.tar > 0.6
    assert (one.trials.scores[~one.trials.genuine] <= value).mean() <= 0.05
    assert certified.ci95[0] < 0.05 < certified.ci95[1] and certified.people == 240
    scaled = dataclasses.replace(
        one, parts=tuple(dataclasses.replace(p, scores=7 * p.scores) for p in one.parts)
    )
    again, same = cross_validation.threshold_for_far(scaled, [scaled] * 60, 0.05)
    assert again.threshold == pytest.approx(7 * value) and same.far == rates.far


def test_a_threshold_is_measured_on_unseen_people():
    """Models that were trained on the measured group would set a threshold that is too lax.

    The distances of these models between people of the group are too large, so a threshold set with
    them accepts imposters.
    """
    pairs = list(itertools.permutations(range(9), 2))
    chosen = [scored("one", (1.5,) * 9, dict.fromkeys(pairs, 1.5))] * 9
    seen = [scored("one", (1.5,) * 9, dict.fromkeys(pairs, 3))] * 9
    rates = cross_validation.threshold_for_far(chosen[0], chosen, 0.05)[1]
    assert rates.far == pytest.approx(0.05, abs=0.02)
    assert cross_validation.threshold_for_far(seen[0], seen, 0.05)[1].far > 0.5


def test_a_threshold_without_enough_people_is_none():
    few = scored("one", (1.5, 1.5))
    assert cross_validation.threshold_for_far(few, [few] * 2, 0.001) is None
    parts = tuple(dataclasses.replace(part, scores=0 * part.scores) for part in few.parts)
    tied = dataclasses.replace(few, parts=parts)
    assert cross_validation.threshold_for_far(tied, [tied] * 2, 0.05) is None


def test_the_card_repeats_the_certificate():
    """In each group one person has more recordings than the others.

    Therefore counts of trials are not proportional to counts of pairs of people.
    """

    def uneven(part):
        kept = np.isin(part.recordings, [*range(6), 6, 12, 18])
        arrays = ("scores", "probes", "claims", "recordings", "enrolled")
        return dataclasses.replace(part, **{name: getattr(part, name)[kept] for name in arrays})

    one = scored("one", (1.5,) * 30)
    one = dataclasses.replace(one, parts=tuple(map(uneven, one.parts)))
    certified, _ = cross_validation.threshold_for_far(one, [one] * 30, 0.05)
    found = card.rate_support(one)
    assert found["people_needed"]["0.001"] == list(certified.people_needed(0.001))
    assert found["strictest"] == certified.strictest and found["people"] == certified.people


def test_tied_scores_count_disjoint_pairs():
    few = scored("one", (1.5,))
    tied = dataclasses.replace(few.parts[0], scores=0 * few.parts[0].scores)
    found = card.rate_support(dataclasses.replace(few, parts=(tied,)))
    assert (found["people"], found["independent"], found["strictest"]) == (4, 2, 1)
    assert "support false accept rates of 100 % or more" in card.describe_support(found)


def test_a_pretrained_encoder_is_not_a_baseline_without_a_network(monkeypatch):
    found = [scored(name, (gap,) * 3, seed=i) for i, (name, gap) in enumerate(GAPS.items())]
    ready = dataclasses.replace(found[1].method, weights="another's")
    found[1] = dataclasses.replace(found[1], method=ready)
    monkeypatch.setattr(card, "thresholds", lambda made: {"thresholds": []})
    made = card.TrainedModel(TASK, PEOPLE, found[0].method, None, found, [])
    baselines = card.build(made, {}, "", 0)["baselines"]
    assert {one["name"]: one["kind"] for one in baselines} == {
        "ready": "instead",
        "closed form": "no network",
    }
