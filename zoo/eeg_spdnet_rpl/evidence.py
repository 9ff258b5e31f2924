"""What the card of `eeg_spdnet_rpl` rests on."""

import functools

from keras_dml.training import pooled
from zoo import baselines, eeg
from zoo.evidence import Evidence

WHAT = "distance of the covariances that the network of the fold begins with"


def evidence(trained):
    """Seventeen people, each by the model of the fold that has not seen them."""
    everybody = eeg.trials()
    measured = eeg.over_folds(everybody, [eeg.of_encoder(encoder) for encoder in trained.folds])
    return Evidence(measured, functools.partial(without_network, trained.folds, everybody))


def without_network(encoders, everybody):
    """The log-Euclidean distance after the preprocessing of each fold's network."""
    plain = [functools.partial(baselines.log_euclidean, encoder) for encoder in encoders]
    return {
        "log-Euclidean": (WHAT, pooled.NO_NETWORK, eeg.over_folds(everybody, plain).trials.scores)
    }
