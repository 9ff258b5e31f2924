"""The demo's recordings: the right people and sessions, and nothing of an archive by accident."""

import importlib.util
import zipfile

import numpy as np
import pytest

from keras_dml.cli import _demo_recordings
from tests.cli.walks import write_archive
from tfds_builders.parsers import vowels


def test_the_carried_set_is_the_official_one(data_dir):
    official = {}
    with zipfile.ZipFile(data_dir / "japanese_vowels_lpc" / "japanese_vowels_uci.zip") as archive:
        for part in ("train", "test"):
            (name,) = (name for name in archive.namelist() if name.endswith(f"ae.{part}"))
            with archive.open(name) as file:
                official[part] = vowels.parse(file, name=name).sequences
    with np.load(_demo_recordings.VOWELS) as data:
        carried = np.split(data["frames"], np.cumsum(data["lengths"])[:-1])
        speakers, parts = data["speakers"], data["parts"]
    assert len(carried) == 640
    for ours, theirs in zip(carried, official["train"] + official["test"], strict=True):
        np.testing.assert_array_equal(ours, theirs)
    for part in ("train", "test"):
        assert tuple(np.bincount(speakers[parts == part])[1:]) == vowels.SIZES[part]


def test_the_carried_set_is_small_and_says_where_it_is_from():
    assert _demo_recordings.VOWELS.stat().st_size < 600_000
    source = _demo_recordings.VOWELS.with_name("SOURCE.md").read_text()
    for part in ("10.24432/C5NS47", "Kudo", "1103–1111", "CC BY 4.0", "by UCI's present terms"):
        assert part in source


def test_speakers_of_the_training_are_left_out():
    found = _demo_recordings.vowels(["1", "2", "3", "4", "5"])
    assert found.people == ["6", "7", "8", "9"]
    assert (len(found.enrolled), len(found.probes)) == (4 * 30, 24 + 40 + 50 + 29)
    assert {each.shape[1] for each in found.enrolled + found.probes} == {12}
    assert found.label("6") == "speaker 6"


def test_too_few_people_are_refused():
    with pytest.raises(ValueError, match="needs three speakers .* There are 2.*train_subjects"):
        _demo_recordings.vowels(list("1234567"))


@pytest.mark.parametrize(
    ("steps", "starts"),
    [
        ([], []),
        ([[10, 60], [470, 521]], []),
        ([[10, 60], [470, 522]], [10]),
        ([[3, 9], [1100, 1999]], [3, 515, 1027]),
    ],
)
def test_windows_lie_between_the_first_and_the_last_step(steps, starts):
    sequence = np.arange(2000.0)[:, None] * np.ones(6)
    windows = _demo_recordings.between_steps(sequence, np.array(steps, int).reshape(-1, 2))
    assert [window[0, 0] for window in windows] == starts
    assert all(window.shape == (512, 6) for window in windows)


@pytest.fixture
def archive(tmp_path):
    write_archive(tmp_path / "archive", people=range(1, 7), trials=(1, 2, 4))
    return tmp_path / "archive"


def test_the_last_walk_is_observed_and_the_trained_on_are_left_out(archive, tmp_path):
    found = _demo_recordings.gait(["1", "3"], archive, tmp_path / "prepared")
    assert found.people == ["2", "4", "5", "6"]
    assert len(found.probes) == 4 * 2  # of one walk
    assert len(found.enrolled) == 4 * 4  # of the two before
    assert all(each.shape == (512, 6) for each in found.enrolled + found.probes)
    assert found.notes == ()


def test_who_walked_once_or_shortly_is_left_out_and_counted(tmp_path):
    write_archive(tmp_path, people=range(1, 5), trials=(1, 2))
    write_archive(tmp_path, people=[8], trials=(1,))
    write_archive(tmp_path, people=[9], trials=(1,), samples=400)
    found = _demo_recordings.gait([], tmp_path, tmp_path / "prepared")
    assert found.people == ["1", "2", "3", "4"]
    assert found.notes == (
        "Walks shorter than 5.12 s, left out: 1",
        "People with a single walk, left out: 1",
    )


def test_nobody_left_is_refused(archive, tmp_path):
    with pytest.raises(ValueError, match="There are 1: the model's card"):
        _demo_recordings.gait(list("12345"), archive, tmp_path / "prepared")


def test_a_missing_archive_is_refused_with_where_to_get_it(tmp_path):
    with pytest.raises(ValueError, match="no GaitData.zip.*10.5201/ipol.2019.265"):
        _demo_recordings.gait([], tmp_path, tmp_path / "prepared")


def test_a_wrong_archive_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "GaitData.zip", "w") as file:
        file.writestr("GaitData/notes.txt", "hello")
    with pytest.raises(ValueError, match="holds no <subject>-<trial>.csv"):
        _demo_recordings.gait([], tmp_path, tmp_path / "prepared")


def test_without_tfds_the_extra_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"keras-dml\[data\]"):
        _demo_recordings.gait([], tmp_path)
