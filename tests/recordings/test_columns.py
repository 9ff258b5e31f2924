"""Tests which columns of a table become channels by default, and how time columns are read."""

import numpy as np
import pytest

from keras_dml import recordings
from keras_dml.recordings import _times

COUNT = 200
RNG = np.random.default_rng(0)
NOISE = RNG.normal(size=(COUNT, 2))


@pytest.fixture
def table(tmp_path):
    """Returns a function that writes a csv file with two noisy channels and a third column."""

    def write(name, column, *, last=False, count=COUNT):
        names = ["x", "y", name] if last else [name, "x", "y"]
        order = [0, 1, 2] if last else [2, 0, 1]
        rows = [[f"{NOISE[i, 0]:.4f}", f"{NOISE[i, 1]:.4f}", str(column[i])] for i in range(count)]
        lines = [",".join(names), *(",".join(row[j] for j in order) for row in rows)]
        path = tmp_path / "walk.csv"
        path.write_text("\n".join(lines), "utf-8")
        return path

    return write


CLOCK = [round(0.02 * i, 3) for i in range(COUNT)]
TIMES = [
    ("Time since start in ms", 20, 50),
    ("Time since start in ms ", 20, 50),
    ("Timestamp[nanosecond]", 20_000_000, 50),
    ("Timestamp [microseconds]", 20_000, 50),
    ("timestamp_ns", 20_000_000, 50),
    ("timestampMs", 20, 50),
    ("epoch (ms)", 20, 50),
    ("epoc (ms)", 20, 50),
    ("Zeit (s)", 0.02, 50),
    ("Zeit in Sekunden", 0.02, 50),
    ("Zeit [ms]", 20, 50),
    ("Temps (s)", 0.02, 50),
    ("Tiempo (ms)", 20, 50),
    ("gaze_timestamp", 0.02, 50),
    ("pupil_timestamp", 0.02, 50),
    ("Recording timestamp [\u03bcs]", 20_000, 50),
    ("Computer timestamp [ms]", 20, 50),
    ("Eyetracker timestamp [\u00b5s]", 20_000, 50),
    ("accelerometerTimestamp_sinceReboot(s)", 0.02, 50),
    ("loggingTime(s)", 0.02, 50),
    ("Time/ms", 20, 50),
    ("t [s]", 0.02, 50),
    ("time_ms", 20, 50),
    ("elapsed (s)", 0.02, 50),
    ("seconds_elapsed", 0.02, 50),
    ("UTC time", 0.02, 50),
    ("sensor_time", 0.02, 50),
    ("Shimmer_3_Timestamp_Unix_CAL", 0.02, 50),
]


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize(("name", "step", "rate"), TIMES)
def test_columns_of_times_are_recognized_by_their_names(table, name, step, rate, last, named):
    path = table(name, [round(step * i, 6) for i in range(COUNT)], last=last)
    walk = recordings.read(path, ["x", "y"] if named else None)
    assert walk.channels == ("x", "y")
    assert walk.rate_hz == pytest.approx(rate, rel=1e-6)


