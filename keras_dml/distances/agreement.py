"""Comparison of the distance of a loss with the distance of the head of its model."""

import warnings

import numpy as np

from keras_dml._backend import marks
from keras_dml.distances.base import Custom, Distance


def mark(embeddings, head):
    """Attaches the head's name and distance to its embeddings, for `warn_of_another`.

    Args:
        embeddings: Tensor, eager or of a graph.
        head: Layer that names its `distance`.

    Returns:
        The tensor.
    """
    marks.put(embeddings, (f"{type(head).__name__} {head.name!r}", head.distance))
    return embeddings


def warn_of_another(loss, embeddings):
    """Warns if embeddings come from a head whose distance is not the loss's.

    The network is then trained for one distance, while `keras_dml.distance`, galleries and exports
    compare by the other. Embeddings without a mark, from a `Dense` layer or as an array of the
    caller, are not checked.

    Args:
        loss: Loss; one without a `distance` is not checked.
        embeddings: Tensor, as the head returned it.
    """
    head = marks.read(embeddings)
    if head is not None:
        warn_if_different(loss, *head)


def warn_if_different(loss, head, distance):
    """Warns if a loss has another distance than the head of its model.

    Args:
        loss: Loss; one without a `distance` is not checked.
        head: Description of the head, such as its class and name.
        distance: Distance that the head names.
    """
    trained = getattr(loss, "distance", None)
    if not _differ(trained, distance):
        return
    warnings.warn(
        f"The loss {type(loss).__name__} {loss.name!r} compares embeddings by "
        f"{_described(trained)}, but the head {head} names {_described(distance)}, by which "
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
