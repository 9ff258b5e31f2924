"""Measures `gait_lda` and its baselines. The model's card contains the results."""

import functools

from keras_dml import zoo
from keras_dml.training import pooled
from zoo import gait


def evidence(trained):
    """Measures the model on the walkers of the split `test`, and compares it with the network
    `gait_qp_wl`.
    """
    what = "quantile layer and Wasserstein loss, trained on the same people"
    network = what, pooled.INSTEAD, functools.partial(zoo.load, "gait_qp_wl")
    return gait.evidence(trained, {"gait_qp_wl": network})
