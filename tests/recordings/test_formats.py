"""Tests that help texts, pages, error messages and the server list exactly the file formats in the
registry."""

import pathlib
import subprocess
import sys
import types

import numpy as np
import pytest

from keras_dml import recordings
from keras_dml.recordings import _formats, _table
from tests.hostile import bombs

ROOT = pathlib.Path(__file__).parents[2]
PAGES = ("README.md", "keras_dml/README.md", "SECURITY.md")


def read_toy(path, options):
    """Reads a file of an invented format with two bytes per step."""
    values = np.frombuffer(path.read_bytes(), np.uint8).reshape(-1, 2)
    table = _table.Table(
        path,
        ("x", "y"),
        "its format",
        lambda row: f"row {row}",
        lambda i: values[:, i].astype(np.float64),
        lambda i: None,
    )
    return _table.read_signal(table, options)


def test_a_registered_format_is_read_and_named(tmp_path, monkeypatch):
    module = types.SimpleNamespace(read=read_toy)
    monkeypatch.setitem(sys.modules, "keras_dml.recordings._toy", module)
    toy = _formats.Format("toy", (".toy",), "_toy.read")
    monkeypatch.setattr(_formats, "FORMATS", (*_formats.FORMATS, toy))
    path = tmp_path / "walk.toy"
    path.write_bytes(bytes([1, 2, 3, 5, 2, 4]))
    walk = recordings.read(path, rate_hz=50)
    np.testing.assert_array_equal(walk.values, [[1, 2], [3, 5], [2, 4]])
    assert recordings.is_recording(path) and ".toy" in recordings.suffixes()
    assert recordings.format_names().endswith(" or toy")
    with pytest.raises(ValueError, match=r"\.toy"):
        recordings.check_file(__file__)


def test_packed_files_of_text_alone_are_recordings(tmp_path):
    for name, is_read in (
        ("a.csv.gz", True),
        ("a.gz", True),
        ("a.txt.gz", True),
        ("a.wav.gz", False),
    ):
        (tmp_path / name).write_bytes(b"")
        if is_read:
            recordings.check_file(tmp_path / name)
        else:
            with pytest.raises(ValueError, match=r"\.wav"):
                recordings.check_file(tmp_path / name)


def test_the_pages_name_all_formats():
    assert len(_formats.FORMATS) >= 5
    for page in PAGES:
        text = (ROOT / page).read_text().casefold()
        for entry in _formats.FORMATS:
            names = {entry.name, "text"} if entry.name == "csv" else {entry.name}
            assert any(name in text for name in names), (page, entry.name)


def test_every_format_has_hostile_files():
    kinds = {kind for kind, _ in bombs.FILES}
    assert kinds >= {entry.name for entry in _formats.FORMATS}


def test_the_names_of_formats_do_not_load_numpy():
    code = "import sys; from keras_dml.recordings import format_names, suffixes; format_names()"
    code += "; suffixes(); print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
