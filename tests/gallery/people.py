"""Simulates recordings of people who differ in the mean levels of the channels."""

import numpy as np

CHANNELS = 3


class People:
    """Simulated recordings of named people. The levels of a person are drawn at the first call.

    Args:
        seed: Seed of all random numbers.
    """

    def __init__(self, seed=0):
        self._rng = np.random.default_rng(seed)
        self._levels = {}

    def level(self, name):
        """Returns the levels of a person's channels."""
        return self._levels.setdefault(name, self._rng.normal(scale=10, size=CHANNELS))

    def is_like(self, name, level):
        """Gives the channels of a person almost the same levels as those of another person."""
        self._levels[name] = level + self._rng.normal(scale=0.5, size=CHANNELS)

    def __call__(self, name, count=4, steps=30):
        """Returns recordings of a person, arrays of shape `(steps, channels)`."""
        level = self.level(name)
        return [self._rng.normal(level, 1, (steps, CHANNELS)) for _ in range(count)]
