"""Simulates verification scores of people who cause many errors, called goats, lambs and wolves
(Doddington).

The recordings of a goat are far from other recordings of the goat. A lamb is near to everybody who
claims to be the lamb. A wolf is near to everybody whom the wolf claims to be. In the population
"strong", the effects of people have a skewed distribution, so that a few people cause most errors.
In the population "mild", the effects of people are Gaussian.
"""

import functools
from typing import NamedTuple

import numpy as np

from keras_dml import evaluation

NOISE, PAIR = 0.5, 0.4  # standard deviations within and between pairs of people
SHAPE = 0.5  # shape of the gamma distribution of the skewed effects
# Distance between imposter and genuine scores for each population and equal error rate.
SHIFTS = {
    ("strong", 0.016): 6.80,
    ("strong", 0.05): 4.30,
    ("mild", 0.016): 3.72,
    ("mild", 0.05): 2.85,
}


class Trials(NamedTuple):
    """Scores of shape `(recordings, probes, claims)`, booleans that are True for genuine trials,
    and the people."""

    scores: np.ndarray
    genuine: np.ndarray
    people: tuple[np.ndarray, np.ndarray]


class Truth(NamedTuple):
    """Metrics of the whole simulated population. The attribute `threshold` accepts 1 % of the
    imposter trials."""

    auc: float
    eer: float
    tar: float
    threshold: float


def effects(rng, people, world):
    """Draws three effects of each person on scores: the distance between the person's own
    recordings, the nearness if the person is claimed, and the nearness if the person makes the
    claim.
    """
    if world == "mild":
        return [scale * rng.normal(size=people) for scale in (0.6, 0.5, 0.5)]
    skewed = (rng.gamma(SHAPE, size=people) for _ in range(3))
    return [
        scale * (effect - SHAPE) / np.sqrt(SHAPE)
        for scale, effect in zip((1.0, 0.7, 0.7), skewed, strict=True)
    ]


def trials(world, eer, people, recordings, seed):
    """Draws scores for each recording of each person compared with each claimed person."""
    rng = np.random.default_rng(seed)
    goat, lamb, wolf = effects(rng, people, world)
    mean = SHIFTS[world, eer] - lamb - wolf[:, None] + PAIR * rng.normal(size=(people, people))
    mean[np.diag_indices(people)] = goat
    scores = mean + NOISE * rng.normal(size=(recordings, people, people))
    names = np.arange(people)
    genuine = np.broadcast_to(np.eye(people, dtype=bool), scores.shape)
    return Trials(scores, genuine, (names[:, None], names))


@functools.cache
def truth(world, eer, size=1_000_000):
    """Returns the metrics of a large simulated population. The metrics are computed from disjoint
    pairs of people."""
    rng = np.random.default_rng(0)
    goat, lamb, _ = effects(rng, size, world)
    wolf = effects(rng, size, world)[2]
    genuine = goat + NOISE * rng.normal(size=size)
    imposter = SHIFTS[world, eer] - lamb - wolf + np.hypot(NOISE, PAIR) * rng.normal(size=size)
    figures = evaluation.verification(
        np.concatenate([genuine, imposter]), np.arange(2 * size) < size
    )
    point = figures.tar_at_far[0.01]
    return Truth(figures.auc, figures.eer, point.tar, point.threshold)
