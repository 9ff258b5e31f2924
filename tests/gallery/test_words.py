"""Tests that a gallery with untrusted content causes errors that say what to do."""

import contextlib
import json
import sqlite3

import numpy as np
import pytest

from keras_dml import Gallery
from keras_dml import gallery as galleries

DEEP = 100_000 * "["
FORGED = "eve\nmallory  9"


@pytest.fixture
def family(tmp_path, model, people):
    path = tmp_path / "family.db"
    with Gallery(path, model) as gallery:
        gallery.enroll("alice", people("alice"))
    return path


def change(path, *statement):
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        database.execute(*statement)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["model", "fingerprint"])
@pytest.mark.parametrize("text", ["", "{", "null", "[]", "3", DEEP, None])
def test_a_damaged_description_of_a_gallery_says_to_restore_a_backup(family, name, text):
    if text is None:
        change(family, "DELETE FROM about WHERE name = ?", (name,))
    else:
        change(family, "UPDATE about SET value = ? WHERE name = ?", (text, name))
    for call in (galleries.info, galleries.people):
        with pytest.raises(ValueError, match=f"'{name}'.*keras-dml restore"):
            call(family)


@pytest.mark.parametrize("text", ["", "{", "null", "[]", '{"far": 0.1}', DEEP])
def test_a_damaged_threshold_says_to_calibrate(family, text):
    change(family, "INSERT INTO thresholds VALUES (0.1, ?)", (text,))
    with pytest.raises(ValueError, match="Calibrate|restore"):
        galleries.thresholds(family)


@pytest.mark.parametrize("header", ["", "{", "[]", "null", '{"format": "x"}', DEEP])
def test_a_damaged_file_of_templates_is_named(family, tmp_path, model, header):
    path = tmp_path / "people.npz"
    arrays = {
        "people": np.array(["a"]),
        "enrolled": np.array([True]),
        "embeddings": np.zeros((1, 7, 4), "<f4"),
    }
    np.savez(path, header=np.array(header), **arrays)
    with Gallery(family, model) as gallery, pytest.raises(ValueError, match="people.npz"):
        gallery.merge(path)


@pytest.mark.parametrize(
    "url",
    ["postgresql://[", "postgres://u:p@[::1/x", "postgresql://h:999999/x", "http://[::1", "://x"],
)
def test_an_invalid_url_names_the_expected_form(url):
    pytest.importorskip("psycopg")
    with pytest.raises((OSError, ValueError), match="postgresql://"):
        galleries.people(url)


@pytest.mark.parametrize("mark", ["\n", "\r", "\x1b[2J", "\x85", "\u2028", "\u2029", "\u202e"])
def test_a_name_in_a_gallery_prints_one_line(family, capsys, mark):
    from keras_dml import cli

    name = f"eve{mark}mallory     9"
    change(family, "UPDATE people SET name = ?", (name,))
    try:
        cli.main(["people", str(family)])
    except SystemExit:
        pass
    out, err = capsys.readouterr()
    printed = out + err
    assert mark == "\n" or mark not in printed
    assert not any(line.split()[:1] == ["mallory"] for line in printed.splitlines())
    try:
        cli.main(["people", str(family), "--json"])
    except SystemExit:
        pass
    assert json.loads(capsys.readouterr().out)
