"""Makes the signatures of an exported file: TensorFlow functions with fixed names and shapes.

Every file has the signatures `embed` and `distance`. The file of a `PrototypicalClassifier` also
has `score` and `classify`. A TFLite file also has `covariance` if the model has a Riemannian potato
(see `keras_dml.quality`). The file of a stream has `step` and `read` instead of `embed`. `embed`,
`classify` and `covariance` receive inputs of the model, which
are recordings with their lengths, matrices or images (see `keras_dml.inputs`).

Every signature checks its inputs. A signature returns NaN for an input that violates the input
contract of the model, and raises an error for a shape that the signature cannot process.
"""

import contextlib
import dataclasses
import functools
import pathlib
import re
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from keras_dml import distances, inference, inputs, models
from keras_dml._backend import keras, ops, xla
from keras_dml._backend.tensorflow import tensorflow
from keras_dml._messages import Message
from keras_dml._typing import Path
from keras_dml.export.streaming import Stream
from keras_dml.zoo import reading

NAMES = ("embed", "distance")
DEFAULT = "serving_default"  # signature for requests that do not name a signature
OF_CLASSIFIERS = ("score", "classify")
OF_STREAMS = ("step", "read")
COVARIANCE = "covariance"  # signature that the quality gate of a model needs
ENCODING = ("embed", "classify")  # signatures that receive inputs of the model
MOST_TRIED = 2**20  # largest number of time steps tried, about a minute of audio
SEED = 21
SCOPE = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_.>-]*")  # names that TensorFlow accepts in graphs


def parts(model: keras.Model | Path) -> tuple[Any, ...]:
    """Checks the encoder of a model, and returns the encoder and the classifier.

    Args:
        model: A `keras.Model`, a `keras_dml.models.PrototypicalClassifier`, or the name or path of
            a saved model. A `keras.Model` must have one input of shape `(batch, time, channels)`,
            `(batch, n, n)` or `(batch, height, width, channels)`.

    Returns:
        `(encoder, classifier)`. The classifier is None if the model is only an encoder.

    Raises:
        TypeError: If `model` is neither a `keras.Model` nor a name or path.
        ValueError: If the model is not built, if its input has another shape, or if the size of its
            embeddings is unknown.
    """
    model = reading.loaded(model)
    if isinstance(model, models.PrototypicalClassifier):
        return _encoder(model.encoder), model
    return _encoder(model), None


def metric_of(
    model: keras.Model, distance: distances.Distance | str | None = None
) -> distances.Distance:
    """Returns the distance that the exported file computes.

    Args:
        model: A `keras.Model`.
        distance: Distance or name of a distance, or None for the distance that the last layer of
            the model defines.

    Raises:
        ValueError: If `distance` is None and the last layer defines no distance.
    """
    if distance is not None:
        return distances.get(distance)
    try:
        return inference.head_distance(model)
    except ValueError as error:
        raise ValueError(
            Message(
                "{error} Alternatively, set {distance} to the distance that the export should use.",
                error=error,
            )
        ) from None


def check_precision(model: keras.Model, dtypes: Sequence[str] = ("float32",)) -> None:
    """Checks that all layers of a model compute with floats that a file format supports.

    Args:
        model: A `keras.Model`.
        dtypes: Names of the dtypes that the format supports.

    Raises:
        ValueError: If a layer computes in another dtype. The message names the layer.
    """
    for layer in model._flatten_layers():
        if layer.compute_dtype not in dtypes:
            raise ValueError(
                f"The layer {layer.name!r} ({type(layer).__name__}) computes in "
                f"{layer.compute_dtype}, but the file can compute only in {' or '.join(dtypes)}. "
                "Build the model with the dtype policy float32 and copy the weights by "
                "set_weights(model.get_weights()), or export it by "
                "`keras_dml.export.saved_model`."
            )


def check_names(model: keras.Model) -> None:
    """Checks that TensorFlow accepts the names of a model and its layers in an exported graph.

    Args:
        model: A `keras.Model`.

    Raises:
        ValueError: If a name contains a space or a letter that is not ASCII, for example.
    """
    for layer in [model, *model._flatten_layers()]:
        if not SCOPE.fullmatch(layer.name):
            raise ValueError(
                f"{type(layer).__name__} has the name {layer.name!r}, which TensorFlow does not "
                "accept in an exported file. Names must begin with an ASCII letter, a digit or a "
                "period, and may contain only ASCII letters, digits and the characters _ . > -. "
                "Build the model with other names and copy the weights by "
                "set_weights(model.get_weights())."
            )


