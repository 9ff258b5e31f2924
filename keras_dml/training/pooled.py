"""Computes the main result, the baselines and the thresholds of a card from pooled trials.

All trials are decided by the same threshold. The 95 % intervals come from resampling people.
"""

from __future__ import annotations

import collections
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from keras_dml import evaluation
from keras_dml._typing import ArrayLike
from keras_dml.training.trials import PEOPLE, Trials

FARS = (0.1, 0.05, 0.01, 0.001)
BOOTSTRAP = 1000  # replicates
TRIES = 3  # number of tries per person for `best_of_tries`
NO_NETWORK, INSTEAD, SAME_MODEL = "no network", "instead", "same model"
OTHER_PROBES = "other probes"
TRIALS = (
    "each recording of a person's last session is compared with the earlier recordings of all "
    "people"
)
BLOCKS, DAYS = "blocks", "days"
SCORE = "smallest distance to the enrolled recordings"


def rows(trials: Trials) -> list[dict[str, Any]]:
    """Computes AUC, EER and TAR of all trials together, as rows of a card.

    Returns:
        List of dicts with `metric`, `value` and `ci95`. The list has no TAR at a FAR for which
        there are too few trials.
    """
    result = evaluation.verification(
        trials.scores, trials.genuine, people=trials.people, bootstrap=BOOTSTRAP
    )
    values = {"auc": result.auc, "eer": result.eer}
    values |= {f"tar_at_far_{far:g}": point.tar for far, point in result.tar_at_far.items()}
    return [
        {"metric": metric, "value": float(values[metric]), "ci95": list(interval)}
        for metric, interval in result.intervals.items()
    ]


def headline(trials: Trials) -> dict[str, Any]:
    """Computes the measured part of a card's `headline`.

    Returns:
        Dict with the keys `people` (or another unit), `gallery`, `gallery_most`, `probes`,
        `enrolled` and `rows`. `gallery` is the smallest number of people with whom a probe is
        compared. `gallery_most` is the largest number of these people. The key is missing if all
        probes are compared with equally many people.
        `probes` is the number of probe recordings. `enrolled` is the median number of enrolled
        recordings per person.
    """
    pairs = np.unique(np.stack([trials.recordings, _codes(trials.claims)]), axis=1)
    claims = np.unique(pairs[0], return_counts=True)[1]
    more = {"gallery_most": int(claims.max())} if np.ptp(claims) else {}
    return {
        trials.unit: int(np.unique(trials.probes).size),
        "gallery": int(claims.min()),
        **more,
        "probes": int(np.unique(trials.recordings).size),
        "enrolled": int(np.median(trials.enrolled)),
        **({} if trials.unit == PEOPLE else {"unit": trials.unit}),
        "rows": rows(trials),
    }


def baseline(trials: Trials, name: str, what: str, kind: str, values: ArrayLike) -> dict[str, Any]:
    """Compares the model with another method on the same trials, for a card's `baselines`.

    Args:
        trials: Trials of the model.
        name: Name of the other method.
        what: Description of the other method in a few words.
        kind: Kind of the other method: `NO_NETWORK` for a method without a network, `INSTEAD` for
            an alternative to the model, `SAME_MODEL` for another score of the same model, or
            `OTHER_PROBES` for the same model on changed probes.
        values: Scores of the trials, or distances between all recordings, computed by the other
            method. See `Trials.with_scores`.

    Returns:
        Dict with the keys `name`, `what`, `kind`, `rows` and `difference`. The difference is the
        EER of the model minus the EER of the other method, with a paired interval.
    """
    rescored = trials.with_scores(values)
    difference = evaluation.eer_difference(
        trials.scores, rescored.scores, trials.genuine, people=trials.people, bootstrap=BOOTSTRAP
    )
    return {
        "name": name,
        "what": what,
        "kind": kind,
        "rows": rows(rescored),
        "difference": {
            "metric": "eer",
            "value": difference.value,
            "ci95": list(difference.ci95),
        },
    }


