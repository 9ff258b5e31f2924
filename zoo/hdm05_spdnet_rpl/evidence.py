"""Measures `hdm05_spdnet_rpl` and its baselines. The model's card contains the results."""

import functools

from keras_dml.training import measure, pooled
from zoo import baselines, device_thresholds, motions
from zoo.evidence import Evidence
from zoo.hdm05_spdnet_rpl import train

WHAT = "the distance between covariances of joints in the same canonical pose"


def evidence(trained):
    """Measures the clips of each actor with the model that was trained on the other three
    actors.
    """
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
    """Measures the distances that one function per actor computes, see `motions.over_actors`."""
    return motions.over_actors(motions.clips(), distances)


def without_network():
    """Computes the log-Euclidean distance between the covariances that an untrained network takes
    as input.
    """
    model = train.network(train.FLOOR)
    plain = functools.partial(baselines.log_euclidean, model)
    measured = over_folds([plain] * len(motions.ACTORS))
    return {"log-Euclidean": (WHAT, pooled.NO_NETWORK, measured.trials.scores)}
