"""Fixtures that run commands in this process, and that provide a zoo of untrained models."""

import copy
import shutil

import numpy as np
import pytest

from keras_dml import cli
from keras_dml.zoo import lookup
from tests.zoo.cards import CARD

INPUTS = {
    "watch_lda": {
        "channels": ["x", "y", "z"],
        "trained": ["s01"],
        "units": ["m/s2"] * 3,
        "rate_hz": 50,
    },
    "gait_qp_wl": {"channels": ["LAX", "LAY", "LAZ", "LRX", "LRY", "LRZ"], "trained": ["1", "2"]},
    "vowels_qp_wl": {"channels": [f"LPC{i}" for i in range(1, 13)], "trained": list("12345")},
}


@pytest.fixture
def command(capsys):
    """Returns a function that runs `keras-dml` and returns exit code, stdout and stderr."""

    def run(*words):
        try:
            cli.main([str(word) for word in words])
            code = 0
        except SystemExit as stop:
            code = stop.code or 0
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run


@pytest.fixture(scope="session")
def untrained_zoo(tmp_path_factory):
    """Folder of a zoo with an untrained model for each name in `INPUTS`."""
    from keras_dml import models
    from keras_dml.training import publish

    root = tmp_path_factory.mktemp("zoo")
    for name, inputs in INPUTS.items():
        channels = len(inputs["channels"])
        card = copy.deepcopy(CARD)
        card["name"] = name
        card["input"] |= {"channels": inputs["channels"], "units": ["1"] * channels}
        card["input"] |= {key: inputs[key] for key in ("units", "rate_hz") if key in inputs}
        card["data"] |= {"train_subjects": inputs["trained"], "test_subjects": []}
        model = models.sequence_encoder(channels, knots=4, halvings=0)
        publish(root / name, model, card, [np.zeros((9, channels))])
    return root


@pytest.fixture
def zoo_folder(untrained_zoo, tmp_path, monkeypatch):
    """Copy of the untrained zoo, which is the only zoo during the test."""
    folder = tmp_path / "models"
    shutil.copytree(untrained_zoo, folder)
    monkeypatch.setenv("KERAS_DML_ZOO", str(folder))
    monkeypatch.setattr(lookup, "_PACKAGE", tmp_path / "elsewhere" / "keras_dml")
    return folder
