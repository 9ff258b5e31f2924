"""Computes and chooses the decision thresholds of a gallery.

Calibration computes a threshold from true and false claims. The people who make the true and false
claims need not be enrolled. The model card contains thresholds. The card also describes the
distribution of distances between people who were not used in training. A gallery that was not
calibrated decides with the thresholds of the card. Calibration with few people uses two sources:
the distribution in the card, and the mean and the standard deviation of the distances between the
few people.
"""

from __future__ import annotations

import pathlib
import warnings
from collections.abc import Container, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from keras_dml import evaluation
from keras_dml import scoring as scorings
from keras_dml._contents import copies
from keras_dml._messages import Message
from keras_dml._typing import ArrayLike
from keras_dml.gallery.boundary import Boundary
from keras_dml.gallery.names import composed
from keras_dml.gallery.results import MOVED, PROVISIONAL, GroupRate, Threshold
from keras_dml.zoo import catalog, lookup

if TYPE_CHECKING:
    from keras_dml.gallery.model import GalleryModel

# With recordings of vowels, a threshold for a false accept rate of 5 % was calibrated with 2
# recordings per person. The measured false accept rate was 10 % with 4 enrolled recordings per
# person and 17 % with 8.
MORE = 1.5
LEAST_TAR = 0.5  # `warn_of_low_tar` warns if the true accept rate is lower
USUAL = 0.01  # if nothing was calibrated, the card's threshold for this false accept rate decides

# Smallest number of people for `moved`. With three people, the mean and the standard deviation are
# too uncertain.
FEWEST = 5
# `moved` multiplies the difference between the mean and the threshold by 1 + STRICTER / people.
# With this factor, the false accept rate of other people was at most the requested rate in about
# nine of ten calibrations.
STRICTER = 2.9
# Maps each requested false accept rate to the actual rate that 97.5 % of calibrations did not
# exceed. The script `tests.bench.few_people` measured the actual rates on people who were not used
# to find the rule of `moved`.
HIGHEST = {0.1: 0.25, 0.05: 0.13, 0.01: 0.055}


def check_people(people: np.ndarray) -> np.ndarray:
    """Checks that there are at least two people, and that at least one person has two recordings.

    Args:
        people: Name of the person of each recording, shape `(recordings,)`.

    Returns:
        The names of the people, sorted.

    Raises:
        ValueError: If there are fewer than two people, or if no person has two recordings.
    """
    names, counts = np.unique(people, return_counts=True)
    if len(names) < 2 or counts.max() < 2:
        raise ValueError(
            f"Received {len(names)} people with at most {counts.max()} recordings each. To set a "
            "threshold, give several recordings of each of at least two people."
        )
    return names


def warn_of_trained(trained: Container[str], people: np.ndarray) -> None:
    """Emits a `UserWarning` if the model was trained with some of the people.

    Args:
        trained: Names of the people with whom the model was trained.
        people: Name of the person of each recording, shape `(recordings,)`.
    """
    names = [str(name) for name in np.unique(people)]
    seen = [name for name in names if name in trained]
    if seen:
        warnings.warn(
            f"The model was trained with {len(seen)} of these {len(names)} people, such as "
            f"{seen[0]!r}. The model may separate these people better than other people, so this "
            "threshold may accept other people more often than its rate. Calibrate with people "
            "who were not used to train the model.",
            stacklevel=3,
        )


def without_copies(
    recordings: list[Any], people: np.ndarray, sessions: ArrayLike | None = None
) -> tuple[list[Any], np.ndarray, ArrayLike | None]:
    """Removes repeated recordings and emits a `UserWarning`.

    A recording that is given twice for one person counts once. A recording that is given for two
    people is removed for both people.

    Args:
        recordings: List of arrays.
        people: Name of the person of each recording, shape `(recordings,)`.
        sessions: Session of each recording, or None.

    Returns:
        The remaining recordings, people and sessions.
    """
    first = copies(recordings)
    if not first:
        return recordings, people, sessions
    of_two = {original for i, original in first.items() if people[i] != people[original]}
    left_out = first.keys() | of_two
    i, original = next(iter(first.items()))
    exclusion = f". {len(of_two)} recordings of two people are left out" if of_two else ""
    warnings.warn(
        f"{len(first)} of these {len(recordings)} recordings occur twice, such as a recording of "
        f"{str(people[original])!r} that equals a recording of {str(people[i])!r}. A repeated "
        f"recording counts once{exclusion}.",
        stacklevel=3,
    )
    rows = [i for i in range(len(recordings)) if i not in left_out]
    if sessions is not None and len(sessions) == len(recordings):
        sessions = [sessions[i] for i in rows]
    return [recordings[i] for i in rows], people[rows], sessions


