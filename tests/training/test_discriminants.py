import numpy as np
import pytest

import keras_dml
from keras_dml.training import discriminants, measure

LAGS, UNITS = (0, 2), 4


@pytest.fixture
def walkers(rng):
    """Returns twelve windows for each of six people, who differ in how channels are correlated."""
    mixing = np.eye(3) + 0.6 * rng.normal(size=(6, 3, 3))
    people = np.repeat(np.arange(6), 12)
    windows = [rng.normal(size=(200, 3)) @ mixing[one] for one in people]
    return np.stack(windows).astype("float32"), people


def test_people_are_nearest_to_themselves(walkers):
    windows, people = walkers
    model = discriminants.correlation_model(windows, people, LAGS, UNITS)
    found = measure.pairwise_distances(model, list(windows))
    np.fill_diagonal(found, np.inf)
    assert (people[found.argmin(axis=1)] == people).mean() > 0.9


def test_the_model_gives_the_bounded_discriminants_of_its_correlations(walkers):
    windows, people = walkers
    model = discriminants.correlation_model(
        windows, people, LAGS, UNITS, adapt_to=list(windows[:30])
    )
    seen = windows[:30].reshape(-1, 3)
    normalized = (windows - seen.mean(axis=0)) / seen.std(axis=0)
    features = np.asarray(model.get_layer("correlations")(normalized))
    kernel, bias = discriminants.linear_weights(features, people, UNITS)
    expected = 2 * np.tanh((features @ kernel + bias) / 2)
    found = keras_dml.embed(model, list(windows))
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-2)


@pytest.mark.parametrize(("channels", "given", "expected"), [(3, 99, 5), (3, 2, 2), (1, 99, 3)])
def test_there_are_no_more_discriminants_than_people_and_features_allow(
    walkers, channels, given, expected
):
    windows, people = walkers
    model = discriminants.correlation_model(windows[..., :channels], people, (0, 1, 2), given)
    assert model.output_shape == (None, expected)


def test_a_discriminants_unit_is_the_deviation_within_a_person(rng):
    people = np.repeat(np.arange(40), 50)
    features = 10 * rng.normal(size=(40, 8))[people] + rng.normal(size=(2000, 8))
    kernel, bias = discriminants.linear_weights(features, people, 3)
    found = (features @ kernel + bias).reshape(40, 50, 3)
    np.testing.assert_allclose(found.std(axis=1).mean(axis=0), 1, rtol=0, atol=0.15)
    assert np.abs(found.mean(axis=(0, 1))).max() < 1e-6


def test_what_varies_by_rounding_alone_has_no_weight(rng):
    people = np.repeat(np.arange(20), 30)
    features = rng.normal(size=(20, 6))[people] + rng.normal(size=(600, 6))
    rounding = 1e-8 * rng.normal(size=(600, 1))
    kernel, _ = discriminants.linear_weights(np.hstack([features, 0.5 + rounding]), people, 3)
    assert (kernel[-1] == 0).all() and (np.abs(kernel[:-1]).max(axis=1) > 0).all()


def test_outputs_of_signals_of_several_lengths_are_those_of_each_by_itself(walkers):
    windows, _ = walkers
    model = discriminants.correlation_features(list(windows), LAGS, means=True)
    signals = [windows[0], windows[1][:150], windows[2]]
    found = discriminants.outputs(model, signals)
    assert found.shape == (3, 3 + 3 + 9 + 3)
    for row, signal in zip(found, signals, strict=True):
        np.testing.assert_allclose(row, model(signal[None])[0], rtol=0, atol=1e-6)


def test_another_bound_limits_the_discriminants(walkers):
    windows, people = walkers
    features = discriminants.correlation_features(list(windows), LAGS)
    bounds = []
    for limit in (0.5, 9.0):
        model = discriminants.discriminant_model(features, windows, people, UNITS, limit=limit)
        bounds.append(np.abs(keras_dml.embed(model, list(windows))).max())
    assert bounds[0] <= 0.5 < bounds[1] <= 9
