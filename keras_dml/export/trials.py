"""Generates the fixed inputs on which an exported file must agree with Keras."""

import dataclasses
from typing import Any

import numpy as np

from keras_dml import inputs
from keras_dml._backend import keras, ops
from keras_dml.export._devices import works_on_matrices
from keras_dml.export.signatures import limits
from keras_dml.layers import ChannelNormalization, LogMel, MelPower, WindowedMean

MAX_REAL = 16  # largest number of real recordings in the trials. More recordings only take time.
LENGTHS = (7, 100, 512)  # in time steps, unless the model accepts only one length
LOUDNESS = 0.1  # standard deviation of the noise for a model of audio in [-1, 1]
IMAGES = 3
SEED = 20


@dataclasses.dataclass(frozen=True)
class Trials:
    """Inputs of a model, and the embeddings that Keras computes from them.

    Attributes:
        recordings: Arrays `(time, channels)`, `(n, n)` or `(height, width, channels)`.
        embeddings: Embeddings that Keras computed for each recording alone, shape
            `(recordings, ...)`.
        typical: Number of typical recordings, which are the first entries of `recordings`. All
            other entries are extreme.
        timed: Recording with which the latency is measured. The longest real recording is used, or
            the longest generated recording if no real recordings are given.
    """

    recordings: list[Any]
    embeddings: np.ndarray
    typical: int
    timed: np.ndarray


def trials(
    model: keras.Model,
    real: list[np.ndarray] | None = None,
    only_real: bool = False,
    steps: int | None = None,
) -> Trials:
    """Generates inputs of a model and computes their embeddings by Keras.

    Args:
        model: A `keras.Model` with one input of shape `(batch, time, channels)`, `(batch, n, n)` or
            `(batch, height, width, channels)`.
        real: Real recordings. In the result, the generated recordings come after the real
            recordings.
        only_real: If True, the real recordings count as typical, and the generated noise does not.
            Use True for a file that is calibrated on real recordings, so that its drift is not
            measured on noise.
        steps: Largest number of time steps of a generated recording. Default: any number that the
            model accepts.

    Returns:
        `Trials`. Extreme recordings without a finite embedding are left out.

    Raises:
        ValueError: If Keras computes NaN or infinity for a typical recording.
    """
    real = list(real or [])[:MAX_REAL]
    kind = inputs.from_model(model)
    generated, extremes = examples(kind, steps)
    recordings = [*real, *generated, *extremes]
    batches = [np.asarray(recording, np.float32)[None] for recording in recordings]
    embeddings = [ops.convert_to_numpy(kind.model(batch, training=False)) for batch in batches]
    usual = len(real) + len(generated)
    is_finite = [bool(np.isfinite(embedding).all()) for embedding in embeddings]
    if not all(is_finite[:usual]):
        index = is_finite.index(False)
        raise ValueError(
            f"Keras computes an embedding of NaN or infinity for {is_finite[:usual].count(False)} "
            f"of {usual} trial recordings, for example for an array of shape "
            f"{np.shape(recordings[index])}, so no file can be compared with {model.name!r}. "
            "Train the model, or correct its weights."
        )
    # A layer that masks silence has no embedding of silence.
    recordings = [x for x, valid in zip(recordings, is_finite, strict=True) if valid]
    embeddings = [z for z, valid in zip(embeddings, is_finite, strict=True) if valid]
    if only_real:
        typical = len(real)
    elif works_on_matrices(model):  # the covariance of a constant recording is only rounding error
        typical = len(real) + len(generated)
    else:
        typical = len(recordings)
    timed = max(real or recordings, key=len)
    return Trials(recordings, np.concatenate(embeddings), typical, timed)


def examples(
    kind: inputs.Signals | inputs.Matrices | inputs.Images, steps: int | None = None
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Generates inputs of a model.

    Args:
        kind: Input kind of the model (see `keras_dml.inputs`).
        steps: Number of time steps of the longest recording. Default: a usual number of time steps.

    Returns:
        Two lists of arrays: typical inputs and extreme inputs.
    """
    return _EXAMPLES[type(kind)](kind, np.random.default_rng(SEED), steps)


def _signals(kind, rng, steps):
    """Generates noise of several lengths, silence, and a constant signal in the model's units.

    If `steps` is given, the longest noise has `steps` time steps if the model accepts this length,
    and silence and the constant signal are as short as the shortest noise.
    """
    mean, stddev, lengths = _statistics(kind)
    if steps is not None:
        longest = np.clip(steps, None, limits(kind).most)
        lengths = np.unique(np.append(np.minimum(lengths, longest), longest))
    channels = kind.shape[1]
    noise = [
        (mean + stddev * rng.normal(size=(length, channels))).astype(np.float32)
        for length in lengths
    ]
    silence = np.zeros_like(noise[-1] if steps is None else noise[0])
    constant = np.broadcast_to(mean + stddev, silence.shape).astype(np.float32)
    return noise, [silence, constant]


def _statistics(kind):
    """Returns the mean and the standard deviation of each channel, and suitable recording lengths.

    The statistics come from the normalization layer of the model. If the layer and the recordings
    have different numbers of channels, the statistics come from the input contract. If the model
    has a `LogMel` layer, the shortest length gives just enough frames. The longest length is then
    one second or three times the shortest length, whichever is longer. If the model has a
    `WindowedMean`, the lengths range from one window to three windows.
    """
    mean, stddev, lengths = np.float32(0), np.float32(1), LENGTHS
    for layer in kind.model._flatten_layers():
        if isinstance(layer, ChannelNormalization):
            mean, stddev = _channel_statistics(layer, kind)
        elif isinstance(layer, LogMel):
            least = layer.frame + (layer.min_frames - 1) * layer.hop
            stddev, lengths = LOUDNESS, (least, 2 * least, max(layer.rate, 3 * least))
        elif isinstance(layer, MelPower):
            stddev = LOUDNESS
        elif isinstance(layer, WindowedMean):
            lengths = layer.window, 2 * layer.window, 3 * layer.window
    allowed = limits(kind)
    return mean, stddev, np.clip(lengths, allowed.least, allowed.most).astype(int)


def _channel_statistics(layer, kind):
    """Returns the mean and the standard deviation of each channel of the recordings."""
    mean, stddev = np.asarray(layer.mean), np.asarray(layer.stddev)
    if len(mean) == kind.shape[1]:
        return mean, stddev
    if kind.contract is None or kind.contract.stddev_range is None:
        return np.float32(0), np.float32(1)
    return np.float32(0), np.mean(kind.contract.stddev_range, axis=1)


def _matrices(kind, rng, steps):
    """Generates a regular and a singular covariance matrix, a zero matrix and an identity matrix.

    The covariances are computed from white noise. For the regular matrix, the noise has three time
    steps per channel. For the singular matrix, the noise has one time step per eight channels.
    """
    n = kind.shape[0]
    signals = [rng.normal(size=(steps, n)) for steps in (3 * n, n // 8 + 1)]
    covariances = [(x.T @ x / len(x)).astype(np.float32) for x in signals]
    return covariances, [np.zeros_like(covariances[0]), np.eye(n, dtype=np.float32)]


def _images(kind, rng, steps):
    """Generates images of uniform noise, a black image, a white image and a gray image."""
    noise = [rng.random(kind.shape, np.float32) for _ in range(IMAGES)]
    return noise, [np.full(kind.shape, value, np.float32) for value in (0, 1, 0.5)]


_EXAMPLES = {inputs.Signals: _signals, inputs.Matrices: _matrices, inputs.Images: _images}
