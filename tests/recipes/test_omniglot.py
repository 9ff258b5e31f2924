"""What the Omniglot recipe makes of drawings, and what it publishes."""

import numpy as np
import pytest

from keras_dml.models import PrototypicalClassifier, convolutional
from zoo.images import Drawings
from zoo.omniglot_proto_sim import train


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
        centre = np.argwhere(one[..., 0] > 0.5).mean(axis=0)
        assert np.abs(centre - 13.5).max() < train.SHIFT + 1
    assert not np.array_equal(varied[0], varied[1])


def test_the_published_classifier_knows_the_characters_as_they_stand(drawings):
    encoder = convolutional((16, 16, 1), width=4, blocks=2)
    model = PrototypicalClassifier(encoder, 12, aux="am", **train.SIMILARITY)
    published = train.upright(model, drawings)
    assert published.class_names == ["Ao 3", "Be 7", "Be 8"] and published.aux_head is None
    z = np.asarray(model.embed(drawings.images))
    np.testing.assert_allclose(published.prototypes[1], z[4:8].mean(axis=0), rtol=1e-5)
    np.testing.assert_allclose(published.similarity(z, z), model.similarity(z, z), rtol=1e-5)
