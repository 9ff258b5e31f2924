"""Tests the printed tables and the report pages of the experiments."""

import csv
import os
import pathlib
import shutil

import pytest

from export.browser import Browser
from keras_dml.reports import Section, write_page
from zoo.papers import pages

RESULTS = pathlib.Path(__file__).parents[2] / "zoo" / "papers" / "wasserstein" / "results"
DESKTOP = 1280  # pixels


def read_table(path):
    """Returns the columns of a CSV file by name. Empty cells become None."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return {name: [_value(row[name]) for row in rows] for name in rows[0]}


def _value(text):
    if text == "":
        return None
    try:
        return int(text) if text.isdigit() else float(text)
    except ValueError:
        return text


def wasserstein_sections():
    """Returns the sections about eye movements, the domain with the most methods."""
    from zoo.papers.wasserstein import report

    files = {"protocol": "protocol", "pooled": "roc_pooled"}
    by_name = {
        name: read_table(RESULTS / "eyes" / f"{files.get(name, name)}.csv")
        for name in ("protocol", "pooled", "divergences", "settings")
    }
    relation = "a part of the paper's data (162 of 210 people)"
    return report.sections(by_name, relation, seeds=5)


def potato_section():
    from zoo.papers.potato import report, tables

    rows = [
        {"method": name, "seed": seed, "person": "bd", **dict.fromkeys(tables.NAMES, value)}
        for name in tables.ORDER
        if name != tables.NRA
        for seed, value in enumerate((0.5, 0.75))
    ]
    return report.section(tables.comparison(rows), ["bd", "bk", "dg", "mm"], seeds=2)


def prototypes_sections(tmp_path):
    from keras_dml.training import Runs
    from tests.papers import digits
    from zoo.papers.prototypes import SCALES, report, tables
    from zoo.papers.prototypes.experiment import Experiment
    from zoo.papers.prototypes.methods import ROWS

    experiment = Experiment(digits.digits(), Runs(tmp_path / "runs"), SCALES["full"])
    heads = tables.column_heads(experiment.attacks)
    counts = {**dict.fromkeys(heads, 987), "count": 1000, "not_finite": 0}
    return report.sections(tables.comparison({name: [counts] for name in ROWS}, heads), heads)


@pytest.mark.slow
def test_no_column_is_hidden_on_a_desktop(tmp_path):
    """Checks that every column of every experiment's page is visible without scrolling at 1,280
    pixels.
    """
    if shutil.which("chromium") is None:
        end = pytest.fail if os.environ.get("KERAS_DML_REQUIRE_BROWSER") else pytest.skip
        end("Chromium is not installed")
    sections = [*wasserstein_sections(), potato_section(), *prototypes_sections(tmp_path)]
    page = write_page(tmp_path / "report.html", "Experiments", lead=[], sections=sections)
    with Browser(width=DESKTOP) as browser:
        browser.open(page.as_uri())
        widths = browser.run(
            "return [...document.querySelectorAll('.wide')].map(box => [box.scrollWidth, "
            "box.clientWidth])"
        )
    assert len(widths) == len(sections) == 9
    assert all(content <= visible for content, visible in widths), widths


def test_groups_of_columns_are_labelled_on_the_page_and_in_print(tmp_path):
    (attacked, compared) = prototypes_sections(tmp_path)
    page = write_page(tmp_path / "report.html", "Experiments", lead=[], sections=[compared])
    text = page.read_text(encoding="utf-8")
    for head in ("clean", "FGSM", "PGD-40", "PGD-100"):
        assert f'colspan="2">{head}</th>' in text
    first, second, *rows = pages.table_lines(compared)
    assert first.split() == ["clean", "FGSM", "PGD-40", "PGD-100"]
    assert len(rows) >= 9 and max(map(len, (first, second, *rows))) <= 100
    assert "union" in "\n".join(pages.table_lines(attacked))


def test_a_group_label_wider_than_its_columns_widens_them():
    section = Section("", "", ("a", "b"), [("x", "1.0")], groups=(("", 1), ("a long label", 1)))
    assert pages.table_lines(section) == ["   a long label", "a             b", "x           1.0"]


def test_groups_that_miss_a_column_are_refused(tmp_path):
    section = Section("Right answers", "", ("a", "b"), [("x", 1)], groups=(("", 1),))
    with pytest.raises(ValueError, match="'Right answers' have 1 columns"):
        write_page(tmp_path / "report.html", "A", lead=[], sections=[section])
