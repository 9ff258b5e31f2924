"""The fixed inputs that an exported file and Keras must agree on."""

import dataclasses

import numpy as np

from keras_dml import inference
from keras_dml.export import inputs
from keras_dml.export._devices import works_on_matrices

MOST_OWN = 16  # of a user's recordings; more only take time


@dataclasses.dataclass(frozen=True)
class Trials:
    """Recordings and what Keras makes of them.

    Attributes:
        recordings: Arrays `(time, channels)`, `(n, n)` or `(height, width, channels)`.
        embeddings: Keras's, each recording by itself, shape `(recordings, ...)`.
        typical: How many, from the first on, are such as the model will see; the rest are extremes.
        timed: The recording that latency is measured on: the longest of a user's own, or of all.
    """

    recordings: list
    embeddings: np.ndarray
    typical: int
    timed: np.ndarray


def trials(model, own=None, only_own=False):
    """Recordings of several lengths in the units of the model, silence and a constant recording;
    for a model of matrices regular and singular covariances, zero and the identity; for a model of
    images noise, black, white and gray.

    Args:
        model: A `keras.Model` of one input, `(batch, time, channels)`, `(batch, n, n)` or `(batch,
            height, width, channels)`.
        own: Real recordings, taken before the made ones.
        only_own: Whether only the real ones count as typical: a file calibrated on them owes
            nothing to noise.

    Returns:
        `Trials`.

    Raises:
        ValueError: If a recording does not fit the model.
    """
    own = list(own or [])[:MOST_OWN]
    made, extremes = inputs.of(model).made()
    recordings = [*own, *made, *extremes]
    embeddings = inference.embed(model, recordings, batch_size=1, progress=False)
    if only_own:
        typical = len(own)
    elif works_on_matrices(model):  # the covariance of a constant recording is its rounding
        typical = len(own) + len(made)
    else:
        typical = len(recordings)
    return Trials(recordings, embeddings, typical, timed=max(own or recordings, key=len))
