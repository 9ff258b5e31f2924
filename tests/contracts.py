"""Checks that every public layer, model and loss must pass. `test_contracts.py` runs the checks.

A case describes how to build the object that is checked: `Network` for a layer or a model, `Loss`
for a loss. A check is a function of a case and a random generator. A check that writes files also
takes a folder. A check raises AssertionError if the object fails. `NETWORK_CHECKS` and
`LOSS_CHECKS` list the checks. A new layer, model or loss needs a case in `test_contracts.py`. All
checks run on TensorFlow and on JAX.
"""

import contextlib
import dataclasses
import functools
import inspect
import json
import random
import re
from collections.abc import Callable

import keras
import numpy as np
from keras import ops

from keras_dml import inputs
from keras_dml.layers import InputContract, Proxies
from keras_dml.layers.matrices import MatrixLayer

BATCH, TIME, CHANNELS = 3, 23, 4
SAMPLES = 3000  # samples of audio at 16 kHz, enough for a network with a context of 15 frames
PADDING = 1 / 4  # fraction of a recording's length
HALF_POLICIES = ("mixed_bfloat16", "mixed_float16")
# Tolerance for the same float32 arithmetic in another order, which rounds differently.
CLOSE = {"rtol": 1e-5, "atol": 1e-5}
# Tolerance for eight bits of mantissa after one or two convolutions.
CLOSE_IN_HALF = {"rtol": 5e-2, "atol": 5e-2}
# Arguments that Keras defines for every object, so docstrings need not describe them.
COMMON_ARGUMENTS = {"self", "args", "kwargs", "name", "dtype"}


@dataclasses.dataclass(frozen=True)
class Network:
    """Description of a layer or a model to check."""

    name: str
    subject: Callable  # the class or function whose docstring and arguments are checked
    build: Callable  # () -> keras.Layer or keras.Model
    loss: Callable | None = None  # () -> a loss to train a model with
    stock: bool = False  # consists of Keras's own layers, which Keras tests
    large: bool = False  # takes seconds to build


@dataclasses.dataclass(frozen=True)
class Loss:
    """Description of a loss to check, and of the head whose embeddings the loss takes."""

    name: str
    subject: Callable
    build: Callable  # (**kwargs) -> keras.losses.Loss
    head: Callable  # () -> layer or model whose embeddings the loss takes
    rows: int | None = 1  # rows per value: 2 for a loss on pairs, None for a scalar
    given: Callable = lambda embeddings: embeddings  # -> predictions that the loss takes


# ---- networks ---------------------------------------------------------------------------------


@functools.lru_cache(maxsize=1)
def shared(case):
    """Returns four objects for a case: the network that `build` returns, a Keras model around this
    network, inputs of the model, and outputs of the model.

    All checks that do not change the network use the same network, because building and calling a
    network takes most of the time.
    """
    original, rng = case.build(), np.random.default_rng(20)
    model = as_model(original)
    x = examples(model, rng)
    x.flags.writeable = False
    return original, model, x, as_numpy(model(x))


def configuration_rebuilds_it(case, rng):
    """Checks that the configuration of a network rebuilds the network. The configuration is
    converted to JSON and back, so the configuration must consist of plain Python objects."""
    original, _, x, expected = shared(case)
    config = json.loads(json.dumps(keras.saving.serialize_keras_object(original)))
    clone = keras.saving.deserialize_keras_object(config)
    assert type(clone) is type(original)
    model = as_model(clone)
    model.set_weights(original.get_weights())
    np.testing.assert_array_equal(as_numpy(model(x)), expected)


def configuration_holds_every_argument(case, rng):
    if inspect.isclass(case.subject):
        built = case.build()
        if not isinstance(built, case.subject):
            built = built.layers[-1]  # a model that ends in the layer
        assert arguments(case.subject) <= set(built.get_config())


