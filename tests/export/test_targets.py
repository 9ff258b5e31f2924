"""Tests the table of models and targets: the comparison with Keras, the page, and the steps that
measure a cell."""

import json
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import pytest

from export import agreement, cells, runtimes, targets
from keras_dml import distances, zoo
from keras_dml._backend import keras
from keras_dml.zoo import lookup, reading
from tfds_builders.common.errors import MissingArchiveError

MODEL = "gait_lda"  # of people who walk, on all targets except TensorFlow Lite Micro
AGREEMENT = {
    "memory": 52_400_000,
    "before": 41_000_000,
    "version": "program 1.0",
    "drift": 2e-6,
    "difference": 3e-5,
    "flips": 2,
    "decisions": 7080,
    "recordings": 60,
    "steps": 512,
    "most": 60,
}


def reference(scores, thresholds=(), is_classifier=False):
    z = np.array([[3.0, 0.0], [0.0, 4.0], [0.0, 0.0]])
    return agreement.Reference(agreement.Outputs(z, scores), is_classifier, thresholds)


def test_distances_are_compared_with_hand_computed_figures():
    expected = np.array([[0, 1, 2], [1, 0, 6], [2, 6, 0]], float)
    actual = np.array([[9, 1.5, 2], [1.5, 9, 5.5], [2, 5.5, 9]])
    z = np.array([[3.0, 0.0], [0.0, 4.0], [0.5, 0.0]])
    compared = agreement.compare(
        agreement.Outputs(z, actual), reference(expected, thresholds=(1.2, 2.0, 5.7))
    )
    # 1 is accepted at 1.2 and 1.5 is not; 6 is rejected at 5.7 and 5.5 is not
    assert (compared.flips, compared.decisions) == (2, 9)
    assert compared.difference == pytest.approx(0.5 / np.std([1, 2, 6]))
    assert compared.drift == pytest.approx(0.5 / 5)  # RMS of 6 numbers: .5² and 3² + 4²
    assert compared.cell() == "2 of 9"


def test_only_the_named_pairs_are_compared():
    expected = np.array([[0, 1, 2], [1, 0, 6], [2, 6, 0]], float)
    actual = expected + np.array([[0, 0.5, 0], [0, 0, 3], [0, 0, 0]])
    pairs = np.zeros((3, 3), bool)
    pairs[0, 1:] = True
    right = reference(expected, thresholds=(1.2, 7.0))
    compared = agreement.compare(agreement.Outputs(right.outputs.embeddings, actual), right, pairs)
    assert (compared.flips, compared.decisions) == (1, 4)
    assert compared.difference == pytest.approx(0.5 / np.std([1, 2]))


def test_classes_with_the_highest_score_are_compared():
    expected = np.array([[0.1, 0.9], [0.8, 0.2], [0.6, 0.4]])
    actual = np.array([[0.1, 0.9], [0.8, 0.2], [0.3, 0.7]])
    right = reference(expected, is_classifier=True)
    compared = agreement.compare(agreement.Outputs(right.outputs.embeddings, actual), right)
    assert (compared.flips, compared.decisions, compared.drift) == (1, 3, 0.0)


def test_without_thresholds_nothing_is_decided():
    right = reference(np.arange(9.0).reshape(3, 3))
    compared = agreement.compare(right.outputs, right)
    assert compared.decisions == 0 and compared.cell() == "–"


def cell(folder, model, target, **results):
    made = targets.Cell(folder, model, target)
    made.folder.mkdir(exist_ok=True)
    for step, result in results.items():
        made.add(step, result)
    return made


def test_the_page_has_the_figures_and_the_reasons(tmp_path):
    full = {"export": {"bytes": 57_540}, "agreement": AGREEMENT, "milliseconds": {"ms": 0.061}}
    image = {**full, "agreement": {**AGREEMENT, "steps": None, "decisions": 0}}
    refused = {"export": {"refused": "The layer BiMap cannot be C. Use tflite."}}
    failed = {"export": {"bytes": 9}, "agreement": {"refused": "RuntimeError: no memory"}}
    page = targets.format_page(
        [
            cell(tmp_path, "gait", "litert", **full),
            cell(tmp_path, "gait", "c", **refused),
            cell(tmp_path, "gait", "onnx", **failed),
            cell(tmp_path, "mnist", "litert", **image),
            cell(tmp_path, "mnist", "c", **refused),
            cell(tmp_path, "voice", "litert"),
        ]
    )
    tables = [part.split("\n\n")[0].splitlines() for part in page.split("\n\n| model | ")[1:]]
    assert [len(table) for table in tables] == [4, 4, 5, 4, 4, 4]
    size, ms, memory, drift, difference, flips = (
        [[entry.strip() for entry in line.strip("|").split("|")] for line in table[-2:]]
        for table in tables
    )
    assert size[0] == ["gait", "57.5", "", "fails [2]", "", "", "refuses [1]", ""]
    assert ms[0][:3] == ["gait", "512", "0.06"] and ms[1][:2] == ["mnist", "an image"]
    assert (memory[0][1], drift[0][1], difference[0][1]) == ("52", "0.0002", "3e-05")
    assert flips[0][1:3] == ["60", "2 of 7,080"] and flips[1][1:3] == ["60", "–"]
    assert "| (before) | 41 |" in page and "program 1.0" in page
    assert "- Models without figures: voice.\n" in page and "| voice |" not in page
    assert "1. The layer BiMap cannot be C.\n2. RuntimeError: no memory.\n" in page


