"""Tests that `recordings.groups` reads the group of each person from a table."""

import unicodedata

import pytest

from keras_dml import recordings


def table(root, text):
    (root / "groups.csv").write_text(text)
    return root / "groups.csv"


def test_a_table_names_the_group_of_each_person(tmp_path):
    path = table(tmp_path, "group;person;age\nold; Ann ;70\n\nyoung;Bob;20\n")
    assert recordings.groups(path) == {"Ann": "old", "Bob": "young"}


def test_names_with_composed_and_decomposed_accents_are_equal(tmp_path):
    apart, composed = (unicodedata.normalize(form, "zo\u00eb") for form in ("NFD", "NFC"))
    assert recordings.groups(table(tmp_path, f"person,group\n{apart},a\n")) == {composed: "a"}
    with pytest.raises(ValueError, match="line 3: .* is also in line 2. Name each person once"):
        recordings.groups(table(tmp_path, f"person,group\n{apart},a\n{composed},b\n"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("name,group\na,b\n", "line 1: the columns are name, group, but"),
        ("person,group,group\na,b,c\n", "line 1: the columns are person, group, group, but"),
        ("person,group\na,b\nb, \n", "line 3: the group is empty"),
        ("person,group\n,b\n", "line 2: the person is empty"),
        ("person,group\na\n", "line 2 has 1 fields"),
    ],
)
def test_the_error_about_a_table_names_the_line(tmp_path, text, message):
    with pytest.raises(ValueError) as caught:
        recordings.groups(table(tmp_path, text))
    assert message in str(caught.value) and "groups.csv" in str(caught.value)


def test_a_missing_table_is_an_error(tmp_path):
    for path in (tmp_path / "gone.csv", tmp_path):
        with pytest.raises(FileNotFoundError, match="does not exist"):
            recordings.groups(path)


@pytest.mark.parametrize("header", ["person,group", "group,person"])
def test_a_table_needs_no_columns_except_person_and_group(tmp_path, header):
    path = table(tmp_path, f"{header}\n{header.replace('person', 'Ann').replace('group', 'old')}\n")
    assert recordings.groups(path) == {"Ann": "old"}
