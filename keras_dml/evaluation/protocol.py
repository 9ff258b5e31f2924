"""The protocol of Abdelwahab2019, and a stricter one, from distances between recordings.

`repetitions` draws of enrolled and observed recordings; each figure is a mean over them with its
standard error, which measures the draw and not the training.
"""

from __future__ import annotations

import statistics
from typing import NamedTuple

import numpy as np

from keras_dml._arrays import real
from keras_dml.evaluation._checks import check_finite
from keras_dml.evaluation._identification import identification
from keras_dml.evaluation._imposters import imposters
from keras_dml.evaluation._verification import verification
from keras_dml.evaluation.splits import half_up, random_enrollments, session_enrollments

FRACTIONS = (0.1, 0.25, 0.5, 1.0)  # of the test people enrolled (Abdelwahab2019, Figs. 3, 6, 8)
MAX_FRACTION_WITH_IMPOSTERS = 0.5  # half of the people are imposters


class Trials(NamedTuple):
    """Verification trials of all repetitions, as `evaluation.verification` takes them.

    `scores` and `genuine` have shape `(repetitions, probes, claims)`, `people` the probe ids
    `(probes, 1)` and the claimed ids `(claims,)`.
    """

    scores: np.ndarray
    genuine: np.ndarray
    people: tuple[np.ndarray, np.ndarray]


def paper_protocol(
    distances,
    subjects,
    *,
    observed=5,
    repetitions=10,
    seed=0,
    n=(1, 2, 3, 4, 5),
    fractions=FRACTIONS,
):
    """The protocol of Abdelwahab2019, section 5.2: recordings are enrolled and observed at random.

    Of each person `observed` recordings drawn at random are observed and all others enrolled. The
    score of probe a against person j is the mean over the first n observed recordings of the
    distance to the nearest enrolled recording of j.

    - *verification*: all pairs (a, j), one threshold; AUC, EER and, if there are enough imposter
      trials, TAR at FAR 1 % and 0.1 %.
    - *identification*: for each fraction f, max(2, round(f S)) of the S people; accuracy.
    - *imposters*: half of the people are never enrolled, of the others round(f S) are, at most
      all; for f <= 0.5; AUC of the distance to the nearest person, and misidentification rate.

    Args:
        distances: Distances between all recordings of all test people, shape
            `(recordings, recordings)`, observed in rows, enrolled in columns; need not be
            symmetric.
        subjects: Person of each recording, shape `(recordings,)`.
        observed: Recordings observed of each person. People with no more recordings are left out.
        repetitions: Draws, at least 2 for a standard error.
        seed: Seed of all draws.
        n: Numbers of observed recordings that are evaluated, each at most `observed`.
        fractions: Fractions of the people, each above 0 and at most 1.

    Returns:
        List of records as a model card's `figures` hold them: `protocol`, `n`, `metric`, `value`
        (a fraction), `stderr`, `trials` (of one repetition), `fraction` (None for verification),
        `people` (evaluated), `left_out` (people with too few recordings), `repetitions`.

    Raises:
        ValueError: Shapes do not fit, a distance is not finite, `n` exceeds `observed`, a fraction
            is out of range, or fewer than two people have enough recordings.
    """
    distances = _check_request(distances, subjects, observed, repetitions, n, fractions)
    draws = random_enrollments(subjects, observed=observed, repetitions=repetitions, seed=seed)
    return _records(distances, draws, n, fractions, seed, prefix="")


def session_protocol(
    distances,
    subjects,
    sessions,
    *,
    observed=5,
    repetitions=10,
    seed=0,
    n=(1, 2, 3, 4, 5),
    fractions=FRACTIONS,
):
    """The figures of `paper_protocol` across sessions: earlier ones enrolled, the latest observed.

    Stricter than the paper's protocol; both are reported, since recordings of one session share
    sensor placement and clothing. All earlier recordings are enrolled in every repetition; the
    observed recordings of the latest session and the subsets of people are drawn. Where the latest
    session of everybody has `observed` recordings, all repetitions observe the same ones, and
    figures of verification at n = `observed` have standard error 0.

    Args:
        distances: Same as in `paper_protocol`.
        subjects: Same as in `paper_protocol`.
        sessions: Session of each recording, shape `(recordings,)`; numbers or strings that sort
            chronologically, compared within a person only.
        observed: Recordings observed of each person. People with fewer in the latest session, or
            with one session only, are left out.
        repetitions: Same as in `paper_protocol`.
        seed: Same as in `paper_protocol`.
        n: Same as in `paper_protocol`.
        fractions: Same as in `paper_protocol`.

    Returns:
        Records as in `paper_protocol`, with the `protocol` names `session_verification`,
        `session_identification` and `session_imposters`.

    Raises:
        ValueError: Same as in `paper_protocol`, or `sessions` does not fit `subjects`.
    """
    distances = _check_request(distances, subjects, observed, repetitions, n, fractions)
    draws = session_enrollments(
        subjects, sessions, observed=observed, repetitions=repetitions, seed=seed
    )
    return _records(distances, draws, n, fractions, seed, prefix="session_")


