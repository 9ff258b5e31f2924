"""Galleries of enrolled people whose model is a .tflite file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from keras_dml._messages import Message
from keras_dml._typing import ArrayLike, Path, Recordings
from keras_dml.edge._load import load
from keras_dml.edge._model import Model
from keras_dml.embeddings import unit
from keras_dml.gallery import gallery as galleries
from keras_dml.gallery.model import GalleryModel
from keras_dml.gallery.store import hide_password, is_url
from keras_dml.gallery.tries import DEFAULT, Tries

if TYPE_CHECKING:
    from keras_dml import inputs
    from keras_dml.distances import Distance
    from keras_dml.explanations import Explanation


class Gallery(galleries.Gallery):
    """People enrolled under one model, for verification and identification without Keras.

    The class reads and writes the same files as `keras_dml.Gallery`, and has the same methods. Both
    classes make the same decisions, except for scores that are closer to a threshold than the
    rounding errors of float32 are. The class needs NumPy and LiteRT. `calibrate` also needs SciPy,
    and encrypted galleries also need `cryptography`.

    These things differ from `keras_dml.Gallery`:

    - `explain` explains all distances by occlusion (see `keras_dml.explain`), because a .tflite
      file does not return the activations that other explanations need.
    - Galleries on a PostgreSQL server need `keras_dml.Gallery`, because the conversion of
      embeddings to vectors of an index needs Keras. `export_tflite` and `export_web` also need
      `keras_dml.Gallery`, because they convert the Keras model. `mean_template` loads Keras.
    - The two classes compute different ids for the same recording, because an id is a digest of
      the embedding and the rounding errors differ. The id of a stored recording is valid in both.
    - A model has a card only if the card names the .tflite file in its entry `edge`. For example,
      the card of a model does not name the float16 file that `keras_dml.export.tflite` writes, and
      the thresholds of the card are then not used.

    Args:
        path: Path of the gallery's file. A file that does not exist is created and is readable only
            by its owner.
        model: Name or path of a model, see `keras_dml.edge.load`, or a `Model`. Default: the model
            with which the gallery was made. The .tflite file must be in the folder of this model.
        key: Key that encrypts the embeddings, see `keras_dml.Gallery`.
        tries: Object that limits rejected claims, see `keras_dml.Gallery`.
        scoring: Scoring of a new gallery, see `keras_dml.Gallery`.

    Raises:
        FileNotFoundError: If the .tflite file of the model does not exist.
        ImportError: If LiteRT is not installed.
        TypeError: If `path`, `model` or `tries` has the wrong type.
        ValueError: If `path` is the URL of a server, if the file is not a gallery or is damaged, if
            the gallery has another model or key, or if `model` is missing for a new gallery.
        OSError: If the file cannot be used.

    Example:
        >>> with edge.Gallery("family.db", "gait_qp_wl") as gallery:  # doctest: +SKIP
        ...     gallery.enroll("alice", walks)
        ...     gallery.verify("alice", new_walk).accepted
        True
    """

    def __init__(
        self,
        path: Path,
        model: Model | Path | None = None,
        *,
        key: bytes | Path | None = None,
        tries: Tries | None = DEFAULT,
        scoring: str | None = None,
    ):
        if is_url(path):
            raise ValueError(
                Message(
                    "{path} is {value!r}, but `keras_dml.edge` reads galleries in files only. Use "
                    "`keras_dml.Gallery` for a gallery on a server.",
                    value=hide_password(path),
                )
            )
        super().__init__(path, model, key=key, tries=tries, scoring=scoring)

    @property
    def model(self) -> Model:
        """The `keras_dml.edge.Model` of the gallery."""
        return self._model.model

    def _load(self, model: Model | Path) -> GalleryModel:
        return EdgeModel(model)


class EdgeModel(GalleryModel):
    """A .tflite file that computes embeddings and distances for a gallery.

    Args:
        model: A `Model`, or the name or path of a model, see `load`.

    Attributes:
        model: The `Model`.
    """

    def __init__(self, model: Model | Path):
        self.model: Model = model if isinstance(model, Model) else load(model)
        self.name: str = self.model.name
        self.inputs: inputs.Signals | inputs.Matrices | inputs.Images = self.model.inputs
        self.fingerprint: str = self.model.fingerprint
        self.embedding_shape: tuple[int, ...] = self.model.embedding_shape
        self.card: dict[str, Any] | None = self.model.card
        self.distance_name: str | None = self.model.distance_name
        self.has_mean: bool = self.model.has_mean
        self._gate = self.model.gate

    @property
    def distance(self) -> Distance:
        """Distance of the Keras model. Mean templates need this object. Loads Keras."""
        from keras_dml import distances

        return distances.get(self.model.distance_name)

    def embed(self, recordings: Recordings) -> np.ndarray:
        return self.model.embed(recordings)

    def check(self, embeddings: np.ndarray) -> None:
        self.model.checked("embeddings", embeddings)

    def distances(self, probes: np.ndarray, stored: np.ndarray) -> np.ndarray:
        return self.model.distance(probes, stored)

    def mean_points(self, embeddings: np.ndarray) -> np.ndarray:
        if self.distance_name == "cosine":
            return unit(embeddings)
        return embeddings.astype(np.float64)

    def from_mean_point(self, point: np.ndarray) -> np.ndarray:
        return point

    def explain(self, recording: ArrayLike, embeddings: np.ndarray) -> Explanation:
        # loads Rich for the progress bar
        from keras_dml.explanations.occlusion import Network, explain_by_occlusion

        (z,) = self.embed([recording])
        nearest = np.argmin(self.distances(z[None], embeddings)[0])
        model = self.model
        network = Network(model.inputs, model.card, model.embed_unchecked, model.distance)
        stored = {"probe": z, "enrolled": embeddings[nearest]}
        return explain_by_occlusion(network, stored, {"probe": recording})
