"""Tests exported classifiers of images and audio.

The tests compute scores with prototypes that the caller passes and with the prototypes of the
model.
"""

import numpy as np
import pytest
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter

import keras_dml
from keras_dml import export, inputs
from keras_dml._backend import keras
from keras_dml.export import _convert, _flatbuffer, litert, operators, parity
from keras_dml.export.trials import examples
from keras_dml.layers import ChannelNormalization, InputContract, SequencePooling
from tests.export.conftest import CLASSES, FEATURES, SIDE, voice

QUANTIZATIONS = [None, "float16", "dynamic", "int8"]
# By default only files of integers, whose rounding is the largest. The other files are slow.
each_quantization = pytest.mark.parametrize(
    "quantization",
    [pytest.param(q, marks=[pytest.mark.slow] * (q != "int8")) for q in QUANTIZATIONS],
)
SIGNATURES = {
    "embed": {"inputs": ["image"], "outputs": ["embedding"]},
    "distance": {"inputs": ["embedding", "gallery"], "outputs": ["distance"]},
    "score": {"inputs": ["embedding", "prototypes"], "outputs": ["similarity"]},
    "classify": {"inputs": ["image"], "outputs": ["scores"]},
}


@pytest.fixture(scope="module")
def exported(classifier, images, tmp_path_factory):
    """Returns a function that takes a quantization and returns the exported image classifier."""
    folder = tmp_path_factory.mktemp("classifier")
    made = {}

    def get(quantization):
        if quantization not in made:
            representative = list(images[0]) if quantization == "int8" else None
            path = folder / f"{quantization}.tflite"
            made[quantization] = export.tflite(classifier, path, quantization, representative)
        return made[quantization]

    return get


@pytest.fixture(scope="module")
def spoken(speaker, tmp_path_factory):
    """Returns files of the classifier of audio for each quantization."""
    folder = tmp_path_factory.mktemp("speaker")
    representative = [voice(length, length) for length in (2000, 3100, 4600)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_convert, "FRACTIONS", (0.0,))
        return {
            kind: export.tflite(speaker, folder / f"{kind}.tflite", kind, representative)
            for kind in ("dynamic", "int8")
        }


@pytest.fixture(scope="module")
def served(classifier, tmp_path_factory):
    """Returns the folder of a SavedModel of the classifier of images."""
    return export.saved_model(classifier, tmp_path_factory.mktemp("served") / "model").path


def runner(made, signature):
    interpreter = Interpreter(model_path=str(made.path), num_threads=1)
    ask = interpreter.get_signature_runner(signature)
    return lambda **given: next(iter(ask(**given).values()))


def float_outputs(made, signature):
    """Returns the names of the operators in a signature, and a list that says which operators have
    float outputs.
    """
    place, graph = operators.subgraph(made.path, signature)
    float32 = _flatbuffer.schema().TensorType.FLOAT32
    kinds = [graph.tensors[op.outputs[0]].type == float32 for op in graph.operators]
    return operators.operators(made.path)[place], kinds


@pytest.mark.slow
def test_signatures_have_pinned_names_and_shapes(exported, classifier, images):
    made = exported("dynamic")
    interpreter = Interpreter(model_path=str(made.path))
    assert interpreter.get_signature_list() == SIGNATURES
    item = images[0][:1]
    assert runner(made, "embed")(image=item).shape == (1, FEATURES)
    assert runner(made, "classify")(image=item).shape == (CLASSES,)
    z = np.zeros((1, FEATURES), np.float32)
    for count in (1, 5):
        rows = np.ones((count, FEATURES), np.float32)
        assert runner(made, "score")(embedding=z, prototypes=rows).shape == (count,)
        assert runner(made, "distance")(embedding=z, gallery=rows).shape == (count,)
    assert made.steps is None and export.signatures.described(classifier) == [
        "embed(image)",
        "distance(embedding, gallery)",
        "score(embedding, prototypes)",
        "classify(image)",
    ]


