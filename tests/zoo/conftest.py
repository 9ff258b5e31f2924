"""Fixtures of small untrained models, which are published like the trained models of recipes."""

import copy

import numpy as np
import pytest

from tests.zoo.cards import CARD, IMAGES


@pytest.fixture
def card():
    return copy.deepcopy(CARD)


@pytest.fixture
def images_card():
    return copy.deepcopy(IMAGES)


@pytest.fixture(scope="session")
def tiny_zoo(tmp_path_factory):
    """Returns the folder of a zoo with one model, `tiny`, whose files tests must not change."""
    from keras_dml import models
    from keras_dml.training import publish

    root = tmp_path_factory.mktemp("zoo")
    rng = np.random.default_rng(7)
    recordings = [rng.normal(size=(steps, 3)).astype(np.float32) for steps in (9, 12)]
    model = models.sequence_encoder(3, size="edge", knots=4, halvings=0)
    publish(root / "tiny", model, CARD, recordings)
    return root


@pytest.fixture(scope="session")
def pictures():
    """Returns a classifier of images after ten training steps, and its training images."""
    from keras_dml import models
    from keras_dml._backend import keras

    keras.utils.set_random_seed(3)
    rng = np.random.default_rng(3)
    labels = np.arange(30) % 3
    x = rng.uniform(0, 0.5, (30, 8, 8, 1)).astype(np.float32)
    x[labels == 0, :, :4] += 0.5
    x[labels == 1, :, 4:] += 0.5
    encoder = keras.Sequential(
        [
            keras.Input((8, 8, 1)),
            keras.layers.Conv2D(4, 3, activation="relu"),
            keras.layers.Flatten(),
            keras.layers.Dense(5),
        ]
    )
    names = IMAGES["data"]["train_classes"]
    model = models.PrototypicalClassifier(encoder, 3, hidden=(8,), class_names=names)
    model.compile("adam")
    model.fit(x, labels, batch_size=15, epochs=5, verbose=0)
    return model, x, labels


@pytest.fixture
def zoo_folder(tiny_zoo, tmp_path, monkeypatch):
    """Copies `tiny_zoo` and makes the copy the only zoo of the test."""
    import shutil

    from keras_dml.zoo import lookup

    folder = tmp_path / "models"
    shutil.copytree(tiny_zoo, folder)
    monkeypatch.setenv("KERAS_DML_ZOO", str(folder))
    monkeypatch.setattr(lookup, "_PACKAGE", tmp_path / "elsewhere" / "keras_dml")
    return folder
