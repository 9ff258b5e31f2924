"""Tests whether two samples have the same distribution, with the maximum mean discrepancy (MMD) and
permutations of people."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from keras_dml._arrays import real, whole
from keras_dml._typing import ArrayLike
from keras_dml.evaluation._checks import check_finite, ids
from keras_dml.evaluation._distance_matrix import pairwise_values

SYMMETRIES = {"max": np.maximum, "mean": lambda matrix, transposed: (matrix + transposed) / 2}
VALUES_AT_ONCE = 2**22  # permuted memberships in memory at once: 32 MiB of float64
# Relative tolerance, because a permutation that restores the samples gives the same MMD only up to
# rounding.
TOLERANCE = 1e-12


@dataclass(frozen=True)
class TwoSamples:
    """Result of a two-sample test.

    Attributes:
        mmd2: Unbiased estimate of the squared maximum mean discrepancy, in units of the similarity.
            The estimate is about 0 if the distributions are equal, and may be negative.
        p_value: Fraction of the permutations whose MMD^2 is at least `mmd2`. The original split
            into `x` and `y` counts as one of the permutations.
        permutations: Number of permutations.
        first: Number of examples in the first sample.
        second: Number of examples in the second sample.
        people: Number of people in the two samples together.
    """

    mmd2: float
    p_value: float
    permutations: int
    first: int
    second: int
    people: int

    def __str__(self) -> str:
        return (
            f"MMD² {self.mmd2:.4g}, p = {self.p_value:.3g} ({self.first:,} and {self.second:,} "
            f"examples of {self.people:,} people, {self.permutations:,} permutations of people)"
        )


def two_samples(
    similarity: Callable[[np.ndarray, np.ndarray], ArrayLike],
    x: ArrayLike,
    y: ArrayLike,
    *,
    people: tuple[ArrayLike, ArrayLike] | None = None,
    permutations: int = 999,
    symmetry: str = "max",
    seed: int = 0,
) -> TwoSamples:
    """Tests whether two samples have the same distribution, by a permutation test of unbiased
    MMD^2.

    MMD is the maximum mean discrepancy (Gretton2012; Monteiro2020, section 5). Examples of one
    person resemble each other, so the test permutes people instead of examples. If a person has
    examples in one sample only, a permutation may move all of these examples to the other sample.
    If a person has examples in the two samples, a permutation may exchange the two sets of
    examples. A test that permutes individual examples rejects equal distributions far too often.

    The similarities of all examples are computed once and used for all permutations. The p-value is
    exact for any similarity if people are exchangeable. MMD^2 is a distance between distributions
    only if the similarity is a positive definite kernel. The argument `symmetry` makes a learned
    similarity symmetric, but not positive definite.

    The p-value is valid only for examples that were not used to train the similarity.

    Args:
        similarity: Function `S(a, b) -> (n, m)` that compares examples. The function may be a
            kernel or a learned similarity, such as `PrototypicalClassifier.similarity` on
            embeddings.
        x: First sample, shape `(m, ...)`, at least 2 examples.
        y: Second sample, shape `(n, ...)`, at least 2 examples.
        people: Pair `(people of x, people of y)` of person ids, with shapes `(m,)` and `(n,)`.
            Required. If all examples are of different people, pass a different id for each example,
            such as `(range(m), range(m, m + n))`.
        permutations: Number of permutations, at least 1. The p-value is at least
            `1 / (permutations + 1)`.
        symmetry: Whether to use the maximum (`"max"`) or the mean (`"mean"`) of S(a, b) and
            S(b, a).
        seed: Seed of the permutations.

    Returns:
        `TwoSamples`. Printing the result shows MMD^2, the p-value and the numbers of examples and
        people.

    Raises:
        TypeError: If `permutations` or `seed` is not an integer, or if ids are invalid.
        ValueError: If a sample has fewer than 2 examples, if the shapes of `x` and `y` do not fit
            together, if `people` is None or does not contain one id for each example, if a value or
            a similarity is not finite, or if `symmetry` is unknown.

    >>> kernel = lambda a, b: np.exp(-((a - b.T) ** 2))
    >>> x, y = np.arange(8.0)[:, None], 9 + np.arange(8.0)[:, None]
    >>> result = two_samples(kernel, x, y, people=(range(8), range(8, 16)))
    >>> round(result.mmd2, 3), result.p_value
    (0.191, 0.001)
    """
    x, y = real("`x`", x), real("`y`", y)
    if min(x.ndim, y.ndim) < 2 or min(len(x), len(y)) < 2 or x.shape[1:] != y.shape[1:]:
        raise ValueError(
            f"Received `x` of shape {x.shape} and `y` of shape {y.shape}. Expected samples of "
            "shapes (m, ...) and (n, ...), with at least 2 examples in each."
        )
    permutations = whole("permutations", permutations, minimum=1)
    seed = whole("seed", seed, minimum=0)
    if symmetry not in SYMMETRIES:
        raise ValueError(f"`symmetry` must be one of {(*SYMMETRIES,)}. Received {symmetry!r}.")
    codes = _person_of_each(people, len(x), len(y))
    pool = np.concatenate([x, y])
    check_finite("x and y", pool)
    matrix = pairwise_values("similarity", similarity, pool, pool)  # (m + n, m + n)
    check_finite("similarities", matrix)
    matrix = SYMMETRIES[symmetry](matrix, matrix.T)
    first = np.arange(len(pool)) < len(x)
    draws = _memberships(first, codes, permutations, np.random.default_rng(seed))
    mmd2, p_value = permutation_test(matrix, first, draws)
    return TwoSamples(mmd2, p_value, permutations, len(x), len(y), int(codes.max()) + 1)


def _person_of_each(people, m, n):
    """Returns the person codes 0, 1, ... of the examples in `x`, followed by the codes of the
    examples in `y`."""
    if people is None:
        raise ValueError(
            "Received `people` = None. Expected the pair (people of x, people of y). Examples of "
            "one person resemble each other. A test that ignores this resemblance rejects equal "
            "distributions. If no two examples share a person, pass "
            f"`people=(range({m}), range({m}, {m + n}))`."
        )
    if not hasattr(people, "__len__") or isinstance(people, str) or len(people) != 2:
        raise ValueError(
            "`people` must be the pair (people of x, people of y). Received "
            f"{f'{len(people)} entries' if hasattr(people, '__len__') else repr(people)}."
        )
    first, second = (ids("`people`", list(side)) for side in people)
    if first.shape != (m,) or second.shape != (n,):
        raise ValueError(
            f"Received `people` of shapes {first.shape} and {second.shape}. Expected one id for "
            f"each of the {m:,} examples of `x` and each of the {n:,} examples of `y`."
        )
    if (first.dtype.kind in "US") != (second.dtype.kind in "US"):
        raise TypeError(
            f"Received `people` of dtypes {first.dtype} and {second.dtype}. The ids of the two "
            "samples must have one type. Convert them to strings first."
        )
    return np.unique(np.concatenate([first, second]), return_inverse=True)[1]


def permutation_test(matrix, first, draws):
    """Computes MMD^2 and the p-value for a split into two samples.

    Args:
        matrix: Symmetric similarities of the pooled examples, shape `(m + n, m + n)`.
        first: Mask of the examples in the first sample, booleans of shape `(m + n,)`.
        draws: Iterable over blocks of permuted memberships. A block is a boolean array of shape
            `(count, m + n)`.

    Returns:
        `(mmd2, p_value)`.
    """
    statistic = _statistic(matrix)
    observed = float(statistic(first[None])[0])
    bound = observed - TOLERANCE * max(1.0, abs(observed), float(np.abs(matrix).max()))
    counts = [(int((statistic(block) >= bound).sum()), len(block)) for block in draws]
    above, total = np.sum(counts, axis=0)
    return observed, float((1 + above) / (1 + total))


def _statistic(matrix):
    """Returns a function that computes the unbiased MMD^2 of several splits, shape `(count,)`. The
    function takes a boolean array of shape `(count, m + n)`, which is True for examples of the
    first sample.

    If a permutation leaves a sample with fewer than 2 examples, MMD^2 is set to infinity. The
    p-value then rises.

    Let the vector u be 1 for examples of the first sample and 0 for other examples, and let K be
    the matrix of similarities without the diagonal. Then `u' K u` is the sum of similarities within
    the first sample. The sum between the samples and the sum within the second sample follow from
    `u' K 1` and `1' K 1`. Adding a constant to K does not change MMD^2. The mean is subtracted from
    K to avoid rounding errors.
    """
    size = len(matrix)
    off = ~np.eye(size, dtype=bool)
    matrix = np.where(off, matrix - matrix[off].mean(), 0.0)
    sums = matrix.sum(axis=1)
    total = sums.sum()

    def statistic(memberships):
        members = memberships.astype(np.float64)
        m = members.sum(axis=1)
        n = size - m
        within_first = np.einsum("bi,bi->b", members @ matrix, members)
        first_and_all = members @ sums
        across = first_and_all - within_first
        within_second = total - 2.0 * first_and_all + within_first
        with np.errstate(divide="ignore", invalid="ignore"):  # a sample may have 0 or 1 examples
            means = within_first / (m * (m - 1)) + within_second / (n * (n - 1))
            values = means - 2.0 * across / (m * n)
        return np.where(np.minimum(m, n) < 2, np.inf, values)

    return statistic


def _memberships(first, codes, permutations, rng):
    """Permutes people, and yields the examples of the first sample as blocks of booleans, shape
    `(count, m + n)`.

    Args:
        first: Mask of the examples in the first sample, booleans of shape `(m + n,)`.
        codes: Person of each example, shape `(m + n,)`.
        permutations: Number of permutations.
        rng: `numpy.random.Generator`.
    """
    in_first, in_second = (np.bincount(codes, side) > 0 for side in (first, ~first))
    is_in_both = in_first & in_second  # (people,)
    sides = in_first[~is_in_both]
    at_once = max(1, VALUES_AT_ONCE // len(first))
    for start in range(0, permutations, at_once):
        count = min(at_once, permutations - start)
        # whether each person's examples move to the other sample
        changes = np.empty((count, len(in_first)), dtype=bool)
        changes[:, ~is_in_both] = rng.permuted(np.tile(sides, (count, 1)), axis=1) ^ sides
        changes[:, is_in_both] = rng.integers(2, size=(count, int(is_in_both.sum())), dtype=bool)
        yield changes[:, codes] ^ first
