"""Measures `phone_gait_lda` and its baselines. The model's card contains the results."""

from zoo import phone_baselines, phone_evidence

over_folds = phone_evidence.over_folds


def evidence(trained):
    """Measures each group with discriminants that were fitted to the other groups. The baselines
    are methods that need no fitting.
    """
    methods = [phone_baselines.cosine_distances(model) for model in trained.folds]
    return phone_evidence.evidence(
        trained.whole, methods, ("log-Euclidean", "spectra", "quantiles")
    )
