import numpy as np
import pytest

import keras_dml
from keras_dml import models
from keras_dml._backend import keras
from zoo import discriminants

LAGS, UNITS = (0, 2), 4


@pytest.fixture
def walkers(rng):
    """Twelve windows of each of six people, told apart by how their channels move together."""
    mixing = np.eye(3) + 0.6 * rng.normal(size=(6, 3, 3))
    people = np.repeat(np.arange(6), 12)
    return np.stack([rng.normal(size=(200, 3)) @ mixing[one] for one in people]), people


@pytest.fixture
def encoder():
    keras.utils.set_random_seed(2)
    return models.sequence_encoder(3, knots=4, halve_every=2)


def test_people_are_nearer_to_themselves_than_before(encoder, walkers):
    windows, people = walkers
    moved = discriminants.shifted(encoder, windows, people, LAGS, UNITS)
    shares = []
    for model in (encoder, moved):
        embeddings = keras_dml.embed(model, list(windows.astype("float32")))
        table = keras_dml.distance(model, embeddings, embeddings)
        np.fill_diagonal(table, np.inf)
        shares.append((people[table.argmin(axis=1)] == people).mean())
    assert shares[1] > max(0.9, shares[0])


def test_quantile_functions_keep_their_shape_and_move_by_soft_discriminants(encoder, walkers):
    windows, people = walkers
    moved = discriminants.shifted(encoder, windows, people, LAGS, UNITS)
    some = windows[::12].astype("float32")
    gap = np.asarray(moved(some)) - np.asarray(encoder(some))
    assert np.abs(gap[:, UNITS:]).max() < 1e-5
    assert np.ptp(gap, axis=-1).max() < 1e-4 and 0.5 < np.abs(gap).max() <= 2.001


def test_a_discriminants_unit_is_the_deviation_within_a_person(rng):
    people = np.repeat(np.arange(40), 50)
    features = 10 * rng.normal(size=(40, 8))[people] + rng.normal(size=(2000, 8))
    kernel, bias = discriminants.linear(features, people, 3)
    found = (features @ kernel + bias).reshape(40, 50, 3)
    np.testing.assert_allclose(found.std(axis=1).mean(axis=0), 1, rtol=0, atol=0.15)
    assert np.abs(found.mean(axis=(0, 1))).max() < 1e-6


def test_distances_of_the_shifts_alone_leave_the_convolutions_out(encoder, walkers):
    windows, people = walkers
    moved = discriminants.shifted(encoder, windows, people, LAGS, UNITS)
    gap = np.asarray(moved(windows)) - np.asarray(encoder(windows))
    expected = np.abs(gap[:, None, :, 0] - gap[None, :, :, 0]).sum(axis=-1)
    np.testing.assert_allclose(discriminants.distances(moved, windows), expected, rtol=0, atol=1e-3)
