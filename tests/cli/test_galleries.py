"""Tests of the gallery commands that load a model, such as enroll, verify and calibrate."""

import contextlib
import json
import os
import re
import shutil
import sqlite3
import threading

import numpy as np
import pytest

from keras_dml import cli, recordings, zoo
from keras_dml import gallery as galleries
from keras_dml._backend import keras
from keras_dml._messages import Message
from keras_dml.cli import _console
from keras_dml.layers import InputContract, QuantileLayer, SequencePooling

RATE_HZ, STEPS = 50, 40
NAMES = ("alice", "bob")
FAR = "0.02"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """Writes a model that computes quantile functions of the channels. Returns the folder."""
    signal = keras.Input((None, 3))
    inputs = InputContract(["x", "y", "z"], "g", RATE_HZ, min_steps=10, max_steps=100)(signal)
    folder = tmp_path_factory.mktemp("own") / "phone"
    folder.mkdir()
    keras.Model(signal, QuantileLayer(6)(inputs), name="phone").save(folder / "model.keras")
    return folder


class Walks:
    """Writes CSV files with walks of people, whose channels have different levels."""

    def __init__(self, root, seed=0):
        self._root, self._rng = root, np.random.default_rng(seed)

    def file(self, person, name="new.csv", steps=STEPS, header="t,x (g),y (g),z (g)"):
        level = np.random.default_rng([*person.encode()]).normal(scale=10, size=3)
        times = np.arange(steps)[:, None] / RATE_HZ
        values = np.hstack([times, self._rng.normal(level, 1, (steps, 3))])
        path = self._root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = [",".join(f"{value:.4f}" for value in row) for row in values]
        path.write_text("\n".join([header, *lines]))
        return path

    def folder(self, people, name="walks", count=4):
        for person in people:
            for i in range(count):
                self.file(person, f"{name}/{person}/{i}.csv")
        return self._root / name


@pytest.fixture
def walks(tmp_path):
    return Walks(tmp_path)


@pytest.fixture(scope="module")
def calibrated(model, tmp_path_factory):
    """Creates a gallery of Alice and Bob with a calibrated threshold. Returns its path."""
    folder = tmp_path_factory.mktemp("calibrated")
    walks, db = Walks(folder, seed=1), folder / "family.db"
    volunteers = walks.folder([f"volunteer {i}" for i in range(60)], "volunteers", count=2)
    root = walks.folder(NAMES)
    calls = [["calibrate", db, volunteers, "--far", FAR, "--model", model]]
    calls += [["enroll", db, name, root / name] for name in NAMES]
    for words in calls:
        with pytest.raises(SystemExit, match="^0$"):
            cli.main(list(map(str, words)))
    return db


@pytest.fixture
def family(calibrated, walks, tmp_path):
    """Copies the gallery of Alice and Bob, writes more of their walks, and returns the path of the
    copy."""
    walks.folder(NAMES)
    return shutil.copy(calibrated, tmp_path / "family.db")


@pytest.fixture
def notes(monkeypatch):
    """Returns the notes that commands print on stderr, without the titles of stages."""
    messages = []
    monkeypatch.setattr(_console, "note", messages.append)
    monkeypatch.setattr(_console, "stage", lambda *_: contextlib.nullcontext())
    return messages


def run_json(command, *words):
    """Runs a command with `--json`, and returns the exit status and the JSON object."""
    code, out, err = command(*words, "--json")
    assert "Traceback" not in err and code in (0, 1), err
    return code, json.loads(out)


def run_failing(command, *words):
    """Runs a command that must fail with status 2 and print only an error. Returns the error."""
    code, out, err = command(*words)
    assert (code, out) == (2, "") and "Traceback" not in err
    return re.search(r"Error: (.*)\n\(--debug", err, re.DOTALL)[1]


def test_a_gallery_is_enrolled_with_a_scoring(command, model, walks, tmp_path):
    folder, db = tmp_path / "squared", tmp_path / "new.db"
    folder.mkdir()
    signal = keras.Input((None, 3))
    inputs = InputContract(["x", "y", "z"], "g", RATE_HZ, min_steps=10, max_steps=100)(signal)
    keras.Model(signal, QuantileLayer(6, p=2)(inputs)).save(folder / "model.keras")
    root = walks.folder(["alice"], count=2)
    words = ["enroll", db, "alice", root / "alice"]
    assert "'nearest'" in run_failing(command, *words, "--model", model, "--scoring", "mean")
    assert not db.exists()
    run_json(command, *words, "--model", folder, "--scoring", "mean")
    assert run_json(command, "info", db)[1]["scoring"] == "mean"
    error = run_failing(command, *words, "--scoring", "nearest")
    assert error.startswith("--scoring is 'nearest'") and "'mean'" in error


def test_files_are_enrolled_and_the_model_is_remembered(command, model, walks, tmp_path):
    db, files = tmp_path / "family.db", [walks.file("alice", f"{i}.csv") for i in range(2)]
    code, out, _ = command("enroll", db, "alice", *files, "--model", model)
    assert code == 0 and "alice: 2 of 2 files enrolled, 2 recordings in all" in out
    again = walks.file("alice", "3.csv")
    code, result = run_json(command, "enroll", db, "alice", again)
    state = result.pop("completeness")
    assert state["recordings"] == 3 and "another day" in state["advice"]
    assert (code, result) == (
        0,
        {
            "person": "alice",
            "kept": [str(again)],
            "refused": {},
            "repeated": {},
            "enrolled": 3,
            "notes": {},
        },
    )


@pytest.mark.slow
def test_a_file_that_is_given_twice_counts_once(command, model, walks, tmp_path):
    db = tmp_path / "family.db"
    first, second = walks.file("alice", "1.csv"), walks.file("alice", "2.csv")
    copy = tmp_path / "copy.npy"
    np.save(copy, np.loadtxt(first, delimiter=",", skiprows=1)[:, 1:])
    words = ("enroll", db, "alice", first, second, first, copy, "--channels", "x,y,z")
    code, result = run_json(command, *words, "--model", model)
    assert code == 0 and result["kept"] == [str(first), str(second)] and result["enrolled"] == 2
    assert result["repeated"] == {str(first): str(first), str(copy): str(first)}
    code, out, _ = command(*words)
    assert code == 0 and f"{copy} is enrolled already" in out and "2 recordings in all" in out
    assert command("enroll", db, "bob", walks.file("bob"))[0] == 0
    code, out, _ = command("enroll", db, "bob", copy, "--channels", "x,y,z")
    assert code == 2 and "'alice'" in out and "'bob'" in out


@pytest.mark.slow
def test_a_tree_of_people_is_enrolled(command, model, walks, tmp_path):
    root, db = walks.folder(["alice", "bob", "carol"], "people", count=3), tmp_path / "family.db"
    for i in range(2):
        walks.file("dora", f"people/dora/monday/{i}.csv")
    walks.file("dora", "people/dora/friday/0.csv")
    short = walks.file("bob", "people/bob/short.csv", steps=5)
    broken = walks.file("carol", "people/carol/broken.csv")
    broken.write_text("x,y\n1,2\n")
    (root / "alice" / "notes.docx").touch()
    words = ("enroll", db, root, "--model", model)
    code, result = run_json(command, *words)
    assert code == 1 and galleries.people(db) == {"alice": 3, "bob": 3, "carol": 3, "dora": 3}
    assert (result["kept"], result["refused"], result["repeated"]) == (12, 2, 0)
    assert result["left_out"] == [str(root / "alice" / "notes.docx")]
    refused = {path: name for name, each in result["people"].items() for path in each["refused"]}
    assert refused == {str(short): "bob", str(broken): "carol"}
    assert result["people"]["dora"]["kept"][0] == str(root / "dora" / "friday" / "0.csv")
    code, out, _ = command(*words)
    assert code == 1 and "4 of 4 people are enrolled. 0 of 14 files were enrolled now" in out
    assert "and 2 files were refused" in out
    assert f"refused: {short} has 5 steps" in out and f"{broken}, line 1" in out
    assert galleries.people(db) == {"alice": 3, "bob": 3, "carol": 3, "dora": 3}


