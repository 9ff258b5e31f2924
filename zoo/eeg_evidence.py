"""What the cards of both EEG models rest on."""

import functools

from keras_dml.training import folds, measure, pooled
from keras_dml.training.trials import joined, latest_against_earlier
from zoo import baselines, eeg
from zoo.eeg_spdnet_rpl import train
from zoo.evidence import Evidence

WHAT = (
    "distance of the shrunk covariances of the standardized differences, what `eeg_spdnet_rpl` "
    "begins with"
)


def evidence(trained):
    """Seventeen people, each by the model of the fold that has not seen them."""
    everybody = eeg.trials()
    tested = [
        everybody.of(fold).halves() for fold in folds(everybody.subjects, eeg.FOLDS, eeg.FOLDS_SEED)
    ]
    parts = [
        measure.of_people(measure.pairwise_distances(encoder, people.signals), people)
        for encoder, people in zip(trained.folds, tested, strict=True)
    ]
    return Evidence(measure.over_folds(parts), functools.partial(without_network, tested))


def without_network(tested):
    """The log-Euclidean distance after the preprocessing of `eeg_spdnet_rpl`."""
    untrained = train.network(tested[0].signals[0].shape[1])
    parts = [
        latest_against_earlier(
            baselines.log_euclidean(untrained, people.signals), people.subjects, people.sessions
        )
        for people in tested
    ]
    return {"log-Euclidean": (WHAT, pooled.NO_NETWORK, joined(parts).scores)}
