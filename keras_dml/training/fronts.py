"""Layers before a model that train nothing, such as `keras_dml.layers.GravityFrame`, or functions
of such layers."""

import numpy as np

BATCH = 256  # recordings of one length


def applied(layers, x):
    """Layers one after the other on a tensor."""
    for layer in layers:
        x = layer(x)
    return x


def outputs(layers, recordings):
    """What layers give of each recording by itself.

    Args:
        layers: List of layers; of none the recordings come back.
        recordings: List of arrays `(time_i, channels)`.
    """
    if not layers:
        return recordings
    size = BATCH if len({len(x) for x in recordings}) == 1 else 1
    batches = (recordings[i : i + size] for i in range(0, len(recordings), size))
    parts = (np.asarray(applied(layers, np.stack(some).astype(np.float32))) for some in batches)
    return [one for part in parts for one in part]
