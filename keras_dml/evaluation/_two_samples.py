"""Two-sample test by the maximum mean discrepancy and permutations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from keras_dml._arrays import real, whole
from keras_dml.evaluation._checks import check_finite
from keras_dml.evaluation._distance_matrix import pairwise_values

SYMMETRIES = {"max": np.maximum, "mean": lambda matrix, transposed: (matrix + transposed) / 2}
VALUES_AT_ONCE = 2**22  # of permuted memberships held in memory: 32 MiB of float64
SAME = 1e-12  # relative; a permutation that restores the samples differs by rounding


@dataclass(frozen=True)
class TwoSamples:
    """Figures of a two-sample test.

    Attributes:
        mmd2: Unbiased estimate of the squared discrepancy, in units of the similarity; about 0
            where the distributions are equal, and may be negative.
        p_value: Fraction of permutations, the given split among them, with at least that value.
        permutations: Number of permutations.
        first: Size of the first sample.
        second: Size of the second sample.
    """

    mmd2: float
    p_value: float
    permutations: int
    first: int
    second: int

    def __str__(self):
        return (
            f"MMD² {self.mmd2:.4g}, p = {self.p_value:.3g} ({self.first:,} and {self.second:,} "
            f"examples, {self.permutations:,} permutations)"
        )


def two_samples(similarity, x, y, *, permutations=999, symmetry="max", seed=0):
    """Unbiased MMD^2 of two samples with a permutation p-value (Gretton2012; Monteiro2020,
    section 5).

    The similarities of all examples of both samples are computed once; permutations are products of
    them with memberships. The p-value is exact for any similarity. MMD^2 itself is a
    distance between distributions only for positive definite kernels: `max` and `mean` make a
    learned similarity symmetric, not positive definite.

    Test examples that did not train the similarity, otherwise the p-value means nothing: split the
    data, learn on one part and test on the other.

    Args:
        similarity: `S(a, b) -> (n, m)` of examples, a kernel or a learned similarity, such
            as `PrototypicalClassifier.similarity` on embeddings.
        x: First sample, shape `(m, ...)`, at least 2 examples.
        y: Second sample, shape `(n, ...)`, at least 2 examples.
        permutations: Number of permutations, at least 1; the p-value is at least
            `1 / (permutations + 1)`.
        symmetry: `"max"` or `"mean"` of S(a, b) and S(b, a).
        seed: Seed of the permutations.

    Returns:
        `TwoSamples`; printing it shows the figures and their counts.

    Raises:
        TypeError: `permutations` or `seed` is not an integer.
        ValueError: A sample has fewer than 2 examples, shapes do not fit, a value or a similarity
            is not finite, or an option is unknown.

    >>> kernel = lambda a, b: np.exp(-((a - b.T) ** 2))
    >>> found = two_samples(kernel, np.arange(8.0)[:, None], 9 + np.arange(8.0)[:, None])
    >>> round(found.mmd2, 3), found.p_value
    (0.191, 0.001)
    """
    x, y = real("`x`", x), real("`y`", y)
    if min(x.ndim, y.ndim) < 2 or min(len(x), len(y)) < 2 or x.shape[1:] != y.shape[1:]:
        raise ValueError(
            "`x` and `y` must be samples of at least 2 examples each, shapes (m, ...) and "
            f"(n, ...). Received shapes {x.shape} and {y.shape}."
        )
    permutations = whole("permutations", permutations, minimum=1)
    seed = whole("seed", seed, minimum=0)
    if symmetry not in SYMMETRIES:
        raise ValueError(f"`symmetry` must be one of {(*SYMMETRIES,)}. Received {symmetry!r}.")
    pool = np.concatenate([x, y])
    check_finite("x and y", pool)
    matrix = pairwise_values("similarity", similarity, pool, pool)  # (m + n, m + n)
    check_finite("similarities", matrix)
    matrix = SYMMETRIES[symmetry](matrix, matrix.T)
    first = np.arange(len(pool)) < len(x)
    draws = _memberships(first, permutations, np.random.default_rng(seed))
    mmd2, p_value = permutation_test(matrix, first, draws)
    return TwoSamples(mmd2, p_value, permutations, len(x), len(y))


def permutation_test(matrix, first, draws):
    """MMD^2 of the given split, and its p-value among permutations.

    Args:
        matrix: Symmetric similarities of the pooled examples, shape `(m + n, m + n)`.
        first: Booleans, shape `(m + n,)`: which examples are of the first sample.
        draws: Iterable of blocks of permuted memberships, booleans of shape `(count, m + n)`.

    Returns:
        `(mmd2, p_value)`.
    """
    statistic = _statistic(matrix, int(first.sum()))
    observed = float(statistic(first[None])[0])
    bound = observed - SAME * max(1.0, abs(observed), float(np.abs(matrix).max()))
    counts = [(int((statistic(block) >= bound).sum()), len(block)) for block in draws]
    above, total = np.sum(counts, axis=0)
    return observed, float((1 + above) / (1 + total))


def _statistic(matrix, m):
    """Function from memberships `(count, m + n)` to unbiased MMD^2, shape `(count,)`.

    With u the membership, K without its diagonal, `u' K u` is the sum within the first sample, and
    `u' K 1` and `1' K 1` give those across and within the second. A constant in K cancels, and is
    taken out first so that it costs no digits.
    """
    size = len(matrix)
    n = size - m
    off = ~np.eye(size, dtype=bool)
    matrix = np.where(off, matrix - matrix[off].mean(), 0.0)
    sums = matrix.sum(axis=1)
    total = sums.sum()

    def statistic(memberships):
        members = memberships.astype(np.float64)
        within_first = np.einsum("bi,bi->b", members @ matrix, members)
        of_first = members @ sums
        across = of_first - within_first
        within_second = total - 2.0 * of_first + within_first
        means = within_first / (m * (m - 1)) + within_second / (n * (n - 1))
        return means - 2.0 * across / (m * n)

    return statistic


def _memberships(first, permutations, rng):
    """Blocks of permuted memberships, booleans of shape `(count, m + n)`."""
    at_once = max(1, VALUES_AT_ONCE // len(first))
    for start in range(0, permutations, at_once):
        count = min(at_once, permutations - start)
        yield rng.permuted(np.tile(first, (count, 1)), axis=1)
