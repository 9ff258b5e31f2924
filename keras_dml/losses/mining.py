"""Functions that select positives, negatives and triplets in a batch (batch-all, batch-hard,
semi-hard and random mining).

Positives and negatives are dense masks. So no shape depends on the labels, and a training step is
compiled only once. A matrix with one signed weight per distance represents the selected triplets.
Each triplet of anchor i, positive p and negative n has the hinge `d_ip - d_in + margin`. A hinge is
called open if it is positive. The sum of the open hinges of anchor i is
`sum_j weights_ij d_ij + margin * opened_i`, where `opened_i` is the number of open hinges. So the
gradient of the sum with respect to `d_ij` is `weights_ij`. The selection of triplets itself has no
gradient.
"""

import functools
import math

from keras_dml._backend import ops, xla
from keras_dml._typing import Tensor
from keras_dml.geometry.numerics import at_least_float32

SLOTS = 8  # positives of an anchor per pass; a pass takes (batch, SLOTS, batch) elements
PARTS = 8  # number of parts into which rows are split, for an elementwise reduction


def positives(labels: Tensor) -> Tensor:
    """Returns a mask of the positive pairs, shape `(batch, batch)`. A positive pair consists of two
    different rows that have the same class.

    Args:
        labels: Class ids, int32, shape `(batch,)`.
    """
    rows = ops.arange(ops.shape(labels)[0], dtype="int32")
    distinct = ops.not_equal(rows[:, None], rows[None, :])
    return ops.logical_and(ops.equal(labels[:, None], labels[None, :]), distinct)


def negatives(labels: Tensor) -> Tensor:
    """Returns a mask of the negative pairs, shape `(batch, batch)`. The two rows of a negative pair
    have different classes.

    Args:
        labels: Class ids, int32, shape `(batch,)`.
    """
    return ops.not_equal(labels[:, None], labels[None, :])


def farthest(distances: Tensor, mask: Tensor) -> Tensor:
    """Computes the largest distance in each row, shape `(batch,)`. The function ignores distances
    where the mask is False. The result is -inf for a row whose mask is False everywhere."""
    return ops.max(ops.where(mask, distances, -float("inf")), axis=1)


def nearest(distances: Tensor, mask: Tensor) -> Tensor:
    """Computes the smallest distance in each row, shape `(batch,)`. The function ignores distances
    where the mask is False. The result is inf for a row whose mask is False everywhere."""
    return ops.min(ops.where(mask, distances, float("inf")), axis=1)


def with_partners(distances: Tensor, near: Tensor, away: Tensor) -> tuple[Tensor, Tensor]:
    """Extends masks so that every row has a positive and a negative, as in the hard triplets of
    TensorFlow Addons.

    Args:
        distances: Distance matrix, shape `(batch, batch)`.
        near: Mask of each row's positives. If a row has no positive, the function adds the row
            itself.
        away: Mask of each row's negatives. If a row has no negative, the function adds the rows
            that are farthest from the row.

    Returns:
        The mask of positives and the mask of negatives after the extension, each of shape
        `(batch, batch)`.
    """
    empty = ops.logical_not(ops.any(away, axis=1, keepdims=True))
    last = ops.equal(distances, ops.max(distances, axis=1, keepdims=True))
    return _or_itself(near), ops.logical_or(away, ops.logical_and(empty, last))


def _in_two_passes(mine):
    """Wraps a mining function, and removes its gradient. In a traced step, XLA compiles the
    function. The compiled function takes two passes over the triplets instead of seven.

    Compilation takes about half a second for each batch size. Eager calls are not compiled, because
    compilation takes longer than an eager call.
    """

    @functools.wraps(mine)
    def mined(*arguments, **options):
        arguments = [
            ops.stop_gradient(argument) if hasattr(argument, "shape") else argument
            for argument in arguments
        ]
        function = mine if hasattr(arguments[0], "numpy") else xla.compiled(mine)
        return function(*arguments, **options)

    return mined


