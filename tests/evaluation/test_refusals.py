"""Tests that every metric raises an error for invalid numbers and invalid ids."""

import numpy as np
import pytest

from keras_dml import evaluation
from keras_dml.evaluation import protocol, splits

SCORES = np.array([0.1, 0.3, 0.2, 0.9])
GENUINE = np.array([True, True, False, False])
POINTS = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]])
CLASSES = np.array([0, 0, 0, 1, 1, 1])
TABLE = np.abs(POINTS - POINTS.T)
PAIRS = np.array([[0, 0, 1, 2], [1, 2, 2, 0]])
TWELVE = np.nonzero(~np.eye(12, dtype=bool))


def few_shot(x, y, shots=1):
    options = {"queries": 1, "episodes": 2, "distance": "euclidean"}
    return evaluation.few_shot(x, y, ways=2, shots=shots, **options)


def two_samples(x, **options):
    people = range(len(POINTS)), range(len(POINTS), 2 * len(POINTS))
    return evaluation.two_samples(lambda a, b: a @ b.T, x, POINTS, people=people, **options)


OF_NUMBERS = {
    "verification": (lambda x: evaluation.verification(x, GENUINE), SCORES),
    "equal_error_rate": (lambda x: evaluation.equal_error_rate(x, GENUINE), SCORES),
    "threshold_at_far": (lambda x: evaluation.threshold_at_far(x, GENUINE, far=0.5), SCORES),
    "accept_rates": (lambda x: evaluation.accept_rates(x, GENUINE, 0.5, bootstrap=2), SCORES),
    "false_accepts": (lambda x: evaluation.false_accepts(x, PAIRS, 0.5), SCORES),
    "certificate": (lambda x: evaluation.certificate(x, TWELVE, 0.9), np.repeat(SCORES, 33)),
    "promise": (lambda x: evaluation.promise(x, TWELVE, 0.9), np.repeat(SCORES, 33)),
    "eer_difference": (
        lambda x: evaluation.eer_difference(SCORES, x, GENUINE, bootstrap=2),
        SCORES,
    ),
    "tar_difference": (
        lambda x: evaluation.tar_difference(SCORES, x, GENUINE, 0.5, bootstrap=2),
        SCORES,
    ),
    "eer_comparison": (
        lambda x: evaluation.eer_comparison({"a": [x]}, GENUINE, bootstrap=2),
        SCORES,
    ),
    "detection_cost": (lambda x: evaluation.detection_cost(x, GENUINE), SCORES),
    "identification": (lambda x: evaluation.identification(x, CLASSES, CLASSES), TABLE),
    "imposters": (lambda x: evaluation.imposters(x, CLASSES, CLASSES * 2), TABLE),
    "retrieval": (lambda x: evaluation.retrieval(x, CLASSES, k=(1,)), POINTS),
    "nearest_entries": (lambda x: evaluation.nearest_entries(x, k=1), POINTS),
    "few_shot": (
        lambda x: few_shot(x, CLASSES),
        POINTS,
    ),
    "support_means": (lambda x: evaluation.support_means(x, CLASSES), POINTS),
    "embedding_clustering": (lambda x: evaluation.embedding_clustering(x, CLASSES), POINTS),
    "two_samples": (lambda x: two_samples(x), POINTS),
    "novelty": (lambda x: evaluation.novelty(x), TABLE),
    "one_class_svm": (lambda x: evaluation.novelty_by_one_class_svm(x, TABLE), TABLE),
    "novelty_detection": (lambda x: evaluation.novelty_detection(x, SCORES), SCORES),
    "fuse": (lambda x: evaluation.fuse(x, SCORES), SCORES),
    "fusion_statistics": (lambda x: evaluation.fusion_statistics(SCORES, x), SCORES),
    "paired_cosine": (lambda x: evaluation.paired_cosine(x, POINTS), POINTS),
    "paper_protocol": (lambda x: protocol.paper_protocol(x, CLASSES, observed=1, n=(1,)), TABLE),
}
OF_NAMES = {
    "identification": lambda y: evaluation.identification(TABLE, y, y),
    "retrieval": lambda y: evaluation.retrieval(POINTS, y, k=(1,)),
    "few_shot": lambda y: few_shot(POINTS, y),
    "support_means": lambda y: evaluation.support_means(POINTS, y),
    "clustering": lambda y: evaluation.clustering(y, CLASSES),
    "clusters": lambda y: evaluation.clustering(CLASSES, y),
    "embedding_clustering": lambda y: evaluation.embedding_clustering(POINTS, y),
    "imposters of people": lambda y: evaluation.false_accepts(
        POINTS[:, 0], (y, np.roll(y, 3)), 0.5
    ),
    "people": lambda y: evaluation.verification(
        TABLE, CLASSES[:, None] == CLASSES, people=(y[:, None], y[None]), bootstrap=2
    ),
}
NO_NUMBERS = {
    "masked": (lambda x: np.ma.array(x, mask=np.arange(x.size).reshape(x.shape) == 2), "1 of"),
    "complex": (lambda x: x + 1j, "complex128"),
    "text": (lambda x: x.astype(str), "dtype <U"),
    "dates": (lambda x: (10 * x).astype("M8[D]"), "datetime64"),
    "structured": (lambda x: np.zeros(x.shape, [("a", "f8")]), "must hold real numbers"),
    "none": (lambda x: None, "Received None"),
}
NO_NAMES = {
    "masked": (lambda y: np.ma.array(y, mask=y == 1), "3 of 6 masked"),
    "complex": (lambda y: y + 1j, "complex128"),
    "dates": (lambda y: y.astype("M8[D]"), "datetime64"),
    "structured": (lambda y: np.zeros(y.shape, [("a", "f8")]), "integers, strings or bytes"),
}


