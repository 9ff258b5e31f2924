"""The fixed recordings that an exported file and Keras must agree on."""

import dataclasses

import numpy as np

from keras_dml import inference
from keras_dml.layers import ChannelNormalisation

LENGTHS = (7, 100, 512)  # steps; a model of fixed length gets that one
SEED = 20
MOST_OWN = 16  # of a user's recordings; more only take time


@dataclasses.dataclass(frozen=True)
class Trials:
    """Recordings and what Keras makes of them.

    Attributes:
        recordings: Arrays `(time, channels)`.
        embeddings: Keras's, each recording by itself, shape `(recordings, ...)`.
        typical: How many, from the first on, are such as the model will see; the rest are extremes.
        timed: The recording that latency is measured on: the longest of a user's own, or of all.
    """

    recordings: list
    embeddings: np.ndarray
    typical: int
    timed: np.ndarray


def trials(model, own=None, only_own=False):
    """Recordings of several lengths in the units of the model, silence and a constant recording.

    Args:
        model: A `keras.Model` of one input `(batch, time, channels)`.
        own: Real recordings, taken before the made ones.
        only_own: Whether only the real ones count as typical: a file calibrated on them owes
            nothing to noise.

    Returns:
        `Trials`.

    Raises:
        ValueError: If a recording does not fit the model.
    """
    own = list(own or [])[:MOST_OWN]
    made = _noise(model)
    mean, deviation = _scale(model)
    silence = np.zeros_like(made[-1])
    constant = np.broadcast_to(mean + deviation, made[-1].shape).astype(np.float32)
    recordings = [*own, *made, silence, constant]
    embeddings = inference.embed(model, recordings, batch_size=1, progress=False)
    typical = len(own) if only_own else len(recordings)
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


def _scale(model):
    """Mean and standard deviation of each channel, where the model carries them."""
    for layer in model.layers:
        if isinstance(layer, ChannelNormalisation):
            return np.asarray(layer.mean), np.asarray(layer.deviation)
    return np.float32(0), np.float32(1)
