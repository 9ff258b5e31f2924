"""Tests that `recordings.read` returns correct values, names, units and rates, and that errors name
the file and the line."""

import pathlib
import sys

import numpy as np
import pytest
import scipy.io.wavfile
from hypothesis import given
from hypothesis import strategies as st

from keras_dml import recordings

NUMBERS = np.array([[1, 2, 3], [4, 5, 6], [7, 8, 9.5]])
XYZ = "x,y,z\n1,2,3\n4,5,6\n7,8,9.5\n"


@pytest.fixture
def written(tmp_path):
    """Returns a function that writes a file and returns its path."""

    def write(content, name="walk.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def refused(path, *arguments, **options):
    """Checks that reading raises an error that names the file. Returns the error message."""
    with pytest.raises(ValueError) as caught:
        recordings.read(path, *arguments, **options)
    assert str(path) in str(caught.value)
    return str(caught.value).replace(str(path), "FILE")


@pytest.mark.parametrize(
    "text",
    [
        XYZ,
        XYZ.replace(",", ";"),
        XYZ.replace(",", "\t"),
        XYZ.replace("\n", "\r\n"),
        "\ufeff" + XYZ,
        "\n" + XYZ.replace("\n", "\n\n"),
        XYZ.replace("x,y,z", '"x", y ,z'),
        XYZ.rstrip("\n"),
    ],
)
def test_variants_of_csv_are_read(written, text):
    walk = recordings.read(written(text))
    np.testing.assert_array_equal(walk.values, NUMBERS)
    assert walk.values.dtype == np.float32
    assert (walk.channels, walk.units, walk.rate_hz) == (("x", "y", "z"), (None,) * 3, None)


@given(st.data())
def test_written_numbers_are_read_back(tmp_path_factory, data):
    columns = data.draw(st.integers(1, 5))
    floats = st.floats(width=32, allow_nan=False, allow_infinity=False)
    rows = st.lists(floats, min_size=columns, max_size=columns)
    values = np.array(data.draw(st.lists(rows, min_size=1, max_size=20)), np.float32)
    path = tmp_path_factory.mktemp("drawn") / "walk.csv"
    lines = [",".join(f"c{i}" for i in range(columns))]
    lines += [",".join(repr(float(number)) for number in row) for row in values]
    path.write_text("\n".join(lines))
    np.testing.assert_array_equal(recordings.read(path).values, values)


@given(st.binary(max_size=200), st.sampled_from([".csv", ".npy", ".wav", ".parquet"]))
def test_any_bytes_are_read_or_refused_by_the_name_of_the_file(tmp_path_factory, content, kind):
    path = tmp_path_factory.mktemp("drawn") / f"walk{kind}"
    path.write_bytes(content)
    try:
        found = recordings.read(path)
    except ValueError as error:
        assert str(path) in str(error)
    else:
        assert np.isfinite(found.values).all() and len(found.values)


@pytest.mark.parametrize(
    ("wanted", "columns"),
    [(["z", "x"], [2, 0]), (["Z"], [2]), ("y", [1]), ([" x "], [0])],
)
def test_requested_channels_are_read_in_the_requested_order(written, wanted, columns):
    walk = recordings.read(written(XYZ), wanted)
    np.testing.assert_array_equal(walk.values, NUMBERS[:, columns])
    assert walk.channels == tuple(name.strip() for name in ([wanted] if wanted == "y" else wanted))


def test_units_in_brackets_are_read_and_optional_in_requests(written):
    path = written(XYZ.replace("x,y,z", "x (m/s^2),y [g],z"))
    assert recordings.read(path).units == ("m/s^2", "g", None)
    assert recordings.read(path).channels == ("x", "y", "z")
    walk = recordings.read(path, ["y", "x (m/s^2)"])
    assert walk.units == ("g", "m/s^2")
    np.testing.assert_array_equal(walk.values, NUMBERS[:, [1, 0]])


def test_columns_that_are_not_channels_may_hold_anything(written):
    path = written("x,activity\n1,walk\n2,\n")
    np.testing.assert_array_equal(recordings.read(path, ["x"]).values, [[1], [2]])
    walk = recordings.read(path)
    assert walk.channels == ("x",) and walk.left_out == ("activity",)
    assert "'activity' was not used as a channel" in walk.notes[0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "FILE is empty"),
        ("\n\n", "FILE is empty"),
        ("x,y\n", "FILE holds no steps"),
        ("x,y\n1,2\n3\n4,5\n", "FILE, line 3 has 1 fields, but line 1 names 2"),
        ("x,y\n1,2\n\n3,4,5\n", "FILE, line 4 has 3 fields"),
        ("x,y\n1,2\ninf,4\n", "FILE, line 3: channel 'x' is inf"),
        ("x,y\n1,2\n1e39,4\n", "FILE, line 3: channel 'x' is 1e+39"),
        ("x;y\n1;2.5\n3;4,5\n", "FILE, line 3, column 'y': '4,5' is not a number. Write decimals"),
        ("1,2\n3,4\n", "FILE, line 1: names of the columns are expected"),
        ("x,,z\n1,2,3\n", "FILE, line 1: column 2 has no name"),
        ("x,y,x\n1,2,3\n", "FILE, line 1: column 3 has the same name 'x' as another"),
        ("time\n1\n", "FILE, line 1: no column is a channel. The columns are time"),
        ("x,y\n1,2\n3,four\n5,6\n", "FILE, line 3, column 'y': 'four' is not a number. Name the"),
        ('x,y\n1,"2\n3,4\n', "FILE, line 3: not valid CSV"),
        ("x,y\n1,2\n3,µ\n".encode("latin-1"), "FILE, line 3, column 'y': 'µ' is not a number"),
    ],
)
def test_the_error_about_an_invalid_recording_names_the_line(written, text, message):
    assert refused(written(text)).startswith(message)


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("t,x\n", {}),
        ("time,x (", {}),
        ("timestamp\tx\ty\n\n\n", {"channels": ["y"]}),
        ("time,x\n", {"rate_hz": 50}),
        ("time (s),x\n", {"resample_hz": 50}),
        ("x,y\n", {"time": "x"}),
        ("x,y\n", {"time_unit": "ms"}),
    ],
)
def test_a_table_with_names_but_no_rows_is_refused(written, text, options):
    assert refused(written(text), **options).startswith("FILE holds no steps")


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (["x", "gz"], "there is no column 'gz'. Did you mean 'z'? The columns are x, y, z"),
        (["x", "X"], "x, X name the same column twice"),
    ],
)
def test_the_error_about_a_missing_channel_lists_the_columns(written, wanted, message):
    assert refused(written(XYZ), wanted).startswith(f"FILE, line 1: {message}")


