"""Tests the recipe of walks with a phone in the pocket: rotations and baselines."""

import numpy as np
import pytest

from keras_dml import inference
from keras_dml.training import People
from tests.recipes.test_watch import NAMES, walk
from zoo import phone_baselines, pocket, pocket_baselines, walk_discriminants, watch
from zoo.pocket_lda import evidence, train


def walkers(names, each):
    """Simulates walks with accelerations, and with angular rates that are half as large."""
    rng = np.random.default_rng(3)
    signals = []
    for name in names:
        for _ in range(each):
            acceleration = walk(NAMES.index(name), rng)
            rates = (acceleration - acceleration.mean(axis=0))[:, ::-1] / 2
            signals.append(np.concatenate([acceleration, rates], axis=1))
    runs = [run for _ in names for run in range(1, each + 1)]
    return People(signals, [name for name in names for _ in range(each)], runs)


@pytest.fixture(scope="module")
def people():
    return walkers(NAMES[:6], each=6)


def test_a_rotation_turns_both_sensors_alike(people):
    turned = pocket.turned(people)
    assert (turned.subjects, turned.sessions) == (people.subjects, people.sessions)
    for before, after in zip(people.signals, turned.signals, strict=True):
        rotation, *_ = np.linalg.lstsq(before[:, :3], after[:, :3], rcond=None)
        np.testing.assert_allclose(rotation @ rotation.T, np.eye(3), rtol=0, atol=1e-4)
        np.testing.assert_allclose(before[:, 3:] @ rotation, after[:, 3:], rtol=0, atol=1e-3)
        assert np.abs(rotation - np.eye(3)).max() > 0.05


def test_the_orientation_of_the_phone_does_not_change_an_embedding(people, monkeypatch):
    monkeypatch.setattr(watch, "TEMPOS", (1.0,))
    model = walk_discriminants.fitted(people, train.CANDIDATES["magnitude"], 5.0)
    z, turned = (
        inference.embed(model, some.signals, progress=False)
        for some in (people, pocket.turned(people))
    )
    np.testing.assert_allclose(turned, z, rtol=0, atol=5e-3)
    assert np.ptp(z, axis=0).min() > 0.5


@pytest.mark.parametrize("name", evidence.OTHERS)
def test_other_methods_tell_walkers_apart(name, people, monkeypatch):
    monkeypatch.setattr(watch, "TEMPOS", (1.0,))
    accelerations = People(
        [signal[:, :3] for signal in people.signals], people.subjects, people.sessions
    )
    monkeypatch.setattr(
        pocket_baselines,
        "_of_phones",
        lambda: phone_baselines.discriminants_of(accelerations, (1.0,)),
    )
    tested = people.select("def")
    fit = evidence.OTHERS[name][2]
    claimed = watch.claims(fit(people.select("abc"))(tested.signals), tested)
    genuine = claimed.genuine
    assert claimed.scores[genuine].mean() < 0.8 * claimed.scores[~genuine].mean()
