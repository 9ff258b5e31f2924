"""Tests that models which receive a recording in blocks compute the embeddings of Keras."""

import functools

import numpy as np
import pytest

from keras_dml import export, layers, models, zoo
from keras_dml._backend import keras
from keras_dml.export import _contract, signatures, streaming
from keras_dml.models.copies import in_float64

CHANNELS = 3
# Window and block of each model of the zoo that can be streamed.
SIZES = {
    "eye_lda": (2350, 50),
    "eye_qp_wl": (2352, 168),
    "gait_lda": (512, 64),
    "gait_qp_wl": (512, 64),
    "vowels_qp_wl": (24, 4),
    "watch_lda": (300, 50),
}
REFUSED = {
    "eeg_spdnet_rpl": layers.InstanceStandardization,
    "hdm05_spdnet_rpl": layers.CanonicalPose,
    "phone_gait_lda": layers.GravityFrame,
    "phone_gait_qp_wl": layers.GravityFrame,
    "pocket_lda": layers.GravityFrame,
    "voice_ge2e": layers.MinimumLevel,
    "voice_ge2e_sim": layers.SilenceRemoval,
    "voice_logcov_lda": layers.SilenceRemoval,
    "voice_xvector_sim": layers.SilenceRemoval,
}


def recording(steps, seed=0):
    """Returns a smooth recording whose channels have different means."""
    white = np.random.default_rng(seed).normal(size=(steps, CHANNELS))
    return np.cumsum(white, axis=0) / 5 + np.arange(CHANNELS)


def model_of(*parts):
    keras.utils.set_random_seed(7)
    contract = layers.InputContract(("x", "y", "z"), "g", 50, min_steps=8)
    model = keras.Sequential([keras.Input((None, CHANNELS)), contract, *parts])
    for weights in model.weights:  # batch normalization and biases must have an effect
        if "moving" in weights.path or "beta" in weights.path or "bias" in weights.path:
            weights.assign(0.3 + np.random.default_rng(3).random(weights.shape))
    return model


def convolutions():
    """Returns a model with kernels of even and odd size, dilation, and pooling."""
    return model_of(
        layers.MaskedConv1D(4, 4, dilation_rate=2, activation="tanh"),
        keras.layers.BatchNormalization(),
        keras.layers.PReLU(shared_axes=[1], alpha_initializer="random_normal"),
        layers.MaskedAveragePooling1D(2),
        layers.MaskedConv1D(5, 3, activation="tanh"),
        layers.MaskedAveragePooling1D(2),
        layers.MaskedConv1D(6, 5),
        layers.QuantileLayer(knots=4),
    )


def discriminants():
    """Returns a functional model that computes correlations and means, as `eye_lda` does."""
    signal = keras.Input((None, CHANNELS))
    x = keras.layers.Rescaling(0.3)(signal)
    x = keras.layers.Concatenate()([x, keras.layers.Activation("tanh")(x)])
    x = layers.ChannelNormalization()(x)
    statistics = [layers.LaggedCorrelation((0, 1, 5))(x), layers.SequencePooling("mean")(x)]
    x = keras.layers.Concatenate()(statistics)
    head = layers.LinearDiscriminants(4)
    model = keras.Model(signal, head(x))
    head.set_weights([np.random.default_rng(0).normal(size=w.shape) for w in head.get_weights()])
    return model


def branches():
    """Returns a model in which two branches average groups of two steps each."""
    signal = keras.Input((None, CHANNELS))
    parts = [
        layers.MaskedAveragePooling1D(2)(layers.MaskedConv1D(4, kernel, dilation_rate=rate)(signal))
        for kernel, rate in ((3, 2), (5, 1))
    ]
    return keras.Model(signal, layers.QuantileLayer(4)(keras.layers.Concatenate()(parts)))


def residuals():
    """Returns a model with layers of Keras that compute each step from the same step."""
    signal = keras.Input((None, CHANNELS))
    x = keras.layers.Dense(4, activation="gelu")(signal)
    x = keras.layers.LayerNormalization(gamma_initializer="random_normal")(x)
    x = keras.layers.ReLU(negative_slope=0.2)(layers.MaskedConv1D(4, 3)(x))
    parts = [layers.MaskedConv1D(4, 5)(x), layers.MaskedConv1D(4, 5)(x)]
    x = keras.layers.Add()(parts)
    return keras.Model(signal, layers.QuantileLayer(3)(x))


