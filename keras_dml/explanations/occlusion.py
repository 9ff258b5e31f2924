"""Explains distances by occlusion, which removes a moment, channel or region and measures the
change.

The module does not import Keras, so that a .tflite file can be explained too.
"""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from keras_dml import inputs
from keras_dml import progress as bars
from keras_dml._typing import ArrayLike
from keras_dml.explanations._result import Explanation, Timeline

SPANS = 20  # spans per recording, so each recording is embedded 21 times
GRID = 5  # number of rows and columns of regions in an image
BATCH_NUMBERS = 2**20  # largest number of values in a batch, about a minute of audio
BATCH_ROWS = 32
# Changes that are smaller than this fraction are rounding errors. The fraction is relative to the
# distance or to the largest change, whichever is larger.
ROUNDING = 1e-5

MOMENTS = "Each moment was replaced by the mean of the recording."
REGIONS = "Each region was replaced by the mean color of the image."
CHANNELS = "Each channel was replaced by its mean and by 0, and the two changes were averaged."
ROWS = "The correlations of each channel with all other channels were set to 0."
ALONE = "Only one part was replaced at a time, so the changes do not sum to the distance."


@dataclasses.dataclass(frozen=True)
class Network:
    """Functions of a model that computes embeddings.

    Attributes:
        inputs: Object that checks inputs of the model (see `keras_dml.inputs`).
        card: Model card, or None if the model has no card.
        embed: Function that computes embeddings `(n, ...)` of inputs `(n, ...)`, without checking
            the inputs.
        distance: Function that computes distances `(n, m)` between embeddings.
    """

    inputs: inputs.Signals | inputs.Matrices | inputs.Images
    card: dict[str, Any] | None
    embed: Callable[[np.ndarray], np.ndarray]
    distance: Callable[[np.ndarray, np.ndarray], np.ndarray]


def explain_by_occlusion(
    network: Network, embeddings: dict[str, np.ndarray], recordings: dict[str, ArrayLike]
) -> Explanation:
    """Explains a distance by occlusion (Zeiler2014).

    The function replaces each moment or region by the mean of the recording. We compared the mean
    with other replacements for the models `gait_lda`, `phone_gait_lda`, `watch_lda`, `eye_lda` and
    `zoo/papers/vowels_qp_wl`. Each model was tested on 16 to 24 pairs of real recordings. The test
    replaced each span by the mean, and selected the span that changed the distance most. The test
    then removed the selected span in other ways: by zeros, interpolation, cutting, or steps from
    elsewhere in the recording. On average, the removal of the selected span changed the
    distance more than the removal of any of 65 to 88 % of the other spans did. We also let the test
    select the span by interpolation instead of the mean (then 56 to 64 %), and by cutting the span
    out (then 61 to 84 %).

    The function replaces each channel in two ways. Replacing the channel by its mean removes the
    variation of the channel. Replacing the channel by 0 also removes the level of the channel.

    Args:
        network: Model that computed the embeddings.
        embeddings: Dict from the names of the two recordings to their embeddings.
        recordings: Dict from names to the recordings that are available.

    Returns:
        `Explanation` without parts.
    """
    kind = network.inputs
    x, y = embeddings.values()
    distance = float(network.distance(x[None], y[None])[0, 0])
    arrays = {name: np.asarray(array, np.float32) for name, array in recordings.items()}
    changes = functools.partial(_changes, network, embeddings)
    explanation = Explanation(distance, None, (), "", by_removal=True)
    names = _channel_names(network.card, kind)
    if isinstance(kind, inputs.Images):
        return _of_images(explanation, names, arrays, changes)
    if isinstance(kind, inputs.Matrices):
        return _of_matrices(explanation, names, arrays, changes)
    rate_hz = None if kind.contract is None else kind.contract.rate_hz
    explanation = dataclasses.replace(explanation, rate_hz=rate_hz)
    return _of_signals(explanation, names, arrays, changes)


def _channel_names(card, kind):
    """Returns the channel names of the contract or of the model card, or numbers if neither has
    names.
    """
    if kind.contract is not None:
        return kind.contract.channels
    count = kind.shape[-1]
    names = (card or {}).get("input", {}).get("channels", ())
    return names if len(names) == count else [f"channel {i}" for i in range(count)]


def _of_signals(explanation, names, arrays, changes):
    timelines, by_channel = {}, []
    for name, recording in arrays.items():
        count = min(SPANS, len(recording))
        edges = np.linspace(0, len(recording), count + 1).astype(int).tolist()
        spans = tuple(zip(edges[:-1], edges[1:], strict=True))
        removals = [functools.partial(_without_steps, start=i, end=j) for i, j in spans]
        values = changes(name, recording, removals + _channel_removals(recording))
        lengths = np.diff(edges)
        parts = np.repeat(values[:count] / lengths, lengths)
        timelines[name] = Timeline(recording, parts, 0, 0, spans)
        by_channel.append(_mean_of_levels(values[count:]))
    channels = _by_name(names, by_channel)
    return dataclasses.replace(
        explanation,
        meaning=_sentences(MOMENTS, CHANNELS if channels else ""),
        channels=channels,
        timelines=timelines,
    )


