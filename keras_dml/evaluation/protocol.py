"""Computes the metrics of evaluation protocols. A protocol chooses trials from the distances
between recordings.

`paper_protocol` is the protocol of Abdelwahab2019, and `session_protocol` is a stricter protocol.
Each function draws enrolled and observed recordings `repetitions` times. Each metric is a mean over
the draws, and has a standard error. The standard error measures the variation between draws, not
the variation between training runs.
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

# Fractions of the test people that are enrolled (Abdelwahab2019, Figs. 3, 6, 8).
FRACTIONS = (0.1, 0.25, 0.5, 1.0)
MAX_FRACTION_WITH_IMPOSTERS = 0.5  # half of the people are imposters


class Record(TypedDict):
    """Metric of a protocol, with the same keys as an entry of `figures` in a model card.

    Attributes:
        protocol: Name of the protocol, such as `verification` or `session_identification`.
        n: Number of observed recordings per probe.
        metric: Name of the metric, such as `eer` or `accuracy`.
        value: Mean over the repetitions, as a fraction.
        stderr: Standard error of the mean.
        trials: Number of trials of one repetition.
        fraction: Fraction of the people that are enrolled, or None for verification.
        people: Number of evaluated people.
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
    """Verification trials of all repetitions, with the shapes that `evaluation.verification`
    accepts.

    Attributes:
        scores: Distances, shape `(repetitions, probes, claims)`.
        genuine: Booleans in the shape of `scores`, True if the probe person is the claimed person.
        people: Tuple `(probe_ids, claimed_ids)` of arrays with shapes `(probes, 1)` and
            `(claims,)`.
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
    """Computes the metrics of Abdelwahab2019 (section 5.2), with randomly chosen enrollments.

    For each person, `observed` recordings are drawn at random as probes, and the other recordings
    are enrolled. The score of probe person `a` and enrolled person `j` is computed in two steps.
    First, the distance from each of the first n observed recordings of `a` to the nearest enrolled
    recording of `j` is computed. The score is the mean of the n distances.

    - *verification* uses all pairs (a, j) and one threshold. The metrics are AUC and EER. If there
      are enough imposter trials, the TAR at a FAR of 1 % and of 0.1 % is also reported.
    - *identification* enrolls only a part of the S people. For each fraction f, max(2, round(f S))
      people are drawn and enrolled. The metric is the accuracy.
    - *imposters* uses one half of the people as imposters, who are never enrolled. For each
      fraction f <= 0.5, round(f S) people of the other half are enrolled. If the other half has
      fewer people, all its people are enrolled. The metrics are the AUC of the distance to the
      nearest person, and the misidentification rate.

    Args:
        distances: Distances between all recordings of all test people, shape
            `(recordings, recordings)`, with observed recordings in rows and enrolled recordings in
            columns. The matrix need not be symmetric.
        subjects: Id of the person of each recording, shape `(recordings,)`.
        observed: Number of observed recordings per person. People with at most `observed`
            recordings are left out.
        repetitions: Number of draws. At least 2 draws are needed for a standard error.
        seed: Seed of all draws.
        n: Numbers of observed recordings per probe for which metrics are computed, each at most
            `observed`.
        fractions: Fractions f of the people to enroll, each above 0 and at most 1.

    Returns:
        List of `Record`, one for each metric.

    Raises:
        ValueError: If the shapes of `distances` and `subjects` do not fit together, if a distance
            is not finite, if a value of `n` exceeds `observed`, if a fraction is out of range, or
            if fewer than two people have enough recordings.
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
    """Computes the metrics of `paper_protocol` with probes from a later session.

    `session_protocol` is stricter than `paper_protocol`, because recordings of one session share
    sensor placement and clothing. Report the metrics of the two protocols together. In every
    repetition, all recordings of earlier sessions are enrolled. The subsets of people, and the
    observed recordings from the latest session, are drawn at random. If the latest session of each
    person has exactly `observed` recordings, all repetitions use the same observed recordings.
    Without a random choice, the standard error of the verification metrics at n = `observed` is 0.

    Args:
        distances: Distances between all recordings of all test people, shape
            `(recordings, recordings)`, with observed recordings in rows and enrolled recordings in
            columns.
        subjects: Id of the person of each recording, shape `(recordings,)`.
        sessions: Session of each recording, shape `(recordings,)`. The sessions are numbers or
            strings that sort chronologically. The order matters only among sessions of the same
            person.
        observed: Number of observed recordings per person. People who have fewer than `observed`
            recordings in the latest session, or only one session, are left out.
        repetitions: Number of draws. At least 2 draws are needed for a standard error.
        seed: Seed of all draws.
        n: Numbers of observed recordings per probe for which metrics are computed, each at most
            `observed`.
        fractions: Fractions of the people to enroll, each above 0 and at most 1.

    Returns:
        List of `Record`. The values of `protocol` are `session_verification`,
        `session_identification` and `session_imposters`.

    Raises:
        ValueError: If an argument is invalid for `paper_protocol`, or if `sessions` and `subjects`
            differ in shape.
    """
    distances = _check_request(distances, subjects, observed, repetitions, n, fractions)
    draws = session_enrollments(
        subjects, sessions, observed=observed, repetitions=repetitions, seed=seed
    )
    return _records(distances, draws, n, fractions, seed, prefix="session_")


