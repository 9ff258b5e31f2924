"""Tests that models compute the same embeddings in ONNX Runtime as in Keras.

tf2onnx converts `Select` to `c * x + (1 - c) * y`, so a NaN in the branch that is not selected
reaches the output. `keras_dml.export.onnx` keeps `Where`. Some tests need no ONNX package. These
tests convert `Select` in the graph in the same way as tf2onnx.
"""

import importlib.util
import json
import pathlib
import re
import types

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

import keras_dml
from keras_dml import export, layers, models, zoo
from keras_dml._backend import keras, ops
from keras_dml.export import _onnx_convert, onnx_files, parity
from keras_dml.training import discriminants
from tests.export.conftest import CHANNELS, build, sample, voice

MISSING = [name for name in onnx_files.PACKAGES if importlib.util.find_spec(name) is None]
needs_onnx = pytest.mark.skipif(
    bool(MISSING), reason=f"needs {', '.join(MISSING)} of the extra `onnx`, which is 115 MB large"
)
STEPS = (7, 40, 100)
LEAST, MOST = 4, 90


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


@needs_onnx
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # tf2onnx uses deprecated names of NumPy
def test_a_file_of_keras_answers_in_onnx_runtime_as_keras(model, tmp_path):
    import onnxruntime

    file = tmp_path / "model.onnx"
    model.export(file, format="onnx", verbose=False)
    session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    (graph_input,) = session.get_inputs()
    assert_answers(model, lambda x: session.run(None, {graph_input.name: x})[0])


@pytest.fixture(scope="module")
def model_with_contract():
    contract = layers.InputContract(["x", "y", "z"], "g", 50, min_steps=LEAST, max_steps=MOST)
    return models.with_contract(build(layers.QuantileLayer(knots=4)), contract)


@pytest.fixture(scope="module")
def exported(model_with_contract, tmp_path_factory):
    return export.onnx(model_with_contract, tmp_path_factory.mktemp("onnx") / "model")


@pytest.fixture(scope="module")
def runs(exported):
    """Returns a function for each file of a folder. The functions take arguments by name."""
    import onnxruntime

    def runner(file):
        session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
        return lambda **arguments: session.run(None, arguments)[0]

    return {file.stem: runner(file) for file in exported.path.glob("*.onnx")}


def length(steps):
    return np.array(steps, np.int32)


@needs_onnx
def test_a_folder_gives_the_same_outputs_as_keras(exported, model_with_contract):
    recordings = [sample(steps, CHANNELS, steps) for steps in (LEAST, 7, 40, MOST)]
    recordings += [np.zeros((20, CHANNELS), np.float32), np.ones((20, CHANNELS), np.float32)]
    actual = onnx_files.embed(exported.path, recordings)
    z = np.concatenate([expected(model_with_contract, recording) for recording in recordings])
    np.testing.assert_allclose(actual, z, rtol=1e-4, atol=1e-5)
    distances = keras_dml.distance(model_with_contract, z, z)
    np.testing.assert_allclose(
        onnx_files.distance(exported.path, z, z), distances, rtol=0, atol=1e-5
    )
    assert exported.drift < 1e-5 and exported.latency_ms > 0 and exported.steps is not None
    assert (exported.format, exported.quantization, exported.notes) == ("onnx", None, ())
    assert exported.bytes == sum(file.stat().st_size for file in exported.path.iterdir())


@needs_onnx
def test_files_have_standard_operators_and_named_axes(exported, model_with_contract):
    import onnx

    shapes = {}
    for name in ("embed", "distance"):
        model = onnx.load(exported.path / f"{name}.onnx")
        (opset,) = model.opset_import
        assert (opset.domain, opset.version) == ("", 18)
        for value in model.graph.input:
            dims = value.type.tensor_type.shape.dim
            shapes[value.name] = [dim.dim_param or dim.dim_value for dim in dims]
    assert shapes == {
        "signal": [1, "time", CHANNELS],
        "length": [],
        "embedding": [1, *model_with_contract.output_shape[1:]],
        "gallery": ["n", *model_with_contract.output_shape[1:]],
    }


@needs_onnx
def test_invalid_lengths_and_values_give_nan(runs):
    signal = np.stack([sample(120, CHANNELS)])
    usual = runs["embed"](signal=signal, length=length(40))
    assert np.isfinite(usual).all()
    extremes = np.iinfo(np.int32)
    for steps in (extremes.min, -1, 0, LEAST - 1, MOST + 1, 121, extremes.max):
        assert np.isnan(runs["embed"](signal=signal, length=length(steps))).all(), steps
    for steps in (0, 1, LEAST - 1):  # the signal is too short for every length
        assert np.isnan(runs["embed"](signal=signal[:, :steps], length=length(steps))).all(), steps
    for value in (np.nan, np.inf, -np.inf):
        signal[0, 40, 1] = value
        invalid = runs["embed"](signal=signal, length=length(41))
        assert np.isnan(invalid).all(), value
        ignored = runs["embed"](signal=signal, length=length(40))
        np.testing.assert_array_equal(ignored, usual)
    gallery = np.concatenate([usual, invalid])
    distances = runs["distance"](embedding=usual, gallery=gallery)
    assert distances[0] == 0 and np.isnan(distances[1])
    assert np.isnan(runs["distance"](embedding=invalid, gallery=gallery)).all()
    assert runs["distance"](embedding=usual, gallery=usual[:0]).shape == (0,)


