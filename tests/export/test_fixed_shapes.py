"""Tests of TFLite files with a fixed number of time steps and a fixed number of gallery rows."""

import numpy as np
import pytest
from ai_edge_litert.compiled_model import CompiledModel
from ai_edge_litert.interpreter import Interpreter

import keras_dml
from keras_dml import distances, export, layers, models
from keras_dml._backend import keras, ops
from keras_dml.export import _flatbuffer, litert, parity, signatures
from tests.export.conftest import CHANNELS, build, sample, voice

STEPS, ROWS = 64, 5
LEAST, MOST = 4, 500
LENGTHS = (LEAST, 7, 40, STEPS - 1, STEPS)
INT32 = np.iinfo(np.int32)
PADDING = (0.0, 1e6, -1e30, np.nan, np.inf, -np.inf)
QUANTILES = [lambda: layers.QuantileLayer(3)]
NETWORKS = {  # number of channels, and the layers of a model
    "channel normalization": (3, [layers.ChannelNormalization, *QUANTILES]),
    "instance standardization": (3, [layers.InstanceStandardization, *QUANTILES]),
    "first difference": (3, [layers.FirstDifference, *QUANTILES]),
    "gravity frame": (3, [lambda: layers.GravityFrame("both", lag=3), *QUANTILES]),
    "canonical pose": (9, [lambda: layers.CanonicalPose(0, hips=(1, 2)), *QUANTILES]),
    "valid convolution": (3, [lambda: layers.MaskedConv1D(4, 3, dilation_rate=2), *QUANTILES]),
    "same convolution": (3, [lambda: layers.MaskedConv1D(4, 3, padding="same"), *QUANTILES]),
    "average pooling": (3, [lambda: layers.MaskedAveragePooling1D(4), *QUANTILES]),
    "maximum": (3, [layers.SequencePooling]),
    "mean": (3, [lambda: layers.SequencePooling("mean")]),
    "statistics": (3, [layers.StatisticsPooling]),
    "lagged correlation": (3, [lambda: layers.LaggedCorrelation((0, 2, 5))]),
    "covariance": (3, [lambda: layers.Covariance("oas")]),
    "windowed mean": (3, [lambda: windowed_mean()]),
    "speech": (
        1,
        [
            lambda: layers.SilenceRemoval(200, pause=0.08, least=8),
            lambda: layers.MinimumLevel(0.1),
            lambda: layers.LogMel(2, rate=200, low=0, high=100),
            layers.VoiceActivity,
            layers.StatisticsPooling,
        ],
    ),
    "mel power": (1, [lambda: layers.MelPower(2, rate=200), layers.StatisticsPooling]),
}


DEFAULT = ("gravity frame", "instance standardization", "speech", "valid convolution")


def windowed_mean():
    window = keras.Input((4, 3))
    network = keras.Sequential([window, keras.layers.Flatten(), keras.layers.Dense(3)])
    return layers.WindowedMean(network, 2, 3, 1)


def network(name):
    channels, stack = NETWORKS[name]
    keras.utils.set_random_seed(3)
    signal = x = keras.Input((None, channels))
    for make in stack:
        x = make()(x)
    return keras.Model(signal, x)


@pytest.fixture(scope="module")
def model():
    contract = layers.InputContract(["x", "y", "z"], "g", 50, min_steps=LEAST, max_steps=MOST)
    return models.with_contract(build(layers.QuantileLayer(knots=4)), contract)