def test_an_interrupted_run_continues_with_the_missing_steps(tmp_path, monkeypatch):
    known = {"export": {"bytes": 9}, "agreement": AGREEMENT}
    cell(tmp_path, MODEL, "litert", **known)
    cell(tmp_path, MODEL, "c", export={"refused": "no layer."})
    done = []

    def run(step, unfinished, most):
        done.append((step, [cell.target for cell in unfinished], most))
        for cell in unfinished:
            cell.add(step, {"bytes": 1} if step == "export" else {**AGREEMENT, "ms": 0.5})

    monkeypatch.setattr(targets, "run", run)
    monkeypatch.setattr(targets, "find_missing_programs", lambda names: [])
    arguments = [MODEL, "--out", str(tmp_path), "--page", str(tmp_path / "page.md"), "--targets"]
    targets.main([*arguments, "litert", "c", "onnx"])
    assert done == [
        ("export", ["onnx"], 60),
        ("agreement", ["onnx"], 60),
        ("milliseconds", ["litert"], 60),
        ("milliseconds", ["onnx"], 60),
    ]
    done.clear()
    targets.main([*arguments, "litert", "onnx"])
    assert done == []
    targets.main([*arguments, "litert", "c", "--again", "milliseconds"])
    assert done == [("milliseconds", ["litert"], 60)]
    assert json.loads((tmp_path / MODEL / "litert.json").read_text())["agreement"] == AGREEMENT


def test_another_number_of_recordings_discards_the_results(tmp_path):
    made = cell(tmp_path, MODEL, "litert", export={"bytes": 9})
    (made.folder / cells.ABOUT).write_text(json.dumps({"most": 60}))
    targets.discard_other_recordings(made.folder, 60)
    assert made.folder.is_dir()
    targets.discard_other_recordings(made.folder, 61)
    assert not made.folder.exists()


@pytest.mark.parametrize("error", [None, FileNotFoundError, MissingArchiveError, ConnectionError])
def test_a_model_without_recordings_is_skipped(error, tmp_path, monkeypatch, capsys):
    """Tests that the other models are measured, and that the page lists the skipped model."""
    results = {
        "export": {"litert": {"bytes": 9}},
        "agreement": {key: AGREEMENT[key] for key in ("memory", "before", "version")},
        "milliseconds": {"ms": 0.5},
    }
    calls = []

    def find_nothing(*_):
        if error is not None:
            raise error("no archive")

    def run(command, **_):
        step, folder, *arguments = command[3:]
        calls.append((step, pathlib.Path(folder).name))
        result = results[step]
        if step == "export" and arguments[0] == "eye_lda":
            monkeypatch.setattr(agreement, "recordings_of", find_nothing)
            result = cells.write_files(pathlib.Path(folder), "eye_lda", 60, ["litert"])
        elif step == "export":
            z = np.arange(9, dtype=np.float32).reshape(3, 3)
            cells.write_about(pathlib.Path(folder), [np.zeros((512, 6))] * 3, 60)
            np.savez(pathlib.Path(folder, "litert.npz"), embeddings=z, scores=z)
            facts = {"is_classifier": False, "thresholds": [0.5]}
            np.savez(pathlib.Path(folder, "keras_device.npz"), embeddings=z, scores=z, **facts)
        return subprocess.CompletedProcess(command, 0, json.dumps(result), "")

    (tmp_path / MODEL).mkdir()
    monkeypatch.setattr(targets.subprocess, "run", run)
    monkeypatch.setattr(targets, "find_missing_programs", lambda names: [])
    page = tmp_path / "page.md"
    arguments = ["--out", str(tmp_path), "--page", str(page), "--targets", "litert"]
    targets.main(["eye_lda", MODEL, *arguments])
    assert calls == [
        ("export", "eye_lda"),
        *((step, MODEL) for step in ("export", "agreement", "milliseconds")),
    ]
    assert "eye_lda is skipped: " in capsys.readouterr().err
    (line,) = (line for line in page.read_text().splitlines() if "without figures: " in line)
    without = line.rstrip(".").partition(": ")[2].split(", ")
    assert "eye_lda" in without and MODEL not in without