@needs_onnx
def test_a_batch_and_other_channels_raise_an_error(runs):
    from onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument

    signal = np.stack([sample(60, CHANNELS)])
    for bad in (np.concatenate([signal, signal]), signal[:, :, :2], signal[0], signal[:0]):
        with pytest.raises(InvalidArgument):
            runs["embed"](signal=bad, length=length(60))


@needs_onnx
def test_each_file_holds_the_contract(exported, model_with_contract, tmp_path):
    expected = model_with_contract.layers[0].contract.as_dict()
    for path in (exported.path, *exported.path.glob("*.onnx")):
        assert export.contract(path) == expected
    damaged = tmp_path / "damaged.onnx"
    damaged.write_bytes((exported.path / "embed.onnx").read_bytes()[:1000])
    with pytest.raises(ValueError, match="damaged.onnx"):
        export.contract(damaged)


@needs_onnx
def test_a_nan_in_the_branch_that_is_not_selected_changes_no_output(tmp_path, monkeypatch):
    """Tests that a file is right with `Where`, and that the comparison with Keras notices the
    products of tf2onnx.
    """
    signal = keras.Input((None, CHANNELS))
    mean = keras.layers.GlobalAveragePooling1D()(signal)
    guarded = keras.layers.Lambda(lambda x: ops.where(x < 1e9, x, ops.log(-1 - ops.abs(x))))(mean)
    model = keras.Model(signal, guarded)
    folder = export.onnx(model, tmp_path / "model", distance="euclidean").path
    recording = sample(9, CHANNELS)
    np.testing.assert_allclose(
        onnx_files.embed(folder, [recording]), expected(model, recording), rtol=1e-5
    )
    monkeypatch.setattr(_onnx_convert, "_keep_selections", lambda graph, nodes: nodes)
    with pytest.raises(parity.ParityError, match="NaN"):
        export.onnx(model, tmp_path / "products", distance="euclidean")
    assert not (tmp_path / "products").exists()


def test_a_file_that_ignores_nan_is_refused():
    def embed(recordings):
        return np.nan_to_num(np.stack([np.mean(x, axis=0) for x in recordings]))

    def distance(x, y):
        return np.abs(x[:, None] - y[None]).sum(axis=2)

    trials = types.SimpleNamespace(recordings=[sample(9, 2)], embeddings=np.ones((1, 2)))
    functions = {"embed": lambda x: np.stack([np.mean(each, axis=0) for each in x])}
    parity.check_invalid("file", {**functions, "distance": distance}, trials)
    with pytest.raises(parity.ParityError, match="embedding"):
        parity.check_invalid("file", {"embed": embed, "distance": distance}, trials)
    with pytest.raises(parity.ParityError, match="distances"):
        functions["distance"] = lambda x, y: np.nan_to_num(distance(x, y))
        parity.check_invalid("file", functions, trials)


class Decomposed(keras.layers.Layer):
    """Eigenvalues of the covariance of the channels, which ONNX cannot compute."""

    def call(self, inputs):
        return ops.linalg.eigh(ops.matmul(ops.swapaxes(inputs, 1, 2), inputs))[0]

    def compute_output_shape(self, input_shape):
        return (input_shape[0], input_shape[2])


@needs_onnx
def test_an_operator_without_counterpart_is_refused_by_its_name(tmp_path):
    signal = keras.Input((None, CHANNELS))
    model = keras.Model(signal, Decomposed()(signal))
    with pytest.raises(ValueError, match="SelfAdjointEigV2"):
        export.onnx(model, tmp_path / "model", distance="euclidean")
    assert list(tmp_path.iterdir()) == []


def test_without_the_packages_the_extra_is_named(small, tmp_path, monkeypatch):
    monkeypatch.setattr(onnx_files.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"keras-dml\[onnx\]"):
        export.onnx(small, tmp_path / "model")
    with pytest.raises(ImportError, match=r"keras-dml\[onnx\]"):
        export.contract(tmp_path / "model.onnx")


@needs_onnx
def test_tensors_of_a_layer_that_are_not_weights_are_stored(tmp_path):
    normalization = keras.layers.Normalization(mean=[1.0, 2.0, 3.0], variance=[4.0, 1.0, 9.0])
    signal = keras.Input((None, CHANNELS))
    model = keras.Model(signal, layers.QuantileLayer(3)(normalization(signal)))
    folder = export.onnx(model, tmp_path / "model").path
    recording = sample(9, CHANNELS)
    actual = onnx_files.embed(folder, [recording])
    np.testing.assert_allclose(actual, expected(model, recording), rtol=1e-5, atol=1e-6)


