"""The demo, run as a person runs it, on untrained models."""

import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra.numpy import arrays

from keras_dml import gallery, recordings, zoo
from keras_dml.cli import (
    _console,
    _demo_files,
    _demo_gallery,
    _demo_recordings,
    _demo_stages,
    _demo_trials,
)
from keras_dml.export import litert
from tests.cli.walks import write_archive

ROOT = pathlib.Path(__file__).parents[2]
PICTURES = {"roc_det.png", "scores.png", "two_people.png", "who.png", "why.png"}


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
    scores, owners, people = _demo_trials.scores_by_person(
        distances, recordings.probe_people, recordings.enrolled_people, 1
    )
    answers = re.findall(r"^keras-dml identify .*speaker-(\d)\.csv.*\n(.*)$", page, re.MULTILINE)
    assert len(answers) == 3
    for speaker, answer in answers:
        expected = dict(zip(people[:3], scores[np.flatnonzero(owners == speaker)[0]], strict=False))
        told = {name: float(score) for name, score in re.findall(r"r-(\d) ([\d.]+)", answer)}
        assert told == pytest.approx(expected, abs=1e-2)
        nearest = min(expected, key=expected.get)
        accepted = expected[nearest] <= card["thresholds"][0]["value"]
        assert answer.startswith(f"speaker-{nearest} (" if accepted else "a stranger (")
        assert answer.endswith(": right" if accepted or speaker == "9" else ": wrong")


def commands(printed):
    """The commands on the gallery that the demo has printed, as words, and the answer to each."""
    found = re.findall(r"^keras-dml (.* people\.db .*)\n(.*)", printed, re.MULTILINE)
    return [(shlex.split(words), answer) for words, answer in found]


def test_people_are_enrolled_and_each_decision_is_told(ran):
    told = commands(ran[0].stdout)
    assert [words[0] for words, _ in told] == [
        *["enroll"] * 3,
        "calibrate",
        *["verify"] * 2,
        *["identify"] * 4,
        "explain",
    ]
    for words, answer in told:
        if words[0] in ("verify", "identify"):
            assert re.search("(: right|: wrong)$", answer), answer
    assert "3 people support" in dict((words[0], answer) for words, answer in told)["calibrate"]


def test_the_printed_commands_decide_as_is_printed(ran, command, zoo_folder, monkeypatch):
    monkeypatch.chdir(ran[1])
    decided = json.loads(pathlib.Path("figures.json").read_text())["gallery"]
    told = [words for words, _ in commands(ran[0].stdout)]
    answers = {}
    for words in told:
        if words[0] in ("verify", "identify"):
            code, out, err = command(*words, "--json")
            assert code in (0, 1), err
            answers.setdefault(words[0], []).append(json.loads(out))
    accepted = [one["accepted"] for one in answers["verify"]]
    assert accepted == [one["accepted"] for one in decided["verified"]]
    people = [one["person"] for one in answers["identify"]]
    assert people == list(decided["identified"].values())
    gallery, *rest = told[0][1:]
    code, out, err = command("enroll", zoo_folder / f"again-{gallery}", *rest, "--json")
    assert code == 0 and len(json.loads(out)["kept"]) == 30, err


def test_a_second_demo_enrolls_nobody_twice(zoo_folder, tmp_path):
    card = zoo.card("vowels_qp_wl")
    recordings = _demo_recordings.vowels(card["data"]["train_subjects"])
    for _ in range(2):
        found, _ = _demo_gallery.show("vowels_qp_wl", card["input"], recordings, 1.0, tmp_path)
    assert found["stranger"] == "speaker-9"
    people = gallery.people(tmp_path / "people.db")
    assert people == found["enrolled"] == {f"speaker-{i}": 30 for i in (6, 7, 8)}


@given(arrays(np.float32, (5, 2), elements={"allow_nan": False, "allow_infinity": False}))
def test_files_hold_recordings_exactly(tmp_path_factory, recording):
    path = tmp_path_factory.mktemp("files") / "new" / "0.csv"
    takes = {"channels": ["x", "level 1"], "units": ["g", "1"], "rate_hz": 156.25}
    _demo_files.write(path, recording, takes)
    found = recordings.read(path, takes["channels"])
    np.testing.assert_array_equal(found.values.astype(np.float32), recording)
    assert found.rate_hz == pytest.approx(156.25) and list(found.units) == ["g", None]


def test_stages_are_told_on_stderr_and_nothing_else(ran):
    lines = ran[0].stderr.strip().splitlines()
    assert [line[:3] for line in lines] == [f"{i}/7" for i in range(1, 8)]


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


def test_templates_are_in_the_gallery_alone(ran):
    done, out = ran
    lines = done.stdout + done.stderr
    assert "[[" not in lines and "array(" not in lines
    results = {path.suffix for path in out.iterdir() if path.is_file()}
    assert results == {".png", ".svg", ".csv", ".json", ".tflite", ".db"}
    assert (out / "people.db").stat().st_mode & 0o077 == 0
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