def test_a_person_whose_name_is_refused_does_not_lose_the_others(command, model, walks, tmp_path):
    root, db = walks.folder(["alice ", "bob", "carol"], "people", count=2), tmp_path / "a.db"
    (root / "carol" / "0.csv").write_bytes((root / "bob" / "0.csv").read_bytes())
    code, result = run_json(command, "enroll", db, root, "--model", model)
    assert code == 1 and galleries.people(db) == {"bob": 2, "carol": 1}
    reasons = result["people"]["alice "]["refused"].values()
    assert len(reasons) == 2 and all("begin or end with a space" in reason for reason in reasons)
    (reason,) = result["people"]["carol"]["refused"].values()
    assert "'bob'" in reason


@pytest.mark.slow
def test_a_table_of_people_is_enrolled(command, model, walks, tmp_path):
    root, db = walks.folder(NAMES), tmp_path / "family.db"
    lines = [f"walks/{name}/0.csv,{name}" for name in NAMES]
    (tmp_path / "table.csv").write_text("\n".join(["path,person", *lines]))
    assert command("enroll", db, tmp_path / "table.csv", "--model", model)[0] == 0
    assert galleries.people(db) == {"alice": 1, "bob": 1}
    for path in (root / "alice", tmp_path / "gone", root / "alice" / "0.csv"):
        text = " ".join(
            run_failing(command, "enroll", tmp_path / "b.db", path, "--model", model).split()
        )
        assert "PERSON FILES" in text
    assert not (tmp_path / "b.db").exists()
    (root / "alice" / "1.csv").write_text("x,y\n1,2\n")
    for file in (tmp_path / "walks" / "bob").iterdir():
        file.unlink()
    for file in (root / "alice").iterdir():
        file.write_text("x,y\n1,2\n")
    assert command("enroll", tmp_path / "b.db", root, "--model", model)[0] == 2


@pytest.mark.slow
def test_recordings_of_one_day_are_noted(command, model, walks, tmp_path, notes):
    def noted():
        messages = [note for note in notes if "on one day" in note]
        notes.clear()
        return messages

    def on_day(path, day):
        os.utime(path, (86_400 * day + 43_200,) * 2)
        return path

    db, monday = tmp_path / "a.db", [walks.file("alice", f"{i}.csv") for i in range(4)]
    for path in monday:
        on_day(path, 20_000)
    assert command("enroll", db, "alice", *monday[:1], "--model", model)[0] == 0 and not noted()
    assert command("enroll", db, "alice", *monday[1:])[0] == 0
    (note,) = noted()
    assert "'alice'" in note and "2024-10-04" in note
    files = [on_day(walks.file("bob", f"bob{i}.csv"), 20_000 + i) for i in range(2)]
    assert command("enroll", db, "bob", *files)[0] == 0 and not noted()
    root = walks.folder(["carol", "dora"], "people", count=2)
    for session in ("monday", "tuesday"):
        walks.file("eve", f"people/eve/{session}/1.csv")
    for path in root.rglob("*.csv"):
        on_day(path, 20_000)
    assert command("enroll", db, root)[0] == 0
    (note,) = noted()
    assert "'carol'" in note and "2 of 3 people" in note


@pytest.mark.slow
def test_fewer_recordings_than_in_calibration_are_noted(command, family, walks, notes):
    volunteers = walks.folder([f"v{i}" for i in range(16)], "many", count=8)
    words = ("calibrate", family, volunteers, "--far", "0.5")
    assert command(*words)[0] == 0
    (note,) = (note for note in notes if "rejected more often" in note)
    assert "4 recordings of 'alice'" in note and "with 8 recordings" in note
    notes.clear()
    assert command("enroll", family, "carol", walks.folder(["carol"], "new") / "carol")[0] == 0
    assert any("4 recordings of 'carol'" in note and "with 8 recordings" in note for note in notes)
    notes.clear()
    assert command("enroll", family, "dora", walks.folder(["dora"], "more", 8) / "dora")[0] == 0
    assert not any("rejected more often" in note for note in notes)


@pytest.mark.slow
def test_people_at_equal_distance_are_named_without_a_decision(command, model, walks, tmp_path):
    file, db = walks.file("alice"), tmp_path / "family.db"
    assert command("enroll", db, "carol", file, "--model", model)[0] == 0
    with galleries.Gallery(db) as gallery:  # creates a gallery like those of earlier releases
        gallery._records.add("alice", gallery._templates().enrolled_of("carol"))
    code, out, _ = command("identify", db, file, "--threshold", "100")
    assert code == 2 and "alice and carol are about equally near" in out
    code, out, _ = command("identify", db, file, "--threshold", "100", "--json")
    result = json.loads(out)
    assert code == 2 and result["person"] is None and result["tied"] == ["alice", "carol"]


def test_hidden_files_of_a_folder_are_skipped(command, model, walks, tmp_path):
    walks.file("alice", "alice/monday/1.csv")
    walks.file("alice", "alice/2.CSV")
    (tmp_path / "alice" / "._2.csv").write_bytes(b"of the system")
    (tmp_path / "alice" / "notes.txt").touch()
    words = ("enroll", tmp_path / "family.db", "alice", tmp_path / "alice", "--model", model)
    code, result = run_json(command, *words)
    assert code == 0 and result["enrolled"] == 2


def test_the_gallery_is_opened_from_another_folder(command, model, walks, tmp_path, monkeypatch):
    monkeypatch.chdir(model.parent)
    assert command("enroll", tmp_path / "a.db", "al", walks.file("al"), "--model", "phone")[0] == 0
    monkeypatch.chdir(tmp_path)
    assert command("verify", "a.db", "al", walks.file("al"), "--threshold", "100")[0] == 0


def test_recordings_that_are_refused_are_named_with_the_reason(command, model, walks, tmp_path):
    db = tmp_path / "family.db"
    good, short = walks.file("alice"), walks.file("alice", "short.csv", steps=9)
    broken = walks.file("alice", "broken.csv")
    broken.write_text("x,y\n1,2\n")
    code, result = run_json(command, "enroll", db, "alice", good, short, broken, "--model", model)
    assert code == 1 and result["kept"] == [str(good)]
    assert f"{short} has 9 steps, but the model's contract" in result["refused"][str(short)]
    assert f"{broken}, line 1: there is no column 'z'" in result["refused"][str(broken)]
    code, out, _ = command("enroll", db, "alice", short)
    assert code == 2 and f"refused: {short} has 9 steps" in out


def test_a_recording_of_somebody_else_is_not_enrolled(command, family, walks):
    stranger = walks.file("nobody")
    code, out, _ = command("enroll", family, "alice", stranger, "--json")
    result = json.loads(out)
    assert code == 2 and result["enrolled"] == 4 and not result["kept"]
    assert "the nearest other recording of 'alice'" in result["refused"][str(stranger)]


def test_people_are_accepted_and_others_rejected(command, family, walks):
    code, result = run_json(command, "verify", family, "alice", walks.file("alice"), "--scores")
    assert code == 0 and result["accepted"] and result["score"] <= result["threshold"]
    code, result = run_json(command, "verify", family, "alice", walks.file("bob"), "--scores")
    assert code == 1 and not result["accepted"] and result["score"] > result["threshold"]
    code, out, _ = command("verify", family, "alice", walks.file("alice"))
    assert code == 0 and out.startswith("alice accepted: ")
    code, out, _ = command("verify", family, "alice", walks.file("bob"))
    assert code == 1 and out.startswith("alice rejected: ")


def test_people_are_identified_and_strangers_rejected(command, family, walks):
    words = ("identify", family, walks.file("bob"), "--top", "1", "--scores")
    code, result = run_json(command, *words)
    assert (code, result["person"], result["people"]) == (0, "bob", 2)
    assert result["fpir"] == 2 * float(FAR) and "fnir" not in result
    assert [entry["person"] for entry in result["candidates"]] == ["bob"]
    code, result = run_json(command, "identify", family, walks.file("nobody"), "--scores")
    assert (code, result["person"], len(result["candidates"])) == (1, None, 2)
    code, out, _ = command("identify", family, walks.file("nobody"))
    assert code == 1 and out.startswith("a stranger\n") and "FPIR at most 4 % among 2 people" in out
    code, result = run_json(command, "identify", family, walks.file("bob"), "--threshold", "1")
    assert result["fpir"] is None


