"""The demo's experiment: who is enrolled, who observes, who is the imposter."""

import numpy as np
import pytest

from keras_dml import evaluation
from keras_dml.cli import _demo_trials


@pytest.fixture
def table(rng):
    enrolled = np.repeat(list("abcde"), 3)
    probes = np.repeat(list("eabcd"), [7, 5, 6, 5, 5])
    near = probes[:, None] == enrolled[None, :]
    return rng.uniform(1, 2, near.shape) - 0.5 * near, probes, enrolled


@pytest.mark.parametrize("observed", [1, 2, 5])
def test_scores_are_means_of_the_nearest_enrolled(table, observed):
    distances, probes, enrolled = table
    scores, owners, people = _demo_trials.scores_by_person(distances, probes, enrolled, observed)
    expected, expected_owners = [], []
    for name in "abcde":
        rows = np.flatnonzero(probes == name)
        for start in range(0, len(rows) - observed + 1, observed):
            group = rows[start : start + observed]
            each = [[distances[i][enrolled == person].min() for person in people] for i in group]
            expected.append(np.mean(each, axis=0))
            expected_owners.append(name)
    np.testing.assert_allclose(scores, expected, rtol=1e-12)
    assert owners.tolist() == expected_owners


def test_everybody_is_an_imposter_once_and_never_enrolled_then(table):
    scores, owners, people = _demo_trials.scores_by_person(*table, 1)
    repetitions = _demo_trials.repetitions(scores, owners, people, 1)
    assert sorted(sum((one.strangers for one in repetitions), [])) == people.tolist()
    for one in repetitions:
        known = len(people) - len(one.strangers)
        assert one.identification.people == one.rejection.people == known
        mine = np.isin(owners, one.strangers).sum()
        trials = one.verification.trials
        assert one.rejection.detection.trials.imposter == mine
        assert trials.genuine == one.identification.trials == len(owners) - mine
        assert trials.genuine + trials.imposter == len(owners) * known


def test_figures_are_those_of_the_evaluation(table):
    scores, owners, people = _demo_trials.scores_by_person(*table, 1)
    one = _demo_trials.repetitions(scores, owners, people, 1)[1]
    assert one.strangers == ["b"]
    rest = people != "b"
    oracle = evaluation.verification(scores[:, rest], owners[:, None] == people[rest])
    figures = _demo_trials.figures(one)
    assert figures["verification_eer"] == oracle.eer
    assert figures["rejection_auc"] == one.rejection.auc
    assert set(_demo_trials.RATES) <= set(figures)


def test_the_mean_has_the_standard_error_of_the_repetitions(table):
    repetitions = _demo_trials.repetitions(*_demo_trials.scores_by_person(*table, 1), 1)
    values = [one.verification.eer for one in repetitions]
    mean, error = _demo_trials.mean(repetitions, "verification_eer")
    assert mean == pytest.approx(np.mean(values))
    assert error == pytest.approx(np.std(values, ddof=1) / 2)
