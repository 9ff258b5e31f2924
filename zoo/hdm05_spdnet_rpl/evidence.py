"""Measures `hdm05_spdnet_rpl` and its baselines for its card."""

import functools

from keras_dml.training import measure, pooled
from zoo import baselines, device_thresholds, motions
from zoo.evidence import Evidence
from zoo.hdm05_spdnet_rpl import train

WHAT = "distance of the covariances after the same canonical pose"


def evidence(trained):
    """Measures the clips of each actor with the model of the other three actors."""
    return Evidence(
        over_folds(
            [functools.partial(measure.pairwise_distances, model) for model in trained.folds]
        ),
        without_network,
        on_device=lambda: device_thresholds.rows(
            trained.whole, motions.clips(), over_folds, trained.folds
        ),
    )


def over_folds(distances):
    """Measures a function of distances for each actor, see `motions.over_actors`."""
    return motions.over_actors(motions.clips(), distances)


def without_network():
    """Computes the log-Euclidean distance of the covariances at the input of an untrained
    network.
    """
    model = train.network(train.FLOOR)
    plain = functools.partial(baselines.log_euclidean, model)
    measured = over_folds([plain] * len(motions.ACTORS))
    return {"log-Euclidean": (WHAT, pooled.NO_NETWORK, measured.trials.scores)}
