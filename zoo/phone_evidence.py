"""Measures models that recognize people by walks with a phone in the pocket. The models' cards
contain the results.
"""

import functools

from keras_dml.training import pooled
from zoo import phone, phone_baselines
from zoo.evidence import Evidence, unit_of

TURNED = "this model, with each probe rotated at random and enrolled walks as recorded"


def evidence(whole, methods, beside):
    """Measures twenty-six people in groups. Each group is measured with a method that was not
    fitted to the people in the group.

    Args:
        whole: The published model.
        methods: One function per group that computes the distances between two lists of windows.
        beside: Names of methods in `phone_baselines.CLOSED_FORMS`. The card contains these methods
            as baselines.
    """
    walkers = phone.walks()
    groups = phone.measured(methods, walkers)
    return Evidence(
        phone.measurement(groups),
        functools.partial(_others, groups, walkers, list(beside)),
        unit=lambda: unit_of(whole, walkers.windows(phone.WINDOW)),
        figures=lambda: phone.rows(groups),
    )


def over_folds(distances):
    """Computes the `Measurement` of the main result with other distances.

    Args:
        distances: One function per group that computes the distances between all windows of a list.
    """
    methods = [functools.partial(_between, between) for between in distances]
    return phone.measurement(phone.measured(methods, phone.walks()))


def _others(found, walkers, names):
    """Computes two kinds of baselines: the measured method with rotated probes, and methods in
    closed form without rotated probes.
    """
    closed = {
        name: (
            phone_baselines.CLOSED_FORMS[name][0],
            pooled.NO_NETWORK,
            phone.scores(phone_baselines.closed_form(name, walkers)),
        )
        for name in names
    }
    return {"turned": (TURNED, pooled.OTHER_PROBES, phone.scores(found, turn=True)), **closed}


def _between(distances, probes, enrolled):
    """Computes the distances from probes to enrolled windows. The distances are shifted. After the
    shift, the smallest distance from a window to itself is 0.
    """
    between = distances([*probes, *enrolled])
    between = between - between.diagonal().min()
    return between[: len(probes), len(probes) :]
