"""The threshold of a gallery, from claims of people who are not in it."""

import warnings
from collections.abc import Mapping

import numpy as np

from keras_dml import evaluation
from keras_dml._contents import copies
from keras_dml.gallery import _card_thresholds
from keras_dml.gallery._names import composed
from keras_dml.gallery._results import MOVED, GroupRate, Threshold

# Of vowels, a threshold for FAR 5 % with 2 of each enrolled has 10 % with 4, and 17 % with 8.
MORE = 1.5
LEAST_TAR = 0.5  # fraction of the true claims, below which a gallery rejects most of its own people


def check_people(people):
    """Raise unless there are two people, and somebody has two recordings.

    Args:
        people: Person of each recording, shape `(recordings,)`.

    Returns:
        Their names in order.
    """
    names, counts = np.unique(people, return_counts=True)
    if len(names) < 2 or counts.max() < 2:
        raise ValueError(
            "A threshold is set by claims of two people or more, with several recordings each. "
            f"Received {len(names)} people, of whom one has at most {counts.max()} recordings."
        )
    return names


def warn_of_trained(trained, people):
    """Warns of people with whom the model was made, as a `UserWarning`.

    Args:
        trained: Names of those whom the model has seen.
        people: Person of each recording, shape `(recordings,)`.
    """
    names = [str(name) for name in np.unique(people)]
    seen = [name for name in names if name in trained]
    if seen:
        warnings.warn(
            f"The model was made with {len(seen)} of these {len(names)} people, such as "
            f"{seen[0]!r}: it may tell them apart better than others, who are then accepted more "
            "often than this threshold promises. Calibrate with people whom it has never seen.",
            stacklevel=3,
        )


def without_copies(recordings, people, sessions=None):
    """Leaves out repeated recordings, with a `UserWarning`.

    A recording that is given twice for one person counts once. A recording that is given for two
    people is left out for both.

    Args:
        recordings: List of arrays.
        people: Person of each, shape `(recordings,)`.
        sessions: Session of each, or None.

    Returns:
        The recordings, people and sessions that remain.
    """
    first = copies(recordings)
    if not first:
        return recordings, people, sessions
    of_two = {original for i, original in first.items() if people[i] != people[original]}
    left_out = first.keys() | of_two
    i, original = next(iter(first.items()))
    of_others = f", and {len(of_two)} of two people are left out" if of_two else ""
    warnings.warn(
        f"{len(first)} of these {len(recordings)} recordings are there twice, such as one of "
        f"{str(people[original])!r} and one of {str(people[i])!r}: each counts once{of_others}.",
        stacklevel=3,
    )
    rows = [i for i in range(len(recordings)) if i not in left_out]
    if sessions is not None and len(sessions) == len(recordings):
        sessions = [sessions[i] for i in rows]
    return [recordings[i] for i in rows], people[rows], sessions


def usual_count(people):
    """Recordings of a person, the median.

    Args:
        people: Person of each recording, shape `(recordings,)`.
    """
    return int(np.median(np.unique(people, return_counts=True)[1]))


def warn_of_more(counts, found):
    """Warns of people of whom many more recordings are enrolled than a rate was set by, as a
    `UserWarning`.

    Args:
        counts: Recordings enrolled by person.
        found: `Threshold`s and `Boundary`s.
    """
    set_by = min((one.enrolled for one in found if one.enrolled), default=None)
    person = max(counts, key=counts.get, default=None)
    if set_by is None or person is None or counts[person] <= MORE * set_by:
        return
    warnings.warn(
        f"{counts[person]} recordings of {person!r} are enrolled, and the rate was set by people "
        f"with {set_by} each. The nearest of more is nearer: false claims are accepted about "
        f"{counts[person] / set_by:.2g} times as often as it says. Calibrate with as many of each.",
        stacklevel=3,
    )


def warn_of_fewer(counts, found):
    """Warns of people of whom much fewer recordings are enrolled than a rate was set by, as a
    `UserWarning`.

    Args:
        counts: Recordings enrolled by person.
        found: `Threshold`s and `Boundary`s.
    """
    set_by = max((limit.enrolled for limit in found if limit.enrolled), default=None)
    if set_by is None:
        return
    fewer = [person for person, count in counts.items() if 0 < MORE * count < set_by]
    if fewer:
        warnings.warn(
            f"{counts[fewer[0]]} recordings of {fewer[0]!r} are enrolled, and the rate was set by "
            f"people with {set_by} each; {len(fewer)} of {len(counts)} people have so few. True "
            "claims are rejected more often than it says. Enroll more of each, or calibrate with "
            "as many of each.",
            stacklevel=3,
        )


def warn_of_low_tar(threshold):
    """Warns of a threshold that rejects most true claims of the people who set it, as a
    `UserWarning`.

    Args:
        threshold: `Threshold`.
    """
    if threshold.tar >= LEAST_TAR:
        return
    warnings.warn(
        f"The threshold for FAR {100 * threshold.far:g} % accepts {100 * threshold.tar:.0f} % of "
        f"the true claims of these {threshold.people} people: the gallery would reject most people "
        "who are enrolled. Set a threshold for a higher `far`, calibrate with more people, or "
        "enroll more recordings of each person.",
        stacklevel=3,
    )


