"""All 1-Wasserstein distances with a hand-written gradient.

Autodiff of the block loop keeps every block's intermediates: gigabytes at 256 x 256 embeddings. The gradient has a
short closed form instead. With the sum `s = u + v` and the change `e = v - u` of a segment's end differences and
`q = max(|s|, |e|)`, the segment's mean is `(s^2 / q + q) / 4`, its derivatives `s / (2 q)` in s and
`sign(e) (1 - (s / q)^2) / 4` in e. Both cases, same signs and opposite ones, are in it.
"""

from keras_dml._keras import ops
from keras_dml.geometry import _blocks as blocks
from keras_dml.geometry.numerics import divide


def pairwise_1(x, y, knots, rows):
    """1-Wasserstein distances between two sets of embeddings (P1 Eq. 9, p = 1), `rows` rows at a time.

    Args:
        x: Values at the knots, shape `(n, filters, knots)`.
        y: Values at the same knots, shape `(m, filters, knots)`.
        knots: Ascending knots, shape `(knots,)`.
        rows: Rows of `x` in a block.

    Returns:
        Distances, shape `(n, m)`.
    """

    @ops.custom_gradient
    def table(x, y, knots):
        width = knots[1:] - knots[:-1]
        right = ops.transpose(y, (2, 1, 0))                                 # (knots, filters, m)
        left = blocks.in_blocks(x, rows)                                    # (blocks, rows, filters, knots)

        def forward(block):
            mean, _, _ = _segments(block, right)
            return ops.sum(ops.tensordot(width, mean, axes=1), axis=1)      # (rows, m)

        def gradient(*args, upstream=None):
            if upstream is None:
                (upstream,) = args

            weights = blocks.in_blocks(upstream, rows)                      # (blocks, rows, m)

            def backward(i, sums):
                in_left, in_right, in_width = sums
                weight = weights[i][None, :, None, :]                       # (1, rows, 1, m)
                mean, in_sum, in_change = _segments(left[i], right)
                in_width += ops.sum(mean * weight, axis=(1, 2, 3))
                scale = width[:, None, None, None] * weight
                in_sum, in_change = in_sum * scale, in_change * scale
                before, after = in_sum - in_change, in_sum + in_change
                in_gap = ops.concatenate([before[:1], before[1:] + after[:-1], after[-1:]])
                in_block = ops.transpose(ops.sum(in_gap, axis=3), (1, 2, 0))[None]
                return (
                    ops.slice_update(in_left, (i, 0, 0, 0), in_block),
                    in_right - ops.sum(in_gap, axis=1),
                    in_width,
                )

            start = (ops.zeros_like(left), ops.zeros_like(right), ops.zeros_like(width))
            in_left, in_right, in_width = ops.fori_loop(0, ops.shape(left)[0], backward, start)
            none = ops.zeros((1,), in_width.dtype)
            return (
                blocks.joined(in_left, ops.shape(x)[0]),
                ops.transpose(in_right, (2, 1, 0)),
                ops.concatenate([none, in_width]) - ops.concatenate([in_width, none]),
            )

        return blocks.joined(ops.map(forward, left), ops.shape(x)[0]), gradient

    return table(x, y, knots)


def _segments(block, right):
    """Mean of every segment and its derivatives in sum and change, each `(segments, rows, filters, m)`."""
    # Knots first: slices along the leading axis are views, not copies.
    gap = ops.transpose(block, (2, 0, 1))[..., None] - right[:, None]       # (knots, rows, filters, m)
    total, change = gap[:-1] + gap[1:], gap[1:] - gap[:-1]
    greater = ops.maximum(ops.abs(total), ops.abs(change))
    ratio = divide(total, greater)
    mean = (total * ratio + greater) / 4
    return mean, ratio / 2, ops.sign(change) * (1 - ratio * ratio) / 4
