"""Tests the comparison of scorings: trials, nested choices, and covariances of cross-fitted
embeddings."""

import dataclasses

import numpy as np
import pytest

from keras_dml import distances, evaluation
from keras_dml.training import People, folds
from keras_dml.training.trials import Trials
from tests import memory
from zoo import across_films, scoring, voices, watch
from zoo import scoring_folds as embeddings

PEOPLE, RECORDINGS, FEATURES = 20, 7, 6
BETWEEN = np.array([2.0, 2.0, 1.5, 0.05, 0.05, 0.05])  # standard deviations of people
WITHIN = np.array([0.7, 0.7, 0.7, 6.0, 6.0, 6.0])  # standard deviations of recordings


def population(seed, people=PEOPLE, name="p"):
    """Draws embeddings in which half of the features contain only noise."""
    rng = np.random.default_rng(seed)
    collected = People([], [], [])
    for person in range(people):
        center = BETWEEN * rng.normal(size=FEATURES)
        signals = list(center + WITHIN * rng.normal(size=(RECORDINGS, FEATURES)))
        names, sessions = [f"{name}{person:02}"] * RECORDINGS, list(range(RECORDINGS))
        collected += People(signals, names, sessions)
    return collected


def synthetic_fold(seed=0, **options):
    """Returns a fold of synthetic embeddings with two inner folds."""
    test, train = population(seed, name=f"{seed} "), population(seed + 1, name="train ")
    shared = {"distance": distances.Cosine(), "parts": embeddings.of_films, **options}
    groups = folds(train.subjects, 2)
    inner = [embeddings.Fold(train.select(g), train.without(g), **shared) for g in groups]
    return embeddings.Fold(test, train, inner=inner, **shared)


@pytest.fixture(autouse=True)
def few_replicates(monkeypatch):
    monkeypatch.setattr(scoring, "BOOTSTRAP", 50)


def cosine_distances(people):
    unit = np.stack([signal / np.linalg.norm(signal) for signal in people.signals])
    return 1 - unit @ unit.T


@pytest.mark.parametrize(
    "parts, reference",
    [
        (embeddings.of_films, across_films.trials_of),
        (embeddings.of_runs, watch.claims),
    ],
)
def test_the_trials_are_those_of_the_card(parts, reference):
    people = dataclasses.replace(population(3, people=5), sessions=list(range(RECORDINGS)) * 5)
    people = people + population(4, people=1, name="more")
    fold = embeddings.Fold(people, people, distances.Cosine(), parts)
    unit = np.median(cosine_distances(people)[np.not_equal.outer(people.subjects, people.subjects)])
    trials = scoring.trials_of(
        dataclasses.replace(fold, unit_sample=None), scoring.Candidate("nearest")
    )
    expected = reference(cosine_distances(people) / unit, people)
    assert len(trials.scores) == len(expected.scores)
    order = [np.lexsort((t.scores, t.claims, t.probes)) for t in (trials, expected)]
    np.testing.assert_allclose(
        trials.scores[order[0]], expected.scores[order[1]], rtol=0, atol=1e-5
    )


def test_pairs_of_recordings_are_those_of_the_voices():
    people = dataclasses.replace(population(5, people=4), signals=population(5, people=4).signals)
    people.subjects = [
        {"p00": "01", "p01": "02", "p02": "h1", "p03": "h2"}[x] for x in people.subjects
    ]
    fold = embeddings.Fold(people, people, distances.Cosine(), embeddings.of_pairs)
    trials = scoring.trials_of(fold, scoring.Candidate("nearest"))
    *_, genuine, _ = voices.trials(people, (sorted(set(people.subjects)),))
    assert len(trials.scores) == 2 * len(genuine)
    assert trials.genuine.sum() == 2 * genuine.sum()
    assert set(trials.enrolled) == {1}


def test_the_rates_of_a_choice_are_those_of_the_card_and_few_imposters_are_enough():
    rng = np.random.default_rng(0)
    names = np.repeat([f"p{i}" for i in range(12)], 12)
    trials = Trials(
        scores=rng.normal(size=144) + 2 * (names != np.tile(names[::12], 12)),
        probes=names,
        claims=np.tile(names[::12], 12),
        recordings=np.arange(144),
        enrolled=np.ones(144, int),
    )
    result = evaluation.verification(trials.scores, trials.genuine)
    assert scoring.rates(trials) == (result.tar_at_far[scoring.FAR].tar, result.eer)
    rows = trials.genuine | (np.arange(144) < 40)
    few = dataclasses.replace(
        trials, **{name: getattr(trials, name)[rows] for name in ("scores", "probes", "claims")}
    )
    strictest = few.scores[~few.genuine].min()
    assert scoring.rates(few)[0] == np.mean(few.scores[few.genuine] < strictest)