def test_channels_that_differ_only_in_case_are_distinguished(written):
    path = written("x,X\n1,2\n")
    assert recordings.read(path, ["X"]).values == 2
    assert "2 columns are named 'x'" in refused(written("x (g),x (V)\n1,2\n"), ["x"])


@pytest.mark.parametrize("wanted", [[], [""], ["x", "x"]])
def test_invalid_names_of_channels_are_refused(written, wanted):
    with pytest.raises(
        ValueError, match="`channels` is .* must be a list of different column names"
    ):
        recordings.read(written(XYZ), wanted)


def timed(name, times):
    return f"{name},x\n" + "".join(f"{time},{i}\n" for i, time in enumerate(times))


@pytest.mark.parametrize(
    ("name", "times", "rate"),
    [
        ("t", [0.0, 0.02, 0.04], 50),
        ("Time (s)", [0.0, 0.02, 0.04], 50),
        ("time_ms", [100, 120, 140], 50),
        ("timestamp [us]", [0, 20_000, 40_000], 50),
        ("seconds_elapsed", [5.0, 5.01, 5.02], 100),
        ("seconds", [0, 2, 4], 0.5),
        ("time", [1.7e9, 1.7e9 + 0.25, 1.7e9 + 0.5], 4),
        ("time", [1_700_000_000_000, 1_700_000_000_020, 1_700_000_000_040], 50),
        ("time", [1_700_000_000_000_000_000, 1_700_000_000_020_000_000], 50),
        ("Timestamp", ["2026-01-31T12:00:00.000Z", "2026-01-31T12:00:00.020Z"], 50),
        ("datetime", ["2026-01-31 12:00:00.5", "2026-01-31 12:00:01"], 2),
        ("t", [0.0, 0.019, 0.041, 0.06], 50),
        ("t", [3.0], None),
    ],
)
def test_the_times_give_the_rate_and_are_not_a_channel(written, name, times, rate):
    walk = recordings.read(written(timed(name, times)))
    assert walk.channels == ("x",)
    assert walk.rate_hz == (rate if rate is None else pytest.approx(rate, rel=1e-6, abs=0))


