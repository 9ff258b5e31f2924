"""Tests that TFLite files agree with Keras, have only builtin operators and are small."""

import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter

import keras_dml
from keras_dml import distances, export, layers
from keras_dml._backend import keras, ops
from keras_dml.export import _convert, _flatbuffer, litert, operators, parity
from keras_dml.training import discriminants, two_covariance
from tests.export.conftest import CHANNELS, build, sample

QUANTIZATIONS = [None, "float16", "dynamic", "int8"]
# By default only files of integers, whose rounding is the largest. The other files are slow.
each_quantization = pytest.mark.parametrize(
    "quantization",
    [pytest.param(q, marks=[pytest.mark.slow] * (q != "int8")) for q in QUANTIZATIONS],
)
EDGE_BYTES = 180_000


@pytest.fixture(scope="module")
def exported(edge, tmp_path_factory):
    """Returns a function that takes a quantization and returns the exported edge encoder. The
    ranges of int8 activations have one candidate, because each candidate takes seconds."""
    folder = tmp_path_factory.mktemp("edge")
    made = {}

    def get(quantization):
        if quantization not in made:
            recordings = [sample(length, 6, length) for length in range(100, 500, 20)]
            path = folder / f"{quantization}.tflite"
            recordings = recordings if quantization == "int8" else None
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(_convert, "FRACTIONS", (0.0,))
                made[quantization] = export.tflite(edge, path, quantization, recordings)
        return made[quantization]

    return get


@pytest.mark.slow
@each_quantization
def test_embeddings_are_those_of_keras_within_the_bound(edge, exported, quantization):
    fresh = [sample(length, 6, 70 + length) for length in (64, 130, 300)]
    actual = litert.embed(exported(quantization).path, fresh)
    expected = keras_dml.embed(edge, fresh)
    bound = parity.BOUNDS[quantization].embedding
    assert parity.relative_rms(actual, expected) < bound
    np.testing.assert_allclose(
        actual[:, -1], expected[:, -1], rtol=0, atol=1e-6
    )  # knots: never rounded


@each_quantization
def test_distances_are_those_of_keras_and_zero_to_itself(edge, exported, quantization):
    embeddings = keras_dml.embed(edge, [sample(90, 6, seed) for seed in range(4)])
    actual = litert.distance(exported(quantization).path, embeddings, embeddings)
    np.testing.assert_allclose(actual, keras_dml.distance(edge, embeddings, embeddings), rtol=1e-5)
    assert (np.diag(actual) == 0).all()


@pytest.mark.slow
@pytest.mark.parametrize("quantization", ["dynamic", "int8"])
def test_the_edge_encoder_fits_a_watch(exported, quantization):
    assert exported(quantization).bytes <= EDGE_BYTES


def test_log_likelihood_ratios_of_a_file_are_those_of_keras(tmp_path, rng):
    people = np.repeat(np.arange(12), 4)
    windows = 2 * rng.normal(size=(12, 1, 5))[people] + rng.normal(size=(48, 9, 5))
    signal = keras.Input((9, 5))
    vectors = keras.Model(signal, keras.layers.GlobalAveragePooling1D()(signal))
    model = two_covariance.two_covariance_model(vectors, windows.astype("float32"), people)
    made = export.tflite(model, tmp_path / "model.tflite")
    recordings = list(windows[:7].astype("float32"))
    z, expected = litert.embed(made.path, recordings), keras_dml.embed(model, recordings)
    np.testing.assert_allclose(z, expected, rtol=1e-5, atol=1e-5)
    actual = litert.distance(made.path, z, z)
    expected = keras_dml.distance(model, z, z)
    assert actual.min() < 0 < actual.max()
    np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.slow
def test_discriminants_of_a_recording_of_any_length_become_a_file(tmp_path, rng):
    windows, people = rng.normal(size=(12, 80, 6)).astype("float32"), np.repeat(np.arange(4), 3)
    model = discriminants.correlation_model(windows, people, (0, 4, 8), 3)
    made = export.tflite(model, tmp_path / "model.tflite")
    fresh = [sample(length, 6, length) for length in (64, 130, 300)]
    actual, expected = litert.embed(made.path, fresh), keras_dml.embed(model, fresh)
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-4)
    assert np.ptp(expected, axis=0).min() > 0.1