@pytest.mark.slow
def test_an_answer_has_no_score_unless_asked(command, family, walks):
    hidden = {"score", "closeness", "threshold", "denied", "candidates"}
    for person in ("alice", "bob"):  # four rejected claims, so that there is no pause yet
        file = walks.file(person)
        for words in (("verify", family, "alice", file), ("identify", family, file)):
            _, result = run_json(command, *words)
            assert not hidden & result.keys()
            _, out, _ = command(*words)
            assert "distance" not in out and "closeness" not in out and "nearest" not in out
            _, result = run_json(command, *words, "--scores")
            rows = result.get("candidates", [result])
            assert all(row["score"] == float(f"{row['score']:.4g}") for row in rows)
            _, out, _ = command(*words, "--scores")
            assert "distance" in out


@pytest.mark.slow
def test_a_claim_during_a_pause_is_refused_in_words_and_in_json(command, family, walks):
    for _ in range(galleries.Tries().free + 1):
        code, _, _ = command("verify", family, "alice", walks.file("bob"))
        assert code == 1
    with galleries.Gallery(family) as gallery:  # the pause must last longer than the test
        with gallery._records._store.counting() as run:
            run("UPDATE tries SET failures = 30")
            run("INSERT INTO tries SELECT person, client, 1, failures, failed FROM tries")
    probe = walks.file("alice")
    assert "Too many claims" in run_failing(command, "verify", family, "alice", probe)
    for longest, *words in (
        (3600, "verify", family, "alice", probe),
        (60, "identify", family, probe),
    ):
        code, out, _ = command(*words, "--json")
        error = json.loads(out)["error"]
        assert code == 2 and error["type"] == "TooManyTries" and 0 < error["seconds"] <= longest
    assert command("verify", family, "bob", walks.file("bob"))[0] == 0


@pytest.mark.slow
def test_several_files_give_one_decision(command, family, walks, model):
    files = [walks.file("alice", f"new{i}.csv") for i in range(3)]
    with galleries.Gallery(family) as gallery:  # the scores of commands are rounded
        walked = [recordings.read(file).values for file in files]
        score = gallery.verify("alice", walked).score
        alone = [gallery.verify("alice", entry).score for entry in walked]
    text = run_json(command, "verify", family, "alice", *files, "--scores")[1]["score"]
    assert text == pytest.approx(score, rel=1e-3)
    assert score == pytest.approx(np.mean(alone), rel=1e-5, abs=0)


@pytest.mark.slow
def test_a_long_recording_is_cut_into_windows_that_the_model_takes(command, family, walks):
    long = walks.file(
        "alice", "long.csv", steps=205
    )  # windows of 100, 100 and 5 steps, of which the last is too short
    code, result = run_json(command, "enroll", family, "alice", long)
    assert code == 0 and result["enrolled"] == 4 + 2
    assert run_json(command, "verify", family, "alice", long)[0] == 0


@pytest.mark.slow
def test_calibrate_prints_the_threshold_with_its_interval(command, model, walks, notes, tmp_path):
    volunteers = walks.folder([f"v{i}" for i in range(16)], "volunteers", count=2)
    (volunteers / "notes.txt").touch()
    walks.file("v0", "volunteers/v0/short.csv", steps=5)
    words = ("calibrate", tmp_path / "family.db", volunteers, "--far", "0.5", "--model", model)
    code, out, _ = command(*words)
    assert code == 0 and "for FAR 50 % (95 % interval" in out and "16 people" in out
    assert [note.partition(": ")[0] for note in notes] == ["Left out", "Left out"]
    assert "notes.txt is not a recording" in notes[0] and "has 5 steps" in notes[1]
    result = run_json(command, *words)[1]
    assert (result["far"], result["people"], result["left_out"]) == (0.5, 16, 1)
    assert result["far_ci95"][0] <= 0.5 <= result["far_ci95"][1]


@pytest.mark.slow
def test_a_table_of_paths_serves_as_the_folder(command, model, walks, tmp_path):
    root = walks.folder([f"v{i}" for i in range(16)], "volunteers", count=2)
    lines = [f"{path.relative_to(tmp_path)},{path.parent.name}" for path in root.glob("*/*.csv")]
    (tmp_path / "table.csv").write_text("\n".join(["path,person", *lines]))
    words = ("calibrate", tmp_path / "a.db", tmp_path / "table.csv", "--far", "0.6")
    assert run_json(command, *words, "--model", model)[1]["people"] == 16


@pytest.mark.slow
def test_calibrate_prints_the_rate_within_each_group(command, model, walks, tmp_path):
    volunteers = walks.folder([f"v{i}" for i in range(16)], "volunteers", count=2)
    lines = [f"v{i},{('old', 'young')[i % 2]}" for i in range(16)]
    table = tmp_path / "groups.csv"
    table.write_text("\n".join(["person,group", *lines]))
    words = ("calibrate", tmp_path / "family.db", volunteers, "--far", "0.5", "--model", model)
    result = run_json(command, *words, "--groups", table)[1]
    assert [(entry["group"], entry["people"]) for entry in result["groups"]] == [
        ("old", 8),
        ("young", 8),
    ]
    assert all(entry["low"] <= entry["far"] <= entry["high"] for entry in result["groups"])
    code, out, _ = command(*words, "--groups", table)
    assert code == 0 and [line.partition(":")[0] for line in out.splitlines()[1:]] == [
        "old",
        "young",
    ]
    for rows, message in (
        (lines[1:], "no group for 1 of the 16 people in"),
        ([*lines, "V3,old"], "names 1 people who have no recordings in"),
        ([*lines, "v3,old"], "line 18: 'v3' is also in line 5"),
        ([*lines[:-1], "v15,"], "line 17: the group is empty"),
    ):
        table.write_text("\n".join(["person,group", *rows]))
        assert message in run_failing(command, *words, "--groups", table)
    assert "gone.csv" in run_failing(command, *words, "--groups", tmp_path / "gone.csv")
    code, _, err = command(*words, "--groups", table, "--window", "0.2")
    assert code == 2 and "--groups cannot be combined with --window" in " ".join(err.split())


@pytest.mark.slow
def test_people_are_listed_and_removed_without_their_model(command, family, monkeypatch):
    def loaded(*_):
        raise AssertionError("the model was loaded")

    monkeypatch.setattr(galleries.Gallery, "_load", loaded)
    assert run_json(command, "people", family) == (0, {"alice": 4, "bob": 4})
    code, out, _ = command("people", family)
    assert code == 0 and [line.split() for line in out.splitlines()][1:] == [
        ["alice", "4"],
        ["bob", "4"],
    ]
    assert run_json(command, "remove", family, "bob") == (
        0,
        {"removed": "bob", "people": 1, "remains": []},
    )
    assert run_json(command, "people", family)[1] == {"alice": 4}
    code, out, _ = command("remove", family, "alice", "--purge")
    assert (code, out) == (0, "alice removed, 0 left\n")
    assert command("people", family)[1] == "Nobody is enrolled.\n"


def test_a_denied_person_has_no_score_in_json(command, family, walks):
    impostor = walks.file("alice")
    with galleries.Gallery(family) as opened:
        opened.reject("alice", [recordings.read(impostor).values])
    _, result = run_json(command, "identify", family, impostor, "--scores")
    assert {entry["person"]: entry["score"] for entry in result["candidates"]}["alice"] is None
    words = ("verify", family, "alice", impostor, "--threshold", "inf", "--scores")
    code, result = run_json(command, *words)
    assert code == 1 and result["denied"] and result["threshold"] is None


@pytest.mark.slow
def test_a_marked_recording_is_no_longer_accepted(command, family, walks):
    impostor = walks.file("alice")
    assert run_json(command, "verify", family, "alice", impostor)[0] == 0
    words = ("reject", family, "alice", impostor)
    assert run_json(command, *words) == (0, {"person": "alice", "marked": 1, "notes": {}})
    code, result = run_json(command, "verify", family, "alice", impostor, "--scores")
    assert code == 1 and result["denied"]
    assert run_json(command, "people", family)[1] == {"alice": 4, "bob": 4}
    code, out, _ = command(*words)
    assert (code, out) == (0, "alice: 1 recording stored as imposters\n")


