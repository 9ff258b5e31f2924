"""Measures how well models recognize people by their eye movements, if enrolled windows and probes
are from different films. The people were not used in training.

The film strongly influences eye movements. Therefore each window is compared only with windows from
other films.
"""

import functools

import numpy as np

from keras_dml import evaluation
from keras_dml.evaluation import protocol
from keras_dml.training import folds, measure, trials

FOLDS, FOLDS_SEED = 6, 7


def caption(windows):
    """Returns a caption that describes the trials that `over_folds` measures."""
    return (
        f"Each of {len(set(windows.subjects))} people is tested with a model that was not trained "
        "on this person. Every single window is compared with each person's windows of all other "
        "films."
    )


def groups(everybody):
    """Returns the folds of the cross-validation. Each fold is a list of people's names."""
    return folds(everybody.subjects, FOLDS, FOLDS_SEED)


def trials_of(distances, people):
    """Compares every window with the windows that all people recorded during other films.

    Args:
        distances: Distances between all windows, shape `(windows, windows)`.
        people: `keras_dml.training.People` whose sessions are films, at least two.

    Returns:
        `keras_dml.training.trials.Trials`.
    """
    owners, films = np.asarray(people.subjects), np.asarray(people.sessions)
    parts = []
    for film in np.unique(films):
        probes = films == film
        between = distances[np.ix_(probes, ~probes)]
        parts.append(trials.against_gallery(between, owners[probes], owners[~probes]))
    return trials.concatenate(parts)


def first_of_each_film(people):
    """Returns for each person and each film the index of the first recording."""
    keys = [
        f"{subject} {film}" for subject, film in zip(people.subjects, people.sessions, strict=True)
    ]
    return np.unique(keys, return_index=True)[1]


def trials_over_folds(windows, distances):
    """Computes the trials of each fold and joins the trials of all folds.

    Args:
        windows: Windows of all people.
        distances: One function per fold, which computes the distances between all recordings of a
            list. The model that computes the distances was not trained on the people of the fold.
            The distances are divided by the `measure.distance_unit` of the people outside the fold,
            so that all folds can share one threshold.
    """
    return trials.concatenate([trials_of(*fold) for fold in _of_folds(windows, distances)])


def over_folds(windows, distances):
    """Measures the trials of all folds, see `trials_over_folds`.

    The figures follow the protocol of Abdelwahab2019. In this protocol, only the first window of
    each film is used, and people who watched fewer than six films are left out.
    """
    parts = [
        measure.Measurement(figures(*fold), trials_of(*fold))
        for fold in _of_folds(windows, distances)
    ]
    return measure.combine_folds(parts)


def figures(distances, people):
    """Computes the figures that the protocol of Abdelwahab2019 defines, from one window of each
    person and film.
    """
    rows = first_of_each_film(people)
    owners = np.asarray(people.subjects)[rows]
    return protocol.paper_protocol(
        distances[np.ix_(rows, rows)], owners, n=(1, 5), fractions=(0.5, 1.0)
    )


def _of_folds(windows, distances):
    """Yields a pair for each fold. The first element contains the distances between the windows of
    the fold, and the second element is the people in the fold.
    """
    for fold, between in zip(groups(windows), distances, strict=True):
        tested = windows.select(fold)
        between = functools.partial(_from_zero, between)
        unit = measure.distance_unit(between, windows.without(fold))
        yield between(tested.signals) / unit, tested


def _from_zero(between, signals):
    """Shifts distances so that the distance from a recording to itself is 0.

    The cosine distance from a recording to itself is -1. Cosine distances between people are
    positive or negative, so their median cannot serve as a unit.
    """
    distances = between(signals)
    return distances - np.diag(distances)[:, None]


def of_models(windows, models):
    """Measures one trained model per fold, see `over_folds`."""
    return over_folds(windows, [of_encoder(model) for model in models])


def of_encoder(encoder):
    """Returns a function that computes the distances between recordings with an encoder."""
    return functools.partial(measure.pairwise_distances, encoder)


def auc(between, windows):
    """Computes the area under the ROC curve of the trials between windows."""
    claims = trials_of(between(windows.signals), windows)
    return float(evaluation.verification(claims.scores, claims.genuine).auc)