def thresholds(
    trials: Trials,
    groups: Mapping[str, Mapping[Any, Any]] | None = None,
    fars: Sequence[float] = FARS,
) -> list[dict[str, Any]]:
    """Computes a card's `thresholds`. The result omits rates for which there are too few trials.

    Args:
        trials: Trials of the published model with people whose recordings were not used in
            training.
        groups: Known confounders, such as `{"people of the same sex": {person: sex}}`. For each
            confounder, the FAR between people of the same group is measured too. People without a
            group have the value None.
        fars: False accept rates.

    Returns:
        List of dicts with the keys `far`, `value`, `trials`, `tar`, `tar_ci95`, `score`,
        `enrolled`, `people`, `certificate`, `within` and `best_of_tries`. `score` is a description
        in words. `certificate` is the result of the function `certificate`. `within` lists, for
        each confounder, the FAR between people of the same group. `best_of_tries` contains the
        error rates for people who may try three times. `best_of_tries` is missing if no person has
        three probes.
    """
    imposters = int((~trials.genuine).sum())
    return [_threshold(trials, far, groups or {}) for far in fars if imposters >= np.rint(1 / far)]


def by_group(trials: Trials, groups: Mapping[str, Mapping[Any, Any]]) -> list[dict[str, Any]]:
    """Computes error rates for each group of people, for a card's `groups` (ISO/IEC 19795-10).

    The threshold is the same for all groups. It is set on all trials, for the lowest rate in `FARS`
    that is at least 1 % and has enough trials.

    Args:
        trials: Trials of people whose recordings were not used in training.
        groups: Groups by attribute, see `thresholds`.

    Returns:
        List of dicts with the keys `attribute`, `far` and `rows`. `far` is the rate for which the
        threshold is set. `rows` has one dict per group, in which the error rates are sorted from
        the highest to the lowest FRR. The keys of a row are `group`, `people`, `frr`, `frr_ci95`,
        `far`, `far_ci95` and `trials`. The FAR is measured on `trials` claims between two people of
        the same group. Groups with fewer than two people are left out.
    """
    imposters = int((~trials.genuine).sum())
    wanted = min((far for far in FARS if far >= 0.01 and imposters >= np.rint(1 / far)), default=0)
    if not wanted:
        return []
    value = evaluation.threshold_at_far(trials.scores, trials.genuine, wanted).value
    result = []
    for attribute, group in groups.items():
        first, second = (np.array([group[name] for name in side]) for side in trials.people)
        names = [name for name in np.unique(trials.probes) if group[name] is not None]
        counts = collections.Counter(group[name] for name in names)
        rows = []
        for label in sorted(label for label, count in counts.items() if count > 1):
            rates = _accept_rates(trials, value, (first == label) & (second == label))
            rows.append(_group_row(label, counts[label], rates))
        rows.sort(key=lambda row: -row["frr"])
        result.append({"attribute": attribute, "far": wanted, "rows": rows})
    return [entry for entry in result if len(entry["rows"]) > 1]


def carried_thresholds(
    trials: Trials, unit: float, offset: float, words: str
) -> list[dict[str, Any]]:
    """Computes a card's `thresholds` from trials of a cross-validation.

    Args:
        trials: Trials of a cross-validation. The smallest possible distance is 0. The unit is the
            median distance between two people in the training set of the fold's model.
        unit: Median distance between two people in the training set of the published model.
        offset: Number that is added to distances of the published model so that the smallest
            possible distance is 0.
        words: Text that explains these thresholds. The card stores the text as `carried`.

    Returns:
        List of dicts. Each dict has the keys that `thresholds` returns, and the key `carried`.
    """
    rows = thresholds(trials)
    return [{**row, "value": row["value"] * unit - offset, "carried": words} for row in rows]


def imposter_statistics(trials: Trials, unit: float = 1.0, offset: float = 0.0) -> dict[str, Any]:
    """Computes the card's `imposters`, the mean and standard deviation of the scores of false
    claims.

    Args:
        trials: Trials of people whose recordings were not used in training.
        unit: Median distance between two people, as in `carried_thresholds`. Use 1 if the trials
            come from the published model.
        offset: Number that is added to distances, as in `carried_thresholds`. Use 0 if the trials
            come from the published model.

    Returns:
        Dict with `mean` and `stddev`, in units of the published model's distance.
    """
    scores = unit * trials.scores[~trials.genuine] - offset
    return {"mean": float(scores.mean()), "stddev": float(scores.std())}


