"""Tests that models compute the same embeddings in ONNX Runtime as in Keras.

tf2onnx converts `Select` to `c * x + (1 - c) * y`, so a NaN in the branch that is not selected
reaches the output. Some tests need no ONNX package. These tests convert `Select` in the graph in
the same way as tf2onnx.
"""

import importlib.util

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

from keras_dml import layers
from keras_dml._backend import keras, ops
from keras_dml.training import discriminants
from tests.export.conftest import CHANNELS, build, sample

NEEDS = ("onnx", "onnxruntime", "tf2onnx")
MISSING = [name for name in NEEDS if importlib.util.find_spec(name) is None]
STEPS = (7, 40, 100)


def masked(head):
    """Returns a model that masks time steps of zeros."""
    signal = keras.Input((None, CHANNELS))
    x = layers.MaskedConv1D(5, 3, padding="same")(keras.layers.Masking()(signal))
    return keras.Model(signal, head(x))


def lagged():
    rng = np.random.default_rng(0)
    windows = rng.normal(size=(12, 80, CHANNELS)).astype("float32")
    return discriminants.correlation_model(windows, np.repeat(np.arange(4), 3), (0, 4, 8), 3)


MODELS = {
    "discriminants": lagged,
    "masked max": lambda: masked(layers.SequencePooling("max")),
    "masked mean": lambda: masked(layers.SequencePooling("mean")),
    "masked quantiles": lambda: masked(layers.QuantileLayer(4)),
    "masked statistics": lambda: masked(layers.StatisticsPooling()),
    "quantiles": lambda: build(layers.QuantileLayer(4)),
    "quantiles, p=2": lambda: build(layers.QuantileLayer(4, p=2, flatten=True)),
    "statistics": lambda: build(layers.StatisticsPooling()),
}


@pytest.fixture(scope="module", params=sorted(MODELS))
def model(request):
    keras.utils.set_random_seed(1)
    made = MODELS[request.param]()
    for steps in STEPS:  # Keras exports only models that were called
        made(sample(steps, CHANNELS)[None])
    return made


def expected(model, recording):
    return ops.convert_to_numpy(model(recording[None], training=False))


def assert_answers(model, answer):
    """Tests that a function gives the same output as Keras, and returns NaN if a time step has NaN.

    Models that compute a maximum are not tested with NaN, because the maximum in ONNX Runtime
    ignores NaN.
    """
    for steps in STEPS:
        recording = sample(steps, CHANNELS, steps)
        actual = answer(recording[None])
        np.testing.assert_allclose(actual, expected(model, recording), rtol=1e-4, atol=1e-5)
    if getattr(model.layers[-1], "mode", None) == "max":
        return
    recording[3, 1] = np.nan
    assert np.isnan(expected(model, recording)).any()
    assert np.isnan(answer(recording[None])).any()


def with_arithmetic_selects(model):
    """Returns the graph of a model as a function, after converting its `Select` operators as
    tf2onnx does.
    """
    spec = tf.TensorSpec((1, None, CHANNELS), tf.float32, "signal")
    traced = tf.function(lambda x: model(x, training=False)).get_concrete_function(spec)
    frozen = convert_variables_to_constants_v2(traced)
    (graph_input,), (output,) = frozen.inputs, frozen.outputs
    graph, count = tf.compat.v1.GraphDef(), 0
    for node in frozen.graph.as_graph_def().node:
        dtype = node.attr["T"].type
        if node.op not in ("Select", "SelectV2") or dtype != tf.float32.as_datatype_enum:
            graph.node.add().CopyFrom(node)
            continue
        count += 1
        condition, x, y = node.input
        add(graph, f"{node.name}/c", "Cast", [condition], SrcT=tf.bool, DstT=tf.float32)
        add(graph, f"{node.name}/not", "LogicalNot", [condition])
        add(graph, f"{node.name}/d", "Cast", [f"{node.name}/not"], SrcT=tf.bool, DstT=tf.float32)
        add(graph, f"{node.name}/x", "Mul", [f"{node.name}/c", x], T=tf.float32)
        add(graph, f"{node.name}/y", "Mul", [f"{node.name}/d", y], T=tf.float32)
        add(graph, node.name, "AddV2", [f"{node.name}/x", f"{node.name}/y"], T=tf.float32)
    with tf.Graph().as_default() as rewritten:
        tf.import_graph_def(graph, name="")
    session = tf.compat.v1.Session(graph=rewritten)
    return lambda x: session.run(output.name, {graph_input.name: x}), count


def add(graph, name, op, inputs, **types):
    node = graph.node.add()
    node.name, node.op = name, op
    node.input.extend(inputs)
    for key, dtype in types.items():
        node.attr[key].type = dtype.as_datatype_enum


@pytest.mark.slow
def test_a_selection_written_as_products_changes_no_answer(model):
    answer, _ = with_arithmetic_selects(model)
    assert_answers(model, answer)


def test_the_rewriting_of_selections_sees_a_nan_in_the_other_branch():
    signal = keras.Input((None, CHANNELS))
    mean = keras.layers.GlobalAveragePooling1D()(signal)
    guarded = keras.layers.Lambda(lambda x: ops.where(x < 1e9, x, np.nan))(mean)
    model = keras.Model(signal, guarded)
    answer, count = with_arithmetic_selects(model)
    recording = sample(9, CHANNELS)
    assert count == 1 and np.isfinite(expected(model, recording)).all()
    assert np.isnan(answer(recording[None])).all()


@pytest.mark.skipif(bool(MISSING), reason=f"needs {', '.join(MISSING)}, which are not installed")
@pytest.mark.filterwarnings("ignore")  # tf2onnx uses deprecated names of NumPy
def test_a_file_of_keras_answers_in_onnx_runtime_as_keras(model, tmp_path):
    import onnxruntime

    file = tmp_path / "model.onnx"
    model.export(file, format="onnx", verbose=False)
    session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    (graph_input,) = session.get_inputs()
    assert_answers(model, lambda x: session.run(None, {graph_input.name: x})[0])