def usual_count(people: np.ndarray) -> int:
    """Returns the median number of recordings per person.

    Args:
        people: Name of the person of each recording, shape `(recordings,)`.
    """
    return int(np.median(np.unique(people, return_counts=True)[1]))


def warn_of_more(counts: dict[str, int], limits: Iterable[Threshold | Boundary]) -> None:
    """Emits a `UserWarning` if a person has far more recordings than the calibration people.

    Args:
        counts: Number of enrolled recordings of each person, `{person: number}`.
        limits: Thresholds of the gallery, for `verify` and `listen`.
    """
    set_by = min((limit.enrolled for limit in limits if limit.enrolled), default=None)
    person = max(counts, key=lambda name: counts[name], default=None)
    if set_by is None or person is None or counts[person] <= MORE * set_by:
        return
    warnings.warn(
        f"{counts[person]} recordings of {person!r} are enrolled, but the threshold was set with "
        f"{set_by} recordings per person. If more recordings are enrolled, the nearest of them is "
        f"closer, so false claims are accepted about {counts[person] / set_by:.2g} times as often "
        "as the false accept rate of the threshold states. Calibrate with as many recordings per "
        "person as are enrolled.",
        stacklevel=3,
    )


def warn_of_fewer(counts: dict[str, int], limits: Iterable[Threshold | Boundary]) -> None:
    """Emits a `UserWarning` if people have far fewer recordings than the calibration people.

    Args:
        counts: Number of enrolled recordings of each person, `{person: number}`.
        limits: Thresholds of the gallery, for `verify` and `listen`.
    """
    set_by = max((limit.enrolled for limit in limits if limit.enrolled), default=None)
    if set_by is None:
        return
    fewer = [person for person, count in counts.items() if 0 < MORE * count < set_by]
    if fewer:
        warnings.warn(
            f"{counts[fewer[0]]} recordings of {fewer[0]!r} are enrolled, but the threshold was "
            f"set with {set_by} recordings per person. {len(fewer)} of {len(counts)} people have "
            "so few recordings that their true claims are rejected more often than the true accept "
            "rate of the threshold states. Enroll more recordings per person, or calibrate with "
            "as few recordings per person as are enrolled.",
            stacklevel=3,
        )


def warn_of_low_tar(threshold: Threshold) -> None:
    """Emits a `UserWarning` if a threshold rejects most genuine claims in the calibration.

    Args:
        threshold: The threshold.
    """
    if threshold.tar >= LEAST_TAR:
        return
    warnings.warn(
        Message(
            "The threshold for FAR {percent:g} % accepts {accepted:.0f} % of the true claims of "
            "these {people} people. With this threshold, the gallery rejects most true claims of "
            "enrolled people. Set a threshold for a higher {far}, calibrate with more people, or "
            "enroll more recordings of each person.",
            percent=100 * threshold.far,
            accepted=100 * threshold.tar,
            people=threshold.people,
        ),
        stacklevel=3,
    )


def warn_of_extrapolated(thresholds: dict[float, Threshold]) -> None:
    """Emits a `UserWarning` if several rates have thresholds and the threshold for the smallest
    rate is extrapolated.

    Args:
        thresholds: Thresholds that were set, `{false accept rate: threshold}`.
    """
    far = min(thresholds)
    if len(thresholds) > 1 and thresholds[far].extrapolated:
        warnings.warn(
            Message(
                "If {far} is not set, decisions use the threshold for the smallest rate, which is "
                "{rate:g}. The calibration had too few people for this rate. Therefore its "
                "threshold is extrapolated, and the rate is not guaranteed. Set {far}, or remove "
                "this threshold by {remove_threshold()}.",
                rate=far,
            ),
            stacklevel=3,
        )


