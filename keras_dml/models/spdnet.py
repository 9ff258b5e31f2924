"""The SPD network of Kim2020: covariance matrices reduced, rectified and mapped to vectors."""

import itertools
import numbers
from collections.abc import Sequence

from keras_dml._backend import keras
from keras_dml.layers import BiMap, Covariance, ReEig, TangentMap
from keras_dml.models._choices import choose
from keras_dml.models.sequence_encoder import NORMALIZATIONS

# Number of channels, then units of each BiMap (Kim2020, section 4). The paper prints "64 x 32" for
# DEAP, whose recordings have 32 channels: this corresponds to one stacked lag. Without a lag we use
# 32 -> 16.
SIZES = {
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
    """Builds an SPDNet, BiMap and ReEig layers on covariance matrices or recordings (Huang2017;
    Kim2020, section 4).

    The network has no ReEig after the first one, in contrast to Kim2020, because later ReEigs are
    the identity: W has orthonormal columns, so the smallest eigenvalue of W'XW is at least the
    smallest eigenvalue of X (Poincaré), which the first ReEig raised to `epsilon`. They would only
    set the gradient at the floor to zero, where the gradient of the identity is not zero. A tangent
    head, `TangentMap`, rectifies in the eigendecomposition of its logarithm.

    Functional model:
        Input: `matrix`, shape `(batch, n, n)`, symmetric; or with an estimator `signal`, shape
            `(batch, time, n)`, any time, with or without a mask.
        Output: `(batch, k (k + 1) / 2)` for `"tangent"`, compared by Euclidean distance, which is
            the log-Euclidean distance of the matrices; `(batch, k, k)` for `"spd"`, positive
            definite, compared by the affine-invariant distance. k is the last size.

    Args:
        sizes: n and the units of each `BiMap`, in non-increasing order; or `"deap"` (32, 16),
            `"deap_lagged"` (64, 32), `"afew"` (400, 200, 100, 50) or `"hdm05"` (93, 80, 40, 20).
        output: `"tangent"` or `"spd"`.
        epsilon: Smallest eigenvalue, in squared units of the signal; see `ReEig`.
        estimator: Estimator of `Covariance` for recordings; None: inputs are matrices.
        normalization: Normalization of recordings before their covariance: None,
            `"channel"`, `"instance"` or `"difference"`, as in `sequence_encoder`.
        solver: `"eigh"`, or `"polynomial"` for devices; `with_solver` changes it later.

    Returns:
        A `keras.Model` whose last layer names its distance.

    Raises:
        ValueError: If a choice is unknown, a size is missing or larger than the one before, or a
            normalization is given for matrices.

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
            f"normalization={normalization!r} is for recordings, and this model takes matrices. "
            'Set `estimator`, for example to "sample", to begin the model with `Covariance`.'
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
            "`sizes` must hold the size of the matrices and the units of each BiMap, whole numbers "
            "in non-increasing order such as (93, 80, 40, 20), or be one of "
            f"{tuple(SIZES)}. Received {value!r}."
        )
    return sizes
