"""Base class of distances, and the registry of distance names."""

import difflib
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from keras_dml._arrays import real
from keras_dml._backend import keras, ops
from keras_dml._typing import Tensor

__all__ = ["Distance", "declared", "get", "names", "register", "serialize"]
PACKAGE = "keras_dml"
Kind = TypeVar("Kind", bound=type)  # a class, which `register` returns
_NAMES = {}


class Distance:
    """Base class of distances. A distance object computes all distances `d(x, y)`, shape `(n, m)`,
    between two sets of embeddings.

    A smaller distance means more similar. A subclass implements `pairwise` and declares the
    attributes below. Losses, mining, inference, galleries, explanations, exporters and model cards
    use only `pairwise` and the declared attributes. Distances have no state, because an embedding
    contains everything that a distance needs.

    A subclass implements:

    - `pairwise`, with `keras.ops`. An export to devices needs a `pairwise` or an `on_device` that
      uses only builtin TFLite operators.
    - The decorator `@register(name)`, so that models, losses and cards can be saved and loaded.
    - `get_config`, if the constructor has arguments.
    - `degenerate`, for exports, if the distance is not defined for an embedding that contains only
      zeros.
    - `is_zero_at_itself = False`, if d(x, x) is not 0. Losses that compare squared distances read
      `is_zero_at_itself`.
    - `index_vectors`, for galleries on a server.
    - `check`: optional, to reject embeddings that are invalid or from another model.
    - `ranking`, `lower_bounds`, `bytes_per_pair`: optional, for speed and memory.
    - `has_mean`, `mean_points`, `from_mean_point`: optional, for galleries that store the mean of a
      person's embeddings.
    - `difference`, or `segment_parts` and `activation_parts`: optional, for explanations.

    Attributes:
        name: Name of the distance in `get`, cards and commands. `register` sets this attribute.
        rank: Rank of a batch of embeddings. None allows any rank.
        embeddings: Text that describes a batch of embeddings in error messages.
        is_zero_at_itself: Whether the distance of an embedding to itself is 0.
        is_learned: Whether the distance has weights. An exporter may round the weights of a learned
            distance.
        weights: Weights of a learned distance.
        has_mean: Whether the mean of embeddings can be computed by averaging the points that
            `mean_points` returns.
        device_distance: Name of the distance that a TFLite file computes instead of this distance,
            because devices have no eigendecomposition. The TFLite file then compares tangent
            vectors. If `device_distance` is None, the TFLite file computes the distance of this
            class.
        device_tolerance: Largest error of the distances that `on_device` returns, as a fraction of
            the largest distance.
        index_metric: Metric for comparing `index_vectors`, "l1" or "l2".
    """

    name = None
    rank = 2
    embeddings = "vectors, shape (batch, features)"
    is_zero_at_itself = True
    is_learned = False
    weights: tuple[str, ...] = ()
    has_mean = False
    device_distance = None
    device_tolerance: float = 0.0
    index_metric = "l2"

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Resets `squared` and `on_device` to the default if a subclass overrides `pairwise` but
        does not override them."""
        super().__init_subclass__(**kwargs)
        if {"pairwise", "__call__"} & vars(cls).keys():
            for name in {"squared", "on_device"} - vars(cls).keys():
                setattr(cls, name, getattr(Distance, name))

    def __call__(self, x: Tensor, y: Tensor) -> Tensor:
        return self.pairwise(*self.checked(x, y))

    def pairwise(self, x: Tensor, y: Tensor) -> Tensor:
        """Computes all distances between two sets of embeddings. The caller has checked the
        embeddings.

        Args:
            x: Embeddings, shape `(n, ...)`.
            y: Embeddings, shape `(m, ...)`.

        Returns:
            Distances, shape `(n, m)`.
        """
        raise NotImplementedError(_unwritten(type(self)))

    def on_device(self, x: Tensor, y: Tensor) -> Tensor:
        """Computes all distances, shape `(n, m)`, between embeddings `(n, ...)` and `(m, ...)` by
        the operators that an exported file uses.

        Override this method if `pairwise` needs an operator that devices do not have, or if
        `pairwise` is less accurate in a graph in which n and m are unknown.
        """
        return self(x, y)

    def squared(self, x: Tensor, y: Tensor) -> Tensor:
        """Computes all squared distances, shape `(n, m)`, in the squared unit of the distance."""
        return ops.square(self(x, y))

    @property
    def has_cheap_square(self) -> bool:
        """True if `squared` computes squared distances without first computing a square root."""
        return type(self).squared is not Distance.squared

    def checked(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Checks the ranks and sizes of two sets of embeddings. Returns the embeddings as two
        tensors.

        Raises:
            ValueError: If a set has a wrong rank, or if the sets are from different models.
        """
        x, y = _tensor("x", x), _tensor("y", y)
        if self.rank is not None:
            self._check_shapes(x, y)
        return x, y

    def check(self, name: str, embeddings: np.ndarray, owner: keras.Model | None = None) -> None:
        """Checks the values of embeddings. The caller has checked the shape of the embeddings.

        Args:
            name: Name of the argument, for error messages.
            embeddings: NumPy array, shape `(n, ...)`.
            owner: Model from which the embeddings should come. By default, the model is unknown.

        Raises:
            ValueError: If the embeddings are invalid, or from another model.
        """

    def check_same(self, embeddings: np.ndarray, expected: np.ndarray) -> None:
        """Checks that embeddings computed by an exported file are comparable with embeddings
        computed by the original model.

        Args:
            embeddings: Embeddings computed by the exported file, shape `(n, ...)`.
            expected: Embeddings computed by the model, same shape.

        Raises:
            ValueError: If the embeddings are not comparable.
        """

    def degenerate(self, like: np.ndarray) -> np.ndarray:
        """Returns a valid embedding for which the distance is hardest to compute numerically. By
        default, the returned embedding contains only zeros.

        Exports use this embedding to compare the exported file with Keras. Galleries on a server
        derive the size of index vectors from this embedding. Override this method if the distance
        is not defined for zeros. For example, the classes for distances between SPD matrices return
        the identity matrix.

        Args:
            like: Embedding, shape `(...)`.

        Returns:
            NumPy array of the same shape and dtype.
        """
        return np.zeros_like(like)

    def bytes_per_pair(self, embedding: np.ndarray) -> int:
        """Returns how much memory `pairwise` needs for each pair, in bytes. The memory for the
        returned distances is not included.

        Args:
            embedding: NumPy array, shape `(...)`.
        """
        return max(1, embedding.nbytes)

    def ranking(self, gallery: np.ndarray) -> Callable[[np.ndarray], np.ndarray] | None:
        """Returns a NumPy function whose values rank the gallery's embeddings in the same order as
        the distance. Returns None if the distance has no such function.

        Args:
            gallery: Embeddings of the gallery, NumPy array, shape `(m, ...)`.

        Returns:
            Function that maps queries `(n, ...)` to values `(n, m)` in float64, or None.
        """

    def index_vectors(self, embeddings: np.ndarray) -> np.ndarray | None:
        """Returns vectors that a database can index, or None if the distance has no such vectors.
        The database ranks the vectors in almost the same order in which the distance ranks the
        embeddings.

        Args:
            embeddings: NumPy array, shape `(n, ...)`.

        Returns:
            NumPy array, shape `(n, numbers)`, or None if the distance has no index vectors. The
            vectors are compared by `index_metric`.
        """

    def lower_bounds(self, gallery: np.ndarray) -> Callable[[np.ndarray], np.ndarray] | None:
        """Returns a NumPy function that quickly computes lower bounds of the distances to
        `gallery`. The bounds hold up to rounding errors. Returns None if the distance has no such
        bounds.

        Args:
            gallery: Embeddings of the gallery, NumPy array, shape `(m, ...)`.

        Returns:
            Function that maps queries `(n, ...)` to lower bounds `(n, m)`, or None.
        """

    def mean_points(self, embeddings: np.ndarray) -> np.ndarray:
        """Maps embeddings to points. The average of the points corresponds to the mean of the
        embeddings under this distance.

        Only distances with `has_mean` implement `mean_points`. Because the mean is an average, a
        caller can add an embedding to a mean, and can later remove exactly this embedding.

        Args:
            embeddings: NumPy array, shape `(n, ...)`.

        Returns:
            Points, NumPy array, float64, shape `(n, ...)`.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define a mean of embeddings.")

    def from_mean_point(self, point: np.ndarray) -> np.ndarray:
        """Maps a point that `mean_points` returned, or an average of such points, back to an
        embedding.

        Args:
            point: Point, such as an average of points, NumPy array, float64.

        Returns:
            NumPy array, float64.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define a mean of embeddings.")

    def difference(self, x: np.ndarray, y: np.ndarray) -> np.ndarray | None:
        """Returns an array whose Euclidean (Frobenius) norm is the distance of two embeddings.

        Explanations use the squared entries of this array as contributions to the squared distance.

        Args:
            x: Embedding, NumPy array, shape `(...)`.
            y: Embedding of the same shape.

        Returns:
            NumPy array, float64, or None if the distance cannot be written as a norm.
        """

    def segment_parts(self, x: np.ndarray, y: np.ndarray) -> np.ndarray | None:
        """Returns each filter's contribution to the distance between two quantile embeddings, for
        each segment between two neighboring knots.

        Args:
            x: Embedding, NumPy array, shape `(filters + 1, knots)`.
            y: Embedding of the same shape.

        Returns:
            NumPy array, shape `(filters, knots - 1)`, whose entries sum to the distance. None if
            the distance is not a sum of contributions.
        """

    def activation_parts(self, x: np.ndarray, y: np.ndarray, count: int) -> np.ndarray | None:
        """Returns the contribution of each activation to the distance between `x` and `y`. The
        activations are the values from which `x` was computed.

        Every distance that implements `activation_parts` also implements `segment_parts`.

        Args:
            x: Embedding, NumPy array, shape `(filters + 1, knots)`.
            y: Embedding of the same shape.
            count: Number of activations per filter in `x`.

        Returns:
            NumPy array, shape `(filters, count)`, whose entries sum to half the distance. The
            activations of each filter are sorted in ascending order.
        """

    def get_config(self) -> dict[str, Any]:
        return {}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> "Distance":
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
                f"`x` and `y` must hold embeddings from one model. Received shapes "
                f"{tuple(x.shape)} and {tuple(y.shape)}."
            )