@_in_two_passes
def all_triplets(distances: Tensor, labels: Tensor, margin: float) -> tuple[Tensor, Tensor, Tensor]:
    """Selects all triplets in a batch. A triplet consists of an anchor, a positive and a negative
    (Kim2020, Eq. 1).

    Args:
        distances: Distance matrix, shape `(batch, batch)`.
        labels: Class ids, int32, shape `(batch,)`.
        margin: Margin of the hinge, in units of the distances.

    Returns:
        Weights, shape `(batch, batch)`. For each anchor, the number of triplets whose hinge is
        above 0, shape `(batch,)`. For each anchor, the number of all triplets, shape `(batch,)`.
    """
    away = ops.where(negatives(labels), distances, float("inf"))  # (batch, batch)

    def hinges(near, there, _):
        reach = ops.where(there, near + margin, -float("inf"))
        open_ = ops.cast(away[:, None] < reach[..., None], distances.dtype)  # (batch, SLOTS, batch)
        opened = ops.sum(open_, axis=2)
        return ops.sum(open_, axis=1), opened, opened

    weights, opened, _ = _over_positives(hinges, distances, labels)
    counts = [
        ops.sum(ops.cast(mask, distances.dtype), axis=1)
        for mask in (positives(labels), negatives(labels))
    ]
    return weights, opened, counts[0] * counts[1]


