"""Tests novelty scores, which tell how likely an example belongs to a new class, and the metrics of
novelty detection."""

import math

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from keras_dml.evaluation import novelty, novelty_by_one_class_svm, novelty_detection
from keras_dml.evaluation._few_shot import nearest_prototypes
from tests.goldens import golden


def test_golden_classify_and_novelty():
    example = golden("classify-and-novelty", "seeds_p2")
    matrix, expected = np.array(example["inputs"]["similarities"]), example["expected"]
    predicted = nearest_prototypes(matrix, np.eye(3), lambda x, y: x @ y.T, None)
    assert predicted.tolist() == expected["predicted"]
    for kind in ("max", "energy"):
        np.testing.assert_allclose(novelty(matrix, kind), expected[f"novelty_{kind}"], rtol=1e-9)
    shares = np.exp(matrix) / np.exp(matrix).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(1 - shares.max(axis=1), expected["novelty_probability"], rtol=1e-9)
    assert novelty(matrix).argmax() == (1 - shares.max(axis=1)).argmin() == 1


def test_energy_lies_below_the_maximum_by_at_most_the_log_of_the_classes(rng):
    matrix = 1e3 * rng.normal(size=(50, 8))
    gap = novelty(matrix) - novelty(matrix, "energy")
    assert ((gap >= 0) & (gap <= math.log(8) + 1e-9)).all()
    np.testing.assert_allclose(novelty(matrix + 7, "energy"), novelty(matrix, "energy") - 7)


def test_auroc_is_that_of_scikit_learn_and_frr_is_counted(rng):
    known, new = rng.normal(size=300), rng.normal(size=200) + 1.5
    found = novelty_detection(known, new)
    is_new = np.arange(500) >= 300
    assert found.auroc == pytest.approx(roc_auc_score(is_new, np.concatenate([known, new])))
    threshold = np.sort(new)[9]  # ten of 200 new examples, or 5 %, are at or below the threshold
    below = np.max(np.concatenate([known, new])[np.concatenate([known, new]) < np.sort(new)[10]])
    assert found.frr_at_far == pytest.approx(np.mean(known > below))
    assert found.at_far.threshold >= threshold


def test_separated_examples_give_the_best_figures_and_reversed_ones_the_worst():
    known, new = np.arange(-30.0, 0), np.arange(30.0)
    best, worst = novelty_detection(known, new), novelty_detection(new, known)
    assert (best.auroc, best.frr_at_far) == (1.0, 0.0)
    assert (worst.auroc, worst.frr_at_far) == (0.0, 1.0)


def test_too_few_new_examples_give_no_rate():
    found = novelty_detection([0.0, 1.0], np.arange(19.0))
    assert math.isnan(found.frr_at_far)
    assert "not measurable" in str(found) and "AUROC" in str(found)


def test_it_prints_the_figures_with_their_counts():
    found = novelty_detection(np.arange(-30.0, 0), np.arange(40.0))
    assert str(found) == ("novelty AUROC 1.0000, FRR 0.0 % at FAR 5 % (30 known, 40 new examples)")


def test_a_one_class_svm_detects_too_low_and_too_high_similarities(rng):
    """Tests new examples that are similar to all prototypes. Their largest similarity is high, so
    it does not show that these examples are new.
    """
    known = 4.0 * np.eye(3)[rng.integers(0, 3, 150)] + 0.3 * rng.normal(size=(150, 3))
    scored = 4.0 * np.eye(3)[rng.integers(0, 3, 60)] + 0.3 * rng.normal(size=(60, 3))
    strange = np.concatenate([rng.normal(size=(20, 3)) - 4, 4 + 0.3 * rng.normal(size=(20, 3))])
    scores = novelty_by_one_class_svm(known, np.concatenate([scored, strange]))
    assert scores.shape == (100,)
    assert novelty_detection(scores[:60], scores[60:]).auroc > 0.99
    assert novelty_detection(novelty(scored), novelty(strange)).auroc < 0.9
    assert np.mean(novelty_by_one_class_svm(known, known, outliers=0.2) > 0) <= 0.22


TABLE = np.ones((4, 3))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: novelty([1.0, 2.0]), r"shape \(examples, classes\).*\(2,\)"),
        (lambda: novelty(np.empty((3, 0))), "at least one example and one class"),
        (lambda: novelty([[np.nan, 1.0]]), "`similarities` must be finite"),
        (lambda: novelty(TABLE, "probability"), "must be one of .*'energy'.*'probability'"),
        (lambda: novelty_detection([], [1.0]), "0 genuine and 1 imposter"),
        (lambda: novelty_detection([1.0], []), "1 genuine and 0 imposter"),
        (lambda: novelty_detection([np.nan], [1.0]), "must be finite"),
        (lambda: novelty_detection([0.0], [1.0], far=0.0), "`far`.* a fraction"),
        (lambda: novelty_by_one_class_svm(TABLE, TABLE[:, :2]), r"\(4, 3\).*\(4, 2\)"),
        (lambda: novelty_by_one_class_svm(TABLE, TABLE, outliers=0), "`outliers` must be a posi"),
        (lambda: novelty_by_one_class_svm(TABLE * np.inf, TABLE), "`known` must be finite"),
    ],
)
def test_invalid_similarities_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
