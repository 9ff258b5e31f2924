"""Tests how the Omniglot recipe preprocesses drawings, and what it publishes."""

import numpy as np
import pytest

from keras_dml._backend import keras
from keras_dml.layers import LearnedSimilarity
from keras_dml.models import PrototypicalClassifier, conv4
from zoo import classifiers, recipe
from zoo.images import Drawings
from zoo.omniglot_proto_sim import evidence, train, trunks


@pytest.fixture
def drawings(rng):
    """Returns four drawings of three characters from two alphabets. The labels have gaps."""
    labels = np.repeat([3, 7, 8], 4)
    alphabets = np.repeat(["Ao", "Be", "Be"], 4)
    images = rng.random((12, 16, 16, 1)).astype("float32")
    return Drawings(images, labels, alphabets, np.arange(12) % 4)


def test_strokes_compare_by_shape_wherever_they_stand():
    bar = np.zeros((12, 12))
    bar[2:9, 3] = 0.4  # faint ink counts as ink
    moved, lying = np.roll(bar, (2, 5), axis=(0, 1)), bar.T
    places = [evidence.strokes(one) for one in (bar, moved, lying)]
    table = evidence.hausdorff(places, places)
    np.testing.assert_allclose(table[0, 1], 0, rtol=0, atol=1e-12)
    np.testing.assert_allclose(table, table.T, rtol=0, atol=1e-12)
    # The bars cross in the middle pixel. The seven pixels of a bar are 0 to 3 pixels away from it.
    assert table[0, 2] == pytest.approx(2 * (1 + 2 + 3) / 7)


def test_each_quarter_turn_of_a_character_is_a_class_of_its_own(drawings):
    x, y, alphabets = train.turned(drawings)
    assert x.shape == (48, 16, 16, 1) and len(np.unique(y)) == 12
    of_one = x[::12]  # four rotations of the same drawing
    assert len(set(y[::12].tolist())) == 4
    for quarter in range(4):
        np.testing.assert_array_equal(of_one[quarter], np.rot90(drawings.images[0], quarter))
        rows = slice(12 * quarter, 12 * (quarter + 1))
        np.testing.assert_array_equal(alphabets[rows], drawings.alphabets)


def test_drawings_are_varied_a_little_by_a_seed(rng):
    images = np.zeros((5, 56, 56, 1), "float32")
    images[:, 20:36, 20:36] = 1
    varied, again = (train.vary(images, np.random.default_rng(1)) for _ in range(2))
    np.testing.assert_array_equal(varied, again)
    assert varied.shape == images.shape and varied.dtype == np.float32
    assert varied.min() >= 0 and varied.max() <= 1.001
    for one in varied:
        assert 0.5 < one.sum() / images[0].sum() < 1.6  # most of the drawing remains
        center = np.argwhere(one[..., 0] > 0.5).mean(axis=0)
        assert np.abs(center - 27.5).max() < train.DISTORTION["shift"] + 1
    assert not np.array_equal(varied[0], varied[1])


@pytest.fixture
def small(monkeypatch):
    """Replaces the networks of the recipe by small ones, with epochs of two episodes."""
    monkeypatch.setattr(trunks, "SIDE", 32)
    monkeypatch.setattr(trunks, "COARSE", 2)
    monkeypatch.setattr(trunks, "WIDTHS", (2, 3, 4, 5))
    monkeypatch.setattr(train, "NETWORKS", 2)
    monkeypatch.setattr(train, "WAYS", 2)
    monkeypatch.setattr(train, "EXAMPLES", 3)
    monkeypatch.setattr(classifiers, "STEPS_PER_EPOCH", 2)


@pytest.fixture
def letters(rng):
    images = rng.random((12, 32, 32, 1)).astype("float32")
    return Drawings(images, np.repeat([0, 1, 2], 4), np.repeat("Ao", 12), np.arange(12) % 4)


