"""Simulated evaluations of methods on groups of people."""

import numpy as np

from keras_dml.training import trials
from keras_dml.training.own import cross_validation
from keras_dml.training.own.methods import Method


def group(rng, names, gap):
    """Trials of a group, genuine scores about 1 and others about 1 + gap."""
    probes = np.repeat(names, 6)
    distances = rng.normal(1, 0.3, (len(probes), len(names)))
    distances += gap * (probes[:, None] != np.array(names))
    return trials.against_gallery(distances, probes, names)


def scored(name, gaps, apart=None, seed=0, learner=None):
    """A method on groups of four people.

    Args:
        name: Name of the method.
        gaps: For each group how far imposters are.
        apart: The same by models without another group, by the indices of both.
        seed: Seed of the scores.
        learner: What makes the method a network.
    """
    rng = np.random.default_rng(seed)

    def of(i, gap):
        return group(rng, [f"{i}{c}" for c in "abcd"], gap)

    parts = tuple(of(i, gap) for i, gap in enumerate(gaps))
    pairs = {(i, j): of(i, gap) for (i, j), gap in (apart or {}).items()}
    return cross_validation.Evaluation(Method(name, name, name, learner=learner), parts, 0.0, pairs)
