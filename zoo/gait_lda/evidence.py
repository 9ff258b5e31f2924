"""Measures `gait_lda` and its baselines for its card."""

import functools

from keras_dml import zoo
from keras_dml.training import pooled
from zoo import gait


def evidence(trained):
    """Measures the walkers of the split `test`, and the network `gait_qp_wl` as an alternative."""
    what = "quantile layer and Wasserstein loss, trained on the same people"
    network = what, pooled.INSTEAD, functools.partial(zoo.load, "gait_qp_wl")
    return gait.evidence(trained, {"gait_qp_wl": network})