@keras.saving.register_keras_serializable(package=PACKAGE)
class Custom(Distance):
    """Distance that calls a user's function `d(x, y) -> (n, m)`. Properties of this distance, such
    as symmetry, are unknown.

    Args:
        function: Function that computes the distances, or the serialized form of this function.
    """

    rank = None

    def __init__(self, function: Callable[..., Any] | dict[str, Any]) -> None:
        if isinstance(function, dict):
            function = keras.saving.deserialize_keras_object(function)
        self.function = function

    def __call__(self, x: Tensor, y: Tensor) -> Tensor:
        return self.function(x, y)

    def get_config(self) -> dict[str, Any]:
        return {"function": keras.saving.serialize_keras_object(self.function)}


def register(name: str) -> Callable[[Kind], Kind]:
    """Class decorator that registers a `Distance` under a name. `get` and saved models find the
    distance by this name.

    Each name belongs to one class. A new class with the same module and qualified name replaces the
    old class, so that a notebook cell can run again and a module can be reloaded.

    Args:
        name: Name of the distance, such as `"stein"`.

    Raises:
        TypeError: If `name` is not a string, or if the decorated object is not a subclass of
            `Distance` with a method `pairwise`.
        ValueError: If `name` is empty or belongs to another class, if the class is registered under
            another name, or if Keras's registry holds another class of this package with the same
            class name.
    """
    if not isinstance(name, str):
        received = name.__name__ if isinstance(name, type) else repr(name)
        raise TypeError(
            f"`register` needs a name, which must be a string. Received {received}. Write "
            '`@register("my_distance")` above the class.'
        )
    if not name:
        raise ValueError(f"The name of a distance must not be empty. Received {name!r}.")

    def registered(kind):
        if not (isinstance(kind, type) and issubclass(kind, Distance)):
            raise TypeError(
                f"`register({name!r})` decorates a subclass of `keras_dml.distances.Distance`. "
                f"Received {kind!r}."
            )
        _check_written(kind)
        _check_free(name, kind)
        kind.name = name
        _NAMES[name] = kind
        return keras.saving.register_keras_serializable(package=PACKAGE)(kind)

    return registered


