"""Tests that reading untrusted files takes limited memory and processor time."""

import contextlib
import json

import numpy as np
import pytest

from keras_dml import recordings
from keras_dml.recordings import _bounds, _resampling
from tests.hostile import bombs

pytest.importorskip("pyarrow")
pytest.importorskip("soundfile")

WHOLE = [  # files of 20 MB, each of which is read in a separate process
    ("csv", "rows of 1"),
    ("csv", "100,000 columns"),
    ("csv", "texts above numbers"),
    ("parquet", "a footer of 20 rows over 40,000,000"),
    ("parquet", "one page"),
    ("npy", "bytes"),
    ("wav", "A-law"),
    ("flac", "silence"),
]
SMALL = 10**6  # size of all other files in bytes
SMALL_SECONDS = 5  # limit for the processor time to read a file of 1 MB
ATTEMPTS = 3  # programs that run at the same time can double the processor time of one reading


@pytest.mark.parametrize(("kind", "name"), WHOLE, ids=map("-".join, WHOLE))
def test_a_file_of_20_mb_is_read_or_refused_within_the_bounds(tmp_path, kind, name):
    used = bombs.measure(bombs.write(tmp_path, kind, name))
    assert not used["end"].startswith("!!"), used
    assert used["MB"] < bombs.MOST_MB and used["s"] < bombs.MOST_SECONDS, used


@pytest.fixture(scope="module")
def timer():
    with contextlib.closing(bombs.Timer()) as started:
        yield started


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        pytest.param(*file, id="-".join(file), marks=[pytest.mark.slow] * (number % 5 > 0))
        for number, file in enumerate(bombs.FILES)
    ],
)
def test_a_file_of_1_mb_is_read_or_refused_within_5_seconds(tmp_path, timer, kind, name):
    if (kind, name) in {("parquet", "small pages"), ("parquet", "texts that repeat")}:
        pytest.skip("written in seconds; `python -m tests.hostile.bombs` reads it")
    path = bombs.write(tmp_path, kind, name, SMALL)
    for _ in range(ATTEMPTS):
        seconds, end = timer.read(path)
        assert not end.startswith("!!"), end
        assert end.startswith("read ") or path.name in end and len(end) < 5000
        if seconds < SMALL_SECONDS:
            break
    assert seconds < SMALL_SECONDS


def test_an_ordinary_recording_is_read_whole(tmp_path):
    path = bombs.write(tmp_path, "csv", "a recording of an accelerometer", 2 * 10**6)
    rows = np.loadtxt(path, delimiter=",", skiprows=1)
    walk = recordings.read(path)
    np.testing.assert_array_equal(walk.values, rows[:, 1:].astype(np.float32))
    assert walk.channels == ("x", "y", "z") and round(walk.rate_hz, 6) == 100


def columns(count):
    names = ",".join(f"c{i}" for i in range(count))
    rows = ((i * np.arange(count) % 7 + i % 3) for i in range(10))
    return "\n".join([names, *(",".join(map(str, row)) for row in rows), ""])


def test_the_bound_on_columns_is_exact(tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text(columns(_bounds.MOST_COLUMNS))
    assert recordings.read(path).values.shape[1] > _bounds.MOST_COLUMNS / 2
    path.write_text(columns(_bounds.MOST_COLUMNS + 1))
    with pytest.raises(ValueError, match=r"4,097 columns"):
        recordings.read(path)


def test_the_error_about_a_wide_table_is_short(tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text(columns(4000))
    with pytest.raises(ValueError, match="3,980 more") as caught:
        recordings.read(path, channels=["acc"])
    assert len(str(caught.value)) < 1000


def test_the_bound_grows_with_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr(_bounds, "MOST_NUMBERS", 100)
    path = tmp_path / "walk.csv"
    path.write_text("x\n" + 200 * "1\n-2\n")  # 2.5 bytes per number
    with pytest.raises(ValueError, match="more than 250 numbers"):
        recordings.read(path)
    path.write_text("x\n" + 200 * "1.25\n-2.5\n")
    assert len(recordings.read(path).values) == 400


def test_a_small_file_may_hold_millions_of_numbers(tmp_path):
    """Tests a Parquet file of a long recording that compresses well."""
    import pyarrow
    from pyarrow import parquet

    columns = {name: np.tile(np.arange(100) % 7, 6_000) for name in "xy"}
    parquet.write_table(pyarrow.table(columns), tmp_path / "walk.parquet")
    assert (tmp_path / "walk.parquet").stat().st_size < 10**6
    assert recordings.read(tmp_path / "walk.parquet").values.shape == (600_000, 2)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        json.dumps({"index_columns": [None, 3, ["x"]]}),
        '{"index_columns": ' + "[" * 50_000,
        "{",
    ],
    ids=["nested", "odd names", "nested names", "cut"],
)
def test_invalid_metadata_of_pandas_is_ignored(tmp_path, text):
    import pyarrow
    from pyarrow import parquet

    table = pyarrow.table({"x": np.arange(20.0) % 7}).replace_schema_metadata({"pandas": text})
    parquet.write_table(table, tmp_path / "walk.parquet")
    assert recordings.read(tmp_path / "walk.parquet").channels == ("x",)


@pytest.mark.parametrize("resample_hz", [30, 99.5, 190])
def test_resampling_in_blocks_equals_resampling_at_once(tmp_path, monkeypatch, resample_hz):
    rng = np.random.default_rng(3)
    times = np.cumsum(rng.uniform(0.8, 1.2, 20_000)) / 100
    waves = np.sin(2 * np.pi * np.outer(times, [1, 7.3])) + rng.normal(0, 0.1, (20_000, 2))
    rows = "".join(f"{t:.4f},{x:.4f},{y:.4f}\n" for t, (x, y) in zip(times, waves, strict=True))
    path = tmp_path / "walk.csv"
    path.write_text(f"time,x,y\n{rows}")
    at_once = recordings.read(path, resample_hz=resample_hz).values
    monkeypatch.setattr(_resampling, "LEAST_BLOCK", 5000)
    monkeypatch.setattr(_resampling, "UNEVEN_BLOCK", 0)
    in_blocks = recordings.read(path, resample_hz=resample_hz).values
    np.testing.assert_allclose(in_blocks, at_once, rtol=0, atol=1e-6)


def test_a_rate_is_not_divided_by_more_than_ten_thousand(tmp_path):
    path = tmp_path / "walk.csv"
    path.write_text("x\n" + "".join(f"{i % 7}\n" for i in range(30_000)))
    with pytest.raises(ValueError, match="`time_unit`"):
        recordings.read(path, rate_hz=10**6, resample_hz=50)


def test_gaps_cut_a_recording_into_a_bounded_number_of_pieces(tmp_path, monkeypatch):
    monkeypatch.setattr(_bounds, "MOST_PIECES", 20)
    path = tmp_path / "walk.csv"
    path.write_text("x\n" + 20 * ("1\n2\n" * 5 + 8 * "nan\n"))
    assert len(recordings.read_pieces(path)) == 20
    path.write_text("x\n" + 21 * ("1\n2\n" * 5 + 8 * "nan\n"))
    with pytest.raises(ValueError, match="`max_gap`"):
        recordings.read_pieces(path)