MODELS = {
    "branches": branches,
    "convolutions": convolutions,
    "discriminants": discriminants,
    "residuals": residuals,
}


@functools.cache
def exact(name):
    """Returns a model that computes in float64."""
    return in_float64(MODELS[name]())


@pytest.fixture(scope="module")
def model():
    return convolutions()


def streamed(stream, signal):
    """Returns the embedding after each block of a recording."""
    state, embeddings = np.zeros(stream.size, signal.dtype), []
    for start in range(0, len(signal), stream.block):
        block = signal[None, start : start + stream.block]
        state = np.asarray(stream.step(block, state))
        embeddings.append(np.asarray(stream.read(state))[0])
    return embeddings


# ---- exactness in float64 ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name, block",
    [
        ("branches", 12),
        ("convolutions", 4),
        ("convolutions", 12),
        ("discriminants", 4),
        ("discriminants", 12),
        ("residuals", 12),
    ],
)
def test_the_embedding_is_that_of_the_recording_so_far(name, block):
    """Tests recordings that are shorter than the delay of the convolutions, and longer ones."""
    model, signal = exact(name), recording(48)
    stream = streaming.Stream(model, 48, block)
    actual = streamed(stream, signal)
    for blocks, embedding in enumerate(actual, 1):
        expected = np.asarray(model(signal[None, : blocks * block], training=False))[0]
        np.testing.assert_allclose(embedding, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("window", [12, 24])
def test_a_longer_recording_gives_the_quantiles_of_the_last_steps(window):
    """Tests windows that are shorter and longer than the delay of the convolutions."""
    model, signal = exact("convolutions"), recording(60)
    features = keras.Model(model.inputs[0], model.layers[-1].input)(signal[None])
    expected = model.layers[-1](features[:, -window // 4 :])
    embedding = streamed(streaming.Stream(model, window, 12), signal)[-1]
    np.testing.assert_allclose(embedding, np.asarray(expected)[0], rtol=1e-9, atol=1e-9)
    assert np.abs(embedding - np.asarray(model(signal[None, -window:]))[0]).max() > 1e-3
    by_keras = streaming.by_keras(model, signal[None], window)
    np.testing.assert_allclose(by_keras, expected, rtol=1e-12)


def test_the_window_of_parallel_branches_counts_each_branch_once():
    model, signal = in_float64(branches()), recording(60)
    features = keras.Model(model.inputs[0], model.layers[-1].input)(signal[None])
    expected = np.asarray(model.layers[-1](features[:, -24 // 2 :]))
    embedding = streamed(streaming.Stream(model, 24, 2), signal)[-1]
    np.testing.assert_allclose(embedding, expected[0], rtol=1e-9, atol=1e-9)
    by_keras = streaming.by_keras(model, signal[None], 24)
    np.testing.assert_allclose(by_keras, expected, rtol=1e-12)


def test_the_state_does_not_grow():
    sizes = {steps: streaming.Stream(exact("convolutions"), steps, 4).size for steps in (40, 80)}
    assert sizes[80] - sizes[40] == 10 * 6  # ten more steps of six filters
    assert len({streaming.Stream(exact("discriminants"), steps, 4).size for steps in (40, 80)}) == 1


# ---- refusals ------------------------------------------------------------------------------------


def test_a_layer_that_needs_the_whole_recording_is_named(tmp_path):
    class Reversal(keras.layers.Layer):
        def call(self, x):
            return x[:, ::-1]

    heads = {
        "gravity": [layers.GravityFrame(name="gravity"), layers.SequencePooling("mean")],
        "reversal": [Reversal(name="reversal"), layers.SequencePooling("mean")],
        "maximum": [layers.SequencePooling("max", name="maximum")],
        "sums": [layers.MaskedConv1D(2, 3), layers.SequencePooling("mean", name="sums")],
        "valid": [layers.MaskedConv1D(2, 3, padding="valid", name="valid")],
    }
    for name, parts in heads.items():
        model = model_of(*parts, layers.QuantileLayer(2)) if name == "valid" else model_of(*parts)
        with pytest.raises(export.StreamError, match=f"'{name}'.*edge.Stream") as refused:
            export.stream(model, tmp_path / "model.tflite", window=16, block=8)
        assert refused.value.layer == name and refused.value.reason
    assert not any(tmp_path.iterdir())


def test_an_operation_on_several_tensors_is_named():
    signal = keras.Input((None, CHANNELS))
    attended = keras.layers.MultiHeadAttention(1, 2, name="attention")(signal, signal)
    ahead = layers.MaskedConv1D(CHANNELS, 9)(signal)
    joined = keras.layers.Concatenate(name="joined")([signal, ahead])
    for features, name in ((attended, "attention"), (joined, "joined")):
        model = keras.Model(signal, layers.QuantileLayer(2)(features))
        with pytest.raises(export.StreamError) as refused:
            streaming.Stream(model, 16, 8)
        assert refused.value.layer == name


def test_a_merge_of_steps_with_a_mean_is_refused():
    signal = keras.Input((None, CHANNELS))
    mean = keras.layers.Reshape((1, CHANNELS))(layers.SequencePooling("mean")(signal))
    for kind in (keras.layers.Multiply, keras.layers.Subtract):
        for values in ([signal, mean], [mean, signal]):
            outputs = layers.QuantileLayer(2)(kind(name="merged")(values))
            with pytest.raises(export.StreamError) as refused:
                streaming.Stream(keras.Model(signal, outputs), 16, 8)
            assert refused.value.layer == "merged" and refused.value.reason == streaming.POOLED


def test_models_of_other_kinds_are_refused(tmp_path):
    encoder = keras.Sequential([keras.Input((None, 3)), layers.SequencePooling("mean")])
    classifier = models.PrototypicalClassifier(encoder, 2)
    classifier(np.ones((1, 16, 3), np.float32))
    images = keras.Sequential([keras.Input((8, 8, 1)), keras.layers.Flatten()])
    fixed = keras.Sequential([keras.Input((16, 3)), layers.SequencePooling("mean")])
    for model in (classifier, images, fixed):
        with pytest.raises(export.StreamError) as refused:
            export.stream(model, tmp_path / "model.tflite", window=16, block=8)
        assert refused.value.layer is None


@pytest.mark.parametrize(
    "arguments, error",
    [
        ({"window": 16, "block": 6}, ValueError),
        ({"window": 18, "block": 4}, ValueError),
        ({"window": 4, "block": 4}, ValueError),
        ({"window": 16.0, "block": 4}, TypeError),
        ({"window": 16, "block": 0}, ValueError),
        ({"window": 16, "block": 4, "quantization": "int8"}, ValueError),
    ],
)
def test_wrong_sizes_are_refused(model, tmp_path, arguments, error):
    with pytest.raises(error):
        export.stream(model, tmp_path / "model.tflite", **arguments)


@pytest.mark.slow
@pytest.mark.parametrize("name", REFUSED)
def test_models_of_the_zoo_that_need_the_whole_recording_are_refused(name, tmp_path):
    with pytest.raises(export.StreamError) as refused:
        export.stream(name, tmp_path / "model.tflite", window=2400, block=240)
    encoder, _ = signatures.parts(zoo.load(name))
    assert isinstance(encoder.get_layer(refused.value.layer), REFUSED[name])


@pytest.mark.slow
def test_each_model_of_recordings_is_streamed_or_refused():
    names = {name for name in zoo.list_models() if "rate_hz" in zoo.card(name)["input"]}
    assert names == {*SIZES, *REFUSED}


# ---- thresholds ----------------------------------------------------------------------------------


def test_thresholds_of_a_stream_are_of_its_window():
    card = zoo.card("gait_qp_wl")
    rows = [{**card["thresholds"][0], "value": 1.5, "window": 512}]
    card = {**card, "stream_thresholds": rows}
    (row,) = _contract.stream_thresholds(card, 512)
    assert row["value"] == 1.5 and row["far"] == rows[0]["far"] and "1.5" in row["rule"]
    assert _contract.missing_thresholds("wasserstein", card, 512) is None
    assert _contract.stream_thresholds(card, 256) == []
    assert "256" in _contract.missing_thresholds("wasserstein", card, 256)
    assert _contract.stream_thresholds(None, 512) == []
    assert _contract.missing_thresholds("wasserstein", None, 512) is None


# ---- files of the zoo ----------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", SIZES)
def test_files_of_the_zoo_agree_with_keras(name, tmp_path):
    """Tests noise in the units of the sensor. The export itself compares the file with Keras."""
    window, block = SIZES[name]
    result = export.stream(name, tmp_path / "model.tflite", window=window, block=block)
    assert result.drift < 1e-5 and result.steps == block
    thresholds = export.contract(result.path).get("thresholds", [])
    if name == "vowels_qp_wl":  # its recordings are shorter than a window
        assert not thresholds and "state is zeros" in result.notes[0]
    else:
        assert thresholds and not result.notes
