"""Who is a positive and who a negative of whom, as dense masks, and the triplets that they make.

No shape depends on the labels, so a step compiles once. Triplets come as signed weights of the
table of distances: `sum_j weights_ij table_ij + margin * opened_i` is the sum of anchor i's open
hinges `d_ip - d_in + margin`, and the weights are its gradient. Choosing carries no gradient.
"""

import functools
import math

from keras_dml._backend import ops, xla
from keras_dml.geometry.numerics import at_least_float32

SLOTS = 8  # positives of every anchor that are looked at together: (batch, SLOTS, batch) elements
PARTS = 8  # of a row of the table, reduced elementwise


def positives(labels):
    """Whether row j has the class of row i and is another row, shape `(batch, batch)`.

    Args:
        labels: Class ids, int32, shape `(batch,)`.
    """
    rows = ops.arange(ops.shape(labels)[0])
    other = ops.not_equal(rows[:, None], rows[None, :])
    return ops.logical_and(ops.equal(labels[:, None], labels[None, :]), other)


def negatives(labels):
    """Whether row j is of another class than row i, shape `(batch, batch)`.

    Args:
        labels: Class ids, int32, shape `(batch,)`.
    """
    return ops.not_equal(labels[:, None], labels[None, :])


def farthest(table, mask):
    """Greatest distance of each row under a mask, shape `(batch,)`; -inf where the mask is
    empty."""
    return ops.max(ops.where(mask, table, -float("inf")), axis=1)


def nearest(table, mask):
    """Least distance of each row under a mask, shape `(batch,)`; inf where the mask is empty."""
    return ops.min(ops.where(mask, table, float("inf")), axis=1)


def with_partners(table, near, away):
    """Masks in which every row has partners, as TensorFlow Addons' hard triplets take them.

    Args:
        table: Distances, shape `(batch, batch)`.
        near: Mask of positives; an empty row gets the anchor itself.
        away: Mask of negatives; an empty row gets the farthest rows.

    Returns:
        Both masks, shape `(batch, batch)`.
    """
    empty = ops.logical_not(ops.any(away, axis=1, keepdims=True))
    last = ops.equal(table, ops.max(table, axis=1, keepdims=True))
    return _or_itself(near), ops.logical_or(away, ops.logical_and(empty, last))


def _in_two_passes(mine):
    """Mining without a gradient; in a traced step compiled by XLA, which takes two passes over the
    triplets in place of seven.

    Each batch size is compiled once, in about half a second: longer than an eager call mines.
    """

    @functools.wraps(mine)
    def mined(table, *others, **options):
        table, *others = (
            ops.stop_gradient(other) if hasattr(other, "shape") else other
            for other in (table, *others)
        )
        function = mine if hasattr(table, "numpy") else xla.compiled(mine)
        return function(table, *others, **options)

    return mined


@_in_two_passes
def all_triplets(table, labels, margin):
    """Every triplet of an anchor, a positive and a negative (Kim2020, Eq. 1).

    Args:
        table: Distances, shape `(batch, batch)`.
        labels: Class ids, int32, shape `(batch,)`.
        margin: Margin of the hinge, in units of the table.

    Returns:
        Weights, shape `(batch, batch)`; number of open triplets of each anchor, shape `(batch,)`;
        number of its triplets, open or not, same shape.
    """
    away = ops.where(negatives(labels), table, float("inf"))  # (batch, batch)

    def hinges(near, there, _):
        reach = ops.where(there, near + margin, -float("inf"))
        open_ = ops.cast(away[:, None] < reach[..., None], table.dtype)  # (batch, SLOTS, batch)
        opened = ops.sum(open_, axis=2)
        return ops.sum(open_, axis=1), opened, opened

    weights, opened, _ = _over_positives(hinges, table, labels)
    counts = [
        ops.sum(ops.cast(mask, table.dtype), axis=1)
        for mask in (positives(labels), negatives(labels))
    ]
    return weights, opened, counts[0] * counts[1]


