"""Tests `verification`, which computes AUC, equal error rate (EER), true accept rates (TAR at FAR),
and the ROC and DET curves."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import det_curve, roc_auc_score

from keras_dml.evaluation import verification
from keras_dml.evaluation._robustness import Robustness
from tests.evaluation import oracles
from tests.goldens import golden

# random scores may be larger for genuine trials, which causes a warning of `verification`
MAY_BE_REVERSED = pytest.mark.filterwarnings("ignore:`scores` may be similarities:UserWarning")
SCORES = st.lists(st.integers(-6, 6).map(float), min_size=1, max_size=12)


def trials(genuine, imposter):
    scores = np.array([*genuine, *imposter])
    return scores, np.arange(scores.size) < len(genuine)


@pytest.fixture
def people_scores():
    """Draws the scores of 30 probes compared with 30 claimed people, and the ids of the people."""
    rng = np.random.default_rng(5)
    scores = rng.normal(2.0, 0.7, (30, 30)) - 1.5 * np.eye(30)
    ids = np.array([f"person-{i:02d}" for i in range(30)])
    return scores, ids[:, None] == ids, (ids[:, None], ids)


@pytest.mark.parametrize("name", ["scores_toy", "scores_separated"])
def test_goldens(name):
    example = golden(name)
    found = verification(*trials(**example["inputs"]))
    assert found.auc == pytest.approx(example["expected"]["auc"], abs=example["tolerance"])
    assert found.eer == pytest.approx(example["expected"]["eer"], abs=example["tolerance"])


@MAY_BE_REVERSED
@given(SCORES, SCORES)
def test_auc_is_the_fraction_of_correctly_ordered_pairs(genuine, imposter):
    found = verification(*trials(genuine, imposter))
    assert found.auc == pytest.approx(oracles.auc(genuine, imposter), abs=1e-12)


@MAY_BE_REVERSED
@given(SCORES, SCORES)
def test_an_increasing_map_of_the_scores_changes_no_rate(genuine, imposter):
    scores, labels = trials(genuine, imposter)
    plain, mapped = verification(scores, labels), verification(scores**3 + scores, labels)
    assert mapped.auc == pytest.approx(plain.auc, abs=1e-12)
    assert mapped.eer == pytest.approx(plain.eer, abs=1e-12)
    np.testing.assert_array_equal(mapped.roc.far, plain.roc.far)
    np.testing.assert_array_equal(mapped.roc.tar, plain.roc.tar)


@MAY_BE_REVERSED
@given(SCORES, SCORES)
def test_points_of_the_curve_are_the_rates_at_their_thresholds(genuine, imposter):
    far, tar, thresholds = verification(*trials(genuine, imposter)).roc
    assert (far[0], tar[0], thresholds[0]) == (0.0, 0.0, -np.inf)
    assert (far[-1], tar[-1]) == (1.0, 1.0)
    counted = np.array([oracles.rates(genuine, imposter, t) for t in thresholds])
    np.testing.assert_allclose(np.stack([far, 1 - tar], axis=1), counted, rtol=0, atol=1e-12)


def test_det_holds_the_points_of_scikit_learn():
    rng = np.random.default_rng(0)
    scores, genuine = trials(rng.normal(0, 1, 50), rng.normal(1, 1, 80))
    det = verification(scores, genuine).det
    far, frr, thresholds = det_curve(genuine, -scores)
    points = {(round(a, 9), round(b, 9)) for a, b in zip(det.far, det.frr, strict=True)}
    assert {(round(a, 9), round(b, 9)) for a, b in zip(far, frr, strict=True)} <= points
    assert det.thresholds.size == scores.size + 1


def test_score_matrices_are_accepted(people_scores):
    scores, genuine, _ = people_scores
    found = verification(scores, genuine)
    assert found.trials == (30, 870)
    assert found.auc == pytest.approx(roc_auc_score(genuine.ravel(), -scores.ravel()))


def test_a_similarity_enters_as_its_negative_number():
    cosine, genuine = trials([0.9, 0.8], [0.1, 0.2])
    assert verification(-cosine, genuine).auc == 1.0


def test_similarities_passed_as_distances_give_a_warning_with_what_to_do():
    cosine, genuine = trials([0.9, 0.8], [0.1, 0.2])
    with pytest.warns(UserWarning, match=r"AUC 0\.000.*Expected distances.*`-scores`") as warned:
        assert verification(cosine, genuine).auc == 0.0
    assert warned[0].filename == __file__


@pytest.mark.parametrize("seed", range(3))
def test_scores_without_information_give_no_warning(seed):
    rng = np.random.default_rng(seed)
    verification(rng.normal(size=200), np.arange(200) < 40)


def test_it_prints_figures_with_their_counts(people_scores):
    scores, genuine, people = people_scores
    text = str(verification(scores, genuine, people=people, bootstrap=50))
    assert text.startswith("EER ") and "(30 genuine, 870 imposter trials)" in text
    assert "[" in text.splitlines()[0] and "TAR" in text.splitlines()[1]
    assert "person-" not in repr(verification(scores, genuine, people=people))


def test_results_cannot_be_changed():
    found = verification([0.1, 0.2], [True, False])
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.eer = 0.0


def test_people_that_contradict_the_labels_are_refused(people_scores):
    scores, genuine, (probe, claimed) = people_scores
    with pytest.raises(ValueError, match="contradict each other in 60 of 900 trials"):
        verification(scores, genuine, people=(probe, np.roll(claimed, 1)))


def test_people_of_a_wrong_shape_are_refused(people_scores):
    scores, genuine, (probe, _) = people_scores
    with pytest.raises(ValueError, match=r"broadcast to the shape of `scores`, \(30, 30\)"):
        verification(scores, genuine, people=(probe, np.arange(7)))


def test_people_must_be_a_pair(people_scores):
    scores, genuine, (probe, _) = people_scores
    with pytest.raises(ValueError, match="pair"):
        verification(scores, genuine, people=(probe,))


def test_a_negative_number_of_replicates_is_refused():
    with pytest.raises(ValueError, match="`bootstrap`.*-1"):
        verification([0.1, 0.2], [True, False], bootstrap=-1)


EERS = (
    "perfect-separation",
    "reversed",
    "all-tied",
    "exact-vertex",
    "ties-between-kinds",
    "unequal-counts",
    "one-of-each",
    "gaussians",
)


@MAY_BE_REVERSED
@pytest.mark.parametrize("name", EERS)
def test_similarities_have_the_golden_rates_with_the_kinds_exchanged(name):
    """Tests similarities that are accepted if s > t (Monteiro2020). The library accepts small
    scores, so the test exchanges genuine and imposter trials, and also FAR and FRR.
    """
    example = golden(f"eer-{name}", "seeds_p2")
    expected = example["expected"]
    scores, genuine = (np.array(example["inputs"][key]) for key in ("scores", "genuine"))
    found = verification(scores, ~genuine.astype(bool))
    assert found.eer == pytest.approx(expected["eer"], rel=1e-9, abs=1e-12)
    assert found.eer_threshold == pytest.approx(expected["threshold"], rel=1e-9)
    frr, far = found.errors_at(found.eer_threshold)
    assert far == pytest.approx(expected["far_at_threshold"], rel=1e-9, abs=1e-12)
    assert frr == pytest.approx(expected["frr_at_threshold"], rel=1e-9, abs=1e-12)
    if "vertices_threshold_far_frr" in expected:
        vertices = np.array(expected["vertices_threshold_far_frr"])
        curve = np.column_stack([found.det.thresholds, found.det.frr, found.det.far])
        np.testing.assert_allclose(curve, vertices, rtol=1e-9, atol=1e-12)


@MAY_BE_REVERSED
@given(st.lists(st.integers(-4, 4), min_size=2, max_size=9), st.integers(1, 8), st.integers(-5, 5))
def test_errors_at_a_threshold_are_counted(scores, cut, threshold):
    genuine = np.arange(len(scores)) < min(cut, len(scores) - 1)
    scores = np.array(scores, float)
    found = verification(scores, genuine).errors_at(threshold)
    assert found == pytest.approx(oracles.rates(scores[genuine], scores[~genuine], threshold))


def test_the_representation_of_a_result_contains_no_trials(rng):
    result = verification(rng.normal(size=50), np.arange(50) % 2 == 0)
    assert f"eer={result.eer!r}" in repr(result) and "array" not in repr(result)
    robust = Robustness(None, 0.5, (0.4, 0.6), {}, 0.2, (0.1, 0.3), np.ones(9), np.zeros(9))
    assert "worst_case=0.2" in repr(robust) and "array" not in repr(robust)


@pytest.mark.parametrize("people", [3, (["a", "b"],), (["a", "b"], ["a", "c"], ["b", "c"])])
def test_people_that_are_not_a_pair_are_refused(people):
    with pytest.raises(ValueError, match=r"`people` must be the pair .*(3|1 entries|3 entries)\.$"):
        verification([0.1, 0.2], [True, False], people=people)
