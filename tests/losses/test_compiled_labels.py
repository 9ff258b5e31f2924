"""Tests that compiled training steps of plain Keras models raise an error for labels that are not
class ids."""

import contextlib

import numpy as np
import pytest

from keras_dml import losses
from keras_dml._backend import keras, ops
from tests.graphs import with_xla

ROWS, WIDTH = 6, 4
PAIRS = np.array([0, 1, 2, 0, 1, 2])
LOSSES = {
    "contrastive": losses.ContrastiveLoss,
    "dsml": losses.DSMLTripletLoss,
    "lifted_structure": losses.LiftedStructureLoss,
    "n_pair": losses.NPairLoss,
    "potato": lambda: losses.PotatoRankingLoss(0.0),
    "proxy_nca": losses.ProxyNCALoss,
    "triplet all": lambda: losses.TripletLoss(mining="all"),
    "triplet random": lambda: losses.TripletLoss(mining="random"),
    "triplet semi_hard": losses.TripletLoss,
    "triplet hard": lambda: losses.TripletLoss(mining="hard"),
    "wasserstein": losses.WassersteinLoss,
}
OF_CLASSES = ("potato", "proxy_nca")
NOT_IDS = [  # also numbers that float32 cannot represent or int32 cannot hold
    *((label, "float32") for label in (-1, 0.5, np.nan, np.inf, 2**24)),
    *((-1, dtype) for dtype in ("int8", "int32")),
    (2**31, "uint32"),
]
METHODS = {
    "fit": lambda model, x, y: model.fit(x, y, batch_size=ROWS, verbose=0),
    "evaluate": lambda model, x, y: model.evaluate(x, y, batch_size=ROWS, verbose=0),
    "train_on_batch": lambda model, x, y: model.train_on_batch(x, y),
    "test_on_batch": lambda model, x, y: model.test_on_batch(x, y),
}
# By default one loss of triplets, one of pairs, and one with proxies. The others are slow.
DEFAULT = {"triplet semi_hard", "n_pair", "proxy_nca"}
each_loss = pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] * (name not in DEFAULT)) for name in LOSSES],
)

STOPPED = (ValueError, RuntimeError)  # JAX raises a RuntimeError
if keras.backend.backend() == "tensorflow":
    import tensorflow as tf

    STOPPED = (ValueError, tf.errors.InvalidArgumentError)


def compiled(name):
    """Returns a plain Keras model that is compiled with the given loss, and a batch of inputs."""
    rng = np.random.default_rng(0)
    keras.utils.set_random_seed(1)
    layers = [keras.layers.Dense(WIDTH)]
    if name == "wasserstein":  # quantile embeddings, with knots in the last row
        knots = np.linspace(0, 1, WIDTH).tolist()
        layers.append(keras.layers.Reshape((1, WIDTH)))
        layers.append(Knots(knots))
    model = keras.Sequential([keras.Input((3,)), *layers])
    model.compile("sgd", LOSSES[name](), jit_compile=keras.backend.backend() == "jax")
    return model, rng.normal(size=(ROWS, 3)).astype("float32")


class Knots(keras.layers.Layer):
    def __init__(self, knots):
        super().__init__()
        self.knots = knots

    def call(self, inputs):
        return ops.concatenate([inputs, ops.zeros_like(inputs) + np.float32(self.knots)], axis=1)


@pytest.mark.slow_on_jax
@each_loss
def test_a_compiled_step_stops_at_a_label_that_is_not_an_id(name):
    model, x = compiled(name)
    weights = model.get_weights()
    for label, dtype in NOT_IDS:
        y = PAIRS.astype(dtype)
        y[3] = label
        with pytest.raises(STOPPED, match=f"whole numbers from 0 to.*Received.*{label}"):
            METHODS["train_on_batch"](model, x, y)
        if keras.backend.backend() == "jax":  # the stopped step has consumed the model's weights
            model, x = compiled(name)
        for result, expected in zip(model.get_weights(), weights, strict=True):
            np.testing.assert_array_equal(result, expected)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["triplet semi_hard", "n_pair", "proxy_nca"])
def test_each_method_of_a_compiled_model_stops(name, method):
    model, x = compiled(name)
    METHODS[method](model, x, PAIRS)
    with pytest.raises(STOPPED, match="whole numbers from 0 to.*Received.*-1"):
        METHODS[method](model, x, np.where(PAIRS == 2, -1, PAIRS))


