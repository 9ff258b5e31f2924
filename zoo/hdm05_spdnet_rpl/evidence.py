"""What the card of `hdm05_spdnet_rpl` rests on."""

import functools

import numpy as np

from keras_dml.training import measure, pooled
from keras_dml.training.trials import against_gallery, joined
from zoo import baselines
from zoo.evidence import Evidence
from zoo.hdm05_spdnet_rpl import train


def evidence(trained):
    """Every actor's clips, by the model that knows the other three actors."""
    every = train.clips()
    parts = [
        train.evaluate(encoder, *_divided(every, actor))
        for actor, encoder in zip(train.ACTORS, trained.folds, strict=True)
    ]
    others = functools.partial(without_network, trained.whole, every)
    return Evidence(measure.over_folds(parts), others)


def without_network(model, every):
    """The log-Euclidean distance of the covariances that the model begins with."""
    what = "distance of the covariances after the same canonical pose"
    distances = baselines.log_euclidean(model, every.signals)
    actors, motions = np.array(every.sessions), np.array(every.subjects)
    parts = []
    for actor in train.ACTORS:
        own = actors == actor
        rows = distances[np.ix_(own, ~own)]
        parts.append(against_gallery(rows, motions[own], motions[~own]))
    return {"log-Euclidean": (what, pooled.NO_NETWORK, joined(parts).scores)}


def _divided(every, actor):
    """The clips of an actor, and those of the others."""
    own = np.array(every.sessions) == actor
    return every.take(own), every.take(~own)
