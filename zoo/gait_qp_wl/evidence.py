"""What the card of `gait_qp_wl` rests on."""

import functools

from keras_dml import zoo
from keras_dml.training import pooled
from zoo import gait


def evidence(trained):
    """The walkers of the split `test`, beside the model without a network."""
    what = "linear discriminants of lagged correlations, in closed form, on the same people"
    closed_form = what, pooled.NO_NETWORK, functools.partial(zoo.load, "gait_lda")
    return gait.evidence(trained, {"gait_lda": closed_form})
