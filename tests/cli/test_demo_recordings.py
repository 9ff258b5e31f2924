"""Tests that the recordings in the package have the right people, source, size and license."""

import itertools
import re
import tarfile
import zipfile

import numpy as np
import pytest

import keras_dml
from keras_dml import recordings, zoo
from keras_dml.cli import _demo
from tests import speakers as carried_speakers
from tfds_builders.parsers import sp_sw_har, vowels
from zoo import demo_walks

PEOPLE = {*_demo.WALKERS, _demo.STRANGER}
UNSEEN = {*PEOPLE, "s23"}


def test_the_carried_speakers_equal_the_official_archive(data_dir):
    official = {}
    with zipfile.ZipFile(data_dir / "japanese_vowels_lpc" / "japanese_vowels_uci.zip") as archive:
        for part in ("train", "test"):
            (name,) = (name for name in archive.namelist() if name.endswith(f"ae.{part}"))
            with archive.open(name) as file:
                official[part] = vowels.parse(file, name=name).sequences
    with np.load(carried_speakers.FILE) as data:
        carried = np.split(data["frames"], np.cumsum(data["lengths"])[:-1])
        speakers, parts = data["speakers"], data["parts"]
    assert len(carried) == 640
    for ours, their_files in zip(carried, official["train"] + official["test"], strict=True):
        np.testing.assert_array_equal(ours, their_files)
    for part in ("train", "test"):
        assert tuple(np.bincount(speakers[parts == part])[1:]) == vowels.SIZES[part]


@pytest.fixture(scope="module")
def runs(data_dir):
    """Returns the runs that the watch recorded, `{person: {run: sp_sw_har.Run}}`."""
    (archive,) = (data_dir / "sp_sw_har").glob("*.tar.xz")
    result = {}
    with tarfile.open(archive) as members:
        for member in members:
            name = re.fullmatch(r".*/(s\d\d)_(\d\d)_sw\.csv", member.name)
            if name is not None and name[1] in UNSEEN:
                file = members.extractfile(member)
                run = sp_sw_har.parse(file, name=member.name)
                result.setdefault(name[1], {})[name[2]] = run
    return result


def walking(run):
    return run.activity == sp_sw_har.ACTIVITIES.index("WALKING")


@pytest.mark.slow
def test_the_walks_of_the_package_equal_the_archive(runs):
    """The walks in the package are the walking parts of the archive's files, without turns."""
    count = 0
    for person in sorted(PEOPLE):
        for number, run in runs[person].items():
            path = _demo.WALKS / person / f"{number}.csv"
            carried = np.loadtxt(path, delimiter=",", skiprows=1)
            rows = walking(run)
            np.testing.assert_allclose(carried[:, 1:], run.sequence[rows, :3], rtol=0, atol=5.1e-5)
            steps, turned = np.diff(run.time_ms[rows]), np.diff(np.flatnonzero(rows)) > 1
            np.testing.assert_array_equal(np.diff(carried[:, 0])[~turned], steps[~turned])
            assert carried[0, 0] == 0 and turned.any()
            assert (np.diff(carried[:, 0])[turned] == 10).all()
            count += 1
    assert count == len(list(_demo.WALKS.rglob("*.csv"))) == 39


@pytest.mark.slow
def test_the_demo_states_the_rates_of_all_choices_of_people(runs, tmp_path):
    """Computes the rates for all choices of three people and a stranger.

    The people are the five people of the data set who were not used to train the model.
    """
    card, model = zoo.card("watch_lda"), zoo.load("watch_lda")
    assert set(card["data"]["test_subjects"]) == set(runs) == UNSEEN
    unit = {}
    for person, numbered in runs.items():
        walks = []
        for number in sorted(numbered):
            run, path = numbered[number], tmp_path / f"{person}-{number}.csv"
            rows = walking(run)
            times, sequence = demo_walks.cut(run.time_ms, run.sequence, run.activity)
            assert len(times) == rows.sum()
            np.savetxt(
                path, np.c_[times, sequence], "%.4f", ",", header="time_ms,x,y,z", comments=""
            )
            walks.append(recordings.read(path, ["x", "y", "z"], resample_hz=50).values)
        z = keras_dml.embed(model, walks)
        unit[person] = z / np.linalg.norm(z, axis=1, keepdims=True)
    (limit,) = (row["value"] for row in card["thresholds"] if row["far"] == 0.01)
    rates = {}
    for enrolled in itertools.combinations(sorted(UNSEEN), 3):
        for stranger in UNSEEN - {*enrolled}:
            right = {True: [], False: []}
            for person in (*enrolled, stranger):
                probes = unit[person][0 if person == stranger else 5 :]
                for claimed in enrolled:
                    accepted = -(probes @ unit[claimed][:5].T).max(axis=1) <= limit
                    right[person == claimed] += list(accepted == (person == claimed))
            rates[enrolled, stranger] = [100 * np.mean(right[kind]) for kind in (True, False)]
    true, false = np.transpose(list(rates.values()))
    assert len(rates) == 20 and rates[_demo.WALKERS, _demo.STRANGER] == [
        100,
        100,
    ]
    for rate in (true, false):
        assert f"{rate.min():.0f} to {rate.max():.0f} %" in _demo.CHOICE


def test_the_recordings_of_the_package_are_small_and_name_their_source():
    folder = _demo.WALKS.parent
    assert sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) < 1_500_000
    for place, parts in (
        (folder, ("10.24432/C5NS47", "Kudo", "1103–1111", "UCI's present terms")),
        (folder / "walks", ("10.5281/zenodo.8398688", "Matey-Sanz", "109809", "consent")),
    ):
        source = (place / "SOURCE.md").read_text()
        for part in (*parts, "CC BY 4.0", "https://creativecommons.org/licenses/by/4.0/"):
            assert part in source


def test_the_model_was_not_trained_on_people_of_the_walks():
    trained = zoo.card("watch_lda")["data"]["train_subjects"]
    assert trained and not PEOPLE & set(trained)
    assert {path.name for path in _demo.WALKS.iterdir() if path.is_dir()} == PEOPLE


def test_walks_are_copied_and_the_stranger_is_not_enrolled(tmp_path):
    enrolled, new = _demo.copy_walks(zoo.card("watch_lda"), tmp_path)
    assert {who: len(paths) for who, paths in enrolled.items()} == dict.fromkeys(_demo.WALKERS, 5)
    assert {who: len(paths) for who, paths in new.items()} == {
        "s05": 5,
        "s21": 5,
        "s22": 4,
        _demo.STRANGER: 10,
    }
    paths = [path for each in (*enrolled.values(), *new.values()) for path in each]
    contents = {(tmp_path / path).read_text() for path in paths}
    assert contents == {path.read_text() for path in _demo.WALKS.rglob("*.csv")}


def test_a_model_that_was_trained_on_a_walker_is_refused(tmp_path):
    with pytest.raises(ValueError, match="trained on s17, s21"):
        _demo.copy_walks({"data": {"train_subjects": ["s01", "s21", "s17"]}}, tmp_path)
    assert not list(tmp_path.iterdir())
