"""Explains Wasserstein distances by filter and segment, and by time step."""

import itertools

import numpy as np

from keras_dml import inputs
from keras_dml._backend import keras, ops
from keras_dml._typing import ArrayLike
from keras_dml.distances import Distance
from keras_dml.explanations import _graph
from keras_dml.explanations._result import Explanation, Timeline
from keras_dml.layers import QuantileLayer

MEANING = (
    "The parts of each recording sum to half of the distance. If a moment is removed, the "
    "recordings are closer. If a moment that is alike is removed, the recordings are further "
    "apart. These statements are exact only if the network separates the moments."
)

WHOLE = (
    "This network uses the whole recording around each moment, so removing a moment may change the "
    "distance by a different amount."
)


def explain_segments(
    model: keras.Model,
    distance: Distance,
    parts: np.ndarray,
    embeddings: dict[str, np.ndarray],
    recordings: dict[str, ArrayLike],
) -> Explanation:
    """Explains a distance between quantile embeddings by segments and by time steps.

    Args:
        model: Model that computed the embeddings.
        distance: Distance that has the methods `segment_parts` and `activation_parts`.
        parts: Parts of the distance that `segment_parts` returned.
        embeddings: Dict from the names of the two recordings to their embeddings, each of shape
            `(filters + 1, knots)`.
        recordings: Dict from names to the recordings that are available.

    Returns:
        `Explanation`.
    """
    knots = next(iter(embeddings.values()))[-1]
    filters = tuple(f"filter {i}" for i in range(len(parts)))
    percent = [f"{100 * knot:.0f}" for knot in knots]
    segments = tuple(f"quantiles {low} to {high} %" for low, high in itertools.pairwise(percent))
    contract = inputs.from_model(model).contract
    timelines = _timelines(model, distance, embeddings, recordings)
    sees_all = any(line.before + line.after >= len(line.parts) for line in timelines.values())
    return Explanation(
        float(parts.sum()),
        parts,
        (filters, segments),
        f"{MEANING} {WHOLE}" if sees_all else MEANING,
        timelines=timelines,
        rate_hz=None if contract is None else contract.rate_hz,
    )


def _timelines(model, distance, embeddings, recordings):
    """Computes a `Timeline` of each recording. Returns an empty dict if the network mixes
    moments."""
    chain = _graph.chain(model)
    if not _graph.reaches_the_input(model, chain) or not isinstance(chain[0][0], QuantileLayer):
        return {}
    field = _graph.receptive_field([operation for operation, _ in chain[:0:-1]])
    encoder = keras.Model(model.inputs, chain[0][1])
    lines = {}
    for name, array in recordings.items():
        recording = np.asarray(array, np.float32)
        (reference,) = (z for key, z in embeddings.items() if key != name)
        activations = ops.convert_to_numpy(encoder([recording[None]], training=False))[0]
        by_rank = distance.activation_parts(embeddings[name], reference, len(activations))
        spread = field.spread(_step_parts(activations, by_rank), len(recording))
        if spread is None:
            return {}
        lines[name] = Timeline(recording, spread, field.before, field.after)
    return lines


def _step_parts(activations, by_rank):
    """Returns the part that belongs to each time step, summed over all filters."""
    steps = np.argsort(activations, axis=0, kind="stable").T  # (filters, ranks)
    return np.bincount(steps.ravel(), by_rank.ravel(), minlength=len(activations))
