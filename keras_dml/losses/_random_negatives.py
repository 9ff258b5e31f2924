"""Random negatives without a state: a hash of the embeddings in place of a generator."""

import math

from keras_dml._backend import ops
from keras_dml.geometry.numerics import at_least_float32


def random_negatives(labels, embeddings, seed, partners):
    """Draws a negative of row i for each of its partners, uniformly.

    The draw is a hash of the seed and of the two rows' embeddings and indices: new in each training
    step, since embeddings move, and the same for the same batch and weights. So it needs no state;
    a generator that a loss owns is neither saved with the model nor, on JAX, advanced.

    Args:
        labels: Class ids, int32, shape `(batch,)`.
        embeddings: Shape `(batch, ...)`.
        seed: Integer from 0 to 2**32 - 1.
        partners: Rows, int32, shape `(batch, partners)`.

    Returns:
        Rows of negatives, int32, shape `(batch, partners)`; any row where there is no negative.
    """
    order, start, size = rows_by_class(labels)
    rows = ops.shape(labels)[0]
    words = _digests(embeddings, seed)  # (batch,)
    own = _hashed(words + ops.cast(ops.arange(rows, dtype="int32"), "uint32"))[:, None]
    words = _hashed(own + ops.take(words, partners) + 2 * ops.cast(partners, "uint32"))
    others = ops.cast(ops.maximum(rows - size, ops.ones_like(size)), "uint32")[:, None]
    drawn = ops.cast(words % others, "int32")  # position among the rows of other classes
    start, size = start[:, None], size[:, None]
    drawn = ops.where(drawn < start, drawn, drawn + size)
    return ops.take(order, ops.minimum(drawn, ops.cast(rows - 1, "int32")))


def rows_by_class(labels):
    """Rows in the order of their classes, and each row's class in that order.

    Args:
        labels: Class ids, int32, shape `(batch,)`.

    Returns:
        Rows ordered by class; the position where a row's class begins; its class's size: int32,
        shape `(batch,)` each.
    """
    rows = ops.arange(ops.shape(labels)[0], dtype="int32")
    same = ops.equal(labels[:, None], labels[None, :])
    earlier = ops.logical_and(same, rows[None, :] < rows[:, None])
    start, position, size = (
        ops.cast(ops.sum(ops.cast(mask, "int32"), axis=1), "int32")  # JAX widens the sum
        for mask in (labels[None, :] < labels[:, None], earlier, same)
    )
    return ops.cast(ops.argsort(start + position), "int32"), start, size


def _digests(embeddings, seed):
    """One word a row from the bits of its float32 values, whatever the order of summation."""
    values = ops.cast(at_least_float32(ops.stop_gradient(embeddings)), "float32")
    width = math.prod(values.shape[1:])
    bits = ops.view(ops.reshape(values, (-1, width)), "uint32")
    columns = _hashed(ops.cast(ops.arange(width, dtype="int32"), "uint32") + _word(seed))
    words = ops.sum(_hashed(ops.bitwise_xor(bits, columns[None, :])), axis=1)
    return ops.cast(words, "uint32")  # JAX widens the sum where it has 64 bits


def _hashed(words):
    """A bijection of 32-bit words that spreads each bit over all (MurmurHash3's finalizer)."""
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        words = ops.bitwise_xor(words, ops.right_shift(words, _word(shift))) * _word(factor)
    return ops.bitwise_xor(words, ops.right_shift(words, _word(16)))


def _word(number):
    return ops.convert_to_tensor(number, "uint32")