def test_a_column_of_times_with_a_unit_is_preferred(written):
    text = "time,seconds_elapsed,x\n1700000000000000000,0.0,1\n1700000000020000000,0.02,2\n"
    walk = recordings.read(written(text))
    assert walk.channels == ("x",) and walk.rate_hz == pytest.approx(50, rel=1e-9, abs=0)


def test_times_may_be_requested_as_a_channel(written):
    walk = recordings.read(written(timed("t", [0, 10, 0])), ["t", "x"])
    assert walk.values.shape == (3, 2) and walk.rate_hz is None


@pytest.mark.parametrize(
    ("name", "times", "message"),
    [
        ("t", [0, 0.02, 0, 0.02], "FILE, line 4: the time in column 't' does not rise"),
        ("t", [0, 20, 40], "FILE: column 't' rises by 20 per row"),
        ("t", [0, "later", 0.04], "FILE, line 3, column 't': 'later' is not a number"),
        ("t", ["12:00", "12:01"], "FILE, line 2: the time '12:00' in column 't' cannot be read"),
        (
            "t",
            ["2026-01-31T12:00:00Z", "2026-01-31T12:00:01"],
            "FILE, line 3: the time '2026-01-31T12:00:01' in column 't' cannot be read",
        ),
    ],
)
def test_times_that_give_no_rate_are_refused(written, name, times, message):
    assert refused(written(timed(name, times))).startswith(message)


def uneven(rate_hz, seconds, spread):
    """Returns the times and values of a slow wave. The errors of the times are up to `spread`
    steps."""
    rng = np.random.default_rng(0)
    times = np.arange(round(seconds * rate_hz) + 1) / rate_hz
    times[1:-1] += rng.uniform(-spread, spread, len(times) - 2) / rate_hz
    return times, np.sin(2 * np.pi * 0.5 * times)


@pytest.mark.parametrize(("recorded_hz", "wanted_hz"), [(25, 25), (25.3, 25), (30, 50), (100, 25)])
def test_a_recording_at_uneven_times_is_resampled_to_an_even_grid(written, recorded_hz, wanted_hz):
    times, wave = uneven(recorded_hz, 8, 0.45)
    path = written("t,x\n" + "".join(f"{t},{x}\n" for t, x in zip(times, wave, strict=True)))
    assert "Set `resample_hz` to resample the recording" in refused(path)
    walk = recordings.read(path, resample_hz=wanted_hz)
    assert walk.rate_hz == wanted_hz and len(walk.values) == int(times[-1] * wanted_hz + 1e-6) + 1
    expected = np.sin(2 * np.pi * 0.5 * np.arange(len(walk.values)) / wanted_hz)
    np.testing.assert_allclose(walk.values[:, 0], expected, rtol=0, atol=0.02)


def test_lowering_the_rate_leaves_no_alias(tmp_path):
    path = saved(tmp_path, np.sin(2 * np.pi * 26 * np.arange(1000) / 100))
    assert np.abs(recordings.read(path, None, 100, 25).values[20:-20]).max() < 0.05


