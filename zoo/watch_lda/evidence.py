"""Measures the main result, the baselines and the thresholds of `watch_lda`."""

import functools

from keras_dml.training import measure, pooled
from zoo import baselines, watch, watch_baselines
from zoo.evidence import Evidence, unit_of


def evidence(trained):
    """Measures fifteen people in groups. The model for each group was not fitted to the people in
    the group.
    """
    training, unseen = watch.walks(watch.KNOWN), watch.walks(watch.UNSEEN)
    walkers, groups = training + unseen, watch.groups(training.subjects, unseen.subjects)
    distances = [watch_baselines.cosine(model)(walkers.signals) for model in trained.folds]
    cross = watch.Cross(distances, walkers, groups)
    measured = measure.Measurement([], cross.trials())
    return Evidence(
        measured,
        functools.partial(_others, walkers, groups),
        {"people of the same sex": watch.sexes()},
        unit=lambda: unit_of(trained.whole, training),
        figures=cross.rows,
    )


OTHERS = {
    "correlations": (
        "the lagged correlations and means of the model, each divided by its standard deviation, "
        "without discriminants",
        pooled.NO_NETWORK,
        watch_baselines.correlations,
    ),
    "log-Euclidean": (
        "covariance of x, y and z, nothing trained",
        pooled.NO_NETWORK,
        watch_baselines.log_euclidean,
    ),
    "spectra": (
        "correlation of log power spectra of x, y and z, nothing trained",
        pooled.NO_NETWORK,
        watch_baselines.spectra,
    ),
    "discriminants of phones": (
        "the discriminants of phone_gait_lda, fitted to 26 other people with a phone in the pocket",
        pooled.INSTEAD,
        watch_baselines.phone_discriminants,
    ),
    "quantiles": (baselines.QUANTILES, pooled.NO_NETWORK, watch_baselines.quantiles),
}


def _others(walkers, groups):
    """Computes the scores that other methods have on the trials of the main result. Returns a
    dictionary from names to baselines.
    """
    scores = {}
    for name, (what, kind, fit) in OTHERS.items():
        distances = [fit(walkers.without(group))(walkers.signals) for group in groups]
        scores[name] = what, kind, watch.Cross(distances, walkers, groups).trials().scores
    return scores