def _check_free(name, kind):
    """Raises a ValueError if the distance name, or the class name in saved models, belongs to
    another class."""
    holder = _NAMES.get(name)
    if holder is not None and not _is_same_class(holder, kind):
        raise ValueError(
            f"Received the class {_path(kind)} with the name {name!r}, but this name is registered "
            f"for the class {_path(holder)}. Register the class under another name."
        )
    for registered, holder in _NAMES.items():
        if registered != name and _is_same_class(holder, kind):
            raise ValueError(
                f"Received the name {name!r} for the class {_path(kind)}, but this class is "
                f"already registered as {registered!r}. A class must have only one name. Register "
                f"a subclass as {name!r}."
            )
    holder = keras.saving.get_registered_object(f"{PACKAGE}>{kind.__name__}")
    if holder is not None and not _is_same_class(holder, kind):
        raise ValueError(
            f"Received the class {_path(kind)}, but in saved models the class name "
            f"{kind.__name__!r} means {_path(holder)}. Rename the class."
        )


def _is_same_class(holder, kind):
    """Returns True if two classes have the same module and the same qualified name, for example
    because a module was reloaded or a notebook cell ran again."""
    return _path(holder) == _path(kind)


def _path(kind):
    return f"{kind.__module__}.{kind.__qualname__}"