@pytest.mark.slow
@pytest.mark.parametrize("sensors", [1, 2])
def test_file_is_invariant_to_the_orientation_of_a_phone(sensors, tmp_path):
    """Tests an accelerometer alone, and an accelerometer with a gyroscope."""
    signal = keras.Input((None, 3 * sensors))
    framed = layers.GravityFrame("both", lag=3)(signal)
    model = keras.Model(signal, layers.QuantileLayer(4)(framed))
    made = export.tflite(model, tmp_path / "model.tflite")
    gravity = np.float32([0, 7, -7, 0, 0, 0])[: 3 * sensors]
    fresh = [sample(length, 3 * sensors, length) + gravity for length in (64, 130, 300)]
    actual, expected = litert.embed(made.path, fresh), keras_dml.embed(model, fresh)
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-4)
    order, signs = [2, 0, 1, 5, 3, 4][: 3 * sensors], np.float32([1, -1, -1] * sensors)
    turned = [item[:, order] * signs for item in fresh]
    np.testing.assert_allclose(litert.embed(made.path, turned), expected, rtol=0, atol=1e-3)


@each_quantization
def test_result_describes_the_file(exported, quantization):
    made = exported(quantization)
    assert made.bytes == made.path.stat().st_size
    assert (made.format, made.quantization) == ("tflite", quantization)
    assert 0 < made.latency_ms < 1000 and made.steps >= 400
    assert 0 < made.drift < parity.BOUNDS[quantization].embedding


@pytest.mark.slow
def test_smaller_formats_are_smaller(exported):
    full, half, dynamic = (exported(q).bytes for q in (None, "float16", "dynamic"))
    assert dynamic < 0.62 * half < 0.36 * full


@each_quantization
def test_batch_normalization_is_folded_into_the_convolutions(exported, quantization):
    (embed,) = (
        graph for graph in operators.operators(exported(quantization).path) if "CONV_2D" in graph
    )
    arithmetic = ("ADD", "MUL", "SUB", "DIV")
    first, last = embed.index("CONV_2D"), max(i for i, op in enumerate(embed) if op == "PRELU")
    assert embed.count("CONV_2D") == 16
    assert not set(arithmetic) & set(embed[first:last])


def test_int8_computes_convolutions_in_int8_and_distances_in_float(exported):
    model = _flatbuffer.read(exported("int8").path.read_bytes())
    int8 = _flatbuffer.schema().TensorType.INT8
    graphs = [
        (names, [graph.tensors[op.outputs[0]].type == int8 for op in graph.operators])
        for graph, names in zip(
            model.subgraphs, operators.operators(exported("int8").path), strict=True
        )
    ]
    kinds = {"CONV_2D": set(), "PRELU": set(), "TOPK_V2": set(), "GATHER": set(), "SUB": set()}
    for names, quantized in graphs:
        for name, is_int8 in zip(names, quantized, strict=True):
            kinds.setdefault(name, set()).add(is_int8)
    assert kinds["CONV_2D"] == kinds["PRELU"] == {True}
    assert kinds["TOPK_V2"] == kinds["GATHER"] == kinds["SUB"] == {False}
    (distance,) = (quantized for names, quantized in graphs if "CONV_2D" not in names)
    assert not any(distance)


def test_signatures_have_pinned_names_and_shapes(exported):
    interpreter = Interpreter(model_path=str(exported("int8").path))
    assert interpreter.get_signature_list() == {
        "embed": {"inputs": ["length", "signal"], "outputs": ["embedding"]},
        "distance": {"inputs": ["embedding", "gallery"], "outputs": ["distance"]},
    }
    embed = interpreter.get_signature_runner("embed")
    answer = embed(signal=sample(80, 6)[None], length=np.int32(80))
    assert answer["embedding"].shape == (1, 65, 18)
    distance = interpreter.get_signature_runner("distance")
    gallery = np.repeat(answer["embedding"], 7, axis=0)
    assert distance(embedding=answer["embedding"], gallery=gallery)["distance"].shape == (7,)


@each_quantization
def test_steps_after_the_length_are_ignored(exported, quantization):
    embed = Interpreter(model_path=str(exported(quantization).path)).get_signature_runner("embed")
    recording = sample(80, 6)
    buffer = np.full((1, 128, 6), 1e6, np.float32)
    buffer[0, :80] = recording
    alone = embed(signal=recording[None], length=np.int32(80))["embedding"].copy()
    padded = embed(signal=buffer, length=np.int32(80))["embedding"]
    np.testing.assert_array_equal(padded, alone)


def test_a_recording_without_steps_gives_nan(exported):
    assert np.isnan(litert.embed(exported("int8").path, [sample(0, 6)])).all()