@pytest.mark.slow
def test_an_invalid_file_marks_no_recording(command, family, walks):
    good, short = walks.file("alice"), walks.file("alice", "short.csv", steps=9)
    assert "has 9 steps" in run_failing(command, "reject", family, "alice", good, short)
    assert "Nobody named 'carol' is enrolled" in run_failing(
        command, "reject", family, "carol", good
    )
    assert not run_json(command, "verify", family, "alice", good, "--scores")[1]["denied"]


@pytest.mark.slow
def test_two_galleries_are_merged_once(command, model, family, walks, tmp_path):
    second = tmp_path / "phone.db"
    walks.file("carol", "carol/1.csv")
    command("enroll", second, "carol", tmp_path / "carol", "--model", model)
    command("enroll", second, "alice", walks.file("alice"))
    assert run_json(command, "merge", family, second) == (
        0,
        {"added": {"alice": 1, "carol": 1}, "people": 3},
    )
    code, out, _ = command("merge", family, second)
    assert code == 0 and out == "No new recordings: 3 people enrolled\n"
    assert galleries.people(second) == {"alice": 1, "carol": 1}


@pytest.mark.slow
def test_templates_are_written_and_merged(command, model, family, walks, tmp_path, notes):
    root, second, file = walks.folder(["carol"], "others"), tmp_path / "new.db", tmp_path / "f.npz"
    assert command("enroll", second, "carol", root / "carol", "--model", model)[0] == 0
    words = ("export", family, "--to", "templates", "--out", file)
    assert run_json(command, *words) == (0, {"path": str(file), "people": 2, "recordings": 8})
    code, out, _ = command(*words)
    assert (code, out) == (0, f"{file}: 2 people, 8 recordings\n")
    personal = "Note: the file contains unencrypted embeddings and names, which are personal data."
    assert notes[-1] == personal
    added = {"alice": 4, "bob": 4}
    assert run_json(command, "merge", second, file) == (0, {"added": added, "people": 3})
    assert run_json(command, "merge", second, file) == (0, {"added": {}, "people": 3})
    assert "is the gallery itself" in run_failing(command, *words[:-1], family)
    (tmp_path / "other.npz").write_bytes(b"PK\x05\x06" + bytes(18))  # an empty archive
    assert "file of templates" in run_failing(command, "merge", second, tmp_path / "other.npz")


@pytest.mark.slow
def test_people_move_to_a_new_model_by_enrolling_kept_recordings_again(command, walks, tmp_path):
    def publish(knots):
        signal = keras.Input((None, 3))
        folder.mkdir(exist_ok=True)
        inputs = InputContract(["x", "y", "z"], "g", RATE_HZ, min_steps=10, max_steps=100)(signal)
        keras.Model(signal, QuantileLayer(knots)(inputs)).save(folder / "model.keras")

    folder, stored, new = tmp_path / "phone", walks.folder(NAMES, "kept"), walks.file("alice")
    databases = old, moved = tmp_path / "family.db", tmp_path / "moved.db"
    for knots, db in zip((6, 9), databases, strict=True):
        publish(knots)
        for name in NAMES:
            code, _, err = command("enroll", db, name, stored / name, "--model", folder)
            assert code == 0, err
    text = " ".join(run_failing(command, "verify", old, "alice", new, "--threshold", "1e9").split())
    assert "Embeddings of two models cannot be compared" in text
    assert "keras-dml enroll NEW.db PERSON FILES --model MODEL" in text
    assert run_json(command, "people", old) == run_json(command, "people", moved)
    assert run_json(command, "identify", moved, new, "--threshold", "1e9")[1]["person"] == "alice"


def test_no_output_contains_an_embedding(command, family, walks):
    """No output contains the embeddings, which are quantiles of the recording for this model."""
    with galleries.Gallery(family) as opened:
        numbers = {f"{abs(value):.3f}" for value in opened._records.templates()[2].ravel()}
    probe = walks.file("alice")
    for words in (
        ("verify", family, "alice", probe),
        ("identify", family, probe),
        ("people", family),
        ("enroll", family, "alice", probe),
        ("remove", family, "bob"),
    ):
        _, out, err = command(*words, "--json")
        printed = {f"{abs(float(entry)):.3f}" for entry in re.findall(r"-?\d+\.\d+", out + err)}
        assert len(printed & numbers) <= 1  # one number may be equal by chance


@pytest.mark.slow
def test_properties_that_files_do_not_state_are_noted(command, family, walks, notes):
    silent = walks.file("alice", header="row,x,y,z")
    assert command("verify", family, "alice", silent)[0] == 0
    rate, units = notes
    assert rate.startswith(
        "Note: The files do not state their rate, and the model takes 50 Hz. Set --rate"
    )
    assert units == "Note: The files do not state their units, and the model takes g."
    notes.clear()
    command("verify", family, "alice", silent, "--rate-hz", "50")
    assert notes == [units]
    notes.clear()
    command("verify", family, "alice", walks.file("alice"))
    assert notes == []


def test_a_model_without_units_takes_files_with_units(command, model, walks, tmp_path, notes):
    signal = keras.Input((None, 3))
    inputs = InputContract(["x", "y", "z"], "as recorded", RATE_HZ)(signal)
    path = tmp_path / "plain.keras"
    keras.Model(signal, QuantileLayer(6)(inputs)).save(path)
    for header in ("t,x,y,z", "t,x (g),y (g),z (g)"):
        file = walks.file("alice", header=header)
        assert command("enroll", tmp_path / "a.db", "alice", file, "--model", path)[0] == 0
    assert notes == []


@pytest.mark.slow
def test_channels_with_other_names_are_given_in_the_order_of_the_model(command, family, walks):
    renamed = walks.file("alice", header="t,ax,ay,az")
    assert "there is no column 'x'" in run_failing(command, "verify", family, "alice", renamed)
    code, result = run_json(command, "verify", family, "alice", renamed, "--channels", "ax,ay,az")
    assert code == 0 and result["accepted"]


@pytest.mark.slow
def test_recordings_with_uneven_times_are_resampled_to_the_rate_of_the_model(
    command, family, walks, tmp_path
):
    path = walks.file("alice", steps=80)
    lines = path.read_text().splitlines()
    time, _, values = lines[20].partition(",")
    lines[20] = f"{float(time) + 0.9 / RATE_HZ},{values}"
    path.write_text("\n".join(lines))
    assert "Set --resample to resample the recording" in run_failing(
        command, "verify", family, "alice", path
    )
    code, out, _ = command("enroll", family, "bob", path)
    assert code == 2 and "0 of 1 files enrolled" in out and "--resample" in out
    for words in (("verify", family, "alice", path), ("identify", family, path)):
        assert run_json(command, *words, "--resample")[0] == 0


@pytest.mark.slow
def test_only_a_few_equal_reasons_are_printed(command, model, walks, tmp_path):
    """With `--json`, or if only some files are refused, all reasons are printed."""
    root, db = walks.folder(NAMES, count=5), tmp_path / "family.db"
    for path in root.rglob("*.csv"):
        path.write_text(path.read_text().replace("x (g)", "other"))
    code, out, _ = command("enroll", db, root, "--model", model)
    assert code == 2 and out.count("there is no column 'x'") == 3 and "7 more files" in out
    code, out, _ = command("enroll", db, root, "--json")
    refused = [reason for each in json.loads(out)["people"].values() for reason in each["refused"]]
    assert code == 2 and len(refused) == 10
    walks.file("alice", "walks/alice/even.csv")
    code, out, _ = command("enroll", db, root)
    assert code == 1 and out.count("there is no column 'x'") == 10 and "more files" not in out