COUNTERS = {
    "sample": range(COUNT),
    "frame": range(1000, 1000 + COUNT),
    "index": range(COUNT),
    "PacketCounter": [i % 64 for i in range(COUNT)],
    "whatever": np.cumsum(np.random.default_rng(1).uniform(0.01, 2, COUNT)),
    "odd clock number": [7 * i for i in range(COUNT)],
    "battery": [100 - i // 40 for i in range(COUNT)],
    "steps walked": [i // 9 for i in range(COUNT)],
    "countdown": range(COUNT, 0, -1),
    "set back once": [*range(100), *range(98, 198)],
}


@pytest.mark.parametrize("name", COUNTERS)
@pytest.mark.parametrize("last", [False, True])
def test_a_column_that_only_rises_is_not_a_channel(table, name, last):
    path = table(name, list(COUNTERS[name]), last=last)
    walk = recordings.read(path)
    assert walk.channels == ("x", "y") and walk.left_out == (name,)
    np.testing.assert_allclose(walk.values, NOISE, rtol=0, atol=1e-4)
    (note,) = walk.notes
    assert repr(name) in note and "`channels`" in note and "`time`" in note
    assert recordings.read(path, ["x", "y", name]).values.shape == (COUNT, 3)


@pytest.mark.parametrize("name", ["confidence", "Confidence", "quality", "validity", "label"])
def test_a_column_about_the_recording_is_not_a_channel(table, name):
    path = table(name, list(np.round(RNG.uniform(0.8, 1, COUNT), 3)))
    walk = recordings.read(path)
    assert walk.channels == ("x", "y") and walk.left_out == (name,) and repr(name) in walk.notes[0]
    assert recordings.read(path, [name]).channels == (name,)


@pytest.mark.parametrize("value", ["1", "0.5", "phone 7", "", "NaN"])
def test_a_column_of_one_value_or_of_text_is_not_a_channel(table, value):
    walk = recordings.read(table("foo", [value] * COUNT))
    assert walk.channels == ("x", "y") and walk.left_out == ("foo",) and "'foo'" in walk.notes[0]


def test_a_column_that_is_mostly_empty_is_not_a_channel(table):
    walk = recordings.read(table("latitude", ["49.5" if i % 50 == 0 else "" for i in range(COUNT)]))
    assert walk.channels == ("x", "y") and len(walk.values) == COUNT


def test_a_channel_that_is_damaged_in_one_row_is_refused(table):
    with pytest.raises(ValueError, match="line 12, column 'z': 'oops' is not a number"):
        recordings.read(table("z", ["oops" if i == 10 else i % 7 for i in range(COUNT)]))


def test_a_file_of_counters_alone_is_refused_with_their_names(tmp_path):
    (tmp_path / "a.csv").write_text("\n".join(["a,b", *(f"{i},{2 * i}" for i in range(50))]))
    with pytest.raises(ValueError, match="no column is a channel.*'a': it only rises.*`channels`"):
        recordings.read(tmp_path / "a.csv")
    assert recordings.read(tmp_path / "a.csv", ["a", "b"]).values.shape == (50, 2)


def test_a_recording_without_movement_keeps_its_channels(tmp_path):
    rows = [f"{0.02 * i},0,9.81" for i in range(50)]
    (tmp_path / "a.csv").write_text("\n".join(["t,x,z", *rows]))
    assert recordings.read(tmp_path / "a.csv").channels == ("x", "z")


def test_a_column_of_three_rising_numbers_is_a_channel(tmp_path):
    (tmp_path / "a.csv").write_text("frame,x,y\n1,1,2\n2,3,4\n3,5,6\n")
    walk = recordings.read(tmp_path / "a.csv")
    assert walk.channels == ("x", "y") and walk.left_out == ("frame",)


def test_the_first_column_of_an_array_that_counts_is_not_a_channel(tmp_path):
    np.save(tmp_path / "a.npy", np.c_[np.arange(COUNT) / 50, NOISE])
    walk = recordings.read(tmp_path / "a.npy")
    assert walk.channels == ("2", "3") and "'1'" in walk.notes[0]
    walk = recordings.read(tmp_path / "a.npy", time="1")
    assert walk.channels == ("2", "3") and walk.rate_hz == pytest.approx(50)
    assert recordings.read(tmp_path / "a.npy", ["1", "2"]).channels == ("1", "2")


def test_an_unknown_clock_is_named_when_channels_are_given(table):
    path = table("foo", CLOCK)
    walk = recordings.read(path, ["x"])
    assert walk.rate_hz is None and "set `time` to 'foo'" in walk.notes[0]
    assert recordings.read(path, ["x"], time="foo").rate_hz == pytest.approx(50)
    assert recordings.read(path, ["x"], time="FOO").notes == ()


@pytest.mark.parametrize(("unit", "size"), [("s", 1), ("ms", 1e3), ("us", 1e6), ("ns", 1e9)])
def test_the_caller_may_state_the_unit_of_times(table, unit, size):
    path = table("foo", [round(i * size / 50, 6) for i in range(COUNT)])
    walk = recordings.read(path, time="foo", time_unit=unit)
    assert walk.channels == ("x", "y") and walk.rate_hz == pytest.approx(50, rel=1e-6)


def test_the_unit_of_the_caller_overrides_the_unit_in_the_name(table):
    path = table("time (s)", [20 * i for i in range(COUNT)])
    assert recordings.read(path, time_unit="ms").rate_hz == pytest.approx(50)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"time": "bar"}, "there is no column 'bar'"),
        ({"time": ""}, "`time` is .*name of a column"),
        ({"time": 1}, "`time` is .*name of a column"),
        ({"time_unit": "min"}, "`time_unit` is 'min', .* one of s, ms, us, ns"),
        ({"time_unit": "ms"}, "hold times, so `time_unit` does not apply"),
        ({"max_gap": 0}, "`max_gap` is .*positive number"),
        ({"max_gap": -1.0}, "`max_gap` is .*positive number"),
        ({"max_gap": "1"}, "`max_gap` is .*positive number"),
        ({"max_gap": float("nan")}, "`max_gap` is .*positive number"),
        ({"max_gap": float("inf")}, "`max_gap` is .*positive number"),
        ({"time": "x"}, "the time in column 'x' does not rise"),
    ],
)
def test_invalid_answers_about_times_are_refused(table, options, message):
    with pytest.raises(ValueError, match=message):
        recordings.read(table("foo", CLOCK), **options)