@pytest.mark.parametrize(
    ("times", "wanted", "message"),
    [
        (np.r_[0:20, 27:40] / 50, 50, "FILE, line 22: a gap of 0.16 s"),
        (np.arange(20) / 50, 103, "FILE has 50 Hz and cannot be resampled to 103 Hz"),
        ([0, 0.04, 0.02, 0.04], 50, "FILE, line 4: the time in column 't' does not rise"),
        ([0, 0, 0], 50, "FILE, line 3: the time in column 't' does not rise"),
    ],
)
def test_a_rate_is_not_raised_beyond_twice_its_value(written, times, wanted, message):
    assert refused(written(timed("t", times)), ["x"], resample_hz=wanted).startswith(message)


def test_a_recording_shorter_than_a_step_of_the_new_rate_is_refused(written):
    said = refused(written(timed("t_ns", [0, 1, 2])), resample_hz=50)
    assert said.startswith("FILE has 1e+09 Hz and lasts 3e-09 s, which is shorter")


def test_steps_at_one_time_are_resampled(written):
    steps = [*range(50), *range(49, 100)]  # the step 49 occurs twice
    walk = recordings.read(written(timed("t", np.array(steps) / 50)), ["x"], resample_hz=50)
    np.testing.assert_allclose(walk.values[:49, 0], np.arange(49), rtol=0, atol=0.1)
    np.testing.assert_allclose(walk.values[50:, 0], np.arange(51, 101), rtol=0, atol=0.1)


def test_without_times_nothing_is_resampled(written):
    assert "Set `rate_hz`" in refused(written(XYZ), resample_hz=50)
    with pytest.raises(ValueError, match="`resample_hz` is .*positive number"):
        recordings.read(written(XYZ), resample_hz=0)


def test_the_rate_of_the_caller_overrides_a_similar_measured_rate(written):
    path = written(timed("t", np.arange(5) / 50.4))
    assert recordings.read(path, rate_hz=50).rate_hz == 50
    assert recordings.read(written(XYZ, "untimed.csv"), rate_hz=50).rate_hz == 50
    assert "FILE has 50.4 Hz according to its times, but `rate_hz` is 100" in refused(
        path, rate_hz=100
    )


@pytest.mark.parametrize("rate", [0, -1, np.nan, np.inf, "50"])
def test_invalid_rates_are_refused(written, rate):
    with pytest.raises(ValueError, match="`rate_hz` is .*positive number"):
        recordings.read(written(XYZ), rate_hz=rate)


def test_a_rate_is_the_same_within_two_percent():
    assert recordings.is_same_rate(49.2, 50) and recordings.is_same_rate(50.9, 50)
    assert not recordings.is_same_rate(48.9, 50)


def saved(tmp_path, array, name="walk.npy"):
    np.save(tmp_path / name, array, allow_pickle=True)
    return tmp_path / name


def test_an_array_is_read_and_its_channels_are_named_by_the_caller(tmp_path):
    path = saved(tmp_path, NUMBERS)
    walk = recordings.read(path, rate_hz=100)
    np.testing.assert_array_equal(walk.values, NUMBERS)
    assert (walk.channels, walk.rate_hz) == (("1", "2", "3"), 100)
    assert recordings.read(path, ["x", "y", "z"]).channels == ("x", "y", "z")
    np.testing.assert_array_equal(recordings.read(path, ["3", "1"]).values, NUMBERS[:, [2, 0]])
    assert "3 channels without names, and 2 were requested: x, y" in refused(path, ["x", "y"])
    assert recordings.read(saved(tmp_path, NUMBERS[:, 0])).values.shape == (3, 1)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.array([{}]), "Python objects"),
        (np.array(["1"]), "real numbers"),
        (np.ones((3, 2), complex), "real numbers"),
        (np.ones((2, 3, 4)), "shape (2, 3, 4), but a recording has the shape (time, channels)"),
        (np.ones((0, 3)), "holds no steps"),
        (np.ones((3, 0)), "shape (3, 0), but a recording has the shape (time, channels)"),
    ],
)
def test_arrays_that_are_not_recordings_are_refused(tmp_path, array, message):
    assert message in refused(saved(tmp_path, array))