def _of_matrices(explanation, names, arrays, changes):
    by_channel = []
    for name, matrix in arrays.items():
        removals = [functools.partial(_uncorrelated, channel=i) for i in range(len(matrix))]
        by_channel.append(changes(name, matrix, removals))
    channels = _by_name(names, by_channel)
    return dataclasses.replace(explanation, meaning=_sentences(ROWS), channels=channels)


def _of_images(explanation, names, arrays, changes):
    regions, by_channel = {}, []
    for name, image in arrays.items():
        rows, columns = (
            np.linspace(0, size, min(GRID, size) + 1).astype(int) for size in image.shape[:2]
        )
        boxes = [
            (top, bottom, left, right)
            for top, bottom in zip(rows[:-1], rows[1:], strict=True)
            for left, right in zip(columns[:-1], columns[1:], strict=True)
        ]
        removals = [functools.partial(_without_region, box=box) for box in boxes]
        values = changes(name, image, removals + _channel_removals(image))
        for (top, bottom, left, right), value in zip(boxes, values[: len(boxes)], strict=True):
            regions[f"rows {top} to {bottom}, columns {left} to {right} of {name}"] = float(value)
        by_channel.append(_mean_of_levels(values[len(boxes) :]))
    channels = _by_name(names, by_channel)
    meaning = _sentences(REGIONS, CHANNELS if channels else "")
    return dataclasses.replace(explanation, meaning=meaning, channels=channels, regions=regions)


def _sentences(*sentences):
    return " ".join(filter(None, [*sentences, ALONE]))


def _channel_removals(array):
    """Returns two functions per channel that remove the channel from a recording. The list is empty
    if there is only one channel.
    """
    channels = array.shape[-1]
    if channels == 1:
        return []
    return [
        functools.partial(_without_channel, channel=i, at_mean=at_mean)
        for at_mean in (True, False)
        for i in range(channels)
    ]


def _mean_of_levels(values):
    return values.reshape(2, -1).mean(axis=0)


def _by_name(names, by_channel):
    """Returns a dict from each channel to the mean of its changes. The dict is empty if no channel
    was removed.
    """
    values = np.mean(by_channel, axis=0)
    return dict(zip(names, values.tolist(), strict=True)) if len(values) else {}


def _without_steps(recording, start, end):
    array = recording.copy()
    array[start:end] = recording.mean(axis=0)
    return array


def _without_channel(recording, channel, at_mean):
    array = recording.copy()
    array[..., channel] = recording[..., channel].mean() if at_mean else 0.0
    return array


def _uncorrelated(matrix, channel):
    array = matrix.copy()
    array[channel] = array[:, channel] = 0.0
    array[channel, channel] = np.diagonal(matrix).mean()
    return array


def _without_region(image, box):
    top, bottom, left, right = box
    array = image.copy()
    array[top:bottom, left:right] = image.mean(axis=(0, 1))
    return array


def _changes(network, embeddings, name, recording, removals):
    """Computes by how much each removal lowers the distance. A negative value means that the
    distance rises.

    A variant is a copy of the recording after one removal. All variants have the same shape as the
    recording, so the model embeds them without padding. The function does not check variants
    against the input contract, because the contract may mistake replaced values for padding.

    Returns:
        Decreases of the distance, shape `(removals,)`. A decrease is 0 if the distance is
        undefined, for example because a covariance matrix without a channel is singular.
    """
    rows = max(1, min(BATCH_ROWS, BATCH_NUMBERS // recording.size))
    variants = [np.copy, *removals]
    batches = [variants[i : i + rows] for i in range(0, len(variants), rows)]
    distances = []
    for batch in bars.track(batches, "explaining") if len(batches) > 1 else batches:
        arrays = np.stack([remove(recording) for remove in batch])
        z = network.embed(arrays)
        distances += [_distance(network, embeddings, name, row) for row in z]
    values = distances[0] - np.array(distances[1:])
    values = np.where(np.isfinite(values), values, 0.0)
    scale = max(abs(distances[0]), np.abs(values).max(initial=0.0))
    return np.where(np.abs(values) > ROUNDING * scale, values, 0.0)


def _distance(network, embeddings, name, embedding):
    """Replaces one of the two embeddings and returns the new distance, or NaN if the new distance
    is undefined.
    """
    x, y = (embeddings | {name: embedding}).values()
    try:
        return float(network.distance(x[None], y[None])[0, 0])
    except ValueError:  # the embedding is not finite, or the matrix is not positive definite
        return np.nan