def score_matrices(distances: ArrayLike, enrollment: Enrollment) -> np.ndarray:
    """Computes a score for every probe and every person, for each number of observed recordings.

    For each of the first n observed recordings of person `a`, the function computes the distance to
    the nearest enrolled recording of person `j`. The entry `[n - 1, a, j]` of the result is the
    mean of the n distances.

    Args:
        distances: Distances, shape `(recordings, recordings)`, with observed recordings in rows.
        enrollment: `Enrollment` with the enrolled and the observed recordings.

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
    """Returns the verification trials of several draws. Curves, thresholds and confidence intervals
    can be computed from the trials.

    Args:
        distances: Distances, shape `(recordings, recordings)`, with observed recordings in rows.
        enrollments: Draws that a function of `evaluation.splits` returned. All draws must contain
            the same people. Pass a single draw if each pair of people should occur in one trial
            only.
        n: Number of observed recordings per probe.

    Returns:
        `Trials`. To evaluate trials `t`, call
        `verification(t.scores, t.genuine, people=t.people, bootstrap=1000)`.

    Raises:
        ValueError: If `n` exceeds the number of observed recordings.
    """
    people, observed = enrollments[0].people, enrollments[0].observed.shape[1]
    if not 1 <= n <= observed:
        raise ValueError(
            f"`n` must be from 1 to {observed}, the number of observed recordings. Received {n}."
        )
    distances = real("`distances`", distances)
    scores = np.stack([score_matrices(distances, draw)[n - 1] for draw in enrollments])
    genuine = np.broadcast_to(np.eye(people.size, dtype=bool), scores.shape)
    return Trials(scores, genuine, (people[:, None], people))


def mean_and_standard_error(values: Sequence[float]) -> tuple[float, float]:
    """Returns the mean and the standard error, sd / sqrt(count). The standard deviation sd uses
    ddof = 1.

    Abdelwahab2019 writes "standard deviations" in the text and "standard error" in the tables.
    `mean_and_standard_error` computes the standard error.
    """
    # the module `statistics` computes exactly, so equal values have a standard error of 0 instead
    # of 1e-18
    return statistics.fmean(values), statistics.stdev(values) / len(values) ** 0.5


def identified_people(fraction: float, people: int) -> int:
    """Returns the number of enrolled people for identification: max(2, round(f S)) for S people and
    the fraction f.

    Halves are rounded up.
    """
    return max(2, half_up(fraction * people))


def enrolled_beside_imposters(fraction: float, people: int) -> int:
    """Returns the number of enrolled people if half of the people are imposters.

    For S people and the fraction f, the number is round(f S), but at least 1 and at most the number
    of people who are not imposters.
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
    """Computes the metrics of one repetition.

    For all values of n, the same subsets of people are used. The subset for a fraction f contains
    the subsets for all smaller fractions.

    Yields:
        Tuples `((protocol, n, metric, fraction), value, trials)`.
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
            f"Received `distances` of shape {distances.shape} and `subjects` of shape "
            f"({recordings},). Expected `distances` of shape (recordings, recordings) and one "
            "entry of `subjects` for each recording."
        )
    check_finite("distances", distances)
    if repetitions < 2:
        raise ValueError(
            f"Received `repetitions` = {repetitions}. A standard error needs at least 2 "
            "repetitions."
        )
    if not n or min(n) < 1 or max(n) > observed:
        raise ValueError(
            f"Received n={tuple(n)}. Every value of `n` must be from 1 to `observed` = {observed}, "
            "the number of observed recordings per person. Raise `observed` or lower the values of "
            "`n`."
        )
    if not all(0.0 < fraction <= 1.0 for fraction in fractions):
        raise ValueError(
            "Every entry of `fractions` must be above 0 and at most 1. Received "
            f"{tuple(fractions)}."
        )
    return distances
