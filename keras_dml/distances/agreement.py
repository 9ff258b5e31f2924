"""Functions that warn if a loss and the head of its model use different distances. The head is the
layer that outputs embeddings."""

import warnings

import numpy as np

from keras_dml._backend import keras, marks
from keras_dml._typing import Tensor
from keras_dml.distances.base import Custom, Distance


def mark(embeddings: Tensor, head: keras.layers.Layer) -> Tensor:
    """Attaches the name and the distance of a head to the embeddings that the head outputs.
    `warn_of_another` reads the name and the distance from the embeddings.

    Args:
        embeddings: Output tensor of the head. The tensor may be eager or part of a graph.
        head: Layer with an attribute `distance`.

    Returns:
        The output tensor `embeddings`.
    """
    marks.put(embeddings, (f"{type(head).__name__} {head.name!r}", head.distance))
    return embeddings


def warn_of_another(loss: keras.losses.Loss, embeddings: Tensor) -> None:
    """Warns if a loss and the head that computed the embeddings use different distances.

    If the two distances differ, training optimizes the distance of the loss. But
    `keras_dml.distance`, galleries and exports compare embeddings by the distance of the head.
    The function does not check embeddings that have no attached distance, such as the output of a
    `Dense` layer or an array from the caller.

    Args:
        loss: Loss to check. A loss without an attribute `distance` is not checked.
        embeddings: Output tensor of the head.
    """
    head = marks.read(embeddings)
    if head is not None:
        warn_if_different(loss, *head)


def warn_if_different(loss: keras.losses.Loss, head: str, distance: Distance) -> None:
    """Warns if the distance of a loss differs from the distance of the model's head.

    Args:
        loss: Loss to check. A loss without an attribute `distance` is not checked.
        head: Description of the head in the warning, such as its class and name.
        distance: Distance of the head.
    """
    loss_distance = getattr(loss, "distance", None)
    if not _differ(loss_distance, distance):
        return
    warnings.warn(
        f"The loss {type(loss).__name__} {loss.name!r} compares embeddings by "
        f"{_described(loss_distance)}. But the head {head} has the distance "
        f"{_described(distance)}, which `keras_dml.distance`, galleries and exports use. Use the "
        "same distance in the head and the loss: set the head's `p`, or pass "
        "`distance=head.distance` to the loss.",
        stacklevel=3,
    )


def _differ(first, second):
    """Returns True if two distances differ. Returns False if a distance is a function or a learned
    similarity, because functions and learned similarities cannot be compared."""
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
    """Returns the module and the name of a distance's class. If a notebook defines the class again,
    the new class has the same module and name."""
    return type(distance).__module__, type(distance).__qualname__


def _described(distance):
    name = distance.name or type(distance).__name__
    config = ", ".join(f"{key}={value!r}" for key, value in distance.get_config().items())
    return f"{name} with {config}" if config else name
