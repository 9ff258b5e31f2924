"""Tests that Parquet files are read correctly, including files with an index of pandas."""

import json

import numpy as np
import pytest

from keras_dml import recordings

pyarrow = pytest.importorskip("pyarrow")
pandas = pytest.importorskip("pandas")
parquet = pytest.importorskip("pyarrow.parquet")

XY = [[1.5, 2], [3, 4.25], [5, 6]]
TIMES = pandas.date_range("2026-01-31 10:00:00", periods=3, freq="20ms")


def stored(tmp_path, rows=None, **options):
    frame = pandas.DataFrame(XY, columns=["x", "y"], index=rows)
    frame.to_parquet(tmp_path / "walk.parquet", engine="pyarrow", **options)
    return tmp_path / "walk.parquet"


@pytest.mark.parametrize(
    ("index", "left_out"),
    [
        (None, ()),
        (pandas.RangeIndex(5, 11, 2), ()),
        (pandas.RangeIndex(3, name="row"), ()),
        ([7, 9, 12], ("__index_level_0__",)),
        ([0.5, 0.25, 3.0], ("__index_level_0__",)),
        (["a", "b", "c"], ("__index_level_0__",)),
        (pandas.Index([7, 9, 12], name="id"), ("id",)),
        (pandas.MultiIndex.from_tuples([(1, 2), (1, 3), (2, 1)]),
         ("__index_level_0__", "__index_level_1__")),
        (pandas.MultiIndex.from_tuples([(1, 2), (1, 3), (2, 1)], names=["a", None]),
         ("a", "__index_level_1__")),
    ],
)  # fmt: skip
def test_an_index_of_pandas_is_not_a_channel(tmp_path, index, left_out):
    walk = recordings.read(stored(tmp_path, index))
    assert walk.channels == ("x", "y") and walk.rate_hz is None
    np.testing.assert_array_equal(walk.values, XY)
    shown = ", ".join(map(repr, left_out))
    assert walk.notes == (
        (f"The index that pandas stored was left out: {shown}.",) if shown else ()
    )


def test_a_range_that_is_stored_as_a_column_is_not_a_channel(tmp_path):
    walk = recordings.read(stored(tmp_path, index=True))
    assert walk.channels == ("x", "y") and "'__index_level_0__'" in walk.notes[0]


@pytest.mark.parametrize(
    ("index", "notes"),
    [
        (TIMES, ("The index '__index_level_0__' was read as times.",)),
        (TIMES - TIMES[0], ("The index '__index_level_0__' was read as times.",)),
        (TIMES.rename("timestamp"), ()),
        (TIMES.rename("when"), ("The index 'when' was read as times.",)),
        (pandas.Index([0.0, 0.02, 0.04], name="time"), ()),
        (pandas.Index([0, 20, 40], name="time_ms"), ()),
    ],
)
def test_an_index_of_times_gives_the_rate(tmp_path, index, notes):
    walk = recordings.read(stored(tmp_path, index))
    assert walk.channels == ("x", "y") and walk.rate_hz == pytest.approx(50)
    assert walk.notes == notes


def test_dates_in_a_column_that_is_not_an_index_are_not_times(tmp_path):
    frame = pandas.DataFrame({"born": TIMES[[2, 0, 1]], "x": [1.5, 3, 5], "y": [2, 4.25, 6]})
    frame.to_parquet(tmp_path / "walk.parquet", engine="pyarrow")
    walk = recordings.read(tmp_path / "walk.parquet")
    assert (walk.channels, walk.rate_hz) == (("x", "y"), None)
    assert ["born" in note for note in walk.notes] == [True] and "index" not in walk.notes[0]


def written(tmp_path, names, **options):
    arrays = [pyarrow.array([float(i), i + 0.5]) for i in range(len(names))]
    table = pyarrow.Table.from_arrays(arrays, names=names)
    if "metadata" in options:
        table = table.replace_schema_metadata(options["metadata"])
    parquet.write_table(table, tmp_path / "walk.parquet")
    return tmp_path / "walk.parquet"


@pytest.mark.parametrize(
    ("names", "part"),
    [
        (["x", "y", "x"], "its schema: column 3 has the same name 'x' as another"),
        (["x", ""], "its schema: column 2 has no name"),
        (["", "y"], "its schema: column 1 has no name"),
    ],
)
def test_invalid_names_are_refused_as_in_text(tmp_path, names, part):
    path = written(tmp_path, names)
    with pytest.raises(ValueError, match=part):
        recordings.read(path)
    wanted = "y" if "y" in names else "x"
    assert recordings.read(path, [wanted]).channels == (wanted,)


def test_a_requested_name_of_two_columns_is_refused(tmp_path):
    with pytest.raises(ValueError, match="2 columns are named 'x'"):
        recordings.read(written(tmp_path, ["x", "y", "x"]), ["x"])


@pytest.mark.parametrize(
    "metadata",
    [b"{", b"[]", b"null", b'{"index_columns": null}', b'{"index_columns": [{"kind": "range"}]}',
     json.dumps({"index_columns": ["gone"]}).encode(), b"\xff"],
)  # fmt: skip
def test_files_with_metadata_of_other_programs_are_read(tmp_path, metadata):
    path = written(tmp_path, ["x", "y"], metadata={b"pandas": metadata})
    assert recordings.read(path).channels == ("x", "y")


def test_names_with_dots_are_names_of_columns(tmp_path):
    table = pyarrow.table(
        {
            "acc.x": [1.5, 2, 1],
            "acc": [{"y": 1.0}, {"y": 2.0}, {"y": 1.0}],
            "label": ["a", "b", "a"],
            "acc.z": [3, 4, 3],
        }
    )
    parquet.write_table(table, tmp_path / "walk.parquet")
    walk = recordings.read(tmp_path / "walk.parquet")
    assert walk.channels == ("acc.x", "acc.z")
    np.testing.assert_array_equal(walk.values, [[1.5, 3], [2, 4], [1, 3]])


@pytest.mark.parametrize("kind", ["decimal128(9, 2)", "decimal256(60, 2)", "float16", "uint64"])
def test_all_kinds_of_numbers_are_read(tmp_path, kind):
    name, _, digits = kind.partition("(")
    make = getattr(pyarrow, name)
    kind = make(*map(int, digits.rstrip(")").split(","))) if digits else make()
    numbers = pyarrow.array([1, 2, None, 3, 1, 2, 4, 1, 2], pyarrow.float64()).cast(kind)
    parquet.write_table(pyarrow.table({"x": numbers}), tmp_path / "walk.parquet")
    walk = recordings.read(tmp_path / "walk.parquet")
    np.testing.assert_allclose(walk.values[:, 0], [1, 2, 2.5, 3, 1, 2, 4, 1, 2])


def test_columns_of_a_struct_with_the_name_of_another_are_refused(tmp_path):
    table = pyarrow.table({"acc.y": [1.5, 2, 1], "acc": [{"y": 1.0}, {"y": 2.0}, {"y": 1.0}]})
    parquet.write_table(table, tmp_path / "walk.parquet")
    with pytest.raises(ValueError, match="two columns of the same name"):
        recordings.read(tmp_path / "walk.parquet")
