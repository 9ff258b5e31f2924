"""What the card of `gait_qp_wl` rests on."""

import functools

import numpy as np

from keras_dml.training import measure, pooled, trials
from zoo import discriminants, people
from zoo.evidence import Evidence
from zoo.gait_qp_wl import train


def evidence(trained):
    """The walkers of the split `test`."""
    test = train.walks("test").windows(train.WINDOW)
    claims = trials.by_model(trained.whole, test)
    others = functools.partial(without_network, trained.whole, test)
    return Evidence(measure.Measurement([], claims), others, {"kind of sensor": sensors()})


def sensors():
    """Kind of the sensor of each person; patients have one kind, most of the others another."""
    records = people.read("ipol_gait/left_foot", "test")
    return {record["subject"].decode(): record["sensor"].decode() for record in records}


def without_network(encoder, test):
    """The discriminants that are a part of the file, alone."""
    what = "linear discriminants of lagged correlations, in closed form, on the same people"
    alone = discriminants.distances(encoder, np.stack(test.signals))
    return {"gait_lda": (what, pooled.NO_NETWORK, alone)}
