"""Tests that `train` writes TFLite files, and states in the card how each file changes the AUC."""

import importlib.util
import json

import numpy as np
import pytest

import keras_dml
from keras_dml import edge, export, quality, zoo
from keras_dml._backend import tensorflow
from keras_dml.export import litert, operators
from keras_dml.training import People
from keras_dml.training.own import exports, task
from tests.training.own.conftest import CHANNELS, WINDOW, recordings_of
from tests.training.own.test_task import SMALL

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("ai_edge_litert") is None or not tensorflow.is_backend(),
    reason="needs LiteRT and the TensorFlow backend",
)


@pytest.fixture
def people():
    signals, subjects = recordings_of(4)
    return task.split_sides(People(signals, subjects, [1] * len(signals)))[0]


@pytest.mark.slow
@pytest.mark.parametrize("numbers", ["float32", "float16"])
def test_tflite_files_are_written_into_the_folder_of_the_model(made, numbers):
    file = exports.path(made.folder, numbers)
    operators.check_builtin(file)
    window = recordings_of(6)[0][0][: round(WINDOW * 20)]
    by_keras = zoo.load(str(made.folder))(window[None])
    found = litert.embed(file, [window])
    np.testing.assert_allclose(found, by_keras, rtol=0, atol=1e-2 * np.abs(by_keras).max())
    contract = export.contract(file)
    assert contract["channels"] == list(CHANNELS) and contract["rate_hz"] == 20
    values = [row["value"] for row in made.card["thresholds"]]
    assert [row["value"] for row in contract.get("thresholds", [])] == values


@pytest.mark.slow
def test_a_file_judges_recordings_as_the_quality_gate_of_the_model(made):
    model = edge.load(exports.path(made.folder, "float32"))
    gate = quality.gate_of(zoo.load(str(made.folder)))
    signals = recordings_of(4)[0]
    loose = signals[0].copy()
    loose[:, 2] = 30 * loose[:, 0] + 0.01 * loose[:, 2]
    signals = [loose, np.zeros_like(loose) + np.arange(3), *signals]
    reasons = gate.refused(signals)
    assert gate.potato is not None and {0, 1} <= set(reasons)
    assert model.unfit(signals) == reasons


@pytest.mark.slow
def test_a_gallery_needs_no_keras_for_the_model(made, tmp_path):
    """Tests that the card names the float32 file, by the folder and by the .keras file."""
    file = exports.path(made.folder, "float32")
    assert made.card["edge"]["file"] == file.name
    signals, people = recordings_of(4)
    enrolled = [
        signal for signal, person in zip(signals, people, strict=True) if person == people[0]
    ]
    with keras_dml.Gallery(tmp_path / "keras.db", made.folder) as gallery:
        gallery.enroll("a", enrolled)
        expected = gallery.verify("a", signals[-1], threshold=1.0)
    with edge.Gallery(tmp_path / "keras.db") as gallery:
        actual = gallery.verify("a", signals[-1], threshold=1.0)
        assert gallery.provisional and gallery.model.card == made.card
    assert actual.score == pytest.approx(expected.score, rel=1e-3, abs=1e-5)
    assert edge.can_load(made.folder / "model.keras")


@pytest.mark.slow
def test_card_and_page_list_each_file(made):
    assert made.not_exported is None
    card = json.loads((made.folder / "card.json").read_text())
    assert card == made.card
    rows = card["exports"]
    assert [row["quantization"] for row in rows] == [None, "float16"]
    assert [row["bytes"] for row in rows] == [
        exports.path(made.folder, numbers).stat().st_size for numbers in exports.QUANTIZATIONS
    ]
    assert rows[0]["drift"] < 1e-4 and all(abs(row["auc_change"]) < 0.01 for row in rows)
    page = (made.folder / "README.md").read_text()
    assert "## Exports" in page and "| tflite | float16 |" in page
    assert card["exports_are"] in page


def test_a_missing_extra_is_named(train, monkeypatch):
    monkeypatch.setattr(exports, "QUANTIZATIONS", {"float32": None})
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    found = train(people=2)
    assert 'pip install "keras-dml[edge]"' in found.not_exported
    assert "\n" not in found.not_exported and "phone_float32.tflite" in found.not_exported
    assert found.card["exports"] == [] and "exports_are" not in found.card
    assert zoo.load(str(found.folder)) is not None


@pytest.mark.slow
def test_files_of_an_earlier_model_are_deleted(train, tmp_path, monkeypatch):
    monkeypatch.setattr(exports, "QUANTIZATIONS", {"float32": None})
    file = exports.path(train(people=2).folder, "float32")
    assert file.is_file()
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    train(people=3, replace=True)
    assert not file.exists()


@pytest.mark.slow
def test_the_change_in_auc_is_unknown_for_one_person(train, monkeypatch):
    monkeypatch.setattr(exports, "QUANTIZATIONS", {"float32": None})
    found = train(people=1)
    assert found.card["exports"][0]["auc_change"] is None
    assert "| – |" in (found.folder / "README.md").read_text().split("## Exports")[1]


def test_each_side_has_the_same_number_of_windows(people):
    lonely = People([np.zeros((40, 3), "float32")], ["lonely"], [1])
    found = exports._windows(SMALL, people + lonely)
    sides = list(zip(found.subjects, found.sessions, strict=True))
    assert "lonely" not in found.subjects
    assert {sides.count(side) for side in sides} == {exports.PER_SIDE}
    assert exports._windows(SMALL, lonely).subjects == ["lonely"]
