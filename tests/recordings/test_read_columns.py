"""Tests that tables of trials and files of embeddings of other programs are read."""

import zipfile

import numpy as np
import pytest

from keras_dml.recordings import _columns, read_columns


def write(folder, text, name="table.csv"):
    path = folder / name
    path.write_text(text)
    return path


def test_a_table_of_trials_is_read(tmp_path):
    columns = read_columns(write(tmp_path, "person_a;person_b;score\n01;02;0,5\n01; 01 ;0,25\n"))
    assert columns.names == ("person_a", "person_b", "score")
    assert columns.people("person_a", "person_a") == ["01", "01"]
    assert columns.people("PERSON_B", "person_b") == ["02", "01"]
    assert columns.numbers("score", "score").tolist() == [0.5, 0.25]
    assert columns.notes == ("Decimal commas were read as decimal points.",)


def test_columns_without_a_header_are_numbered(tmp_path):
    columns = read_columns(write(tmp_path, "ann,bob,0.5\nann,ann,0.25\n"))
    assert columns.people("1", "person_a") == ["ann", "ann"]
    assert columns.numbers("3", "score").tolist() == [0.5, 0.25]


@pytest.mark.parametrize(
    "text, read, words",
    [
        ("a,b,s\nx,y,1\n", lambda c: c.people("person_a", "person_a"), "columns are a, b, s"),
        ("a,b,s\nx,y,1\n", lambda c: c.numbers("a", "score"), "holds texts such as 'x'"),
        ("a,b,s\nx,y,NaN\nx,x,1\n", lambda c: c.numbers("s", "score"), "line 2: column 's' has no"),
        (
            "a,b,s\nx,y,1\nx,x,inf\n",
            lambda c: c.numbers("s", "score"),
            "line 3: the number in column 's' is infinite",
        ),
        ("a,b,s\nx,y,2\nx,,1\n", lambda c: c.people("b", "person_b"), "line 3: column 'b' has no"),
        ("a,b,s\nx,y,2\nx,x,?\nx,x,1\n", lambda c: c.numbers("s", "score"), "line 3, column 's'"),
        (
            "person,file\nx,y\nz,w\n",
            lambda c: c.vectors(None, ["person"], "embedding"),
            "no column",
        ),
    ],
)
def test_columns_that_cannot_be_read_are_refused(tmp_path, text, read, words):
    columns = read_columns(write(tmp_path, text))
    with pytest.raises(ValueError, match=words) as caught:
        read(columns)
    assert "channels" not in str(caught.value)


def test_embeddings_are_read_from_columns_of_numbers(tmp_path):
    text = "person,file,index,e0,e1\nann,a.wav,0,0.5,1\nann,b.wav,1,2,3\nbob,c.wav,2,4,5\n"
    vectors, used, left_out = read_columns(write(tmp_path, text)).vectors(
        None, ["person"], "embedding"
    )
    assert vectors.tolist() == [[0.5, 1], [2, 3], [4, 5]]
    assert (used, left_out) == (("e0", "e1"), ("file", "index"))


def test_embeddings_are_read_from_npz_files(tmp_path):
    path, values = tmp_path / "voices.npz", np.arange(6.0).reshape(3, 2)
    np.savez(path, person=np.array(["ann", "ann", "bob"]), vectors=values, number=[1, 2, 3])
    columns = read_columns(path)
    assert columns.people("person", "person") == ["ann", "ann", "bob"]
    assert columns.people("number", "person") == ["1", "2", "3"]
    vectors, used, _ = columns.vectors(None, ["person"], "embedding")
    assert vectors.tolist() == values.tolist() and used == ("vectors",)


def test_embeddings_are_read_from_parquet_files(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "voices.parquet"
    table = pyarrow.table(
        {"person": ["ann", None, "bob"], "e": [[1.0, 2], [3, 4], [5, 6]], "year": [1, 2, None]}
    )
    parquet.write_table(table, path)
    columns = read_columns(path)
    assert columns.texts("year", "person") == ["1", "2", ""]
    vectors, used, left_out = columns.vectors(None, ["person"], "embedding")
    assert vectors.tolist() == [[1, 2], [3, 4], [5, 6]]
    assert (used, left_out) == (("e",), ("year",))
    with pytest.raises(ValueError, match="row 1: column 'person' has no person"):
        columns.people("person", "person")
    table = pyarrow.table({"person": ["ann", "bob"], "e": [[1.0, 2], [3.0]]})
    parquet.write_table(table, path)
    with pytest.raises(ValueError, match="different lengths"):
        read_columns(path)


def test_files_that_are_no_tables_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="missing.csv"):
        read_columns(tmp_path / "missing.csv")
    with pytest.raises(ValueError, match=".xlsx"):
        read_columns(write(tmp_path, "", "table.xlsx"))
    with pytest.raises(ValueError, match="not an .npz file"):
        read_columns(write(tmp_path, "text", "table.npz"))
    np.savez(tmp_path / "objects.npz", person=np.array([{}, {}], object))
    with pytest.raises(ValueError, match="not an .npz file"):
        read_columns(tmp_path / "objects.npz")
    np.savez(tmp_path / "uneven.npz", a=np.zeros(3), b=np.zeros(2))
    with pytest.raises(ValueError, match=r"a \(3\), b \(2\)"):
        read_columns(tmp_path / "uneven.npz")


def test_an_npz_file_that_expands_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(_columns, "MOST_UNPACKED", 2**16)
    path = tmp_path / "bomb.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("e.npy", bytes(2**20))
    with pytest.raises(ValueError, match="too large after decompression"):
        read_columns(path)
