"""Evidence of the cards of walks with a phone in the pocket."""

import functools

from keras_dml.training import pooled
from zoo import phone, phone_baselines
from zoo.evidence import Evidence, unit_of

TURNED = "this model, with each probe rotated at random and enrolled walks as recorded"


def evidence(whole, methods, beside):
    """Measures twenty-six people, each by the method of the group that has not seen them.

    Args:
        whole: The published model.
        methods: For each group a function of two lists of windows that gives distances.
        beside: Names of `phone_baselines.CLOSED_FORMS`.
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
    """Computes the `Measurement` of the headline over the groups.

    Args:
        distances: For each group a function of a list of windows that gives the distances between
            all of them.
    """
    methods = [functools.partial(_between, between) for between in distances]
    return phone.measurement(phone.measured(methods, phone.walks()))


def _others(found, walkers, names):
    """Computes the baselines: the method on rotated probes, and closed forms as recorded."""
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
    """Computes distances of probes to enrolled windows, shifted to begin at 0 for the cosine."""
    between = distances([*probes, *enrolled])
    between = between - between.diagonal().min()
    return between[: len(probes), len(probes) :]
