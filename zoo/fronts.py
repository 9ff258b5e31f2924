"""Layers before a model that train nothing, such as `keras_dml.layers.GravityFrame`, or functions
of such layers."""

import numpy as np


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
    return [np.asarray(applied(layers, np.asarray(x, np.float32)[None]))[0] for x in recordings]
