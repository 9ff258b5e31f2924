"""Tests the scorings, which combine several enrolled and several observed recordings."""

import subprocess
import sys

import numpy as np
import pytest

from keras_dml import distances, scoring
from keras_dml.geometry import two_covariance
from keras_dml.zoo import schema

COUNTS, SETS = [3, 1, 4], [2, 1]
STARTS, SET_STARTS = [0, 3, 4, 8], [0, 2, 3]
VARIANCES = np.array([2.0, 0.5, 10.0])


class Compared:
    """Compares embeddings by a distance, as a model does."""

    def __init__(self, distance):
        self._distance = distances.get(distance)
        self.distance_name, self.has_mean = self._distance.name, self._distance.has_mean
        self.mean_points = self._distance.mean_points
        self.from_mean_point = self._distance.from_mean_point

    def distances(self, x, y):
        return np.asarray(self._distance(x, y))


@pytest.fixture
def vectors(rng):
    return rng.normal(size=(8, 3)).astype("float32"), rng.normal(size=(3, 3)).astype("float32")


def with_variances(vectors):
    return np.stack([vectors, np.broadcast_to(VARIANCES, vectors.shape)], 1).astype("float32")


def table(name, model, probes, enrolled):
    """Computes the scores of two sets of recordings against three people."""
    rule = scoring.get(name)
    summaries = rule.summary(model, probes, SETS), rule.summary(model, enrolled, COUNTS)
    return rule.compare(model, *summaries)


def each(function):
    """Returns `function(rows of the set, rows of the person)` for all sets and people."""
    sets = [slice(*pair) for pair in zip(SET_STARTS, SET_STARTS[1:], strict=False)]
    people = [slice(*pair) for pair in zip(STARTS, STARTS[1:], strict=False)]
    return np.array([[function(rows, person) for person in people] for rows in sets])


def test_nearest_averages_the_smallest_distance_of_each_recording(vectors):
    enrolled, probes = vectors
    lengths = np.linalg.norm(probes[:, None] - enrolled[None], axis=2)
    expected = each(lambda rows, person: lengths[rows, person].min(axis=1).mean())
    actual = table("nearest", Compared("euclidean"), probes, enrolled)
    np.testing.assert_allclose(actual, expected, rtol=1e-5)


def test_mean_compares_the_means_of_both_sides(vectors):
    enrolled, probes = vectors
    expected = each(lambda a, b: np.linalg.norm(probes[a].mean(axis=0) - enrolled[b].mean(axis=0)))
    actual = table("mean", Compared("euclidean"), probes, enrolled)
    np.testing.assert_allclose(actual, expected, rtol=1e-5)


def test_mean_of_directions_ignores_lengths(vectors):
    enrolled, probes = vectors
    model = Compared("cosine")
    longer = np.arange(1, 9, dtype="float32")[:, None] * enrolled
    actual = table("mean", model, probes, longer)
    np.testing.assert_allclose(actual, table("mean", model, probes, enrolled), rtol=0, atol=1e-6)

    def cosine(a, b):
        x, y = (z / np.linalg.norm(z, axis=1, keepdims=True) for z in (probes[a], enrolled[b]))
        x, y = x.mean(axis=0), y.mean(axis=0)
        return -x @ y / np.linalg.norm(x) / np.linalg.norm(y)

    np.testing.assert_allclose(actual, each(cosine), rtol=0, atol=1e-6)


def test_mean_of_matrices_is_the_log_euclidean_mean(rng):
    factors = rng.normal(size=(11, 2, 6))
    matrices = (factors @ factors.swapaxes(1, 2)).astype("float32")
    model = Compared("log_euclidean")
    actual = table("mean", model, matrices[8:], matrices[:8])
    logs = model.mean_points(matrices)
    expected = each(
        lambda a, b: np.linalg.norm(logs[8:][a].mean(axis=0) - logs[:8][b].mean(axis=0))
    )
    np.testing.assert_allclose(actual, expected, rtol=1e-3)


def test_two_covariance_counts_the_recordings(vectors):
    enrolled, probes = vectors

    def expected(a, b):
        return -two_covariance.log_likelihood_ratio(
            probes[a].astype(float).mean(axis=0),
            enrolled[b].astype(float).mean(axis=0),
            VARIANCES,
            len(probes[a]),
            len(enrolled[b]),
        )

    model = Compared("two_covariance")
    actual = table("two_covariance", model, with_variances(probes), with_variances(enrolled))
    np.testing.assert_allclose(actual, each(expected), rtol=1e-5, atol=1e-6)


def test_two_covariance_of_single_recordings_is_the_distance(vectors):
    enrolled, probes = map(with_variances, vectors)
    model, rule = Compared("two_covariance"), scoring.get("two_covariance")
    singles = [rule.summary(model, z, [1] * len(z)) for z in (probes, enrolled)]
    expected = model.distances(probes, enrolled)
    np.testing.assert_allclose(rule.compare(model, *singles), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", scoring.SCORINGS)
def test_scores_of_one_claim_are_a_row_of_the_table(vectors, name):
    enrolled, probes = map(with_variances, vectors)
    model, rule = Compared("two_covariance"), scoring.get(name)
    expected = table(name, model, probes, enrolled)
    actual = rule.scores(model, probes[:2], enrolled, np.array(COUNTS))
    np.testing.assert_allclose(actual, expected[0], rtol=1e-12)


@pytest.mark.parametrize(
    ("name", "distance"),
    [("mean", "affine_invariant"), ("mean", "wasserstein"), ("two_covariance", "cosine")],
)
def test_a_scoring_refuses_distances_that_it_cannot_use(name, distance):
    with pytest.raises(ValueError, match=f"{name!r} needs .*{distance!r}"):
        scoring.get(name).check(Compared(distance))


@pytest.mark.parametrize(
    ("name", "distance"),
    [("nearest", "stein"), ("mean", "cosine"), ("mean", "two_covariance")]
    + [("two_covariance", "two_covariance")],
)
def test_a_scoring_accepts_distances_that_it_can_use(name, distance):
    scoring.get(name).check(Compared(distance))


@pytest.mark.parametrize(("name", "near"), [("means", "'mean'"), ("two_covarianc", "two_cov")])
def test_an_unknown_scoring_gets_the_nearest_name(name, near):
    with pytest.raises(ValueError, match=f"Unknown scoring '{name}'.*Did you mean .*{near}"):
        scoring.get(name)


def test_a_card_names_its_scoring():
    assert scoring.card_scoring({"scoring": {"name": "mean"}}) == "mean"
    assert scoring.card_scoring(None) == scoring.card_scoring({}) == "nearest"


def test_scores_need_no_keras():
    code = "import sys, keras_dml.scoring; assert not {'keras', 'tensorflow'} & set(sys.modules)"
    code += "\nimport numpy as np; from keras_dml.geometry import two_covariance as t"
    code += "\nt.log_likelihood_ratio(np.ones(2), np.ones(2), np.ones(2), 2.0, 3.0)"
    code += "\nassert not {'keras', 'tensorflow'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_cards_allow_the_names_of_all_scorings():
    assert set(schema.SCORINGS) == set(scoring.SCORINGS)
