"""What the card of `phone_gait_lda` rests on."""

from zoo import phone_baselines, phone_evidence

over_folds = phone_evidence.over_folds


def evidence(trained):
    """The discriminants of the groups beside what fits nothing."""
    methods = [phone_baselines.cosine_distances(model) for model in trained.folds]
    return phone_evidence.evidence(trained.whole, methods, ("log-Euclidean", "spectra"))