def test_two_covariance_is_chosen_if_features_are_noise_and_the_figures_are_those_of_its_trials():
    sample = [synthetic_fold(), synthetic_fold(10)]
    rows = {row["scoring"]: row for row in scoring.compare(sample)}
    assert list(rows) == ["nearest", "mean", "two_covariance"]
    assert rows["two_covariance"]["folds"] == "2 of 2" and rows["nearest"]["folds"] == "0 of 2"
    assert rows["two_covariance"]["tar_difference_ci95"][0] > 0
    assert rows["nearest"]["tar_difference"] == 0
    assert rows["two_covariance"]["tar_difference"] == pytest.approx(
        rows["two_covariance"]["tar"] - rows["nearest"]["tar"]
    )
    assert rows["mean"]["people"] == 2 * PEOPLE


def test_the_choice_does_not_depend_on_the_tested_people():
    fold = synthetic_fold()
    settings = []
    for test in (fold.test, population(99, name="more ")):
        changed = dataclasses.replace(fold, test=test)
        settings.append([row["settings"] for row in scoring.compare([changed])])
    assert settings[0] == settings[1]


def test_cross_fitted_embeddings_are_in_the_coordinates_of_the_outer_fold():
    """Tests inner folds whose embeddings are linear maps of the outer embeddings. The map back is
    then exact."""
    fold = synthetic_fold(limit=2.0)
    rng = np.random.default_rng(0)
    for inner in fold.inner:
        matrix, bias = rng.normal(size=(FEATURES, FEATURES)), rng.normal(size=FEATURES)
        for part in ("test", "train"):
            people = getattr(inner, part)
            moved = [signal @ matrix + bias for signal in people.signals]
            setattr(inner, part, dataclasses.replace(people, signals=moved))
    crossed = scoring.cross_fitted(fold)
    np.testing.assert_allclose(crossed.train.signals, fold.train.signals, rtol=0, atol=1e-9)


def test_folds_that_disagree_are_converted_to_log_likelihood_ratios(monkeypatch):
    winners = iter(["mean", "two_covariance"])
    monkeypatch.setattr(scoring, "_winner", lambda _: next(winners))
    rows = scoring.compare([synthetic_fold(), synthetic_fold(10)])
    assert rows[-1]["scoring"] == "chosen"
    assert rows[-1]["eer"] < rows[0]["eer"]


def test_the_table_marks_differences_whose_interval_excludes_0():
    rates = {"eer": 0.08, "eer_ci95": [0.05, 0.13], "tar": 0.5, "tar_ci95": [0.2, 0.7]}
    no_difference = {"eer_difference": -0.01, "eer_difference_ci95": [-0.03, 0.01]}
    gain = {"tar_difference": 0.1, "tar_difference_ci95": [0.05, 0.2]}
    row = {"scoring": "mean", "settings": "", "folds": "1 of 1", "people": 9}
    results = {"eye_lda": [row | rates | no_difference | gain]}
    text = scoring.text(results)
    assert "| -1.0 [-3.0 to +1.0] | **+10.0 [+5.0 to +20.0]** |" in text
    assert "Not measured yet: `gait_lda`" in text
    assert "Not measured" not in scoring.text(dict.fromkeys(embeddings.FOLDS, results["eye_lda"]))


@pytest.mark.slow
def test_the_rows_of_the_page_are_those_of_the_files(data_dir):
    rows = memory.in_new_process(measured_rows, "eye_lda")
    text = scoring.PAGE.read_text(encoding="utf-8")
    lines = [line.split(" | ") for line in text.splitlines() if "[`eye_lda`]" in line]
    assert len(lines) == len(rows) == 4
    for row, (_, people, name, _, _, eer, tar, *_) in zip(rows, lines, strict=True):
        assert (row["scoring"], str(row["people"])) == (name, people)
        rates = [float(cell.split(" %")[0]) for cell in (eer, tar)]
        assert rates == pytest.approx([100 * row["eer"], 100 * row["tar"]], abs=0.1)


def measured_rows(name):
    return scoring.compare(embeddings.FOLDS[name]())