@pytest.mark.slow
@each_quantization
def test_every_signature_agrees_with_keras(exported, classifier, images, quantization):
    made, bounds = exported(quantization), parity.BOUNDS[quantization]
    z = np.asarray(classifier.embed(images[0]))
    embed, classify = runner(made, "embed"), runner(made, "classify")
    actual = np.concatenate([embed(image=image[None]) for image in images[0]])
    assert parity.relative_rms(actual, z) < bounds.embedding
    expected = np.asarray(classifier.similarity(z[:1], classifier.prototypes))[0]
    arguments = {"embedding": z[:1]}
    scores = runner(made, "score")(**arguments, prototypes=classifier.prototypes)
    np.testing.assert_allclose(
        scores, expected, rtol=0, atol=bounds.similarity * np.abs(expected).max()
    )
    distances = runner(made, "distance")(**arguments, gallery=classifier.prototypes)
    np.testing.assert_allclose(distances, -scores, rtol=1e-6)
    named = [np.argmax(classify(image=image[None])) for image in images[0]]
    assert np.mean(named == classifier.classify(images[0])) >= 0.97


@pytest.mark.slow
def test_a_device_learns_a_class_without_a_new_file(exported, classifier, images):
    made = exported("dynamic")
    embed, score = runner(made, "embed"), runner(made, "score")
    strange = 1 - images[0][:4]
    new = np.mean([embed(image=image[None])[0] for image in strange], axis=0)
    prototypes = np.concatenate([classifier.prototypes, new[None]])
    for image in strange:
        scores = score(embedding=embed(image=image[None]), prototypes=prototypes)
        keras_embedding = classifier.embed(image[None])
        expected = np.asarray(classifier.similarity(keras_embedding, prototypes))[0]
        np.testing.assert_allclose(scores, expected, rtol=0, atol=0.1 * np.abs(expected).max())


@each_quantization
def test_files_need_builtin_operators_only(exported, quantization):
    operators.check_builtin(exported(quantization).path)


@pytest.mark.slow
def test_smaller_formats_are_smaller(exported):
    full, half, dynamic, int8 = (exported(q).bytes for q in QUANTIZATIONS)
    assert dynamic < half < full and int8 < half


@pytest.mark.parametrize("signature", ["embed", "classify"])
def test_an_int8_encoder_of_images_is_int8_from_its_first_convolution_on(exported, signature):
    made = exported("int8")
    kinds, in_float = float_outputs(made, signature)
    end = len(operators.operators(made.path)[operators.subgraph(made.path, "embed")[0]]) - 1
    encoder = slice(kinds.index("CONV_2D"), kinds.index("MEAN") + 2)
    assert {"CONV_2D", "MAX_POOL_2D", "MEAN", "FULLY_CONNECTED"} <= set(kinds[encoder])
    assert not any(in_float[encoder])
    assert kinds[encoder.stop] == "DEQUANTIZE" and all(in_float[encoder.stop :])
    assert encoder.stop == end - 1 or signature == "classify"  # the last operator gives NaN


@pytest.mark.parametrize("signature", ["score", "distance"])
def test_a_similarity_is_never_int8(exported, signature):
    _, graph = operators.subgraph(exported("int8").path, signature)
    int8 = _flatbuffer.schema().TensorType.INT8
    assert not any(tensor.type == int8 for tensor in graph.tensors)


@pytest.mark.slow
def test_a_saved_model_takes_batches(served, classifier, images):
    served, x = tf.saved_model.load(str(served)).signatures, images[0][:5]
    z = served["embed"](image=x)["embedding"]
    np.testing.assert_allclose(z, classifier.embed(x), rtol=0, atol=1e-5)
    np.testing.assert_allclose(
        served["classify"](image=x)["scores"], classifier(x), rtol=0, atol=1e-4
    )
    prototypes = np.concatenate([classifier.prototypes, z[:1]])
    expected = classifier.similarity(z, prototypes)
    actual = served["score"](embedding=z, prototypes=prototypes)["similarity"]
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-4)
    distances = served["distance"](embedding=z, gallery=prototypes)["distance"]
    np.testing.assert_allclose(distances, -expected, rtol=0, atol=1e-4)
    assert set(served) == {*SIGNATURES, "serving_default"}


