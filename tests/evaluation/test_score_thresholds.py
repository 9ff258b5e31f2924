"""Tests of thresholds for the scores and embeddings of any recognition system."""

import numpy as np
import pytest

from keras_dml import evaluation
from keras_dml.evaluation import embedding_trials, thresholds_of

PEOPLE, EACH = 24, 4


@pytest.fixture(scope="module")
def trials():
    """Cosine distances between all pairs of noisy vectors, two vectors of each group apart."""
    rng = np.random.default_rng(3)
    people = np.repeat([f"p{i:02d}" for i in range(PEOPLE)], EACH)
    vectors = np.repeat(rng.normal(size=(PEOPLE, 12)), EACH, axis=0)
    vectors = vectors + 0.8 * rng.normal(size=vectors.shape)
    groups = np.repeat(np.arange(PEOPLE) % 3 == 0, EACH).astype(str)
    return embedding_trials(vectors, people, groups)


@pytest.fixture(scope="module")
def report(trials):
    return thresholds_of(*trials, fars=[0.05, 0.1, 0.001], check=[0.25])


def test_trials_are_all_pairs_of_embeddings():
    vectors = np.array([[3.0, 0], [0, 4], [3, 4], [1, 0]])
    trials = embedding_trials(
        vectors, ["a", "a", "b", "b"], ["x", "x", "y", "y"], metric="euclidean"
    )
    expected, pairs, groups = [], [], []
    for i in range(4):
        for j in range(i + 1, 4):
            expected.append(float(np.sqrt(np.square(vectors[i] - vectors[j]).sum())))
            pairs.append(("aabb"[i], "aabb"[j]))
            groups.append("xxyy"[i] if "xxyy"[i] == "xxyy"[j] else "")
    np.testing.assert_allclose(trials.scores, expected)
    assert list(zip(*(each.tolist() for each in trials.people), strict=True)) == pairs
    assert trials.groups.tolist() == groups


def test_thresholds_agree_with_certificates(trials, report):
    genuine = trials.people[0] == trials.people[1]
    pairs = tuple(each[~genuine] for each in trials.people)
    assert [row.wanted_far for row in report.thresholds] == [0.1, 0.05]
    for row in report.thresholds:
        expected = evaluation.certificate(trials.scores[~genuine], pairs, row.wanted_far)
        assert (row.threshold, row.far_ci95) == (expected.threshold, expected.ci95)
        assert row.tar == (trials.scores[genuine] <= row.threshold).mean()
    (unsupported,) = report.unsupported
    with pytest.raises(ValueError, match="0.1 % is beyond"):
        evaluation.certificate(trials.scores[~genuine], pairs, 0.001)
    loose = evaluation.false_accepts(trials.scores[~genuine], pairs, report.thresholds[1].threshold)
    assert unsupported.wanted_far == 0.001 < unsupported.strictest
    assert unsupported.people_needed[1] == loose.people_needed(0.001)[1] == 6000


def test_a_copied_threshold_is_measured(trials, report):
    genuine = trials.people[0] == trials.people[1]
    (row,) = report.checks
    assert row.wanted_far is None and row.threshold == 0.25
    assert row.tar == (trials.scores[genuine] <= 0.25).mean()
    pairs = tuple(each[~genuine] for each in trials.people)
    expected = evaluation.false_accepts(trials.scores[~genuine], pairs, 0.25)
    assert (row.far, row.far_ci95) == (expected.rate, expected.ci95)


