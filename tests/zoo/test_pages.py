"""Pages that people write say the figures of the files beside them."""

import csv
import pathlib
import re

import pytest

from keras_dml import zoo

ROOT = pathlib.Path(__file__).parents[2]
COMPARED = ROOT / "zoo" / "wasserstein"
ATTACKED = ROOT / "zoo" / "mnist_proto_sim_at" / "figures" / "methods_under_attack.csv"
SECTIONS = {"eyes": "Eye movements", "gait": "Gait", "phone": "A phone in the pocket", "eeg": "EEG"}
IN_FILES = {"log-Euclidean, no network": "No network", "Jaeger2019": "Jäger et al. 2019"}
ATTACKS = ("clean", "fgsm", "short", "long", "restarts", "square", "worst")
NUMBER = re.compile(r"-?\d+\.\d+")


def rows(path):
    """Lines of a CSV file, dicts."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def cells(text):
    """Rows of the tables in a page, lists of cells."""
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def assert_says(cell, values, times=1):
    """Every number of a cell is that of the file, to the digits that it has; `–` where none is."""
    values = [times * float(value) for value in values if value]
    said = NUMBER.findall(cell)
    digits = [len(number.partition(".")[2]) for number in said]
    assert said == [f"{v:.{d}f}" for v, d in zip(values, digits, strict=True)], cell
    assert not re.search(r"± 0\.0+(?!\d)", cell), f"no bound: {cell}"


@pytest.mark.parametrize("domain", SECTIONS)
def test_the_comparison_of_a_domain_says_what_its_files_say(domain):
    page = (COMPARED / "README.md").read_text(encoding="utf-8")
    section = page.split(f"\n## {SECTIONS[domain]}\n")[1].split("\n## ")[0]
    areas = {
        (row["method"], row["n"]): row
        for row in rows(COMPARED / domain / "protocol.csv")
        if (row["protocol"], row["metric"]) == ("verification", "auc")
    }
    pooled = {row["method"]: row for row in rows(COMPARED / domain / "roc_pooled.csv")}
    table = [row for row in cells(section) if IN_FILES.get(row[0], row[0]) in pooled]
    assert {IN_FILES.get(row[0], row[0]) for row in table} == set(pooled) - {"Untrained"}
    for name, one, five, *paper, eer, difference in table:
        method = IN_FILES.get(name, name)
        first, last = areas[method, "1"], areas[method, "5"]
        assert_says(one, (first["value"], first["stderr"]))
        assert_says(five, (last["value"], last["stderr"]))
        for cell in paper:
            assert_says(cell, (first["paper"], last["paper"]))
        found = pooled[method]
        assert_says(eer, (found["eer"], found["eer_low"], found["eer_high"]), 100)
        apart = ("difference", "difference_low", "difference_high")
        assert_says(difference, [found[key] for key in apart], 100)


@pytest.mark.parametrize("domain", SECTIONS)
def test_what_is_said_of_divergences_is_in_the_file_beside_it(domain):
    page = (COMPARED / "README.md").read_text(encoding="utf-8")
    section = page.split(f"\n## {SECTIONS[domain]}\n")[1].split("\n## ")[0]
    found = {row["distance"]: row for row in rows(COMPARED / domain / "divergences.csv")}
    assert float(found["Kullback-Leibler"]["infinite"]) == 1  # "infinite for every pair"
    (sentence,) = re.findall(r"[^*]*divergences\.csv", section.replace("\n", " "))
    said = re.findall(r"(\.\d+) ± (\.\d+)", sentence)
    kinds = ("Jensen-Shannon", "Wasserstein")
    wanted = [(found[kind], f"auc_{n}") for n in (1, 5) for kind in kinds]
    assert len(said) in (2, 4)
    for numbers, (row, column) in zip(said, wanted, strict=False):
        for number, value in zip(numbers, (row[column], row[f"{column}_stderr"]), strict=True):
            assert f"0{number}" == f"{float(value):.{len(number) - 1}f}"


def test_the_table_of_methods_under_attack_is_that_of_its_file():
    page = (ROOT / "keras_dml" / "reproduce" / "README.md").read_text(encoding="utf-8")
    found = {row["method"]: row for row in rows(ATTACKED)}
    table = [row for row in cells(page) if row[0] in found]
    assert len(table) == len(found)
    for name, *ours, paper in table:
        for cell, attack in zip(ours, ATTACKS, strict=True):
            assert_says(cell, [found[name][attack]], 100)
        assert_says(paper, [found[name][f"{attack}_paper"] for attack in ATTACKS[:4]], 100)


def test_the_figure_of_a_style_left_out_stands_beside_that_of_styles_trained_on():
    card = zoo.card("pacs_proto_sim")
    (row,) = [
        row
        for row in card["figures"]
        if (row.get("domain"), row.get("head"), row["metric"])
        == ("each domain left out", "sim", "accuracy")
    ]
    assert f"({100 * row['value']:.1f} % right in a style left out" in card["headline"]["trials"]
