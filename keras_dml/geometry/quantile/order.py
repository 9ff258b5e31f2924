"""Finds the positions of the order statistics of a sample."""

import concurrent.futures
import os

import numpy as np

from keras_dml._backend import host, ops
from keras_dml._typing import Tensor

WORTH_THREADS = 100_000  # number of values below which starting threads takes longer than the sort


def positions(x: Tensor, ranks: Tensor, on_host: bool = False) -> Tensor:
    """Finds the time steps at which the activations have the given ranks. The result has no
    gradient.

    Selecting activations at these positions gives the same values and the same gradient as sorting
    all activations. But the backward pass of a selection processes only the selected steps.

    Args:
        x: Samples, shape `(batch, filters, time)`.
        ranks: Zero-based ranks, int32, shape `(batch, 1, ranks)`.
        on_host: Whether to use NumPy's sort in several threads. Sorting by NumPy is possible only
            on TensorFlow.

    Returns:
        Positions, int32, shape `(batch, filters, ranks)`.
    """
    x = ops.stop_gradient(x)
    if on_host and host.is_reachable():
        shape = (x.shape[0], x.shape[1], ranks.shape[2])
        return host.call(_numpy_positions, [x, ranks], "int32", shape)
    order = ops.cast(ops.argsort(x, axis=-1), "int32")
    filters = ops.shape(x)[1]
    return ops.take_along_axis(order, ops.repeat(ranks, filters, axis=1), axis=-1)


def _numpy_positions(x, ranks):
    rows = x.shape[0] * x.shape[1]
    shape = (*x.shape[:2], ranks.shape[2])
    ranks = np.broadcast_to(ranks, shape).reshape(rows, shape[2])
    x = np.ascontiguousarray(x).reshape(rows, x.shape[2])
    if x.size < WORTH_THREADS:
        return _pick(x, ranks).reshape(shape)
    parts = os.cpu_count() or 1
    # NumPy's sort releases the interpreter lock (GIL).
    with concurrent.futures.ThreadPoolExecutor(parts) as pool:
        picked = list(pool.map(_pick, np.array_split(x, parts), np.array_split(ranks, parts)))
    return np.concatenate(picked).reshape(shape)


def _pick(x, ranks):
    """Finds the positions of the ranks in each row.

    For float32, the function sorts 64-bit words, with the value in the upper half and the position
    in the lower half. Sorting these words by `sort` is faster than sorting the values by `argsort`,
    because only NumPy's `sort` uses SIMD instructions.
    """
    if x.dtype != np.float32:
        return np.take_along_axis(np.argsort(x, axis=1), ranks, axis=1).astype(np.int32)
    bits = x.view(np.int32)
    words = (bits ^ ((bits >> 31) & 0x7FFFFFFF)).astype(np.int64) << 32  # ascends with the value
    words |= np.arange(x.shape[1], dtype=np.int64)
    words.sort(axis=1)
    return (np.take_along_axis(words, ranks, axis=1) & 0xFFFFFFFF).astype(np.int32)
