"""Measures `vowels_qp_wl` and its baselines. The model's card contains the results."""

import functools

from keras_dml.training import measure, pooled, trials
from keras_dml.training.discriminants import discriminant_analysis
from zoo import baselines
from zoo.evidence import Evidence
from zoo.papers.vowels_qp_wl import train


def evidence(trained):
    """Measures the model on the four speakers who were not used in training."""
    every = train.utterances()
    training, test = every.select(train.TRAIN_SPEAKERS), every.without(train.TRAIN_SPEAKERS)
    claims = trials.from_model(trained.whole, test)
    baselines_of_card = functools.partial(without_network, training, test)
    return Evidence(measure.Measurement([], claims), baselines_of_card)


def without_network(training, test):
    """Computes baselines in closed form, from the mean and the standard deviation of each
    coefficient in an utterance.
    """
    features, of_known = baselines.moments(test.signals), baselines.moments(training.signals)
    count = features.shape[1] // 2
    means, scale = features[:, :count], of_known[:, :count].std(axis=0)
    discriminants = discriminant_analysis(
        of_known, training.subjects, len(train.TRAIN_SPEAKERS) - 1
    )
    return {
        "distance of means": (
            "the Euclidean distance between mean coefficients, in units of standard deviations",
            pooled.NO_NETWORK,
            baselines.euclidean(means / scale),
        ),
        "discriminants of moments": (
            "linear discriminants of means and standard deviations, fitted to the same five "
            "speakers",
            pooled.NO_NETWORK,
            baselines.euclidean(discriminants.transform(features)),
        ),
    }
