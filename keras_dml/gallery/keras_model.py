"""Computes embeddings and distances for a gallery with a Keras model."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from keras_dml import inference, inputs, quality
from keras_dml._backend import keras
from keras_dml._messages import Message
from keras_dml._typing import ArrayLike, Path, Recordings
from keras_dml.gallery.index import Index
from keras_dml.gallery.model import GalleryModel
from keras_dml.zoo import lookup, reading

if TYPE_CHECKING:
    from keras_dml.distances import Distance
    from keras_dml.explanations import Explanation
    from keras_dml.gallery.gallery import Gallery


class KerasModel(GalleryModel):
    """A `keras.Model` that computes embeddings and distances for a gallery.

    Adding classes to a classifier does not change the fingerprint of its encoder.

    Args:
        model: A `keras.Model`, or the name or path of a saved model.

    Attributes:
        model: The `keras.Model`.
        distance: Distance with which the model compares embeddings.
    """

    def __init__(self, model: keras.Model | Path):
        self.model: keras.Model = reading.loaded(model)
        self.inputs: inputs.Signals | inputs.Matrices | inputs.Images = inputs.from_model(
            self.model
        )
        is_saved = isinstance(model, str | os.PathLike)
        self.name: str = lookup.lasting(model) if is_saved else self.model.name
        self.distance: Distance = inference.head_distance(self.model)
        self.distance_name: str | None = self.distance.name
        self.has_mean: bool = self.distance.has_mean
        self._gate = quality.gate_of(self.model)
        encoder = inputs.encoder(self.model)
        self.embedding_shape: tuple[int, ...] = tuple(encoder.output_shape[1:])
        self.fingerprint: str = inference.fingerprint(encoder, self.distance)

    @property
    def card(self) -> dict[str, Any] | None:
        return reading.card_of(self.model)

    def index(self) -> Index | None:
        """Returns the `Index` for the embeddings, or None if the distance has no index vectors."""
        shape = self.embedding_shape
        sample = self.distance.degenerate(np.zeros(shape, np.float32))[None]
        vectors = self.distance.index_vectors(sample)
        return None if vectors is None else Index(self.distance, shape, vectors.shape[1])

    def embed(self, recordings: Recordings) -> np.ndarray:
        return inference.embed(self.model, recordings)

    def explain(self, recording: ArrayLike, embeddings: np.ndarray) -> Explanation:
        from keras_dml.explanations import explain_nearest

        return explain_nearest(self.model, recording, embeddings)

    def check(self, embeddings: np.ndarray) -> None:
        self.distance.check("embeddings", embeddings, self.model)

    def distances(self, probes: np.ndarray, stored: np.ndarray) -> np.ndarray:
        return inference.distance(self.model, probes, stored)

    def mean_points(self, embeddings: np.ndarray) -> np.ndarray:
        return self.distance.mean_points(embeddings)

    def from_mean_point(self, point: np.ndarray) -> np.ndarray:
        return self.distance.from_mean_point(point)

    def lower_bounds(self, stored: np.ndarray) -> Callable[[np.ndarray], np.ndarray] | None:
        return self.distance.lower_bounds(stored)


def keras_model_of(gallery: Gallery) -> KerasModel:
    """Returns the model of a gallery, for exports, which convert the Keras model.

    Args:
        gallery: An open gallery.

    Raises:
        TypeError: If the gallery decides with a .tflite file.
    """
    if not isinstance(gallery._model, KerasModel):
        raise TypeError(
            Message(
                "The gallery {path} is open with a .tflite file, but an export needs the Keras "
                "model. Open the gallery by `keras_dml.Gallery`, and export it again.",
                path=gallery.path,
            )
        )
    return gallery._model