def score_matrices(distances, enrollment):
    """Scores of every person's probe against every person, for each number of observed recordings.

    Entry [n-1, a, j] is (1/n) sum over the first n observed recordings of a of the distance to
    the nearest enrolled recording of j.

    Args:
        distances: Shape `(recordings, recordings)`, observed in rows.
        enrollment: An `Enrollment`.

    Returns:
        Scores, shape `(observed, people, people)`.
    """
    people, observed = enrollment.observed.shape
    starts = np.cumsum([0, *(len(rows) for rows in enrollment.enrolled[:-1])])
    block = distances[np.ix_(enrollment.observed.ravel(), np.concatenate(enrollment.enrolled))]
    nearest = np.minimum.reduceat(block, starts, axis=1).reshape(people, observed, people)
    means = np.cumsum(nearest, axis=1) / np.arange(1, observed + 1)[:, None]
    return means.transpose(1, 0, 2)


def verification_trials(distances, enrollments, *, n=1):
    """Verification trials of several draws, for curves, thresholds and bootstrap intervals.

    Args:
        distances: Shape `(recordings, recordings)`, observed in rows.
        enrollments: List of `Enrollment` of the same people, as `splits` draws them; a single one
            where trials should not repeat pairs of people.
        n: Observed recordings of a probe.

    Returns:
        `Trials`; `verification(t.scores, t.genuine, people=t.people, bootstrap=1000)` takes them.

    Raises:
        ValueError: `n` exceeds the number of observed recordings.
    """
    people, observed = enrollments[0].people, enrollments[0].observed.shape[1]
    if not 1 <= n <= observed:
        raise ValueError(f"`n` must lie between 1 and the {observed} observed. Received {n}.")
    distances = real("`distances`", distances)
    scores = np.stack([score_matrices(distances, draw)[n - 1] for draw in enrollments])
    genuine = np.broadcast_to(np.eye(people.size, dtype=bool), scores.shape)
    return Trials(scores, genuine, (people[:, None], people))


def mean_and_standard_error(values):
    """Mean and sd / sqrt(count) with ddof = 1.

    Abdelwahab2019 has "standard deviations" in its text and "standard error" in its tables; this is
    the standard error.
    """
    # `statistics` is exact: equal values have a standard error of 0, not of 1e-18
    return statistics.fmean(values), statistics.stdev(values) / len(values) ** 0.5


def identified_people(fraction, people):
    """People in an identification experiment: max(2, round(f S)), halves up."""
    return max(2, half_up(fraction * people))


def enrolled_beside_imposters(fraction, people):
    """People enrolled where half are imposters: round(f S), at least 1, at most the others."""
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
    """Yield ((protocol, n, metric, fraction), value, trials) of one repetition.

    Subsets of people are drawn once, nested in the fraction and shared by all n.
    """
    people = score_matrices.shape[1]
    rng = np.random.default_rng(seed)
    members, others = rng.permutation(people), rng.permutation(people)
    strangers, enrollable = np.split(others, [people // 2])
    for count in n:
        scores = score_matrices[count - 1]
        found = verification(scores, np.eye(people, dtype=bool))
        rates = {"auc": found.auc, "eer": found.eer}
        rates |= {
            f"tar_at_far_{far:g}": point.tar
            for far, point in found.tar_at_far.items()
            if point.measurable
        }
        for metric, value in rates.items():
            yield ("verification", count, metric, None), value, scores.size
        for fraction in fractions:
            some = members[: identified_people(fraction, people)]
            named = identification(scores[np.ix_(some, some)], some, some)
            yield ("identification", count, "accuracy", fraction), named.accuracy, named.trials
        for fraction in (f for f in fractions if f <= MAX_FRACTION_WITH_IMPOSTERS):
            enrolled = enrollable[: enrolled_beside_imposters(fraction, people)]
            probes = np.concatenate([enrolled, strangers])
            seen = imposters(scores[np.ix_(probes, enrolled)], probes, enrolled)
            for metric in ("auc", "misidentification"):
                yield ("imposters", count, metric, fraction), getattr(seen, metric), probes.size


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
            f"Each `n` must lie between 1 and `observed` = {observed}, since n counts the first "
            f"of the observed recordings. Received n={tuple(n)}. Raise `observed` or lower `n`."
        )
    if not all(0.0 < fraction <= 1.0 for fraction in fractions):
        raise ValueError(
            f"Each of `fractions` must be above 0 and at most 1. Received {tuple(fractions)}."
        )
    return distances
