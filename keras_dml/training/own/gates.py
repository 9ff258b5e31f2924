"""The gate of a model of one's own: what its recordings are usually like."""

from __future__ import annotations

import numpy as np

from keras_dml import inference, quality
from keras_dml.potato import Potato
from keras_dml.training.own.task import thinned
from keras_dml.training.people import folds

FOLDS, LEAST = 5, 3.0  # groups of people; z-score, that of pyRiemann
FARTHEST = 0.995  # share of recordings that pass, of people whom the potato does not know
WINDOWS, LEAST_WINDOWS = 200, 2  # most of all people; of a person


def potato_of(task, people, model):
    """A potato on the covariances of a model, whose threshold lets people pass that it does not
    know.

    Args:
        task: `keras_dml.training.own.task.Task`.
        people: `keras_dml.training.People`.
        model: The model.

    Returns:
        `Potato`; None where the model takes no covariances, theirs are singular, or there is one
        person only.
    """
    covariances = quality.covariances_of(model)
    names = sorted(set(people.subjects))
    if covariances is None or len(names) < 2:
        return None
    windows = people.windows(task.window)
    count = max(LEAST_WINDOWS, WINDOWS // len(names))
    windows = thinned(windows, windows.subjects, count)
    matrices = inference.embed(covariances, windows.signals, progress=False)
    subjects = np.array(windows.subjects)
    try:
        scores = np.concatenate(
            [
                Potato(LEAST).fit(matrices[~own]).transform(matrices[own])
                for group in folds(names, min(FOLDS, len(names)), task.seed)
                for own in [np.isin(subjects, group)]
            ]
        )
        limit = float(np.quantile(scores, FARTHEST))
        if not np.isfinite(limit):
            return None
        return Potato(max(LEAST, limit)).fit(matrices)
    except ValueError:  # matrices of fewer steps than channels are singular
        return None
