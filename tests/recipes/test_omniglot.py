"""What the Omniglot recipe makes of drawings, and what it publishes."""

import numpy as np
import pytest

from keras_dml._backend import keras
from keras_dml.models import PrototypicalClassifier, conv4
from zoo import classifiers, recipe
from zoo.images import Drawings
from zoo.omniglot_proto_sim import train, trunks


@pytest.fixture
def drawings(rng):
    """Three characters of two alphabets, four drawings each; labels have gaps."""
    labels = np.repeat([3, 7, 8], 4)
    alphabets = np.repeat(["Ao", "Be", "Be"], 4)
    images = rng.random((12, 16, 16, 1)).astype("float32")
    return Drawings(images, labels, alphabets, np.arange(12) % 4)


def test_each_quarter_turn_of_a_character_is_a_class_of_its_own(drawings):
    x, y = train.turned(drawings)
    assert x.shape == (48, 16, 16, 1) and len(np.unique(y)) == 12
    of_one = x[::12]  # one drawing, four times
    assert len(set(y[::12].tolist())) == 4
    for quarter in range(4):
        np.testing.assert_array_equal(of_one[quarter], np.rot90(drawings.images[0], quarter))


def test_drawings_are_varied_a_little_by_a_seed(rng):
    images = np.zeros((5, 28, 28, 1), "float32")
    images[:, 10:18, 10:18] = 1
    varied, again = (train.vary(images, np.random.default_rng(1)) for _ in range(2))
    np.testing.assert_array_equal(varied, again)
    assert varied.shape == images.shape and varied.dtype == np.float32
    assert varied.min() >= 0 and varied.max() <= 1.001
    for one in varied:
        assert 0.5 < one.sum() / images[0].sum() < 1.6  # the drawing is still there
        center = np.argwhere(one[..., 0] > 0.5).mean(axis=0)
        assert np.abs(center - 13.5).max() < train.DISTORTION["shift"] + 1
    assert not np.array_equal(varied[0], varied[1])


@pytest.fixture
def small(monkeypatch):
    """The recipe with two trunks of a few weights, and epochs of two episodes."""
    monkeypatch.setattr(trunks, "WIDTHS", ((2, True), (4, True)))
    monkeypatch.setattr(trunks, "EMBEDDING", 3)
    monkeypatch.setattr(trunks, "KINDS", {trunks.linear: (2, 0.5)})
    monkeypatch.setattr(train, "WAYS", 2)
    monkeypatch.setattr(train, "EXAMPLES", 3)
    monkeypatch.setattr(train, "SIMILARITY_STEPS", 2)
    monkeypatch.setattr(classifiers, "STEPS_PER_EPOCH", 2)


@pytest.fixture
def letters(rng):
    images = rng.random((12, 28, 28, 1)).astype("float32")
    return Drawings(images, np.repeat([0, 1, 2], 4), np.repeat("Ao", 12), np.arange(12) % 4)


def test_the_embedding_is_the_unit_vectors_of_all_trunks(rng, small):
    parts = [trunks.linear("small"), trunks.linear("other"), trunks.flat("flat")]
    x = rng.random((5, 28, 28, 1)).astype("float32")
    alone = [np.asarray(one(x)) for one in parts]
    expected = [z / np.linalg.norm(z, axis=1, keepdims=True) for z in alone]
    found = trunks.side_by_side(parts)(x)
    np.testing.assert_allclose(found, np.concatenate(expected, axis=1), rtol=1e-5)


def test_a_run_trains_trunks_of_their_own_seeds_and_goes_on_from_them(small, letters, tmp_path):
    def run(resume):
        one = recipe.Run("letters", tmp_path, tmp_path, 4, 0, resume)
        return train.train(one, letters, "float32")

    model, again = run(resume=False), run(resume=True)
    first, second = (model.encoder.get_layer(name) for name in ("linear_0", "linear_1"))
    assert not np.array_equal(first.get_weights()[0], second.get_weights()[0])
    assert model.trainable_weights and model.encoder.trainable
    for one, other in zip(model.get_weights(), again.get_weights(), strict=True):
        np.testing.assert_array_equal(one, other)
    assert keras.config.dtype_policy().name == "float32"


def test_the_published_classifier_knows_the_characters_as_they_stand(drawings):
    encoder = conv4((16, 16, 1), width=4, blocks=2)
    model = PrototypicalClassifier(encoder, 12, aux="am", **train.SIMILARITY)
    published = trunks.upright(model, drawings, **train.SIMILARITY)
    assert published.class_names == ["Ao 3", "Be 7", "Be 8"] and published.aux_head is None
    z = np.asarray(model.embed(drawings.images))
    np.testing.assert_allclose(published.prototypes[1], z[4:8].mean(axis=0), rtol=1e-5)
    np.testing.assert_allclose(published.similarity(z, z), model.similarity(z, z), rtol=1e-5)
