"""Tests input contracts and thresholds in exported files."""

import collections
import json
import os
import subprocess
import sys

import numpy as np
import pytest

import keras_dml
from keras_dml import distances, export, inputs, layers, models, zoo
from keras_dml._backend import keras
from keras_dml.export import _contract, _flatbuffer, litert
from keras_dml.zoo import schema
from tests.export.conftest import CHANNELS, build, sample
from tests.zoo.cards import CARD

READ_FROM_THE_MODEL = {
    "model": {"file": "model.keras", "sha256": "0" * 64, "parameters": 1},
    "embedding": {"shape": [3], "distance": "wasserstein"},
    "golden": {"input": "golden.npz", "atol": 1e-5},
    "exports": [],
}


@pytest.fixture(scope="module")
def model():
    contract = layers.InputContract(["x", "y", "β"], "g", 50, min_steps=4, max_steps=500)
    contract.adapt([sample(90, CHANNELS, seed) for seed in range(3)])
    return models.with_contract(build(layers.QuantileLayer(knots=4)), contract)


@pytest.fixture(scope="module")
def files(model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("contract")
    return {
        "tflite": export.tflite(model, folder / "model.tflite", None),
        "saved_model": export.saved_model(model, folder / "model"),
    }


def declared(model):
    return model.layers[0].contract.as_dict()


@pytest.mark.slow
@pytest.mark.parametrize("form", ["tflite", "saved_model"])
def test_a_file_carries_the_contract_of_its_model(model, files, form):
    assert export.contract(files[form].path) == declared(model)


@pytest.mark.slow
def test_contract_adds_no_signature(model, files, recordings):
    valid = [recording for recording in recordings if len(recording) >= 4]
    actual = litert.embed(files["tflite"].path, valid)
    np.testing.assert_allclose(actual, keras_dml.embed(model, valid), rtol=1e-4, atol=1e-5)
    plain = build(layers.QuantileLayer(knots=4))
    second = export.tflite(plain, files["tflite"].path.with_name("plain.tflite"), None)
    with_contract, without = (
        [collections.Counter(graph) for graph in export.operators.operators(path)]
        for path in (files["tflite"].path, second.path)
    )
    assert len(with_contract) == len(without)
    extra = sum((a - b for a, b in zip(with_contract, without, strict=True)), collections.Counter())
    assert extra.keys() <= {"GREATER_EQUAL", "LESS_EQUAL", "LOGICAL_AND", "MINIMUM"}
    assert extra.total() <= 2
    with pytest.raises(ValueError, match="plain.tflite contains no input contract"):
        export.contract(second.path)


def test_it_is_read_without_tensorflow(files):
    program = (
        "import sys; from keras_dml import export; print(export.contract(sys.argv[1])['rate_hz']); "
        "assert not {'tensorflow', 'keras', 'jax'} & set(sys.modules)"
    )
    for made in files.values():
        command = [sys.executable, "-c", program, str(made.path)]
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ})
        assert done.stdout.strip() == "50", done.stderr


@pytest.mark.slow
def test_a_zoo_model_brings_its_thresholds_and_their_rule(tmp_path):
    card = zoo.card("vowels_qp_wl")
    made = export.tflite("vowels_qp_wl", tmp_path / "vowels.tflite", None)
    actual = export.contract(made.path)
    assert actual["channels"] == card["input"]["channels"] and actual["rate_hz"] == 156.25
    assert actual["distance"] == "wasserstein"
    assert {row["far"]: row["value"] for row in actual["thresholds"]} == {
        row["far"]: row["value"] for row in card["thresholds"]
    }
    (threshold,) = (row for row in actual["thresholds"] if row["far"] == 0.01)
    assert "the nearest of" in threshold["rule"] and "is at most 9.81799" in threshold["rule"]


@pytest.mark.slow
def test_a_file_carries_the_thresholds_of_the_distance_that_it_computes(tmp_path):
    """Tests a model of matrices whose file compares tangent vectors instead of matrices."""
    card = zoo.card("eeg_spdnet_rpl")
    made = export.tflite("eeg_spdnet_rpl", tmp_path / "eeg.tflite", None)
    actual = export.contract(made.path)
    assert len(actual["channels"]) == 64 and actual["distance"] == "log_euclidean"
    rows = card["device_thresholds"]
    assert rows and {row["distance"] for row in rows} == {"log_euclidean"}
    assert [(item["far"], item["value"]) for item in actual["thresholds"]] == [
        (row["far"], row["value"]) for row in rows
    ]
    assert "note" not in actual and made.notes == ()