def test_a_model_that_was_moved_is_named_and_used_from_its_new_path(
    command, zoo_folder, walks, tmp_path
):
    db, old, new = tmp_path / "family.db", tmp_path / "watch", tmp_path / "moved"
    shutil.copytree(zoo_folder / "watch_lda", old)
    file = walks.file("alice", header="t,x (m/s^2),y (m/s^2),z (m/s^2)")
    assert command("enroll", db, "alice", file, "--model", old)[0] == 0
    shutil.move(old, new)
    verify = ("verify", db, "alice", file)
    for words in (verify, ("identify", db, file), ("enroll", db, "bob", file)):
        error = " ".join(run_failing(command, *words).split())
        assert f"'{old}', which does not exist" in error and "--model" in error
    code, out, _ = command(*verify, "--model", new)
    assert code == 0 and "provisional" in out
    assert "0.5" in run_failing(command, *verify, "--model", new, "--far", "0.5")


@pytest.mark.slow
def test_an_empty_gallery_of_another_model_says_that_it_may_be_removed(command, walks, tmp_path):
    db, file = tmp_path / "family.db", walks.file("alice", header="t,other,y (g),z (g)")
    for name, knots in (("first", 4), ("second", 5)):
        signal = keras.Input((None, 3))
        inputs = InputContract(["x", "y", "z"], "g", RATE_HZ, min_steps=10, max_steps=100)(signal)
        keras.Model(signal, QuantileLayer(knots)(inputs)).save(tmp_path / f"{name}.keras")
    assert command("enroll", db, "alice", file, "--model", tmp_path / "first.keras")[0] == 2
    file = walks.file("alice")
    words = ("enroll", db, "alice", file, "--model", tmp_path / "second.keras")
    error = run_failing(command, *words)
    assert "Nobody is enrolled in this gallery. Either remove the file" in " ".join(error.split())
    db.unlink()
    assert command(*words)[0] == 0
    assert "are enrolled with the model" in run_failing(
        command, *words[:-1], tmp_path / "first.keras"
    )


@pytest.mark.slow
def test_the_gallery_remembers_how_files_are_read(command, model, walks, tmp_path, notes):
    db, header = tmp_path / "family.db", "row,ax,ay,az"
    options = ("--channels", "ax,ay,az", "--rate-hz", "50")
    first = walks.file("alice", header=header)
    assert command("enroll", db, "alice", first, "--model", model, *options)[0] == 0
    assert any(note.endswith("options: --channels ax,ay,az --rate-hz 50.0") for note in notes)
    probe = walks.file("alice", "probe.csv", header=header)
    verify = ("verify", db, "alice", probe, "--threshold", "100")
    notes.clear()
    assert run_json(command, *verify)[0] == 0
    assert not any("rate" in note for note in notes)
    assert galleries.info(db).reading == {"channels": ["ax", "ay", "az"], "rate_hz": 50.0}
    plain = walks.file("alice", "plain.csv")  # states all properties, under other names
    assert run_json(command, "verify", db, "alice", plain, "--threshold", "100")[0] == 0
    assert "has 100 Hz" in run_failing(command, *verify, "--rate-hz", "100")
    assert command("enroll", db, "bob", walks.file("bob"), "--max-gap", "1")[0] == 0
    assert "max_gap" not in galleries.info(db).reading


@pytest.mark.slow
def test_the_gallery_remembers_that_clocks_are_uneven(command, model, walks, tmp_path):
    def uneven(name, person="alice"):
        path = walks.file(person, name, steps=80)
        lines = path.read_text().splitlines()
        time, _, values = lines[20].partition(",")
        lines[20] = f"{float(time) + 0.9 / RATE_HZ},{values}"
        path.write_text("\n".join(lines))
        return path

    db = tmp_path / "family.db"
    words = ("enroll", db, "alice", uneven("first.csv"))
    code, out, _ = command(*words, "--model", model)
    assert code == 2 and "--resample" in out
    assert command(*words, "--resample")[0] == 0
    assert command("enroll", db, "bob", uneven("bob.csv", "bob"))[0] == 0
    for words in (("verify", db, "alice"), ("identify", db)):
        words = (*words, uneven("probe.csv"), "--threshold", "100")
        assert run_json(command, *words)[0] == 0
        assert "--resample" in run_failing(command, *words, "--no-resample")
    even = walks.file("alice", "even.csv")
    assert run_json(command, "verify", db, "alice", even, "--threshold", "100")[0] == 0


@pytest.mark.slow
def test_the_gallery_remembers_the_units_of_its_files(command, model, walks, tmp_path, notes):
    """The model expects g. The first file states m/s^2, and later files state no unit."""

    def in_meters(path, header):
        _, *rows = path.read_text().splitlines()
        cells = [[float(cell) for cell in row.split(",")] for row in rows]
        rows = [",".join(map(repr, [t, *(x * 9.80665 for x in xyz)])) for t, *xyz in cells]
        path.write_text("\n".join([header, *rows]))
        return path

    db, text, silent = tmp_path / "a.db", "t,x (m/s^2),y (m/s^2),z (m/s^2)", "t,x,y,z"
    first = in_meters(walks.file("alice"), text)
    assert command("enroll", db, "alice", first, "--model", model)[0] == 0
    assert galleries.info(db).reading == {"units": ["m/s^2"] * 3}
    probe = in_meters(walks.file("alice", "probe.csv"), text)
    words = ("verify", db, "alice", probe, "--threshold", "100", "--scores")
    expected = run_json(command, *words)[1]
    lines = probe.read_text().splitlines()
    probe.write_text("\n".join([silent, *lines[1:]]))
    notes.clear()
    result = run_json(command, *words)[1]
    assert result["score"] == pytest.approx(expected["score"], rel=1e-5)
    assert any("units" in note and "m/s^2" in note for note in result["notes"])
    in_g = walks.file("alice", "own.csv")  # states the unit g
    assert run_json(command, "verify", db, "alice", in_g, "--threshold", "100")[1]["notes"] == {}


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", ["5", "[]", '{"channels": 3, "rate_hz": "fast"}', '{"units": [1]}']
)
def test_invalid_reading_options_in_a_gallery_are_ignored(command, family, walks, text):
    with contextlib.closing(sqlite3.connect(family)) as connection:
        connection.execute("DELETE FROM about WHERE name = 'reading'")
        connection.execute("INSERT INTO about VALUES ('reading', ?)", (text,))
        connection.commit()
    assert galleries.info(family).reading == {}
    assert run_json(command, "verify", family, "alice", walks.file("alice"))[0] == 0


@pytest.mark.slow
@pytest.mark.parametrize(("unit", "factor"), [("m/s²", 9.80665), ("mg", 1000), ("m/s2", 9.80665)])
def test_a_file_in_another_unit_is_converted(command, family, walks, unit, factor):
    path = walks.file("alice")
    expected = run_json(command, "verify", family, "alice", path, "--scores")[1]
    header, *rows = path.read_text().splitlines()
    cells = [[float(cell) for cell in row.split(",")] for row in rows]
    rows = [",".join(map(repr, [t, *(x * factor for x in xyz)])) for t, *xyz in cells]
    path.write_text("\n".join([header.replace("(g)", f"({unit})"), *rows]))
    code, result = run_json(command, "verify", family, "alice", path, "--scores")
    assert code == 0 and result["score"] == pytest.approx(expected["score"], rel=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("header", "options", "message"),
    [
        ("t,x (deg/s),y (g),z (g)", (), "unit of channel 'x' is deg/s, but the model takes g"),
        (
            "time_ms,x,y,z",
            (),
            "has 50000 Hz, but the model takes 50 Hz. To resample the file, set --resample",
        ),
        ("row,x,y,z", ("--rate-hz", "100"), "has 100 Hz, but the model takes 50 Hz"),
        ("row,x,y,z", ("--rate-hz", "0"), "--rate-hz is 0.0, but it must be a positive number"),
        ("row,x,y,z", ("--channels", "x,,z"), "--channels is"),
        ("row,x,y,z", ("--channels", "x,y"), "has 2 channels, but the model takes 3: x, y, z"),
        (
            "row,x,y,z",
            ("--far", "0.3"),
            "--far is 0.3, but it must be a rate that was calibrated: 0.02",
        ),
        ("row,x,y,z", ("--threshold", "nan"), "--threshold is nan, but it must be a number"),
    ],
)
def test_invalid_recordings_and_options_give_no_decision(
    command, family, walks, header, options, message
):
    path = walks.file("alice", header=header)
    for words in (("verify", family, "alice", path), ("identify", family, path)):
        assert message in run_failing(command, *words, *options)


