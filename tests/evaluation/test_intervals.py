"""Tests the confidence intervals over people of all metrics except the metrics of verification."""

import numpy as np
import pytest
import scipy.stats

from keras_dml import evaluation
from keras_dml.evaluation._intervals import mean_interval
from tests.evaluation import worlds

PEOPLE, RECORDINGS = 12, 5
NAMES = np.repeat([f"person {i}" for i in range(PEOPLE)], RECORDINGS)


def distances(rng, spread=1.0):
    """Draws distances from probes to all people. The errors of probes of the same person are
    correlated."""
    matrix = rng.normal(size=(len(NAMES), PEOPLE))
    near = 2 + spread * np.repeat(rng.normal(size=PEOPLE), RECORDINGS)
    matrix[np.arange(len(NAMES)), np.repeat(np.arange(PEOPLE), RECORDINGS)] -= near
    return matrix


def test_a_mean_without_errors_has_the_interval_of_clopper_and_pearson():
    for count in (5, 12, 60):
        result = mean_interval(np.ones(3 * count), np.repeat(np.arange(count), 3), draws=8000)
        expected = scipy.stats.binomtest(count, count).proportion_ci(0.95, method="exact")
        assert result == pytest.approx((expected.low, 1.0), abs=0.03)


def test_the_interval_of_a_mean_of_zeros_and_ones_contains_clopper_pearson():
    """Tests one trial per person, so that the confidence bounds depend only on the number of
    errors."""
    for errors in (1, 3, 8):
        values = np.arange(20) >= errors
        result = mean_interval(values.astype(float), None, draws=8000)
        expected = scipy.stats.binomtest(20 - errors, 20).proportion_ci(0.95, method="exact")
        assert result == pytest.approx((expected.low, expected.high), abs=0.03)


def figures_of(rng, bootstrap):
    """Computes each metric with its confidence interval. Returns a dictionary keyed by the name of
    the metric."""
    matrix, gallery = distances(rng), np.unique(NAMES, return_index=True)
    enrolled = NAMES[np.sort(gallery[1])]
    identified = evaluation.identification(matrix, NAMES, enrolled, bootstrap=bootstrap)
    rejected = evaluation.imposters(
        matrix[:, : PEOPLE // 2], NAMES, enrolled[: PEOPLE // 2], bootstrap=bootstrap
    )
    half = len(NAMES) // 2
    novel = evaluation.novelty_detection(
        matrix.min(axis=1)[:half],
        matrix.min(axis=1)[half:] + 2,
        far=0.1,
        people=(NAMES[:half], NAMES[half:]),
        bootstrap=bootstrap,
    )
    retrieved = evaluation.retrieval(
        matrix,
        NAMES,
        gallery_labels=enrolled,
        distance="precomputed",
        k=(1, 3),
        bootstrap=bootstrap,
    )
    trials = worlds.trials("mild", 0.05, 20, 2, 1)
    cost = evaluation.detection_cost(
        trials.scores, trials.genuine, people=trials.people, bootstrap=bootstrap
    )
    ranks = retrieved.intervals
    return {
        "identification": (identified, identified.accuracy, identified.accuracy_ci95),
        "misidentification": (
            rejected,
            rejected.misidentification,
            rejected.misidentification_ci95,
        ),
        "imposter AUC": (rejected, rejected.auc, rejected.detection.intervals.get("auc")),
        "novelty AUC": (novel, novel.auroc, novel.detection.intervals.get("auc")),
        "novelty FRR": (novel, novel.frr_at_far, novel.frr_at_far_ci95),
        "recall": (retrieved, retrieved.recall_at_k[3], ranks.get("recall_at_3")),
        "MAP": (retrieved, retrieved.map_at_r, ranks.get("map_at_r")),
        "cost": (cost, cost.cost, cost.cost_ci95),
    }


def test_each_figure_lies_in_its_printed_interval(rng):
    results = figures_of(rng, 200)
    assert len(results) == 8
    for name, (result, value, (low, high)) in results.items():
        assert 0 <= low < value < high <= 1, name
        assert " to " in str(result) and "[" in str(result), name


def test_without_a_bootstrap_there_is_no_interval(rng):
    for name, (result, _, bounds) in figures_of(rng, 0).items():
        assert bounds is None, name
        assert "[" not in str(result), name


def test_recordings_of_one_person_do_not_count_as_people(rng):
    """Tests that four copies of each probe give the same interval as one copy."""
    matrix, enrolled = distances(rng), NAMES[::RECORDINGS]
    once = evaluation.identification(matrix, NAMES, enrolled, bootstrap=300)
    often = evaluation.identification(
        np.tile(matrix, (4, 1)), np.tile(NAMES, 4), enrolled, bootstrap=300
    )
    assert often.accuracy_ci95 == pytest.approx(once.accuracy_ci95)


def test_intervals_cover_the_accuracy_of_a_population():
    """Tests a population in which the error probabilities of people range from 0 to 1, and half of
    the people hardly ever err."""
    population = scipy.stats.beta(0.3, 2)
    covered = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        rates = population.rvs(PEOPLE, random_state=rng)
        wrong = rng.uniform(size=len(NAMES)) < np.repeat(rates, RECORDINGS)
        matrix = np.ones((len(NAMES), PEOPLE))
        right = np.repeat(np.arange(PEOPLE), RECORDINGS)
        matrix[np.arange(len(NAMES)), np.where(wrong, (right + 1) % PEOPLE, right)] = 0
        result = evaluation.identification(matrix, NAMES, NAMES[::RECORDINGS], bootstrap=200)
        low, high = result.accuracy_ci95
        covered += low <= 1 - population.mean() <= high
    assert covered >= 183


def test_an_additional_error_never_lowers_a_cost():
    trials = worlds.trials("mild", 0.016, 8, 1, 3)
    scores, ends = trials.scores.copy(), []
    rng = np.random.default_rng(0)
    for _ in range(40):
        cost = evaluation.detection_cost(
            scores, trials.genuine, people=trials.people, bootstrap=100
        )
        ends.append(cost.cost_ci95)
        at = (0, *rng.integers(8, size=2))
        scores[at] += 1 if trials.genuine[at] else -1
    assert (np.diff(ends, axis=0) >= -1e-12).all() and ends[-1][1] > ends[0][1]


@pytest.mark.parametrize("people", [3, "ab", (["a"],), (["a"], ["b", "c"])])
def test_people_of_novelty_detection_must_be_two_lists_of_names(people):
    with pytest.raises(ValueError, match="`people`"):
        evaluation.novelty_detection([0.1, 0.2], [0.5, 0.9], people=people)


@pytest.mark.parametrize("count", [-1, 2.5])
def test_a_number_of_replicates_is_a_whole_number(count):
    table, names = np.eye(2), ["a", "b"]
    calls = [
        lambda: evaluation.identification(table, names, names, bootstrap=count),
        lambda: evaluation.imposters(table, ["a", "c"], names, bootstrap=count),
        lambda: evaluation.novelty_detection([0.1], [0.2], bootstrap=count),
        lambda: evaluation.retrieval(
            table,
            names,
            gallery_labels=names,
            distance="precomputed",
            k=(1,),
            bootstrap=count,
        ),
        lambda: evaluation.detection_cost([0.1, 0.2], [True, False], bootstrap=count),
    ]
    for call in calls:
        with pytest.raises((TypeError, ValueError), match="`bootstrap` must be"):
            call()