def test_a_file_of_another_distance_says_why_it_carries_no_threshold():
    metric = distances.get("cosine")
    model = keras.Sequential([keras.Input((None, CHANNELS)), layers.SequencePooling()])
    kind, card = inputs.from_model(model), {**CARD, **READ_FROM_THE_MODEL}
    assert not schema.problems(card)
    (row,) = card["thresholds"]
    of_card = json.loads(_contract.contract_json(kind, "wasserstein", card))
    assert (
        of_card["distance"] == "wasserstein" and of_card["thresholds"][0]["value"] == row["value"]
    )
    second = json.loads(_contract.contract_json(kind, metric.name, card))
    assert second["distance"] == "cosine" and second["thresholds"] == []
    assert "wasserstein" in second["note"] and "no threshold" in second["note"]
    device = {**row, "distance": "cosine", "value": 0.5}
    measured = {**card, "device_thresholds": [device]}
    (actual,) = json.loads(_contract.contract_json(kind, metric.name, measured))["thresholds"]
    assert actual["value"] == 0.5
    (actual,) = json.loads(_contract.contract_json(kind, "wasserstein", measured))["thresholds"]
    assert actual["value"] == row["value"]


def test_thresholds_of_another_scoring_do_not_apply_to_distances():
    model = keras.Sequential([keras.Input((None, CHANNELS)), layers.SequencePooling()])
    kind, card = inputs.from_model(model), {**CARD, **READ_FROM_THE_MODEL}
    card["thresholds"] = [{**row, "scoring": "mean"} for row in card["thresholds"]]
    card["scoring"] = {"name": "mean", "choice": "chosen on other people", "rivals": []}
    contract = json.loads(_contract.contract_json(kind, "wasserstein", card))
    assert contract["thresholds"] == [] and "scoring 'mean'" in contract["note"]


@pytest.mark.parametrize("quantization", ["dynamic", "int8"])
def test_a_file_with_weights_of_8_bits_says_why_it_carries_no_threshold(quantization):
    model = keras.Sequential([keras.Input((None, CHANNELS)), layers.SequencePooling()])
    kind, card = inputs.from_model(model), {**CARD, **READ_FROM_THE_MODEL}
    for form in (None, "float16"):
        values = json.loads(_contract.contract_json(kind, "wasserstein", card, quantization=form))
        assert values["thresholds"] and "note" not in values
    values = json.loads(
        _contract.contract_json(kind, "wasserstein", card, quantization=quantization)
    )
    assert values["thresholds"] == [] and "8 bits" in values["note"]
    assert values["distance"] == "wasserstein"


@pytest.mark.slow
@pytest.mark.parametrize("quantization", [None, "float16", "dynamic"])
def test_files_of_the_zoo_carry_thresholds_unless_their_weights_have_8_bits(quantization, tmp_path):
    made = export.tflite("watch_lda", tmp_path / "watch.tflite", quantization)
    contract = export.contract(made.path)
    notes = [contract["note"]] if quantization == "dynamic" else []
    assert list(made.notes) == notes
    values = [row["value"] for row in contract["thresholds"]]
    expected = [row["value"] for row in zoo.card("watch_lda")["thresholds"]]
    assert values == ([] if notes else expected)


def test_files_without_a_contract_are_named(tmp_path):
    with pytest.raises(FileNotFoundError):
        export.contract(tmp_path / "none.tflite")
    with pytest.raises(ValueError, match="contains no input contract"):
        export.contract(tmp_path)


@pytest.mark.parametrize("content", [b"", b"notes", b"A long walk on a sunny afternoon."])
def test_a_file_that_is_not_a_tflite_file_is_named(tmp_path, content):
    file = tmp_path / "notes.tflite"
    file.write_bytes(content)
    with pytest.raises(ValueError, match="notes.tflite is damaged") as refused:
        export.contract(file)
    assert type(refused.value) is ValueError


def test_metadata_entries_without_a_name_or_data():
    kinds = _flatbuffer.schema()

    def written(*entries):
        """Returns the bytes of a model with the names and the data of metadata entries."""
        model = kinds.ModelT()
        model.buffers, model.metadata = [kinds.BufferT()], []
        for name, data in entries:
            entry, buffer = kinds.MetadataT(), kinds.BufferT()
            entry.name, entry.buffer = name, len(model.buffers)
            buffer.data = data
            model.metadata.append(entry)
            model.buffers.append(buffer)
        return _flatbuffer.write(model)

    data = np.frombuffer(b"{}", np.uint8)
    blob = written((None, data), (None, data), ("other", None), ("wanted", data))
    assert _flatbuffer.metadata(blob, "wanted") == b"{}"
    assert _flatbuffer.metadata(blob, "missing") is None
    with pytest.raises(ValueError, match="'other' has no data"):
        _flatbuffer.metadata(blob, "other")
