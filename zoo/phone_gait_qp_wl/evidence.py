"""Measures `phone_gait_qp_wl` and its baselines. The model's card contains the results."""

from zoo import phone, phone_baselines, phone_evidence

over_folds = phone_evidence.over_folds


def evidence(trained):
    """Measures each group with the encoder that was trained on the other groups. The baselines are
    all methods in closed form.
    """
    methods = [phone.of_model(encoder) for encoder in trained.folds]
    return phone_evidence.evidence(trained.whole, methods, phone_baselines.CLOSED_FORMS)
