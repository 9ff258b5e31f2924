"""Tests the discriminants of walks with a watch or a phone, and the choice of their settings."""

import functools

import numpy as np
import pytest

from keras_dml import inference
from keras_dml.training import discriminants, folds
from tests.recipes.test_watch import NAMES, walkers
from zoo import walk_discriminants, watch, watch_baselines

ENDS = ("", " mirrored", " x1.1", " mirrored x1.1")


def features(lags):
    return functools.partial(discriminants.correlation_features, lags=lags, means=True)


def test_discriminants_are_bounded_and_tell_unseen_walkers_apart():
    people = walkers(NAMES[:8], each=6)
    model = walk_discriminants.fitted(people.select("abcd"), features((0, 8)), limit=3.0)
    embeddings = inference.embed(model, people.signals, progress=False)
    assert np.abs(embeddings).max() <= 3
    rest = people.select("efgh")
    claimed = watch.claims(watch_baselines.cosine(model)(rest.signals), rest)
    genuine = claimed.genuine
    assert claimed.scores[genuine].mean() < 0.5 * claimed.scores[~genuine].mean()


def test_halves_are_measured_by_the_model_of_the_other_half(monkeypatch):
    """Tests that each half is scored by a model fitted to the people of the other half."""
    monkeypatch.setattr(watch, "TEMPOS", (1.0, 1.1))
    people = walkers("abcd", each=6)
    training = watch.variants(people)
    model = features((0, 8))(training.signals)
    values = discriminants.outputs(model, training.signals)
    rate = walk_discriminants._rate(values, training, people, 2.0, seed=0)
    halves = folds(people.subjects, 2, 0)
    distances = []
    for half in halves:
        known = training.without({f"{name}{end}" for name in half for end in ENDS})
        model = discriminants.discriminant_model(
            features((0, 8))(training.signals), known.signals, known.subjects, 99
        )
        distances.append(watch_baselines.cosine(model)(people.signals))
    assert rate == pytest.approx(watch.Cross(distances, people, halves).eer(), abs=1e-6)


def test_the_settings_with_the_lowest_mean_error_are_chosen(monkeypatch):
    people, settings = walkers("abcd", each=1), []
    candidates = {"short": features((0,)), "long": features((0, 4))}
    sizes = {12: "short", 21: "long"}  # 6 + 3 features for lag 0, 9 for each further lag

    def rate(values, training, walkers, limit, seed):
        name = sizes[values.shape[1] + 3]
        settings.append((name, limit, seed))
        return 0.1 if (name, limit) == ("long", 2.0) else 0.2 + 0.01 * seed

    monkeypatch.setattr(walk_discriminants, "_rate", rate)
    assert walk_discriminants.choose(people, candidates) == ("long", 2.0)
    assert len(set(settings)) == len(settings) == 2 * 2 * walk_discriminants.HALVINGS


def test_the_model_of_a_group_is_fitted_without_its_people(monkeypatch):
    seen = []
    monkeypatch.setattr(walk_discriminants, "choose", lambda walkers, _: ("short", 2.0))
    monkeypatch.setattr(
        walk_discriminants, "fitted", lambda walkers, *_: seen.append(set(walkers.subjects))
    )
    groups = [["a", "b"], ["c", "d"]]
    made = walk_discriminants.of_groups(walkers("abcd", each=1), groups, {"short": None})
    assert [settings for _, settings in made] == 2 * [("short", 2.0)]
    assert seen == [{"c", "d"}, {"a", "b"}]
