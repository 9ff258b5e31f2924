"""Synthetic digits that a tiny network learns, and settings of an experiment that takes seconds."""

import numpy as np

from zoo.papers.prototypes.data import make_digits
from zoo.papers.prototypes.settings import Settings

SETTINGS = Settings(
    training_images=None,
    images=None,
    epochs=2,
    attack_steps=1,
    width=2,
    short=1,
    long=2,
    restarts=2,
    targets=2,
    queries=3,
    images_per_run=15,
    seeds=1,
    rows=("SIM", "SIM + AT"),
)


def arrays(count, seed):
    """Returns pictures, uint8 of shape `(count, 28, 28)`, and their digits."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(count) % 10).astype("uint8")
    centers = 255 * (np.random.default_rng(0).random((10, 28, 28)) < 0.3)
    return np.where(rng.random((count, 28, 28)) < 0.1, 128, centers[y]).astype("uint8"), y


def digits(train=256, test=20):
    return make_digits(arrays(train, 1), arrays(test, 2))