def keras_file_rebuilds_it(case, rng, folder):
    """Checks that a `.keras` file rebuilds the network. The file is loaded in safe mode and without
    `custom_objects`."""
    _, model, x, expected = shared(case)
    model.save(folder / "model.keras")
    loaded = keras.saving.load_model(folder / "model.keras")
    np.testing.assert_array_equal(as_numpy(loaded(x)), expected)


def keras_file_rebuilds_layers_and_weights(case, rng, folder):
    """Checks that a `.keras` file rebuilds layers and weights. This check does not call the
    network, because a call of a large network is slow."""
    model = case.build()
    model.save(folder / "model.keras")
    loaded = keras.saving.load_model(folder / "model.keras")
    assert loaded.to_json() == model.to_json()
    for ours, its in zip(model.get_weights(), loaded.get_weights(), strict=True):
        np.testing.assert_array_equal(ours, its)


def eager_equals_compiled(case, rng):
    _, model, x, expected = shared(case)
    recordings = takes_recordings(model)
    result = compiled(model, free_axes=2 if recordings else 1)(x)
    np.testing.assert_allclose(result, expected, **CLOSE)
    if not recordings:
        return
    mask = some_steps(rng, x.shape[1])
    with_mask = compiled(lambda x, mask: model(x, mask=mask), free_axes=2)
    np.testing.assert_allclose(with_mask(x, mask), as_numpy(model(x, mask=mask)), **CLOSE)


def half_precision_is_close(case, rng):
    """Checks the outputs under half-precision dtype policies. Weights stay float32. Heads and
    layers that take matrices output float32, and other layers output the policy's dtype."""
    _, full, x, expected = shared(case)
    for policy in HALF_POLICIES:
        with dtype_policy(policy):
            half = as_model(case.build())
        half.set_weights(full.get_weights())
        output = half(x)
        ends = is_head(half) or is_head(half.layers[-1])
        exact = ends or isinstance(half.layers[-1], (MatrixLayer, Proxies, InputContract))
        dtype = "float32" if exact else policy.removeprefix("mixed_")
        assert keras.backend.standardize_dtype(output.dtype) == dtype
        assert {item.dtype for item in half.weights if "float" in item.dtype} <= {"float32"}
        np.testing.assert_allclose(as_numpy(output), expected, **CLOSE_IN_HALF)


def padding_moves_nothing(case, rng):
    """Checks that the values of masked padding do not change the outputs."""
    _, model, x, expected = shared(case)
    if not takes_recordings(model):
        return
    batch, time, channels = x.shape
    padding = round(time * PADDING)
    garbage = rng.normal(scale=1e3, size=(batch, padding, channels)).astype("float32")
    mask = np.arange(time + padding) < time
    padded = model(np.concatenate([x, garbage], axis=1), mask=np.stack([mask] * BATCH))
    np.testing.assert_allclose(as_numpy(padded)[:, : expected.shape[1]], expected, **CLOSE)


def mask_passes_or_ends(case, rng):
    """Checks the mask of the outputs. The output of a layer that keeps the time axis must have a
    mask. The output of a layer that removes the time axis must have no mask.
    """
    layer = case.build()
    if isinstance(layer, keras.Model):
        return
    x = examples(layer, rng)
    shape = layer.compute_output_shape(x.shape)
    mask = layer.compute_mask(x, some_steps(rng))
    without_time = is_head(layer) or isinstance(layer, MatrixLayer)
    assert layer.supports_masking
    assert mask is None if without_time else tuple(mask.shape) == tuple(shape[:2])


def one_recording_is_a_batch(case, rng):
    _, model, x, expected = shared(case)
    np.testing.assert_allclose(as_numpy(model(x[:1])), expected[:1], **CLOSE)


