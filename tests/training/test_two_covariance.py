"""Tests the estimates of the two-covariance model on simulated people."""

import numpy as np
import pytest

import keras_dml
from keras_dml._backend import keras
from keras_dml.training import two_covariance

FEATURES = 4


@pytest.fixture
def simulated(rng):
    """Returns vectors and names of 20,000 people with one to six recordings, and the mean and the
    covariances from which the vectors were drawn."""
    mean = rng.normal(size=FEATURES)
    between, within = (
        factor @ factor.T + np.eye(FEATURES) for factor in rng.normal(size=(2, FEATURES, FEATURES))
    )
    people = np.repeat(np.arange(20000), rng.integers(1, 7, 20000))
    offsets = rng.multivariate_normal(mean, between, 20000)
    vectors = offsets[people] + rng.multivariate_normal(np.zeros(FEATURES), within, len(people))
    return vectors, people, mean, between, within


def test_moments_of_unbalanced_people_are_recovered(simulated):
    vectors, people, mean, between, within = simulated
    actual = two_covariance.covariances(vectors, people)
    for estimate, expected in ((actual.between, between), (actual.within, within)):
        scale = np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
        assert np.abs((estimate - expected) / scale).max() < 0.12
    np.testing.assert_allclose(actual.mean, mean, rtol=0, atol=0.12)


def test_the_map_diagonalizes_both_covariances(simulated):
    vectors, people, mean, between, within = simulated
    kernel, bias, variances = two_covariance.two_covariance_weights(vectors, people, shrinkage=0)
    np.testing.assert_allclose(kernel.T @ within @ kernel, np.eye(FEATURES), rtol=0, atol=0.1)
    scale = np.sqrt(np.outer(variances, variances))
    diagonal = kernel.T @ between @ kernel / scale
    np.testing.assert_allclose(diagonal, np.eye(FEATURES), rtol=0, atol=0.15)
    assert (np.diff(variances) < 0).all()
    coordinates = vectors @ kernel + bias
    assert np.abs(coordinates.mean(axis=0) / np.sqrt(variances + 1)).max() < 0.1


def test_units_of_features_do_not_change_the_coordinates(simulated):
    vectors, people, *_ = simulated
    kernel, bias, variances = two_covariance.two_covariance_weights(vectors, people, units=3)
    scale = np.array([1e-3, 1.0, 1e3, 5.0])
    scaled = two_covariance.two_covariance_weights(scale * vectors, people, units=3)
    np.testing.assert_allclose(scaled[2], variances, rtol=1e-6)
    actual = np.abs(scale * vectors @ scaled[0] + scaled[1])
    np.testing.assert_allclose(actual, np.abs(vectors @ kernel + bias), rtol=1e-5, atol=1e-6)


def test_features_that_vary_by_rounding_have_no_weight(simulated):
    vectors, people, *_ = simulated
    vectors = np.c_[vectors, np.full(len(vectors), 7.0), 7.0 + people % 2]
    kernel, _, _ = two_covariance.two_covariance_weights(vectors, people)
    np.testing.assert_array_equal(kernel[FEATURES:], 0)
    assert (np.abs(kernel[:FEATURES]) > 0).all()


def test_fewer_recordings_than_features_need_shrinkage(rng):
    people = np.repeat(np.arange(6), 2)
    vectors = 3 * rng.normal(size=(6, 20))[people] + rng.normal(size=(12, 20))
    kernel, _, variances = two_covariance.two_covariance_weights(vectors, people)
    assert kernel.shape == (20, len(variances)) and 1 <= len(variances) < 6
    with pytest.raises(ValueError, match="singular. Received the shrinkage 0"):
        two_covariance.two_covariance_weights(vectors, people, shrinkage=0)


def test_people_who_do_not_differ_are_refused(rng):
    vectors = rng.normal(size=(40, 1))
    vectors[1::2] = -vectors[::2]  # all means are 0
    with pytest.raises(ValueError, match="differ no more"):
        two_covariance.two_covariance_weights(vectors, np.repeat(np.arange(20), 2))


def test_people_with_identical_recordings_are_refused(rng):
    vectors = np.repeat(rng.normal(size=(5, 3)), 2, axis=0)
    with pytest.raises(ValueError, match="recordings of each person are identical"):
        two_covariance.two_covariance_weights(vectors, np.repeat(np.arange(5), 2))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_vectors_must_be_finite(rng, value):
    vectors = rng.normal(size=(4, 2))
    vectors[2, 1] = value
    with pytest.raises(ValueError, match="`vectors`.*row 2"):
        two_covariance.two_covariance_weights(vectors, [0, 0, 1, 1])


@pytest.mark.parametrize(
    ("units", "error"), [(0, ValueError), (-1, ValueError), (2.0, TypeError), (True, TypeError)]
)
def test_units_are_a_whole_number_from_1(rng, units, error):
    with pytest.raises(error, match="`units`"):
        two_covariance.two_covariance_weights(rng.normal(size=(4, 2)), [0, 0, 1, 1], units)


def test_names_and_numbers_of_people_are_not_mixed(rng):
    with pytest.raises(TypeError, match="`people`"):
        two_covariance.two_covariance_weights(rng.normal(size=(4, 2)), ["1", "1", 1, 1])


@pytest.mark.parametrize("shrinkage", [-0.1, 1.1, float("nan")])
def test_a_shrinkage_is_a_fraction(shrinkage):
    with pytest.raises(ValueError, match="shrinkage must be a number from 0 to 1"):
        two_covariance.two_covariance_weights(np.eye(4), [0, 0, 1, 1], shrinkage=shrinkage)


@pytest.mark.parametrize(
    ("people", "reason"), [([0, 0, 0, 0], "of 1 people"), ([0, 1, 2, 3], "of 4 people")]
)
def test_too_few_people_or_recordings_are_refused(rng, people, reason):
    with pytest.raises(ValueError, match=reason):
        two_covariance.covariances(rng.normal(size=(4, 2)), people)


def test_vectors_need_one_person_each(rng):
    with pytest.raises(ValueError, match=r"shape \(4, 2\) and 3 people"):
        two_covariance.covariances(rng.normal(size=(4, 2)), [0, 0, 1])


def test_a_fitted_model_gives_log_likelihood_ratios(rng):
    people = np.repeat(np.arange(30), 4)
    recordings = 3 * rng.normal(size=(30, 1, 3))[people] + rng.normal(size=(120, 1, 3))
    signal = keras.Input((1, 3))
    vectors = keras.Model(signal, keras.layers.Flatten()(signal))
    model = two_covariance.two_covariance_model(
        vectors, recordings.astype("float32"), people, shrinkage=0
    )
    z = keras_dml.embed(model, list(recordings), progress=False)
    moments = two_covariance.covariances(recordings[:, 0], people)
    both = moments.between + moments.within
    block = np.block([[both, moments.between], [moments.between, both]])

    def log_density(x, covariance):  # without the constant, which cancels
        return -0.5 * (x @ np.linalg.solve(covariance, x) + np.linalg.slogdet(covariance)[1])

    x, y = recordings[:2, 0] - moments.mean
    expected = log_density(np.r_[x, y], block) - log_density(x, both) - log_density(y, both)
    actual = keras_dml.distance(model, z[:1], z[1:2])[0, 0]
    assert actual == pytest.approx(-expected, rel=1e-3)