def test_an_array_with_channels_first_is_refused(tmp_path):
    path = saved(tmp_path, np.ones((3, 200)))
    assert "3 steps of 200 channels. If the array is (channels, time)" in refused(path)


def test_a_truncated_array_is_refused_before_memory_is_allocated(tmp_path):
    path = saved(tmp_path, np.ones((100, 3)))
    path.write_bytes(path.read_bytes()[:-1])
    assert "is not a .npy file" in refused(path)
    path.write_bytes(path.read_bytes().replace(b"(100, 3), ", b"(9**9,9)}#"))
    assert "is not a .npy file" in refused(path)


@pytest.mark.parametrize(
    ("kind", "full"), [(np.int16, 2**15), (np.int32, 2**31), (np.float32, 1), (np.uint8, None)]
)
def test_sound_has_full_scale_one_and_the_rate_of_its_header(tmp_path, kind, full):
    wave = np.sin(np.arange(400) / 10)
    stored = 128 + 127 * wave if full is None else wave * (full - 1 if full > 1 else 1)
    path = tmp_path / "voice.wav"
    scipy.io.wavfile.write(path, 16_000, stored.astype(kind))
    voice = recordings.read(path, rate_hz=16_000)
    assert (voice.channels, voice.rate_hz) == (("sound",), 16_000)
    np.testing.assert_allclose(voice.values[:, 0], wave, rtol=0, atol=0.02)
    assert "FILE has 16000 Hz according to its header, but `rate_hz` is 8000" in refused(
        path, rate_hz=8_000
    )


def test_one_of_two_channels_of_sound_is_selected_by_its_number(tmp_path):
    path = tmp_path / "voice.wav"
    scipy.io.wavfile.write(path, 8_000, np.stack([np.ones(9), np.zeros(9)], 1).astype(np.float32))
    assert recordings.read(path, ["2"]).values.max() == 0
    assert "2 channels without names, and 1 were requested: left" in refused(path, ["left"])


def test_truncated_or_foreign_sound_is_refused(tmp_path):
    path = tmp_path / "voice.wav"
    scipy.io.wavfile.write(path, 8_000, np.ones(100, np.int16))
    whole = path.read_bytes()
    for content in (whole[:-10], whole[:30], b"", b"text", whole.replace(b"WAVE", b"AVI ")):
        path.write_bytes(content)
        assert "not a complete WAVE file" in refused(path)


def test_sound_without_samples_is_refused(tmp_path):
    path = tmp_path / "voice.wav"
    scipy.io.wavfile.write(path, 8_000, np.zeros(0, np.int16))
    assert "FILE holds no steps" in refused(path)


def parquet(tmp_path, **columns):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pyarrow.table(columns), tmp_path / "walk.parquet")
    return tmp_path / "walk.parquet"


def test_a_parquet_file_is_read_by_its_columns(tmp_path):
    times = np.array([0, 20, 40], "datetime64[ms]")
    path = parquet(tmp_path, timestamp_ns=times, x=[1, 2, 3], y=np.float32([4, 5, 6]))
    walk = recordings.read(path)
    np.testing.assert_array_equal(walk.values, [[1, 4], [2, 5], [3, 6]])
    assert walk.channels == ("x", "y") and walk.rate_hz == pytest.approx(50, rel=1e-9, abs=0)
    assert recordings.read(path, ["Y"]).values.shape == (3, 1)
    assert "its schema: there is no column 'z'" in refused(path, ["z"])


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"x": ["a", "b"]}, "FILE, its schema: no column is a channel"),
        ({"x": [[1.0], [2.0]]}, "FILE, its schema: no column is a channel"),
        ({"x": np.array([], np.float64)}, "FILE holds no steps"),
        ({"t": np.array([], np.float64), "x": np.array([], np.float64)}, "FILE holds no steps"),
        ({"t": np.array([], "datetime64[ms]"), "x": np.array([], int)}, "FILE holds no steps"),
        ({"t": [0.0, 0.0], "x": [1, 2]}, "FILE, row 1: the time in column 't' does not rise"),
    ],
)
def test_parquet_files_that_are_not_recordings_are_refused(tmp_path, columns, message):
    assert refused(parquet(tmp_path, **columns)).startswith(message)


