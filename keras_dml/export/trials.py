"""The fixed inputs on which an exported file and Keras must agree."""

import dataclasses

import numpy as np

from keras_dml import inputs
from keras_dml._backend import ops
from keras_dml.export._devices import works_on_matrices
from keras_dml.export._limits import limits
from keras_dml.layers import ChannelNormalization, LogMel, MelPower, WindowedMean

MAX_OWN = 16  # of a user's recordings; more only take time
LENGTHS = (7, 100, 512)  # steps; a model of fixed length gets that one
LOUDNESS = 0.1  # standard deviation of the noise for a model of audio, within [-1, 1]
IMAGES = 3
SEED = 20


@dataclasses.dataclass(frozen=True)
class Trials:
    """Recordings, and their embeddings by Keras.

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
    """Inputs of the model, and Keras's embeddings of them.

    Args:
        model: A `keras.Model` of one input, `(batch, time, channels)`, `(batch, n, n)` or `(batch,
            height, width, channels)`.
        own: Real recordings that the model takes, put before the generated ones.
        only_own: Whether only the real ones count as typical: a file calibrated on them is not
            measured on noise.

    Returns:
        `Trials`.
    """
    own = list(own or [])[:MAX_OWN]
    taken = inputs.from_model(model)
    generated, extremes = examples(taken)
    recordings = [*own, *generated, *extremes]
    alone = [np.asarray(one, np.float32)[None] for one in recordings]
    found = [ops.convert_to_numpy(taken.model(one, training=False)) for one in alone]
    if only_own:
        typical = len(own)
    elif works_on_matrices(model):  # the covariance of a constant recording is its rounding
        typical = len(own) + len(generated)
    else:
        typical = len(recordings)
    timed = max(own or recordings, key=len)
    return Trials(recordings, np.concatenate(found), typical, timed)


def examples(taken):
    """Generated inputs of a model.

    Args:
        taken: What the model takes, one of `keras_dml.inputs`.

    Returns:
        Two lists of arrays: such as the model will see, and extremes.
    """
    return _EXAMPLES[type(taken)](taken, np.random.default_rng(SEED))


def _signals(taken, rng):
    """Noise of several lengths in the units of the model; silence and a constant recording."""
    mean, stddev, lengths = _statistics(taken)
    channels = taken.shape[1]
    noise = [
        (mean + stddev * rng.normal(size=(length, channels))).astype(np.float32)
        for length in lengths
    ]
    constant = np.broadcast_to(mean + stddev, noise[-1].shape).astype(np.float32)
    return noise, [np.zeros_like(noise[-1]), constant]


def _statistics(taken):
    """Mean and standard deviation of each channel, by which the model normalizes it, or of its
    contract where it normalizes others, and lengths to try: of audio from the shortest that gives
    enough frames to a second, or of one to three windows."""
    mean, stddev, lengths = np.float32(0), np.float32(1), LENGTHS
    for layer in taken.model._flatten_layers():
        if isinstance(layer, ChannelNormalization):
            mean, stddev = _normalized(layer, taken)
        elif isinstance(layer, LogMel):
            least = layer.frame + (layer.min_frames - 1) * layer.hop
            stddev, lengths = LOUDNESS, (least, 2 * least, max(layer.rate, 3 * least))
        elif isinstance(layer, MelPower):
            stddev = LOUDNESS
        elif isinstance(layer, WindowedMean):
            lengths = layer.window, 2 * layer.window, 3 * layer.window
    allowed = limits(taken)
    return mean, stddev, np.clip(lengths, allowed.least, allowed.most).astype(int)


def _normalized(layer, taken):
    """Mean and standard deviation of the channels of recordings."""
    mean, stddev = np.asarray(layer.mean), np.asarray(layer.stddev)
    if len(mean) == taken.shape[1]:
        return mean, stddev
    known = taken.contract is not None and taken.contract.stddev_range is not None
    return np.float32(0), np.mean(taken.contract.stddev_range, axis=1) if known else np.float32(1)


def _matrices(taken, rng):
    """A regular and a singular covariance, of white noise with three times as many steps as
    channels and with an eighth as many; zero and the identity."""
    n = taken.shape[0]
    signals = [rng.normal(size=(steps, n)) for steps in (3 * n, n // 8 + 1)]
    covariances = [(x.T @ x / len(x)).astype(np.float32) for x in signals]
    return covariances, [np.zeros_like(covariances[0]), np.eye(n, dtype=np.float32)]


def _images(taken, rng):
    """Uniform noise; a black, a white and a gray image."""
    noise = [rng.random(taken.shape, np.float32) for _ in range(IMAGES)]
    return noise, [np.full(taken.shape, value, np.float32) for value in (0, 1, 0.5)]


_EXAMPLES = {inputs.Signals: _signals, inputs.Matrices: _matrices, inputs.Images: _images}