def not_enrolled(people: np.ndarray, sessions: ArrayLike | None = None) -> np.ndarray:
    """Returns which pairs of recordings must not be compared in a calibration.

    A recording is not compared with itself. If a person has recordings from several sessions, two
    recordings from the same session are not compared.

    Args:
        people: Name of the person of each recording, shape `(recordings,)`.
        sessions: Session of each recording, or None.

    Returns:
        Booleans of shape `(recordings, recordings)`. True for pairs that are not compared.

    Raises:
        ValueError: If the number of sessions differs from the number of recordings.
    """
    hidden = np.eye(len(people), dtype=bool)
    if sessions is None:
        return hidden
    sessions = np.array([str(session) for session in sessions])
    if len(sessions) != len(people):
        raise ValueError(
            Message(
                "{sessions} has length {count}, but it must name the session of each of the "
                "{expected} recordings.",
                count=len(sessions),
                expected=len(people),
            )
        )
    for name in np.unique(people):
        rows = np.flatnonzero(people == name)
        in_session = sessions[rows, None] == sessions[rows]
        if not in_session.all():
            hidden[np.ix_(rows, rows)] = in_session
    return hidden


def everybodys_claims(
    model: GalleryModel,
    scoring: scorings.Scoring,
    embeddings: np.ndarray,
    people: np.ndarray,
    sessions: ArrayLike | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Computes the scores of all claims that a recording belongs to a person.

    A claim is genuine if the recording belongs to the claimed person, and false otherwise. For a
    genuine claim, the recording is compared with the person's other recordings. If the person has
    recordings from other sessions, the recording is compared only with recordings from other
    sessions. A person with only one recording makes no genuine claim.

    Args:
        model: Model that computed the embeddings.
        scoring: Scoring of the gallery.
        embeddings: Embeddings of all recordings, shape `(recordings, ...)`.
        people: Name of the person of each recording, shape `(recordings,)`.
        sessions: Session of each recording, or None.

    Returns:
        `(scores, probes, claims)`, three arrays of shape `(claims,)`. `probes` contains the person
        who made the recording, and `claims` contains the claimed person.
    """
    names = check_people(people)
    enrolled = ~not_enrolled(people, sessions)
    order = np.argsort(people, kind="stable")
    _, counts = np.unique(people, return_counts=True)
    singles = scoring.summary(model, embeddings, np.ones(len(people), int))
    everybody = scoring.summary(model, embeddings[order], counts)
    scores = scoring.compare(model, singles, everybody)  # (recordings, names)
    for column, name in enumerate(names):
        rows = np.flatnonzero(people == name)
        scores[rows, column] = _genuine_scores(
            model, scoring, embeddings[rows], enrolled[np.ix_(rows, rows)]
        )
    probes, claimed = (x.ravel() for x in np.broadcast_arrays(people[:, None], names))
    is_claim = np.isfinite(scores.ravel())
    return scores.ravel()[is_claim], probes[is_claim], claimed[is_claim]


def _genuine_scores(model, scoring, embeddings, enrolled):
    """Computes the score of each recording of a person against the person's other recordings.

    Args:
        model: Model that computed the embeddings.
        scoring: Scoring of the gallery.
        embeddings: Embeddings of the person, shape `(recordings, ...)`.
        enrolled: True at `(i, j)` if recording i is compared with recording j, shape `(recordings,
            recordings)`.

    Returns:
        Scores, shape `(recordings,)`. A score is infinite if no recording can be compared.
    """
    scores = np.full(len(embeddings), np.inf)
    rows = np.flatnonzero(enrolled.any(axis=1))
    if len(rows):
        stored = np.concatenate([embeddings[enrolled[row]] for row in rows])
        singles = scoring.summary(model, embeddings[rows], np.ones(len(rows), int))
        references = scoring.summary(model, stored, enrolled[rows].sum(axis=1))
        scores[rows] = np.diagonal(scoring.compare(model, singles, references))
    return scores


def imposter_medians(
    model: GalleryModel, scoring: scorings.Scoring, embeddings: np.ndarray, people: np.ndarray
) -> np.ndarray:
    """Computes the median score of each recording against the single recordings of each other
    person.

    Args:
        model: Model that computed the embeddings.
        scoring: Scoring of the gallery.
        embeddings: Embeddings of all recordings, shape `(recordings, ...)`.
        people: Name of the person of each recording, shape `(recordings,)`.

    Returns:
        Median scores, shape `(claims,)`, with one claim for each recording and other person.
    """
    medians = []
    for name in np.unique(people):
        is_own = people == name
        probes, stored = (
            scoring.summary(model, z, np.ones(len(z), int))
            for z in (embeddings[~is_own], embeddings[is_own])
        )
        medians.append(np.median(scoring.compare(model, probes, stored), axis=1))
    return np.concatenate(medians)


def claimed_recordings(people: np.ndarray, sessions: ArrayLike | None = None) -> np.ndarray:
    """Returns the number of the recording of each claim of `everybodys_claims`.

    Args:
        people: Name of the person of each recording, shape `(recordings,)`.
        sessions: Session of each recording, or None.
    """
    has_own = ((people[:, None] == people) & ~not_enrolled(people, sessions)).any(axis=1)
    return np.repeat(np.arange(len(people)), len(np.unique(people)) - 1 + has_own)


def calibrated(
    scores: np.ndarray,
    probes: np.ndarray,
    claimed: np.ndarray,
    far: float,
    *,
    enrolled: int | None = None,
    groups: Mapping[Any, Any] | None = None,
    extrapolate: bool = False,
    card: dict[str, Any] | None = None,
) -> Threshold:
    """Computes the threshold for a false accept rate from the scores of claims.

    If there are too few people for the rate, the threshold in the model card is adapted, see
    `moved`.

    Args:
        scores: Scores of the claims, see `everybodys_claims`.
        probes: Person who made the recording of each claim.
        claimed: Claimed person of each claim.
        far: False accept rate, above 0 and below 1.
        enrolled: Median number of recordings per person, see `usual_count`, or None.
        groups: Group of each person, `{person: group}`, or None if there are no groups.
        extrapolate: Whether to extrapolate the threshold if there are too few people for the rate,
            see `keras_dml.evaluation.certificate`.
        card: Card of the model, or None.

    Raises:
        ValueError: If there are too few people for the rate, and the card cannot be used either.
    """
    genuine = probes == claimed
    people = probes[~genuine], claimed[~genuine]
    try:
        certificate = evaluation.certificate(scores[~genuine], people, far, extrapolate=extrapolate)
    except ValueError:  # the people are too few for the rate
        certificate = _moved_certificate(card, far, scores[~genuine], people)
        if certificate is None:
            raise
    value = certificate.threshold
    rates = evaluation.accept_rates(scores, genuine, value, people=(probes, claimed))
    return Threshold(
        far=certificate.far,
        value=value,
        far_ci95=certificate.ci95,
        tar=rates.tar,
        tar_ci95=tuple(map(float, rates.tar_ci95)),
        people=certificate.people,
        trials=certificate.trials,
        independent=certificate.independent,
        strictest=certificate.strictest,
        method=certificate.method,
        enrolled=enrolled,
        groups=() if groups is None else _group_rates(scores[~genuine], people, value, groups),
    )


def _moved_certificate(card, far, scores, people):
    """Returns the result of `moved` as an `evaluation.Certificate`, or None if `moved` returns
    None."""
    limit = moved(card, far, scores, people)
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


def _group_rates(scores, people, value, groups):
    """Returns the `GroupRate` of each group with at least two people.

    Emits a `UserWarning` if a group has only one person.
    """
    if not isinstance(groups, Mapping):
        raise TypeError(
            Message(
                "{groups} is of type {type}, but it must be a dictionary {{person: group}}.",
                type=type(groups).__name__,
            )
        )
    groups = {composed(name): group for name, group in groups.items()}
    members = [np.array([groups.get(name) for name in side], object) for side in people]
    names = sorted({group for group in members[0] if group is not None}, key=str)
    if not names:
        raise ValueError(
            Message(
                "{groups} names none of the {count} people, but it must name the group of each "
                "person, {{person: group}}.",
                count=len(set(people[0])),
            )
        )
    group_rates, single = [], []
    for group in names:
        within = (members[0] == group) & (members[1] == group)
        if not within.any():
            single.append(group)
            continue
        pairs = tuple(side[within] for side in people)
        rates = evaluation.false_accepts(scores[within], pairs, value)
        group_rates.append(GroupRate(str(group), rates.rate, *rates.ci95, rates.people))
    if single:
        warnings.warn(
            f"{len(single)} of these {len(names)} groups have only one person, such as "
            f"{str(single[0])!r}. A group with one person has no false accept rate, because "
            "nobody else in the group claims to be that person.",
            stacklevel=4,
        )
    return tuple(group_rates)


def provisional(card: dict[str, Any] | None) -> dict[float, Threshold]:
    """Returns the thresholds in a model card, `{false accept rate: threshold}`.

    `Threshold.confident` is the card's threshold for the next smaller rate.

    Args:
        card: Card of a model, or None.

    Returns:
        The thresholds. Empty if the card has no thresholds.
    """
    thresholds, confident = {}, None
    for row in sorted((card or {}).get("thresholds", []), key=lambda row: row["far"]):
        stricter = None if confident is None else min(confident, row["value"])
        thresholds[row["far"]] = _of_row(row, stricter)
        confident = row["value"]
    return thresholds


def provisional_by_name(
    model: str | None, scoring: str = scorings.DEFAULT
) -> dict[float, Threshold]:
    """Returns the thresholds in the card of a named model. Does not load the model.

    Args:
        model: Name or path of the model, as a gallery stores it. If None, the function returns an
            empty dict.
        scoring: Name of the gallery's scoring.
    """
    card = card_by_name(model)
    if card is None:
        return {}
    file = pathlib.Path(model) if lookup.is_path(model) else None
    card = scorings.card_for(card, scoring)
    if file is not None and file.suffix == lookup.EDGE_SUFFIX:
        # The thresholds hold for the file that the card names, not for a file with other weights.
        return provisional(card) if card.get("edge", {}).get("file") == file.name else {}
    return provisional(card)


def card_by_name(model: str | None) -> dict[str, Any] | None:
    """Returns the card of a named model, or None if there is no card. Does not load the model.

    Args:
        model: Name or path of the model, as a gallery stores it, or None.
    """
    if model is None:
        return None
    if lookup.is_path(model) and (file := pathlib.Path(model)).is_file():
        model = file.parent
    try:
        return catalog.card(model)
    except (OSError, ValueError):  # the model has no card, or does not exist any more
        return None


class Moved(NamedTuple):
    """Threshold of a model card after it was adapted to the distances between a few people.

    Attributes:
        value: The threshold, which is a distance.
        ci95: Interval of the actual false accept rate. The interval begins at 0. In 97.5 % of
            calibrations with other people, the rate did not exceed the end of the interval.
    """

    value: float
    ci95: tuple[float, float]


def moved(
    card: dict[str, Any] | None,
    far: float,
    scores: np.ndarray,
    people: tuple[np.ndarray, np.ndarray],
) -> Moved | None:
    """Adapts the threshold in a model card to the false claims of few people.

    The threshold is `t = m + (1 + 2.9 / n) (q - m') s / s'`. Here n is the number of people, and m
    and s are the mean and the standard deviation of the scores for their false claims. The card
    contains the threshold q for the rate, and the mean m' and the standard deviation s' of imposter
    scores.

    Args:
        card: Card of the model, or None.
        far: False accept rate.
        scores: Scores of false claims, shape `(claims,)`.
        people: Two arrays of shape `(claims,)`: the person who made the recording of each claim,
            and the claimed person.

    Returns:
        The threshold. None if the card lacks imposter scores or a threshold for `far`. The result
        is also None if `HIGHEST` has no entry for `far`, or if there are fewer than `FEWEST`
        people.
    """
    imposters, limits = (card or {}).get("imposters"), provisional(card)
    count = len(np.unique(np.concatenate(people)))
    if imposters is None or far not in limits or far not in HIGHEST or count < FEWEST:
        return None
    scale = (1 + STRICTER / count) * np.std(scores) / imposters["stddev"]
    value = float(np.mean(scores) + scale * (limits[far].value - imposters["mean"]))
    return Moved(value, (0.0, HIGHEST[far]))


def _of_row(row, confident):
    certificate = row.get("certificate", {})
    return Threshold(
        far=row["far"],
        value=row["value"],
        far_ci95=tuple(certificate.get("ci95") or row["far_ci95"]),
        tar=row["tar"],
        tar_ci95=tuple(row["tar_ci95"]),
        people=row["people"],
        trials=row["trials"],
        independent=certificate.get("independent", row["people"] / 2),
        strictest=certificate.get("strictest", row["far"]),
        method=PROVISIONAL,
        enrolled=row["enrolled"],
        confident=confident,
    )


def choose_threshold(
    thresholds: dict[float, Threshold],
    far: float | None,
    card_thresholds: dict[float, Threshold],
) -> Threshold:
    """Returns the `Threshold` for a false accept rate.

    Args:
        thresholds: Calibrated thresholds, `{false accept rate: threshold}`.
        far: The false accept rate. Default: the smallest calibrated rate. If nothing was calibrated
            and the card has a threshold for the rate `USUAL`, the default is `USUAL`.
        card_thresholds: Thresholds of the model card, `{false accept rate: threshold}`. The
            function uses the card's thresholds if nothing was calibrated.

    Raises:
        ValueError: If neither the gallery nor the card has a threshold for the rate `far`.
    """
    if not thresholds and not card_thresholds:
        raise ValueError(
            Message(
                "No threshold is set, and the card of the model has no threshold. Use "
                "{calibrate()} with recordings of people who were not used to train the model, or "
                "set {threshold}."
            )
        )
    if not thresholds:
        thresholds = card_thresholds
        far = USUAL if far is None and USUAL in card_thresholds else far
    if far is not None and far not in thresholds:
        raise ValueError(not_calibrated(far, thresholds))
    return thresholds[min(thresholds) if far is None else far]


def choose_boundary(boundaries: dict[float, Boundary], far: float | None) -> Boundary:
    """Returns the decision threshold of `listen` for a false match rate.

    Args:
        boundaries: Decision thresholds that `calibrate_listening` has set, `{false match rate:
            Boundary}`.
        far: The false match rate. Default: the smallest rate in `boundaries`.

    Raises:
        ValueError: If `boundaries` has no entry for the rate `far`, or an earlier version of the
            library set the entry.
    """
    if not boundaries:
        raise ValueError(
            Message(
                "The gallery has no threshold for listening. Use {calibrate_listening()} with "
                "recordings of people who were not used to train the model."
            )
        )
    if far is not None and far not in boundaries:
        raise ValueError(
            Message(
                "{far} is {value!r}, but it must be a rate that was set: {rates}.",
                value=far,
                rates=", ".join(f"{rate:g}" for rate in boundaries),
            )
        )
    boundary = boundaries[min(boundaries) if far is None else far]
    if boundary.accepts_by == "mean":
        raise ValueError(
            Message(
                "The decision threshold for FAR {percent:g} % was set by an earlier version of "
                "keras-dml, which compared the threshold with mean scores. If an imposter repeats "
                "one window, the FAR of this threshold is higher. Set the threshold again by "
                "{calibrate_listening()}.",
                percent=100 * boundary.far,
            )
        )
    return boundary


def not_calibrated(far: float, thresholds: Iterable[float]) -> Message:
    """Returns the error message for a false accept rate without a calibrated threshold."""
    return Message(
        "{far} is {value!r}, but it must be a rate that was calibrated: {rates}.",
        value=far,
        rates=", ".join(f"{rate:g}" for rate in thresholds) or "there is none",
    )
