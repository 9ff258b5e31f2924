"""Tests thresholds for the distance that a model file for devices computes."""

import numpy as np
import pytest
from scipy.linalg import logm

from keras_dml import models, zoo
from keras_dml._backend import keras
from keras_dml.training import People, measure, pooled
from keras_dml.zoo import schema
from zoo import device_thresholds

CHANNELS, PER_PERSON = 4, 12
OF_DEVICES = ("eeg_spdnet_rpl", "hdm05_spdnet_rpl")


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(3)
    names = np.repeat([f"person {i}" for i in range(12)], PER_PERSON)
    mixing = {name: rng.normal(size=(CHANNELS, CHANNELS)) for name in names}
    signals = [(rng.normal(size=(60, CHANNELS)) @ mixing[name]).astype("float32") for name in names]
    return People(signals, names.tolist(), ([0] * 6 + [1] * 6) * 12)


def network(seed):
    keras.utils.set_random_seed(seed)
    return models.spdnet((CHANNELS, 3), output="spd", estimator="oas", epsilon=1e-3)


def log_euclidean(model, signals):
    """Computes log-Euclidean distances of embeddings by SciPy's matrix logarithm."""
    matrices = np.concatenate([model.predict(x[None], verbose=0) for x in signals])
    logs = np.stack([logm(x.astype(np.float64)) for x in matrices])
    return np.linalg.norm((logs[:, None] - logs[None]).real, axis=(-2, -1))


@pytest.mark.slow
def test_thresholds_are_of_the_folds_in_units_of_the_published_file(people):
    fold, whole = network(1), network(2)

    def over_folds(distances):
        (between,) = distances
        unit = measure.distance_unit(between, people)
        return measure.measure_people(between(people.signals) / unit, people)

    rows = device_thresholds.rows(whole, people, over_folds, [fold])
    trials = over_folds([lambda signals: log_euclidean(fold, signals)]).trials
    unit = measure.distance_unit(lambda signals: log_euclidean(whole, signals), people)
    expected = pooled.thresholds(trials)
    assert rows and len(rows) == len(expected)
    for row, other in zip(rows, expected, strict=True):
        assert row["distance"] == "log_euclidean" and "{" not in row["carried"]
        assert row["value"] == pytest.approx(other["value"] * unit, rel=1e-3)
        assert row["tar"] == pytest.approx(other["tar"])
        assert not schema.problems(row, schema.DEVICE_THRESHOLD)


@pytest.mark.parametrize("name", OF_DEVICES)
def test_cards_of_other_distances_have_them(name):
    rows = zoo.card(name)["device_thresholds"]
    assert rows and all(row["distance"] == "log_euclidean" and row["value"] > 0 for row in rows)