def own_metric(model: keras.Model) -> distances.Distance:
    """Returns the distance that the last layer of a model defines, for exports that have no
    argument `distance`.

    Args:
        model: A `keras.Model`.

    Raises:
        ValueError: If the last layer defines no distance.
    """
    try:
        return inference.head_distance(model)
    except ValueError:
        raise ValueError(
            f"The last layer of {model.name!r}, {type(model.layers[-1]).__name__} "
            f"{model.layers[-1].name!r}, does not define a distance. End the model with a layer of "
            "`keras_dml.layers` that defines a distance, such as QuantileLayer."
        ) from None


def for_one(
    encoder: keras.Model,
    metric: distances.Distance,
    classifier: models.PrototypicalClassifier | None = None,
    steps: int | None = None,
    gallery: int | None = None,
) -> Any:
    """Makes the signatures of a TFLite file, which process one recording or one embedding.

    - `embed(signal (1, time, channels), length ())` cuts the recording to its length before the
      first layer. The encoder therefore needs no mask, and ignores padding in the fixed buffer of a
      device. A model that takes matrices has `embed(matrix (1, n, n))`, and a model that takes
      images has `embed(image (1, height, width, channels))`.
    - `distance(embedding (1, ...), gallery (n, ...))` returns distances `(n,)`.
    - A classifier also has `score(embedding (1, features), prototypes (n, features))`, which
      returns `similarity (n,)`, and `classify`, which receives the arguments of `embed` and returns
      `scores (classes,)`.

    The signatures return NaN for an input that violates the input contract (see `one_input`).

    Args:
        encoder: Model that computes embeddings.
        metric: Distance between embeddings.
        classifier: Classifier of the embeddings, or None for an encoder alone.
        steps: Number of time steps of `signal`. If `steps` is given, the signature does not cut the
            recording, but masks all time steps after the first `length` steps.
        gallery: Number of rows of `gallery` and `prototypes`, or None for any number.

    Returns:
        A `tf.Module` whose functions have the names of the signatures.
    """
    return _module(encoder, metric, classifier, 1, steps, gallery)


def for_batches(
    encoder: keras.Model,
    metric: distances.Distance,
    classifier: models.PrototypicalClassifier | None = None,
) -> Any:
    """Makes the signatures of a SavedModel, which process any number of recordings of any length.

    The signatures are the same as in `for_one`, with a batch axis. `embed(signal (n, time,
    channels), length (n,))` receives recordings padded to one length, masks all time steps after
    the first `length` steps, and returns NaN for a recording that violates the input contract.
    `distance(embedding (n, ...), gallery (m, ...))` and `score` return arrays of shape `(n, m)`,
    and `classify` returns `(n, classes)`.

    Args:
        encoder: Same as in `for_one`.
        metric: Same as in `for_one`.
        classifier: Same as in `for_one`.

    Returns:
        A `tf.Module` whose functions have the names of the signatures.
    """
    return _module(encoder, metric, classifier)