@_in_two_passes
def semi_hard(table, labels, margin, fallback=False):
    """For every anchor and positive the nearest negative that is farther than the positive, by
    less than the margin (Schroff2015).

    Args:
        table: Distances, shape `(batch, batch)`.
        labels: Class ids, int32, shape `(batch,)`.
        margin: Margin of the hinge, in units of the table.
        fallback: Whether each pair takes part, as in TensorFlow Addons: with the nearest farther
            negative however far, without one with the farthest negative, and in a batch of one
            class with the anchor itself.

    Returns:
        As `all_triplets`; equally near negatives share a weight.
    """
    mask = negatives(labels)
    if fallback:
        mask = _or_itself(mask)
    away = ops.where(mask, table, float("inf"))
    parts = _in_parts(away)
    last = farthest(table, mask)[:, None]  # (batch, 1)

    def hinges(near, there, _):
        def farther(part):
            return ops.where(part > near[..., None], part, float("inf"))

        def chosen(part, first):
            return ops.cast(ops.equal(part, first), table.dtype)

        first = ops.min(functools.reduce(ops.minimum, map(farther, parts)), axis=2)
        if fallback:
            first = ops.where(ops.isinf(first), last, first)  # (batch, SLOTS)
        equal = sum(chosen(part, first[..., None]) for part in parts)
        opened = ops.cast(ops.logical_and(there, first < near + margin), table.dtype)
        share = opened / ops.maximum(ops.sum(equal, axis=2), 1)
        weights = sum(share[:, i, None] * chosen(away, first[:, i, None]) for i in range(SLOTS))
        counted = ops.cast(there, table.dtype) if fallback else opened
        return weights, opened, counted

    return _over_positives(hinges, table, labels)


@_in_two_passes
def random(table, labels, margin, embeddings, seed):
    """For every anchor and positive one negative, uniformly drawn.

    Args:
        table: Distances, shape `(batch, batch)`.
        labels: Class ids, int32, shape `(batch,)`.
        margin: Margin of the hinge, in units of the table.
        embeddings: What the draw is a hash of, shape `(batch, ...)`.
        seed: Integer from 0 to 2**32 - 1.

    Returns:
        As `all_triplets`.
    """
    count = ops.shape(table)[0]
    accompanied = ops.any(negatives(labels), axis=1, keepdims=True)

    def hinges(near, there, index):
        drawn = random_negatives(labels, embeddings, seed, index)
        far = ops.take_along_axis(table, drawn, axis=1)
        there = ops.logical_and(there, accompanied)
        opened = ops.cast(ops.logical_and(there, far < near + margin), table.dtype)
        return _placed(opened, drawn, count), opened, ops.cast(there, table.dtype)

    return _over_positives(hinges, table, labels)


def random_negatives(labels, embeddings, seed, partners):
    """A negative of row i for each of its partners, uniformly drawn, int32, in the partners' shape.

    The draw is a hash of the seed and of the two rows' embeddings and places: new in each training
    step, since embeddings move, and the same for the same batch and weights. So it needs no state;
    a generator that a loss owns is neither saved with the model nor, on JAX, advanced.

    Args:
        labels: Class ids, int32, shape `(batch,)`.
        embeddings: Shape `(batch, ...)`.
        seed: Integer from 0 to 2**32 - 1.
        partners: Rows, int32, shape `(batch, partners)`.

    Returns:
        Rows of negatives; any row where there is no negative.
    """
    order, start, size = _by_class(labels)
    rows = ops.shape(labels)[0]
    words = _digests(embeddings, seed)  # (batch,)
    own = _hashed(words + ops.cast(ops.arange(rows), "uint32"))[:, None]
    words = _hashed(own + ops.take(words, partners) + 2 * ops.cast(partners, "uint32"))
    others = ops.cast(ops.maximum(rows - size, 1), "uint32")[:, None]
    drawn = ops.cast(words % others, "int32")  # place among the rows of other classes
    start, size = start[:, None], size[:, None]
    drawn = ops.where(drawn < start, drawn, drawn + size)
    return ops.take(order, ops.minimum(drawn, rows - 1))


