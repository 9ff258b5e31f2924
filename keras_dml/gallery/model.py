"""Computes the embeddings and distances of a gallery's model, and a fingerprint of the model."""

import hashlib
import json
import os
import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from keras_dml import _messages, inference, inputs, quality
from keras_dml._backend import keras, ops
from keras_dml._messages import Message
from keras_dml._typing import ArrayLike, Path, Recordings
from keras_dml.zoo import pseudonyms, reading

if TYPE_CHECKING:
    from keras_dml.distances import Distance

IGNORED = {"name", "trainable", "dtype", "stddev_range"}  # settings that do not change embeddings


class Index:
    """Conversion of embeddings to vectors. A database compares the vectors to find similar
    embeddings.

    Sorting neighbors by the norm of the difference between vectors gives almost the same order as
    sorting neighbors by the distance between embeddings.

    Args:
        distance: Distance of the embeddings.
        shape: Shape of an embedding.
        numbers: Number of elements of a vector.

    Attributes:
        metric: Norm for differences between two vectors, "l1" or "l2".
        numbers: Number of elements of a vector.
    """

    def __init__(self, distance: "Distance", shape: tuple[int, ...], numbers: int):
        self._distance, self._shape = distance, shape
        self.metric: str = distance.index_metric
        self.numbers = numbers

    def vectors(self, embeddings: np.ndarray) -> np.ndarray:
        """Converts embeddings, which may be flat, to vectors of shape `(n, numbers)`."""
        embeddings = np.reshape(embeddings, (-1, *self._shape))
        return np.asarray(self._distance.index_vectors(embeddings), np.float32)


class GalleryModel:
    """The model of a gallery, with a fingerprint.

    Args:
        model: A `keras.Model`, or the name or path of a saved model.

    Attributes:
        model: The `keras.Model`.
        name: Name or path of the model.
        distance: Distance with which the model compares embeddings.
        fingerprint: SHA-256 digest of the distance and of the weights that compute embeddings and
            distances. If the model has no weights, the digest covers the layers instead of weights.
            Adding classes to a classifier does not change the fingerprint.
    """

    def __init__(self, model: keras.Model | Path):
        self.model: keras.Model = reading.loaded(model)
        self._inputs = inputs.from_model(self.model)
        is_saved = isinstance(model, str | os.PathLike)
        self.name: str = reading.lasting(model) if is_saved else self.model.name
        self.distance: Distance = inference.head_distance(self.model)
        self._gate = quality.gate_of(self.model)
        self.fingerprint: str = _fingerprint(self._inputs.model, self.distance)

    @property
    def embedding_shape(self) -> tuple[int, ...]:
        """Shape of one embedding."""
        return tuple(self._inputs.model.output_shape[1:])

    @property
    def card(self) -> dict[str, Any] | None:
        """The model card, or None if the model has no card."""
        return reading.card_of(self.model)

    @property
    def trained_on(self) -> pseudonyms.TrainedOn:
        """People on whose recordings a user trained the model. Supports `name in trained_on`."""
        card = self.card or {}
        return pseudonyms.TrainedOn(card.get("data", {}) if card.get("is_own") else {})

    def index(self) -> Index | None:
        """Returns the `Index` for the embeddings, or None if the distance has no index vectors."""
        shape = self.embedding_shape
        sample = self.distance.degenerate(np.zeros(shape, np.float32))[None]
        vectors = self.distance.index_vectors(sample)
        return None if vectors is None else Index(self.distance, shape, vectors.shape[1])

    def as_list(self, recordings: ArrayLike | Recordings) -> list[Any]:
        """Returns recordings as a list. A single recording becomes a list with one element."""
        rank = len(self._inputs.shape)
        is_single = isinstance(recordings, np.ndarray) and recordings.ndim == rank
        if not isinstance(recordings, Iterable):
            raise TypeError(
                Message(
                    "{recordings} is of type {type}, but it must be an array, or a list of arrays.",
                    type=type(recordings).__name__,
                )
            )
        return [recordings] if is_single else list(recordings)

    def refused(self, recordings: Recordings) -> dict[int, str]:
        """Returns `{index: reason}` for recordings that are invalid or unfit for a comparison."""
        reasons = {}
        for i, recording in enumerate(recordings):
            try:
                self._check_inputs([recording])
            except (TypeError, ValueError) as error:
                name = self._inputs.name
                reasons[i] = _messages.text_of(error).replace(f"{name} 0", f"{name} {i}", 1)
        passed = [i for i in range(len(recordings)) if i not in reasons]
        unfit = self.unfit([recordings[i] for i in passed])
        reasons |= {passed[i]: reason for i, reason in unfit.items()}
        return dict(sorted(reasons.items()))

    def unfit(self, recordings: Recordings) -> dict[int, str]:
        """Returns `{index: reason}` for recordings that are too poor to be compared.

        The result is empty if the model has no quality gate, see `keras_dml.quality`.

        Raises:
            ValueError: If the model does not accept a recording.
        """
        if self._gate is None or not recordings:
            return {}
        self._check_inputs(recordings)
        return self._gate.refused(recordings)

    def _check_inputs(self, recordings):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # `embed` emits one warning for all
            self._inputs.read(recordings)

    def embed(self, recordings: Recordings) -> np.ndarray:
        """Returns embeddings, shape `(recordings, ...)`."""
        return inference.embed(self.model, recordings)

    def check(self, embeddings: np.ndarray) -> None:
        """Raises `ValueError` if embeddings are invalid or from another model."""
        self.distance.check("embeddings", embeddings, self.model)

    def distances(self, probes: np.ndarray, stored: np.ndarray) -> np.ndarray:
        """Computes the distances from probes to stored embeddings, shape `(probes, stored)`."""
        return inference.distance(self.model, probes, stored)


def _fingerprint(encoder, distance):
    digest = hashlib.sha256(_class_and_config(distance))
    weights = list(encoder.weights)
    if not weights:
        layers = encoder._flatten_layers(include_self=False)
        computing = [layer for layer in layers if not isinstance(layer, keras.layers.InputLayer)]
        for text in sorted(map(_class_and_config, computing)):
            digest.update(text)
    for weight in [*weights, *distance.weights]:
        values = np.ascontiguousarray(ops.convert_to_numpy(weight))
        digest.update(f"{values.dtype.name}{values.shape}".encode())
        digest.update(values.tobytes())
    return digest.hexdigest()


def _class_and_config(part):
    """Returns the class and the configuration of a distance or a layer as JSON."""
    config = {name: value for name, value in part.get_config().items() if name not in IGNORED}
    return json.dumps([type(part).__name__, config], sort_keys=True, default=str).encode()
