"""Builds SPDNet (Huang2017, Kim2020), an encoder of symmetric positive definite (SPD) matrices."""

import itertools
import numbers
from collections.abc import Sequence

from keras_dml._backend import keras
from keras_dml.layers import BiMap, Covariance, ReEig, TangentMap
from keras_dml.models._choices import choose
from keras_dml.models.sequence_encoder import NORMALIZATIONS

# Each tuple holds the number of channels, and then the number of units of each BiMap (Kim2020,
# section 4). The paper prints "64 x 32" for DEAP, whose recordings have 32 channels. The 64 rows
# correspond to the 32 channels and a lagged copy of each channel. For recordings without lagged
# copies we use 32 and 16.
SIZES: dict[str, tuple[int, ...]] = {
    "deap": (32, 16),
    "deap_lagged": (64, 32),
    "afew": (400, 200, 100, 50),
    "hdm05": (93, 80, 40, 20),
}
OUTPUTS = ("tangent", "spd")


def spdnet(
    sizes: Sequence[int] | str,
    *,
    output: str = "tangent",
    epsilon: float = 1e-4,
    estimator: str | None = None,
    normalization: str | None = None,
    solver: str = "eigh",
) -> keras.Model:
    """Builds an SPDNet, which applies BiMap and ReEig layers to covariance matrices or recordings
    (Huang2017; Kim2020, section 4).

    In contrast to Kim2020, this network has only one ReEig layer, after the first BiMap, because
    later ReEig layers would not change their inputs. A BiMap computes W'XW from a matrix X, and the
    columns of W are orthonormal. The smallest eigenvalue of W'XW is therefore at least the smallest
    eigenvalue of X (Poincaré separation theorem), which is at least `epsilon` after the first
    ReEig. The only effect of a later ReEig would be a zero gradient for eigenvalues that equal
    `epsilon`. With `output="tangent"`, the last layer is `TangentMap`. `TangentMap` computes only
    one eigendecomposition, both to raise small eigenvalues and to compute the logarithm.

    Functional model:
        Input: `matrix`, shape `(batch, n, n)`, symmetric. With `estimator`, the input is `signal`,
            shape `(batch, time, n)`, of any length, with or without a mask.
        Output: With `"tangent"`, vectors of shape `(batch, k (k + 1) / 2)`, where k is the last
            size. The Euclidean distance between two tangent vectors is the log-Euclidean distance
            between their matrices. With `"spd"`, positive definite matrices of shape `(batch, k,
            k)`. These matrices are compared by the affine-invariant distance.

    Args:
        sizes: List of numbers in non-increasing order. The first number is the number of rows n of
            the input matrices, and each further number is the number of units of a `BiMap`. A name
            is also allowed: `"deap"` (32, 16), `"deap_lagged"` (64, 32), `"afew"` (400, 200, 100,
            50) or `"hdm05"` (93, 80, 40, 20).
        output: Form of the embeddings, `"tangent"` (vectors) or `"spd"` (matrices).
        epsilon: Smallest eigenvalue, in squared units of the signal (see `ReEig`).
        estimator: Estimator that the layer `Covariance` applies to recordings. By default, the
            network has no `Covariance` layer, and the inputs are matrices.
        normalization: Normalization of recordings before their covariance is computed: None,
            `"channel"`, `"instance"` or `"difference"`, as in `sequence_encoder`.
        solver: Method that computes functions of matrices: `"eigh"`, or `"polynomial"` for devices.
            `with_solver` changes the solver of a built model.

    Returns:
        A `keras.Model` whose last layer defines the distance between embeddings.

    Raises:
        ValueError: If an option is unknown, if `normalization` is given without `estimator`, if
            `sizes` has fewer than two entries, or if a number in `sizes` is larger than the number
            before it.

    Example:
        >>> spdnet("hdm05").output_shape
        (None, 210)
        >>> spdnet((8, 4), estimator="oas", normalization="instance").input_shape
        (None, None, 8)
    """
    sizes = _checked_sizes(sizes)
    if output not in OUTPUTS:
        raise ValueError(f"`output` must be one of {OUTPUTS}. Received output={output!r}.")
    if estimator is None and normalization is not None:
        raise ValueError(
            f"normalization={normalization!r} needs recordings, but this model takes matrices. "
            'To use recordings, set `estimator`, for example to "sample".'
        )
    stack = [BiMap(units, name=f"bimap_{i}") for i, units in enumerate(sizes[1:], start=1)]
    if output == "tangent":
        stack[-1] = TangentMap(sizes[-1], epsilon, solver=solver, name="tangent")
    if output == "spd" or len(stack) > 1:
        stack.insert(1, ReEig(epsilon, solver=solver, name="reeig"))
    if estimator is None:
        x = inputs = keras.Input((sizes[0], sizes[0]), name="matrix")
    else:
        x = inputs = keras.Input((None, sizes[0]), name="signal")
        stack = [*_front(normalization), Covariance(estimator, name="covariance"), *stack]
    for layer in stack:
        x = layer(x)
    return keras.Model(inputs, x, name="spdnet")


def _front(normalization):
    if normalization is None:
        return []
    *before, last = choose("normalization", normalization, NORMALIZATIONS)
    return [*(layer() for layer in before), last(name="normalization")]


def _checked_sizes(value):
    sizes = SIZES.get(value, ()) if isinstance(value, str) else tuple(value)
    whole = all(isinstance(size, numbers.Integral) and size >= 1 for size in sizes)
    if len(sizes) < 2 or not whole or any(a < b for a, b in itertools.pairwise(sizes)):
        raise ValueError(
            f"`sizes` must be one of the names {tuple(SIZES)}, or at least two whole numbers in "
            "non-increasing order, such as (93, 80, 40, 20). The first number is the size of the "
            f"matrices, and the others are the units of the BiMap layers. Received {value!r}."
        )
    return sizes