def test_without_pyarrow_the_extra_is_named(written, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r'pip install "keras-dml\[parquet\]"'):
        recordings.read(written(b"PAR1", "walk.parquet"))


def test_files_of_other_formats_are_refused(written, tmp_path):
    assert "ends in '.doc', but files of recordings end in .csv, " in refused(written("", "a.doc"))
    assert "is not a file" in refused(tmp_path)
    with pytest.raises(FileNotFoundError, match="There is no file"):
        recordings.read(tmp_path / "gone.csv")


def test_suffixes_may_be_in_capitals(written):
    path = written(XYZ, "WALK.CSV")
    assert recordings.read(str(path)).path == pathlib.Path(path)


def test_large_integers_of_a_parquet_file_are_read(tmp_path):
    walk = recordings.read(parquet(tmp_path, x=[2**53 + 1, 3], y=np.uint64([2**64 - 1, 0])))
    np.testing.assert_allclose(walk.values, [[2.0**53, 2.0**64], [3, 0]], rtol=1e-6)


@pytest.mark.parametrize(
    ("cell", "advice"),
    [("1,5", "Write decimals with a point"), ("x,y", "Name the columns"), ("two", "Name the col")],
)
def test_a_point_is_advised_only_for_a_number_with_a_comma(written, cell, advice):
    assert advice in refused(written(f'x,y\n1.5,2\n"{cell}",4\n'))


@pytest.mark.parametrize(
    ("count", "channels", "names"),
    [(1, None, ("sound",)), (1, ["voice"], ("voice",)), (1, ["1"], ("1",)), (2, None, ("1", "2"))],
)
def test_only_one_unnamed_channel_of_sound_is_called_sound(tmp_path, count, channels, names):
    path = tmp_path / "voice.wav"
    scipy.io.wavfile.write(path, 8_000, np.zeros((9, count), np.float32))
    sound = recordings.read(path, channels)
    assert sound.channels == names and sound.values.shape == (9, count)


@pytest.mark.parametrize(("missing", "steps"), [(5e-7, 11), (1e-4, 11), (0.5, 10)])
def test_the_last_step_may_miss_the_end_by_a_little(written, missing, steps):
    times = [*np.arange(10) / 10, 1 - missing / 10]
    path = written("t,x\n" + "".join(f"{t:.9f},{t:.9f}\n" for t in times))
    assert len(recordings.read(path, ["x"], resample_hz=10).values) == steps


@pytest.mark.parametrize("steps_per_second", [1, 10**3, 10**6, 10**9])
def test_times_since_1970_are_in_the_unit_of_their_size(written, steps_per_second):
    """Tests Unix times in a column whose name has no unit. The reader derives the unit from the
    size of the numbers.
    """
    hz = min(4, steps_per_second)
    times = [1_700_000_000 * steps_per_second + i * steps_per_second // hz for i in range(20)]
    walk = recordings.read(written(timed("t", times)), ["x"])
    assert walk.rate_hz == pytest.approx(hz, rel=1e-6)


@pytest.mark.parametrize("channels", [[], [""], ["x", ""], ["x", "x"], ["x", " x"]])
def test_names_of_channels_are_neither_empty_nor_doubled(written, channels):
    with pytest.raises(
        ValueError, match="`channels` is .* must be a list of different column names"
    ):
        recordings.read(written("t,x,y\n0,1,2\n1,3,4\n"), channels)


@pytest.mark.parametrize(("step", "rate"), [(0.8, 1.25), (1.0, 1.0), (1.01, None), (20.0, None)])
def test_steps_of_more_than_a_second_need_a_unit(written, step, rate):
    path = written(timed("t", [step * i for i in range(6)]))
    if rate is None:
        assert "`time_unit`" in refused(path) and "t_ms" in refused(path)
    else:
        assert recordings.read(path).rate_hz == pytest.approx(rate)
