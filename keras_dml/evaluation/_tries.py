"""Rates of claims that may be repeated: the best of several recordings decides."""

from __future__ import annotations

import numbers
from dataclasses import dataclass

import numpy as np

from keras_dml import _percents
from keras_dml._arrays import whole
from keras_dml.evaluation._checks import check_trials, person_codes
from keras_dml.evaluation._people_weights import DRAWS, accept_intervals


@dataclass(frozen=True)
class BestOfTries:
    """False and true accept rate where a person may try several times, with 95 % intervals.

    Attributes:
        threshold: A try is accepted where `score <= threshold`.
        tries: Number of tries; a claim is accepted if any of them is.
        far: Fraction of false claims that are accepted, the mean over pairs of people.
        far_ci95: Its interval.
        tar: Fraction of true claims that are accepted, the mean over people.
        tar_ci95: Its interval.
        far_once: False accept rate of a single try of the same pairs.
        tar_once: True accept rate of a single try of the same people.
        people: Number of people with enough genuine trials.
        pairs: Number of pairs of probe and claim with enough imposter trials.
    """

    threshold: float
    tries: int
    far: float
    far_ci95: tuple[float, float]
    tar: float
    tar_ci95: tuple[float, float]
    far_once: float
    tar_once: float
    people: int
    pairs: int

    def __str__(self):
        rates = [
            f"{name} {100 * rate:.3g} % [{_percents.interval(bounds)}] ({100 * once:.3g} % once)"
            for name, rate, bounds, once in (
                ("FAR", self.far, self.far_ci95, self.far_once),
                ("TAR", self.tar, self.tar_ci95, self.tar_once),
            )
        ]
        return (
            f"best of {self.tries}: {', '.join(rates)} at threshold {self.threshold:.4g} "
            f"({self.people:,} people, {self.pairs:,} pairs of people)"
        )


def best_of_tries(scores, genuine, threshold, *, people, tries=3, bootstrap=DRAWS):
    """Computes FAR and TAR of a threshold where a person may try several times.

    A claim is accepted if one of its tries is, so several tries raise both rates: three tries that
    share nothing have nearly three times the FAR of one. The tries of a claim are different
    recordings of one person. Of the m trials of a person who claims to be another one, a of which
    are accepted, k drawn without replacement include an accepted one with the chance
    `1 - C(m - a, k) / C(m, k)`. Pairs with fewer than k trials are left out.

    Args:
        scores: Distances of the trials, any shape; smaller is closer. Each trial is another
            recording of its probe against all that is enrolled of the person claimed.
        genuine: Booleans of the same shape, True where probe and claim are one person.
        threshold: Threshold of a single try, in units of the scores.
        people: `(probe_ids, claimed_ids)`, the two people of each trial, as in `verification`.
        tries: Number of tries k, at least 1.
        bootstrap: Number of replicates of the intervals over people, at least 1, see
            `verification`.

    Returns:
        `BestOfTries`; printing it shows the rates beside those of a single try.

    Raises:
        TypeError: `genuine` is not boolean, `people` is missing, or a count is not a whole number.
        ValueError: As in `verification`, `threshold` is not a number, or no person or no pair of
            people has as many trials as tries.

    >>> scores = np.array([0.1, 0.4, 0.9, 0.3, 0.8, 0.7])
    >>> genuine = np.arange(6) < 3
    >>> people = ["ann"] * 6, ["ann"] * 3 + ["bob"] * 3
    >>> result = best_of_tries(scores, genuine, 0.3, people=people, tries=2)
    >>> round(result.far_once, 3), round(result.far, 3)
    (0.333, 0.667)
    """
    tries = whole("tries", tries, minimum=1)
    bootstrap = whole("bootstrap", bootstrap, minimum=1)
    if not isinstance(threshold, numbers.Real) or np.isnan(threshold):
        raise ValueError(f"`threshold` must be a number, a distance. Received {threshold!r}.")
    if people is None:
        raise TypeError(
            "`people` must be the pair (probe_ids, claimed_ids): tries are recordings of one "
            "person. Received None."
        )
    shape = np.shape(scores)
    scores, genuine = check_trials(scores, genuine)
    probe, claimed = person_codes(people, genuine, shape)
    pairs, pair = np.unique(np.stack([probe, claimed]), axis=1, return_inverse=True)
    pair = pair.ravel()
    trials = np.bincount(pair)
    accepted = np.bincount(pair, scores <= threshold)
    has_enough = trials >= tries
    is_genuine = pairs[0] == pairs[1]
    for kind, name in ((is_genuine, "genuine"), (~is_genuine, "imposter")):
        if not has_enough[kind].any():
            raise ValueError(
                f"{tries} tries need {tries} {name} trials of one probe and one claim. Received at "
                f"most {int(trials[kind].max())}. Score more recordings of each person, or lower "
                "`tries`."
            )
    trials, accepted, is_genuine = (x[has_enough] for x in (trials, accepted, is_genuine))
    drawn = np.arange(tries)[:, None]
    none = np.prod(np.maximum(trials - accepted - drawn, 0) / (trials - drawn), axis=0)
    chance, once = 1 - none, accepted / trials
    far_ci95, tar_ci95 = accept_intervals(
        chance, is_genuine, people=tuple(pairs[:, has_enough]), draws=bootstrap, seed=0
    )
    return BestOfTries(
        threshold=float(threshold),
        tries=tries,
        far=float(chance[~is_genuine].mean()),
        far_ci95=far_ci95,
        tar=float(chance[is_genuine].mean()),
        tar_ci95=tar_ci95,
        far_once=float(once[~is_genuine].mean()),
        tar_once=float(once[is_genuine].mean()),
        people=int(is_genuine.sum()),
        pairs=int((~is_genuine).sum()),
    )