def for_stream(
    stream: Stream,
    kind: inputs.Signals,
    metric: distances.Distance,
    gallery: int | None = None,
) -> Any:
    """Makes the signatures of a TFLite file that receives a recording in blocks.

    - `step(signal (1, block, channels), state (size,))` returns the next `state`. The first state
      is zeros. If the block holds NaN or infinity, `read` returns NaN until the block has no
      influence on the embedding.
    - `read(state (size,))` returns the `embedding` (1, ...) of the recording so far. The embedding
      is NaN if the recording so far is shorter than the smallest length that the model accepts, or
      longer than the largest length.
    - `distance(embedding (1, ...), gallery (n, ...))` is the same as in `for_one`.

    Args:
        stream: Streamed form of the model.
        kind: Input kind of the model.
        metric: Distance between embeddings.
        gallery: Number of rows of `gallery`, or None for any number.

    Returns:
        A `tf.Module` whose functions have the names of the signatures.
    """
    tf, module, allowed = tensorflow(), tensorflow().Module(), limits(kind)
    signal_shape, shape = (1, stream.block, kind.shape[1]), tuple(kind.model.output_shape[1:])

    def step(signal, state):
        has_shape = _has_shape(signal, signal_shape)
        signal, state = tf.reshape(signal, signal_shape), tf.reshape(state, (stream.size,))
        valid = tf.logical_and(has_shape, tf.reduce_all(_finite(signal)))
        return {"state": stream.step(_where(valid, signal, np.nan), state)}

    def read(state):
        state = tf.reshape(state, (stream.size,))
        count = stream.count(state)
        valid = count >= allowed.least
        if allowed.most is not None and not stream.has_window:
            valid = tf.logical_and(valid, count <= allowed.most)
        embedding = stream.read(state)
        # without this, the row of knots in a quantile embedding would be finite
        valid = tf.logical_and(valid, tf.reduce_all(_finite(embedding)))
        return _nan_unless(valid, {"embedding": embedding})

    module.input_shapes = types.MappingProxyType(
        {
            "signal": signal_shape,
            "state": (stream.size,),
            "embedding": (1, *shape),
            "gallery": (gallery, *shape),
        }
    )
    module.steps = None
    state = tf.TensorSpec([None], tf.float32, "state")
    module.step = function(step, [tf.TensorSpec([None] * 3, tf.float32, "signal"), state])
    module.read = function(read, [state])
    module.distance = _distances(metric, shape, (1, gallery))
    module.weights = [variable.value for variable in kind.model.weights]
    return module


def names(module: Any) -> list[str]:
    """Returns the names of the signatures of a module."""
    every = (*NAMES, *OF_CLASSIFIERS, COVARIANCE, *OF_STREAMS)
    return [name for name in every if hasattr(module, name)]


def add_covariance(module: Any, model: keras.Model) -> None:
    """Adds the signature `covariance` to the signatures of a TFLite file.

    `covariance` receives the arguments of `embed` and returns `covariance` (1, n, n), which the
    Riemannian potato of a quality gate judges (see `keras_dml.quality`).

    Args:
        module: Result of `for_one`.
        model: Part of the encoder up to its first layer `Covariance`.
    """
    kind = inputs.from_model(model)

    def covariance(x, mask):
        return {COVARIANCE: _masked(model, x, mask)}

    module.covariance = one_input(kind, covariance, limits(kind), module.steps)


def described(model: keras.Model | Path) -> list[str]:
    """Returns the signatures of an exported model as texts, as in `["embed(signal, length)"]`."""
    encoder, classifier = parts(model)
    arguments = ", ".join(inputs.from_model(encoder).arguments)
    texts = [f"embed({arguments})", "distance(embedding, gallery)"]
    if classifier is not None:
        texts += ["score(embedding, prototypes)", f"classify({arguments})"]
    return texts


def write(module: Any, folder: Path) -> None:
    """Writes the signatures of a module as a SavedModel for inference, without gradients."""
    tf = tensorflow()
    functions = {name: getattr(module, name).get_concrete_function() for name in names(module)}
    functions[DEFAULT] = functions.get("embed") or functions["read"]
    options = tf.saved_model.SaveOptions(experimental_custom_gradients=False)
    with writing():
        tf.saved_model.save(module, str(folder), signatures=functions, options=options)
    _remove_gradient_names(pathlib.Path(folder))


def _remove_gradient_names(folder):
    """Removes the names of unsaved gradients from a SavedModel.

    TensorFlow would warn about each of these names when it loads the SavedModel.
    """
    from tensorflow.core.protobuf import saved_model_pb2

    file = folder / "saved_model.pb"
    saved = saved_model_pb2.SavedModel.FromString(file.read_bytes())
    for graph in saved.meta_graphs:
        for body in graph.graph_def.library.function:
            for node in body.node_def:
                node.attr.pop("_gradient_op_type", None)
    file.write_bytes(saved.SerializeToString(deterministic=True))
    (folder / "fingerprint.pb").unlink()  # it describes the file before the change


