"""Signatures of an exported file: TensorFlow functions with pinned names and shapes.

Every file has `embed` and `distance`; that of a `PrototypicalClassifier` has `score` and `classify`
too. `embed` and `classify` take what the model takes: recordings with their lengths, matrices or
images (`inputs`).
"""

import pathlib
import types

from keras_dml import distances, inference, inputs, models
from keras_dml._backend import ops
from keras_dml._backend.tensorflow import tensorflow
from keras_dml.export._graphs import of_batches, of_embeddings, of_one, writing
from keras_dml.export._limits import limits
from keras_dml.zoo import reading

NAMES = ("embed", "distance")
DEFAULT = "serving_default"  # of a SavedModel: the signature of requests that name none
OF_CLASSIFIERS = ("score", "classify")
ENCODING = ("embed", "classify")  # those that begin with the model's input


def parts(model):
    """The parts of a model that a file is made of, after a check that they give embeddings of a
    known shape.

    Args:
        model: A `keras.Model` of one input, `(batch, time, channels)`, `(batch, n, n)` or `(batch,
            height, width, channels)`; a `keras_dml.models.PrototypicalClassifier`; or the name or
            path of a saved one.

    Returns:
        `(encoder, classifier)`; the classifier is None where the model is an encoder alone.

    Raises:
        ValueError: If the model is not built, has another input, or an embedding of unknown size.
    """
    model = reading.loaded(model)
    if isinstance(model, models.PrototypicalClassifier):
        return _encoder(model.encoder), model
    return _encoder(model), None


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


def for_one(encoder, metric, classifier=None):
    """Signatures of a TFLite file: one recording, one embedding against a gallery.

    - `embed(signal (1, time, channels), length ())` cuts the recording to its length before the
      first layer, so no mask is needed and the padding of a device's fixed buffer changes nothing;
      a model of matrices has `embed(matrix (1, n, n))`, one of images `embed(image (1, height,
      width, channels))`.
    - `distance(embedding (1, ...), gallery (n, ...))` gives `(n,)`.
    - An input that breaks the contract gives NaN, see `_graphs.of_one`.
    - Of a classifier, `score(embedding (1, features), prototypes (n, features))` gives `similarity
      (n,)`, and `classify`, with the arguments of `embed`, gives `scores (classes,)`.

    Returns:
        A `tf.Module` whose functions have these names.
    """
    return _module(encoder, metric, classifier, rows=1)


def for_batches(encoder, metric, classifier=None):
    """Signatures of a SavedModel: any number of recordings of any lengths, padded to one.

    As `for_one`, with a batch axis: `embed(signal (n, time, channels), length (n,))` masks the
    steps from `length` on, and answers NaN for a recording that breaks the contract;
    `distance(embedding (n, ...), gallery (m, ...))` gives `(n, m)`, `score` too; `classify` gives
    `(n, classes)`.

    Returns:
        A `tf.Module` whose functions have these names.
    """
    return _module(encoder, metric, classifier, rows=None)


def names(module):
    """The signatures that a module of this file has."""
    return [name for name in NAMES + OF_CLASSIFIERS if hasattr(module, name)]


def described(model):
    """The signatures of a model's file with their arguments: `["embed(signal, length)", ...]`."""
    encoder, classifier = parts(model)
    given = ", ".join(inputs.from_model(encoder).arguments)
    found = [f"embed({given})", "distance(embedding, gallery)"]
    if classifier is not None:
        found += ["score(embedding, prototypes)", f"classify({given})"]
    return found


def write(module, folder):
    """Writes a module's signatures as a SavedModel, without gradients: it answers, it does not
    train."""
    tf = tensorflow()
    functions = {name: getattr(module, name).get_concrete_function() for name in names(module)}
    functions[DEFAULT] = functions["embed"]
    options = tf.saved_model.SaveOptions(experimental_custom_gradients=False)
    with writing():
        tf.saved_model.save(module, str(folder), signatures=functions, options=options)
    _forget_gradients(pathlib.Path(folder))


def _forget_gradients(folder):
    """Takes the names of gradients that were not saved out of a SavedModel, which would warn of
    each when it is loaded."""
    from tensorflow.core.protobuf import saved_model_pb2

    file = folder / "saved_model.pb"
    saved = saved_model_pb2.SavedModel.FromString(file.read_bytes())
    for graph in saved.meta_graphs:
        for body in graph.graph_def.library.function:
            for node in body.node_def:
                node.attr.pop("_gradient_op_type", None)
    file.write_bytes(saved.SerializeToString(deterministic=True))
    (folder / "fingerprint.pb").unlink()  # of the file as it was


def _encoder(model):
    tensors = getattr(model, "inputs", None) or []
    shape = tuple(tensors[0].shape[1:]) if len(tensors) == 1 else ()
    known = {2: shape[1:], 3: shape}.get(len(shape), (None,))
    if None in known:
        given = [tuple(tensor.shape) for tensor in tensors] or "none: the model is not built"
        raise ValueError(
            "An exported model has one input of shape (batch, time, channels) with a known "
            "number of channels, or of images, (batch, height, width, channels) of known size. The "
            f"inputs of {model.name!r} are {given}. Begin it with `keras.Input((None, channels))`."
        )
    if None in model.output_shape[1:]:
        raise ValueError(
            f"The embedding of {model.name!r} has shape {model.output_shape}, of unknown size. "
            "End the model in a head of `keras_dml.layers` that reduces the time axis."
        )
    return model


def _module(encoder, metric, classifier, rows):
    taken, shape = inputs.from_model(encoder), tuple(encoder.output_shape[1:])
    graph, steps = of_batches if rows is None else of_one, limits(taken)

    def embedded(x, mask):
        if mask is None:
            return encoder(x, training=False)
        return encoder(x, mask=mask, training=False)

    def embed(x, mask):
        return {"embedding": embedded(x, mask)}

    def distance(embedding, gallery):
        return {"distance": metric.on_device(embedding, gallery)}

    def score(embedding, prototypes):
        return {"similarity": classifier.similarity(embedding, prototypes)}

    def classify(x, mask):
        z = ops.reshape(embedded(x, mask), (rows or -1, *shape))  # audio forgets that there is one
        scores = classifier.head_scores(z)
        return {"scores": scores if rows is None else scores[0]}

    module = tensorflow().Module()
    module.input_shapes = types.MappingProxyType(_input_shapes(taken, shape, rows))
    module.embed = graph(taken, embed, steps)
    module.distance = of_embeddings(distance, shape, "gallery", rows)
    weights = list(encoder.weights)
    if classifier is not None:
        module.score = of_embeddings(score, shape, "prototypes", rows)
        module.classify = graph(taken, classify, steps)
        weights += classifier.prototypes_layer.weights
    _track(module, weights)
    return module


def _input_shapes(taken, shape, rows):
    """Shapes of the arguments by name, None for any size."""
    shapes = {taken.arguments[0]: (rows, *taken.shape), "embedding": (rows, *shape)}
    return shapes | {"gallery": (None, *shape), "prototypes": (None, *shape)}


def _track(module, weights):
    """Ties the raw variables to the module: with Keras's own objects instead, the converter writes
    a file without weights."""
    module.weights = [variable.value for variable in weights]
