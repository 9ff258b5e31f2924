"""The experiment of the demo: each group of people in turn is never enrolled."""

import dataclasses

import numpy as np
from scipy.stats import sem

from keras_dml import evaluation

ROUNDS = 4
RATES = ("verification_auc", "verification_eer", "identification_accuracy", "rejection_auc")


@dataclasses.dataclass(frozen=True)
class Round:
    """What was seen while some people were the imposters.

    Attributes:
        strangers: Those who were not enrolled.
        observed: Probes judged together.
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
    """Scores of probes against people: over `observed` probes in a row, the mean distance to the
    nearest enrolled recording (Abdelwahab2019, section 5.2).

    Args:
        distances: Shape `(probes, enrolled)`.
        probe_people: Who each probe is of, shape `(probes,)`.
        enrolled_people: Who each enrolled recording is of, shape `(enrolled,)`.
        observed: Probes judged together; what remains of a person's probes is left out.

    Returns:
        `(scores, owners, people)`: `(groups, people)`, who each group is of, the enrolled people.
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


def play(scores, owners, people, observed):
    """All rounds: the people are dealt into four groups, each in turn the imposters.

    Args:
        scores: Shape `(probes, people)`.
        owners: Who each probe is of.
        people: Who each column is.
        observed: Probes judged together, for the record.

    Returns:
        List of `Round`.
    """
    rounds = []
    for turn in range(min(ROUNDS, len(people))):
        strangers = people[turn::ROUNDS]
        enrolled = np.setdiff1d(people, strangers)
        table = scores[:, np.isin(people, enrolled)]
        known = np.isin(owners, enrolled)
        rounds.append(
            Round(
                strangers=strangers.tolist(),
                observed=observed,
                verification=evaluation.verification(table, owners[:, None] == enrolled[None, :]),
                identification=evaluation.identification(table[known], owners[known], enrolled),
                rejection=evaluation.imposters(table, owners, enrolled),
            )
        )
    return rounds


def figures(one):
    """The figures of a round by name, with their counts; plain numbers for JSON."""
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


def mean(rounds, name):
    """Mean of a figure over the rounds and its standard error."""
    values = [figures(one)[name] for one in rounds]
    return float(np.mean(values)), float(sem(values))
