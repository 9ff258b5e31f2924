"""What an exported file answers: `embed` and `distance`, as TensorFlow functions with pinned names
and shapes.

`embed` takes what the model takes: recordings with their lengths, or matrices.
"""

import numpy as np

from keras_dml import distances, inference, zoo
from keras_dml._keras import keras, ops

NAMES = ("embed", "distance")


def tensorflow():
    """TensorFlow, which writes both formats.

    Raises:
        RuntimeError: If Keras runs on another backend.
    """
    backend = keras.backend.backend()
    if backend != "tensorflow":
        raise RuntimeError(
            f"Exports are written with the TensorFlow backend; Keras runs on {backend!r} here. "
            "Save the model as a .keras file, start Python with KERAS_BACKEND=tensorflow "
            "(install it with "
            '`pip install "keras-dml[cpu]"`), load the file there and export it.'
        )
    import tensorflow as tf

    return tf


def encoder(model):
    """The model to export, after a check that it takes recordings or matrices and gives embeddings
    of a known shape.

    Args:
        model: A `keras.Model` of one input, `(batch, time, channels)` or `(batch, n, n)`, or the
            name of a zoo model.

    Raises:
        ValueError: If the model is not built, has another input, or an embedding of unknown size.
    """
    model = zoo.load(model) if isinstance(model, str) else model
    inputs = getattr(model, "inputs", None) or []
    if [len(tensor.shape) for tensor in inputs] != [3] or inputs[0].shape[2] is None:
        given = [tuple(tensor.shape) for tensor in inputs] or "none: the model is not built"
        raise ValueError(
            "An exported model has one input of shape (batch, time, channels) with a known "
            f"number of channels. The inputs of {model.name!r} are {given}. Begin it with "
            "`keras.Input((None, channels))`."
        )
    if None in model.output_shape[1:]:
        raise ValueError(
            f"The embedding of {model.name!r} has shape {model.output_shape}, of unknown size. "
            "End the model in a head of `keras_dml.layers` that reduces the time axis."
        )
    return model


def metric_of(model, distance=None):
    """The distance that the file computes: the one given, or else what the model's head names.

    Raises:
        ValueError: If none is given and the last layer names none.
    """
    if distance is not None:
        return distances.get(distance)
    try:
        return inference.head_distance(model)
    except ValueError as error:
        raise ValueError(f"{error} Exports take it as `distance=`.") from None


def for_one(model, metric):
    """Signatures of a TFLite file: one recording, one embedding against a gallery.

    `embed(signal (1, time, channels), length ())` cuts the recording to its length before the first
    layer, so no mask is needed and the padding of a device's fixed buffer changes nothing; a model
    of matrices has `embed(matrix (1, n, n))`. `distance(embedding (1, ...), gallery (n, ...))`
    gives `(n,)`.

    Returns:
        A `tf.Module` whose `embed` and `distance` are functions.
    """

    def distance(embedding, gallery):
        return {"distance": metric(embedding, gallery)[0]}

    embed = _embed_matrices(model, 1) if inference.takes_matrices(model) else _embed_one(model)
    return _module(model, embed, _function(distance, _embeddings(model, 1)))


def for_batches(model, metric):
    """Signatures of a SavedModel: any number of recordings of any lengths, padded to one.

    `embed(signal (n, time, channels), length (n,))` masks the steps from `length` on, and refuses
    lengths that do not fit the signal at run time; a model of matrices has `embed(matrix (n, size,
    size))`. `distance(embedding (n, ...), gallery (m, ...))` gives `(n, m)`.

    Returns:
        A `tf.Module` whose `embed` and `distance` are functions.
    """

    def distance(embedding, gallery):
        return {"distance": metric(embedding, gallery)}

    matrices = inference.takes_matrices(model)
    embed = _embed_matrices(model, None) if matrices else _embed_padded(model)
    return _module(model, embed, _function(distance, _embeddings(model, None)))


def batch(model, recordings):
    """The arguments of the `embed` of `for_batches`, by name, for some recordings or matrices."""
    if inference.takes_matrices(model):
        return {"matrix": np.stack(recordings)}
    lengths = np.array([len(recording) for recording in recordings], np.int32)
    signal = np.zeros((len(recordings), lengths.max(), recordings[0].shape[1]), np.float32)
    for row, recording in zip(signal, recordings, strict=True):
        row[: len(recording)] = recording
    return {"signal": signal, "length": lengths}


def write(module, folder):
    """Writes a module's two signatures as a SavedModel."""
    tf = tensorflow()
    functions = {name: getattr(module, name).get_concrete_function() for name in NAMES}
    tf.saved_model.save(module, str(folder), signatures=functions)


def _embed_one(model):
    tf = tensorflow()
    steps, channels = model.inputs[0].shape[1:]

    def embed(signal, length):
        signal = signal[:, :length]
        if steps is not None:
            signal = ops.reshape(
                signal, (1, steps, channels)
            )  # another length fails here, at run time
        return {"embedding": model(signal, training=False)}

    signal = tf.TensorSpec((1, steps, channels), tf.float32, "signal")
    return _function(embed, [signal, tf.TensorSpec((), tf.int32, "length")])


def _embed_padded(model):
    tf = tensorflow()
    steps, channels = model.inputs[0].shape[1:]

    def embed(signal, length):
        time = tf.shape(signal)[1]
        shortest = time if steps is not None else 1
        tf.debugging.assert_greater_equal(
            length, shortest, "A `length` is too short for the model."
        )
        tf.debugging.assert_less_equal(length, time, "A `length` is beyond the end of `signal`.")
        mask = None if steps is not None else tf.sequence_mask(length, time)
        return {"embedding": model(signal, mask=mask, training=False)}

    signal = tf.TensorSpec((None, steps, channels), tf.float32, "signal")
    return _function(embed, [signal, tf.TensorSpec((None,), tf.int32, "length")])


def _embed_matrices(model, rows):
    tf = tensorflow()

    def embed(matrix):
        return {"embedding": model(matrix, training=False)}

    shape = (rows, *model.inputs[0].shape[1:])
    return _function(embed, [tf.TensorSpec(shape, tf.float32, "matrix")])


def _function(function, signature):
    return tensorflow().function(function, autograph=False, input_signature=signature)


def _module(model, embed, distance):
    module = tensorflow().Module()
    # The raw variables: with the Keras model instead, the converter writes a file without weights.
    module.weights = [variable.value for variable in model.weights]
    module.embed, module.distance = embed, distance
    return module


def _embeddings(model, rows):
    tf = tensorflow()
    one = tuple(model.output_shape[1:])
    return [
        tf.TensorSpec((rows, *one), tf.float32, "embedding"),
        tf.TensorSpec((None, *one), tf.float32, "gallery"),
    ]