def test_an_export_that_fails_ends_the_run(tmp_path, monkeypatch):
    failed = subprocess.CompletedProcess([], 1, "", "Traceback\nTypeError: no text")
    monkeypatch.setattr(targets.subprocess, "run", lambda *_, **__: failed)
    with pytest.raises(RuntimeError, match="TypeError: no text"):
        targets.run("export", [cell(tmp_path, MODEL, "litert")], 60)


def test_a_missing_program_is_named_before_the_work(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(runtimes.CLibrary, "commands", ("no-such-compiler",))
    with pytest.raises(SystemExit) as ended:
        targets.main([MODEL, "--targets", "c", "--out", str(tmp_path)])
    assert ended.value.code == 2 and "no-such-compiler" in capsys.readouterr().err


@pytest.fixture
def published(tmp_path):
    """Returns the folder of a model with the published file of LiteRT, three recordings and the
    outputs of Keras, which were stored with the model."""
    source = lookup.find(MODEL)
    recordings, z = reading.read_golden(source / "golden.npz")
    folder = tmp_path / MODEL
    folder.mkdir()
    shutil.copy(source / "model.tflite", folder / cells.FILES["litert"])
    arrays = {str(i): np.asarray(x, np.float32) for i, x in enumerate(recordings)}
    np.savez(folder / cells.RECORDINGS, **arrays)
    metric = distances.get(zoo.card(MODEL)["embedding"]["distance"])
    scores = np.asarray(metric(z, z))
    facts = {"recordings": len(z), "steps": max(map(len, recordings)), "most": 60}
    (folder / cells.ABOUT).write_text(json.dumps(facts))
    np.savez(
        folder / "keras_device.npz",
        embeddings=z,
        scores=scores,
        is_classifier=False,
        thresholds=[float(scores[0, 1]) + 0.01],
    )
    return folder


def test_a_cell_is_measured_in_its_own_process(published):
    pytest.importorskip("ai_edge_litert")
    made = cell(published.parent, MODEL, "litert", export={"bytes": 57_536})
    for step in ("agreement", "milliseconds"):
        targets.run(step, [made], 60)
    assert made.refusal() is None and made.missing() == []
    result = made.results["agreement"]
    assert result["drift"] < 1e-5 and result["flips"] == 0 and result["decisions"] > 0
    # the process imports neither Keras nor TensorFlow
    assert 20e6 < result["before"] < result["memory"] < 120e6
    assert 0.001 < made.results["milliseconds"]["ms"] < 50


def test_a_process_that_fails_is_a_reason(published):
    (published / cells.FILES["litert"]).write_bytes(b"no file")
    made = cell(published.parent, MODEL, "litert", export={"bytes": 7})
    targets.run("agreement", [made], 60)
    assert made.refusal() and made.missing() == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "names", "thresholds"),
    [
        ("gait_qp_wl", tuple(targets.TITLES), 4),
        ("watch_lda", ("litert-js",), 3),  # recordings of several lengths, padded
    ],
)
@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="TensorFlow writes the files")
def test_targets_agree_with_keras(model, names, thresholds, tmp_path, data_dir):
    names = [name for name in names if not runtimes.RUNTIMES[name].missing()]
    if not names:
        pytest.skip("the programs are not installed")
    page = tmp_path / "page.md"
    command = [sys.executable, targets.__file__, model, "--targets", *names]
    command += ["--out", tmp_path, "--page", page, "--recordings", "8"]
    subprocess.run([*map(str, command)], check=True)
    text = page.read_text()
    assert "refuses [" not in text and "fails [" not in text
    for name in names:
        made = targets.Cell(tmp_path, model, name)
        result = made.results["agreement"]
        bound = {"c": 0.03, "tflite-micro": 0.1}.get(name, 1e-5)
        assert result["drift"] < bound, name
        assert result["decisions"] == thresholds * 28
        assert result["flips"] <= (0 if bound == 1e-5 else 4), name
        assert result["memory"] > result["before"] > 0
        assert made.results["milliseconds"]["ms"] > 0
