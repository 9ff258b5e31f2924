"""Measures `eye_qp_wl` and its baselines. The model's card contains the results."""

import functools

from keras_dml.training import pooled
from zoo import across_films, eye_baselines, eyes
from zoo.evidence import Evidence, unit_of
from zoo.eye_qp_wl.train import RIVAL

WHAT = (
    "the n-pair loss on the same quantile pooling, cross-validated in the same way with its own "
    "settings"
)


def evidence(trained):
    """Measures forty-five people. The model for each person was not trained on this person."""
    watchers = eyes.one_eye()
    windows = watchers.windows(eyes.WINDOW)
    measured = across_films.of_models(windows, trained.folds)
    rivals = [trained.controls[name] for name in sorted(trained.controls)]
    return Evidence(
        measured,
        functools.partial(_others, watchers, windows, rivals),
        unit=lambda: unit_of(trained.whole, windows),
    )


def over_folds(distances):
    """Measures the results of a method. The method has one function of distances per fold, see
    `across_films.over_folds`.
    """
    return across_films.over_folds(eyes.one_eye().windows(eyes.WINDOW), distances)


def _others(watchers, windows, rivals):
    rival = across_films.of_models(windows, rivals).trials.scores
    return {
        **eye_baselines.without_network(watchers, windows),
        RIVAL: (WHAT, pooled.INSTEAD, rival),
    }
