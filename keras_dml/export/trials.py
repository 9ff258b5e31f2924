"""The fixed recordings, or matrices, that an exported file and Keras must agree on."""

import dataclasses

import numpy as np

from keras_dml import inference
from keras_dml.export._devices import works_on_matrices
from keras_dml.layers import ChannelNormalisation

LENGTHS = (7, 100, 512)  # steps; a model of fixed length gets that one
SEED = 20
MOST_OWN = 16  # of a user's recordings; more only take time


@dataclasses.dataclass(frozen=True)
class Trials:
    """Recordings and what Keras makes of them.

    Attributes:
        recordings: Arrays `(time, channels)`, or `(n, n)`.
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
    for a model of matrices regular and singular covariances, zero and the identity.

    Args:
        model: A `keras.Model` of one input, `(batch, time, channels)` or `(batch, n, n)`.
        own: Real recordings, taken before the made ones.
        only_own: Whether only the real ones count as typical: a file calibrated on them owes
            nothing to noise.

    Returns:
        `Trials`.

    Raises:
        ValueError: If a recording does not fit the model.
    """
    own = list(own or [])[:MOST_OWN]
    if inference.takes_matrices(model):
        made = _covariances(model.inputs[0].shape[1])
        extremes = [np.zeros_like(made[0]), np.eye(len(made[0]), dtype=np.float32)]
    else:
        made = _noise(model)
        mean, deviation = _scale(model)
        constant = np.broadcast_to(mean + deviation, made[-1].shape).astype(np.float32)
        extremes = [np.zeros_like(made[-1]), constant]
    recordings = [*own, *made, *extremes]
    embeddings = inference.embed(model, recordings, batch_size=1, progress=False)
    if only_own:
        typical = len(own)
    elif works_on_matrices(model):  # the covariance of a constant recording is its rounding
        typical = len(own) + len(made)
    else:
        typical = len(recordings)
    return Trials(recordings, embeddings, typical, timed=max(own or recordings, key=len))


def _noise(model):
    steps, channels = model.inputs[0].shape[1:]
    mean, deviation = _scale(model)
    rng = np.random.default_rng(SEED)
    lengths = LENGTHS if steps is None else (steps,) * len(LENGTHS)
    return [
        (mean + deviation * rng.normal(size=(length, channels))).astype(np.float32)
        for length in lengths
    ]


def _covariances(n):
    """Of white noise, with three times as many steps as channels, and with an eighth as many."""
    rng = np.random.default_rng(SEED)
    signals = [rng.normal(size=(steps, n)) for steps in (3 * n, n // 8 + 1)]
    return [(x.T @ x / len(x)).astype(np.float32) for x in signals]


def _scale(model):
    """Mean and standard deviation of each channel, where the model carries them."""
    for layer in model.layers:
        if isinstance(layer, ChannelNormalisation):
            return np.asarray(layer.mean), np.asarray(layer.deviation)
    return np.float32(0), np.float32(1)
