"""Tests of `keras-dml train`."""

import json

import pytest
from scipy.io import wavfile

from keras_dml import training
from keras_dml.cli import _console
from keras_dml.training.own import exports
from tests.training.own.conftest import recordings_of
from tests.training.own.test_files import jittered, write


@pytest.fixture(autouse=True)
def without_exports(monkeypatch):
    monkeypatch.setattr(exports, "QUANTIZATIONS", {})


@pytest.fixture
def walks(tmp_path):
    folder = tmp_path / "walks"
    for i, (recording, person) in enumerate(zip(*recordings_of(4), strict=True)):
        write(folder / person / f"{i}.csv", recording)
    (folder / "person 0" / "0.csv").write_text("x,y,z\n1,2,three\n")
    return folder


def test_a_folder_becomes_a_model_with_a_leaderboard(command, walks, tmp_path):
    out = tmp_path / "phone"
    code, printed, _ = command("train", walks, "--out", out, "--window", "2", "--steps", "0")
    assert code == 0
    assert "Left out: 1 files" in printed
    assert "1 left out" in printed and "person 0/0.csv" in printed and "not a number" in printed
    nested, chosen_from, table = map(printed.index, ("phone: EER", "chosen from", "log_euclidean"))
    assert nested < chosen_from < table and "lda" in printed[table - 200 :]
    assert "For each group, the method that is best" in " ".join(printed.split())
    assert "4 people in groups carry as much" in printed and "written to" in printed
    assert f"Next: keras-dml enroll family.db PERSON FILES --model {out}" in printed
    assert (out / "model.keras").is_file() and not (out / "unfinished").exists()
    code, printed, _ = command("card", out)
    assert code == 0 and "made with 4" in printed and "4 people in groups carry as much" in printed


@pytest.mark.slow
def test_a_model_is_replaced_only_when_asked(command, walks, tmp_path):
    out, words = tmp_path / "phone", ("--window", "2", "--steps", "0")
    assert command("train", walks, "--out", out, *words)[0] == 0
    before = (out / "card.json").read_bytes()
    code, printed, error = command("train", walks, "--out", out, *words)
    assert (code, printed) == (2, "") and "--replace" in error
    assert (out / "card.json").read_bytes() == before
    assert command("train", walks, "--out", out, *words, "--replace")[0] == 0
    assert (out / "card.json").read_bytes() != before


@pytest.mark.slow
def test_recordings_of_uneven_clocks_are_resampled_and_enrolled(
    command, tmp_path, rng, monkeypatch
):
    for i, (recording, person) in enumerate(zip(*recordings_of(4, steps=400), strict=True)):
        jittered(tmp_path / "walks" / person / f"{i}.csv", recording, rng)
    out = tmp_path / "phone"
    words = ("train", tmp_path / "walks", "--out", out, "--window", "2", "--steps", "0")
    notes = []
    monkeypatch.setattr(_console, "note", notes.append)
    code, printed, _ = command(*words)
    assert code == 0 and f"--model {out} --resample" in " ".join(printed.split())
    assert "times of 16 files are uneven, so all files were resampled" in notes[0]
    words = ("enroll", tmp_path / "a.db", tmp_path / "walks", "--model", out, "--resample")
    assert command(*words)[0] == 0


def test_a_folder_of_one_person_makes_no_model(command, walks, tmp_path):
    code, printed, error = command("train", walks, "--out", tmp_path / "a", "--channels", "q")
    assert (code, printed) == (2, "")
    for person in ("person 1", "person 2", "person 3"):
        for file in (walks / person).iterdir():
            file.write_text("")
    code, printed, error = command("train", walks, "--out", tmp_path / "a", "--steps", "0")
    assert (code, printed) == (2, "") and "1 of 4 people remain" in error
    assert not (tmp_path / "a").exists()


@pytest.mark.slow
def test_a_missing_file_for_devices_is_explained(command, walks, tmp_path, monkeypatch):
    def missing():
        raise ImportError('LiteRT is not installed: pip install "keras-dml[edge]".')

    monkeypatch.setattr(exports, "QUANTIZATIONS", {"float32": None})
    monkeypatch.setattr(exports.export.litert, "require", missing)
    words = ("--window", "2", "--steps", "0")
    code, printed, _ = command("train", walks, "--out", tmp_path / "phone", *words)
    assert code == 0 and "phone_float32.tflite was not written. LiteRT is not" in printed


