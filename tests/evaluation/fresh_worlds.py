"""Simulates verification scores of five populations that were not used to design the intervals.

The code calls a simulated population a world. The two worlds of `tests/evaluation/worlds.py` were
used to design the intervals. In the worlds of this module, the effects of people and the noise have
other distributions, and the people and recordings are arranged in other ways:

- `goats`: For 5 % of the people, genuine scores are as large as imposter scores.
- `wolves`: Some people are near to everybody. The effects have a log-normal distribution.
- `heavy`: The effects of people have Student's t distribution with 3 degrees of freedom.
- `twins`: People form pairs of twins, who are nearer to each other than other people are.
- `unequal`: People have from 1 to 12 recordings, and the effects have an exponential distribution.
"""

import functools
from typing import NamedTuple

import numpy as np

from keras_dml import evaluation
from tests.evaluation.worlds import Trials, Truth

SHIFTS = {"goats": 4.2, "wolves": 3.4, "heavy": 3.6, "twins": 3.2, "unequal": 4.0}
NOISE = {"goats": 0.5, "wolves": 0.7, "heavy": 0.4, "twins": 0.5, "unequal": 0.8}
PAIR = 0.6
NEARER = 1.6  # distance of other people minus distance of a twin
GOATS = 0.05
MOST = 12  # largest number of recordings per person in the world "unequal"


class Effects(NamedTuple):
    """Three effects of each person on scores: the distance between the person's own recordings, the
    nearness if the person is claimed, and the nearness if the person makes the claim.
    """

    goat: np.ndarray
    lamb: np.ndarray
    wolf: np.ndarray


def effects(rng, people, world):
    """Draws the `Effects` for `people` people."""
    goat, lamb, wolf = rng.normal(size=(3, people)) * [[0.5], [0.4], [0.4]]
    if world == "goats":
        goat = np.where(rng.uniform(size=people) < GOATS, SHIFTS[world], goat)
    if world == "wolves":
        wolf = 0.5 * (rng.lognormal(size=people) - np.exp(0.5)) / np.sqrt(np.exp(2) - np.exp(1))
    if world == "heavy":
        goat, lamb, wolf = 0.5 * rng.standard_t(3, size=(3, people)) / np.sqrt(3)
    if world == "unequal":
        goat, lamb, wolf = 0.6 * (rng.standard_exponential((3, people)) - 1)
    return Effects(goat, lamb, wolf)


def trials(world, people, recordings, seed):
    """Draws scores for each recording of each person compared with each claimed person.

    Args:
        world: Name of a world.
        people: Number of people.
        recordings: Number of recordings per person. The world "unequal" ignores this number.
        seed: Seed of the draw.
    """
    rng = np.random.default_rng(seed)
    goat, lamb, wolf = effects(rng, people, world)
    mean = SHIFTS[world] - lamb - wolf[:, None] + PAIR * rng.normal(size=(people, people))
    if world == "twins":
        member = np.arange(people - people % 2)
        mean[member, member ^ 1] -= NEARER
    mean[np.diag_indices(people)] = goat
    counts = np.full(people, recordings)
    if world == "unequal":
        counts = np.minimum(rng.geometric(0.3, size=people), MOST)
    probe = np.repeat(np.arange(people), counts)
    claimed = np.arange(people)
    scores = mean[probe] + NOISE[world] * rng.normal(size=(len(probe), people))
    return Trials(scores, probe[:, None] == claimed, (probe[:, None], claimed))


@functools.cache
def truth(world, people, size=1_000_000):
    """Returns the metrics of a large simulated population. In the world "twins" the metrics depend
    on the sample size."""
    rng = np.random.default_rng(0)
    goat, lamb, _ = effects(rng, size, world)
    wolf = effects(rng, size, world).wolf
    genuine = goat + NOISE[world] * rng.normal(size=size)
    noise = np.hypot(NOISE[world], PAIR)
    imposter = SHIFTS[world] - lamb - wolf + noise * rng.normal(size=size)
    if world == "twins":
        share = (people - people % 2) / (people * (people - 1))  # fraction of the pairs of people
        imposter -= NEARER * (rng.uniform(size=size) < share)
    figures = evaluation.verification(
        np.concatenate([genuine, imposter]), np.arange(2 * size) < size
    )
    point = figures.tar_at_far[0.01]
    return Truth(figures.auc, figures.eer, point.tar, point.threshold)