def _encoder(model):
    if not isinstance(model, keras.Model):
        raise TypeError(
            Message(
                "{model} must be a keras.Model, or the name or path of a saved model. Received "
                "{type}.",
                type=type(model).__name__,
            )
        )
    tensors = getattr(model, "inputs", None) or []
    shape = tuple(tensors[0].shape[1:]) if len(tensors) == 1 else ()
    required_sizes = {2: shape[1:], 3: shape}.get(len(shape), (None,))
    if None in required_sizes:
        shapes = [tuple(tensor.shape) for tensor in tensors] or "unknown: the model is not built"
        raise ValueError(
            f"The inputs of {model.name!r} are {shapes}. An exported model has one input of shape "
            "(batch, time, channels) with a known number of channels, or (batch, height, width, "
            "channels) with a known size of images. Begin the model with `keras.Input((None, "
            "channels))`."
        )
    if None in model.output_shape[1:]:
        raise ValueError(
            f"The embedding of {model.name!r} has shape {model.output_shape}, but the size of an "
            "embedding must be known. End the model with a head of `keras_dml.layers` that reduces "
            "the time axis."
        )
    return model


def _module(encoder, metric, classifier, rows=None, steps=None, gallery_rows=None):
    kind, shape = inputs.from_model(encoder), tuple(encoder.output_shape[1:])
    graph = batches if rows is None else functools.partial(one_input, steps=steps)
    lengths, sizes = limits(kind), (rows, gallery_rows)

    def embed(x, mask):
        return {"embedding": _masked(encoder, x, mask)}

    def score(embedding, prototypes):
        return {"similarity": classifier.similarity(embedding, prototypes)}

    def classify(x, mask):
        # In models that take audio, TensorFlow loses the static number of rows.
        z = ops.reshape(_masked(encoder, x, mask), (rows or -1, *shape))
        scores = classifier.head_scores(z)
        return {"scores": scores if rows is None else scores[0]}

    module = tensorflow().Module()
    input_shape = kind.shape if steps is None else (steps, *kind.shape[1:])
    module.input_shapes = types.MappingProxyType(
        {
            kind.arguments[0]: (rows, *input_shape),
            "embedding": (rows, *shape),
            "gallery": (gallery_rows, *shape),
            "prototypes": (gallery_rows, *shape),
        }
    )
    module.steps = steps
    module.embed = graph(kind, embed, lengths)
    module.distance = _distances(metric, shape, sizes)
    weights = list(encoder.weights)
    if classifier is not None:
        module.score = embedding_pairs(score, shape, "prototypes", sizes)
        module.classify = graph(kind, classify, lengths)
        weights += classifier.prototypes_layer.weights
    # The module holds raw variables, because with Keras's own objects the converter writes a file
    # without weights.
    module.weights = [variable.value for variable in weights]
    return module


def _distances(metric, shape, sizes):
    """Makes the signature `distance`, see `embedding_pairs`."""

    def distance(embedding, gallery):
        return {"distance": metric.on_device(embedding, gallery)}

    return embedding_pairs(distance, shape, "gallery", sizes)


def _masked(model, x, mask):
    """Returns the outputs of a model for inputs with a mask, or without a mask if it is None."""
    if mask is None:
        return model(x, training=False)
    return model(x, mask=mask, training=False)


@dataclasses.dataclass(frozen=True)
class Limits:
    """Smallest and largest allowed number of time steps of a recording.

    Attributes:
        least: Smallest number of time steps.
        most: Largest number of time steps, or None if the number is not limited.
    """

    least: int
    most: int | None = None


def limits(kind: inputs.Signals | inputs.Matrices | inputs.Images) -> Limits | None:
    """Returns the range of lengths that both the contract and the layers of a model accept.

    Args:
        kind: Input kind of the model (see `keras_dml.inputs`).

    Returns:
        `Limits`, or None if the model takes matrices or images, which have a fixed size.
    """
    if not isinstance(kind, inputs.Signals):
        return None
    if not kind.has_any_length:
        return Limits(kind.shape[0], kind.shape[0])
    contract = kind.contract
    least = 1 if contract is None else contract.min_steps
    return Limits(_min_steps(kind, least), None if contract is None else contract.max_steps)


def _min_steps(kind, least):
    """Returns the smallest number of time steps (at least `least`) that gives a finite embedding.

    For example, a convolution may need more than one time step, and a spectrum needs a whole frame.
    """
    if _gives_finite_embedding(kind, least):
        return least
    low, high = least, 2 * least
    while high < MOST_TRIED and not _gives_finite_embedding(kind, high):
        low, high = high, 2 * high
    if high >= MOST_TRIED:
        return least  # the later comparison with Keras refuses models without finite embeddings
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _gives_finite_embedding(kind, middle) else (middle, high)
    return high