@pytest.mark.parametrize("name", OF_CLASSES)
def test_a_compiled_fit_stops_at_a_class_that_the_model_does_not_have(name):
    model, x = compiled(name)
    with pytest.raises(STOPPED, match=f"class ids from 0 to {WIDTH - 1}.*Received.*7"):
        METHODS["fit"](model, x, np.where(PAIRS == 2, 7, PAIRS))


@pytest.mark.slow
@each_loss
def test_a_compiled_fit_refuses_labels_of_another_kind(name):
    model, x = compiled(name)
    for labels, message in [
        (np.eye(3, dtype="float32")[PAIRS], "argmax"),
        (PAIRS[:, None, None], "class id per row"),
        (PAIRS[:4], "4"),
        (PAIRS.astype(str), "dtype"),  # Keras raises the error before it calls the loss
    ]:
        with pytest.raises((TypeError, ValueError), match=message):
            METHODS["fit"](model, x, labels)


@pytest.mark.slow
@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="shapes are static on JAX")
@pytest.mark.parametrize("name", ["contrastive", "n_pair", "proxy_nca"])
def test_a_pipeline_of_unknown_sizes_stops_where_labels_and_rows_differ_in_number(name):
    model, x = compiled(name)
    signature = (tf.TensorSpec((None, 3)), tf.TensorSpec((None,), tf.int64))
    for count in (1, 4, 12):
        y = np.resize(PAIRS, count).astype("int64")
        data = tf.data.Dataset.from_generator(lambda y=y: [(x, y)], output_signature=signature)
        with pytest.raises(STOPPED, match="same number of rows"):
            model.fit(data, shuffle=False, verbose=0)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(LOSSES) - set(OF_CLASSES)))
def test_ids_that_float32_does_not_tell_apart_stay_apart(name):
    model, x = compiled(name)
    names = np.array([2**24, 2**24 + 1, 2**31 - 1])
    eager = float(model.loss(PAIRS, model(x)))
    for dtype in ("int32", "uint32", "int64", "float64"):
        labels = names[PAIRS].astype(dtype)
        assert float(model.loss(labels, model(x))) == pytest.approx(eager, rel=1e-6)
        if dtype != "float64":  # Keras casts arrays of floats to float32
            assert model.test_on_batch(x, labels) == pytest.approx(eager, rel=1e-5)


@pytest.mark.slow
@each_loss
def test_the_labels_of_a_sound_batch_train_as_before(name):
    model, x = compiled(name)
    expected = float(model.loss(PAIRS, model(x)))
    fit = model.fit(x, PAIRS, batch_size=ROWS, epochs=3, shuffle=False, verbose=0)
    assert fit.history["loss"][0] == pytest.approx(expected, rel=1e-4)
    assert np.isfinite(fit.history["loss"]).all()


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="JAX stops")
@pytest.mark.parametrize("name", ["contrastive", "n_pair", "proxy_nca"])
def test_xla_on_tensorflow_which_drops_assertions_gives_nan(name):
    model, x = compiled(name)
    step = with_xla(model.loss)
    predictions = model(x)
    assert np.isfinite(step(ops.cast(PAIRS, "float32"), predictions))
    assert np.isnan(step(ops.cast(np.where(PAIRS == 2, -1, PAIRS), "float32"), predictions))


@pytest.mark.slow
@pytest.mark.parametrize("floatx, largest", [("float16", 2**11 - 1), ("bfloat16", 2**8 - 1)])
def test_half_precision_labels_that_are_not_told_apart_are_refused(floatx, largest):
    """Tests that labels in half precision are refused if rounding could make different labels
    equal.

    Keras casts floating-point labels to `floatx`. If `floatx` is a half-precision type, only small
    whole numbers are exact.
    """
    with floatx_of(floatx):
        model, x = compiled("contrastive")
        fit = METHODS["fit"]
        labels = np.array([0, 1, largest, 0, 1, largest])
        fit(model, x, labels.astype("float32"))
        fit(model, x, labels + 2)
        with pytest.raises(STOPPED, match=f"whole numbers from 0 to {largest}"):
            fit(model, x, labels.astype("float32") + 2)


@contextlib.contextmanager
def floatx_of(name):
    before = keras.config.floatx()
    keras.config.set_floatx(name)
    try:
        yield
    finally:
        keras.config.set_floatx(before)