def no_recordings_give_an_empty_batch(case, rng):
    """Checks that an empty batch gives empty outputs. Networks with Keras's own convolutions are
    left out, because on TensorFlow a convolution of an empty batch keeps the number of input
    channels."""
    if case.subject.__module__.startswith("keras_dml.models"):
        return
    model = as_model(case.build())
    x = examples(model, rng)
    expected = (0, *model(x).shape[1:])
    for training in (False, True):
        assert tuple(model(x[:0], training=training).shape) == expected
    if takes_recordings(model):
        assert tuple(model(x[:0], mask=np.ones((0, x.shape[1]), bool)).shape) == expected


def declared_shape_is_the_real_one(case, rng):
    _, model, x, expected = shared(case)
    assert tuple(model.compute_output_shape(x.shape)) == expected.shape
    declared = getattr(model, "output_shape", None)  # a model without a graph has none
    assert declared is None or len(declared) == expected.ndim


def docstring_names_every_argument(case, rng=None):
    documented, signature = documented_arguments(case.subject), arguments(case.subject)
    assert signature <= documented, f"not documented: {sorted(signature - documented)}"
    strangers = documented - set(inspect.signature(case.subject).parameters) - COMMON_ARGUMENTS
    assert not strangers, f"documented, but no argument: {sorted(strangers)}"


def loaded_model_trains_on_like_the_original(case, rng, folder):
    """Checks that a loaded model continues training like the original model. The losses of the two
    models must be equal bit for bit. The knots, which are part of quantile embeddings, must
    therefore be restored exactly.
    """
    if case.loss is None:
        return
    model = as_model(case.build())
    noise = examples(model, rng, 2 * BATCH) / 4
    x = np.repeat(examples(model, rng), 2, axis=0) + noise
    y = np.repeat(np.arange(BATCH), 2)
    model.compile(keras.optimizers.SGD(0.01, momentum=0.9), case.loss())
    model.fit(x, y, batch_size=len(x), epochs=2, shuffle=False, verbose=0)
    model.save(folder / "model.keras")
    loaded = keras.saving.load_model(folder / "model.keras")
    losses = [
        item.fit(x, y, batch_size=len(x), epochs=2, shuffle=False, verbose=0).history["loss"]
        for item in (model, loaded)
    ]
    assert np.isfinite(losses).all()
    assert losses[0] == losses[1]
    for ours, its in zip(model.get_weights(), loaded.get_weights(), strict=True):
        np.testing.assert_array_equal(ours, its)


LARGE_CHECKS = [keras_file_rebuilds_layers_and_weights, docstring_names_every_argument]


def checks_of(case):
    """Returns the checks that apply to a network. Networks of Keras's own layers are checked on
    TensorFlow only, for two reasons. Keras itself tests these layers, and on JAX a large network
    compiles an initializer for each shape.
    """
    if case.stock and keras.backend.backend() != "tensorflow":
        return []
    return LARGE_CHECKS if case.large else NETWORK_CHECKS


NETWORK_CHECKS = [
    configuration_rebuilds_it,
    configuration_holds_every_argument,
    keras_file_rebuilds_it,
    eager_equals_compiled,
    half_precision_is_close,
    padding_moves_nothing,
    mask_passes_or_ends,
    one_recording_is_a_batch,
    no_recordings_give_an_empty_batch,
    declared_shape_is_the_real_one,
    docstring_names_every_argument,
    loaded_model_trains_on_like_the_original,
]


# ---- losses -----------------------------------------------------------------------------------


def loss_configuration_rebuilds_it(case, rng):
    loss, (labels, embeddings) = case.build(), pairs(case, rng)
    config = json.loads(json.dumps(keras.saving.serialize_keras_object(loss)))
    clone = keras.saving.deserialize_keras_object(config)
    assert type(clone) is type(loss)
    assert clone.get_config() == loss.get_config()
    predictions = case.given(embeddings)
    np.testing.assert_array_equal(
        as_numpy(clone(labels, predictions)), as_numpy(loss(labels, predictions))
    )


