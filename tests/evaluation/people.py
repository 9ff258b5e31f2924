"""Simulates imposter trials of people who resemble other people to different degrees."""

import numpy as np


def claims(rng, people, resemblance=0.4, recordings=3):
    """Draws trials in which each person claims to be each other person.

    Returns the scores of the trials, and the two people of each trial.

    Args:
        rng: `numpy.random.Generator`.
        people: Number of people.
        resemblance: Fraction of the variance of scores that is due to single people. The larger
            this fraction is, the more some people resemble everybody.
        recordings: Number of recordings per person.
    """
    person, pair = rng.normal(size=people), rng.normal(size=(people, people))
    pair = (pair + pair.T) / np.sqrt(2)
    mean = np.sqrt(resemblance / 2) * (person[:, None] + person)
    mean = mean + np.sqrt(0.6 * (1 - resemblance)) * pair
    noise = rng.normal(scale=np.sqrt(0.4 * (1 - resemblance)), size=(recordings, people, people))
    apart = np.broadcast_to(~np.eye(people, dtype=bool), noise.shape)
    return (mean + noise)[apart], np.nonzero(apart)[1:]
