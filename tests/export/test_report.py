"""Tests the table that the export scripts write."""

import dataclasses
import pathlib
import subprocess
import sys

import pytest

from export import report
from export.agreement import Agreement
from keras_dml.export import Export

ROOT = pathlib.Path(__file__).parent.parent.parent


def row(
    model="gait", quantization="int8", size=150_000, change=-0.0012, *, steps=512, measure="auc"
):
    made = Export(pathlib.Path("x"), "tflite", quantization, size, 0.0251, 0.31, steps)
    return report.Row(model, made, change, measure)


@pytest.fixture
def readme(tmp_path):
    path = tmp_path / "README.md"
    path.write_text(f"before\n{report.BEGIN}\n{report.END}\nafter\n")
    return path


def test_a_table_holds_the_figures_of_each_file(readme):
    table = report.write_table([row()], readme)
    assert table in readme.read_text()
    assert "| gait | tflite | int8 | 150.0 | 0.31 for 512 steps | 2.5 | -0.0012 | – |" in table


def test_decisions_that_flip_are_counted(readme):
    counted = dataclasses.replace(row(), agreement=Agreement(0.02, 0.3, 3, 7080))
    assert report.write_table([counted], readme).endswith("| -0.0012 | 3 of 7,080 |")


def test_rows_of_other_models_and_formats_stay(readme):
    report.write_table([row(), row("vowels")], readme)
    table = report.write_table([row(size=140_000), row(quantization=None)], readme)
    assert [line.split(" | ")[:4] for line in table.splitlines()[2:]] == [
        ["| gait", "tflite", "float32", "150.0"],
        ["| gait", "tflite", "int8", "140.0"],
        ["| vowels", "tflite", "int8", "150.0"],
    ]
    assert readme.read_text().startswith("before\n") and readme.read_text().endswith("after\n")


def test_an_empty_cell_of_another_row_becomes_a_dash(readme):
    table = report.write_table([row("vowels")], readme)
    readme.write_text(readme.read_text().replace(table, table.replace("| – |", "|  |")))
    assert "|  |" in readme.read_text()
    table = report.write_table([row()], readme)
    assert "|  |" not in table and table.count("| -0.0012 | – |") == 2


def test_an_unknown_change_in_auc_is_a_dash(readme):
    assert report.write_table([row(change=None)], readme).endswith("| 2.5 | – | – |")


def test_row_of_a_classifier_of_images_has_its_accuracy(readme):
    pictures = row("mnist", steps=None, measure="accuracy")
    table = report.write_table([pictures, row()], readme)
    assert "| 150.0 | 0.31 for an image | 2.5 | -0.0012 (accuracy) |" in table
    assert pictures.card()["accuracy_change"] == -0.0012 and "auc_change" not in pictures.card()


def test_card_separates_the_changes_of_distance_and_file():
    made = row().export
    entry = report.Row("bodies", made, 0.0001, of_distance=0.0214).card()
    assert (entry["auc_change"], entry["change_of_distance"]) == (0.0001, 0.0214)
    assert "change_of_distance" not in row().card()


def test_the_readme_of_the_scripts_has_a_place_for_the_table():
    text = report.README.read_text(encoding="utf-8")
    assert text.count(report.BEGIN) == text.count(report.END) == 1


@pytest.mark.parametrize(
    ("script", "figure"),
    [
        ("saved_model", "decisions that flip"),
        ("targets", "milliseconds"),
        ("tflite", "decisions that flip"),
    ],
)
def test_scripts_print_help_from_any_folder(script, figure, tmp_path):
    command = [sys.executable, ROOT / "export" / f"{script}.py", "--help"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert figure in done.stdout and "--out" in done.stdout