def warn_of_extrapolated(thresholds):
    """Warns where the threshold of the smallest rate is no promise and others are set, as a
    `UserWarning`.

    Args:
        thresholds: `Threshold` by rate.
    """
    far = min(thresholds)
    if len(thresholds) > 1 and thresholds[far].extrapolated:
        warnings.warn(
            f"Where no `far` is given, the smallest rate that was set decides, {far:g}, and it is "
            "extrapolated beyond what its people support: no promise. Give `far`, or call "
            f"`remove_threshold({far:g})`.",
            stacklevel=3,
        )


def not_enrolled(people, sessions=None):
    """Which recordings are not enrolled when one is observed: itself, and those of its session if
    its person has others.

    Args:
        people: Person of each recording, shape `(recordings,)`.
        sessions: Session of each, or None.

    Returns:
        Booleans of shape `(observed, recordings)`.

    Raises:
        ValueError: If there is not one session a recording.
    """
    hidden = np.eye(len(people), dtype=bool)
    if sessions is None:
        return hidden
    sessions = np.array([str(one) for one in sessions])
    if len(sessions) != len(people):
        raise ValueError(
            f"`sessions` must name the session of each of the {len(people)} recordings. Received "
            f"{len(sessions)}."
        )
    for name in np.unique(people):
        rows = np.flatnonzero(people == name)
        same = sessions[rows, None] == sessions[rows]
        if not same.all():
            hidden[np.ix_(rows, rows)] = same
    return hidden


def everybodys_claims(distances, people, sessions=None):
    """Every recording as everybody's: its own person's by the other recordings of that person, of
    other sessions where there are any.

    Args:
        distances: Between all recordings, shape `(recordings, recordings)`.
        people: Person of each recording, shape `(recordings,)`.
        sessions: Session of each, or None.

    Returns:
        `(scores, probes, claims)`, each of shape `(claims,)`: the least distance to a recording of
        the person claimed, the probe's person, and the one claimed. A person's only recording makes
        no claim of its own.
    """
    names = check_people(people)
    distances = np.where(not_enrolled(people, sessions), np.inf, distances)
    scores = np.stack([distances[:, people == name].min(axis=1) for name in names], axis=1)
    probes, claimed = (x.ravel() for x in np.broadcast_arrays(people[:, None], names))
    shown = np.isfinite(scores.ravel())
    return scores.ravel()[shown], probes[shown], claimed[shown]


def calibrated(
    scores, probes, claimed, far, *, enrolled=None, groups=None, extrapolate=False, card=None
):
    """Returns the `Threshold` that accepts at most a fraction of the false claims.

    Where the people are too few to show the rate, it is that of the card, see
    `_card_thresholds.moved`.

    Args:
        scores: Output of `everybodys_claims`, as the next two.
        probes: Person of each claim's recording.
        claimed: Person of each claim.
        far: False accept rate, above 0 and below 1.
        enrolled: Recordings of a person, see `usual_count`, or None.
        groups: `{person: group}`, or None.
        extrapolate: See `keras_dml.evaluation.certificate`.
        card: Card of the model, or None.
    """
    genuine = probes == claimed
    people = probes[~genuine], claimed[~genuine]
    try:
        shown = evaluation.certificate(scores[~genuine], people, far, extrapolate=extrapolate)
    except ValueError:  # they are too few for the rate
        shown = _moved(card, far, scores[~genuine], people)
        if shown is None:
            raise
    value = shown.threshold
    rates = evaluation.accept_rates(scores, genuine, value, people=(probes, claimed))
    return Threshold(
        far=shown.far,
        value=value,
        far_ci95=shown.ci95,
        tar=rates.tar,
        tar_ci95=tuple(map(float, rates.tar_ci95)),
        people=shown.people,
        trials=shown.trials,
        independent=shown.independent,
        strictest=shown.strictest,
        method=shown.method,
        enrolled=enrolled,
        groups=() if groups is None else _by_group(scores[~genuine], people, value, groups),
    )


def _moved(card, far, scores, people):
    """`evaluation.Certificate` of a threshold that is moved from a card; None where none is."""
    limit = _card_thresholds.moved(card, far, scores, people)
    if limit is None:
        return None
    counted = evaluation.false_accepts(scores, people, limit.value)
    return evaluation.Certificate(
        far=float(far),
        threshold=limit.value,
        ci95=limit.ci95,
        people=counted.people,
        trials=counted.trials,
        independent=counted.independent,
        method=MOVED,
    )


def _by_group(scores, people, value, groups):
    """`GroupRate` of the claims within each group that has two people or more, and a `UserWarning`
    of those that have one."""
    if not isinstance(groups, Mapping):
        raise TypeError(
            "`groups` must be the group of each person, {person: group}. Received "
            f"{type(groups).__name__}."
        )
    groups = {composed(name): group for name, group in groups.items()}
    members = [np.array([groups.get(name) for name in side], object) for side in people]
    known = sorted({group for group in members[0] if group is not None}, key=str)
    if not known:
        raise ValueError(
            "`groups` must name the group of each person, {person: group}. Received a group of "
            f"none of the {len(set(people[0]))} people."
        )
    found, alone = [], []
    for group in known:
        within = (members[0] == group) & (members[1] == group)
        if not within.any():
            alone.append(group)
            continue
        own = tuple(side[within] for side in people)
        rates = evaluation.false_accepts(scores[within], own, value)
        found.append(GroupRate(str(group), rates.rate, *rates.ci95, rates.people))
    if alone:
        warnings.warn(
            f"{len(alone)} of these {len(known)} groups are of one person, such as "
            f"{str(alone[0])!r}: nobody else of them claims to be that person, so they have no "
            "rate.",
            stacklevel=4,
        )
    return tuple(found)
