"""Base class of the models with which a gallery computes embeddings and distances.

The module imports neither Keras nor a backend, so a gallery can decide with a .tflite file.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from keras_dml import _messages
from keras_dml._messages import Message
from keras_dml._typing import ArrayLike, Recordings
from keras_dml.zoo import pseudonyms

if TYPE_CHECKING:
    from keras_dml import inputs, quality
    from keras_dml.explanations import Explanation
    from keras_dml.gallery.index import Index


class GalleryModel(abc.ABC):
    """A model that computes embeddings and their distances for a gallery.

    `keras_model.KerasModel` computes with Keras, and `keras_dml.edge.Gallery` computes with LiteRT.

    Attributes:
        name: Name or path of the model.
        inputs: Object that checks inputs of the model, see `keras_dml.inputs`.
        fingerprint: Hexadecimal digest that changes if the model computes other embeddings or
            distances.
        embedding_shape: Shape of one embedding.
        card: The model card, or None if the model has no card.
        distance_name: Name of the distance between embeddings, or None if it has no name.
        has_mean: Whether embeddings have a mean, see `keras_dml.distances.Distance`.
    """

    name: str
    inputs: inputs.Signals | inputs.Matrices | inputs.Images
    fingerprint: str
    embedding_shape: tuple[int, ...]
    card: dict[str, Any] | None
    distance_name: str | None
    has_mean: bool
    _gate: quality.Gate | None  # None if the model does not describe its training recordings

    @abc.abstractmethod
    def embed(self, recordings: Recordings) -> np.ndarray:
        """Returns embeddings, shape `(recordings, ...)`."""

    @abc.abstractmethod
    def distances(self, probes: np.ndarray, stored: np.ndarray) -> np.ndarray:
        """Computes the distances from probes to stored embeddings, shape `(probes, stored)`."""

    @abc.abstractmethod
    def mean_points(self, embeddings: np.ndarray) -> np.ndarray:
        """Maps embeddings to points whose average is the mean, see `Distance.mean_points`."""

    @abc.abstractmethod
    def from_mean_point(self, point: np.ndarray) -> np.ndarray:
        """Maps an average of points to an embedding, see `Distance.from_mean_point`."""

    @abc.abstractmethod
    def explain(self, recording: ArrayLike, embeddings: np.ndarray) -> Explanation:
        """Explains the distance from a recording to the nearest of several embeddings, see
        `keras_dml.explanations.explain_nearest`."""

    @abc.abstractmethod
    def check(self, embeddings: np.ndarray) -> None:
        """Raises `ValueError` if embeddings are invalid or from another model."""

    def lower_bounds(self, stored: np.ndarray) -> Callable[[np.ndarray], np.ndarray] | None:
        """Returns a function that quickly computes lower bounds of the distances to `stored`, or
        None if the model has no such function.

        Args:
            stored: Stored embeddings, shape `(count, ...)`.

        Returns:
            Function that maps probes to lower bounds, shape `(probes, count)`, or None.
        """
        return None

    def index(self) -> Index | None:
        """Returns the `Index` for the embeddings, or None if a database cannot compare the
        embeddings."""
        return None

    @property
    def trained_on(self) -> pseudonyms.TrainedOn:
        """People whose recordings trained a user's own model. Supports `name in trained_on`."""
        card = self.card or {}
        return pseudonyms.TrainedOn(card.get("data", {}) if card.get("is_own") else {})

    def as_list(self, recordings: ArrayLike | Recordings) -> list[Any]:
        """Returns recordings as a list. A single recording becomes a list with one element."""
        rank = len(self.inputs.shape)
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
                name = self.inputs.name
                reasons[i] = _messages.text_of(error).replace(f"{name} 0", f"{name} {i}", 1)
        passed = [i for i in range(len(recordings)) if i not in reasons]
        if self._gate is not None and passed:
            unfit = self._gate.refused([recordings[i] for i in passed])
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
        self.inputs.read(recordings, warns=False)  # `embed` emits one warning for all
