"""Applies fixed layers, such as `keras_dml.layers.GravityFrame`, to the inputs of a model."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from keras_dml._typing import Recordings, Tensor

BATCH = 256  # largest number of recordings of one length per batch


def apply(layers: Sequence[Callable[..., Any]], x: Tensor) -> Tensor:
    """Applies layers one after the other to a tensor."""
    for layer in layers:
        x = layer(x)
    return x


def outputs(layers: Sequence[Callable[..., Any]], recordings: Recordings) -> list[np.ndarray]:
    """Computes the outputs of layers for each recording.

    Args:
        layers: Fixed layers. If the list is empty, the recordings are returned unchanged.
        recordings: List of arrays `(time_i, channels)`.
    """
    if not layers:
        return recordings
    size = BATCH if len({len(x) for x in recordings}) == 1 else 1
    batches = (recordings[i : i + size] for i in range(0, len(recordings), size))
    parts = (np.asarray(apply(layers, np.stack(batch).astype(np.float32))) for batch in batches)
    return [output for part in parts for output in part]