@pytest.mark.slow
def test_errors_for_missing_things_name_the_command_that_helps(command, model, walks, tmp_path):
    db, probe = tmp_path / "family.db", walks.file("alice")
    for words in (("verify", db, "alice", probe), ("identify", db, probe), ("merge", db, db)):
        assert (
            f"The gallery {str(db)!r} does not exist. Create it: keras-dml enroll"
            in run_failing(command, *words)
        )
    for words in (("people", db), ("remove", db, "alice")):
        assert f"gallery {str(db)!r}" in run_failing(command, *words)
    assert "--model gait_qp_wl" in run_failing(command, "enroll", db, "alice", probe)
    gone = tmp_path / "gone.csv"
    assert str(gone) in run_failing(command, "enroll", db, "alice", gone, "--model", model)
    assert "does not exist" in run_failing(command, "calibrate", db, gone, "--model", model)
    assert not db.exists()
    command("enroll", db, "alice", probe, "--model", model)
    assert "Use `keras-dml calibrate` with recordings of people" in run_failing(
        command, "verify", db, "alice", probe
    )
    message = run_failing(command, "verify", db, "bob", probe, "--threshold", "1")
    assert message.startswith("Nobody named 'bob' is enrolled in")
    assert "`keras-dml people` lists them" in message
    assert "`keras-dml people` lists them" in run_failing(command, "remove", db, "bob")
    command("remove", db, "alice")
    assert "Use `keras-dml enroll` first" in run_failing(
        command, "identify", db, probe, "--threshold", "1"
    )


@pytest.mark.slow
def test_invalid_names_and_empty_folders_are_refused(command, family, walks, tmp_path):
    assert (
        "PERSON is 'two\\nlines', but it must be a name of 1 to 200 printable characters"
        in run_failing(command, "enroll", family, "two\nlines", walks.file("alice"))
    )
    (tmp_path / "empty").mkdir()
    assert "contains no recordings. Names of recordings end in .csv" in run_failing(
        command, "verify", family, "alice", tmp_path / "empty"
    )


@pytest.mark.slow
@pytest.mark.parametrize("words", [("enroll", "alice"), ("verify", "alice"), ("identify",)])
def test_an_empty_file_name_is_not_the_current_folder(command, family, walks, monkeypatch, words):
    """An unset shell variable gives an empty name. The current folder has recordings of Carol."""
    monkeypatch.chdir(walks.folder(["carol"], "carol"))
    before = galleries.people(family)
    assert "name of a file is empty" in run_failing(command, words[0], family, *words[1:], "")
    assert galleries.people(family) == before
    assert ". is a folder" in run_failing(command, "people", "")


def test_a_file_that_is_not_a_gallery_is_refused_and_not_changed(command, walks, tmp_path, model):
    file = tmp_path / "thesis.db"
    file.write_text("years of work " * 100)
    (tmp_path / "empty.db").touch()
    for words in (("people",), ("remove", "a"), ("verify", "a", walks.file("a"))):
        assert "empty.db" in run_failing(command, words[0], tmp_path / "empty.db", *words[1:])
    assert not (tmp_path / "empty.db").stat().st_size
    for words in (("people", file), ("remove", file, "a"), ("identify", file, walks.file("a"))):
        assert "gallery of keras-dml" in run_failing(command, *words)
    assert file.read_text() == "years of work " * 100


@pytest.mark.slow
def test_a_rate_for_which_people_are_too_few_is_refused_or_extrapolated(
    command, model, walks, tmp_path
):
    folder = walks.folder([f"v{i}" for i in range(10)], "few", count=2)
    words = ("calibrate", tmp_path / "a.db", folder, "--model", model, "--far")
    text = run_failing(command, *words, "0.0001")
    assert text.startswith("FAR 0.01 % is beyond what these 10 people support")
    assert "--extrapolate" in text
    assert "generalized Pareto" in run_json(command, *words, "0.05", "--extrapolate")[1]["method"]


def test_notes_are_printed_before_the_error(command, model, walks, tmp_path, notes, monkeypatch):
    folder = walks.folder([f"v{i}" for i in range(10)], "few", count=2)
    (folder / "v1" / "0.csv").write_bytes((folder / "v0" / "0.csv").read_bytes())
    monkeypatch.setattr(cli, "_print_error", lambda text, **_: notes.append(text))
    words = ("calibrate", tmp_path / "a.db", folder, "--model", model, "--far", "0.0001")
    assert command(*words)[0] == 2
    note, error = notes[:2]
    assert note.startswith(
        "Note: 1 of these 20 recordings occur twice, such as a recording of 'v0'"
    )
    assert error.startswith("Error: FAR 0.01 % is beyond what these 10 people support")


@pytest.mark.slow
@pytest.mark.parametrize(("scale", "is_told"), [(5.0, True), (0.01, False)])
def test_a_threshold_less_strict_than_the_card_is_noted_once(
    command, tmp_path, notes, scale, is_told
):
    channels = zoo.card("vowels_qp_wl")["input"]["channels"]
    deviations = np.array(zoo.card("vowels_qp_wl")["quality"]["stddev"])
    rng = np.random.default_rng(0)
    for person in range(6):
        (tmp_path / "volunteers" / str(person)).mkdir(parents=True)
        level = scale * rng.normal(size=12)
        for i in range(3):
            values = deviations * (level + rng.normal(size=(20, 12)))
            path = tmp_path / "volunteers" / str(person) / f"{i}.csv"
            np.savetxt(path, values, delimiter=",", header=",".join(channels), comments="")
    words = ("calibrate", tmp_path / "a.db", tmp_path / "volunteers", "--far")
    assert command(*words, "0.1", "--model", "vowels_qp_wl")[0] == 0
    messages = [note for note in notes if "less strict" in note]
    assert len(messages) == is_told and all("false accept rate of 1 %" in note for note in messages)
    notes.clear()
    assert command(*words, "0.05")[0] == 0
    assert not any("less strict" in note for note in notes)


def test_invalid_files_are_refused_with_a_few_reasons(command, model, tmp_path, notes):
    for i in range(12):
        path = tmp_path / "volunteers" / str(i % 4) / f"{i}.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("a,b\n1,2\n3,4\n")
    folder = tmp_path / "volunteers"
    text = run_failing(command, "calibrate", tmp_path / "a.db", folder, "--model", model)
    assert "any of the 12 files" in text and "0.csv" in text
    assert 1 < len([note for note in notes if "Left out" in note]) < 6 and "9 more" in notes[-1]


@pytest.mark.slow
def test_an_extrapolated_threshold_is_noted_and_can_be_removed(
    command, model, walks, tmp_path, notes
):
    db, probe = tmp_path / "family.db", walks.file("alice")
    assert command("enroll", db, "alice", walks.folder(["alice"]), "--model", model)[0] == 0
    notes.clear()  # removes notes about recordings of a single day
    many, few = (walks.folder([f"v{i}" for i in range(n)], f"of {n}") for n in (16, 10))
    assert command("calibrate", db, many, "--far", "0.5")[0] == 0 and notes == []
    assert command("calibrate", db, few, "--far", "0.05", "--extrapolate")[0] == 0
    (note,) = notes
    assert "0.05" in note and "not guaranteed" in note
    assert note.endswith("by `keras-dml calibrate GALLERY --remove RATE`.")
    for asked in (("verify", db, "alice", probe), ("identify", db, probe)):
        result = run_json(command, *asked)[1]
        assert (result["far"], result["extrapolated"]) == (0.05, True)
        assert "for FAR 5 %, extrapolated: only an estimate" in command(*asked)[1]
        result = run_json(command, *asked, "--far", "0.5")[1]
        assert (result["far"], result["extrapolated"]) == (0.5, False)
    removed = ("calibrate", db, "--remove", "0.05")
    assert run_json(command, *removed) == (0, {"removed": 0.05, "left": [0.5]})
    text = "--remove is 0.05, but it must be a rate that was calibrated: 0.5."
    assert text in run_failing(command, *removed)
    assert run_json(command, "verify", db, "alice", probe)[1]["far"] == 0.5
    code, out, _ = command(*removed[:-1], "0.5")
    assert (code, out) == (0, "The threshold for FAR 50 % is removed. No threshold is left.\n")


