"""Tests that `train_folder` reads files, and unifies their channels, rates and units."""

import numpy as np
import pytest
import scipy.io.wavfile

from keras_dml import zoo
from keras_dml.training import train_folder
from keras_dml.training.own import files
from tests.training.own.conftest import recordings_of
from tests.training.own.test_kinds import voices

HEADER = "time_s,x (g),y (g),z (g)"


def write(path, recording, rate_hz=20, header=HEADER):
    path.parent.mkdir(parents=True, exist_ok=True)
    times = np.arange(len(recording)) / rate_hz
    np.savetxt(path, np.c_[times, recording], delimiter=",", header=header, comments="", fmt="%.5f")


@pytest.fixture
def walks(tmp_path):
    """Writes walks of three people in two sessions, and files that are not recordings."""
    folder = tmp_path / "walks"
    recordings, people = recordings_of(3)
    for i, (recording, person) in enumerate(zip(recordings, people, strict=True)):
        write(folder / person / f"day {i % 2}" / f"walk {i}.csv", recording)
    write(folder / "person 0" / "day 1" / "fast.csv", recordings[0], rate_hz=40)
    write(folder / "person 0" / "day 1" / "other.csv", recordings[0], header="time_s,a,b,c")
    write(folder / "person 0" / "day 1" / "unit.csv", recordings[0], header="time_s,x,y,z")
    (folder / "person 0" / "day 1" / "broken.csv").write_text(f"{HEADER}\n0,1,2,\n")
    (folder / "person 0" / "notes.txt").write_text("of the recordings")
    return folder


def test_files_that_differ_from_most_files_are_listed(walks):
    found = files.read(walks)
    assert (found.channels, found.units, found.rate_hz) == (("x", "y", "z"), ("g",) * 3, 20.0)
    assert len(found.recordings) == 12 and set(found.sessions) == {"day 0", "day 1"}
    assert found.names[0] == "person 0/day 0/walk 0.csv"
    reasons = {name.rpartition("/")[2]: reason for name, reason in found.refused.items()}
    assert set(reasons) == {"fast.csv", "other.csv", "unit.csv", "broken.csv", "notes.txt"}
    assert (
        reasons["fast.csv"]
        == "it has 40 Hz, but most files have 20 Hz (set `resample_hz` to resample all files)"
    )
    assert "its channels are a, b, c, but most files have x, y, z" in reasons["other.csv"]
    assert "its units are None, None, None, but most files have g, g, g" in reasons["unit.csv"]
    assert reasons["broken.csv"].startswith("line 2: channel 'z' has no finite")


def test_channels_and_rate_can_be_given(walks):
    found = files.read(walks, channels=["z", "x"], rate_hz=20)
    assert found.channels == ("z", "x") and found.recordings[0].shape == (120, 2)
    assert "40 Hz according to its times" in found.refused["person 0/day 1/fast.csv"]
    with pytest.raises(ValueError, match="No recording of .* can be read. .*no column 'w'"):
        files.read(walks, channels=["w"])


def test_an_unknown_rate_is_an_error(tmp_path):
    folder = tmp_path / "ann"
    folder.mkdir()
    np.save(folder / "walk.npy", np.ones((9, 2)))
    with pytest.raises(ValueError, match="No file states its rate"):
        files.read(tmp_path)
    assert files.read(tmp_path, rate_hz=50).channels == ("1", "2")


@pytest.fixture
def calls(tmp_path):
    """Writes voices of two people in one session. One file of each person has twice the sample rate
    of the other files.
    """
    folder = tmp_path / "calls"
    for i, (voice, person) in enumerate(zip(*voices(2), strict=True)):
        place = folder / person / "monday"
        place.mkdir(parents=True, exist_ok=True)
        rate = 8000 if i % 4 else 16_000
        scipy.io.wavfile.write(place / f"{i}.wav", rate, (20_000 * voice).astype(np.int16))
    return folder


def test_sound_of_two_people_in_one_session_becomes_a_model_without_a_rate(
    calls, tmp_path, without_exports
):
    found = train_folder(calls, out=tmp_path / "voices", window=1, steps=0)
    reasons = {name.rpartition("/")[2]: reason for name, reason in found.refused.items()}
    assert reasons == dict.fromkeys(
        ("0.wav", "4.wav"),
        "it has 16000 Hz, but most files have 8000 Hz (set `resample_hz` to resample all files)",
    )
    assert found.method == "logcov" and found.card["input"]["channels"] == ["sound"]
    assert "No error rate is given, because there are 2 people" in str(found)
    assert zoo.load(str(found.folder)).input_shape == (None, None, 1)


