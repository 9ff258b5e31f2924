"""Tests `python -m zoo.papers wasserstein` on synthetic people."""

import dataclasses
import json

import pytest

from tests.papers import people as small
from tfds_builders.common.errors import MissingArchiveError
from zoo.papers.wasserstein import DOMAINS, SCALES, data_sets


def domain_data(**options):
    arrays = {**small.arrays(**options), "gaze": None}
    relation = "a part of the paper's data (16 of 71 people)"
    return data_sets.DomainData(arrays, "Made up.", relation, 71)


@pytest.fixture
def small_experiment(monkeypatch):
    """Replaces the scale `smoke` and the archive by an experiment of a few runs."""
    settings = dataclasses.replace(small.SETTINGS, seeds=1, methods=("QP-WL",))
    monkeypatch.setitem(SCALES, "smoke", settings)
    monkeypatch.setattr(data_sets, "read", lambda *arguments: domain_data())
    with small.eager_training():
        yield


def run(command, *words):
    return command("wasserstein", "--manual-dir", "none", "--domain", "gait", *words)


def test_help_has_an_example(command):
    status, out, _ = command("wasserstein", "--help")
    assert status == 0 and "Example: python -m zoo.papers wasserstein --manual-dir" in out


@pytest.mark.parametrize(
    "words", [[], ["--manual-dir", ".", "--domain", "ears"], ["--manual-dir", ".", "--seeds", 0]]
)
def test_wrong_use_exits_with_2(command, words):
    assert command("wasserstein", *words)[0] == 2


@pytest.mark.slow
def test_the_command_prints_the_tables_and_writes_all_files(command, small_experiment, tmp_path):
    out = tmp_path / "a [folder]"
    status, printed, progress = run(command, "--out", out, "--scale", "smoke", "--knots", 8)
    assert status == 0, progress
    for part in (
        "112 recordings of 16 people. The experiment uses 6 people to train, 2 to choose settings, "
        "8 to test",
        "a part of the paper's data (16 of 71 people)",
        "only shows that the experiment runs",
        "0.9923",
        "Jensen-Shannon",
        "No network",
    ):
        assert part in " ".join(printed.split()), part
    page = (out / "report.html").read_text(encoding="utf-8")
    command_line = "--domain gait --scale smoke --knots 8"
    difference = "EER of QP-WL minus EER of the method"
    for part in ("0.9923", "16 of 71 people", command_line, "<th", "with 8 knots", difference):
        assert part in page, part
    assert page.count("<img ") == 5 and "Kullback-Leibler" in page
    assert 'colspan="5">number of recordings observed' in page
    summary = printed.split("Written to")[1]
    pictures = list(out.glob("*.png"))
    assert len(pictures) == 5 and all(picture.name in summary for picture in pictures)
    assert not list(out.rglob("*.part"))

    status, printed, progress = run(
        command, "--out", out, "--scale", "smoke", "--knots", 8, "--json"
    )
    assert status == 0, progress
    content = json.loads((out / "figures.json").read_text())
    assert json.loads(printed) == {**content, "path": str(out)}


@pytest.mark.slow
def test_the_papers_domains_are_on_one_page_unless_one_is_chosen(
    command, small_experiment, tmp_path, monkeypatch
):
    def read(domain, *folders):
        if domain == "eeg":
            raise MissingArchiveError("No recordings for --domain eeg: get eeg_full.tar.")
        return domain_data(takes={"eyes": 7, "gait": 8}[domain])

    monkeypatch.setattr(data_sets, "read", read)
    words = ("wasserstein", "--manual-dir", "none", "--scale", "smoke")
    status, printed, progress = command(*words, "--out", tmp_path)
    assert status == 0, progress
    assert "results for EEG. No recordings for --domain eeg: get eeg_full.tar." in printed
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    for part in (
        "eye movements: The data contain 112 recordings of 16 people",
        "gait: The data contain 128 recordings of 16 people",
        "results for EEG. No recordings", "<h2>gait: Chosen settings",
        "--manual-dir DIR --scale smoke",
    ):  # fmt: skip
        assert part in page, part
    assert page.count("<img ") == 10
    figures = json.loads((tmp_path / "figures.json").read_text())
    for domain in ("eyes", "gait"):
        folder = tmp_path / domain
        assert figures[domain] == json.loads((folder / "figures.json").read_text())
        assert (folder / "protocol.svg").exists() and list((folder / "runs").glob("*.keras"))
    assert "eyes/, gait/" in printed and not (tmp_path / "eeg").exists()


def test_the_error_without_any_archive_names_the_archives_of_each_domain(command, tmp_path):
    words = ("--manual-dir", tmp_path, "--data-dir", tmp_path / "prepared")
    status, _, errors = command("wasserstein", *words, "--out", tmp_path / "out")
    assert status == 2 and "Traceback" not in errors
    for domain, name in (("eyes", "diem_gaze"), ("gait", "ltmm_gait"), ("eeg", "uci_eeg")):
        message = f"The folder contains no recordings for --domain {domain}, neither {name}"
        assert message in " ".join(errors.split())
    assert not (tmp_path / "out").exists()


def test_too_few_people_are_an_error(command, small_experiment, tmp_path, monkeypatch):
    monkeypatch.setattr(data_sets, "read", lambda *arguments: domain_data(people=4))
    status, _, errors = run(command, "--out", tmp_path / "out", "--scale", "smoke")
    assert status == 2
    assert "Received 4 people" in errors and "Traceback" not in errors
    assert not (tmp_path / "out").exists()


def test_a_missing_archive_is_an_error(command, tmp_path):
    words = ("--manual-dir", tmp_path, "--data-dir", tmp_path / "prepared", "--domain", "eyes")
    status, _, errors = command("wasserstein", *words, "--out", tmp_path / "out")
    assert status == 2
    assert "neither diem_gaze nor gazecom_gaze" in errors and "Traceback" not in errors
    assert not (tmp_path / "out").exists()


def test_ctrl_c_exits_with_130(command, tmp_path, monkeypatch):
    def stop(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(data_sets, "read", stop)
    assert run(command, "--out", tmp_path / "out")[0] == 130
    assert not (tmp_path / "out").exists()


def test_the_scale_paper_uses_the_papers_number_of_people(
    command, small_experiment, tmp_path, monkeypatch
):
    from zoo.papers.wasserstein import recordings

    counts = []

    def refuse(all_recordings, people):
        counts.append(people)
        raise ValueError("enough")

    monkeypatch.setattr(recordings, "divide", refuse)
    assert SCALES["paper"].people is None
    assert run(command, "--out", tmp_path / "out", "--scale", "paper")[0] == 2
    assert counts == [71]


def test_every_domain_has_data_sets():
    assert set(DOMAINS) == set(data_sets.DATA_SETS)
