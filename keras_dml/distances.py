"""The geometry as objects: `d(x, y) -> (N, M)`, small is near.

Losses, evaluation, galleries and exports take one of these objects or its name, so that training,
testing and the device cannot disagree. An embedding carries all that its distance needs; the
objects have no state. All raise a ValueError for embeddings of another rank or of two models, which
says what was given.
"""

import difflib

import numpy as np

from keras_dml._arrays import real
from keras_dml._keras import keras, ops
from keras_dml.geometry import spd, vector, wasserstein
from keras_dml.geometry.concrete import concrete
from keras_dml.geometry.numerics import wide

PACKAGE = "keras_dml"
SAME_KNOTS = 1e-3  # a float16 file rounds knots by up to 5e-4


@keras.saving.register_keras_serializable(package=PACKAGE)
class Wasserstein:
    """Sum over filters of p-Wasserstein distances between quantile embeddings (Abdelwahab2019,
    Eq. 9).

    An embedding has shape `(filters + 1, knots)`: the values at the knots, and the knots themselves
    as its last row. Embeddings of models with other knots are refused where values are at hand.

    Args:
        p: Order, a real number, at least 1.
    """

    def __init__(self, p=1):
        wasserstein.check_order(p)
        self.p = p

    def __call__(self, x, y):
        x, y = _tensor("x", x), _tensor("y", y)
        _check_shapes(x, y, 3, "quantile embeddings, shape (batch, filters + 1, knots)")
        _check_same_knots(x, y)
        if 0 in (x.shape[0], y.shape[0]):
            return ops.zeros((x.shape[0], y.shape[0]), wide(x.dtype))
        return wasserstein.pairwise(x[:, :-1], y[:, :-1], x[0, -1], self.p)

    def get_config(self):
        return {"p": self.p}

    @classmethod
    def from_config(cls, config):
        return cls(**config)


@keras.saving.register_keras_serializable(package=PACKAGE)
class Cosine:
    """Negative cosine of vectors, in [-1, 1]; 0 for a zero vector (Abdelwahab2019, section 5.3)."""

    def __call__(self, x, y):
        return -vector.cosine(*_vectors(x, y))

    def get_config(self):
        return {}

    @classmethod
    def from_config(cls, config):
        return cls(**config)


@keras.saving.register_keras_serializable(package=PACKAGE)
class Euclidean:
    """Euclidean distance of vectors, in their unit.

    Of vectorised logarithms of SPD matrices this is the log-Euclidean distance.
    """

    def __call__(self, x, y):
        return vector.euclidean(*_vectors(x, y))

    def squared(self, x, y):
        """Squares of the distances, without the root that squaring would take back.

        Args:
            x: Vectors, shape `(n, features)`.
            y: Vectors, shape `(m, features)`, in the same unit.

        Returns:
            Shape `(n, m)`, in the square of the unit.
        """
        return vector.squared_euclidean(*_vectors(x, y))

    def get_config(self):
        return {}

    @classmethod
    def from_config(cls, config):
        return cls(**config)


@keras.saving.register_keras_serializable(package=PACKAGE)
class AffineInvariant:
    """Affine-invariant distance of SPD matrices (Kim2020, Eq. 5), without unit.

    Takes an eigendecomposition for each pair: where many are compared, `LogEuclidean` takes one for
    each matrix.

    A first argument that is not positive definite is refused, in a compiled step its distances are
    NaN. A second one is far, at a finite distance that rounding decides: rectify it first.
    """

    def __call__(self, x, y):
        return _between_spd(spd.affine_invariant_pairwise, x, y)

    def get_config(self):
        return {}

    @classmethod
    def from_config(cls, config):
        return cls(**config)


@keras.saving.register_keras_serializable(package=PACKAGE)
class LogEuclidean:
    """Log-Euclidean distance of SPD matrices (Kim2020, Eq. 4), without unit; never above the
    affine-invariant one.

    Of a matrix that is singular or indefinite, eigenvalues below rounding count as rounding: the
    distance is finite.
    """

    def __call__(self, x, y):
        return _between_spd(spd.log_euclidean_pairwise, x, y)

    def get_config(self):
        return {}

    @classmethod
    def from_config(cls, config):
        return cls(**config)


@keras.saving.register_keras_serializable(package=PACKAGE)
class Stein:
    """Stein distance of SPD matrices, without unit: from determinants, no eigenvalues (Sra2012).

    A matrix that is not positive definite is refused on either side, in a compiled step its
    distances are NaN.
    """

    def __call__(self, x, y):
        return _between_spd(spd.stein_pairwise, x, y)

    def get_config(self):
        return {}

    @classmethod
    def from_config(cls, config):
        return cls(**config)


