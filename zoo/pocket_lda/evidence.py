"""Measures the main result, the baselines and the thresholds of `pocket_lda`."""

import functools

import numpy as np

from keras_dml import inference
from keras_dml.training import measure, pooled
from zoo import pocket, pocket_baselines, watch, watch_baselines
from zoo.evidence import Evidence, unit_of

TURNED = "this model, with each probe rotated at random and enrolled walks as recorded"


def evidence(trained):
    """Measures fifteen people in groups. The model for each group was not fitted to the people in
    the group.
    """
    training, unseen = pocket.walks(watch.KNOWN), pocket.walks(watch.UNSEEN)
    walkers, groups = training + unseen, watch.groups(training.subjects, unseen.subjects)
    distances = [watch_baselines.cosine(model)(walkers.signals) for model in trained.folds]
    cross = watch.Cross(distances, walkers, groups)
    return Evidence(
        measure.Measurement([], cross.trials()),
        functools.partial(_others, trained.folds, walkers, groups),
        unit=lambda: unit_of(trained.whole, training),
        figures=cross.rows,
    )


OTHERS = {
    "correlations": (
        "lagged correlations and means in the frame of gravity, each divided by its standard "
        "deviation, without discriminants",
        pooled.NO_NETWORK,
        pocket_baselines.correlations,
    ),
    "log-Euclidean": (
        "covariance in the frame of gravity, nothing trained",
        pooled.NO_NETWORK,
        pocket_baselines.log_euclidean,
    ),
    "quantiles": (
        "mean absolute difference between quantiles in the frame of gravity, nothing trained",
        pooled.NO_NETWORK,
        pocket_baselines.quantiles,
    ),
    "spectra": (
        "correlation of log power spectra in the frame of gravity, nothing trained",
        pooled.NO_NETWORK,
        pocket_baselines.spectra,
    ),
    "acceleration alone": (
        "discriminants of the acceleration alone, fitted to the same people and speeds",
        pooled.INSTEAD,
        pocket_baselines.without_rates,
    ),
    "discriminants of phones": (
        "the discriminants of phone_gait_lda, fitted to the accelerations of 26 other people",
        pooled.INSTEAD,
        pocket_baselines.phone_discriminants,
    ),
}


def _others(models, walkers, groups):
    """Computes the scores that other methods, and the same models with rotated probes, have on the
    trials of the main result. Returns a dictionary from names to baselines.
    """
    rotated = pocket.turned(walkers).signals
    distances = [_turned(model, walkers.signals, rotated) for model in models]
    scores = watch.Cross(distances, walkers, groups).trials().scores
    others = {"turned": (TURNED, pooled.OTHER_PROBES, scores)}
    for name, (what, kind, fit) in OTHERS.items():
        distances = [fit(walkers.without(group))(walkers.signals) for group in groups]
        others[name] = what, kind, watch.Cross(distances, walkers, groups).trials().scores
    return others


def _turned(model, signals, rotated):
    """Computes the cosine distances from rotated walks to walks as recorded."""
    probes, enrolled = (
        inference.embed(model, recordings, progress=False) for recordings in (rotated, signals)
    )
    return 1 + np.asarray(inference.distance(model, probes, enrolled))