def loss_survives_a_keras_file(case, rng, folder):
    model = as_model(case.head())
    model.compile("sgd", case.build())
    x, y = signals(rng, 2 * BATCH), np.repeat(np.arange(BATCH), 2)
    expected = model.evaluate(x, y, batch_size=len(x), verbose=0)
    model.save(folder / "model.keras")
    loaded = keras.saving.load_model(folder / "model.keras")
    assert type(loaded.loss) is case.subject
    assert loaded.evaluate(x, y, batch_size=len(x), verbose=0) == expected


def loss_gives_one_value_an_anchor(case, rng):
    labels, embeddings = pairs(case, rng)
    predictions = case.given(embeddings)
    values = as_numpy(case.build(reduction=None)(labels, predictions))
    assert values.shape == (() if case.rows is None else (len(labels) // case.rows,))
    assert np.isfinite(values).all()
    np.testing.assert_allclose(
        as_numpy(case.build()(labels, predictions)), values.mean(), rtol=1e-5
    )


def loss_takes_labels_as_a_column_or_floats(case, rng):
    labels, embeddings = pairs(case, rng)
    loss, predictions = case.build(), case.given(embeddings)
    expected = as_numpy(loss(labels, predictions))
    for equal in (labels[:, None], labels.astype("float32"), labels.astype("int64")):
        np.testing.assert_array_equal(as_numpy(loss(equal, predictions)), expected)


def loss_is_the_same_eager_and_compiled(case, rng):
    labels, embeddings = pairs(case, rng)
    loss = case.build()
    result = compiled(lambda labels, embeddings: loss(labels, case.given(embeddings)))
    expected = as_numpy(loss(labels, case.given(embeddings)))
    np.testing.assert_allclose(result(labels, embeddings), expected, **CLOSE)


def loss_under_half_precision_is_close(case, rng):
    """Checks a loss under half-precision dtype policies. Heads output float32 under any dtype
    policy, and the loss must also return float32."""
    labels, embeddings = pairs(case, rng)
    predictions = case.given(embeddings)
    expected = as_numpy(case.build()(labels, predictions))
    for policy in HALF_POLICIES:
        with dtype_policy(policy):
            value = case.build()(labels, predictions)
        assert keras.backend.standardize_dtype(value.dtype) == "float32"
        np.testing.assert_allclose(as_numpy(value), expected, rtol=1e-5)


def loss_of_a_single_pair_is_finite(case, rng):
    labels, embeddings = pairs(case, rng)
    assert np.isfinite(as_numpy(case.build()(labels[:2], case.given(embeddings[:2]))))


def loss_keeps_a_nan(case, rng):
    labels, embeddings = pairs(case, rng)
    embeddings[0, 0] = np.nan
    assert np.isnan(as_numpy(case.build()(labels, case.given(embeddings))))


LOSS_CHECKS = [
    loss_configuration_rebuilds_it,
    configuration_holds_every_argument,
    loss_survives_a_keras_file,
    loss_gives_one_value_an_anchor,
    loss_takes_labels_as_a_column_or_floats,
    loss_is_the_same_eager_and_compiled,
    loss_under_half_precision_is_close,
    loss_of_a_single_pair_is_finite,
    loss_keeps_a_nan,
    docstring_names_every_argument,
]


def run(check, case, rng, folder):
    """Runs one check on one case. `folder` is passed to checks that write files. All checks of a
    case use the same random weights: layers draw their seeds from Python's generator."""
    random.seed(7)
    writes = "folder" in inspect.signature(check).parameters
    check(case, rng, folder) if writes else check(case, rng)


# ---- inputs and helpers ------------------------------------------------------------------------


def signals(rng, batch=BATCH):
    return rng.normal(size=(batch, TIME, CHANNELS)).astype("float32")


def examples(network, rng, batch=BATCH):
    """Returns inputs of a layer or model: recordings, covariance matrices, audio or images. If the
    number of steps is fixed, recordings have this number of steps."""
    model = as_model(network)
    shape = input_shape(model)[1:]
    if len(shape) == 3:
        return rng.random((batch, *shape), "float32")
    if has_fixed_steps(model):
        return rng.normal(scale=0.05, size=(batch, *shape)).astype("float32")
    if shape[-1] == 1:
        return rng.normal(scale=0.1, size=(batch, SAMPLES, 1)).astype("float32")
    x = signals(rng, batch)
    return np.einsum("btc,btd->bcd", x, x) / TIME if takes_matrices(model) else x


def takes_recordings(model):
    """Returns True if the inputs of a model are recordings, which may be masked."""
    of_any_length = len(input_shape(model)) == 3 and not has_fixed_steps(model)
    return of_any_length and not takes_matrices(model)


def has_fixed_steps(model):
    shape = input_shape(model)
    return len(shape) == 3 and shape[1] is not None and not takes_matrices(model)


def takes_matrices(model):
    return isinstance(inputs.from_model(getattr(model, "classifier", model)), inputs.Matrices)


def input_shape(model):
    """Returns the input shape of a model, or of the model's encoder if the model has no graph."""
    return inputs.encoder(getattr(model, "classifier", model)).input_shape


def some_steps(rng, time=TIME):
    """Draws a random mask with at least one valid step in each recording. For audio only the ends
    are masked, because otherwise no frame would be valid."""
    if time > TIME:
        return np.arange(time) < rng.integers(time * 9 // 10, time, (BATCH, 1))
    mask = rng.random((BATCH, time)) < 0.7
    mask[:, 5] = True
    return mask


def pairs(case, rng):
    """Returns labels `(2N,)` and embeddings of 2N recordings from the head of the case."""
    embeddings = as_numpy(as_model(case.head())(signals(rng, 2 * BATCH))).copy()
    return np.repeat(np.arange(BATCH), 2), embeddings


def as_model(network):
    if isinstance(network, keras.Model):
        return network
    rows = CHANNELS if isinstance(network, MatrixLayer) else None
    given = keras.Input((rows, CHANNELS))
    return keras.Model(given, network(given))


def as_numpy(tensor):
    return np.asarray(ops.convert_to_numpy(ops.cast(tensor, "float32")))


def is_head(layer):
    """Returns True if a layer is a head, which means that it has a property `distance`."""
    return getattr(layer, "distance", None) is not None


def compiled(function, free_axes=1):
    """Compiles a function, which can then be called with arrays.

    The function is compiled by `tf.function` with unknown first axes, as in `fit` with a sampler,
    or by `jax.jit`.
    """

    def call(*arrays):
        tensors = [ops.convert_to_tensor(array) for array in arrays]
        if keras.backend.backend() == "jax":
            import jax

            return as_numpy(jax.jit(function)(*tensors))
        import tensorflow as tf

        free = [(*[None] * free_axes, *tensor.shape[free_axes:]) for tensor in tensors]
        signature = [tf.TensorSpec(s, t.dtype) for s, t in zip(free, tensors, strict=True)]
        return as_numpy(tf.function(function, input_signature=signature)(*tensors))

    return call


@contextlib.contextmanager
def dtype_policy(name):
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(name)
    try:
        yield
    finally:
        keras.config.set_dtype_policy(before)


def arguments(subject):
    """Returns the names of the arguments of a class or function, except arguments that Keras
    defines."""
    parameters = inspect.signature(subject).parameters.values()
    named = {p.name for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}
    return named - COMMON_ARGUMENTS


def documented_arguments(subject):
    """Returns the names in the `Args:` section of the docstring."""
    section = re.search(
        r"^Args:\n(.*?)(?=^\S|\Z)", inspect.getdoc(subject) or "", re.DOTALL | re.MULTILINE
    )
    return set(re.findall(r"^ {4}\*{0,2}(\w+):", section.group(1), re.M)) if section else set()