_NAMES = {
    "affine_invariant": AffineInvariant,
    "cosine": Cosine,
    "euclidean": Euclidean,
    "log_euclidean": LogEuclidean,
    "stein": Stein,
    "wasserstein": Wasserstein,
}


def get(identifier):
    """The distance of that name, or the object itself.

    Args:
        identifier: A name such as `"wasserstein"`, a serialised distance, or a callable `d(x, y) ->
            (N, M)`.

    Raises:
        ValueError: If the name is unknown; the message lists the known ones.
        TypeError: If it is nothing of these.
    """
    if isinstance(identifier, dict):
        return keras.saving.deserialize_keras_object(identifier)
    if isinstance(identifier, str):
        if identifier in _NAMES:
            return _NAMES[identifier]()
        near = difflib.get_close_matches(identifier, _NAMES, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise ValueError(
            f"Unknown distance {identifier!r}. Known: {', '.join(sorted(_NAMES))}.{hint}"
        )
    if callable(identifier):
        return identifier
    raise TypeError(
        f"A distance is a name or a callable d(x, y). Received {type(identifier).__name__}."
    )


def name_of(distance):
    """The name by which `get` knows a distance's class.

    Raises:
        ValueError: If it is none of this module.
    """
    for name, known in _NAMES.items():
        if type(distance) is known:
            return name
    if getattr(distance, "name", None):  # one that is part of its model, as a learned similarity
        return distance.name
    raise ValueError(
        f"{type(distance).__name__} has no name. Named distances: {', '.join(sorted(_NAMES))}."
    )


def serialize(distance):
    """Plain-Python form of a distance, for `get_config`; `get` reads it."""
    return keras.saving.serialize_keras_object(distance)


def _between_spd(pairwise, x, y):
    x, y = _tensor("x", x), _tensor("y", y)
    _check_shapes(x, y, 3, "SPD matrices, shape (batch, n, n)")
    distances = pairwise(x, y)
    values = concrete(distances)
    if values is not None and np.isnan(values).any():
        _check_definite("x", concrete(x))
        _check_definite("y", concrete(y))
    return distances


def _vectors(x, y):
    x, y = _tensor("x", x), _tensor("y", y)
    _check_shapes(x, y, 2, "vectors, shape (batch, features)")
    return x, y


def _tensor(name, embeddings):
    if embeddings is None or isinstance(embeddings, np.ndarray):
        embeddings = real(f"`{name}`", embeddings)
    return ops.convert_to_tensor(embeddings)


def _check_shapes(x, y, rank, expected):
    for name, embeddings in (("x", x), ("y", y)):
        if len(embeddings.shape) != rank:
            raise ValueError(
                f"`{name}` must hold {expected}. Received shape {tuple(embeddings.shape)}."
            )
    sizes = zip(x.shape[1:], y.shape[1:], strict=True)
    if any(None not in pair and pair[0] != pair[1] for pair in sizes):
        raise ValueError(
            f"`x` and `y` must hold embeddings of one model. Received shapes {tuple(x.shape)} and "
            f"{tuple(y.shape)}."
        )


def _check_same_knots(x, y):
    """Inside a compiled step there are no values to compare, and both sides are one model's."""
    first, second = concrete(x[:, -1]), concrete(y[:, -1])
    if first is None or second is None:
        return
    rows = np.concatenate([first, second])
    if len(rows) and np.ptp(rows, axis=0).max() > SAME_KNOTS:
        raise ValueError(
            "The embeddings have different knots (their last rows), so they come from different "
            "models and cannot be compared. Embed both sides with one model."
        )


def _check_definite(name, matrices):
    """Looks for the matrix that has no distance; one that is not finite keeps its NaN."""
    finite = np.isfinite(matrices).all(axis=(1, 2))
    values = np.linalg.eigvalsh((matrices + matrices.swapaxes(1, 2))[finite])
    rounding = matrices.shape[-1] * np.finfo(matrices.dtype).eps * values[:, -1]
    bad = np.flatnonzero(finite)[values[:, 0] <= rounding]
    if len(bad):
        raise ValueError(
            f"`{name}` must hold positive definite matrices. Received {len(bad)} with an "
            f"eigenvalue that is not above rounding, the first at place {bad[0]}. End the model in "
            "`keras_dml.layers.ReEig`, or apply `keras_dml.geometry.spd.rectify` first."
        )
