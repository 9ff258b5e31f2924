"""Measures `phone_gait_lda` and its baselines for its card."""

from zoo import phone_baselines, phone_evidence

over_folds = phone_evidence.over_folds


def evidence(trained):
    """Measures the discriminants of the groups, and methods without fitting as baselines."""
    methods = [phone_baselines.cosine_distances(model) for model in trained.folds]
    return phone_evidence.evidence(trained.whole, methods, ("log-Euclidean", "spectra"))
