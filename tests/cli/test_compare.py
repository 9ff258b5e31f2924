"""Tests of `keras-dml compare`, which compares two recordings without a gallery."""

import json

import numpy as np
import pytest

import keras_dml
from keras_dml import recordings, zoo
from keras_dml._backend import keras
from keras_dml.cli import compare
from keras_dml.layers import InputContract, QuantileLayer

CHANNELS = zoo.card("vowels_qp_wl")["input"]["channels"]
STDDEV = zoo.card("vowels_qp_wl")["quality"]["stddev"]


@pytest.fixture
def utterances(tmp_path):
    """Returns the paths of two recordings with twelve channels of different levels."""
    paths = []
    for level in (0, 5):
        values = np.random.default_rng(level).normal(level / 10, 1, (30, 12)) * STDDEV
        paths.append(tmp_path / f"{level}.csv")
        np.savetxt(paths[-1], values, delimiter=",", header=",".join(CHANNELS), comments="")
    return paths


def run_json(command, *words):
    code, out, err = command("compare", *words, "--json")
    assert code == 0, err
    return json.loads(out)


@pytest.mark.slow
def test_compare_prints_the_model_distance_and_the_card_thresholds(command, utterances):
    result = run_json(command, *utterances, "--model", "vowels_qp_wl")
    model = zoo.load("vowels_qp_wl")
    z = keras_dml.embed(model, [recordings.read(path).values for path in utterances])
    assert result["distance"] == pytest.approx(
        keras_dml.distance(model, z[:1], z[1:])[0, 0], rel=1e-5
    )
    rows = zoo.card("vowels_qp_wl")["thresholds"]
    assert rows and [row["value"] for row in result["thresholds"]] == [row["value"] for row in rows]
    assert [row["accepted"] for row in result["thresholds"]] == [
        result["distance"] <= row["value"] for row in rows
    ]
    code, out, _ = command("compare", *utterances, "--model", "vowels_qp_wl", "--distances")
    (accepted,) = (row["accepted"] for row in result["thresholds"] if row["far"] == 0.01)
    assert ("accepted as one person" in out, "rejected as" in out) == (accepted, not accepted)
    assert code == 0 and f"distance {result['distance']:.4g}" in out
    assert f"{rows[0]['value']:.4g}" in out and "1 %" in out
    mean = zoo.card("vowels_qp_wl")["imposters"]["mean"]
    expected = 100 * (mean - result["distance"]) / mean
    assert result["closeness"] == pytest.approx(max(expected, 0), abs=0.1)
    near = run_json(command, utterances[0], utterances[0], "--model", "vowels_qp_wl")
    assert near["distance"] < 1e-3 and all(row["accepted"] for row in near["thresholds"])


def test_thresholds_of_every_zoo_card_can_be_printed():
    """Some cards store the interval of the false accept rate in `certificate`, others directly."""
    cards = [card for name in zoo.list_models() if (card := zoo.card(name)).get("thresholds")]
    assert len(cards) > 5
    for card in cards:
        for row in card["thresholds"]:
            cells = compare._judged(row, row["value"], None)
            assert cells[1:3] == ("accepted", f"{100 * row['far']:g} %"), card["name"]


@pytest.mark.slow
def test_cosine_distances_are_printed_as_closeness(command, tmp_path):
    card = zoo.card("gait_lda")
    assert card["embedding"]["distance"] == "cosine"
    paths = []
    for seed in range(2):
        values = np.random.default_rng(seed).normal(size=(600, 6)) * card["quality"]["stddev"]
        paths.append(tmp_path / f"{seed}.csv")
        header = ",".join(card["input"]["channels"])
        np.savetxt(paths[-1], values, delimiter=",", header=header, comments="")
    code, out, err = command("compare", *paths, "--model", "gait_lda")
    assert code == 0, err
    assert out.startswith("closeness ") and "-0." not in out


@pytest.mark.slow
def test_a_model_without_a_card_gives_only_the_distance(command, tmp_path):
    signal = keras.Input((None, 2))
    inputs = InputContract(["x", "y"], "g", 50, min_steps=10, max_steps=100)(signal)
    keras.Model(signal, QuantileLayer(6)(inputs), name="own").save(tmp_path / "own.keras")
    for name, steps in (("a", 40), ("b", 250)):  # the second recording is cut into windows
        values = np.random.default_rng(steps).normal(size=(steps, 2))
        np.savetxt(tmp_path / f"{name}.csv", values, delimiter=",", header="x,y", comments="")
    words = (tmp_path / "a.csv", tmp_path / "b.csv", "--model", tmp_path / "own.keras")
    result = run_json(command, *words)
    assert result["distance"] > 0 and result["thresholds"] == []
    code, out, _ = command("compare", *words)
    assert code == 0 and "no threshold" in out


@pytest.mark.slow
def test_invalid_recordings_are_refused(command, utterances, tmp_path):
    a, b = utterances
    wrong = tmp_path / "wrong.csv"
    wrong.write_text("x,y\n1,2\n")
    for words, part in (
        ((a, tmp_path / "gone.csv"), "gone.csv"),
        ((a, tmp_path), "Name one file"),
        ((a, ""), "empty"),
        ((a, wrong), f"no column '{CHANNELS[0]}'"),
    ):
        code, out, err = command("compare", *words, "--model", "vowels_qp_wl")
        assert (code, out) == (2, "") and part in " ".join(err.split())
    assert "Did you mean" in command("compare", a, b, "--model", "vowels_qp")[2]
    assert command("compare", a, b)[0] == 2