@pytest.mark.parametrize("change, message", NO_NUMBERS.values(), ids=NO_NUMBERS)
@pytest.mark.parametrize("figure, values", OF_NUMBERS.values(), ids=OF_NUMBERS)
def test_values_that_are_not_numbers_are_refused_by_every_figure(figure, values, change, message):
    figure(values)
    with pytest.raises(TypeError, match=message):
        figure(change(values))


@pytest.mark.parametrize(
    "change, message",
    [case for key, case in NO_NUMBERS.items() if key != "none"],
    ids=[key for key in NO_NUMBERS if key != "none"],
)
def test_a_gallery_that_is_not_numbers_is_refused(change, message):
    bad = change(POINTS)
    with pytest.raises(TypeError, match=message):
        evaluation.nearest_entries(POINTS, gallery=bad, k=1)
    with pytest.raises(TypeError, match=message):
        evaluation.retrieval(POINTS, CLASSES, gallery=bad, gallery_labels=CLASSES, k=(1,))


@pytest.mark.parametrize("change, message", NO_NAMES.values(), ids=NO_NAMES)
@pytest.mark.parametrize("figure", OF_NAMES.values(), ids=OF_NAMES)
def test_invalid_names_are_refused_by_every_figure(figure, change, message):
    figure(CLASSES)
    figure(CLASSES.astype(str))
    with pytest.raises(TypeError, match=message):
        figure(change(CLASSES))


def test_names_of_different_kinds_are_not_converted_to_strings():
    """Tests the ids 1 and "1", which NumPy would convert to the same string."""
    with pytest.raises(TypeError, match="types int, str"):
        evaluation.retrieval(POINTS, [1, "1", "1", 1, "b", "b"], k=(1,))


def test_nan_is_refused_as_a_name():
    with pytest.raises(ValueError, match="with NaN"):
        evaluation.clustering([0.0, np.nan, 1.0], [0, 0, 1])


def test_masked_people_are_refused():
    masked = np.ma.array(np.repeat(range(4), 2), mask=np.arange(8) < 2)
    for draw in (splits.split_subjects, splits.random_enrollments):
        with pytest.raises(TypeError, match="2 of 8 masked"):
            draw(masked)