@pytest.mark.parametrize(
    "head",
    [
        pytest.param(layers.SequencePooling("max"), marks=pytest.mark.slow),
        pytest.param(layers.SequencePooling("mean"), marks=pytest.mark.slow),
        pytest.param(layers.QuantileLayer(3, flatten=True), marks=pytest.mark.slow),
        layers.QuantileLayer(3, p=1.5),
    ],
    ids=["max", "mean", "flat", "p=1.5"],
)
def test_every_head_exports_with_its_distance(head, recordings, tmp_path):
    model = build(head)
    made = export.tflite(model, tmp_path / "model.tflite", "float16")
    embeddings = keras_dml.embed(model, recordings, batch_size=1)
    np.testing.assert_allclose(litert.embed(made.path, recordings), embeddings, rtol=0, atol=1e-4)
    actual = litert.distance(made.path, embeddings, embeddings)
    np.testing.assert_allclose(actual, head.distance(embeddings, embeddings), rtol=0, atol=1e-5)


@pytest.mark.slow
def test_a_fixed_time_axis_takes_that_length_only(tmp_path):
    model = build(layers.QuantileLayer(3), steps=40)
    file = export.tflite(model, tmp_path / "fixed.tflite").path
    forty = [sample(40, CHANNELS)]
    np.testing.assert_allclose(
        litert.embed(file, forty), keras_dml.embed(model, forty), rtol=0, atol=1e-4
    )
    embed = Interpreter(str(file)).get_signature_runner("embed")
    for steps in (39, 41):
        with pytest.raises(RuntimeError):
            embed(signal=sample(steps, CHANNELS)[None], length=np.int32(steps))
    assert np.isnan(litert.embed(file, [sample(39, CHANNELS)])).all()  # padded to 40 steps
    with pytest.raises(ValueError, match="`steps` is 64.*40 steps only"):
        export.tflite(model, tmp_path / "fixed.tflite", steps=64)


@pytest.mark.slow
def test_a_model_of_stock_layers_exports_with_a_distance_given(recordings, tmp_path):
    from keras_dml._backend import keras

    model = build(keras.layers.GlobalAveragePooling1D(), convolution=keras.layers.Conv1D)
    with pytest.raises(ValueError, match="GlobalAveragePooling1D.*`distance`"):
        export.tflite(model, tmp_path / "stock.tflite")
    made = export.tflite(model, tmp_path / "stock.tflite", None, distance="cosine")
    vectors = litert.embed(made.path, recordings)
    cosine = distances.Cosine()(vectors, vectors)
    np.testing.assert_allclose(
        litert.distance(made.path, vectors, vectors), cosine, rtol=0, atol=1e-6
    )


@pytest.mark.slow
def test_int8_takes_the_ranges_that_drift_least(small, tmp_path, monkeypatch):
    recordings = [sample(300, CHANNELS, seed) ** 3 for seed in range(20)]

    def drift(*shares):
        monkeypatch.setattr(_convert, "FRACTIONS", shares)
        return export.tflite(small, tmp_path / "model.tflite", "int8", recordings).drift

    extremes, cut = drift(0.0), drift(5e-4)
    assert extremes != cut
    assert drift(0.0, 5e-4) == min(extremes, cut)


@pytest.mark.slow
def test_by_default_a_file_is_the_smallest_that_agrees_with_keras(small, tmp_path, monkeypatch):
    made = export.tflite(small, tmp_path / "model.tflite")
    assert made.quantization == "dynamic" and made.notes == ()
    tight = parity.Bounds(1e-9, 1e-5)
    for refused, expected in (("dynamic", "float16"), ("float16", None)):
        monkeypatch.setitem(parity.BOUNDS, refused, tight)
        made = export.tflite(small, tmp_path / "model.tflite")
        assert made.quantization == expected and refused in made.notes[-1]
        assert "drift by" in made.notes[-1] and "1e-09" in made.notes[-1]
        with pytest.raises(parity.ParityError):
            export.tflite(small, tmp_path / "model.tflite", refused)
    monkeypatch.setitem(parity.BOUNDS, None, tight)
    with pytest.raises(parity.ParityError, match="1e-09"):
        export.tflite(small, tmp_path / "model.tflite")


def test_an_unknown_quantization_is_refused_with_the_names(small, tmp_path):
    with pytest.raises(ValueError, match="'int4'.*'float16', 'dynamic', 'int8'"):
        export.tflite(small, tmp_path / "model.tflite", "int4")


@pytest.mark.slow
def test_file_with_wrong_outputs_is_not_written(small, tmp_path, monkeypatch):
    second = build(layers.QuantileLayer(4))
    for weight in second.trainable_weights:
        weight.assign(1.1 * weight)
    wrong = export.tflite(second, tmp_path / "other.tflite").path.read_bytes()
    monkeypatch.setattr(export._tflite, "convert", lambda *_: [wrong])
    new, old = tmp_path / "new.tflite", tmp_path / "old.tflite"
    old.write_bytes(b"what was there")
    for path in (new, old):
        with pytest.raises(parity.ParityError, match="Nothing was written"):
            export.tflite(small, path)
    assert not new.exists() and old.read_bytes() == b"what was there"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["old.tflite", "other.tflite"]


