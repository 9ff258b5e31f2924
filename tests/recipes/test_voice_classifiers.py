"""Tests the voice classifier recipes: training on vectors of windows, and models of audio."""

import functools

import numpy as np
import pytest

import keras_dml
from keras_dml import models
from keras_dml._backend import keras
from keras_dml.training import People
from zoo import recipe, voice_classifiers, voices
from zoo.papers.voice_xvector_sim import train as xvector
from zoo.voice_ge2e import evidence
from zoo.voice_ge2e import train as encoder_alone
from zoo.voice_ge2e_sim import encoder
from zoo.voice_ge2e_sim import train as ge2e

CALLERS = ["F1298697715", "M1298636292", "F1299841470", "M1298638087"]
ACTORS = ["01", "02", "03", "04", "05", "06"]
LEFT = ["F1500000000", "M1500000001"]


@pytest.fixture
def small(monkeypatch):
    """Replaces the speech network by a fixed network of eight units with nonzero embeddings."""
    original = models.ge2e

    def ge2e(weights):
        keras.utils.set_random_seed(5)
        model = original(units=8, depth=1, bands=8)
        network = model.get_layer("embedding").network
        lstm, projection = network.get_layer("lstm"), network.get_layer("projection")
        lstm.set_weights([100 * lstm.get_weights()[0], *lstm.get_weights()[1:]])
        projection.set_weights([projection.kernel, np.full(8, 0.5)])
        return model

    monkeypatch.setattr(models, "ge2e", ge2e)
    monkeypatch.setattr(encoder, "VECTOR", 8)
    monkeypatch.setattr(encoder, "EMBEDDING", 4)
    monkeypatch.setattr(voice_classifiers, "SPEAKERS", 4)
    monkeypatch.setattr(voice_classifiers, "PER_SPEAKER", 2)


@pytest.fixture
def run(tmp_path):
    return recipe.Run("voice_ge2e_sim", tmp_path, tmp_path, steps=1, seed=0)


def people(rng, names=(*ACTORS, *CALLERS, *LEFT), each=2):
    signals = [
        rng.normal(scale=0.1, size=(25_000 + 9_000 * (i % 3), 1)).astype("float32")
        for i in range(each * len(names))
    ]
    lines = [str(i % each + 1) for i in range(len(signals))]
    return People(signals, np.repeat(names, each).tolist(), lines)


@pytest.mark.slow
def test_vectors_of_windows_have_the_mean_that_is_the_embedding(small, rng):
    some = people(rng, CALLERS)
    vectors = encoder.window_vectors(some, models.ge2e(None))
    assert [len(signal) for signal in vectors.signals] == [1, 2, 2] * 2 + [1, 2]
    means = np.stack([signal.mean(axis=0) for signal in vectors.signals])
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    found = keras_dml.embed(models.ge2e(None), some.signals)
    np.testing.assert_allclose(found, means, rtol=0, atol=1e-5)


def test_a_head_begins_at_whitened_axes_each_set_with_the_same_weight(small, rng):
    groups = [rng.normal(size=(n, 8)) * np.arange(1, 9) + shift for n, shift in ((900, 5), (90, 0))]
    head = encoder.new_head([group.astype("float32") for group in groups])
    kernel, bias = head.get_layer("adapted").get_weights()
    found = [group @ kernel + bias for group in groups]
    np.testing.assert_allclose(sum(z.mean(axis=0) for z in found), 0, rtol=0, atol=1e-4)
    covariance = sum(np.cov(z.T, bias=True) + np.outer(z.mean(0), z.mean(0)) for z in found) / 2
    strengths = np.diag(covariance)
    np.testing.assert_allclose(covariance, np.diag(strengths), rtol=0, atol=1e-3 * strengths.max())
    assert (np.diff(strengths) < 0).all()


