"""Computes a fingerprint of the weights and layers that compute embeddings and distances."""

import hashlib
import json

import numpy as np

from keras_dml._backend import keras, ops
from keras_dml.distances import Distance

# settings that do not change embeddings
IGNORED = {"name", "trainable", "dtype", "stddev_range", "events"}


def fingerprint(encoder: keras.Model, distance: Distance) -> str:
    """Computes a fingerprint of a model. Galleries and exported files store the fingerprint, so
    that embeddings of two models are never compared.

    Args:
        encoder: Part of the model that computes embeddings (see `keras_dml.inputs.encoder`).
        distance: Distance of the model.

    Returns:
        SHA-256 digest of the distance and of the weights that compute embeddings and distances, in
        hexadecimal digits. If the model has no weights, the digest covers the layers instead of
        weights.
    """
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