@needs_onnx
def test_gelu_is_written_with_erf(tmp_path):
    x = signal = keras.Input((None, CHANNELS))
    for kernel in (3, 2):
        x = layers.MaskedConv1D(4, kernel, activation="gelu")(x)
    model = keras.Model(signal, layers.QuantileLayer(3)(x))
    recordings = [sample(steps, CHANNELS, steps) * 3 for steps in (1, 40)]
    z = np.concatenate([expected(model, recording) for recording in recordings])
    folder = export.onnx(model, tmp_path / "model").path
    np.testing.assert_allclose(onnx_files.embed(folder, recordings), z, rtol=1e-4, atol=1e-5)


@needs_onnx
def test_only_folders_of_onnx_files_are_replaced(tmp_path):
    signal = keras.Input((None, CHANNELS))
    model = keras.Model(signal, keras.layers.GlobalAveragePooling1D()(signal))
    (tmp_path / "embed.onnx").write_bytes(b"old")
    export.onnx(model, tmp_path, distance="euclidean")
    assert {file.name for file in tmp_path.iterdir()} == {"embed.onnx", "distance.onnx"}
    (tmp_path / "thesis.txt").write_text("years")
    with pytest.raises(ValueError, match="thesis.txt"):
        export.onnx("no model of this name", tmp_path)


@needs_onnx
@pytest.mark.slow
def test_a_classifier_of_images_has_four_files(classifier, images, tmp_path):
    folder, x = export.onnx(classifier, tmp_path / "model").path, images[0][:5]
    z = keras_dml.embed(classifier, list(x))
    np.testing.assert_allclose(onnx_files.embed(folder, x), z, rtol=1e-4, atol=1e-5)
    similarity = np.asarray(classifier.similarity(z, z))
    np.testing.assert_allclose(onnx_files.score(folder, z, z), similarity, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(onnx_files.distance(folder, z, z), -similarity, rtol=1e-4, atol=1e-5)
    scores = np.asarray(classifier.head_scores(z))
    np.testing.assert_allclose(onnx_files.classify(folder, x), scores, rtol=1e-4, atol=1e-5)


@needs_onnx
@pytest.mark.slow
def test_a_fourier_transform_of_audio_is_two_products(speaker, tmp_path):
    import onnx

    folder = export.onnx(speaker, tmp_path / "model").path
    recordings = [voice(steps, steps) for steps in (2000, 4321, 16000)]
    recordings.append(np.zeros((3000, 1), np.float32))
    z = keras_dml.embed(speaker, recordings, batch_size=1)
    assert parity.relative_rms(onnx_files.embed(folder, recordings), z) < 1e-5
    weights = onnx.load(folder / "embed.onnx").graph.initializer
    assert [list(each.dims) for each in weights if "of_dft" in each.name] == 2 * [[400, 257]]


@needs_onnx
@pytest.mark.slow
def test_matrices_become_tangent_vectors(tmp_path):
    keras.utils.set_random_seed(5)
    options = {"estimator": "oas", "normalization": "difference", "epsilon": 1e-2}
    model = models.spdnet((6, 5, 3), output="spd", **options)
    folder = export.onnx(model, tmp_path / "model").path
    recordings = [sample(steps, 6, steps) for steps in (30, 200)]
    matrices = keras_dml.embed(model, recordings)
    z = onnx_files.embed(folder, recordings)
    expected = np.asarray(keras_dml.distances.get("log_euclidean")(matrices, matrices))
    np.testing.assert_allclose(onnx_files.distance(folder, z, z), expected, rtol=1e-3, atol=1e-4)


@needs_onnx
@pytest.mark.slow
@pytest.mark.parametrize("name", zoo.list_models())
def test_each_model_of_the_zoo_exports(name, tmp_path):
    made = export.onnx(name, tmp_path / "model")
    assert made.drift < 1e-3
    contract = zoo.card(name)["input"]
    if "length" in contract:
        short = np.ones((contract["length"][0] - 1, len(contract["channels"])), np.float32)
        assert np.isnan(onnx_files.embed(made.path, [short])).all()


@needs_onnx
@pytest.mark.slow
def test_the_lines_for_triton_fit_the_files(tmp_path):
    import onnxruntime

    folder = export.onnx("gait_qp_wl", tmp_path / "model").path
    page = pathlib.Path(__file__).parents[2] / "export" / "README.md"
    section = page.read_text(encoding="utf-8").partition("**Triton.**")[2]
    configurations = re.findall(r"^```\n(backend: .*?)^```$", section, re.DOTALL | re.MULTILINE)
    types_of = {"TYPE_FP32": "tensor(float)", "TYPE_INT32": "tensor(int32)"}
    for name, text in zip(("embed", "distance"), configurations, strict=True):
        session = onnxruntime.InferenceSession(folder / f"{name}.onnx")
        shapes = {
            value.name: (value.type, [-1 if isinstance(n, str) else n for n in value.shape] or [1])
            for value in (*session.get_inputs(), *session.get_outputs())
        }
        written = re.findall(r'name: "(\w+)", data_type: (\w+), dims: (\[.*?\])', text)
        assert shapes == {key: (types_of[kind], json.loads(dims)) for key, kind, dims in written}
