"""Lengths of the recordings that an exported file answers for."""

import dataclasses

import numpy as np

from keras_dml import inputs
from keras_dml._backend import ops

MOST_TRIED = 2**20  # steps, a minute of sound
SEED = 21


@dataclasses.dataclass(frozen=True)
class Limits:
    """Fewest and most steps of a recording.

    Attributes:
        least: Fewest steps.
        most: Most steps; None: no limit.
    """

    least: int
    most: int | None = None


def limits(taken):
    """Limits of a model: those of its contract, and those of its layers.

    Args:
        taken: What the model takes, one of `keras_dml.inputs`.

    Returns:
        `Limits`; None for a model of matrices or images, which have one size.
    """
    if not isinstance(taken, inputs.Signals):
        return None
    if not taken.has_any_length:
        return Limits(taken.shape[0], taken.shape[0])
    contract = taken.contract
    least = 1 if contract is None else contract.min_steps
    return Limits(_fewest(taken, least), None if contract is None else contract.max_steps)


def _fewest(taken, least):
    """Fewest steps, `least` or more, of which the model gives a finite embedding: a kernel may need
    more than one step, and a spectrum a frame."""
    if _answers(taken, least):
        return least
    low, high = least, 2 * least
    while high < MOST_TRIED and not _answers(taken, high):
        low, high = high, 2 * high
    if high >= MOST_TRIED:
        return least  # the comparison with Keras refuses a model that answers nothing
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _answers(taken, middle) else (middle, high)
    return high


def _answers(taken, steps):
    noise = np.random.default_rng(SEED).normal(size=(1, steps, taken.shape[1])) / 10
    try:
        embedding = taken.model(noise.astype(np.float32), training=False)
    except Exception:  # each layer refuses short recordings with its own type of error
        return False
    return bool(np.isfinite(ops.convert_to_numpy(embedding)).all())