@pytest.mark.parametrize("end", ["", "/", "/.", "/.."])
def test_folders_are_never_replaced(tmp_path, end):
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "thesis.txt").write_text("years of work")
    with pytest.raises(ValueError, match="is a folder|must end in a name"):
        export.tflite("no model of this name", f"{folder}{end}")
    assert (folder / "thesis.txt").read_text() == "years of work"


def test_an_interrupted_export_leaves_the_old_file_and_nothing_else(small, tmp_path, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    (tmp_path / "model.tflite").write_bytes(b"what was there")
    for part in ("convert", "trials"):
        monkeypatch.setattr(export._tflite, part, interrupted)
        with pytest.raises(KeyboardInterrupt):
            export.tflite(small, tmp_path / "model.tflite")
    assert (tmp_path / "model.tflite").read_bytes() == b"what was there"
    assert [path.name for path in tmp_path.iterdir()] == ["model.tflite"]


@pytest.mark.slow
def test_file_without_weights_is_not_written(small, tmp_path, monkeypatch):
    make_module = export.signatures._module

    def without_variables(*arguments, **options):
        module = make_module(*arguments, **options)
        del module.weights
        module.model = small  # the converter does not see the weights of a Keras object
        return module

    monkeypatch.setattr(export.signatures, "_module", without_variables)
    with pytest.raises(parity.ParityError, match="NaN"):
        export.tflite(small, tmp_path / "model.tflite")
    assert not any(tmp_path.iterdir())


@pytest.mark.slow
def test_operators_without_builtin_version_are_named(small, tmp_path):
    def spectral(x, y):
        gap = x[:, None] - y[None]
        return ops.linalg.eigh(gap @ ops.swapaxes(gap, -1, -2))[0][..., -1]

    with pytest.raises(ValueError, match="SelfAdjointEig"):
        export.tflite(small, tmp_path / "model.tflite", distance=spectral)
    assert not any(tmp_path.iterdir())


def test_a_file_with_custom_operators_is_refused(exported, tmp_path):
    model = _flatbuffer.read(exported("int8").path.read_bytes())
    distance = next(s for s in model.signatureDefs if s.signatureKey == b"distance")
    operator = model.subgraphs[distance.subgraphIndex].operators[0]
    model.operatorCodes[operator.opcodeIndex].customCode = b"FlexEigh"
    file = tmp_path / "custom.tflite"
    file.write_bytes(_flatbuffer.write(model))
    with pytest.raises(ValueError, match="custom:FlexEigh"):
        operators.check_builtin(file)


@each_quantization
def test_unused_names_and_tables_are_removed(exported, quantization):
    """Tests that files contain no names of intermediate results and no empty tables."""
    for graph in _flatbuffer.read(exported(quantization).path.read_bytes()).subgraphs:
        outside = {*graph.inputs.tolist(), *graph.outputs.tolist()}
        named = {i for i, tensor in enumerate(graph.tensors) if tensor.name}
        assert named == outside
        tables = [tensor.quantization for tensor in graph.tensors]
        assert all(table is None or len(table.scale) for table in tables)


@each_quantization
def test_the_data_of_tensors_is_aligned(exported, quantization):
    blob = exported(quantization).path.read_bytes()
    model = _flatbuffer.schema().Model.GetRootAs(blob)
    for i in range(model.BuffersLength()):
        table = model.Buffers(i)._tab
        field = table.Offset(4)
        if field and model.Buffers(i).DataLength():
            assert table.Vector(field) % _flatbuffer.ALIGNMENT == 0


def test_crash_of_litert_raises_an_error(tmp_path):
    file = tmp_path / "broken.tflite"
    file.write_bytes(b"TFL3 but nothing else")
    with pytest.raises(RuntimeError, match="embed of broken.tflite"):
        litert.embed(file, [sample(8, 6)])


def test_without_litert_the_extra_is_named(small, tmp_path, monkeypatch):
    monkeypatch.setattr(litert.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"keras-dml\[edge\]"):
        export.tflite(small, tmp_path / "model.tflite")


@pytest.mark.parametrize("write", [export.onnx, export.tflite, export.saved_model])
def test_other_backends_are_refused(write, small, tmp_path, monkeypatch):
    monkeypatch.setattr(keras.backend, "backend", lambda: "jax")
    with pytest.raises(RuntimeError, match="'jax'.*KERAS_BACKEND=tensorflow"):
        write(small, tmp_path / "model")


def test_a_missing_folder_is_named(small, tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere.* does not exist"):
        export.tflite(small, tmp_path / "nowhere" / "model.tflite")