def test_the_usual_rate_is_the_rate_of_most_files():
    assert files._usual_rate([8000.0] * 3 + [16_000.0] * 2 + [44_100.0] * 2) == 8000
    assert files._usual_rate([49.98, 50.0, 50.02, 100.0]) == 50
    assert files._usual_rate([16_000.0, 8000.0]) in (8000, 16_000)


def test_a_folder_becomes_a_model(walks, tmp_path, without_exports):
    found = train_folder(walks, out=tmp_path / "phone", window=2, steps=0)
    assert found.card["input"]["units"] == ["g"] * 3 and len(found.refused) == 5
    assert zoo.load(str(found.folder)).input_shape == (None, None, 3)


def logged(path, recording, clock, rate_hz=20, extra=(), name="ticks"):
    """Writes a csv with a counter column and further columns of numbers."""
    path.parent.mkdir(parents=True, exist_ok=True)
    columns = [np.arange(len(recording)) / rate_hz, clock, *extra, *recording.T]
    names = ["time_s", name, *(f"extra{i}" for i in range(len(extra))), "x", "y", "z"]
    rows = [",".join(f"{value:.5f}" for value in row) for row in zip(*columns, strict=True)]
    path.write_text("\n".join([",".join(names), *rows]))


@pytest.mark.parametrize("name", ["ticks", "clock reading"])
def test_all_files_have_the_same_channels(tmp_path, name):
    """Some columns must not become channels: a clock that restarts in one file, and a column with
    one constant value per file.
    """
    recordings, people = recordings_of(3)
    for i, (recording, person) in enumerate(zip(recordings, people, strict=True)):
        clock = 100 * i + np.arange(len(recording))
        if i == 5:  # the counter restarts several times in this file
            clock = clock % 7
        phone = np.full(len(recording), i % 3)
        logged(tmp_path / person / f"{i}.csv", recording, clock, extra=[phone], name=name)
    found = files.read(tmp_path)
    assert found.channels == ("x", "y", "z") and len(found.recordings) == 12
    assert found.refused == {}
    counts = [count for note, count in found.notes.items() if f"{name!r} was not used" in note]
    assert counts == ([11] if name == "ticks" else [])  # the other name always means times


def test_a_channel_that_rises_by_chance_in_one_file_stays_a_channel(tmp_path):
    recordings, people = recordings_of(3)
    for i, (recording, person) in enumerate(zip(recordings, people, strict=True)):
        if i in (0, 7):
            recording = recording.copy()
            recording[:, 1] = np.sort(recording[:, 1]) if i else 0.5
        logged(tmp_path / person / f"{i:02d}.csv", recording, np.arange(len(recording)))
    found = files.read(tmp_path)
    assert found.channels == ("x", "y", "z") and len(found.recordings) == 12
    assert found.names == sorted(found.names)
    assert any("'y' only increases or is constant in 2 of 12" in note for note in found.notes)


def test_a_column_that_is_a_channel_in_half_of_the_files_is_left_out_of_all(tmp_path):
    recordings, people = recordings_of(2)
    for i, (recording, person) in enumerate(zip(recordings, people, strict=True)):
        clock = np.arange(len(recording)) % (7 if i % 2 else 1000)
        logged(tmp_path / person / f"{i}.csv", recording, clock)
    assert files.read(tmp_path).channels == ("x", "y", "z")


def jittered(path, recording, rng, rate_hz=50):
    """Writes a csv with the uneven clock of a phone: some steps are short, and some are long."""
    steps = rng.choice([0.3, 1.0, 1.0, 1.0, 1.9], size=len(recording)) / rate_hz
    times = 1.7e9 + np.cumsum(steps)
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savetxt(
        path,
        np.c_[times, recording],
        delimiter=",",
        header="timestamp,x (g),y (g),z (g)",
        comments="",
        fmt=["%.4f", *["%.5f"] * 3],
    )


