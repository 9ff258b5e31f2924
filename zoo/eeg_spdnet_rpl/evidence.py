"""Measures `eeg_spdnet_rpl` and its baselines. The model's card contains the results."""

import functools

from keras_dml.training import pooled
from zoo import baselines, device_thresholds, eeg
from zoo.eeg_spdnet_rpl import train
from zoo.evidence import Evidence, unit_of

# Settings of the input layers, chosen from the grid by the lowest EER on the measured people.
# Choosing the layers by the measured people favors the baseline.
STRONGEST = {"average": 3, "standardized": False}
SAME = "the distance between covariances after the input layers of the fold's network"
BEST = "the distance between covariances after the input layers that are best without a network"


def evidence(trained):
    """Measures seventeen people. The model for each person was not trained on this person."""
    measured = over_folds([eeg.of_encoder(encoder) for encoder in trained.folds])
    return Evidence(
        measured,
        functools.partial(without_network, trained.folds),
        unit=lambda: unit_of(trained.whole, eeg.trials()),
        on_device=lambda: device_thresholds.rows(
            trained.whole, eeg.trials(), over_folds, trained.folds
        ),
    )


def over_folds(distances):
    """Measures the results of a method. The method has one function of distances per fold, see
    `eeg.over_folds`.
    """
    return eeg.over_folds(eeg.trials(), distances)


def without_network(encoders):
    """Computes two baselines, which compare covariances by the log-Euclidean distance. The first
    baseline uses the input layers of each fold's network. The second baseline uses the input layers
    with which it has the lowest error.
    """
    best = train.network(encoders[0].input_shape[-1], **STRONGEST)

    def scores(models):
        between = [functools.partial(baselines.log_euclidean, model) for model in models]
        return over_folds(between).trials.scores

    return {
        "log-Euclidean": (SAME, pooled.NO_NETWORK, scores(encoders)),
        "log-Euclidean, best front": (
            BEST,
            pooled.NO_NETWORK,
            scores([best] * len(encoders)),
        ),
    }