def test_a_unit_does_not_apply_to_dates_or_sound(tmp_path):
    rows = [f"2026-01-31T12:00:00.{i:03d},{i % 5}" for i in range(0, 900, 20)]
    (tmp_path / "a.csv").write_text("\n".join(["time,x", *rows]))
    with pytest.raises(ValueError, match="holds dates, to which `time_unit` does not apply"):
        recordings.read(tmp_path / "a.csv", time_unit="ms")


def test_a_column_of_dates_is_times_under_any_name(tmp_path):
    rows = [f"2026-01-31T12:00:00.{i:03d},{i % 7}" for i in range(0, 900, 20)]
    (tmp_path / "a.csv").write_text("\n".join(["when,x", *rows]))
    walk = recordings.read(tmp_path / "a.csv")
    assert walk.channels == ("x",) and walk.rate_hz == pytest.approx(50)


def test_the_column_of_times_that_rises_is_used(tmp_path):
    rows = [f"0,{0.02 * i},{i % 7}" for i in range(50)]
    (tmp_path / "a.csv").write_text("\n".join(["time,timestamp,x", *rows]))
    assert recordings.read(tmp_path / "a.csv").rate_hz == pytest.approx(50)


def batched(size, count=600, hz=50):
    """Returns times and values of a wave of 5 Hz. Several consecutive rows have the same time."""
    true = np.arange(count) / hz
    return (np.arange(count) // size) * size / hz, np.sin(2 * np.pi * 5 * true)


@pytest.mark.parametrize("size", [2, 3, 10, 50])
@pytest.mark.parametrize("resample_hz", [None, 50, 25, 100])
def test_rows_that_share_a_time_are_spread_evenly(tmp_path, size, resample_hz):
    times, wave = batched(size)
    rows = [f"{t:.4f},{x:.6f}" for t, x in zip(times, wave, strict=True)]
    (tmp_path / "a.csv").write_text("\n".join(["t,x", *rows]))
    walk = recordings.read(tmp_path / "a.csv", resample_hz=resample_hz)
    rate = 50 if resample_hz is None else resample_hz
    assert walk.rate_hz == pytest.approx(rate, rel=1e-6)
    expected = np.sin(2 * np.pi * 5 * np.arange(len(walk.values)) / rate)
    inner = slice(20, -20)
    np.testing.assert_allclose(walk.values[inner, 0], expected[inner], rtol=0, atol=0.01)


@pytest.mark.parametrize("start", [0.0, 0.3, 0.74, 0.98])
def test_times_in_whole_seconds_are_spread_evenly(tmp_path, start):
    """Tests times in whole seconds. The first and the last second have fewer rows than the other
    seconds."""
    true = start + np.arange(777) / 50
    wave = np.sin(2 * np.pi * 5 * (true - start))
    rows = [f"{int(t + 1e-9)},{x:.6f}" for t, x in zip(true, wave, strict=True)]
    (tmp_path / "a.csv").write_text("\n".join(["t_s,x", *rows]))
    walk = recordings.read(tmp_path / "a.csv", resample_hz=50)
    assert recordings.read(tmp_path / "a.csv").rate_hz == pytest.approx(50, rel=1e-3)
    expected = np.sin(2 * np.pi * 5 * np.arange(len(walk.values)) / 50)
    np.testing.assert_allclose(walk.values[20:-20, 0], expected[20:-20], rtol=0, atol=0.02)


def test_a_first_time_with_fewer_rows_and_half_a_span_more_is_partial():
    seconds = np.repeat([0.0, 3, 5, 7, 9], [2, 3, 3, 3, 3])
    spread = _times.evenly_spread(seconds)
    np.testing.assert_allclose(np.diff(spread), 2 / 3, rtol=1e-12)


def test_dates_in_whole_seconds_are_spread_evenly(tmp_path):
    rows = [f"2026-01-31 12:00:{i // 50:02d},{np.sin(i / 3):.6f}" for i in range(500)]
    (tmp_path / "a.csv").write_text("\n".join(["Date and time,x", *rows]))
    walk = recordings.read(tmp_path / "a.csv", time="Date and time")
    assert walk.rate_hz == pytest.approx(50, rel=1e-6) and len(walk.values) == 500


def test_batches_of_varying_size_with_a_gap_are_not_spread_over_the_gap(tmp_path):
    times = np.r_[np.repeat(np.arange(0, 4, 0.06), 3), np.repeat(np.arange(10, 14, 0.06), 3)]
    rows = [f"{t:.3f},{i % 7}" for i, t in enumerate(times)]
    (tmp_path / "a.csv").write_text("\n".join(["t,x", *rows]))
    pieces = recordings.read_pieces(tmp_path / "a.csv")
    assert [len(piece.values) for piece in pieces] == [201, 201]
    assert pieces[0].rate_hz == pytest.approx(50, rel=0.01)


def test_jitter_of_a_shared_clock_does_not_make_a_staircase(tmp_path):
    """Tests times that are the same for three rows in a row. Each time has an error of a few
    milliseconds.
    """
    rng = np.random.default_rng(0)
    times, wave = batched(3)
    times = times + np.repeat(rng.uniform(-0.004, 0.004, len(times) // 3), 3)
    rows = [f"{t:.4f},{x:.6f}" for t, x in zip(times - times[0], wave, strict=True)]
    (tmp_path / "a.csv").write_text("\n".join(["t,x", *rows]))
    values = recordings.read(tmp_path / "a.csv", resample_hz=50).values[20:-20, 0]
    expected = np.sin(2 * np.pi * 5 * np.arange(600) / 50)[20:][: len(values)]
    assert np.sqrt(np.mean((values - expected) ** 2)) < 0.12


@pytest.mark.parametrize("step", [20, 20_000, 20_000_000])
def test_the_rate_of_the_caller_determines_the_unit_of_times(table, step):
    path = table("t", [step * i for i in range(COUNT)])
    with pytest.raises(ValueError, match="Set `time_unit`"):
        recordings.read(path)
    assert recordings.read(path, rate_hz=50).rate_hz == 50
    with pytest.raises(ValueError, match="Set `time_unit`"):
        recordings.read(path, rate_hz=70)


def test_a_noisy_column_named_t_is_not_a_clock_if_channels_are_named(table):
    path = table("T", list(RNG.normal(20, 1, COUNT)))
    assert recordings.read(path, ["x", "y"]).rate_hz is None
    with pytest.raises(ValueError, match="the time in column 'T' does not rise"):
        recordings.read(path)


@pytest.mark.parametrize(("name", "rate"), [("time (min)", 50 / 60), ("Time [h]", 50 / 3600)])
def test_minutes_and_hours_are_units_of_times(table, name, rate):
    assert recordings.read(table(name, CLOCK)).rate_hz == pytest.approx(rate, rel=1e-6)


@pytest.mark.parametrize("name", ["time (C)", "timestamp [a.u.]", "min", "hour"])
def test_a_unit_that_is_unknown_is_not_guessed(table, name):
    walk = recordings.read(table(name, CLOCK))
    assert walk.channels == ("x", "y") and walk.rate_hz is None


@pytest.mark.parametrize("doubled", ["all", "some"])
def test_rows_that_were_written_twice_are_left_out(tmp_path, doubled):
    rows = [f"{t:.2f},{x:.4f}" for t, (x, _) in zip(CLOCK, NOISE, strict=True)]
    counts = [2 if doubled == "all" or i == 9 else 1 for i in range(COUNT)]
    twice = [row for row, count in zip(rows, counts, strict=True) for _ in range(count)]
    (tmp_path / "a.csv").write_text("\n".join(["t,x", *twice]))
    walk = recordings.read(tmp_path / "a.csv")
    assert walk.rate_hz == pytest.approx(50, rel=1e-6)
    np.testing.assert_allclose(walk.values, NOISE[:, :1], rtol=0, atol=1e-4)
    assert "Rows with the same time and values" in walk.notes[0]


def test_samples_of_a_sensor_at_rest_are_not_repeats(tmp_path):
    rows = [f"{0.06 * (i // 3):.2f},{int(i > 100)},{i % 7 if i > 100 else 0}" for i in range(300)]
    (tmp_path / "a.csv").write_text("\n".join(["t,x,y", *rows]))
    assert len(recordings.read(tmp_path / "a.csv", ["x", "y"]).values) == 300