@pytest.mark.slow
def test_a_threshold_is_either_set_or_removed(command, family, tmp_path):
    for words in (("calibrate", family), ("calibrate", family, tmp_path, "--remove", FAR)):
        code, _, err = command(*words)
        assert code == 2 and "Give either FOLDER" in " ".join(err.split())
    code, _, err = command("calibrate", family, "--remove", FAR, "--extrapolate")
    assert code == 2 and "--remove cannot be combined with" in " ".join(err.split())


@pytest.mark.parametrize("far", ["-0.1", "0", "1", "nan"])
def test_an_invalid_rate_is_refused_before_files_are_read(command, model, tmp_path, far):
    words = ("calibrate", tmp_path / "a.db", tmp_path / "no_folder", "--model", model)
    code, _, err = command(*words, "--far", far)
    assert code == 2 and "no_folder" not in err
    assert "--far" in err and "above 0 and below 1" in " ".join(err.split())


def test_an_unusual_magnitude_is_noted(command, walks, tmp_path, notes):
    signal = keras.Input((None, 3))
    inputs = InputContract(["x", "y", "z"], "g", RATE_HZ, stddev_range=[[0.01, 0.02]] * 3)(signal)
    keras.Model(signal, QuantileLayer(6)(inputs), name="still").save(tmp_path / "still.keras")
    words = ("enroll", tmp_path / "a.db", "alice", walks.file("alice"))
    assert command(*words, "--model", tmp_path / "still.keras")[0] == 0
    (note,) = notes
    assert note.startswith("Note: In the channels ") and "have another magnitude than" in note


