"""Tests that rows are read as events without a rate."""

import numpy as np
import pytest
import scipy.io.wavfile

from keras_dml import recordings

ROWS = ["1.5,0.2,0.1,True,3", "9,0.4,,False,1", "2,0.3,0.5,true,3"]
HEADER = "time,hold (s),gap (s),shift,count"


@pytest.fixture
def table(tmp_path):
    """Returns a function that writes lines into a csv file."""

    def write(*lines):
        path = tmp_path / "events.csv"
        path.write_text("\n".join(lines), "utf-8")
        return path

    return write


def test_rows_keep_their_order_and_incomplete_rows_are_left_out(table):
    events = recordings.read(table(HEADER, *ROWS), events=True)
    assert events.channels == ("hold", "gap", "shift", "count") and events.rate_hz is None
    assert events.units == ("s", "s", None, None)
    np.testing.assert_allclose(events.values, [[0.2, 0.1, 1, 3], [0.3, 0.5, 1, 3]], rtol=1e-6)
    assert any("'time' holds times" in note for note in events.notes)


def test_a_table_without_names_and_with_one_event_is_read(table):
    events = recordings.read(table("0.2,0.1,False"), events=True)
    assert events.channels == ("1", "2", "3") and events.values.shape == (1, 3)
    assert events.values[0, 2] == 0


def test_times_are_a_channel_if_they_are_named(table):
    events = recordings.read(table(HEADER, *ROWS), ["time", "shift"], events=True)
    assert events.values.tolist() == [[1.5, 1], [9, 0], [2, 1]]


def test_true_and_false_are_channels_of_a_series_only_if_they_are_named(table):
    lines = ["x,moving", *(f"{i % 3},{bool(i % 2)}" for i in range(20))]
    assert recordings.read(table(*lines)).left_out == ("moving",)
    values = recordings.read(table(*lines), ["moving"]).values
    assert values[:, 0].tolist() == [i % 2 for i in range(20)]


def test_parquet_and_npy_files_hold_flags(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    flags = np.array([[1, 0], [0, 1], [1, 1]], bool)
    columns = {"hold": [0.25, 0.5, 1.0], "shift": flags[:, 0]}
    parquet.write_table(pyarrow.table(columns), tmp_path / "events.parquet")
    np.save(tmp_path / "events.npy", flags)
    events = recordings.read(tmp_path / "events.parquet", events=True)
    assert events.values.tolist() == [[0.25, 1], [0.5, 0], [1, 1]]
    assert recordings.read(tmp_path / "events.npy", events=True).values.tolist() == flags.tolist()
    assert recordings.read(tmp_path / "events.parquet").left_out == ("shift",)


@pytest.mark.parametrize(
    "options",
    [{"rate_hz": 50}, {"resample_hz": 50}, {"time": "time"}, {"time_unit": "s"}, {"max_gap": 1}],
)
def test_rates_and_times_of_events_are_refused(table, options):
    with pytest.raises(ValueError, match=f"`{next(iter(options))}` is "):
        recordings.read(table(HEADER, *ROWS), events=True, **options)


def test_files_without_events_are_refused(table, tmp_path):
    scipy.io.wavfile.write(tmp_path / "voice.wav", 8000, np.arange(9, dtype=np.int16))
    with pytest.raises(ValueError, match="8000 Hz, so its rows are not events"):
        recordings.read(tmp_path / "voice.wav", events=True)
    with pytest.raises(ValueError, match="no event has a value in all of the channels a, b"):
        recordings.read(table("a,b", "1,", ",2", "3,"), ["a", "b"], events=True)
