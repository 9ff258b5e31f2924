"""What the card of `hdm05_spdnet_rpl` rests on."""

import functools

from keras_dml.training import measure, pooled
from zoo import baselines, motions
from zoo.evidence import Evidence
from zoo.hdm05_spdnet_rpl import train

WHAT = "distance of the covariances after the same canonical pose"


def evidence(trained):
    """Every actor's clips, by the model that knows the other three actors."""
    every = motions.clips()
    distances = [functools.partial(measure.pairwise_distances, one) for one in trained.folds]
    measured = motions.over_actors(every, distances)
    return Evidence(measured, functools.partial(without_network, every))


def without_network(every):
    """The log-Euclidean distance of the covariances that an untrained network begins with."""
    model = train.network(train.FLOOR)
    plain = functools.partial(baselines.log_euclidean, model)
    found = motions.over_actors(every, [plain] * len(motions.ACTORS))
    return {"log-Euclidean": (WHAT, pooled.NO_NETWORK, found.trials.scores)}
