"""Tests the files of published models that `keras_dml.edge` loads, and their agreement with
Keras."""

import json
import shutil

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

import keras_dml
from export import agreement
from keras_dml import edge, zoo
from keras_dml.gallery.keras_model import KerasModel
from keras_dml.zoo import reading
from zoo import edge_files, evidence


@pytest.fixture
def published(tiny_zoo, tmp_path, monkeypatch):
    """Returns a copy of a zoo with one model, `tiny`, into which the command writes its file."""
    shutil.copytree(tiny_zoo / "tiny", tmp_path / "tiny")
    monkeypatch.setattr(evidence, "ZOO", tmp_path)
    monkeypatch.setenv("KERAS_DML_ZOO", str(tmp_path))
    app = typer.Typer()
    app.command()(edge_files.main)
    done = CliRunner().invoke(app, ["tiny"])
    assert done.exit_code == 0 and done.output.startswith("tiny: "), done.output
    return tmp_path / "tiny"


@pytest.mark.slow
def test_a_published_file_is_loaded_by_name_and_checked(published):
    file = published / "model.tflite"
    card = json.loads((published / "card.json").read_text())
    assert card["edge"] == {"file": file.name, "sha256": reading.sha256(file)}
    model, reference = edge.load("tiny"), zoo.load("tiny")
    recordings = [np.random.default_rng(seed).normal(size=(12 + seed, 3)) for seed in range(4)]
    expected = keras_dml.embed(reference, recordings)
    np.testing.assert_allclose(model.embed(recordings), expected, rtol=1e-4, atol=1e-5)
    assert model.fingerprint == KerasModel(reference).fingerprint
    file.write_bytes(file.read_bytes()[:-1] + b"\x01")
    with pytest.raises(ValueError, match=card["edge"]["sha256"]):
        edge.load("tiny")


@pytest.mark.slow
def test_scores_of_real_recordings_agree_with_keras(tmp_path, data_dir):
    """Tests that scores differ by at most a thousandth of their standard deviation, and that no
    decision flips."""
    name = "vowels_qp_wl"
    keras_dml.export.tflite(name, tmp_path / "model.tflite", None)
    card, model = zoo.card(name), edge.load(tmp_path)
    signals = agreement.recordings_of(card)
    z = model.embed(signals)
    reference = agreement.by_keras(zoo.load(name), card, signals)
    compared = agreement.compare(agreement.Outputs(z, model.distance(z, z)), reference)
    pairs = len(signals) * (len(signals) - 1) // 2
    assert len(signals) >= 40 and compared.difference <= 1e-3
    assert (compared.flips, compared.decisions) == (0, 3 * pairs)