@pytest.mark.slow
def test_uneven_clocks_are_resampled_to_the_median_rate(tmp_path, rng, without_exports):
    recordings, people = recordings_of(4, steps=400)
    for i, (recording, person) in enumerate(zip(recordings, people, strict=True)):
        jittered(tmp_path / "walks" / person / f"{i}.csv", recording, rng)
    write(tmp_path / "walks" / "person 0" / "even.csv", recordings[1], rate_hz=50)
    found = files.read(tmp_path / "walks")
    assert found.rate_hz == found.resampled_hz == pytest.approx(50, rel=0.01)
    assert not found.refused and len(found.recordings) == 17
    (note,) = (note for note in found.notes if "resampled to" in note)
    assert "uneven" in note and f"{found.rate_hz:g} Hz" in note
    done = train_folder(tmp_path / "walks", out=tmp_path / "phone", window=2, steps=0)
    assert done.resampled_hz == found.rate_hz and note in done.notes
    assert done.card["input"]["rate_hz"] == found.rate_hz
    assert len(done.card["data"]["train_subjects"]) == 4
    asked = files.read(tmp_path / "walks", resample_hz=40)
    assert asked.rate_hz == 40 and not any("median" in note for note in asked.notes)


def test_many_rates_are_resampled_to_the_median_rate(tmp_path):
    recordings, people = recordings_of(3)
    for i, (recording, person) in enumerate(zip(recordings, people, strict=True)):
        write(tmp_path / person / f"{i}.csv", recording, rate_hz=18 + i / 2)
    found = files.read(tmp_path)
    assert not found.refused and len(found.recordings) == 12
    assert found.resampled_hz == pytest.approx(np.median(18 + np.arange(12) / 2), rel=0.01)


@pytest.mark.parametrize("people", [1, 3])
def test_a_folder_with_one_usable_person_gives_no_model(tmp_path, people):
    recordings, names = recordings_of(people)
    for i, (recording, person) in enumerate(zip(recordings, names, strict=True)):
        header = HEADER if person == "person 0" else "time_s,a,b,c"
        write(tmp_path / "walks" / person / f"{i}.csv", recording, header=header)
    with pytest.raises(ValueError, match="one person|1 of 3 people"):
        train_folder(
            tmp_path / "walks", out=tmp_path / "phone", window=2, steps=0, channels=["x", "y", "z"]
        )
    assert not (tmp_path / "phone").exists()


def test_named_channels_are_used_unchanged(tmp_path):
    recordings, people = recordings_of(2)
    for i, (recording, person) in enumerate(zip(recordings, people, strict=True)):
        logged(tmp_path / person / f"{i}.csv", recording, np.arange(len(recording)))
    found = files.read(tmp_path, channels=["x", "ticks"])
    assert found.channels == ("x", "ticks") and found.rate_hz == 20


def test_pieces_of_a_file_are_recordings_of_one_file(tmp_path):
    recordings, people = recordings_of(2, steps=200)
    for i, (recording, person) in enumerate(zip(recordings, people, strict=True)):
        path = tmp_path / person / f"{i}.csv"
        write(path, recording)
        lines = path.read_text().splitlines()
        path.write_text("\n".join(lines[:60] + lines[100:]))
    found = files.read(tmp_path)
    assert len(found.recordings) == 16 and len(set(found.files)) == 8
    assert found.names[:2] == [
        "person 0/0.csv, piece 1 of 2",
        "person 0/0.csv, piece 2 of 2",
    ]
    assert found.notes == {"The recording was cut at 1 long gap.": 8}
    assert len(files.read(tmp_path, max_gap=3).recordings) == 8


def test_the_column_of_times_can_be_given(tmp_path):
    recordings, people = recordings_of(2)
    for i, (recording, person) in enumerate(zip(recordings, people, strict=True)):
        path = tmp_path / person / f"{i}.csv"
        write(path, recording, header="foo,x,y,z")
        path.write_text(path.read_text().replace("time_s", "foo"))
    with pytest.raises(ValueError, match="No file states its rate"):
        files.read(tmp_path)
    assert files.read(tmp_path, time="foo").rate_hz == 20
    assert files.read(tmp_path, time="foo", time_unit="ms").rate_hz == 20_000
    for name, value in (("time_unit", "h"), ("max_gap", -1.0), ("time", "bar")):
        with pytest.raises(ValueError, match=f"`{name}`|no column 'bar'"):
            files.read(tmp_path, **{name: value})


def test_pieces_of_a_cut_file_are_on_one_side(tmp_path, without_exports):
    """Each person has four files of two pieces each, without sessions."""
    recordings, people = recordings_of(4, steps=240)
    for i, (recording, person) in enumerate(zip(recordings, people, strict=True)):
        path = tmp_path / "walks" / person / f"{i}.csv"
        write(path, recording)
        lines = path.read_text().splitlines()
        path.write_text("\n".join(lines[: 60 + 20 * (i % 4)] + lines[140:]))
    found = train_folder(tmp_path / "walks", out=tmp_path / "phone", window=2, steps=0)
    assert found.notes == {"The recording was cut at 1 long gap.": 16} and not found.refused
