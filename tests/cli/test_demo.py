"""Tests that `keras-dml demo` works with the published model and with untrained models."""

import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

import numpy as np
import pytest

import keras_dml
from keras_dml import gallery, recordings, zoo
from keras_dml._backend import tensorflow
from keras_dml.cli import _console, _demo
from keras_dml.export import litert

ROOT = pathlib.Path(__file__).parents[2]
MODEL = "watch_lda"
WRITTEN = {"who.png", "who.svg", "walkers.db", "recordings", "figures.json"}


def demo(*words, **environment):
    """Runs `keras-dml demo` in a subprocess."""
    return subprocess.run(
        [sys.executable, "-m", "keras_dml.cli", "demo", *map(str, words)],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )


@pytest.fixture(scope="module")
def demo_run(tmp_path_factory):
    """Runs the demo with the published model, and returns the process and the output folder."""
    out = tmp_path_factory.mktemp("demo") / "a [folder]"
    done = demo("--out", out)
    assert done.returncode == 0, done.stderr
    return done, out


@pytest.fixture(scope="module")
def figures(demo_run):
    return json.loads((demo_run[1] / "figures.json").read_text())


@pytest.fixture(scope="module")
def nearest():
    """Computes the smallest distance of each new walk to each walker, without a gallery.

    The result is `{(file, person): distance}`.
    """
    walkers, stranger = _demo.WALKERS, _demo.STRANGER
    values = {
        person: [
            recordings.read(path, ["x", "y", "z"], resample_hz=50).values
            for path in sorted((_demo.WALKS / person).glob("*.csv"))
        ]
        for person in (*walkers, stranger)
    }
    model = zoo.load(MODEL)
    unit = {}
    for person, walks in values.items():
        z = keras_dml.embed(model, walks)
        unit[person] = z / np.linalg.norm(z, axis=1, keepdims=True)
    result = {}
    for person, z in unit.items():
        first = 0 if person == stranger else 5
        for number in range(first, len(z)):
            for claimed in walkers:
                file = f"recordings/new/{person}-{number + 1:02d}.csv"
                result[file, claimed] = -(unit[claimed][:5] @ z[number]).max()
    return result


@pytest.mark.slow
def test_decisions_follow_from_distances_and_the_card_threshold(figures, nearest):
    (limit,) = (
        row["value"] for row in zoo.card(MODEL)["thresholds"] if row["far"] == figures["far"]
    )
    assert figures["threshold"] == limit and figures["provisional"]
    assert len(figures["claims"]) == len(nearest) == 72
    for claim in figures["claims"]:
        score = nearest[claim["file"], claim["claim"]]
        assert claim["score"] == pytest.approx(score, abs=1e-4)
        assert claim["accepted"] == (score <= limit)
    for file, person in figures["identified"].items():
        scores = {who: nearest[file, who] for who in _demo.WALKERS}
        best = min(scores, key=scores.get)
        assert person == (best if scores[best] <= limit else None)


@pytest.mark.slow_on_jax
def test_counts_agree_with_the_decisions(demo_run, figures):
    claims = [(claim["of"] == claim["claim"], claim["accepted"]) for claim in figures["claims"]]
    owners = {file: pathlib.Path(file).name[:3] for file in figures["identified"]}
    expected = {
        "true claims accepted": [accepted for is_true, accepted in claims if is_true],
        "false claims rejected": [not accepted for is_true, accepted in claims if not is_true],
        "walks identified": [
            figures["identified"][file] == who for file, who in owners.items() if who != "s17"
        ],
        "stranger taken for nobody": [
            figures["identified"][file] is None for file, who in owners.items() if who == "s17"
        ],
    }
    assert [len(right) for right in expected.values()] == [14, 58, 14, 10]
    printed = demo_run[0].stdout.split("All decisions")[1]
    for kind, right in expected.items():
        assert figures["counts"][kind] == {"right": sum(right), "of": len(right)}
        assert f"{sum(right)} of {len(right)}" in printed


def test_nearly_all_decisions_are_right(figures):
    for kind, count in figures["counts"].items():
        assert count["right"] >= 0.9 * count["of"], kind


def test_the_model_was_not_trained_on_people_of_the_demo(figures):
    trained = set(zoo.card(MODEL)["data"]["train_subjects"])
    assert list(figures["enrolled"]) == ["s05", "s21", "s22"] and figures["strangers"] == ["s17"]
    assert trained and not trained & {*figures["enrolled"], *figures["strangers"]}


def test_the_threshold_and_the_figures_of_the_card_are_printed(demo_run):
    printed = " ".join(demo_run[0].stdout.split())
    card = zoo.card(MODEL)
    (row,) = (row for row in card["thresholds"] if row["far"] == 0.01)
    low, high = (100 * bound for bound in row["certificate"]["ci95"])
    assert "provisional" in printed and f"{low:.1f} to {high:.1f} %" in printed
    for row in card["headline"]["rows"][1:3]:
        assert f"{100 * row['value']:.1f} % [{100 * row['ci95'][0]:.1f} to" in printed


def test_the_readme_shows_the_output_of_the_demo(demo_run):
    page = (ROOT / "README.md").read_text()
    (lines,) = re.findall(r"^```\n(true claims .*?)^```$", page, re.DOTALL | re.MULTILINE)
    assert len(lines.splitlines()) == 4
    for line in lines.splitlines():
        assert line in demo_run[0].stdout
    text = " ".join(page.split())
    rows = {row["metric"]: row for row in zoo.card(MODEL)["headline"]["rows"]}
    for metric in ("eer", "tar_at_far_0.01"):
        low, high = (100 * bound for bound in rows[metric]["ci95"])
        assert f"{100 * rows[metric]['value']:.1f} % [{low:.1f} to {high:.1f}]" in text