def test_the_embedding_is_the_unit_vectors_of_all_networks_over_shifted_views(rng, small):
    parts = [trunks.trunk("one"), trunks.trunk("other")]
    x = rng.random((5, 32, 32, 1)).astype("float32")
    expected = []
    for one in parts:
        seen = [unit(np.asarray(one(shifted(x, *view)))) for view in trunks.VIEWS]
        expected.append(unit(np.sum(seen, axis=0)))
    found = trunks.side_by_side(parts)(x)
    np.testing.assert_allclose(found, np.concatenate(expected, axis=1), rtol=1e-4, atol=1e-6)


def unit(z):
    return z / np.linalg.norm(z, axis=1, keepdims=True)


def shifted(images, down, right):
    """Shifts images by some pixels and fills the border with background."""
    moved = np.roll(images, (down, right), axis=(1, 2))
    rows, columns = np.indices(images.shape[1:3])
    side = images.shape[1]
    inside = (0 <= rows - down) & (rows - down < side)
    inside &= (0 <= columns - right) & (columns - right < side)
    return moved * inside[..., None].astype("float32")


def test_the_similarity_of_the_networks_together_is_the_sum_of_theirs(rng):
    similarities = [LearnedSimilarity((3,), **train.SIMILARITY) for _ in range(3)]
    z, c = (rng.normal(size=(3, n, 4)).astype("float32") for n in (5, 7))
    expected = sum(
        np.asarray(one(z[i], c[i])) for i, one in enumerate(with_biases(rng, similarities))
    )
    whole = LearnedSimilarity((9,), **train.SIMILARITY)
    z, c = (
        np.concatenate(one / np.linalg.norm(one, axis=2, keepdims=True), axis=1) for one in (z, c)
    )
    whole(z, c)
    whole.set_weights(trunks.weights_of_sum([one.get_weights() for one in similarities]))
    np.testing.assert_allclose(whole(z, c), expected, rtol=1e-4, atol=1e-6)


def with_biases(rng, similarities):
    for one in similarities:
        one.build((None, 4), (None, 4))
        one.set_weights([rng.normal(size=weight.shape) for weight in one.get_weights()])
        yield one


@pytest.mark.slow
def test_a_run_trains_networks_of_their_own_seeds_and_goes_on_from_them(small, letters, tmp_path):
    def run(resume):
        one = recipe.Run("letters", tmp_path, tmp_path, 4, 0, resume)
        return train.train(one, letters, "float32")

    trained, again = run(resume=False), run(resume=True)
    (first, _), (second, _) = trained
    assert not np.array_equal(first.get_weights()[0], second.get_weights()[0])
    for (one, similarity), (other, same) in zip(trained, again, strict=True):
        for kept, read in zip(
            (*one.get_weights(), *similarity), (*other.get_weights(), *same), strict=True
        ):
            np.testing.assert_array_equal(kept, read)
    assert keras.config.dtype_policy().name == "float32"


def test_the_published_classifier_knows_the_characters_as_they_stand(drawings):
    encoder = conv4((16, 16, 1), width=4, blocks=2)
    model = PrototypicalClassifier(encoder, 12, aux="am", hidden=(5,), **train.SIMILARITY)
    similarity = model.prototypes_layer.similarity.get_weights()
    published = trunks.upright([(encoder, similarity)] * 2, drawings, 5, **train.SIMILARITY)
    assert published.class_names == ["Ao 3", "Be 7", "Be 8"] and published.aux_head is None
    z = np.asarray(published.embed(drawings.images))
    np.testing.assert_allclose(published.prototypes[1], z[4:8].mean(axis=0), rtol=1e-5)
    alone = trunks.side_by_side([encoder])(drawings.images)
    twice = 2 * np.asarray(model.similarity(alone, alone))
    np.testing.assert_allclose(published.similarity(z, z), twice, rtol=1e-4, atol=1e-6)
