"""Parts of a distance of SPD matrices by pairs of channels."""

import numpy as np

from keras_dml import inputs
from keras_dml._backend import ops
from keras_dml.explanations import _graph
from keras_dml.explanations._result import Explanation
from keras_dml.layers import (
    BiMap,
    CanonicalPose,
    ChannelNormalization,
    Covariance,
    FirstDifference,
    FixedNormalization,
    InputContract,
    InstanceStandardization,
    LogEig,
    MaskedAveragePooling1D,
    ReEig,
    TangentVector,
)

KEEPS_CHANNELS = (
    CanonicalPose,  # joints stay joints, their axes become the person's
    ChannelNormalization,
    FirstDifference,
    FixedNormalization,
    InputContract,
    InstanceStandardization,
    MaskedAveragePooling1D,
)
KEEPS_FRAME = (InputContract, LogEig, ReEig, TangentVector)
CHANNELS = (
    "The square of a pair's part of the difference of the two covariances, over the distance. All "
    "steps enter a covariance alike, so there are no moments."
)
UNITS = (
    "Pairs are of units of the network, which mix channels in a way that cannot be undone exactly. "
    "All steps enter a covariance alike, so there are no moments."
)


def explained(model, difference):
    """Explanation of a distance that is the norm of a symmetric matrix.

    Maps `W'XW` with orthonormal columns W are undone: `W D W'` has the norm of D.

    Args:
        model: The model that embeds.
        difference: Symmetric matrix D, shape `(n, n)`.

    Returns:
        `Explanation`.
    """
    frame, names, meaning = _frame(model, len(difference))
    squares = np.triu(2 * (frame @ difference @ frame.T) ** 2)
    squares[np.diag_indices_from(squares)] /= 2
    distance, total = np.linalg.norm(difference), squares.sum()
    parts = squares * (distance / total if total else 0.0)  # kernels are orthonormal to 1e-6
    shares = (parts.sum(axis=0) + parts.sum(axis=1)) / 2
    channels = dict(zip(names, shares.tolist(), strict=True))
    return Explanation(float(distance), parts, (names, names), meaning, channels)


def _frame(model, units):
    """Frame from the model's channels to its last units, and the names of its rows."""
    frame, chain = np.eye(units), _graph.chain(model)
    for i, (operation, _) in enumerate(chain):
        if isinstance(operation, BiMap):
            frame = ops.convert_to_numpy(operation.kernel).astype(np.float64) @ frame
        elif isinstance(operation, Covariance):
            kept = all(isinstance(one, KEEPS_CHANNELS) for one, _ in chain[i + 1 :])
            return frame, _names(model, chain, kept, len(frame)), CHANNELS
        elif not isinstance(operation, KEEPS_FRAME):
            break
    else:
        return frame, _names(model, chain, True, len(frame)), CHANNELS
    return np.eye(units), tuple(f"unit {i}" for i in range(units)), UNITS


def _names(model, chain, kept, count):
    contract = inputs.of(model).contract
    kept = kept and _graph.reaches_the_input(model, chain)
    if kept and contract is not None and len(contract.channels) == count:
        return contract.channels
    return tuple(f"channel {i}" for i in range(count))