def _gives_finite_embedding(kind, steps):
    noise = np.random.default_rng(SEED).normal(size=(1, steps, kind.shape[1])) / 10
    try:
        embedding = kind.model(noise.astype(np.float32), training=False)
    except Exception:  # layers raise different types of errors for short recordings
        return False
    return bool(np.isfinite(ops.convert_to_numpy(embedding)).all())


@contextlib.contextmanager
def writing():
    """Converts errors of TensorFlow's file writers, for example if the disk is full, to
    `OSError`."""
    try:
        yield
    except tensorflow().errors.OpError as error:
        raise OSError(re.sub(r"{{.*?}} | \[Op:.*\]", "", error.message)) from error


def function(python: Callable[..., Any], signature: Sequence[Any]) -> Any:
    """Makes a TensorFlow graph, which runs without XLA, from a Python function.

    Args:
        python: Function from tensors to a dict of tensors.
        signature: List with the `tf.TensorSpec` of each argument.
    """

    @functools.wraps(python)
    def without_xla(*args, **kwargs):
        with xla.avoided():
            return python(*args, **kwargs)

    return tensorflow().function(without_xla, autograph=False, input_signature=signature)


def one_input(kind: Any, compute: Callable[..., Any], limits: Any, steps: int | None = None) -> Any:
    """Makes a signature that receives one recording, one matrix or one image.

    The signature cuts a recording to its length before the first layer. If `steps` is given, the
    signature instead replaces all time steps after the first `length` steps by zeros, and masks
    them, so that no shape in the graph depends on `length`.

    The signature returns NaN if `length` is outside the limits or longer than the signal, or if the
    input holds NaN or infinity within the first `length` steps. The signature raises an error at
    run time if the batch size or the number of channels is wrong. The graph has no static shape of
    its arguments, so that it can check the shape that the runtime passes.

    Args:
        kind: Input kind of the model (see `keras_dml.inputs`).
        compute: Function that receives a batch and a mask (or None), and returns a dict of outputs.
        limits: `Limits` of the lengths of recordings, or None if the inputs are matrices or images.
        steps: Number of time steps of the signal, at least `limits.least`. None if the signal may
            have any number of steps.
    """
    tf = tensorflow()

    def of_array(array):
        has_shape = _has_shape(array, (1, *kind.shape))
        array = tf.reshape(array, (1, *kind.shape))
        valid = tf.logical_and(has_shape, tf.reduce_all(_finite(array)))
        return _nan_unless(valid, compute(_zero_unless(valid, array), None))

    def of_signal(signal, length):
        channels, mask = kind.shape[1], None
        time = steps or kind.shape[0] or tf.shape(signal)[1]
        has_shape = _has_shape(signal, (1, time, channels))
        signal = tf.reshape(signal, (1, time, channels))
        valid = tf.logical_and(has_shape, _within(limits, length, time))
        # Even if the input is invalid, the model needs at least `limits.least` steps to run.
        length = tf.where(valid, length, limits.least)
        if steps is not None:
            mask = tf.range(steps)[None] < length  # (1, steps)
            signal = tf.where(mask[..., None], signal, 0.0)
        elif kind.has_any_length:
            signal = tf.pad(signal, ((0, 0), (0, limits.least), (0, 0)))[:, :length]
        valid = tf.logical_and(valid, tf.reduce_all(_finite(signal)))
        return _nan_unless(valid, compute(_zero_unless(valid, signal), mask))

    rank = 1 + len(kind.shape)
    specs = [tf.TensorSpec([None] * rank, tf.float32, kind.arguments[0])]
    if limits is None:
        return function(of_array, specs)
    return function(of_signal, [*specs, tf.TensorSpec((), tf.int32, "length")])