@_in_two_passes
def semi_hard(
    distances: Tensor, labels: Tensor, margin: float, fallback: bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    """Selects the semi-hard negative for each positive pair (Schroff2015). The semi-hard negative
    is the nearest negative that is farther than the positive, but by less than the margin.

    Args:
        distances: Distance matrix, shape `(batch, batch)`.
        labels: Class ids, int32, shape `(batch,)`.
        margin: Margin of the hinge, in units of the distances.
        fallback: Whether pairs without a semi-hard negative get another negative, as in TensorFlow
            Addons. If True, the negative is the nearest negative that is farther than the positive,
            even if the difference between the two distances exceeds the margin. If no negative is
            farther than the positive, the function uses the farthest negative. In a batch with only
            one class, the function uses the anchor itself as negative.

    Returns:
        The same three tensors as `all_triplets`. If several negatives are equally far from the
        anchor, each negative gets an equal part of the weight.
    """
    mask = negatives(labels)
    if fallback:
        mask = _or_itself(mask)
    away = ops.where(mask, distances, float("inf"))
    parts = _in_parts(away)
    last = farthest(distances, mask)[:, None]  # (batch, 1)

    def hinges(near, there, _):
        def farther(part):
            return ops.where(part > near[..., None], part, float("inf"))

        def at_distance(part, first):
            return ops.cast(ops.equal(part, first), distances.dtype)

        first = ops.min(functools.reduce(ops.minimum, map(farther, parts)), axis=2)
        if fallback:
            first = ops.where(ops.isinf(first), last, first)  # (batch, SLOTS)
        equal = sum(at_distance(part, first[..., None]) for part in parts)
        opened = ops.cast(ops.logical_and(there, first < near + margin), distances.dtype)
        part_each = opened / ops.maximum(ops.sum(equal, axis=2), 1)
        weights = sum(
            part_each[:, i, None] * at_distance(away, first[:, i, None]) for i in range(SLOTS)
        )
        counted = ops.cast(there, distances.dtype) if fallback else opened
        return weights, opened, counted

    return _over_positives(hinges, distances, labels)


@_in_two_passes
def random(
    distances: Tensor, labels: Tensor, margin: float, embeddings: Tensor, seed: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Selects one random negative for each positive pair, drawn uniformly.

    Args:
        distances: Distance matrix, shape `(batch, batch)`.
        labels: Class ids, int32, shape `(batch,)`.
        margin: Margin of the hinge, in units of the distances.
        embeddings: Embeddings, shape `(batch, ...)`. A hash of the embeddings determines which
            negatives are drawn.
        seed: Integer from 0 to 2**32 - 1.

    Returns:
        Same as `all_triplets`.
    """
    count = ops.shape(distances)[0]
    accompanied = ops.any(negatives(labels), axis=1, keepdims=True)

    def hinges(near, there, index):
        drawn = random_negatives(labels, embeddings, seed, index)
        far = ops.take_along_axis(distances, drawn, axis=1)
        there = ops.logical_and(there, accompanied)
        opened = ops.cast(ops.logical_and(there, far < near + margin), distances.dtype)
        return _placed(opened, drawn, count), opened, ops.cast(there, distances.dtype)

    return _over_positives(hinges, distances, labels)


def _over_positives(hinges, distances, labels):
    """Sums the results of `hinges` over the positives of each anchor. The function processes a few
    positives at a time.

    Args:
        hinges: Function of three arguments, each of shape `(batch, SLOTS)`. The arguments describe
            up to `SLOTS` positives of each anchor. The arguments hold the distances to the
            positives, a mask that is False for empty slots, and the row numbers of the positives.
            The function returns three tensors. The first tensor holds the weights of negatives,
            shape `(batch, batch)`. The second tensor holds, for each positive, the number of hinges
            above 0, shape `(batch, SLOTS)`. For each positive, the third tensor holds the number of
            hinges over which the loss averages, shape `(batch, SLOTS)`.
        distances: Distance matrix, shape `(batch, batch)`.
        labels: Class ids, int32, shape `(batch,)`.

    Returns:
        Weights, shape `(batch, batch)`. For each anchor, the number of hinges above 0, shape
        `(batch,)`. For each anchor, the number of hinges over which the loss averages, shape
        `(batch,)`.
    """
    order, start, size = rows_by_class(labels)
    count = ops.shape(labels)[0]
    rows = ops.arange(count, dtype="int32")[:, None]

    def add(i, sums):
        weights, opened, counted = sums
        slots = ops.cast(i * SLOTS, "int32") + ops.arange(SLOTS, dtype="int32")[None, :]
        last = ops.cast(count - 1, "int32")  # with floatx bfloat16, Keras returns a float
        index = ops.take(order, ops.minimum(start[:, None] + slots, last))  # (batch, SLOTS)
        there = ops.logical_and(slots < size[:, None], ops.not_equal(index, rows))
        near = ops.take_along_axis(distances, index, axis=1)
        from_negatives, open_, counts = hinges(near, there, index)
        return (
            weights + _placed(open_, index, count) - from_negatives,
            opened + ops.sum(open_, axis=1),
            counted + ops.sum(counts, axis=1),
        )

    zeros = ops.zeros_like(distances)
    start_sums = (zeros, zeros[:, 0], zeros[:, 0])
    if isinstance(count, int) and count <= SLOTS:
        return add(0, start_sums)
    return ops.fori_loop(0, (ops.max(size) + SLOTS - 1) // SLOTS, add, start_sums)


def _in_parts(away):
    """Splits the columns of a matrix into `PARTS` tensors of shape `(batch, 1, columns)`. The last
    tensor is padded with inf.

    The split makes reductions faster. XLA compiles an elementwise reduction over several tensors to
    vector instructions, but compiles a reduction along an axis to scalar instructions.
    """
    missing = -ops.shape(away)[1] % PARTS
    filled = ops.pad(away, [[0, 0], [0, missing]], constant_values=float("inf"))
    return ops.split(filled[:, None], PARTS, axis=2)


def _placed(values, columns, count):
    """Adds each number `values[i, k]` to the entry `(i, columns[i, k])` of a zero matrix, and
    returns the matrix, shape `(batch, batch)`. `values` and `columns` have shape
    `(batch, SLOTS)`."""
    rows = ops.arange(count, dtype="int32")[:, None]
    flat = ops.reshape(rows * count + columns, (-1,))
    sums = ops.segment_sum(ops.reshape(values, (-1,)), flat, num_segments=count * count)
    return ops.reshape(sums, (count, count))


def _or_itself(mask):
    """Returns a copy of a mask in which every row has a True entry. If a row has no True entry, the
    function sets the row's entry on the diagonal to True."""
    diagonal = ops.cast(ops.eye(ops.shape(mask)[0]), "bool")
    empty = ops.logical_not(ops.any(mask, axis=1, keepdims=True))
    return ops.logical_or(mask, ops.logical_and(empty, diagonal))


def random_negatives(labels: Tensor, embeddings: Tensor, seed: int, partners: Tensor) -> Tensor:
    """Draws one negative, uniformly, for each pair of a row and its partner.

    The function needs no state, because a hash determines the negatives. The hash depends on the
    seed, and on the embeddings and the indices of the two rows. The draw changes in each training
    step, because the embeddings change. If the batch and the model's weights are equal, the draw is
    the same. In contrast, a random generator in a loss would not be saved with the model, and would
    always draw the same numbers on JAX.

    Args:
        labels: Class ids, int32, shape `(batch,)`.
        embeddings: Embeddings, shape `(batch, ...)`.
        seed: Integer from 0 to 2**32 - 1.
        partners: Row numbers of the partners, int32, shape `(batch, partners)`.

    Returns:
        Row numbers of negatives, int32, shape `(batch, partners)`. The numbers are arbitrary if the
        batch has no negative.
    """
    order, start, size = rows_by_class(labels)
    rows = ops.shape(labels)[0]
    words = _digests(embeddings, seed)  # (batch,)
    row_words = _hashed(words + ops.cast(ops.arange(rows, dtype="int32"), "uint32"))[:, None]
    words = _hashed(row_words + ops.take(words, partners) + 2 * ops.cast(partners, "uint32"))
    count = ops.cast(ops.maximum(rows - size, ops.ones_like(size)), "uint32")[:, None]
    drawn = ops.cast(words % count, "int32")  # position among the rows of other classes
    start, size = start[:, None], size[:, None]
    drawn = ops.where(drawn < start, drawn, drawn + size)
    return ops.take(order, ops.minimum(drawn, ops.cast(rows - 1, "int32")))


def rows_by_class(labels: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Sorts rows by class, and finds where each row's class begins in the sorted order.

    Args:
        labels: Class ids, int32, shape `(batch,)`.

    Returns:
        Row numbers ordered by class. For each row, the position in the sorted order at which the
        row's class begins. For each row, the number of rows that have the same class. Each tensor
        is int32 and has shape `(batch,)`.
    """
    rows = ops.arange(ops.shape(labels)[0], dtype="int32")
    equal = ops.equal(labels[:, None], labels[None, :])
    earlier = ops.logical_and(equal, rows[None, :] < rows[:, None])
    start, position, size = (
        ops.cast(ops.sum(ops.cast(mask, "int32"), axis=1), "int32")  # JAX widens the sum
        for mask in (labels[None, :] < labels[:, None], earlier, equal)
    )
    return ops.cast(ops.argsort(start + position), "int32"), start, size


def _digests(embeddings, seed):
    """Computes a 32-bit hash of each row from the bits of the row's float32 values. The hash does
    not depend on the order in which a device adds the values."""
    values = ops.cast(at_least_float32(ops.stop_gradient(embeddings)), "float32")
    width = math.prod(values.shape[1:])
    bits = ops.view(ops.reshape(values, (-1, width)), "uint32")
    columns = _hashed(ops.cast(ops.arange(width, dtype="int32"), "uint32") + _word(seed))
    words = ops.sum(_hashed(ops.bitwise_xor(bits, columns[None, :])), axis=1)
    return ops.cast(words, "uint32")  # JAX widens the sum in 64-bit mode


def _hashed(words):
    """Hashes 32-bit words by the finalizer of MurmurHash3. This function is a bijection, and each
    input bit affects all output bits."""
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        words = ops.bitwise_xor(words, ops.right_shift(words, _word(shift))) * _word(factor)
    return ops.bitwise_xor(words, ops.right_shift(words, _word(16)))


def _word(number):
    return ops.convert_to_tensor(number, "uint32")
