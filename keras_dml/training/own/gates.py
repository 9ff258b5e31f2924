"""Fits the quality gate of a trained model. The gate is a Riemannian potato, which rejects
outliers. The potato is fitted to the covariances of the training recordings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from keras_dml import inference, quality
from keras_dml.potato import Potato
from keras_dml.training.own.task import Task, thin
from keras_dml.training.people import People, folds

if TYPE_CHECKING:
    from keras_dml._backend import keras

# number of groups of people, and smallest threshold of the z-score (pyRiemann's default)
FOLDS, LEAST = 5, 3.0
FARTHEST = 0.995  # accepted fraction of recordings of people not used to fit the potato
# largest number of recordings of all people, and smallest number of recordings per person
WINDOWS, LEAST_WINDOWS = 200, 2


def fit_potato(task: Task, people: People, model: keras.Model) -> Potato | None:
    """Fits a Riemannian potato (an outlier detector) to the covariances of a model.

    The z-score threshold is found by cross-validation, so that recordings of new people pass.

    Args:
        task: Task of the training.
        people: `People` with the recordings on which the model was trained.
        model: The model whose inputs the potato checks.

    Returns:
        The fitted `Potato`. None if the model does not use covariances, if the covariances are
        singular, or if there is only one person.
    """
    covariances = quality.covariances_of(model)
    names = sorted(set(people.subjects))
    if covariances is None or len(names) < 2:
        return None
    windows = people.windows(task.window)
    count = max(LEAST_WINDOWS, WINDOWS // len(names))
    windows = thin(windows, windows.subjects, count)
    matrices = inference.embed(covariances, windows.signals, progress=False)
    subjects = np.array(windows.subjects)
    try:
        scores = np.concatenate(
            [
                Potato(LEAST).fit(matrices[~is_tested]).transform(matrices[is_tested])
                for group in folds(names, min(FOLDS, len(names)), task.seed)
                for is_tested in [np.isin(subjects, group)]
            ]
        )
        limit = float(np.quantile(scores, FARTHEST))
        if not np.isfinite(limit):
            return None
        return Potato(max(LEAST, limit)).fit(matrices)
    except ValueError:  # covariances are singular if a recording has fewer steps than channels
        return None
