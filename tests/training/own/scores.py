"""Simulates evaluations of methods on groups of people."""

import numpy as np

from keras_dml.training import trials
from keras_dml.training.own import cross_validation
from keras_dml.training.own.methods import Method


def group(rng, names, gap):
    """Returns trials of a group. Genuine scores are about 1, and imposter scores about 1 + gap."""
    probes = np.repeat(names, 6)
    distances = rng.normal(1, 0.3, (len(probes), len(names)))
    distances += gap * (probes[:, None] != np.array(names))
    return trials.against_gallery(distances, probes, names)


def scored(name, gaps, apart=None, seed=0, learner=None):
    """Returns the evaluation of a method on groups of four people.

    Args:
        name: Name of the method.
        gaps: Difference between imposter scores and genuine scores, for each group.
        apart: The same difference for models that were trained without two groups. The keys are the
            indices of the measured group and of the second group.
        seed: Seed of the scores.
        learner: `learner` of the method. A method that has a `learner` counts as a network.
    """
    rng = np.random.default_rng(seed)

    def of(i, gap):
        return group(rng, [f"{i}{c}" for c in "abcd"], gap)

    parts = tuple(of(i, gap) for i, gap in enumerate(gaps))
    pairs = {(i, j): of(i, gap) for (i, j), gap in (apart or {}).items()}
    return cross_validation.Evaluation(Method(name, name, name, learner=learner), parts, 0.0, pairs)
