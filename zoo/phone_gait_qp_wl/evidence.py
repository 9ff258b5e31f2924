"""Measures `phone_gait_qp_wl` and its baselines for its card."""

from zoo import phone, phone_baselines, phone_evidence

over_folds = phone_evidence.over_folds


def evidence(trained):
    """Measures the encoders of the groups, and all closed forms as baselines."""
    methods = [phone.of_model(encoder) for encoder in trained.folds]
    return phone_evidence.evidence(trained.whole, methods, phone_baselines.CLOSED_FORMS)
