"""Tests that an additional error never improves a confidence bound."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_dml import evaluation
from tests.evaluation import fresh_worlds, worlds

PEOPLE, RECORDINGS, DRAWS = 6, 3, 40
SLACK = 1e-12  # allowance for rounding errors of sums
few = settings(max_examples=25)
seeds = st.integers(0, 10_000)


def claims(seed):
    """Draws trials of all pairs of people. The first set of trials has no errors, and later sets
    have more and more errors."""
    rng = np.random.default_rng(seed)
    gap = rng.choice([0.5, 2.0, 30.0])
    scores = rng.normal(size=(RECORDINGS, PEOPLE, PEOPLE)) + gap * ~np.eye(PEOPLE, dtype=bool)
    names = np.arange(PEOPLE)
    genuine = np.broadcast_to(np.eye(PEOPLE, dtype=bool), scores.shape)
    return worlds.Trials(scores, genuine, (names[:, None], names))


def with_more_errors(trials, seed, *, kinds=(True, False)):
    """Returns a copy of the trials in which at least one score is worse."""
    rng = np.random.default_rng([seed, 1])
    scores = trials.scores.copy()
    candidates = np.argwhere(np.isin(trials.genuine, kinds))
    for at in rng.permutation(candidates)[: rng.integers(1, 4)]:
        scores[tuple(at)] += 40.0 if trials.genuine[tuple(at)] else -40.0
    return trials._replace(scores=scores)


def assert_no_better(before, after):
    """Asserts that the two bounds of the interval of an error rate stay equal or rise."""
    assert np.all(np.subtract(after, before) >= -SLACK), (before, after)


def imposters_of(trials):
    """Returns the scores of imposter trials and the people of these trials."""
    apart = ~trials.genuine
    people = (np.broadcast_to(side, apart.shape)[apart] for side in trials.people)
    return trials.scores[apart], tuple(people)


@few
@given(seeds, st.booleans())
def test_false_accepts(seed, is_complete):
    trials = claims(seed)
    rows = np.ones(imposters_of(trials)[0].size, bool)
    if not is_complete:
        rows = np.random.default_rng([seed, 2]).uniform(size=rows.size) < 0.5
    ends = []
    for worse in (trials, with_more_errors(trials, seed, kinds=(False,))):
        scores, people = imposters_of(worse)
        people = tuple(side[rows] for side in people)
        ends.append(evaluation.false_accepts(scores[rows], people, 0.0).ci95)
    assert_no_better(*ends)


@few
@given(seeds)
def test_a_certificate_sets_no_larger_threshold_and_has_the_interval_of_its_threshold(seed):
    trials = claims(seed)
    results = []
    for worse in (trials, with_more_errors(trials, seed, kinds=(False,))):
        try:
            certified = evaluation.certificate(*imposters_of(worse), 0.4)
        except ValueError:  # the sample is too small for this rate
            return
        counted = evaluation.false_accepts(*imposters_of(worse), certified.threshold)
        assert certified.ci95 == counted.ci95
        results.append(certified.threshold)
    assert results[1] <= results[0]


@few
@given(seeds, st.booleans())
def test_rates_at_a_threshold(seed, has_people):
    trials = claims(seed)
    first, second = (
        evaluation.accept_rates(
            worse.scores,
            worse.genuine,
            0.0,
            people=worse.people if has_people else None,
            bootstrap=DRAWS,
        )
        for worse in (trials, with_more_errors(trials, seed))
    )
    assert_no_better(first.far_ci95, second.far_ci95)
    assert_no_better(second.tar_ci95, first.tar_ci95)


@few
@given(seeds)
def test_rates_of_repeated_tries(seed):
    trials = claims(seed)
    first, second = (
        evaluation.best_of_tries(
            worse.scores, worse.genuine, 0.0, people=worse.people, tries=2, bootstrap=DRAWS
        )
        for worse in (trials, with_more_errors(trials, seed))
    )
    assert_no_better(first.far_ci95, second.far_ci95)
    assert_no_better(second.tar_ci95, first.tar_ci95)


@few
@given(seeds, st.booleans())
def test_verification(seed, has_people):
    trials = claims(seed)
    first, second = (
        evaluation.verification(
            worse.scores,
            worse.genuine,
            people=worse.people if has_people else None,
            bootstrap=DRAWS,
        ).intervals
        for worse in (trials, with_more_errors(trials, seed))
    )
    assert "eer" in first and "auc" in first
    for name in first:
        ends = (first[name], second[name])
        assert_no_better(*(ends if name == "eer" else ends[::-1]))


@few
@given(seeds)
def test_a_compared_rate_and_a_detection_cost(seed):
    trials = claims(seed)
    rates, costs = [], []
    for worse in (trials, with_more_errors(trials, seed)):
        compared = evaluation.eer_comparison(
            {"method": [worse.scores, trials.scores]},
            worse.genuine,
            people=worse.people,
            bootstrap=DRAWS,
        )
        rates.append(compared["method"].ci95)
        cost = evaluation.detection_cost(
            worse.scores, worse.genuine, people=worse.people, bootstrap=DRAWS
        )
        costs.append(cost.cost_ci95)
    assert_no_better(*rates)
    assert_no_better(*costs)


def answers(seed):
    """Draws distances of probes to people, before and after some probes are moved to a wrong
    person."""
    rng = np.random.default_rng(seed)
    names = np.repeat(np.arange(PEOPLE), RECORDINGS)
    right = names[:, None] == np.arange(PEOPLE)
    first = np.where(right, 0.0, 1.0 + rng.uniform(size=right.shape))
    wrong = rng.uniform(size=len(names)) < rng.choice([0.0, 0.3])
    second = first.copy()
    first[wrong] = np.where(right, 9.0, first)[wrong]
    wrong |= np.arange(len(names)) == rng.integers(len(names))
    second[wrong] = np.where(right, 9.0, second)[wrong]
    return first, second, names


@few
@given(seeds)
def test_identification_imposters_and_retrieval(seed):
    *distances, names = answers(seed)
    enrolled = np.arange(PEOPLE)
    accuracy, misidentified, recall = [], [], []
    for matrix in distances:
        identified = evaluation.identification(matrix, names, enrolled, bootstrap=DRAWS)
        accuracy.append(identified.accuracy_ci95)
        half = enrolled[: PEOPLE // 2]
        rejected = evaluation.imposters(matrix[:, half], names, half, bootstrap=DRAWS)
        misidentified.append(rejected.misidentification_ci95)
        retrieved = evaluation.retrieval(
            matrix,
            names,
            gallery_labels=enrolled,
            distance="precomputed",
            k=(1, 2),
            bootstrap=DRAWS,
        )
        recall.append([*retrieved.intervals.values()])
    assert len(recall[0]) == 4
    assert_no_better(*accuracy[::-1])
    assert_no_better(*misidentified)
    assert_no_better(*recall[::-1])


@few
@given(seeds, st.booleans())
def test_novelty(seed, has_people):
    rng = np.random.default_rng(seed)
    known, new = rng.normal(size=20), rng.normal(size=24) + rng.choice([1.0, 30.0])
    people = (np.arange(20) % 5, 5 + np.arange(24) % 6) if has_people else None
    worse = known.copy()
    worse[rng.integers(20)] += 40
    first, second = (
        evaluation.novelty_detection(values, new, far=0.1, people=people, bootstrap=DRAWS)
        for values in (known, worse)
    )
    assert_no_better(first.frr_at_far_ci95, second.frr_at_far_ci95)
    assert_no_better(second.detection.intervals["auc"], first.detection.intervals["auc"])
    assert_no_better(first.detection.intervals["eer"], second.detection.intervals["eer"])


def test_the_first_false_accept_of_450_does_not_narrow_the_interval():
    probes, claimed = np.nonzero(~np.eye(10, dtype=bool))
    people = np.tile(probes, 5), np.tile(claimed, 5)
    order = np.random.default_rng(0).permutation(450)
    uppers = []
    for errors in range(0, 451, 15):
        scores = np.ones(450)
        scores[order[:errors]] = 0
        uppers.append(evaluation.false_accepts(scores, people, 0.5).ci95[1])
    assert np.all(np.diff(uppers) >= -SLACK)
    assert 0.1 < uppers[0] < 0.3 and uppers[-1] == pytest.approx(1.0)


@pytest.mark.slow
@pytest.mark.parametrize("world", ["strong", "mild", "wolves", "heavy"])
@pytest.mark.parametrize(("count", "far"), [(46, 0.01), (46, 0.05), (10, 0.1)])
def test_as_many_other_people_have_at_most_the_upper_end(world, count, far):
    """Tests that the rate of another group of people exceeds the upper confidence bound in about
    2.5 % of the draws.

    The threshold and the interval are computed from the same scores.
    """
    above = 0

    def drawn(seed):
        if world in ("strong", "mild"):
            return imposters_of(worlds.trials(world, 0.05, count, 1, seed))
        return imposters_of(fresh_worlds.trials(world, count, 1, seed))

    for seed in range(100):
        scores, people = drawn([seed, 0])
        threshold = np.quantile(scores, far)
        others = np.mean(drawn([seed, 1])[0] <= threshold)
        above += others > evaluation.false_accepts(scores, people, threshold).ci95[1]
    assert above <= 6
