"""What the card of `hdm05_spdnet_rpl` rests on."""

import functools

from keras_dml.training import measure, pooled
from zoo import baselines, motions
from zoo.evidence import Evidence

WHAT = "distance of the covariances after the same canonical pose"


def evidence(trained):
    """Every actor's clips, by the model that knows the other three actors."""
    every = motions.clips()
    distances = [functools.partial(measure.pairwise_distances, one) for one in trained.folds]
    others = functools.partial(without_network, trained.whole, every)
    return Evidence(motions.over_actors(every, distances), others)


def without_network(model, every):
    """The log-Euclidean distance of the covariances that the model begins with."""
    plain = functools.partial(baselines.log_euclidean, model)
    found = motions.over_actors(every, [plain] * len(motions.ACTORS))
    return {"log-Euclidean": (WHAT, pooled.NO_NETWORK, found.trials.scores)}
