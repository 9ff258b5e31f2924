"""Groups recordings with similar lengths into batches, pads them, and masks the padding.

Padding must not change an embedding. However, a layer may drop the mask. A layer that accepts the
mask may still use the padding, for example to normalize over time. Before any batch is padded, the
module therefore embeds one recording with and without padding, and compares the two embeddings.
"""

import itertools
import weakref

import numpy as np

from keras_dml import inputs
from keras_dml._backend import keras, ops
from keras_dml._backend.values import immutable_weights
from keras_dml._backend.xla import compiles_each_shape

# Number of allowed padded lengths between a length and twice this length. With fewer lengths, the
# backend compiles less often, but recordings get more padding. With 8 lengths, the padding is below
# 13 % of the length of a recording.
LENGTHS_PER_OCTAVE = 8
FACTOR = 2  # largest ratio of lengths in one batch, because memory grows with the longest recording
TRIED_STEPS = 64  # smallest number of steps of the recording that is embedded twice
# If padding changes an embedding by at most this fraction of the largest number in a row, the
# change counts as rounding. If a layer uses the padding, the embedding changes by a tenth or more.
# If no layer uses the padding, rounding changes the embedding by 1e-6.
MOVED = {"float16": 1e-2, "bfloat16": 1e-1}
MOVED_IN_FLOAT32 = 1e-4

# Dictionary for JAX only. The keys are models whose embeddings do not depend on padding, and the
# values are the weights with which the models were tested.
_MASKED = weakref.WeakKeyDictionary()


def batches(
    kind: inputs.Signals | inputs.Matrices | inputs.Images,
    signals: list[np.ndarray],
    batch_size: int,
) -> tuple[list[np.ndarray], bool]:
    """Divides recordings into batches, and decides whether batches are padded.

    Args:
        kind: Kind of inputs of the model (see `keras_dml.inputs`).
        signals: Recordings, the result of `kind.read`.
        batch_size: Largest number of rows per batch.

    Returns:
        `batches` is a list with one array per batch. The array contains the indices of the batch's
        recordings in `signals`. `padded` is False if all recordings in each batch have equal
        lengths, so that no batch needs padding.
    """
    lengths = np.array([len(signal) for signal in signals])
    order = np.argsort(lengths, kind="stable")
    mixed = _cut(order, lengths, batch_size, FACTOR)
    differ = any(lengths[rows[0]] != lengths[rows[-1]] for rows in mixed)
    pads = kind.has_any_length and (differ or compiles_each_shape())
    if pads and _keeps_masks(kind.model, signals, lengths.min()):
        return mixed, True
    return _cut(order, lengths, batch_size, 1), False


def padded(
    kind: inputs.Signals | inputs.Matrices | inputs.Images, signals: list[np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Pads recordings of different lengths and stacks them to one batch.

    Returns:
        Batch, shape `(batch, time, channels)`, with zeros after the end of each recording. Mask,
        shape `(batch, time)`, which is True where the batch holds values of recordings.
    """
    steps = padded_length(max(len(signal) for signal in signals))
    batch, lengths = kind.batch(signals, steps).values()
    return batch, np.arange(steps) < lengths[:, None]


def padded_length(length: int) -> int:
    """Rounds a length up to one of a few allowed lengths, so that the backend compiles the model
    for only a few shapes.
    """
    step = max(1, 2 ** (int(length).bit_length() - 1) // LENGTHS_PER_OCTAVE)
    return -(-int(length) // step) * step


def embeddings(model: keras.Model, batch: np.ndarray, mask: np.ndarray | None = None) -> np.ndarray:
    """Computes the embeddings of a batch and returns a NumPy array."""
    if mask is None:
        return ops.convert_to_numpy(model(batch, training=False))
    batch, mask = ops.convert_to_tensor(batch), ops.convert_to_tensor(mask)
    # `model(batch, mask=mask)` would warn that the model drops the mask, although its layers use
    # the mask. `model.call` does not warn. Suppressing the warning by a filter would not be
    # thread-safe.
    return ops.convert_to_numpy(model.call(batch, mask=mask, training=False))


def _cut(order, lengths, batch_size, factor):
    """Splits `order`, a list of indices, into batches of at most `batch_size` recordings.

    In each batch, the longest recording is at most `factor` times as long as the shortest.
    """
    parts = []
    for i in order:
        if not parts or len(parts[-1]) == batch_size:
            parts.append([])
        elif lengths[i] > factor * lengths[parts[-1][0]]:
            parts.append([])
        parts[-1].append(i)
    return [np.array(part) for part in parts]


def _keeps_masks(model, signals, shortest):
    """Tests whether the embedding of a recording is the same with and without padding."""
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
        masked = embeddings(model, batch, np.arange(2 * steps)[None] < steps)
    except Exception:  # any layer on any backend may fail if it does not accept the mask
        return False
    is_same = _is_close(masked, alone, MOVED.get(model.compute_dtype, MOVED_IN_FLOAT32))
    if is_same and weights is not None:
        _MASKED[model] = weights
    return is_same


def _is_close(values, expected, fraction):
    if values.shape != expected.shape or not np.isfinite(values).all():
        return False
    largest = np.abs(expected).max(axis=-1, keepdims=True)  # per filter, or of the whole vector
    allowed = fraction * largest + fraction**2 * largest.max()
    return bool((np.abs(values - expected) <= allowed).all())


def _same(before, now):
    """Returns True if two lists contain the same arrays."""
    return before is not None and all(
        a is b for a, b in itertools.zip_longest(before, now, fillvalue=0)
    )


def _passes_masks(model):
    """Returns True if every operation of a model propagates masks.

    The function returns False for a model without a graph, because its operations are unknown.
    """
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
