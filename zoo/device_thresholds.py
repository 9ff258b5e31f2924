"""Measures thresholds for the distance that the exported files of a model compute.

Exported files cannot compute eigendecompositions, so they compare SPD matrices by the log-Euclidean
distance. Thresholds that were measured with the affine-invariant distance are not valid for the
log-Euclidean distance.
"""

import numpy as np

from keras_dml import distances, inference
from keras_dml.training import measure, pooled
from zoo.evidence import CARRIED


def between(model):
    """Returns a function that computes the distances between all given recordings in the same way
    as a device.

    Args:
        model: A model whose distance has a `device_distance`.
    """
    metric = distances.get(inference.head_distance(model).device_distance)

    def compared(recordings):
        z = inference.embed(model, recordings)
        return np.asarray(metric(z, z))

    return compared


def rows(model, everybody, over_folds, folds):
    """Measures the entry `device_thresholds` of a card.

    Args:
        model: The published model.
        everybody: `keras_dml.training.People` on whom the model was trained.
        over_folds: Function that takes a list with one distance function per fold and returns a
            `Measurement`. The distances of a fold are divided by the median distance between two
            training people of the fold.
        folds: Models of a cross-validation. Each model was trained without the people in its fold.

    Returns:
        Dictionaries as from `pooled.thresholds`, with an additional key `distance` that contains
        the name of the distance.
    """
    trials = over_folds([between(fold) for fold in folds]).trials
    unit = float(measure.distance_unit(between(model), everybody))
    name = inference.head_distance(model).device_distance
    rows = pooled.carried_thresholds(trials, unit, 0.0, CARRIED.format(unit=trials.unit))
    return [{**row, "distance": name} for row in rows]
