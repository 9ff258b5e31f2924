"""`keras-dml reproduce wasserstein`, run as a person runs it, on made-up people."""

import dataclasses
import json

import pytest

from keras_dml.cli import _reproduce_wasserstein, _wasserstein_data
from tests.reproduce import people as small
from tfds_builders.common.errors import MissingArchiveError


def found(**changed):
    arrays = {**small.arrays(**changed), "gaze": None}
    relation = "a part of the paper's data (16 of 71 people)"
    return _wasserstein_data.Found(arrays, "Made up.", relation, 71)


@pytest.fixture
def few(monkeypatch):
    """A handful of runs in place of the scale `smoke`."""
    from keras_dml.reproduce.wasserstein import methods, plan

    monkeypatch.setitem(plan.SCALES, "smoke", dataclasses.replace(small.SCALE, seeds=1))
    monkeypatch.setattr(methods, "names_for", lambda recordings: ("QP-WL",))
    monkeypatch.setattr(_wasserstein_data, "read", lambda *given: found())
    with small.step_by_step():
        yield


def reproduce(command, *words):
    return command("reproduce", "wasserstein", "--manual-dir", "none", "--domain", "gait", *words)


def test_help_has_an_example(command):
    code, out, _ = command("reproduce", "wasserstein", "--help")
    assert code == 0 and "Example: keras-dml reproduce wasserstein --manual-dir" in out


@pytest.mark.parametrize(
    "words", [[], ["--manual-dir", ".", "--domain", "ears"], ["--manual-dir", ".", "--seeds", 0]]
)
def test_wrong_use_exits_with_2(command, words):
    assert command("reproduce", "wasserstein", *words)[0] == 2


@pytest.mark.slow
def test_tables_are_printed_and_everything_is_written(command, few, tmp_path):
    out = tmp_path / "a [folder]"
    code, printed, told = reproduce(command, "--out", out, "--scale", "smoke")
    assert code == 0, told
    for part in (
        "112 recordings of 16 people; of them 6 to train, 2 to choose settings on, 8 to test",
        "a part of the paper's data (16 of 71 people)",
        "figures mean nothing",
        "0.9923",
        "Jensen-Shannon",
        "No network",
        "EER of QP-WL less this",
    ):
        assert part in printed, part
    page = (out / "report.html").read_text(encoding="utf-8")
    for part in ("0.9923", "16 of 71 people", "--domain gait --scale smoke --seeds 1", "<th"):
        assert part in page, part
    assert page.count("<img ") == 5 and "Kullback-Leibler" in page
    summary = printed.split("Written to")[1]
    assert all(picture.name in summary for picture in out.glob("*.png"))
    assert not list(out.rglob("*.part"))

    code, printed, told = reproduce(command, "--out", out, "--scale", "smoke", "--json")
    assert code == 0, told
    written = json.loads((out / "figures.json").read_text())
    assert json.loads(printed) == {**written, "path": str(out)}


@pytest.mark.slow
def test_without_a_domain_those_of_the_paper_stand_on_one_page(command, few, tmp_path, monkeypatch):
    def read(domain, *given):
        if domain == "eeg":
            raise MissingArchiveError("No recordings for --domain eeg: get eeg_full.tar.")
        return found(takes={"eyes": 7, "gait": 8}[domain])

    monkeypatch.setattr(_wasserstein_data, "read", read)
    words = ("reproduce", "wasserstein", "--manual-dir", "none", "--scale", "smoke")
    code, printed, told = command(*words, "--out", tmp_path)
    assert code == 0, told
    assert "Not here: EEG. No recordings for --domain eeg: get eeg_full.tar." in printed
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    for part in (
        "eye movements: 112 recordings of 16 people", "gait: 128 recordings of 16 people",
        "Not here: EEG. No recordings", "<h2>gait: Settings", "--manual-dir DIR --scale smoke",
    ):  # fmt: skip
        assert part in page, part
    assert page.count("<img ") == 10
    figures = json.loads((tmp_path / "figures.json").read_text())
    for domain in ("eyes", "gait"):
        own = tmp_path / domain
        assert figures[domain] == json.loads((own / "figures.json").read_text())
        assert (own / "protocol.svg").exists() and list((own / "runs").glob("*.keras"))
    assert "eyes/, gait/" in printed and not (tmp_path / "eeg").exists()


def test_without_any_archive_each_domain_says_what_to_get(command, tmp_path):
    words = ("--manual-dir", tmp_path, "--data-dir", tmp_path / "prepared")
    code, _, told = command("reproduce", "wasserstein", *words, "--out", tmp_path / "out")
    assert code == 2 and "Traceback" not in told
    for domain, name in (("eyes", "diem_gaze"), ("gait", "ltmm_gait"), ("eeg", "uci_eeg")):
        assert f"No recordings for --domain {domain}: neither {name}" in " ".join(told.split())
    assert not (tmp_path / "out").exists()


def test_too_few_people_are_one_clear_error(command, few, tmp_path, monkeypatch):
    monkeypatch.setattr(_wasserstein_data, "read", lambda *given: found(people=4))
    code, _, told = reproduce(command, "--out", tmp_path / "out", "--scale", "smoke")
    assert code == 2
    assert "Error: At least two people" in told and "Traceback" not in told
    assert not (tmp_path / "out").exists()


def test_a_missing_archive_is_one_clear_error(command, tmp_path):
    words = ("--manual-dir", tmp_path, "--data-dir", tmp_path / "prepared", "--domain", "eyes")
    code, _, told = command("reproduce", "wasserstein", *words, "--out", tmp_path / "out")
    assert code == 2
    assert "neither diem_gaze nor gazecom_gaze" in told and "Traceback" not in told
    assert not (tmp_path / "out").exists()


def test_ctrl_c_exits_with_130(command, tmp_path, monkeypatch):
    def stopped(*given):
        raise KeyboardInterrupt

    monkeypatch.setattr(_wasserstein_data, "read", stopped)
    assert reproduce(command, "--out", tmp_path / "out")[0] == 130
    assert not (tmp_path / "out").exists()


def test_the_papers_scale_takes_the_papers_people(command, few, tmp_path, monkeypatch):
    from keras_dml.reproduce.wasserstein import plan, recordings

    taken = []

    def refuse(everything, people):
        taken.append(people)
        raise ValueError("enough")

    monkeypatch.setattr(recordings, "divide", refuse)
    assert plan.SCALES["paper"].people is None
    assert reproduce(command, "--out", tmp_path / "out", "--scale", "paper")[0] == 2
    assert taken == [71]


def test_there_is_a_title_for_every_domain():
    assert set(_reproduce_wasserstein.TITLES) == set(_wasserstein_data.DOMAINS)
