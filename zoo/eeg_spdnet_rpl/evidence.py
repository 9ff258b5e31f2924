"""Measures `eeg_spdnet_rpl` and its baselines for its card."""

import functools

from keras_dml.training import pooled
from zoo import baselines, device_thresholds, eeg
from zoo.eeg_spdnet_rpl import train
from zoo.evidence import Evidence, unit_of

# Input layers of the grid with the lowest EER on the measured people, which favors the baseline.
STRONGEST = {"average": 3, "standardized": False}
SAME = "distance of the covariances after the input layers of the fold's network"
BEST = "distance of the covariances after the input layers that are best without a network"


def evidence(trained):
    """Measures seventeen people, each with the model of the fold that was not trained on them."""
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
    """Measures one function of distances per fold, see `eeg.over_folds`."""
    return eeg.over_folds(eeg.trials(), distances)


def without_network(encoders):
    """Computes log-Euclidean baselines after the input layers of each fold's network, and after the
    best input layers.
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
