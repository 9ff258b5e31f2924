"""Measures `gait_qp_wl` and its baselines. The model's card contains the results."""

import functools

from keras_dml import zoo
from keras_dml.training import pooled
from zoo import gait

RIVAL = "the n-pair loss on the same quantile pooling, trained in the same way with its own scale"


def evidence(trained):
    """Measures the model on the walkers of the split `test`, and compares it with two other models:
    `gait_lda`, which needs no network, and a network that is trained with the n-pair loss.
    """
    what = "linear discriminants of lagged correlations, in closed form, on the same people"
    closed_form = what, pooled.NO_NETWORK, functools.partial(zoo.load, "gait_lda")
    rivals = {
        name: (RIVAL, pooled.INSTEAD, lambda model=model: model)
        for name, model in trained.controls.items()
    }
    return gait.evidence(trained, {"gait_lda": closed_form, **rivals})