def _check_written(kind):
    """Raises a TypeError if a class overrides neither `pairwise` nor `__call__`."""
    if kind.pairwise is Distance.pairwise and kind.__call__ is Distance.__call__:
        raise TypeError(_unwritten(kind))


def _unwritten(kind):
    return (
        f"{kind.__name__} has no method `pairwise(x, y)`. A distance needs a method that takes "
        "embeddings of shapes (n, ...) and (m, ...) and returns their distances, shape (n, m). "
        "Write the method with `keras.ops`."
    )


def names() -> list[str]:
    """Returns the sorted names of all distances that `get` accepts. Learned distances also have
    names, but `get` does not accept these names."""
    return sorted(name for name, kind in _NAMES.items() if not kind.is_learned)


def declared(name: str) -> type[Distance]:
    """Returns the class of a registered distance. The attributes of the class describe the
    distance.

    Args:
        name: Name of the distance, as in a model card. Names of learned distances are also
            accepted.

    Returns:
        A subclass of `Distance`.

    Raises:
        ValueError: If the name is unknown. The message lists the registered names.
    """
    if name in _NAMES:
        return _NAMES[name]
    near = difflib.get_close_matches(name, names(), n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise ValueError(f"Unknown distance {name!r}. Known names: {', '.join(names())}.{hint}")


def get(identifier: str | dict[str, Any] | Distance | Callable[..., Any]) -> Distance:
    """Returns the distance object for a name, a serialized distance, an object or a function.

    Args:
        identifier: A name such as `"wasserstein"`, a serialized distance, a `Distance`, or a
            function `d(x, y) -> (n, m)`.

    Returns:
        A `Distance`.

    Raises:
        ValueError: If the name is unknown or belongs to a learned distance. The message for unknown
            names lists the registered names.
        TypeError: If `identifier` is not a name, a serialized distance, a `Distance` or a function,
            or if it is a `Distance` without `pairwise`.
    """
    if isinstance(identifier, dict):
        identifier = keras.saving.deserialize_keras_object(identifier)
    if isinstance(identifier, Distance):
        _check_written(type(identifier))
        return identifier
    if isinstance(identifier, str):
        kind = declared(identifier)
        if kind.is_learned:
            raise ValueError(
                f"The distance {identifier!r} is learned and part of its model. Pass "
                "`model.distance`."
            )
        return kind()
    if isinstance(identifier, type) and issubclass(identifier, Distance):
        raise TypeError(
            f"A distance must be an object. Received the class {identifier.__name__}. Pass "
            f"`{identifier.__name__}()`."
        )
    if callable(identifier):
        return Custom(identifier)
    raise TypeError(
        f"A distance must be a name or a callable d(x, y). Received {type(identifier).__name__}."
    )


def serialize(distance: Distance) -> dict[str, Any]:
    """Returns the serialized form of a distance for `get_config`. `get` converts the serialized
    form back to a distance."""
    return keras.saving.serialize_keras_object(distance)


def _tensor(name, embeddings):
    if embeddings is None or isinstance(embeddings, np.ndarray):
        embeddings = real(f"`{name}`", embeddings)
    return ops.convert_to_tensor(embeddings)
