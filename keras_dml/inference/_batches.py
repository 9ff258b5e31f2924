"""Batches of recordings of similar length, padded under a mask.

Padding must not change an embedding. A layer may drop the mask, and one that takes it may still
count the padding, as a normalization over time does. So before a batch is padded, one recording
goes through the model padded and alone.
"""

import itertools
import weakref

import numpy as np

from keras_dml._backend import keras, ops
from keras_dml._backend.values import immutable_weights
from keras_dml._backend.xla import compiles_each_shape

LENGTHS_PER_OCTAVE = (
    8  # padded lengths a batch may have: few enough to compile once, padding below 13 %
)
FACTOR = 2  # between the lengths of one batch: memory goes with the longest
TRIED_STEPS = 64  # at least, of the recording that is tried
# Fractions of the largest number of a row of the embedding: padding that counts moves it by a tenth
# and more, rounding in another order by 1e-6.
MOVED = {"float16": 1e-2, "bfloat16": 1e-1}
MOVED_IN_FLOAT32 = 1e-4

_MASKED = weakref.WeakKeyDictionary()  # JAX: models found to keep masks, with their weights then


def batches(taken, signals, batch_size):
    """Selects the rows of each batch, and decides whether batches are padded.

    Args:
        taken: What the model takes, one of `keras_dml.inputs`.
        signals: Arrays that it has read.
        batch_size: Largest number of rows.

    Returns:
        `(batches, padded)`: list of arrays of indices of `signals`, similar lengths together; and
        whether batches are to be padded to one of few lengths, or hold one length each.
    """
    lengths = np.array([len(signal) for signal in signals])
    order = np.argsort(lengths, kind="stable")
    mixed = _cut(order, lengths, batch_size, FACTOR)
    several = any(lengths[rows[0]] != lengths[rows[-1]] for rows in mixed)
    pads = taken.has_any_length and (several or compiles_each_shape())
    if pads and _keeps_masks(taken.model, signals, lengths.min()):
        return mixed, True
    return _cut(order, lengths, batch_size, 1), False


def padded(taken, signals):
    """Pads recordings of several lengths to a batch, and returns it with its mask.

    Returns:
        Shape `(batch, time, channels)` with zeros after the end of each, and `(batch, time)`, True
        before it.
    """
    steps = padded_length(max(len(signal) for signal in signals))
    batch, lengths = taken.batch(signals, steps).values()
    return batch, np.arange(steps) < lengths[:, None]


def padded_length(length):
    """Rounds a length up to one of few lengths, so that a compiling backend compiles few times."""
    step = max(1, 2 ** (int(length).bit_length() - 1) // LENGTHS_PER_OCTAVE)
    return -(-int(length) // step) * step


def embeddings(model, batch, mask=None):
    """Computes the embeddings of a batch, NumPy."""
    if mask is None:
        return ops.convert_to_numpy(model(batch, training=False))
    batch, mask = ops.convert_to_tensor(batch), ops.convert_to_tensor(mask)
    # A model as a layer has no mask of its own to give and warns that it drops this one, although
    # its layers take it. Silencing a warning is not safe between threads; there is none here.
    return ops.convert_to_numpy(model.call(batch, mask=mask, training=False))


def _cut(order, lengths, batch_size, factor):
    """Splits indices in order into parts of at most `batch_size`, whose lengths are within a
    factor."""
    parts = []
    for i in order:
        if not parts or len(parts[-1]) == batch_size:
            parts.append([])
        elif lengths[i] > factor * lengths[parts[-1][0]]:
            parts.append([])
        parts[-1].append(i)
    return [np.array(part) for part in parts]


def _keeps_masks(model, signals, shortest):
    """Returns True if the embedding of a recording is the same with and without padding."""
    if not _passes_masks(model):
        return False
    weights = immutable_weights(model)
    if weights is not None and _same(_MASKED.get(model), weights):
        return True
    loudest = max(signals[:TRIED_STEPS], key=np.ptp)
    steps = padded_length(max(TRIED_STEPS, shortest))
    tried = np.resize(loudest, (steps, loudest.shape[1]))
    batch = np.concatenate([tried, np.zeros_like(tried)])[None]
    try:
        alone = embeddings(model, tried[None])
        found = embeddings(model, batch, np.arange(2 * steps)[None] < steps)
    except Exception:  # of any layer that does not take the mask, on any backend
        return False
    kept = _is_close(found, alone, MOVED.get(model.compute_dtype, MOVED_IN_FLOAT32))
    if kept and weights is not None:
        _MASKED[model] = weights
    return kept


def _is_close(found, expected, fraction):
    if found.shape != expected.shape or not np.isfinite(found).all():
        return False
    largest = np.abs(expected).max(axis=-1, keepdims=True)  # of a filter, of a vector
    allowed = fraction * largest + fraction**2 * largest.max()
    return bool((np.abs(found - expected) <= allowed).all())


def _same(before, now):
    """Returns True if two lists contain the same arrays."""
    return before is not None and all(
        a is b for a, b in itertools.zip_longest(before, now, fillvalue=0)
    )


def _passes_masks(model):
    """Returns True if every operation of a model propagates masks. For a model without a graph this
    is unknown, so it returns False."""
    operations = (
        model.layers if isinstance(model, keras.Sequential) else getattr(model, "operations", None)
    )
    if operations is None:
        return False
    return all(
        _passes_masks(operation)
        if isinstance(operation, keras.Model)
        else getattr(operation, "supports_masking", False)
        for operation in operations
        if not isinstance(operation, keras.layers.InputLayer)
    )