@pytest.mark.slow
def test_saved_model_loads_without_messages(served, caplog):
    """Tests that the SavedModel contains no names of gradients, because TensorFlow would warn about
    them.
    """
    tf.saved_model.load(str(served))
    assert not caplog.messages


@pytest.mark.slow
def test_audio_after_the_length_is_ignored(spoken, speaker):
    made = spoken["dynamic"]
    names = Interpreter(model_path=str(made.path)).get_signature_list()
    assert names["embed"]["inputs"] == names["classify"]["inputs"] == ["length", "signal"]
    recording = voice(3000, 7)
    buffer = np.ones((1, 5000, 1), np.float32)
    buffer[0, :3000] = recording
    classify = runner(made, "classify")
    alone = classify(signal=recording[None], length=np.int32(3000))
    np.testing.assert_array_equal(classify(signal=buffer, length=np.int32(3000)), alone)
    expected = speaker.head_scores(keras_dml.embed(speaker, [recording]))[0]
    np.testing.assert_allclose(alone, expected, rtol=0, atol=0.1 * np.abs(expected).max())
    assert made.steps > 3000


@pytest.mark.slow
@pytest.mark.parametrize("quantization", ["dynamic", "int8"])
def test_mel_bands_stay_float(spoken, quantization):
    kinds, in_float = float_outputs(spoken[quantization], "embed")
    _, graph = operators.subgraph(spoken[quantization].path, "embed")
    first = kinds.index("CONV_2D") - (quantization == "int8")  # what makes int8 of its input
    assert "RFFT2D" in kinds[:first] and "LOG" in kinds[:first]
    int8 = _flatbuffer.schema().TensorType.INT8
    read = {int(i) for op in graph.operators[:first] for i in op.inputs if i >= 0}
    assert not any(graph.tensors[i].type == int8 for i in read)
    assert not in_float[first] or quantization == "dynamic"


@pytest.mark.slow
@pytest.mark.parametrize("quantization", ["dynamic", "int8"])
def test_a_quiet_voice_is_embedded_as_by_keras(spoken, speaker, quantization):
    quiet = [voice(4000, seed, loudness=0.01) for seed in range(3)]
    actual = litert.embed(spoken[quantization].path, quiet)
    assert parity.relative_rms(actual, keras_dml.embed(speaker, quiet)) < 0.1


@pytest.mark.slow
def test_a_saved_model_of_audio_takes_padded_batches(speaker, tmp_path):
    export.saved_model(speaker, tmp_path / "model")
    classify = tf.saved_model.load(str(tmp_path / "model")).signatures["classify"]
    recordings = [voice(length, length) for length in (2500, 4000)]
    signal = np.ones((2, 4200, 1), np.float32)
    for row, recording in zip(signal, recordings, strict=True):
        row[: len(recording)] = recording
    actual = classify(signal=signal, length=np.int32([2500, 4000]))["scores"]
    expected = speaker.head_scores(keras_dml.embed(speaker, recordings))
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-4)


def test_a_plain_encoder_of_images_keeps_its_two_signatures(classifier, images, tmp_path):
    with pytest.raises(ValueError, match="define a distance.*`distance`"):
        export.tflite(classifier.encoder, tmp_path / "plain.tflite")
    made = export.tflite(classifier.encoder, tmp_path / "plain.tflite", None, distance="cosine")
    names = Interpreter(model_path=str(made.path)).get_signature_list()
    assert names == {key: SIGNATURES[key] for key in ("embed", "distance")}
    actual = runner(made, "embed")(image=images[0][:1])
    np.testing.assert_allclose(actual, classifier.embed(images[0][:1]), rtol=0, atol=1e-5)


