"""Comparison of the distance of a loss with the distance of the head of its model."""

import warnings

import numpy as np

from keras_dml._backend import keras, marks
from keras_dml._typing import Tensor
from keras_dml.distances.base import Custom, Distance


def mark(embeddings: Tensor, head: keras.layers.Layer) -> Tensor:
    """Attaches the head's name and distance to its embeddings, for `warn_of_another`.

    Args:
        embeddings: Tensor, which may be eager or part of a graph.
        head: Layer that names its `distance`.

    Returns:
        The tensor.
    """
    marks.put(embeddings, (f"{type(head).__name__} {head.name!r}", head.distance))
    return embeddings


def warn_of_another(loss: keras.losses.Loss, embeddings: Tensor) -> None:
    """Warns if the head that computed embeddings has another distance than the loss.

    The network is then trained for one distance, while `keras_dml.distance`, galleries and exports
    compare by another distance. Embeddings without a mark, such as the output of a `Dense` layer or
    an array of the caller, are not checked.

    Args:
        loss: Loss. A loss without a `distance` is not checked.
        embeddings: Output tensor of the head.
    """
    head = marks.read(embeddings)
    if head is not None:
        warn_if_different(loss, *head)


def warn_if_different(loss: keras.losses.Loss, head: str, distance: Distance) -> None:
    """Warns if a loss has another distance than the head of its model.

    Args:
        loss: Loss. A loss without a `distance` is not checked.
        head: Description of the head, such as its class and name.
        distance: Distance that the head names.
    """
    loss_distance = getattr(loss, "distance", None)
    if not _differ(loss_distance, distance):
        return
    warnings.warn(
        f"The loss {type(loss).__name__} {loss.name!r} compares embeddings by "
        f"{_described(loss_distance)}, but the head {head} names {_described(distance)}, by which "
        "`keras_dml.distance`, galleries and exports compare them. Give both one distance: the "
        "head's `p`, or `distance=head.distance` in the loss.",
        stacklevel=3,
    )


def _differ(first, second):
    """Returns True if two distances differ. Functions and learned similarities are not compared."""
    comparable = all(
        isinstance(distance, Distance)
        and not isinstance(distance, Custom)
        and not distance.is_learned
        for distance in (first, second)
    )
    return comparable and (_path(first) != _path(second) or not _equal(first, second))


def _equal(first, second):
    config, expected = first.get_config(), second.get_config()
    return config.keys() == expected.keys() and all(
        np.array_equal(value, expected[key]) for key, value in config.items()
    )


def _path(distance):
    """Returns module and name of the class, which are equal for a class that a notebook defines
    again."""
    return type(distance).__module__, type(distance).__qualname__


def _described(distance):
    name = distance.name or type(distance).__name__
    config = ", ".join(f"{key}={value!r}" for key, value in distance.get_config().items())
    return f"{name} with {config}" if config else name
