"""What every distance is, and the register of their names."""

import difflib

import numpy as np

from keras_dml._arrays import real
from keras_dml._backend import keras, ops

__all__ = ["Distance", "declared", "get", "names", "register", "serialize"]
PACKAGE = "keras_dml"
_NAMES = {}


class Distance:
    """Distances between all pairs of two sets of embeddings: `d(x, y) -> (n, m)`, small is near.

    A subclass writes `pairwise` and states below what its embeddings are and which properties it
    has. Losses, mining, inference, exporters and cards ask for nothing else. Objects have no state:
    what a distance needs beside two embeddings travels inside them.

    Attributes:
        name: The name that `get`, cards and commands know; `register` sets it.
        rank: Rank of a batch of embeddings; None: any.
        embeddings: What such a batch is, in words, for error messages.
        is_zero_at_itself: Whether d(x, x) = 0.
        is_symmetric: Whether d(x, y) = d(y, x).
        is_metric: Whether it is a metric, up to rounding.
        is_learned: Whether it has weights of its own, which an exporter may round.
        device_distance: Name of the distance that a TFLite file computes in its place, on tangent
            vectors, since no device has an eigendecomposition; None: this distance itself.
        device_tolerance: Largest error of `on_device`, as a fraction of the largest distance.
    """

    name = None
    rank = 2
    embeddings = "vectors, shape (batch, features)"
    is_zero_at_itself = True
    is_symmetric = True
    is_metric = True
    is_learned = False
    device_distance = None
    device_tolerance = 0.0

    def __init_subclass__(cls, **kwargs):
        """A subclass that measures in its own way squares in its own way too."""
        super().__init_subclass__(**kwargs)
        measures = {"pairwise", "__call__"} & vars(cls).keys()
        if measures and "squared" not in vars(cls):
            cls.squared = Distance.squared

    def __call__(self, x, y):
        return self.pairwise(*self.checked(x, y))

    def pairwise(self, x, y):
        """All distances of embeddings that `checked` has let pass.

        Args:
            x: Tensor, shape `(n, ...)`.
            y: Tensor, shape `(m, ...)`.

        Returns:
            Tensor, shape `(n, m)`.
        """
        raise NotImplementedError

    def on_device(self, x, y):
        """All distances as an exported file computes them, `(n, ...)` and `(m, ...)` to `(n, m)`.

        To be overridden where `pairwise` needs an operator that devices do not have.
        """
        return self(x, y)

    def squared(self, x, y):
        """Squares of the distances, shape `(n, m)`, in the square of the unit."""
        return ops.square(self(x, y))

    @property
    def has_cheap_square(self):
        """Whether `squared` takes less than the distance, since it leaves out a root."""
        return type(self).squared is not Distance.squared

    def checked(self, x, y):
        """Both sets as tensors, after a check of their ranks and sizes.

        Raises:
            ValueError: If one is of another rank, or they are not of one model.
        """
        x, y = _tensor("x", x), _tensor("y", y)
        if self.rank is not None:
            self._check_shapes(x, y)
        return x, y

    def check(self, name, embeddings, owner=None):
        """Checks the values of given embeddings, beyond their shape.

        Args:
            name: Name of the argument, for error messages.
            embeddings: NumPy array, shape `(n, ...)`.
            owner: The model that they are said to be of; None: unknown.

        Raises:
            ValueError: If they are no such embeddings, or another model's.
        """

    def check_same(self, found, expected):
        """Checks that embeddings of an exported file are comparable with the model's.

        Args:
            found: The file's, shape `(n, ...)`.
            expected: The model's, same shape.

        Raises:
            ValueError: If they are not.
        """

    def degenerate(self, like):
        """An embedding where quotients are hardest, to try an exported file on.

        Args:
            like: An embedding, shape `(...)`.
        """
        return np.zeros_like(like)

    def bytes_per_pair(self, embedding):
        """Memory that a pair takes within `pairwise`, beside the result.

        Args:
            embedding: NumPy array, shape `(...)`.
        """
        return max(1, embedding.nbytes)

    def ranking(self, gallery):
        """A function from queries `(n, ...)` to float64 `(n, m)` that ranks the gallery as the
        distance does, or None where there is no formula in NumPy.

        Args:
            gallery: NumPy array, shape `(m, ...)`.
        """

    def get_config(self):
        return {}

    @classmethod
    def from_config(cls, config):
        return cls(**config)

    def _check_shapes(self, x, y):
        for name, embeddings in (("x", x), ("y", y)):
            if len(embeddings.shape) != self.rank:
                raise ValueError(
                    f"`{name}` must hold {self.embeddings}. Received shape "
                    f"{tuple(embeddings.shape)}."
                )
        sizes = zip(x.shape[1:], y.shape[1:], strict=True)
        if any(None not in pair and pair[0] != pair[1] for pair in sizes):
            raise ValueError(
                f"`x` and `y` must hold embeddings of one model. Received shapes {tuple(x.shape)} "
                f"and {tuple(y.shape)}."
            )


