"""Protocols of experiments that draw trials from distances between recordings.

`paper_protocol` is the protocol of Abdelwahab2019, and `session_protocol` is stricter. Both draw
enrolled and observed recordings `repetitions` times. Each figure is a mean over these draws with
its standard error, which measures the variation of the draws and not of the training.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import NamedTuple, TypedDict

import numpy as np

from keras_dml._arrays import real
from keras_dml._typing import ArrayLike
from keras_dml.evaluation._checks import check_finite
from keras_dml.evaluation._identification import identification, imposters
from keras_dml.evaluation._verification import verification_figures
from keras_dml.evaluation.splits import (
    Enrollment,
    half_up,
    random_enrollments,
    session_enrollments,
)

FRACTIONS = (0.1, 0.25, 0.5, 1.0)  # of the test people enrolled (Abdelwahab2019, Figs. 3, 6, 8)
MAX_FRACTION_WITH_IMPOSTERS = 0.5  # half of the people are imposters


class Record(TypedDict):
    """Figure of a protocol, as `figures` of a model card contain it.

    Attributes:
        protocol: Name of the protocol, such as `verification` or `session_identification`.
        n: Number of observed recordings of a probe.
        metric: Name of the figure, such as `eer` or `accuracy`.
        value: Mean over the repetitions, a fraction.
        stderr: Standard error of the mean.
        trials: Number of trials of one repetition.
        fraction: Fraction of the people that are enrolled; None for verification.
        people: Number of people evaluated.
        left_out: Number of people with too few recordings.
        repetitions: Number of draws.
    """

    protocol: str
    n: int
    metric: str
    value: float
    stderr: float
    trials: int
    fraction: float | None
    people: int
    left_out: int
    repetitions: int


class Trials(NamedTuple):
    """Verification trials of all repetitions, as `evaluation.verification` takes them.

    Attributes:
        scores: Distances, shape `(repetitions, probes, claims)`.
        genuine: Whether probe and claim are one person, same shape.
        people: The probe ids, shape `(probes, 1)`, and the claimed ids, shape `(claims,)`.
    """

    scores: np.ndarray
    genuine: np.ndarray
    people: tuple[np.ndarray, np.ndarray]


def paper_protocol(
    distances: ArrayLike,
    subjects: ArrayLike,
    *,
    observed: int = 5,
    repetitions: int = 10,
    seed: int = 0,
    n: Sequence[int] = (1, 2, 3, 4, 5),
    fractions: Sequence[float] = FRACTIONS,
) -> list[Record]:
    """Computes the figures of Abdelwahab2019 (section 5.2), with recordings enrolled at random.

    For each person `observed` recordings are drawn at random, and all other recordings are
    enrolled. The score of probe a against person j is the mean over the first n observed recordings
    of a of the distance to the nearest enrolled recording of j.

    - *verification*: all pairs (a, j) with one threshold. Figures: AUC, EER and, if there are
      enough imposter trials, TAR at FAR 1 % and 0.1 %.
    - *identification*: for each fraction f, max(2, round(f S)) of the S people. Figure: accuracy.
    - *imposters*: half of the people are never enrolled. For each fraction f <= 0.5, round(f S) of
      the remaining people are enrolled, at most all of them. Figures: AUC of the distance to the
      nearest person, and misidentification rate.

    Args:
        distances: Distances between all recordings of all test people, shape
            `(recordings, recordings)`, observed in rows and enrolled in columns. The matrix need
            not be symmetric.
        subjects: Person of each recording, shape `(recordings,)`.
        observed: Number of recordings observed of each person. People with at most this number of
            recordings are left out.
        repetitions: Number of draws, at least 2 for a standard error.
        seed: Seed of all draws.
        n: Numbers of observed recordings that are evaluated, each at most `observed`.
        fractions: Fractions of the people, each above 0 and at most 1.

    Returns:
        List of `Record`.

    Raises:
        ValueError: If shapes do not fit, a distance is not finite, `n` exceeds `observed`, a
            fraction is out of range, or fewer than two people have enough recordings.
    """
    distances = _check_request(distances, subjects, observed, repetitions, n, fractions)
    draws = random_enrollments(subjects, observed=observed, repetitions=repetitions, seed=seed)
    return _records(distances, draws, n, fractions, seed, prefix="")


def session_protocol(
    distances: ArrayLike,
    subjects: ArrayLike,
    sessions: ArrayLike,
    *,
    observed: int = 5,
    repetitions: int = 10,
    seed: int = 0,
    n: Sequence[int] = (1, 2, 3, 4, 5),
    fractions: Sequence[float] = FRACTIONS,
) -> list[Record]:
    """Computes the figures of `paper_protocol` with earlier sessions enrolled, the latest observed.

    This protocol is stricter than the paper's, because recordings of one session share sensor
    placement and clothing. Report the figures of both protocols. All earlier recordings are
    enrolled in every repetition. The observed recordings of the latest session and the subsets of
    people are drawn. If the latest session of everybody has exactly `observed` recordings, all
    repetitions observe the same recordings, and figures of verification at n = `observed` have the
    standard error 0.

    Args:
        distances: See `paper_protocol`.
        subjects: See `paper_protocol`.
        sessions: Session of each recording, shape `(recordings,)`; numbers or strings that sort
            chronologically. Sessions are compared only within a person.
        observed: Number of recordings observed of each person. People with fewer recordings in the
            latest session, or with one session only, are left out.
        repetitions: See `paper_protocol`.
        seed: See `paper_protocol`.
        n: See `paper_protocol`.
        fractions: See `paper_protocol`.

    Returns:
        List of `Record`, with the `protocol` names `session_verification`,
        `session_identification` and `session_imposters`.

    Raises:
        ValueError: See `paper_protocol`; or if `sessions` does not fit `subjects`.
    """
    distances = _check_request(distances, subjects, observed, repetitions, n, fractions)
    draws = session_enrollments(
        subjects, sessions, observed=observed, repetitions=repetitions, seed=seed
    )
    return _records(distances, draws, n, fractions, seed, prefix="session_")


def score_matrices(distances: ArrayLike, enrollment: Enrollment) -> np.ndarray:
    """Computes scores of every probe against every person, for each number of observed recordings.

    Entry [n-1, a, j] is the mean, over the first n observed recordings of person a, of the distance
    to the nearest enrolled recording of person j.

    Args:
        distances: Shape `(recordings, recordings)`, observed in rows.
        enrollment: Enrolled and observed recordings.

    Returns:
        Scores, shape `(observed, people, people)`.
    """
    people, observed = enrollment.observed.shape
    starts = np.cumsum([0, *(len(rows) for rows in enrollment.enrolled[:-1])])
    block = distances[np.ix_(enrollment.observed.ravel(), np.concatenate(enrollment.enrolled))]
    nearest = np.minimum.reduceat(block, starts, axis=1).reshape(people, observed, people)
    means = np.cumsum(nearest, axis=1) / np.arange(1, observed + 1)[:, None]
    return means.transpose(1, 0, 2)


def verification_trials(
    distances: ArrayLike, enrollments: Sequence[Enrollment], *, n: int = 1
) -> Trials:
    """Returns verification trials of draws, for curves, thresholds and bootstrap intervals.

    Args:
        distances: Shape `(recordings, recordings)`, observed in rows.
        enrollments: Draws of `splits` for the same people. Pass a single draw if trials should not
            repeat pairs of people.
        n: Number of observed recordings of a probe.

    Returns:
        `Trials`. Pass them on as
        `verification(t.scores, t.genuine, people=t.people, bootstrap=1000)`.

    Raises:
        ValueError: If `n` exceeds the number of observed recordings.
    """
    people, observed = enrollments[0].people, enrollments[0].observed.shape[1]
    if not 1 <= n <= observed:
        raise ValueError(f"`n` must lie between 1 and the {observed} observed. Received {n}.")
    distances = real("`distances`", distances)
    scores = np.stack([score_matrices(distances, draw)[n - 1] for draw in enrollments])
    genuine = np.broadcast_to(np.eye(people.size, dtype=bool), scores.shape)
    return Trials(scores, genuine, (people[:, None], people))


def mean_and_standard_error(values: Sequence[float]) -> tuple[float, float]:
    """Returns the mean and the standard error, sd / sqrt(count) with ddof = 1.

    Abdelwahab2019 writes "standard deviations" in its text and "standard error" in its tables. This
    is the standard error.
    """
    # `statistics` is exact: equal values have a standard error of 0, not of 1e-18
    return statistics.fmean(values), statistics.stdev(values) / len(values) ** 0.5


def identified_people(fraction: float, people: int) -> int:
    """Returns the number of people to identify among: max(2, round(f S)), halves rounded up."""
    return max(2, half_up(fraction * people))


def enrolled_beside_imposters(fraction: float, people: int) -> int:
    """Returns the number of people enrolled if half of the people are imposters.

    It is round(f S), at least 1 and at most the number of people who are not imposters.
    """
    return min(max(1, half_up(fraction * people)), people - people // 2)


def _records(distances, enrollments, n, fractions, seed, prefix):
    values, trials = {}, {}
    for repetition, enrollment in enumerate(enrollments):
        scores = score_matrices(distances, enrollment)
        for key, value, count in _figures(scores, n, fractions, [seed, repetition, 1]):
            values.setdefault(key, []).append(value)
            trials[key] = count
    records = []
    for (protocol, count, metric, fraction), repeated in values.items():
        mean, error = mean_and_standard_error(repeated)
        records.append(
            {
                "protocol": prefix + protocol,
                "n": count,
                "metric": metric,
                "value": mean,
                "stderr": error,
                "trials": trials[protocol, count, metric, fraction],
                "fraction": fraction,
                "people": len(enrollments[0].people),
                "left_out": len(enrollments[0].left_out),
                "repetitions": len(enrollments),
            }
        )
    return records


def _figures(score_matrices, n, fractions, seed):
    """Yields ((protocol, n, metric, fraction), value, trials) of one repetition.

    Subsets of people are drawn once for all n. The subset of a fraction contains the subsets of
    smaller fractions.
    """
    people = score_matrices.shape[1]
    rng = np.random.default_rng(seed)
    members, shuffled = rng.permutation(people), rng.permutation(people)
    strangers, enrollable = np.split(shuffled, [people // 2])
    for count in n:
        scores = score_matrices[count - 1]
        verified = verification_figures(scores, np.eye(people, dtype=bool))
        rates = {"auc": verified.auc, "eer": verified.eer}
        rates |= {
            f"tar_at_far_{far:g}": point.tar
            for far, point in verified.tar_at_far.items()
            if point.measurable
        }
        for metric, value in rates.items():
            yield ("verification", count, metric, None), value, scores.size
        for fraction in fractions:
            some = members[: identified_people(fraction, people)]
            identified = identification(scores[np.ix_(some, some)], some, some)
            key = ("identification", count, "accuracy", fraction)
            yield key, identified.accuracy, identified.trials
        for fraction in (f for f in fractions if f <= MAX_FRACTION_WITH_IMPOSTERS):
            enrolled = enrollable[: enrolled_beside_imposters(fraction, people)]
            probes = np.concatenate([enrolled, strangers])
            figures = imposters(scores[np.ix_(probes, enrolled)], probes, enrolled)
            for metric in ("auc", "misidentification"):
                yield ("imposters", count, metric, fraction), getattr(figures, metric), probes.size


def _check_request(distances, subjects, observed, repetitions, n, fractions):
    distances = real("`distances`", distances, np.float64)
    recordings = len(subjects)
    if distances.shape != (recordings, recordings):
        raise ValueError(
            "`distances` must have shape (recordings, recordings), `subjects` one entry for each "
            f"recording. Received shapes {distances.shape} and ({recordings},)."
        )
    check_finite("distances", distances)
    if repetitions < 2:
        raise ValueError(f"A standard error needs `repetitions` >= 2. Received {repetitions}.")
    if not n or min(n) < 1 or max(n) > observed:
        raise ValueError(
            f"Each `n` must lie between 1 and `observed` = {observed}, since it is a number of "
            f"observed recordings. Received n={tuple(n)}. Raise `observed` or lower `n`."
        )
    if not all(0.0 < fraction <= 1.0 for fraction in fractions):
        raise ValueError(
            f"Each of `fractions` must be above 0 and at most 1. Received {tuple(fractions)}."
        )
    return distances
