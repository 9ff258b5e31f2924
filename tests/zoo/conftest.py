"""A small untrained model, published as a recipe publishes its trained one."""

import copy

import numpy as np
import pytest

from tests.zoo.cards import CARD


@pytest.fixture
def card():
    return copy.deepcopy(CARD)


@pytest.fixture(scope="session")
def tiny_zoo(tmp_path_factory):
    """Folder of a zoo that holds one model, `tiny`; tests copy what they change."""
    from keras_dml import models
    from zoo.publish import publish

    root = tmp_path_factory.mktemp("zoo")
    rng = np.random.default_rng(7)
    recordings = [rng.normal(size=(steps, 3)).astype(np.float32) for steps in (9, 12)]
    model = models.sequence_encoder(3, size="edge", knots=4, halvings=0)
    publish(root / "tiny", model, CARD, recordings)
    return root


@pytest.fixture
def zoo_folder(tiny_zoo, tmp_path, monkeypatch):
    """A copy of that zoo which is the zoo of this test, and the only one."""
    import shutil

    from keras_dml.zoo import lookup

    folder = tmp_path / "models"
    shutil.copytree(tiny_zoo, folder)
    monkeypatch.setenv("KERAS_DML_ZOO", str(folder))
    monkeypatch.setattr(lookup, "_PACKAGE", tmp_path / "elsewhere" / "keras_dml")
    return folder
