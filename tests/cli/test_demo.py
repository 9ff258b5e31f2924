"""The demo, run as a person runs it, on untrained models."""

import json
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

from keras_dml import zoo
from keras_dml.cli import _console, _demo_recordings, _demo_stages, _demo_trials
from keras_dml.export import litert
from tests.cli.walks import write_archive

ROOT = pathlib.Path(__file__).parents[2]
PICTURES = {"roc_det.png", "scores.png", "two_people.png"}


def demo(zoo_folder, *words):
    """Runs `keras-dml demo` in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "keras_dml.cli", "demo", *map(str, words)],
        cwd=ROOT,
        env={**os.environ, "KERAS_DML_ZOO": str(zoo_folder), "KERAS_BACKEND": "tensorflow"},
        capture_output=True,
        text=True,
    )


@pytest.fixture(scope="module")
def ran(untrained_zoo, tmp_path_factory):
    """What the demo on speakers printed, and where it wrote."""
    out = tmp_path_factory.mktemp("demo") / "a [folder]"
    done = demo(untrained_zoo, "--out", out)
    assert done.returncode == 0, done.stderr
    return done, out


def test_figures_are_printed_with_their_counts(ran):
    printed = ran[0].stdout
    for part in ("AUC", "EER", "identified", "mean ± s.e.", "119 + 310", "of 119"):
        assert part in printed, part
    assert {f"speaker {i}" for i in range(6, 10)} <= set(re.findall(r"speaker \d", printed))


def test_all_claims_under_one_threshold_are_printed_with_intervals_over_people(ran):
    printed, (one, five) = (
        ran[0].stdout,
        json.loads((ran[1] / "figures.json").read_text())["pooled"],
    )
    assert "in brackets 95 % intervals over 4 speakers" in printed
    for found, genuine in ((one, 143), (five, 27)):
        low, high = (100 * bound for bound in found["ci95"]["eer"])
        line = f"EER {100 * found['eer']:.1f} % [{low:.1f} to {high:.1f} %]"
        assert line in printed and found["genuine_trials"] == genuine
        assert f"({genuine} genuine, {3 * genuine:,} imposter trials)" in printed


def test_the_published_model_has_the_figures_of_its_card_and_of_the_projects_page():
    card = zoo.card("vowels_qp_wl")
    recordings = _demo_recordings.vowels(card["data"]["train_subjects"])
    _, distances = _demo_stages.embed_all(zoo.load("vowels_qp_wl"), recordings)
    found = _demo_stages.repeat(distances, recordings)[1][1]
    for row in card["headline"]["rows"]:
        figures = _demo_trials.pooled_figures(1, found)
        assert figures[row["metric"]] == pytest.approx(row["value"], abs=1e-3)
        assert figures["ci95"][row["metric"]] == pytest.approx(row["ci95"], abs=1e-3)
    page = (ROOT / "README.md").read_text()
    for line in str(found).splitlines():
        assert line in page


def test_each_decision_is_told(ran):
    assert len(re.findall("(accepted|rejected) +(right|wrong)", ran[0].stdout)) == 3


def test_stages_are_told_on_stderr_and_nothing_else(ran):
    lines = ran[0].stderr.strip().splitlines()
    assert [line[:3] for line in lines] == [f"{i}/6" for i in range(1, 7)]


def test_pictures_figures_and_the_device_file_are_written(ran):
    _, out = ran
    names = {path.name for path in out.iterdir()}
    assert PICTURES | {"figures.json", "vowels_qp_wl.tflite", "roc_det.csv"} <= names
    assert not [name for name in names if name.startswith(".")]
    for name in PICTURES:
        assert (out / name).read_bytes().startswith(b"\x89PNG")


def test_what_is_written_is_listed(ran):
    done, out = ran
    summary = done.stdout.split("Written to")[1]
    for name in (*PICTURES, "figures.json", "vowels_qp_wl.tflite", "keras-dml card vowels_qp_wl"):
        assert name in summary


def test_programs_get_the_printed_figures(ran):
    done, out = ran
    repetitions = json.loads((out / "figures.json").read_text())["repetitions"]
    assert [(one["observed"], one["imposters"]) for one in repetitions] == [
        (count, [speaker]) for count in (1, 5) for speaker in "6789"
    ]
    for one in repetitions:
        assert f"{100 * one['verification_eer']:.1f} %" in done.stdout


def test_no_template_is_printed_or_written(ran, untrained_zoo, monkeypatch):
    done, out = ran
    lines = done.stdout + done.stderr
    assert "[[" not in lines and "array(" not in lines
    assert {path.suffix for path in out.iterdir()} == {".png", ".svg", ".csv", ".json", ".tflite"}
    for table in out.glob("*.csv"):
        assert table.stem != "two_people"


def test_the_device_file_answers_like_keras(ran, untrained_zoo):
    import keras_dml

    speakers = _demo_recordings.vowels(list("12345")).probes[:3]
    by_file = litert.embed(ran[1] / "vowels_qp_wl.tflite", speakers)
    by_keras = keras_dml.embed(zoo.load(untrained_zoo / "vowels_qp_wl"), speakers)
    assert np.sqrt(np.mean((by_file - by_keras) ** 2)) < 0.05 * np.sqrt(np.mean(by_keras**2))


def test_walkers_outside_the_training_are_shown(untrained_zoo, tmp_path):
    write_archive(tmp_path, people=range(1, 8), trials=(1, 2))
    words = ("gait", "--manual-dir", tmp_path, "--data-dir", tmp_path / "prepared")
    done = demo(untrained_zoo, *words, "--out", tmp_path / "demo")
    assert done.returncode == 0, done.stderr
    assert "Here are 5 others: 10 windows to enroll, 10 to observe later" in done.stdout
    assert "CC BY-NC-SA" in done.stdout
    names = {path.name for path in (tmp_path / "demo").iterdir()}
    assert PICTURES | {"figures.json", "gait_qp_wl.tflite"} <= names


@pytest.fixture
def stages(monkeypatch):
    """Folders that the stages of the demo were asked to write into, instead of a demo."""
    asked = []

    def show(name, get_recordings, out):
        asked.append(out.name)
        _console.echo("a table")
        return {"model": name}

    monkeypatch.setattr(_demo_stages, "show", show)
    return asked


def test_programs_get_one_json_object(command, stages, tmp_path):
    for words in (["--json"], ["--json", "gait", "--manual-dir", "."]):
        code, out, err = command("demo", "--out", tmp_path, *words)
        assert code == 0, err
        assert json.loads(out) == {"model": "gait_qp_wl" if "gait" in words else "vowels_qp_wl"}


def test_the_demos_write_beside_each_other(command, stages, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for words in ([], ["gait", "--manual-dir", "."], ["--out", "a", "gait", "--manual-dir", "."]):
        assert command("demo", *words)[0] == 0
    assert stages == ["keras-dml-demo", "keras-dml-demo-gait", "a"]


def test_walkers_need_the_data_extra_and_say_so_first(command, stages, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    code, _, err = command("demo", "gait")
    assert code == 2 and 'pip install "keras-dml[data]"' in err and stages == []


def test_walkers_need_the_folder_of_the_archive(command, stages):
    code, _, err = command("demo", "gait")
    assert code == 2 and "GaitData.zip" in err and stages == []


def test_a_missing_archive_is_one_clear_error(command, zoo_folder, tmp_path):
    words = ("demo", "gait", "--manual-dir", tmp_path, "--data-dir", tmp_path / "prepared")
    code, _, err = command(*words, "--out", tmp_path / "a" / "demo")
    assert code == 2
    assert "Error: ipol_gait: no GaitData.zip" in err and "Traceback" not in err
    assert not (tmp_path / "a").exists()


def test_a_damaged_model_is_one_clear_error(command, zoo_folder, tmp_path):
    (zoo_folder / "vowels_qp_wl" / "model.keras").write_bytes(b"PK")
    code, _, err = command("demo", "--out", tmp_path / "demo")
    assert code == 2
    assert "damaged, cut, or was replaced" in err and "Traceback" not in err
    assert not (tmp_path / "demo").exists()


def test_a_folder_that_cannot_be_made_is_one_clear_error(command, zoo_folder, tmp_path):
    (tmp_path / "file").touch()
    code, _, err = command("demo", "--out", tmp_path / "file")
    assert code == 2
    assert "Error: There can be no folder" in err and "file" in err


def test_ctrl_c_says_how_to_go_on(command, zoo_folder, tmp_path, monkeypatch):
    def stopped(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(_demo_recordings, "vowels", stopped)
    assert command("demo", "--out", tmp_path / "demo")[0] == 130
    assert not (tmp_path / "demo").exists()