def test_ctrl_c_ends_an_enrollment_that_did_not_happen(command, family, walks, monkeypatch):
    def stopped(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(galleries.Gallery, "enroll", stopped)
    assert command("enroll", family, "alice", walks.file("alice"))[0] == 130
    assert galleries.people(family)["alice"] == 4


def test_ctrl_c_after_a_removal_does_not_say_that_nothing_happened(
    command, family, walks, notes, monkeypatch
):
    remove = galleries.remove

    def stopped(*arguments, **options):  # imitates Ctrl-C after the removal
        remove(*arguments, **options)
        raise KeyboardInterrupt

    monkeypatch.setattr(galleries, "remove", stopped)
    assert command("remove", family, "alice")[0] == 130
    assert "alice" not in galleries.people(family)
    assert notes == ["Stopped. `keras-dml people` lists the people who are still enrolled."]


@pytest.mark.slow
def test_an_encrypted_gallery_opens_only_with_its_key(command, model, walks, tmp_path):
    root, db, key = walks.folder(NAMES), tmp_path / "family.db", tmp_path / "family.key"
    another = tmp_path / "another.key"
    for file, content in ((key, bytes(range(32))), (another, bytes(32))):
        file.touch(mode=0o600)
        file.write_bytes(content)
    for name in NAMES:
        words = (db, name, root / name, "--model", model, "--key", key)
        assert command("enroll", *words)[0] == 0
    new = walks.file("bob")
    verified = ("verify", db, "bob", new, "--threshold", "5")
    for refused in (("people", db), ("remove", db, "bob"), verified):
        assert "--key" in run_failing(command, *refused)
        assert "another key" in run_failing(command, *refused, "--key", another)
    assert run_json(command, *verified, "--key", key)[1]["accepted"]
    assert command("remove", db, "bob", "--key", key)[0] == 0
    assert run_json(command, "people", db, "--key", key) == (0, {"alice": 4})


@pytest.mark.slow
def test_encrypted_people_are_merged_with_both_keys(command, model, walks, tmp_path):
    root, dbs, keys = walks.folder(NAMES), [], []
    for number, name in enumerate(NAMES):
        dbs.append(tmp_path / f"{number}.db")
        keys.append(tmp_path / f"{number}.key")
        keys[-1].touch(mode=0o600)
        keys[-1].write_bytes(bytes([number] * 32))
        words = (dbs[-1], name, root / name, "--model", model, "--key", keys[-1])
        assert command("enroll", *words)[0] == 0
    merged = ("merge", *dbs, "--key", keys[0])
    assert "1.db is encrypted. Give its key by --other-key or" in run_failing(command, *merged)
    wrong = run_failing(command, *merged, "--other-key", tmp_path / "none.key")
    assert "--other-key names no file that can be read" in wrong
    assert command(*merged, "--other-key", keys[1])[0] == 0
    assert run_json(command, "people", dbs[0], "--key", keys[0])[1] == dict.fromkeys(NAMES, 4)


@pytest.fixture
def listening(command, family, walks):
    """Creates a gallery with decision thresholds of `listen` for windows of ten steps."""
    volunteers = walks.folder([f"other {i}" for i in range(24)], "others", count=2)
    words = ("calibrate", family, volunteers, "--far", "0.1", "--window", "0.2")
    code, out, _ = command(*words)
    assert code == 0 and "FAR at most 10 % whenever a claim ends" in out
    return family


@pytest.mark.slow
def test_listen_reads_until_the_decision(command, listening, walks):
    code, result = run_json(command, "listen", listening, "alice", walks.file("alice"))
    assert (code, result["accepted"]) == (0, True)
    assert result["steps"] <= STEPS and result["seconds"] == result["steps"] / RATE_HZ
    code, out, _ = command("listen", listening, "alice", walks.file("bob"))
    assert code == 1 and out.startswith("alice rejected after")


@pytest.mark.slow
def test_a_window_is_given_in_seconds(command, family, walks):
    """Ten steps at 50 Hz are 0.2 seconds. The option `--window` of `train` is in seconds too."""
    volunteers = walks.folder([f"other {i}" for i in range(24)], "others", count=2)
    words = ("calibrate", family, volunteers, "--far", "0.1", "--window")
    result = run_json(command, *words, "0.2")[1]
    assert (result["window"], result["rate_hz"]) == (10, RATE_HZ)
    assert "Median seconds: " in command(*words, "0.2")[1]
    for seconds, part in (("0.005", "0.005 seconds"), ("9", "lasts 0.8 s"), ("10", "--window 10")):
        assert part in " ".join(run_failing(command, *words, seconds).split())
    for seconds in ("0", "-1", "nan", "inf"):
        code, _, err = command(*words, seconds)
        assert code == 2 and "positive number of seconds" in " ".join(err.split())


@pytest.mark.slow
def test_a_window_needs_the_rate_of_files_if_the_model_has_none(command, walks, tmp_path):
    signal = keras.Input((None, 3))
    path = tmp_path / "plain.keras"
    keras.Model(signal, QuantileLayer(6)(keras.layers.Identity()(signal))).save(path)
    folder = walks.folder([f"v{i}" for i in range(12)], "volunteers", count=2)
    words = ("calibrate", tmp_path / "a.db", folder, "--model", path, "--far", "0.2", "--window")
    result = run_json(command, *words, "0.4")[1]
    assert (result["window"], result["rate_hz"]) == (20, None)
    for file in folder.rglob("*.csv"):
        lines = [line.partition(",")[2] for line in file.read_text().splitlines()]
        file.write_text("\n".join(lines))
    assert "--rate-hz" in run_failing(command, *words, "0.4")
    assert run_json(command, *words, "0.4", "--rate-hz", "100")[1]["window"] == 40


@pytest.mark.slow
def test_a_followed_file_may_be_created_later(command, listening, walks, tmp_path):
    late = tmp_path / "late.csv"
    message = run_failing(command, "listen", listening, "alice", late, "--follow", "0.3")
    assert f"{str(late)!r} does not exist after 0.3 seconds" in message
    whole = walks.file("alice")
    timer = threading.Timer(0.5, whole.rename, [late])
    timer.start()
    assert command("listen", listening, "alice", late, "--follow", "20")[0] == 0
    timer.join()


def test_a_file_is_followed_line_by_line(command, listening, walks):
    whole = walks.file("alice")
    expected = run_json(command, "listen", listening, "alice", whole)
    text = whole.read_text()
    whole.write_text(text + "\n9.9,1")  # an incomplete line
    assert run_json(command, "listen", listening, "alice", whole, "--follow", "0.3") == expected
    assert run_json(command, "listen", listening, "alice", whole, "--follow", "0") == expected
    whole.write_text(text[: text.index("\n") + 1])
    assert "ended before a decision" in run_failing(
        command, "listen", listening, "alice", whole, "--follow", "0.3"
    )


@pytest.mark.slow
def test_a_followed_file_is_read_after_a_whole_window(command, listening, walks):
    header, *steps = walks.file("alice").read_text().splitlines()
    early = steps[1].replace("0.0200,", "0.0190,")  # makes the time of the second step uneven
    assert early != steps[1]
    growing = walks.file("alice", "growing.csv")
    growing.write_text("\n".join([header, steps[0], early, ""]))

    def grow():
        growing.write_text("\n".join([header, steps[0], early, *steps[2:], ""]))

    timer = threading.Timer(1.0, grow)
    timer.start()
    assert command("listen", listening, "alice", growing, "--follow", "20")[0] == 0
    timer.join()


@pytest.mark.slow
def test_errors_of_files_name_the_options_of_the_command(command, family, monkeypatch):
    text = run_failing(command, "people", family, "--key", family.with_name("none.key"))
    assert "--key names no file that can be read" in text

    def busy(*_, **__):
        raise TimeoutError(Message("Its log could not be cut. Use {purge()} later."))

    monkeypatch.setattr("keras_dml.gallery.remove", busy)
    assert "Use `keras-dml people` later." in run_failing(command, "remove", family, "bob")


@pytest.mark.slow
def test_listen_without_a_boundary_says_how_to_set_one(command, family, walks):
    text = run_failing(command, "listen", family, "alice", walks.file("alice"))
    assert "Use `keras-dml calibrate --window SECONDS`" in text


@pytest.mark.slow
def test_a_distance_is_explained_by_parts_that_sum_to_it(command, family, walks, tmp_path):
    new = walks.file("bob")
    _, result = run_json(command, "explain", family, "alice", new)
    assert sum(result["parts"].values()) == pytest.approx(result["distance"], rel=1e-4)
    score = run_json(command, "verify", family, "alice", new, "--scores")[1]["score"]
    assert result["distance"] == pytest.approx(score, rel=1e-4)
    code, out, _ = command("explain", family, "alice", new, "--out", tmp_path / "why")
    assert code == 0 and out.startswith("distance") and (tmp_path / "why.svg").exists()


@pytest.mark.slow
def test_a_distance_without_parts_is_explained_by_removal(command, walks, tmp_path):
    signal = keras.Input((None, 3))
    contract = InputContract(["x", "y", "z"], "g", RATE_HZ, min_steps=10, max_steps=100)
    folder = tmp_path / "cosine"
    folder.mkdir()
    keras.Model(signal, SequencePooling()(contract(signal))).save(folder / "model.keras")
    db, new = tmp_path / "cosine.db", walks.file("bob")
    assert command("enroll", db, "alice", walks.file("alice", "0.csv"), "--model", folder)[0] == 0
    _, explanation = run_json(command, "explain", db, "alice", new)
    assert explanation["by_removal"] and explanation["parts"] == explanation["regions"] == {}
    assert list(explanation["channels"]) == ["x", "y", "z"]
    assert {moment["recording"] for moment in explanation["moments"]} <= {"probe"}
    code, out, _ = command("explain", db, "alice", new, "--out", tmp_path / "why")
    assert code == 0 and "without these channels" in out and "dimension" not in out
    assert (tmp_path / "why.svg").exists()


@pytest.mark.slow
def test_explain_refuses_a_folder(command, family, walks):
    folder = walks.file("alice").parent
    assert f"{str(folder)!r} is not a file" in run_failing(
        command, "explain", family, "alice", folder
    )


def write_with_clock(walks, name="odd.csv", person="alice", clock="foo", steps=STEPS):
    """Writes a walk with a counter, and with times in milliseconds in an unknown column."""
    path = walks.file(person, name, steps)
    header, *lines = path.read_text().splitlines()
    rows = [line.partition(",") for line in lines]
    rows = [f"{round(1000 * float(t))},{i},{rest}" for i, (t, _, rest) in enumerate(rows)]
    path.write_text("\n".join([f"{clock},sample{header[1:]}", *rows]))
    return path


@pytest.mark.slow
def test_times_are_named_by_options_of_the_commands(command, family, walks, tmp_path, notes):
    path = write_with_clock(walks)
    command("verify", family, "alice", path)
    assert any("do not state their rate" in note for note in notes)
    assert any(
        "Column 'foo' only rises" in note and "set --time to 'foo'" in note for note in notes
    )
    options = ("--time", "foo", "--time-unit", "ms", "--max-gap", "0.2")
    folder = tmp_path / "odd"
    for person in (f"volunteer {i}" for i in range(60)):
        for i in range(2):
            write_with_clock(walks, f"odd/{person}/{i}.csv", person)
    for words in (
        ("verify", family, "alice", path),
        ("identify", family, path),
        ("explain", family, "alice", path),
        ("enroll", family, "alice", path),
        ("reject", family, "bob", path),
        ("calibrate", family, folder, "--far", FAR),
    ):
        notes.clear()
        code, result = run_json(command, *words, *options)
        assert code == 0 and result["notes"] == {}
        assert not any("rate;" in note or "missing" in note for note in notes)
        code, out, err = command(*words, "--time", "foo", "--time-unit", "s")
        text = " ".join([out, err, *notes])  # `calibrate` prints left-out files as notes
        assert code == 2 and "has 0.05 Hz" in text


@pytest.mark.slow
def test_gaps_are_cut_and_counted_by_the_commands(command, family, walks, notes):
    path = walks.file("alice", steps=90)
    lines = path.read_text().splitlines()
    lines[10] = ",".join([*lines[10].split(",")[:3], ""])
    path.write_text("\n".join(lines[:31] + lines[60:]))
    code, result = run_json(command, "verify", family, "alice", path)
    assert (
        code == 0
        and result["accepted"]
        and set(result["notes"])
        == {
            "1 missing value was interpolated.",
            "The recording was cut at 1 long gap.",
            "The longest piece between the gaps was used.",
        }
    )
    assert len([note for note in notes if note.startswith("Note: ")]) == 3
    code, result = run_json(command, "verify", family, "alice", path, "--max-gap", "1")
    assert any("missing rows were interpolated" in note for note in result["notes"])


@pytest.mark.slow
def test_notes_are_printed_once_with_the_count_of_files(command, family, walks, notes):
    paths = []
    for i in range(3):
        paths.append(walks.file("alice", f"{i}.csv"))
        lines = paths[-1].read_text().splitlines()
        lines[5] = ",".join([*lines[5].split(",")[:3], "NaN"])
        paths[-1].write_text("\n".join(lines))
    code, result = run_json(command, "enroll", family, "alice", *paths)
    assert code == 0 and result["notes"] == {"1 missing value was interpolated.": 3}
    assert notes.count("Note (3 files): 1 missing value was interpolated.") == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--time", "bar"), "there is no column 'bar'"),
        (("--max-gap", "-1"), "--max-gap is -1.0, but it must be a positive number"),
        (("--time", ""), "--time is '', but it must be the name of a column"),
    ],
)
def test_options_of_times_are_refused_by_their_names(command, family, walks, options, message):
    assert message in run_failing(command, "verify", family, "alice", walks.file("alice"), *options)


@pytest.mark.slow
def test_an_array_with_channels_first_is_transposed_by_the_channels_of_the_model(
    command, family, walks, tmp_path
):
    values = np.loadtxt(walks.file("alice"), delimiter=",", skiprows=1)[:, 1:]
    np.save(tmp_path / "turned.npy", values.T)
    code, result = run_json(
        command, "verify", family, "alice", tmp_path / "turned.npy", "--rate-hz", "50"
    )
    assert code == 0 and result["accepted"] and "was transposed" in next(iter(result["notes"]))