@keras.saving.register_keras_serializable(package=PACKAGE)
class Custom(Distance):
    """A function `d(x, y) -> (n, m)` of one's own as a distance; nothing is known of it.

    Args:
        function: The function, or its serialized form.
    """

    rank = None
    is_metric = False
    is_symmetric = False

    def __init__(self, function):
        if isinstance(function, dict):
            function = keras.saving.deserialize_keras_object(function)
        self.function = function

    def __call__(self, x, y):
        return self.function(x, y)

    def get_config(self):
        return {"function": keras.saving.serialize_keras_object(self.function)}


def register(name):
    """Class decorator: makes a `Distance` known by a name, in `get` and in saved models.

    Args:
        name: The name, such as `"stein"`.
    """

    def registered(kind):
        kind.name = name
        _NAMES[name] = kind
        return keras.saving.register_keras_serializable(package=PACKAGE)(kind)

    return registered


def names():
    """The names that `get` takes, sorted: all registered but those of a model's own distances."""
    return sorted(name for name, kind in _NAMES.items() if not kind.is_learned)


def declared(name):
    """The class of a distance by the name on a model's card, with what it declares of itself.

    Args:
        name: Name of a registered distance; a learned one too.

    Returns:
        A subclass of `Distance`.

    Raises:
        ValueError: If the name is unknown; the message lists the known ones.
    """
    if name in _NAMES:
        return _NAMES[name]
    near = difflib.get_close_matches(name, names(), n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise ValueError(f"Unknown distance {name!r}. Known: {', '.join(names())}.{hint}")


def get(identifier):
    """The distance of that name, or the object itself.

    Args:
        identifier: A name such as `"wasserstein"`, a serialized distance, a `Distance`, or a
            function `d(x, y) -> (n, m)`.

    Returns:
        A `Distance`.

    Raises:
        ValueError: If the name is unknown or of a learned distance; the message lists the others.
        TypeError: If it is nothing of these.
    """
    if isinstance(identifier, dict):
        identifier = keras.saving.deserialize_keras_object(identifier)
    if isinstance(identifier, Distance):
        return identifier
    if isinstance(identifier, str):
        kind = declared(identifier)
        if kind.is_learned:
            raise ValueError(
                f"The distance {identifier!r} is learned and part of its model. Pass the model's "
                "own, `model.distance`."
            )
        return kind()
    if callable(identifier):
        return Custom(identifier)
    raise TypeError(
        f"A distance is a name or a callable d(x, y). Received {type(identifier).__name__}."
    )


def serialize(distance):
    """Plain-Python form of a distance, for `get_config`; `get` reads it."""
    return keras.saving.serialize_keras_object(distance)


def _tensor(name, embeddings):
    if embeddings is None or isinstance(embeddings, np.ndarray):
        embeddings = real(f"`{name}`", embeddings)
    return ops.convert_to_tensor(embeddings)
