"""Tests the nested cross-validation over people of the EEG recipe, on simulated recordings."""

import pathlib

import numpy as np
import pytest

from keras_dml._backend import keras
from keras_dml.layers import Covariance
from keras_dml.training import People, folds, measure
from zoo import eeg, recipe


@pytest.fixture(scope="module")
def everybody():
    """Simulates eight people, each with twelve recordings that have the same covariance."""
    rng = np.random.default_rng(0)
    people = People([], [], [])
    for person in "abcdefgh":
        mixing = rng.normal(size=(3, 3))
        signals = [(rng.normal(size=(64, 3)) @ mixing).astype("float32") for _ in range(12)]
        people += People(signals, [person] * 12, list(range(12)))
    return people


def covariances(gain=1.0):
    """Builds a model that computes covariances of a signal times a gain."""
    signal = keras.Input((None, 3))
    return keras.Model(signal, Covariance("oas")(keras.layers.Rescaling(gain)(signal)))


@pytest.mark.slow
def test_each_fold_has_the_settings_of_its_partner_and_people_it_has_not_seen(everybody, tmp_path):
    run = recipe.Run("made_up", pathlib.Path(tmp_path), tmp_path, steps=1, seed=0)
    grid, trained = [{"gain": 2.0}, {"gain": 3.0}], []

    def train(part, people, settings):
        trained.append((set(people.subjects), settings["gain"]))
        return covariances(settings["gain"])

    measured, encoders, of_all = eeg.cross_validate(run, everybody, grid, train)
    groups = [set(fold) for fold in folds(everybody.subjects, eeg.FOLDS, eeg.FOLDS_SEED)]
    alone, pairs = trained[-4:], trained[:-4]
    assert [set("abcdefgh") - known for known, _ in alone] == groups
    assert {gain for _, gain in alone} == {of_all["gain"]} == {2.0}  # the first of two equals
    assert len(pairs) == 4 and all(len(known) == 4 for known, _ in pairs)
    assert measured.headline["people"] == 8 and measured.headline["probes"] == 48
    again = eeg.over_folds(everybody, [eeg.of_encoder(encoder) for encoder in encoders])
    np.testing.assert_array_equal(measured.trials.scores, again.trials.scores)


def test_the_unit_takes_the_scale_out_of_distances(everybody):
    between = eeg.of_encoder(covariances())
    once, tested = eeg.measured(between, everybody, everybody.select("ab")), everybody.select("ab")
    scaled = eeg.measured(lambda signals: 7.0 * between(signals), everybody, tested)
    np.testing.assert_allclose(scaled.trials.scores, once.trials.scores, rtol=1e-6)
    assert measure.distance_unit(between, everybody) > np.median(
        between(everybody.select("a").signals)
    )
