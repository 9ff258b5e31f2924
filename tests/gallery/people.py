"""Simulated recordings of people whose channels have different levels."""

import numpy as np

CHANNELS = 3


class People:
    """Recordings by name. A person is drawn at the first call.

    Args:
        seed: Seed of all random numbers.
    """

    def __init__(self, seed=0):
        self._rng = np.random.default_rng(seed)
        self._levels = {}

    def level(self, name):
        """Levels of a person's channels."""
        return self._levels.setdefault(name, self._rng.normal(scale=10, size=CHANNELS))

    def is_like(self, name, level):
        """Gives a person levels near those of another person."""
        self._levels[name] = level + self._rng.normal(scale=0.5, size=CHANNELS)

    def __call__(self, name, count=4, steps=30):
        """Recordings of a person, arrays of shape `(steps, channels)`."""
        level = self.level(name)
        return [self._rng.normal(level, 1, (steps, CHANNELS)) for _ in range(count)]
