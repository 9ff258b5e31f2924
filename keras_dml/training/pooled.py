"""The headline of a card, its baselines and its thresholds: all trials under one threshold, with
95 % intervals over people."""

from __future__ import annotations

import numpy as np

from keras_dml import evaluation
from keras_dml.training.trials import PEOPLE

FARS = (0.1, 0.05, 0.01, 0.001)
BOOTSTRAP = 1000  # replicates
TRIES = 3  # of a person whose first try is rejected
NO_NETWORK, INSTEAD, SAME_MODEL = "no network", "instead", "same model"
OTHER_PROBES = "other probes"
TRIALS = "each recording of a person's last session against everybody's earlier ones"
BLOCKS, DAYS = "blocks", "days"
SCORE = "least distance to the recordings enrolled"


def rows(trials):
    """AUC, EER and TAR of all trials under one threshold, as rows of a card.

    Args:
        trials: `Trials`.

    Returns:
        Dicts of `metric`, `value` and `ci95`; a TAR only where the trials are enough for its FAR.
    """
    found = evaluation.verification(
        trials.scores, trials.genuine, people=trials.people, bootstrap=BOOTSTRAP
    )
    values = {"auc": found.auc, "eer": found.eer}
    values |= {f"tar_at_far_{far:g}": point.tar for far, point in found.tar_at_far.items()}
    return [
        {"metric": metric, "value": float(values[metric]), "ci95": list(interval)}
        for metric, interval in found.intervals.items()
    ]


def headline(trials):
    """The measured part of a card's `headline`.

    Args:
        trials: `Trials`.

    Returns:
        Dict of `people` (or another unit), `gallery` (people that a probe is compared with; the
        fewest), `gallery_most` where other probes are compared with more, `probes`, `enrolled`
        (median of the recordings of a person) and `rows`.
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


def baseline(trials, name, what, kind, values):
    """An entry of a card's `baselines`: another method on the same trials.

    Args:
        trials: `Trials` of the model.
        name: Name of the other method.
        what: What it is, in a few words.
        kind: `NO_NETWORK`, `INSTEAD` for what one would take in place of the model, `SAME_MODEL`
            for another score of its own, or `OTHER_PROBES` for its own score of probes changed.
        values: Its scores of the trials, or its distances between all recordings, see
            `Trials.rescored`.

    Returns:
        Dict of `name`, `what`, `kind`, `rows` and `difference`, the EER of the model less that of
        the other method, paired.
    """
    other = trials.rescored(values)
    found = evaluation.eer_difference(
        trials.scores, other.scores, trials.genuine, people=trials.people, bootstrap=BOOTSTRAP
    )
    return {
        "name": name,
        "what": what,
        "kind": kind,
        "rows": rows(other),
        "difference": {"metric": "eer", "value": found.value, "ci95": list(found.ci95)},
    }


def thresholds(trials, groups=None):
    """A card's `thresholds`, without false accept rates that the trials are too few to show.

    Args:
        trials: `Trials` of the published model, of people whom it has never seen.
        groups: Known confounders, such as `{"people of one sensor type": {person: type}}`, for the
            FAR between people of one group; a person of no group has None. None for none.

    Returns:
        Dicts of `far`, `value`, `trials`, `tar`, `tar_ci95`, `score` in words, `enrolled`,
        `people`, `certificate`, see `certificate`, `within`, a list of the FAR in one group by
        confounder, and `best_of_tries`, the rates where a person may try three times, if somebody
        has so many probes.
    """
    imposters = int((~trials.genuine).sum())
    return [_threshold(trials, far, groups or {}) for far in FARS if imposters >= np.rint(1 / far)]


def carried(trials, unit, offset, words):
    """Returns a card's `thresholds` from trials of other models than the published one.

    Args:
        trials: `Trials` of a cross-validation, whose distances begin at 0 and are in units of those
            that each model gives between two people whom it knows.
        unit: That unit of the published model.
        offset: What is added to the distances of the published model so that they begin at 0.
        words: How the thresholds came about, for `carried` of the card.

    Returns:
        Dicts as of `thresholds`.
    """
    rows = thresholds(trials)
    return [{**row, "value": row["value"] * unit - offset, "carried": words} for row in rows]


def imposters(trials, unit=1.0, offset=0.0):
    """Returns what a card says of the distances between people whom the models have not seen.

    Args:
        trials: `Trials`.
        unit: See `carried`; 1 for trials of the published model itself.
        offset: See `carried`; 0 for trials of the published model itself.

    Returns:
        Dict of `mean` and `stddev` of the scores of false claims, in the published model's
        distances.
    """
    scores = unit * trials.scores[~trials.genuine] - offset
    return {"mean": float(scores.mean()), "stddev": float(scores.std())}


def certificate(found, far):
    """What people support of a threshold's false accept rate, for a card.

    Args:
        found: `evaluation.FalseAccepts` or `evaluation.Certificate` of the threshold.
        far: False accept rate that was wanted.

    Returns:
        Dict of `ci95`, the interval of the rate of as many other people, `independent`, how many
        independent pairs of people the trials are worth, `strictest`, the lowest rate that these
        support, and `people_needed`, the fewest and the most people whom this rate or a tenth of
        it would take where it is lower, by its text.
    """
    return {
        "ci95": list(map(float, found.ci95)),
        "independent": round(float(found.independent), 1),
        "strictest": float(found.strictest),
        "people_needed": {
            f"{rate:g}": list(found.people_needed(rate))
            for rate in (far, far / 10)
            if rate < found.strictest
        },
    }


def _threshold(trials, far, groups):
    value = evaluation.threshold_at_far(trials.scores, trials.genuine, far).value
    false = ~trials.genuine
    claims = tuple(side[false] for side in trials.people)
    certified = evaluation.false_accepts(trials.scores[false], claims, value)
    found = _accepted(trials, value, np.ones(len(trials.scores), bool))
    return {
        "far": far,
        "value": value,
        "trials": found.imposter,
        "tar": found.tar,
        "tar_ci95": list(found.tar_ci95),
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
    """Returns the rates of a threshold where a person may try several times; an empty dict if
    nobody has so many probes."""
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


def _within(trials, value, confounder, group):
    both = ((group[a], group[b]) for a, b in zip(*trials.people, strict=True))
    alike = np.array([first is not None and first == second for first, second in both])
    found = _accepted(trials, value, alike)
    return {
        "confounder": confounder,
        "far": found.far,
        "far_ci95": list(found.far_ci95),
        "trials": found.imposter,
    }


def _accepted(trials, value, rows):
    return evaluation.accept_rates(
        trials.scores[rows],
        trials.genuine[rows],
        value,
        people=tuple(side[rows] for side in trials.people),
        bootstrap=BOOTSTRAP,
    )


def _codes(names):
    return np.unique(names, return_inverse=True)[1]