def test_each_group_has_its_own_rates(trials, report):
    genuine = trials.people[0] == trials.people[1]
    row = report.thresholds[0]
    assert [group.group for group in row.groups] == ["False", "True"]
    for group in row.groups:
        inside = trials.groups == group.group
        accepted = trials.scores <= row.threshold
        # each pair of people has as many trials, so that means over pairs and trials agree
        assert group.far == pytest.approx(accepted[inside & ~genuine].mean())
        assert group.tar == accepted[inside & genuine].mean()
    assert {group.people for group in row.groups} == {PEOPLE // 3, 2 * PEOPLE // 3}
    assert row.worst_far.far == max(group.far for group in row.groups)
    assert row.worst_tar.tar == min(group.tar for group in row.groups)


def test_similarities_have_mirrored_thresholds(trials, report):
    mirrored = thresholds_of(
        -trials.scores,
        trials.people,
        trials.groups,
        fars=[0.1, 0.05, 0.001],
        check=[-0.25],
        higher_is_closer=True,
    )
    assert mirrored.higher_is_closer and mirrored.eer_threshold == -report.eer_threshold
    limits = [-row.threshold for row in mirrored.thresholds]
    assert limits == [row.threshold for row in report.thresholds]
    assert [row.far for row in mirrored.checks] == [row.far for row in report.checks]


def test_the_order_of_the_two_people_does_not_matter(trials, report):
    swapped = thresholds_of(
        trials.scores, trials.people[::-1], trials.groups, fars=[0.05, 0.1, 0.001], check=[0.25]
    )
    assert swapped == report


def test_trials_in_both_orders_count_once(trials, report):
    first, second = trials.people
    twice = thresholds_of(
        np.tile(trials.scores, 2),
        (np.r_[first, second], np.r_[second, first]),
        np.tile(trials.groups, 2),
        fars=[0.05, 0.1, 0.001],
        check=[0.25],
    )
    (note,) = twice.notes
    assert "occurs twice" in note
    assert (twice.genuine, twice.imposter) == (report.genuine, report.imposter)
    assert twice.thresholds == report.thresholds and not report.notes


def test_trials_repeated_in_the_same_order_count_once(trials, report):
    twice = thresholds_of(
        np.repeat(trials.scores, 2),
        tuple(np.repeat(each, 2) for each in trials.people),
        np.repeat(trials.groups, 2),
        fars=[0.05, 0.1, 0.001],
        check=[0.25],
    )
    (note,) = twice.notes
    assert "same order" in note
    assert twice.thresholds == report.thresholds and twice.imposter == report.imposter


def test_ties_are_not_taken_for_repeated_trials():
    pairs = [(a, b) for a in "abcde" for b in "abcde" for _ in range(2)]
    genuine = np.array([a == b for a, b in pairs])
    report = thresholds_of(np.where(genuine, 0.0, 1.0), tuple(zip(*pairs, strict=True)))
    assert (report.genuine, report.imposter) == (10, 40)
    assert not any("twice" in note for note in report.notes)


def test_the_order_of_the_rows_does_not_matter(trials, report):
    rows = np.random.default_rng(0).permutation(trials.scores.size)
    shuffled = thresholds_of(
        trials.scores[rows],
        tuple(each[rows] for each in trials.people),
        trials.groups[rows],
        fars=[0.05, 0.1, 0.001],
        check=[0.25],
    )
    assert shuffled == report


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("offset, scale", [(0, 1), (1, 1e-7), (1e5, 1), (-3, 1e-3)])
def test_printed_thresholds_accept_the_same_trials(trials, sign, offset, scale):
    scores = sign * (offset + scale * trials.scores)
    report = thresholds_of(scores, trials.people, higher_is_closer=sign < 0)
    assert report.thresholds
    printed = [(row.threshold, row.printed) for row in report.thresholds]
    for exact, text in [*printed, (report.eer_threshold, report.printed_eer_threshold)]:
        np.testing.assert_array_equal(
            sign * scores <= sign * float(text), sign * scores <= sign * exact
        )


def test_thresholds_to_check_are_printed_as_given(trials):
    report = thresholds_of(*trials, check=[-0.0, 0.123456, 3])
    assert [row.printed for row in report.checks] == ["0", "0.123456", "3"]


def test_ties_that_lower_the_measured_rate_are_noted(trials):
    report = thresholds_of(np.ceil(trials.scores * 4) / 4, trials.people, fars=0.1, check=0.25)
    (row,) = report.thresholds
    assert row.far < 0.05
    (note,) = [note for note in report.notes if "next score" in note]
    assert row.printed in note


def test_rates_below_the_ties_of_the_best_score_are_noted(trials):
    scores = np.maximum(trials.scores, 0.5)
    report = thresholds_of(scores, trials.people, fars=0.001)
    assert report.unsupported and any("More people do not help" in note for note in report.notes)
    scores = trials.people[0] != trials.people[1]  # ties do not matter if the kinds are separated
    report = thresholds_of(scores.astype(float), trials.people, fars=0.001)
    assert not any("More people do not help" in note for note in report.notes)


def test_comparisons_with_oneself_are_noticed(trials):
    names = np.unique(trials.people[0])
    scores = np.r_[trials.scores, np.full(len(names), 1e-9)]
    people = tuple(np.r_[each, names] for each in trials.people)
    (note,) = thresholds_of(scores, people).notes
    assert "a recording with itself" in note


def test_cllr_is_measured_on_people_who_did_not_calibrate(report):
    assert 0 < report.min_cllr < report.cllr < 1


@pytest.mark.parametrize("seed", range(5))
def test_the_min_cllr_is_at_most_the_cllr(seed):
    rng = np.random.default_rng(seed)
    people = np.repeat(np.arange(8), 3)
    vectors = rng.normal(size=(8, 4))[people] + 0.8 * rng.normal(size=(24, 4))
    report = thresholds_of(*embedding_trials(vectors, people), seed=seed)
    assert report.cllr is None or report.min_cllr <= report.cllr


def test_scores_that_separate_all_trials_have_no_cllr():
    scores, people = [0.1, 0.1, 0.1, 0.9, 0.9, 0.9], (list("abcaab"), list("abcbcc"))
    report = thresholds_of(scores, people)
    assert (report.eer, report.min_cllr, report.cllr) == (0, 0, None)
    assert not report.thresholds and len(report.unsupported) == 3


def test_the_interval_of_the_eer_is_that_of_verification(trials, report):
    genuine = trials.people[0] == trials.people[1]
    expected = evaluation.verification(trials.scores, genuine, people=trials.people, bootstrap=1000)
    assert report.eer == expected.eer
    np.testing.assert_allclose(report.eer_ci95, expected.intervals["eer"], rtol=1e-9)


@pytest.mark.parametrize(
    "scores, people, options, words",
    [
        ([0.1, 0.2], (list("aa"), list("aa")), {}, "trials of one person"),
        ([0.1, 0.2], (list("ab"), list("ab")), {}, "compare a person with the same person"),
        ([0.1, 0.2], (list("ab"), list("ba")), {}, "None of the 2 trials"),
        ([], ([], []), {}, "empty"),
        ([0.1, np.nan], (list("ab"), list("ba")), {}, "finite"),
        ([0.1, 0.9], (list("ab"), list("aa")), {"fars": [1.5]}, "1.5"),
        ([0.1, 0.9], (list("ab"), list("aa")), {"check": [np.inf]}, "finite"),
        ([0.5, 0.5], (list("ab"), list("aa")), {}, "scores are equal"),
        ([0.9, 0.1], (list("ab"), list("aa")), {}, "smaller scores are closer|Set"),
        ([0.1, 0.9], (list("ab"), list("aa")), {"higher_is_closer": True}, "Remove"),
    ],
)
def test_trials_without_an_answer_are_refused(scores, people, options, words):
    with pytest.raises(ValueError, match=words):
        thresholds_of(scores, people, **options)


def test_embeddings_without_an_answer_are_refused():
    with pytest.raises(ValueError, match="shape"):
        embedding_trials(np.zeros((3, 2)), ["a", "b"])
    with pytest.raises(ValueError, match="the first in row 1"):
        embedding_trials([[1.0, 0], [0, 0]], ["a", "b"])
    with pytest.raises(ValueError, match="one group for each person"):
        embedding_trials([[1.0, 0], [0, 1]], ["a", "a"], ["x", "y"])
    with pytest.raises(ValueError, match="pairs"):
        embedding_trials(np.ones((8000, 1)), np.arange(8000))
    with pytest.raises(ValueError, match="101 different groups"):
        thresholds_of(np.arange(101.0), (np.arange(101), np.arange(101) % 5), np.arange(101))


def test_a_report_converts_to_json(report):
    import json

    values = json.loads(json.dumps(report.to_dict()))
    assert values["thresholds"][0]["groups"][0]["group"] == "False"
    assert values["unsupported"][0]["people_needed"][1] == 6000
    assert "verification" not in values
