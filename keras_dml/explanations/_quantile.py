"""Parts of a Wasserstein distance: by filter and segment, and by the steps of the recordings."""

import itertools

import numpy as np

from keras_dml import inputs
from keras_dml._backend import keras, ops
from keras_dml.explanations import _graph
from keras_dml.explanations._receptive_field import receptive_field
from keras_dml.explanations._result import Explanation, Timeline
from keras_dml.geometry.quantile.plan import rank_parts, segment_parts
from keras_dml.layers import QuantileLayer

MEANING = (
    "Each recording carries half of the distance. Without a moment the recordings are closer, and "
    "without a moment that is alike they are further apart, as far as the network separates "
    "moments."
)

WHOLE = (
    "Around each moment the network sees the whole recording, so removing a moment may change the "
    "distance by another amount."
)


def explained(model, order, embeddings, recordings):
    """Explanation of a Wasserstein distance.

    Args:
        model: The model that embeds.
        order: Order p of the distance.
        embeddings: The two, by the names of their recordings, each `(filters + 1, knots)`.
        recordings: Recordings of the same names, those that there are.

    Returns:
        `Explanation`.
    """
    (x, knots), (y, _) = ((one[:-1], one[-1]) for one in embeddings.values())
    parts = segment_parts(x, y, knots, order)
    filters = tuple(f"filter {i}" for i in range(len(x)))
    percent = [f"{100 * knot:.0f}" for knot in knots]
    segments = tuple(f"quantiles {low} to {high} %" for low, high in itertools.pairwise(percent))
    contract = inputs.of(model).contract
    timelines = _timelines(model, order, embeddings, recordings)
    sees_all = any(line.before + line.after >= len(line.parts) for line in timelines.values())
    return Explanation(
        float(parts.sum()),
        parts,
        (filters, segments),
        f"{MEANING} {WHOLE}" if sees_all else MEANING,
        timelines=timelines,
        rate_hz=None if contract is None else contract.rate_hz,
    )


def _timelines(model, order, embeddings, recordings):
    chain = _graph.chain(model)
    if not _graph.reaches_the_input(model, chain) or not isinstance(chain[0][0], QuantileLayer):
        return {}
    field = receptive_field([operation for operation, _ in chain[:0:-1]])
    encoder = keras.Model(model.inputs, chain[0][1])
    lines = {}
    for name, given in recordings.items():
        recording = np.asarray(given, np.float32)
        (other,) = (z for key, z in embeddings.items() if key != name)
        steps = _step_parts(encoder, order, recording, embeddings[name], other)
        spread = field.spread(steps, len(recording))
        if spread is None:
            return {}
        lines[name] = Timeline(recording, spread, field.before, field.after)
    return lines


def _step_parts(encoder, order, recording, own, other):
    """Parts of a recording's activations, summed over the filters."""
    activations = ops.convert_to_numpy(encoder([recording[None]], training=False))[0]
    by_rank = rank_parts(own[:-1], other[:-1], own[-1], len(activations), order)
    steps = np.argsort(activations, axis=0, kind="stable").T  # (filters, ranks)
    return np.bincount(steps.ravel(), by_rank.ravel(), minlength=len(activations))