@pytest.mark.slow
def test_nan_prototypes_are_refused(classifier, tmp_path):
    prototypes = classifier.prototypes
    classifier.prototypes_layer.prototypes.assign(np.full_like(prototypes, np.nan))
    try:
        with pytest.raises(
            parity.ParityError, match="the scores that the file .* NaN.*Nothing was written"
        ):
            export.tflite(classifier, tmp_path / "model.tflite", None)
    finally:
        classifier.prototypes_layer.prototypes.assign(prototypes)
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("signature", ["score", "classify"])
def test_file_with_wrong_scores_is_not_written(
    classifier, exported, tmp_path, monkeypatch, signature
):
    right, ask = exported(None).path.read_bytes(), getattr(litert, signature)
    monkeypatch.setattr(export._tflite, "convert", lambda *_: [right])
    monkeypatch.setattr(litert, signature, lambda *given: ask(*given)[:, ::-1])
    with pytest.raises(parity.ParityError, match="the (scores|similarities) .* differ by"):
        export.tflite(classifier, tmp_path / "model.tflite", None)
    assert not any(tmp_path.iterdir())


def test_a_calibrating_image_that_does_not_fit_is_named(classifier, images, tmp_path):
    representative = [images[0][0], 255 * images[0][1]]
    with pytest.raises(ValueError, match="Image 1 must hold floats"):
        export.tflite(classifier, tmp_path / "model.tflite", "int8", representative)


def test_images_of_unknown_size_are_refused(tmp_path):
    image = keras.Input((None, None, 3))
    model = keras.Model(image, keras.layers.GlobalAveragePooling2D()(image), name="any_size")
    with pytest.raises(ValueError, match="'any_size'.*size"):
        export.tflite(model, tmp_path / "model.tflite", distance="cosine")


def test_images_are_tried_on_noise_black_white_and_gray(classifier):
    noise, extremes = examples(inputs.from_model(classifier))
    assert all(image.shape == (SIDE, SIDE, 1) for image in noise + extremes)
    assert [float(np.ptp(image)) for image in extremes] == [0, 0, 0]
    assert sorted(float(image.max()) for image in extremes) == [0, 0.5, 1]
    assert min(image.min() for image in noise) >= 0 and max(image.max() for image in noise) <= 1


def test_trials_have_the_magnitude_of_the_contract(rng):
    signal = keras.Input((None, 2))
    contract = InputContract(("x", "y"), "deg/s", 250, min_steps=20)
    front = keras.layers.Conv1D(4, 1)(contract(signal))
    normalization = ChannelNormalization()
    normalization.adapt([rng.normal(size=(30, 4))])
    contract.adapt([[5, 90] * rng.normal(size=(900, 2)) for _ in range(5)])
    model = keras.Model(signal, SequencePooling("mean")(normalization(front)))
    noise, _ = examples(inputs.from_model(model))
    actual = np.std(np.concatenate(noise), axis=0)
    np.testing.assert_allclose(actual, [5, 90], rtol=0.2)


def test_trials_of_audio_reach_from_the_shortest_length_to_a_second(speaker):
    noise, (silence, constant) = examples(inputs.from_model(speaker))
    least = 400 + 6 * 160  # seven frames are seen at once
    assert [len(item) for item in noise] == [least, 2 * least, 16000]
    assert not silence.any() and np.ptp(constant) == 0 and constant.any()
    assert max(np.abs(item).max() for item in noise) < 1


@pytest.mark.slow
@pytest.mark.parametrize("quantization", [None, "int8"])
def test_added_classes_score_in_a_file_as_in_keras(classifier, images, quantization, tmp_path):
    x, labels = images
    grown = type(classifier).from_config(classifier.get_config())
    grown.set_weights(classifier.get_weights())
    grown.refit_prototypes(x, labels)
    grown.add_classes(["new", "newer"], x[:4], [0, 1, 1, 0])
    representative = list(x) if quantization == "int8" else None
    made = export.tflite(grown, tmp_path / "grown.tflite", quantization, representative)
    classify, embed = runner(made, "classify"), runner(made, "embed")
    actual = np.stack([classify(image=image[None]) for image in x])
    expected = np.asarray(grown.head_scores(np.concatenate([embed(image=i[None]) for i in x])))
    assert actual.shape == (len(x), CLASSES + 2)
    bound = parity.BOUNDS[quantization].similarity
    np.testing.assert_allclose(actual, expected, rtol=0, atol=bound * np.abs(expected).max())
