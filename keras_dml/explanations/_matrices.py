"""Explains distances between SPD matrices by pairs of channels."""

import numpy as np

from keras_dml import inputs
from keras_dml._backend import keras, ops
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
    CanonicalPose,  # a channel belongs to the same joint as before, with axes of the person
    ChannelNormalization,
    FirstDifference,
    FixedNormalization,
    InputContract,
    InstanceStandardization,
    MaskedAveragePooling1D,
)
KEEPS_FRAME = (InputContract, LogEig, ReEig, TangentVector)
CHANNELS = (
    "These parts sum to the distance. They are computed from the difference between the two "
    "covariance matrices. A covariance does not depend on the order of the steps, so single "
    "moments have no parts."
)


def explain_difference(model: keras.Model, difference: np.ndarray) -> Explanation | None:
    """Explains a distance that is the norm of a symmetric matrix.

    The network may contain bilinear maps `W'XW`, whose weights W have orthonormal columns. The
    function computes `W D W'` to map the matrix D back to the channels. `W D W'` and D have the
    same norm.

    Args:
        model: Model that computed the embeddings.
        difference: Symmetric matrix D, shape `(n, n)`.

    Returns:
        `Explanation`, or None if the network mixes channels in a way that cannot be inverted.
    """
    frame = _frame(model, len(difference))
    names = None if frame is None else _names(model, len(frame))
    if names is None:
        return None
    squares = np.triu(2 * (frame @ difference @ frame.T) ** 2)
    squares[np.diag_indices_from(squares)] /= 2
    distance, total = np.linalg.norm(difference), squares.sum()
    # The columns of a frame are orthonormal only up to 1e-6, so the squared entries are scaled to
    # sum to the distance.
    parts = squares * (distance / total if total else 0.0)
    shares = (parts.sum(axis=0) + parts.sum(axis=1)) / 2
    channels = dict(zip(names, shares.tolist(), strict=True))
    return Explanation(float(distance), parts, (names, names), CHANNELS, channels)


def _frame(model, units):
    """Returns the orthonormal matrix that maps the channels to the units of the embedding. Returns
    None if an orthonormal matrix cannot describe how the network mixes channels.
    """
    frame, chain = np.eye(units), _graph.chain(model)
    if not _graph.reaches_the_input(model, chain):
        return None
    for i, (operation, _) in enumerate(chain):
        if isinstance(operation, BiMap):
            frame = ops.convert_to_numpy(operation.kernel).astype(np.float64) @ frame
        elif isinstance(operation, Covariance):
            keeps = all(isinstance(layer, KEEPS_CHANNELS) for layer, _ in chain[i + 1 :])
            return frame if keeps else None
        elif not isinstance(operation, KEEPS_FRAME):
            return None
    return frame


def _names(model, count):
    """Returns the names of the channels, or None if the model does not have `count` channels."""
    kind = inputs.from_model(model)
    if kind.shape[-1] != count:
        return None
    if kind.contract is not None and len(kind.contract.channels) == count:
        return kind.contract.channels
    return tuple(f"channel {i}" for i in range(count))
