"""All 1-Wasserstein distances with a hand-written gradient.

Autodiff of the block loop keeps every block's intermediates: gigabytes at 256 x 256 embeddings. The
gradient has a short closed form instead. With the differences u and v at the ends of a segment,
`s = u + v`, `q = |u| + |v|` and `ratio = s / q`, the segment's mean is `(s ratio + q) / 4`, for
same signs and for opposite ones. Its derivatives are `ratio / 2 + turn / 4` in u and
`ratio / 2 - turn / 4` in v, with `turn = sign(u) (1 - ratio^2)`, which is 0 unless the signs are
opposite. The mean is homogeneous, that is u and v times its derivatives: the gradient in the knots
needs no pass of its own over the pairs.
"""

from keras_dml._keras import ops
from keras_dml.geometry import _blocks as blocks


def pairwise_1(x, y, knots, rows):
    """1-Wasserstein distances between two sets of embeddings (P1 Eq. 9, p = 1), in blocks of rows.

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
        # Knots before rows: slices along the leading axis of a block are views, not copies.
        right = ops.transpose(y, (2, 1, 0))  # (knots, filters, m)
        left = ops.transpose(blocks.in_blocks(x, rows), (0, 3, 1, 2))
        # left: (blocks, knots, rows, filters)

        def forward(block):
            _, total, size, ratio = _segments(block, right)
            means = ops.tensordot(width / 4, total * ratio + size, axes=1)
            return ops.sum(means, axis=1)  # (rows, m)

        def gradient(*args, upstream=None):
            if upstream is None:
                (upstream,) = args

            weights = blocks.in_blocks(upstream, rows)  # (blocks, rows, m)
            centre = ops.mean(right, axis=2)  # (knots, filters)

            def backward(i, sums):
                in_left, in_width, ratios, turns = sums
                weight = weights[i][None, :, None, :]  # (1, rows, 1, m)
                u, _, _, ratio = _segments(left[i], right)
                weighted = ratio * weight  # (segments, rows, filters, m)
                turn = ops.sign(u) * (weight - ratio * weighted)
                in_block, in_block_width = _at_knots(
                    ops.sum(weighted, axis=3),
                    ops.sum(turn, axis=3),
                    width,
                    left[i] - centre[:, None],
                )
                return (
                    ops.slice_update(in_left, (i, 0, 0, 0), in_block[None]),
                    in_width + in_block_width,
                    ratios + ops.sum(weighted, axis=1),
                    turns + ops.sum(turn, axis=1),
                )

            none = ops.zeros_like(right[1:])  # (segments, filters, m)
            start = (ops.zeros_like(left), ops.zeros_like(width), none, none)
            count = ops.shape(left)[0]
            in_left, in_width, ratios, turns = ops.fori_loop(0, count, backward, start)
            in_right, in_right_width = _at_knots(ratios, turns, width, right - centre[..., None])
            in_width = in_width - in_right_width
            return (
                blocks.joined(ops.transpose(in_left, (0, 2, 3, 1)), ops.shape(x)[0]),
                -ops.transpose(in_right, (2, 1, 0)),
                ops.pad(in_width, [[1, 0]]) - ops.pad(in_width, [[0, 1]]),
            )

        return blocks.joined(ops.map(forward, left), ops.shape(x)[0]), gradient

    return table(x, y, knots)


def _segments(block, right):
    """`u`, `s`, `q` and `ratio` of every segment, each `(segments, rows, filters, m)`."""
    gap = block[..., None] - right[:, None]  # (knots, rows, filters, m)
    size = ops.abs(gap)
    total, size = gap[:-1] + gap[1:], size[:-1] + size[1:]
    return gap[:-1], total, size, ops.divide_no_nan(total, size)


def _at_knots(ratio, turn, width, values):
    """Gradients in one set and in the widths, from sums of the derivatives over the other set.

    Args:
        ratio: Weighted sums of `ratio`, shape `(segments, ..., ...)`.
        turn: Weighted sums of `turn`, same shape.
        width: Widths of the segments, shape `(segments,)`.
        values: The set's values at the knots, less a centre that both sets share and that keeps
            the sums from cancelling, shape `(knots, ..., ...)`.

    Returns:
        Gradient in the values, shape `(knots, ..., ...)`, and this set's part of the gradient in
        the widths, shape `(segments,)`.
    """
    in_u, in_v = ratio / 2 + turn / 4, ratio / 2 - turn / 4
    in_width = ops.sum(values[:-1] * in_u + values[1:] * in_v, axis=(1, 2))
    width = width[:, None, None]
    others = [[0, 0], [0, 0]]
    in_values = ops.pad(width * in_u, [[0, 1], *others]) + ops.pad(width * in_v, [[1, 0], *others])
    return in_values, in_width
