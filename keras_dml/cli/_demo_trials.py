"""The experiment of the demo: repetitions in which another group of people is not enrolled."""

import dataclasses

import numpy as np
from scipy.stats import sem

from keras_dml import evaluation

REPETITIONS, BOOTSTRAP = 4, 1000
RATES = ("verification_auc", "verification_eer", "identification_accuracy", "rejection_auc")


@dataclasses.dataclass(frozen=True)
class Repetition:
    """Figures of the trials in which some people are the imposters.

    Attributes:
        strangers: People who are not enrolled.
        observed: Number of probes scored together.
        verification: `evaluation.Verification` of all probes, each claiming every enrolled person.
        identification: `evaluation.Identification` of the enrolled people's probes.
        rejection: `evaluation.Imposters` of all probes.
    """

    strangers: list[str]
    observed: int
    verification: evaluation.Verification
    identification: evaluation.Identification
    rejection: evaluation.Imposters


def scores_by_person(distances, probe_people, enrolled_people, observed):
    """Scores of probes against people: the distance to a person's nearest enrolled recording, mean
    over `observed` probes in a row (Abdelwahab2019, section 5.2).

    Args:
        distances: Shape `(probes, enrolled)`.
        probe_people: Person of each probe, shape `(probes,)`.
        enrolled_people: Person of each enrolled recording, shape `(enrolled,)`.
        observed: Number of probes scored together; a person's remaining probes are left out.

    Returns:
        `(scores, owners, people)`: scores `(groups, people)`, the person of each group, the people
        enrolled.
    """
    people = np.unique(enrolled_people)
    nearest = np.stack([distances[:, enrolled_people == name].min(axis=1) for name in people], 1)
    scores, owners = [], []
    for name in people:
        rows = nearest[probe_people == name]
        groups = len(rows) // observed
        scores.append(rows[: groups * observed].reshape(groups, observed, -1).mean(axis=1))
        owners += [name] * groups
    return np.concatenate(scores), np.array(owners), people


def repetitions(scores, owners, people, observed):
    """All repetitions: people are divided into four groups, each once the imposters.

    Args:
        scores: Shape `(probes, people)`.
        owners: Person of each row.
        people: Person of each column.
        observed: Number of probes scored together, for the record.

    Returns:
        List of `Repetition`.
    """
    found = []
    for turn in range(min(REPETITIONS, len(people))):
        strangers = people[turn::REPETITIONS]
        enrolled = np.setdiff1d(people, strangers)
        matrix = scores[:, np.isin(people, enrolled)]
        known = np.isin(owners, enrolled)
        found.append(
            Repetition(
                strangers=strangers.tolist(),
                observed=observed,
                verification=evaluation.verification(matrix, owners[:, None] == enrolled[None, :]),
                identification=evaluation.identification(matrix[known], owners[known], enrolled),
                rejection=evaluation.imposters(matrix, owners, enrolled),
            )
        )
    return found


def together(scores, owners, people):
    """`evaluation.Verification` of all probes against everybody, under one threshold, with 95 %
    intervals over people; arguments as in `repetitions`."""
    sides = owners[:, None], people[None, :]
    return evaluation.verification(scores, sides[0] == sides[1], people=sides, bootstrap=BOOTSTRAP)


def pooled_figures(observed, found):
    """Figures of `together` by name, with their counts and intervals; plain numbers for JSON.

    Args:
        observed: Number of probes scored together.
        found: `evaluation.Verification`.
    """
    return {
        "observed": observed,
        "auc": found.auc,
        "eer": found.eer,
        **{
            f"tar_at_far_{far:g}": point.tar
            for far, point in found.tar_at_far.items()
            if point.measurable
        },
        "genuine_trials": found.trials.genuine,
        "imposter_trials": found.trials.imposter,
        "ci95": {name: list(bounds) for name, bounds in found.intervals.items()},
    }


def figures(one):
    """Figures of a repetition by name, with their counts; plain numbers for JSON."""
    trials = one.verification.trials
    return {
        "observed": one.observed,
        "imposters": one.strangers,
        "verification_auc": one.verification.auc,
        "verification_eer": one.verification.eer,
        "genuine_trials": trials.genuine,
        "imposter_trials": trials.imposter,
        "identification_accuracy": one.identification.accuracy,
        "identification_probes": one.identification.trials,
        "rejection_auc": one.rejection.auc,
        "misidentification": one.rejection.misidentification,
        "rejection_probes": one.rejection.detection.trials.imposter,
    }


def mean(repeated, name):
    """Mean of a figure over the repetitions and its standard error."""
    values = [figures(one)[name] for one in repeated]
    return float(np.mean(values)), float(sem(values))