@pytest.fixture(scope="module")
def made(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("fixed") / "model.tflite"
    return export.tflite(model, path, None, steps=STEPS, gallery=ROWS)


@pytest.fixture(scope="module")
def runners(made):
    file = Interpreter(str(made.path), num_threads=1)
    return [file.get_signature_runner(name) for name in ("embed", "distance")]


def padded(recording, value, steps=STEPS):
    """Returns a batch of one recording that is padded with a value."""
    signal = np.full((1, steps, recording.shape[1]), value, np.float32)
    signal[0, : len(recording)] = recording
    return signal


def test_any_padding_gives_the_embedding_of_the_recording_alone(model, runners):
    embed, _ = runners
    for length in LENGTHS:
        recording = sample(length, CHANNELS, length)
        expected = ops.convert_to_numpy(model(recording[None]))
        noise = 1e3 * sample(STEPS, CHANNELS, 9)[None]
        noise[0, :length] = recording
        signals = [padded(recording, value) for value in PADDING] + [noise]
        actual = [embed(signal=x, length=np.int32(length))["embedding"].copy() for x in signals]
        np.testing.assert_allclose(actual[0], expected, rtol=1e-5, atol=1e-5)
        for embedding in actual[1:]:
            np.testing.assert_array_equal(embedding, actual[0])


@pytest.mark.parametrize(
    "name", [pytest.param(x, marks=[pytest.mark.slow] * (x not in DEFAULT)) for x in NETWORKS]
)
def test_padding_changes_no_embedding_of_any_layer(name):
    """Tests the graph that is converted to TFLite. The padding is NaN."""
    model = network(name)
    module = signatures.for_one(model, distances.Euclidean(), None, STEPS)
    for length in (30, STEPS - 1, STEPS):
        recording = sample(length, NETWORKS[name][0], length)
        recording[:10] /= 1e3  # quiet, so that a layer that removes silence removes these steps
        embedding = module.embed(padded(recording, np.nan), np.int32(length))["embedding"]
        expected = ops.convert_to_numpy(model(recording[None]))
        assert np.isfinite(expected).all()
        np.testing.assert_allclose(embedding, expected, rtol=1e-5, atol=1e-5)


def test_invalid_lengths_and_values_give_nan(runners):
    embed, distance = runners
    signal = sample(STEPS, CHANNELS)[None]
    usual = embed(signal=signal, length=np.int32(STEPS))["embedding"].copy()
    gallery = np.repeat(usual, ROWS, axis=0)
    for length in (INT32.min, -1, 0, LEAST - 1, STEPS + 1, MOST, INT32.max):
        z = embed(signal=signal, length=np.int32(length))["embedding"].copy()
        assert z.shape == usual.shape and np.isnan(z).all(), length
        assert np.isnan(distance(embedding=z, gallery=gallery)["distance"]).all()
    for value in (np.nan, np.inf, -np.inf):
        invalid = signal.copy()
        invalid[0, 20, 1] = value
        assert np.isnan(embed(signal=invalid, length=np.int32(21))["embedding"]).all()
        assert np.isfinite(embed(signal=invalid, length=np.int32(20))["embedding"]).all()
    gallery[2, 0, 0] = np.nan
    actual = distance(embedding=usual, gallery=gallery)["distance"]
    np.testing.assert_array_equal(np.isnan(actual), np.arange(ROWS) == 2)
    again = embed(signal=signal, length=np.int32(STEPS))["embedding"]
    np.testing.assert_array_equal(again, usual)


def test_other_shapes_are_refused(runners):
    embed, distance = runners
    signal = sample(STEPS, CHANNELS)[None]
    usual = embed(signal=signal, length=np.int32(STEPS))["embedding"].copy()
    gallery = np.repeat(usual, ROWS, axis=0)
    longer = np.concatenate([signal, signal], axis=1)
    two = np.concatenate([signal, signal])
    for bad in (signal[:, :-1], longer, two, signal[:0], signal[:, :, :2], signal[0, :2]):
        with pytest.raises(RuntimeError):
            embed(signal=bad, length=np.int32(LEAST))
    turned = np.ascontiguousarray(signal.swapaxes(1, 2))  # the same number of values
    assert np.isnan(embed(signal=turned, length=np.int32(LEAST))["embedding"]).all()
    for bad in (gallery[:-1], np.concatenate([gallery, gallery]), gallery[:0]):
        with pytest.raises(RuntimeError):
            distance(embedding=usual, gallery=bad)
    np.testing.assert_array_equal(distance(embedding=usual, gallery=gallery)["distance"], 0)


def test_a_runtime_that_never_resizes_inputs_runs_the_file(model, made):
    """Tests `CompiledModel`, which allocates its buffers from the shapes in the file."""
    file = CompiledModel.from_file(str(made.path))
    assert file.get_input_tensor_details("embed")["signal"]["shape"] == [1, STEPS, CHANNELS]
    recording = sample(40, CHANNELS)
    z = keras_dml.embed(model, [recording, sample(20, CHANNELS, 1)])
    gallery = np.concatenate([z, z[[1, 1, 1]]])
    calls = {
        "embed": {"signal": padded(recording, np.nan), "length": np.array([40], np.int32)},
        "distance": {"embedding": z[:1], "gallery": gallery},
    }
    results = {}
    for name, arguments in calls.items():
        details = file.get_input_tensor_details(name)
        buffers = {key: file.create_input_buffer_by_name(name, key) for key in details}
        for key, buffer in buffers.items():
            buffer.write(np.ascontiguousarray(arguments[key]))
        (output,) = file.get_output_tensor_details(name)
        answer = file.create_output_buffer_by_name(name, output)
        file.run_by_name(name, buffers, {output: answer})
        size = z[0].size if name == "embed" else ROWS
        results[name] = answer.read(size, np.float32)
    np.testing.assert_allclose(results["embed"], z[0].ravel(), rtol=1e-5, atol=1e-5)
    expected = keras_dml.distance(model, z[:1], gallery)[0]
    np.testing.assert_allclose(results["distance"], expected, rtol=1e-5, atol=1e-5)


def test_no_tensor_of_the_file_has_a_dynamic_shape(made):
    graphs = _flatbuffer.read(made.path.read_bytes()).subgraphs
    assert len(graphs) == 2
    for graph in graphs:
        assert len(graph.tensors) > 10
        for tensor in graph.tensors:
            assert tensor.shapeSignature is None or -1 not in tensor.shapeSignature


def test_the_contract_in_the_file_limits_the_steps(made):
    contract = export.contract(made.path)
    assert (contract["min_steps"], contract["max_steps"]) == (LEAST, STEPS)
    assert contract["channels"] == ["x", "y", "z"]


def test_litert_pads_recordings_and_galleries(model, made):
    recordings = [sample(length, CHANNELS, length) for length in LENGTHS]
    expected = keras_dml.embed(model, recordings, batch_size=1)
    np.testing.assert_allclose(litert.embed(made.path, recordings), expected, rtol=0, atol=1e-5)
    gallery = np.concatenate([expected, expected[::-1]])
    for count in (ROWS - 1, ROWS + 2):
        actual = litert.distance(made.path, expected, gallery[:count])
        distance = keras_dml.distance(model, expected, gallery[:count])
        np.testing.assert_allclose(actual, distance, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("option", "value", "error"),
    [
        ("steps", 0, ValueError),
        ("steps", LEAST - 1, ValueError),
        ("steps", 64.0, TypeError),
        ("gallery", 0, ValueError),
        ("gallery", True, TypeError),
    ],
)
def test_impossible_shapes_are_refused(model, tmp_path, option, value, error):
    with pytest.raises(error, match=f"`{option}`.*{value}"):
        export.tflite(model, tmp_path / "model.tflite", **{option: value})
    assert not any(tmp_path.iterdir())


def test_steps_are_refused_for_images_and_matrices(tmp_path):
    of_images = keras.Sequential([keras.Input((4, 4, 1)), keras.layers.Flatten()])
    for model, name in ((of_images, "images"), (models.spdnet((4, 3)), "matrices")):
        with pytest.raises(ValueError, match=f"`steps` is 8.*{name}, which have no time axis"):
            export.tflite(model, tmp_path / "model.tflite", distance="cosine", steps=8)


def test_a_representative_recording_must_fit(model, tmp_path):
    with pytest.raises(ValueError, match="`representative` has 65 steps, but `steps` is 64"):
        export.tflite(
            model, tmp_path / "m.tflite", representative=[sample(65, CHANNELS)], steps=STEPS
        )


def test_layers_that_drop_masks_are_named_and_the_old_file_stays(tmp_path):
    stock = build(layers.QuantileLayer(3), convolution=keras.layers.Conv1D)
    signal = keras.Input((None, CHANNELS))
    x = layers.MaskedConv1D(4, 3)(signal)
    x = ops.subtract(x, ops.mean(x, axis=1, keepdims=True))
    centered = keras.Model(signal, layers.QuantileLayer(3)(x))
    old = tmp_path / "model.tflite"
    old.write_bytes(b"what was there")
    for model, names in ((stock, r"conv1d\w*, conv1d\w*"), (centered, r"mean\w*, subtract\w*")):
        with pytest.raises(parity.ParityError, match=rf"`steps` is 64.*drop masks: {names}\."):
            export.tflite(model, old, steps=STEPS)
    assert old.read_bytes() == b"what was there" and len(list(tmp_path.iterdir())) == 1


def test_a_layer_that_wrongly_declares_masks_is_refused(tmp_path):
    @keras.saving.register_keras_serializable("tests")
    class Centered(keras.layers.Layer):
        supports_masking = True

        def call(self, inputs):
            return inputs - ops.mean(inputs, axis=1, keepdims=True)

    signal = keras.Input((None, CHANNELS))
    model = keras.Model(signal, layers.QuantileLayer(3)(Centered()(signal)))
    with pytest.raises(parity.ParityError, match="All layers declare that they keep masks"):
        export.tflite(model, tmp_path / "model.tflite", steps=STEPS)
    assert not any(tmp_path.iterdir())


def test_a_layer_that_cannot_use_the_mask_is_named(tmp_path):
    signal = keras.Input((None, CHANNELS))
    x = keras.layers.Softmax(axis=1)(layers.MaskedConv1D(4, 3)(signal))  # over time
    model = keras.Model(signal, layers.QuantileLayer(3)(x))
    with pytest.raises(parity.ParityError, match=r"`steps` is 64.*Softmax") as refused:
        export.tflite(model, tmp_path / "model.tflite", steps=STEPS)
    assert "\n" not in str(refused.value) and "\x1b" not in str(refused.value)
    assert not any(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("quantization", ["auto", "float16", "dynamic", "int8"])
def test_every_quantization_ignores_padding(model, tmp_path, quantization):
    representative = [sample(30 + seed, CHANNELS, seed) for seed in range(20)]
    path = tmp_path / "model.tflite"
    made = export.tflite(model, path, quantization, representative, steps=STEPS, gallery=1)
    assert made.notes == ()
    embed = Interpreter(str(path), num_threads=1).get_signature_runner("embed")
    for length in LENGTHS:
        recording = sample(length, CHANNELS, length)
        signals = [padded(recording, value) for value in PADDING]
        actual = [embed(signal=x, length=np.int32(length))["embedding"].copy() for x in signals]
        assert np.isfinite(actual).all()
        for embedding in actual[1:]:
            np.testing.assert_array_equal(embedding, actual[0])
    fresh = [sample(length, CHANNELS, 70 + length) for length in LENGTHS]
    expected = keras_dml.embed(model, fresh, batch_size=1)
    bound = parity.BOUNDS[made.quantization].embedding
    assert parity.relative_rms(litert.embed(path, fresh), expected) < bound


@pytest.mark.slow
def test_a_classifier_compares_with_a_fixed_number_of_prototypes(speaker, tmp_path):
    path = tmp_path / "speaker.tflite"
    export.tflite(speaker, path, None, steps=6000, gallery=3)
    file = Interpreter(str(path), num_threads=1)
    shapes = {
        name: file.get_signature_runner(signature).get_input_details()[name]["shape"].tolist()
        for signature, name in (("classify", "signal"), ("score", "prototypes"))
    }
    assert shapes == {"signal": [1, 6000, 1], "prototypes": [3, 6]}
    recordings = [voice(length, length) for length in (3000, 4500, 6000)]
    z = keras_dml.embed(speaker, recordings)
    np.testing.assert_allclose(
        litert.classify(path, recordings), speaker.head_scores(z), rtol=0, atol=1e-4
    )
    np.testing.assert_allclose(
        litert.score(path, z, z[:2]), speaker.similarity(z, z[:2]), rtol=0, atol=1e-4
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", NETWORKS)
def test_litert_runs_each_layer_with_padding(name, tmp_path):
    model = network(name)
    path = tmp_path / "model.tflite"
    assert export.tflite(model, path, None, steps=STEPS).drift < 1e-4