def batches(kind: Any, compute: Callable[..., Any], limits: Any) -> Any:
    """Makes a signature that receives a batch of matrices, images, or recordings padded to one
    length.

    The signature returns NaN for each recording whose length is outside the limits or longer than
    the signal, and for each recording that holds NaN or infinity within its length. An invalid
    recording does not change the results of the other recordings of the batch.

    Args:
        kind: Input kind of the model (see `keras_dml.inputs`).
        compute: Function that receives a batch and a mask (or None), and returns a dict of outputs.
        limits: `Limits` of the lengths of recordings, or None if the inputs are matrices or images.
    """
    tf = tensorflow()

    def of_arrays(arrays):
        valid = _all_of_row(_finite(arrays))
        return _nan_unless(valid, compute(_zero_unless(valid, arrays), None))

    def of_signals(signal, length):
        steps = kind.shape[0]
        batch, time = tf.shape(signal)[0], tf.shape(signal)[1]
        tf.debugging.assert_equal(
            tf.shape(length)[0], batch, "`length` must hold one number for each recording."
        )
        valid = _within(limits, length, time)
        signal = tf.pad(signal, ((0, 0), (0, tf.maximum(limits.least - time, 0)), (0, 0)))
        length = tf.where(valid, length, limits.least)
        mask = tf.sequence_mask(length, tf.shape(signal)[1])
        signal = tf.where(mask[:, :, None], signal, 0.0)
        valid = tf.logical_and(valid, _all_of_row(_finite(signal)))
        signal = tf.ensure_shape(_zero_unless(valid, signal), (None, *kind.shape))
        return _nan_unless(valid, compute(signal, mask if steps is None else None))

    specs = [tf.TensorSpec((None, *kind.shape), tf.float32, kind.arguments[0])]
    if limits is None:
        return function(of_arrays, specs)
    return function(of_signals, [*specs, tf.TensorSpec((None,), tf.int32, "length")])


def embedding_pairs(
    compute: Callable[..., Any],
    shape: Any,
    second: str,
    sizes: tuple[int | None, int | None] = (None, None),
) -> Any:
    """Makes a signature that compares embeddings with a gallery or with prototypes.

    The signature returns a number for each pair, and NaN if a vector of the pair holds NaN or
    infinity.

    Args:
        compute: Function from arrays `(n, ...)` and `(m, ...)` to a dict with one output `(n, m)`.
        shape: Shape of one embedding.
        second: Name of the second argument.
        sizes: Numbers of rows n and m. None stands for any number. For a TFLite file, n is 1 and
            the output has shape `(m,)`.
    """
    tf = tensorflow()
    query_rows, gallery_rows = sizes

    def compared(embedding, gallery):
        if query_rows is not None:
            embedding = tf.reshape(embedding, (query_rows, *shape))
            gallery = tf.reshape(gallery, (gallery_rows or tf.shape(gallery)[0], *shape))
        valid = [_all_of_row(_finite(x)) for x in (embedding, gallery)]
        x, y = _zero_unless(valid[0], embedding), _zero_unless(valid[1], gallery)
        outputs = _nan_unless(tf.logical_and(valid[0][:, None], valid[1][None]), compute(x, y))
        is_batch = query_rows is None
        return {name: value if is_batch else value[0] for name, value in outputs.items()}

    ranks = (None, *shape) if query_rows is None else [None] * (1 + len(shape))
    specs = [tf.TensorSpec(ranks, tf.float32, name) for name in ("embedding", second)]
    return function(compared, specs)


def _has_shape(array, shape):
    tf = tensorflow()
    return tf.reduce_all(tf.equal(tf.shape(array), tf.stack(shape)))


def _within(limits, length, time):
    """Returns whether the lengths are within the limits, and not longer than the signal."""
    tf = tensorflow()
    most = time if limits.most is None else tf.minimum(time, limits.most)
    return tf.logical_and(length >= limits.least, length <= most)


def _finite(x):
    # TFLite has no builtin operator for `tf.math.is_finite`.
    return tensorflow().abs(x) <= np.finfo(np.float32).max


def _all_of_row(x):
    return tensorflow().reduce_all(x, axis=range(1, len(x.shape)))


def _zero_unless(valid, x):
    """Replaces invalid rows of `x` by zeros, because some layers cannot convert NaN to integers."""
    return _where(valid, x, 0.0)


def _nan_unless(valid, outputs):
    return {name: _where(valid, value, np.nan) for name, value in outputs.items()}


def _where(valid, x, other):
    tf = tensorflow()
    trailing = [1] * (len(x.shape) - len(valid.shape))
    if valid.shape.rank and trailing:
        valid = tf.reshape(valid, (-1, *trailing))
    return tf.where(valid, x, tf.constant(other, x.dtype))