@pytest.mark.parametrize("count", [1.0, 1.5, True, "1", None])
def test_a_count_that_is_not_a_whole_number_is_refused(count):
    calls = [
        lambda: evaluation.verification(SCORES, GENUINE, bootstrap=count),
        lambda: evaluation.accept_rates(SCORES, GENUINE, 0.5, bootstrap=count),
        lambda: evaluation.eer_difference(SCORES, SCORES, GENUINE, bootstrap=count),
        lambda: evaluation.tar_difference(SCORES, SCORES, GENUINE, 0.5, bootstrap=count),
        lambda: evaluation.eer_comparison({"a": [SCORES]}, GENUINE, bootstrap=count),
        lambda: splits.random_enrollments(CLASSES, observed=count),
        lambda: splits.random_enrollments(CLASSES, observed=1, repetitions=count),
        lambda: evaluation.retrieval(POINTS, CLASSES, k=(count,)),
        lambda: evaluation.nearest_entries(POINTS, k=count),
        lambda: few_shot(POINTS, CLASSES, count),
        lambda: two_samples(POINTS, permutations=count),
    ]
    for call in calls:
        with pytest.raises(TypeError, match="must be an integer. Received: "):
            call()


SEEDED = {
    "verification": lambda s: evaluation.verification(SCORES, GENUINE, bootstrap=2, seed=s),
    "accept_rates": lambda s: evaluation.accept_rates(SCORES, GENUINE, 0.5, bootstrap=2, seed=s),
    "eer_difference": lambda s: evaluation.eer_difference(
        SCORES, SCORES[::-1], GENUINE, bootstrap=2, seed=s
    ),
    "tar_difference": lambda s: evaluation.tar_difference(
        SCORES, SCORES[::-1], GENUINE, 0.5, bootstrap=2, seed=s
    ),
    "eer_comparison": lambda s: evaluation.eer_comparison(
        {"a": [SCORES]}, GENUINE, bootstrap=2, seed=s
    ),
    "two_samples": lambda s: two_samples(POINTS, seed=s),
    "embedding_clustering": lambda s: evaluation.embedding_clustering(POINTS, CLASSES, seed=s),
    "split_subjects": lambda s: splits.split_subjects(CLASSES, seed=s),
    "random_enrollments": lambda s: splits.random_enrollments(CLASSES, observed=1, seed=s),
}


@pytest.mark.parametrize("seeded", SEEDED.values(), ids=SEEDED)
def test_an_invalid_seed_is_refused_by_name(seeded):
    for seed in (None, 0.5, "a", True):
        with pytest.raises(TypeError, match="`seed` must be an integer. Received: "):
            seeded(seed)
    with pytest.raises(ValueError, match="`seed` must be at least 0. Received: -1"):
        seeded(-1)
    seeded(np.int64(3))


@pytest.mark.parametrize("k", [1, None, "1"])
def test_a_single_rank_is_refused_with_a_hint(k):
    with pytest.raises(
        TypeError, match=r"`k` must be a tuple of ranks, such as \(1, 5\). Received"
    ):
        evaluation.retrieval(POINTS, CLASSES, k=k)


@pytest.mark.parametrize("value", [None, "0.5", [0.5], np.array([0.5]), True])
def test_a_rate_or_a_cost_that_is_not_a_number_is_refused_by_name(value):
    calls = {
        "prior": lambda: evaluation.detection_cost(SCORES, GENUINE, prior=value),
        "cost_miss": lambda: evaluation.bayes_threshold(cost_miss=value),
        "outliers": lambda: evaluation.novelty_by_one_class_svm(TABLE, TABLE, outliers=value),
        "far": lambda: evaluation.novelty_detection(SCORES, SCORES, far=value),
    }
    for name, call in calls.items():
        with pytest.raises((TypeError, ValueError), match=f"`{name}`.* must be "):
            call()


def test_a_one_class_svm_with_all_examples_outside_is_refused():
    """Tests a fraction of outliers at which the SVM classifies all examples as outliers, and
    scikit-learn fails."""
    with pytest.raises(ValueError, match="`outliers` must be above 0 and below 1. Received 1"):
        evaluation.novelty_by_one_class_svm(TABLE, TABLE, outliers=1)
