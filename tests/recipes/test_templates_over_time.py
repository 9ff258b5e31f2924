"""Tests of the measurement of templates that grow by proposals."""

from unittest import mock

import numpy as np
import pytest

from keras_dml.gallery import observations
from zoo import templates_over_time as script


def made_up(people, sessions, rng):
    """Draws embeddings of people who drift a little from session to session."""
    centers = rng.normal(scale=4, size=(people, 1, 8))
    drift = 0.1 * rng.normal(size=(people, sessions, 8)).cumsum(axis=1)
    z = np.repeat(centers + drift, 2, axis=1) + 0.3 * rng.normal(size=(people, 2 * sessions, 8))
    names = np.repeat([f"p{i:02}" for i in range(people)], 2 * sessions)
    numbers = np.tile(np.repeat(np.arange(sessions), 2), people)
    return script.Sessions(z.reshape(-1, 8).astype("float32"), names, numbers, "euclidean")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_attackers_walk_in_only_without_the_rule(rng):
    data, clock = made_up(40, 6, rng), script.Clock()
    plan = script.Plan("made up", None, 1, 1, 0.2, "")
    half = np.unique(data.people)[::5]
    with mock.patch.object(observations, "now", clock):
        results = script.measure(data, plan, half, clock, rng, 1)
    rates = {key: np.mean(list(row.values())) for key, row in results.items()}
    assert rates["added", script.NONE] == 0 < rates["added", script.PROPOSALS]
    assert rates["attack", script.EVERYTHING] > 0.5
    assert rates["attack", script.PROPOSALS] <= rates["attack", script.NONE] + 0.2


def test_intervals_are_over_people(rng):
    rows = [{"a": 0.0, "b": 1.0}, {"a": 0.0, "c": 0.5}]
    mean, low, high, people = script.summarize(rows, rng)
    assert (mean, people) == (0.5, 3) and 0 <= low < mean < high <= 1


def test_differences_are_paired():
    runs = [{("FRR", script.NONE): {"a": 0.5}, ("FRR", script.PROPOSALS): {"a": 0.25}}]
    assert script.differences(runs, "FRR") == [{"a": -0.25}]