def commands(printed):
    """Returns the gallery commands that the demo printed, as lists of words, with their output."""
    lines = re.findall(r"^keras-dml (\w+ walkers\.db .*)\n(.*)", printed, re.MULTILINE)
    return [(shlex.split(words), answer) for words, answer in lines if "volunteers" not in words]


def test_people_are_enrolled_and_each_decision_is_printed(demo_run):
    answers = commands(demo_run[0].stdout)
    assert [words[0] for words, _ in answers] == [
        *["enroll"] * 3,
        *["verify"] * 2,
        *["identify"] * 4,
    ]
    for words, answer in answers:
        if words[0] != "enroll":
            assert re.search("(: right|: wrong)$", answer), answer


@pytest.mark.slow
def test_the_printed_commands_give_the_printed_decisions(demo_run, figures, command, monkeypatch):
    monkeypatch.chdir(demo_run[1])
    accepted = {(claim["file"], claim["claim"]): claim["accepted"] for claim in figures["claims"]}
    answers = commands(demo_run[0].stdout)
    for words, _ in answers:
        if words[0] == "enroll":
            code, out, err = command("enroll", "again.db", *words[2:], "--json")
            assert code == 0 and len(json.loads(out)["kept"]) == 5, err
    for words, _ in answers:
        for people in ("walkers.db", "again.db"):
            if words[0] == "verify":
                code, out, err = command("verify", people, *words[2:], "--json")
                assert json.loads(out)["accepted"] == accepted[words[3], words[2]], err
            if words[0] == "identify":
                code, out, err = command("identify", people, *words[2:], "--json")
                assert json.loads(out)["person"] == figures["identified"][words[2]], err


@pytest.mark.slow
def test_a_second_demo_enrolls_nobody_twice(tmp_path):
    first, second = (_demo.run(tmp_path) for _ in range(2))
    assert first["counts"] == second["counts"]
    people = gallery.people(tmp_path / "walkers.db")
    assert people == first["enrolled"] == dict.fromkeys(_demo.WALKERS, 5)


def test_stages_are_printed_on_stderr(demo_run):
    lines = demo_run[0].stderr.strip().splitlines()
    stages = [line[:3] for line in lines if not line.startswith("No")]
    assert stages == [f"{i}/5" for i in range(1, 6 if tensorflow.is_backend() else 5)]


def test_the_picture_the_gallery_and_the_recordings_are_written_and_listed(demo_run):
    done, out = demo_run
    names = {path.name for path in out.iterdir()} - {"again.db"}
    device = {f"{MODEL}.tflite"} if tensorflow.is_backend() else set()
    assert names == WRITTEN | device
    assert (out / "who.png").read_bytes().startswith(b"\x89PNG")
    summary = done.stdout.split("Written to")[1]
    for name in {*names, f"keras-dml card {MODEL}"} - {"who.svg"}:
        assert name in summary


def test_the_demo_prints_no_embeddings(demo_run):
    done, out = demo_run
    lines = done.stdout + done.stderr
    assert "[[" not in lines and "array(" not in lines
    assert (out / "walkers.db").stat().st_mode & 0o077 == 0


@pytest.mark.slow
@pytest.mark.skipif(not tensorflow.is_backend(), reason="TensorFlow writes the file")
def test_the_device_file_answers_like_keras(demo_run, figures):
    paths = sorted((demo_run[1] / "recordings/new").glob("*.csv"))[:3]
    walks = [recordings.read(path, ["x", "y", "z"], resample_hz=50).values for path in paths]
    by_file = litert.embed(demo_run[1] / f"{MODEL}.tflite", walks)
    by_keras = keras_dml.embed(zoo.load(MODEL), walks)
    assert len(walks) == 3
    assert np.sqrt(np.mean((by_file - by_keras) ** 2)) < 0.05 * np.sqrt(np.mean(by_keras**2))
    assert figures["device"]["drift"] < 0.05


@pytest.fixture
def folders(monkeypatch):
    """Returns the output folders of demos. A stub replaces the demo itself."""
    names = []

    def run(out):
        names.append(out.name)
        _console.echo("a table")
        return {"model": MODEL}

    monkeypatch.setattr(_demo, "run", run)
    return names


def test_json_output_is_one_object(command, folders, tmp_path):
    code, out, err = command("demo", "--out", tmp_path, "--json")
    assert code == 0, err
    assert json.loads(out) == {"model": MODEL}


def test_the_demo_writes_into_a_folder_of_its_name(command, folders, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for words in ([], ["--out", "a"]):
        assert command("demo", *words)[0] == 0
    assert folders == ["keras-dml-demo", "a"]


@pytest.mark.slow
def test_a_damaged_model_is_one_clear_error(command, zoo_folder, tmp_path):
    (zoo_folder / MODEL / "model.tflite").write_bytes(b"PK")
    code, _, err = command("demo", "--out", tmp_path / "demo")
    assert code == 2
    assert f"{MODEL} is damaged" in err and "Traceback" not in err
    assert not (tmp_path / "demo").exists()


@pytest.mark.slow
def test_a_folder_that_cannot_be_made_is_one_clear_error(command, zoo_folder, tmp_path):
    (tmp_path / "file").touch()
    code, _, err = command("demo", "--out", tmp_path / "file")
    assert code == 2
    assert "Error: The folder" in err and "cannot be created" in err and "file" in err


def test_ctrl_c_says_how_to_go_on(command, zoo_folder, tmp_path, monkeypatch):
    def stopped(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(_demo.edge, "load", lambda name: None)  # the untrained model has no file
    monkeypatch.setattr(_demo, "copy_walks", stopped)
    assert command("demo", "--out", tmp_path / "demo")[0] == 130
    assert not (tmp_path / "demo").exists()