def _over_positives(hinges, table, labels):
    """Sums of `hinges` over the positives of each anchor, a few at a time.

    Args:
        hinges: From distances to some positives, whether there are such and their rows, `(batch,
            SLOTS)`, to weights of negatives `(batch, batch)`, and which are open and which count,
            `(batch, SLOTS)`.
        table: Distances, shape `(batch, batch)`.
        labels: Class ids, int32, shape `(batch,)`.

    Returns:
        Weights, shape `(batch, batch)`, open and counted hinges of each anchor, shape `(batch,)`.
    """
    order, start, size = _by_class(labels)
    count = ops.shape(labels)[0]
    rows = ops.arange(count, dtype="int32")[:, None]

    def add(i, sums):
        weights, opened, counted = sums
        slots = ops.cast(i * SLOTS, "int32") + ops.arange(SLOTS, dtype="int32")[None, :]
        index = ops.take(order, ops.minimum(start[:, None] + slots, count - 1))  # (batch, SLOTS)
        there = ops.logical_and(slots < size[:, None], ops.not_equal(index, rows))
        near = ops.take_along_axis(table, index, axis=1)
        from_negatives, open_, counts = hinges(near, there, index)
        return (
            weights + _placed(open_, index, count) - from_negatives,
            opened + ops.sum(open_, axis=1),
            counted + ops.sum(counts, axis=1),
        )

    none = ops.zeros_like(table)
    start_sums = (none, none[:, 0], none[:, 0])
    if isinstance(count, int) and count <= SLOTS:
        return add(0, start_sums)
    return ops.fori_loop(0, (ops.max(size) + SLOTS - 1) // SLOTS, add, start_sums)


def _in_parts(away):
    """The columns in `PARTS` tensors, `(batch, 1, columns)`, the last filled with inf.

    XLA makes vector instructions of what is reduced part by part, elementwise, and scalar ones of a
    reduction along an axis.
    """
    missing = -ops.shape(away)[1] % PARTS
    filled = ops.pad(away, [[0, 0], [0, missing]], constant_values=float("inf"))
    return ops.split(filled[:, None], PARTS, axis=2)


def _placed(values, columns, count):
    """A table `(batch, batch)` of zeros with each row's values, `(batch, SLOTS)`, added at its
    columns."""
    rows = ops.arange(count, dtype="int32")[:, None]
    places = ops.reshape(rows * count + columns, (-1,))
    sums = ops.segment_sum(ops.reshape(values, (-1,)), places, num_segments=count * count)
    return ops.reshape(sums, (count, count))


def _by_class(labels):
    """Rows in the order of their classes, and each row's class in that order.

    Returns:
        Rows ordered by class; the place where a row's class begins; its class's size: int32, shape
        `(batch,)` each.
    """
    rows = ops.arange(ops.shape(labels)[0])
    same = ops.equal(labels[:, None], labels[None, :])
    earlier = ops.logical_and(same, rows[None, :] < rows[:, None])
    start, place, size = (
        ops.sum(ops.cast(mask, "int32"), axis=1)
        for mask in (labels[None, :] < labels[:, None], earlier, same)
    )
    return ops.cast(ops.argsort(start + place), "int32"), start, size


def _or_itself(mask):
    """The mask, in which an empty row holds its own diagonal element."""
    diagonal = ops.cast(ops.eye(ops.shape(mask)[0]), "bool")
    empty = ops.logical_not(ops.any(mask, axis=1, keepdims=True))
    return ops.logical_or(mask, ops.logical_and(empty, diagonal))


def _digests(embeddings, seed):
    """One word a row from the bits of its float32 values, whatever the order of summation."""
    values = ops.cast(at_least_float32(ops.stop_gradient(embeddings)), "float32")
    width = math.prod(values.shape[1:])
    bits = ops.view(ops.reshape(values, (-1, width)), "uint32")
    columns = _hashed(ops.cast(ops.arange(width), "uint32") + _word(seed))
    words = ops.sum(_hashed(ops.bitwise_xor(bits, columns[None, :])), axis=1)
    return ops.cast(words, "uint32")  # JAX widens the sum where it has 64 bits


def _hashed(words):
    """A bijection of 32-bit words that spreads each bit over all (MurmurHash3's finalizer)."""
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        words = ops.bitwise_xor(words, ops.right_shift(words, _word(shift))) * _word(factor)
    return ops.bitwise_xor(words, ops.right_shift(words, _word(16)))


def _word(number):
    return ops.convert_to_tensor(number, "uint32")
