"""Evidence of the card of `gait_lda`."""

import functools

from keras_dml import zoo
from keras_dml.training import pooled
from zoo import gait


def evidence(trained):
    """Measures the walkers of the split `test`, and the network as an alternative."""
    what = "quantile layer and Wasserstein loss, trained on the same people"
    network = what, pooled.INSTEAD, functools.partial(zoo.load, "gait_qp_wl")
    return gait.evidence(trained, {"gait_qp_wl": network})