def certificate(
    certified: evaluation.FalseAccepts | evaluation.Certificate, far: float
) -> dict[str, Any]:
    """Describes the uncertainty of a threshold's false accept rate, for a card.

    Args:
        certified: False accept rate of the threshold with its confidence bounds.
        far: False accept rate that was requested.

    Returns:
        Dict with the keys `ci95`, `independent`, `strictest` and `people_needed`. `ci95` is the
        95 % interval of the false accept rate that the threshold has on the same number of other
        people. `independent` is the number of independent pairs of people that carry as much
        information as the trials. `strictest` is the lowest rate that `independent` pairs support.
        `people_needed` is a dict from the rates `far` and `far / 10` to the smallest and the
        largest number of people that the rate needs. The dict has only rates below `strictest`.
    """
    return {
        "ci95": list(map(float, certified.ci95)),
        "independent": round(float(certified.independent), 1),
        "strictest": float(certified.strictest),
        "people_needed": {
            f"{rate:g}": list(certified.people_needed(rate))
            for rate in (far, far / 10)
            if rate < certified.strictest
        },
    }


def _threshold(trials, far, groups):
    value = evaluation.threshold_at_far(trials.scores, trials.genuine, far).value
    false = ~trials.genuine
    claims = tuple(side[false] for side in trials.people)
    certified = evaluation.false_accepts(trials.scores[false], claims, value)
    rates = _accept_rates(trials, value, np.ones(len(trials.scores), bool))
    return {
        "far": far,
        "value": value,
        "trials": rates.imposter,
        "tar": rates.tar,
        "tar_ci95": list(rates.tar_ci95),
        "score": SCORE,
        "enrolled": int(np.median(trials.enrolled)),
        "people": int(np.unique(trials.probes).size),
        "certificate": certificate(certified, far),
        "within": [
            _within(trials, value, confounder, group) for confounder, group in groups.items()
        ],
        **_tries(trials, value),
    }


def _tries(trials, value):
    """Returns error rates for people who try several times, or an empty dict if there are too few
    probes.
    """
    pairs = np.stack([_codes(side) for side in trials.people])
    for rows in (trials.genuine, ~trials.genuine):
        if np.unique(pairs[:, rows], axis=1, return_counts=True)[1].max() < TRIES:
            return {}
    rates = evaluation.best_of_tries(
        trials.scores, trials.genuine, value, people=trials.people, tries=TRIES, bootstrap=BOOTSTRAP
    )
    return {
        "best_of_tries": {
            "tries": TRIES,
            "far": rates.far,
            "far_ci95": list(map(float, rates.far_ci95)),
            "far_once": rates.far_once,
            "tar": rates.tar,
            "tar_ci95": list(map(float, rates.tar_ci95)),
            "tar_once": rates.tar_once,
            "people": rates.people,
            "pairs": rates.pairs,
        }
    }


def _group_row(group, people, rates):
    low, high = rates.tar_ci95
    return {
        "group": str(group),
        "people": people,
        "frr": 1 - rates.tar,
        "frr_ci95": [1 - high, 1 - low],
        "far": rates.far,
        "far_ci95": list(rates.far_ci95),
        "trials": rates.imposter,
    }


def _within(trials, value, confounder, group):
    pairs = ((group[a], group[b]) for a, b in zip(*trials.people, strict=True))
    is_same_group = np.array([first is not None and first == second for first, second in pairs])
    rates = _accept_rates(trials, value, is_same_group)
    return {
        "confounder": confounder,
        "far": rates.far,
        "far_ci95": list(rates.far_ci95),
        "trials": rates.imposter,
    }


def _accept_rates(trials, value, rows):
    return evaluation.accept_rates(
        trials.scores[rows],
        trials.genuine[rows],
        value,
        people=tuple(side[rows] for side in trials.people),
        bootstrap=BOOTSTRAP,
    )


def _codes(names):
    return np.unique(names, return_inverse=True)[1]
