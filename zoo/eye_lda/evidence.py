"""Measures `eye_lda` and its baselines. The model's card contains the results."""

import functools

from zoo import across_films, eye_baselines, eyes
from zoo.evidence import Evidence, unit_of


def evidence(trained):
    """Measures forty-five people. The model for each person was not trained on this person."""
    windows = eyes.one_eye().windows(eyes.WINDOW)
    measured = across_films.of_models(windows, trained.folds)
    return Evidence(
        measured,
        functools.partial(eye_baselines.untrained, windows),
        unit=lambda: unit_of(trained.whole, windows),
    )


def over_folds(distances):
    """Measures the results of a method. The method has one function of distances per fold, see
    `across_films.over_folds`.
    """
    return across_films.over_folds(eyes.one_eye().windows(eyes.WINDOW), distances)