@pytest.mark.slow
def test_a_classifier_of_sound_says_what_that_of_vectors_says(small, run, rng, monkeypatch):
    monkeypatch.setattr("zoo.classifiers.STEPS_PER_EPOCH", 1)
    some = people(rng, (*ACTORS[:2], *CALLERS))
    vectors = encoder.window_vectors(some, models.ge2e(None))
    trained = ge2e.train(run, vectors)
    whole = ge2e.of_sound(trained, None)
    rows = np.triu_indices(6, 1)
    expected = voice_classifiers.scores(trained, vectors.signals[:6], rows)
    found = voice_classifiers.scores(whole, some.signals[:6], rows)
    for name in ("sim", "cosine", "fused"):
        np.testing.assert_allclose(found[name], expected[name], rtol=0, atol=1e-3)
    np.testing.assert_allclose(found["fused"], found["sim"] + found["cosine"], rtol=0, atol=1e-6)
    assert whole.class_names == trained.class_names
    frozen = whole.encoder.get_layer("embedding")
    assert not frozen.trainable_weights and whole.encoder.get_layer("adapted").trainable_weights


@pytest.mark.slow
def test_the_network_of_the_recipe_is_an_x_vector_from_random_weights(rng, run, monkeypatch):
    monkeypatch.setattr("zoo.classifiers.STEPS_PER_EPOCH", 1)
    monkeypatch.setattr(xvector, "FRAME_LAYERS", ((4, 5, 1), (6, 3, 2)))
    monkeypatch.setattr(xvector, "CROP", 16_000)
    model = xvector.train(run, people(rng, (*ACTORS, *CALLERS), each=3))
    assert len(model.class_names) == 5 * len((*ACTORS, *CALLERS))
    assert model.encoder.output_shape == (None, xvector.EMBEDDING)
    names = [layer.name for layer in model.encoder.layers]
    assert names[1:4] == ["input_contract", "log_mel", "frame_1"] and names[-2:] == [
        "statistics",
        "embedding",
    ]


def test_figures_are_of_studio_and_telephone_apart(rng):
    every = people(rng, (*ACTORS, *LEFT), each=2)
    pairs = voices.trials(every, (tuple(ACTORS + LEFT),))
    genuine = pairs[2]
    scores = {"sim": genuine + 0.0, "cosine": rng.normal(size=len(genuine))}
    rows = voice_classifiers.figures(scores, every, pairs)
    errors = [row for row in rows if row["metric"] == "eer"]
    assert [(row["domain"], row["score"]) for row in errors] == [
        ("studio", "sim"), ("studio", "cosine"), ("telephone", "sim"), ("telephone", "cosine"),
    ]  # fmt: skip
    assert errors[0]["value"] == errors[2]["value"] == 0
    assert [row["trials"] for row in errors] == [66, 66, 6, 6]


@pytest.mark.slow
def test_a_recipe_leaves_scores_of_all_folds_for_the_table(small, run, rng, monkeypatch):
    every = people(rng, (*ACTORS[:4], *CALLERS))
    monkeypatch.setattr(voices, "folds", functools.partial(voices.folds, count=2))
    monkeypatch.setattr("zoo.classifiers.STEPS_PER_EPOCH", 1)
    ge2e.cross_validate(run, encoder.window_vectors(every, models.ge2e(None)))
    with np.load(run.out / voices.SCORES) as found:
        assert {"first", "second", "fold", "sim", "cosine", "start", "converted"} <= set(found)
        assert len(found["sim"]) == len(found["first"]) and np.isfinite(found["sim"]).all()


@pytest.mark.slow
def test_the_encoder_alone_keeps_its_weights_and_has_figures_of_both_sets(small, rng):
    some = people(rng)
    some.signals[1::2] = some.signals[::2]  # the two recordings of a person are equal
    model = encoder_alone.network()
    z = keras_dml.embed(model, some.signals[:2])
    unchanged = keras_dml.embed(models.ge2e(None), some.signals[:2])
    np.testing.assert_allclose(z, unchanged, rtol=0, atol=1e-6)
    rows = encoder_alone.figures(model, *voices.of_test(some))
    assert [(row["domain"], row["metric"]) for row in rows] == [
        (domain, metric) for domain in ("studio", "telephone") for metric in ("eer", "auc")
    ]
    silence = 1e-6 * rng.normal(size=(16_000, 1)).astype("float32")
    padded = [np.concatenate([silence, signal, silence]) for signal in some.signals[:2]]
    speech = evidence.without_silence(model)
    near = np.abs(keras_dml.embed(speech, padded) - keras_dml.embed(speech, some.signals[:2])).max()
    assert near < 0.1 * np.abs(keras_dml.embed(model, padded) - z).max()
