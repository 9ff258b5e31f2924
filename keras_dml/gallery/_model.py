"""The model of a gallery: which it is, and what it takes."""

import hashlib
import json
import os
import warnings
from collections.abc import Iterable

import numpy as np

from keras_dml import inference, inputs, quality
from keras_dml._backend import keras, ops
from keras_dml.zoo import pseudonyms, reading

IDLE = {"name", "trainable", "dtype", "stddev_range"}  # change no embedding


class Index:
    """What a database needs to rank embeddings nearly as their distance does.

    Args:
        distance: `keras_dml.distances.Distance`.
        shape: Shape of an embedding.
        numbers: Size of its vector.

    Attributes:
        metric: "l1" or "l2".
        numbers: Size of a vector.
    """

    def __init__(self, distance, shape, numbers):
        self._distance, self._shape = distance, shape
        self.metric, self.numbers = distance.index_metric, numbers

    def vectors(self, embeddings):
        """Vectors of embeddings, which may be flat, shape `(n, numbers)`."""
        embeddings = np.reshape(embeddings, (-1, *self._shape))
        return np.asarray(self._distance.index_vectors(embeddings), np.float32)


class GalleryModel:
    """A model, with the mark that tells it from any other.

    Args:
        model: A `keras.Model`, or the name or path of a saved one.

    Attributes:
        model: The model.
        name: Its name.
        fingerprint: SHA-256 of the distance and of the weights that embed and compare, or of the
            layers where there are none; classes that a classifier takes later do not change it.
    """

    def __init__(self, model):
        self.model = reading.loaded(model)
        self._taken = inputs.from_model(self.model)
        is_saved = isinstance(model, str | os.PathLike)
        self.name = reading.lasting(model) if is_saved else self.model.name
        self.distance = inference.head_distance(self.model)
        self._gate = quality.of(self.model)
        self.fingerprint = _fingerprint(self._taken.model, self.distance)

    @property
    def embedding_shape(self):
        """Shape of one embedding."""
        return tuple(self._taken.model.output_shape[1:])

    @property
    def card(self):
        """The card of the model; None if it has none."""
        return reading.card_of(self.model)

    @property
    def trained_on(self):
        """People that a user's own model was trained on: `name in trained_on`."""
        card = self.card or {}
        return pseudonyms.TrainedOn(card.get("data", {}) if card.get("is_own") else {})

    def index(self):
        """`Index` of the embeddings; None if the distance has no vectors for one."""
        shape = self.embedding_shape
        some = self.distance.degenerate(np.zeros(shape, np.float32))[None]
        vectors = self.distance.index_vectors(some)
        return None if vectors is None else Index(self.distance, shape, vectors.shape[1])

    def listed(self, recordings):
        """Recordings as a list; one alone is a list of one."""
        rank = len(self._taken.shape)
        alone = isinstance(recordings, np.ndarray) and recordings.ndim == rank
        if not isinstance(recordings, Iterable):
            raise TypeError(
                "`recordings` must be an array, or a list of them. Received "
                f"{type(recordings).__name__}."
            )
        return [recordings] if alone else list(recordings)

    def refused(self, recordings):
        """Why the model does not take some of the recordings, by their index."""
        reasons = {}
        for i, recording in enumerate(recordings):
            try:
                self._check_taken([recording])
            except (TypeError, ValueError) as error:
                name = self._taken.name
                reasons[i] = str(error).replace(f"{name} 0", f"{name} {i}", 1)
        passed = [i for i in range(len(recordings)) if i not in reasons]
        unfit = self.unfit([recordings[i] for i in passed])
        reasons |= {passed[i]: reason for i, reason in unfit.items()}
        return dict(sorted(reasons.items()))

    def unfit(self, recordings):
        """Why some of the recordings should not be compared, by their index: none where the model
        has no gate, see `quality.of`. One that the model does not take is a `ValueError`."""
        if self._gate is None or not recordings:
            return {}
        self._check_taken(recordings)
        return self._gate.refused(recordings)

    def _check_taken(self, recordings):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # `embed` gives it once for all
            self._taken.read(recordings)

    def embed(self, recordings):
        """Embeddings, shape `(recordings, ...)`."""
        return inference.embed(self.model, recordings)

    def check(self, embeddings):
        """Refuses embeddings that are not of this model by a `ValueError`."""
        self.distance.check("embeddings", embeddings, self.model)

    def distances(self, probes, stored):
        """Distances of embeddings of probes to stored ones, shape `(probes, stored)`."""
        return inference.distance(self.model, probes, stored)


def _fingerprint(encoder, distance):
    digest = hashlib.sha256(_said(distance))
    weights = list(encoder.weights)
    if not weights:
        layers = encoder._flatten_layers(include_self=False)
        computing = [one for one in layers if not isinstance(one, keras.layers.InputLayer)]
        for said in sorted(map(_said, computing)):
            digest.update(said)
    weights += distance.weights
    for weight in weights:
        values = np.ascontiguousarray(ops.convert_to_numpy(weight))
        digest.update(f"{values.dtype.name}{values.shape}".encode())
        digest.update(values.tobytes())
    return digest.hexdigest()


def _said(part):
    """Class and configuration of a distance or a layer."""
    config = {name: value for name, value in part.get_config().items() if name not in IDLE}
    return json.dumps([type(part).__name__, config], sort_keys=True, default=str).encode()
