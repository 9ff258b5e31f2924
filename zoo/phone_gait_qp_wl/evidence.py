"""What the card of `phone_gait_qp_wl` rests on."""

import functools

from keras_dml.training import pooled
from zoo import phone, phone_baselines
from zoo.evidence import Evidence

TURNED = "this model, each probe turned about any axis beside enrolled walks as recorded"


def evidence(trained):
    """Twenty-six people, each by the model of the group that has not seen them."""
    walkers = phone.walks()
    found = phone.measured([phone.of_model(encoder) for encoder in trained.folds], walkers)
    return Evidence(phone.measurement(found), functools.partial(others, found, walkers))


def others(found, walkers):
    """The model itself on probes that are turned, and closed forms as recorded."""
    closed = {
        name: (what, pooled.NO_NETWORK, phone.scores(phone_baselines.closed_form(name, walkers)))
        for name, (what, _) in phone_baselines.CLOSED_FORMS.items()
    }
    return {"turned": (TURNED, pooled.SAME_MODEL, phone.scores(found, turn=True)), **closed}