@pytest.mark.slow
def test_json_is_one_object(command, walks, tmp_path, monkeypatch):
    asked = {}
    real = training.train_folder

    def recorded(folder, **options):
        asked.update(options)
        return real(folder, **options | {"channels": ["x", "y", "z"]})

    monkeypatch.setattr(training, "train_folder", recorded)
    out = tmp_path / "phone"
    words = ("--channels", "x, y,z", "--units", "g", "--window", "2", "--steps", "0", "--json")
    words += ("--time", "time_s", "--time-unit", "s", "--max-gap", "0.5")
    code, printed, _ = command("train", walks, "--out", out, "--minutes", "3", *words)
    result = json.loads(printed)
    assert (asked["time"], asked["time_unit"], asked["max_gap"]) == ("time_s", "s", 0.5)
    assert result["notes"] == {}
    assert (
        code == 0 and result["model"] == str(out) and list(result["refused"]) == ["person 0/0.csv"]
    )
    assert result["leaderboard"][0]["chosen"] and result["card"]["input"]["units"] == ["g"] * 3
    assert asked["channels"] == ["x", "y", "z"] and asked["units"] == "g"
    assert asked["minutes"] == 3 and asked["kind"] is None and not asked["resume"]


def test_a_missing_folder_is_refused_in_one_line(command, tmp_path):
    code, printed, error = command("train", tmp_path / "none", "--out", tmp_path / "phone")
    assert code == 2 and not printed and "does not exist" in error
    assert not (tmp_path / "phone").exists()
    _, printed, error = command("train", "", "--out", tmp_path / "phone")
    assert not printed and "The name of the folder is empty" in error


@pytest.mark.slow
def test_errors_name_the_options(command, walks, tmp_path):
    for option in ("--minutes", "--rate-hz", "--resample-hz", "--window"):
        _, _, error = command("train", walks, "--out", tmp_path / "phone", option, "nan")
        assert f"Error: {option} is nan, but it must be a positive number" in error


@pytest.mark.slow
def test_errors_and_reasons_name_the_options_of_the_command(command, walks, tmp_path):
    out = tmp_path / "phone"
    _, _, error = command("train", walks, "--out", out, "--window", "0.01")
    assert "Give a longer --window" in error
    (walks / "person 1" / "other.csv").write_text("t,a,b,c\n0,1,2,3\n0.05,4,5,6\n")
    words = ("--window", "2", "--steps", "0")
    _, printed, _ = command("train", walks, "--out", out, *words)
    assert "set --channels" in " ".join(printed.split())


def test_a_rate_of_events_is_refused(command, walks, tmp_path):
    words = ("train", walks, "--out", tmp_path / "typing", "--events", "--rate-hz", "50")
    code, printed, error = command(*words)
    assert (code, printed) == (
        2,
        "",
    ) and "--rate-hz is 50.0, but the rows are read as events" in error
    assert not (tmp_path / "typing").exists()


def test_the_error_for_sound_at_44100_hz_names_resampling(command, tmp_path, rng):
    """Most audio files have a rate of 44,100 Hz."""
    for name in ("ann", "bob"):
        (tmp_path / "voices" / name).mkdir(parents=True)
        path = tmp_path / "voices" / name / "1.wav"
        wavfile.write(path, 44_100, 0.1 * rng.normal(size=88_200))
    words = ("train", tmp_path / "voices", "--out", tmp_path / "voice", "--window", "1")
    code, _, error = command(*words)
    assert code == 2 and "Resample it to 16000 Hz. For files, set --resample-hz" in error


@pytest.mark.slow
def test_notes_on_columns_and_gaps_name_the_options(command, walks, tmp_path, monkeypatch):
    notes = []
    monkeypatch.setattr(_console, "note", notes.append)
    for path in walks.rglob("*.csv"):
        header, *lines = path.read_text().splitlines()
        rows = [f"{i},{line}" for i, line in enumerate(lines)]
        path.write_text("\n".join([f"ticks,{header}", *rows[:30], *rows[60:]]))
    words = ("--out", tmp_path / "phone", "--window", "1", "--steps", "0")
    code, _, _ = command("train", walks, *words)
    messages = " ".join(notes)
    assert code == 0 and "'ticks' was not used as a channel" in messages
    assert "name it in --channels" in messages and "--time to 'ticks'" in messages
    assert "files): The recording was cut at 1 long gap." in messages


def test_a_stopped_training_says_how_to_go_on(command, walks, tmp_path, monkeypatch):
    def stopped(folder, **options):
        raise KeyboardInterrupt

    text = []
    monkeypatch.setattr(training, "train_folder", stopped)
    monkeypatch.setattr(_console, "note", text.append)
    assert command("train", walks, "--out", tmp_path / "phone")[0] == 130
    assert "with --resume to continue" in text[0]
