"""Tests that short gaps in recordings are interpolated, and that recordings are cut at long
gaps."""

import numpy as np
import pytest

from keras_dml import recordings
from keras_dml.recordings import _gaps

COUNT = 200
TIMES = np.arange(COUNT) / 50
WAVES = np.stack([np.sin(3 * TIMES), np.cos(3 * TIMES)], axis=1)
MISSING = ["", ".", "-", "NaN", "nan", "NA", "N/A", "null", "NULL", "None", "--", " ", "#N/A"]


@pytest.fixture
def written(tmp_path):
    """Returns a function that writes a csv file with two waves. Some fields or rows are missing."""

    def write(cells=(), rows=range(COUNT), timed=True):
        fields = [[f"{value:.6f}" for value in row] for row in WAVES]
        for row, column, text in cells:
            fields[row][column] = text
        names = ["t", "x", "y"] if timed else ["x", "y"]
        lines = [[f"{TIMES[i]:.2f}", *fields[i]] if timed else fields[i] for i in rows]
        path = tmp_path / "walk.csv"
        path.write_text("\n".join(map(",".join, [names, *lines])))
        return path

    return write


@pytest.mark.parametrize("timed", [True, False])
@pytest.mark.parametrize("channels", [None, ["x", "y"], ["y"]])
@pytest.mark.parametrize("text", MISSING)
def test_a_missing_value_is_interpolated_and_counted(written, text, channels, timed):
    walk = recordings.read(written([(50, 1, text)], timed=timed), channels)
    expected = WAVES if channels != ["y"] else WAVES[:, 1:]
    np.testing.assert_allclose(walk.values, expected, rtol=0, atol=2e-3)
    assert walk.notes == ("1 missing value was interpolated.",)


def test_missing_values_in_columns_that_are_not_channels_are_ignored(written):
    walk = recordings.read(written([(i, 1, "") for i in range(20, 60)]), ["x"])
    assert walk.notes == () and len(walk.values) == COUNT


@pytest.mark.parametrize(("count", "pieces"), [(1, 1), (4, 1), (5, 2), (40, 2)])
def test_runs_of_missing_values_are_interpolated_up_to_five_steps(written, count, pieces):
    path = written([(i, 0, "NaN") for i in range(80, 80 + count)])
    parts = recordings.read_pieces(path)
    assert len(parts) == pieces
    if pieces == 1:
        assert f"{count} missing value" in parts[0].notes[0]
        np.testing.assert_allclose(parts[0].values, WAVES, rtol=0, atol=0.03)
        return
    assert "The recording was cut at 1 long gap." in parts[0].notes
    np.testing.assert_allclose(parts[0].values, WAVES[:80], rtol=0, atol=1e-5)
    np.testing.assert_allclose(parts[1].values, WAVES[80 + count :], rtol=0, atol=1e-5)
    with pytest.raises(ValueError, match=rf"line {82 + count}: a gap of"):
        recordings.read(path)


@pytest.mark.parametrize(("count", "pieces"), [(1, 1), (4, 1), (5, 2), (40, 2)])
def test_rows_that_are_missing_are_interpolated_up_to_five_steps(written, count, pieces):
    path = written(rows=[*range(80), *range(80 + count, COUNT)])
    parts = recordings.read_pieces(path)
    assert len(parts) == pieces
    assert parts[0].rate_hz == pytest.approx(50, rel=1e-6)
    if pieces == 1:
        assert parts[0].notes == (f"{_gaps._count(count, 'missing row')} interpolated.",)
        np.testing.assert_allclose(parts[0].values, WAVES, rtol=0, atol=0.03)


@pytest.mark.parametrize(("max_gap", "pieces"), [(0.01, 2), (0.5, 2), (0.83, 1), (10, 1)])
def test_the_longest_gap_that_is_interpolated_is_in_seconds(written, max_gap, pieces):
    by_rows = written(rows=[*range(80), *range(120, COUNT)])
    assert len(recordings.read_pieces(by_rows, max_gap=max_gap)) == pieces
    by_values = written([(i, 0, "") for i in range(80, 120)])
    assert len(recordings.read_pieces(by_values, max_gap=max_gap)) == pieces
    untimed = written([(i, 0, "") for i in range(80, 120)], timed=False)
    assert len(recordings.read_pieces(untimed, rate_hz=50, max_gap=max_gap)) == pieces
    with pytest.raises(ValueError, match="`max_gap`.*Set `rate_hz`"):
        recordings.read_pieces(untimed, max_gap=max_gap)


def test_notes_count_gaps_and_missing_values(written):
    cells = [(10, 0, ""), (11, 0, "-"), (11, 1, "."), (150, 1, "NA")]
    path = written(cells, rows=[*range(50), *range(60, 100), *range(102, 160), *range(170, COUNT)])
    pieces = recordings.read_pieces(path)
    assert [len(piece.values) for piece in pieces] == [50, 100, 30]
    assert set(pieces[0].notes) == {
        "4 missing values were interpolated.",
        "2 missing rows were interpolated.",
        "The recording was cut at 2 long gaps.",
    }
    assert all(piece.notes == pieces[0].notes for piece in pieces)


@pytest.mark.parametrize("resample_hz", [25, 50, 100])
def test_each_piece_is_resampled_separately(written, resample_hz):
    path = written(rows=[*range(80), *range(120, COUNT)])
    pieces = recordings.read_pieces(path, resample_hz=resample_hz)
    assert [len(piece.values) for piece in pieces] == [79 * resample_hz // 50 + 1] * 2
    times = np.arange(len(pieces[1].values)) / resample_hz + 120 / 50
    np.testing.assert_allclose(pieces[1].values[:, 0], np.sin(3 * times), rtol=0, atol=0.02)


def test_rows_at_the_ends_without_a_value_are_left_out(written):
    cells = [(i, 0, "") for i in (0, 1, 2, COUNT - 1)]
    walk = recordings.read(written(cells))
    np.testing.assert_allclose(walk.values, WAVES[3:-1], rtol=0, atol=1e-5)
    assert any("at the start or the end" in note for note in walk.notes)


def test_a_time_that_is_missing_is_interpolated(written, tmp_path):
    lines = written().read_text().splitlines()
    lines[60] = "," + lines[60].split(",", 1)[1]
    (tmp_path / "b.csv").write_text("\n".join(lines))
    walk = recordings.read(tmp_path / "b.csv")
    assert len(walk.values) == COUNT and walk.rate_hz == pytest.approx(50)


def test_short_pieces_between_gaps_are_left_out(written):
    path = written(rows=[*range(80), *range(100, 103), *range(120, COUNT)])
    pieces = recordings.read_pieces(path)
    assert [len(piece.values) for piece in pieces] == [80, 80]
    assert any("fewer than 8 steps" in note for note in pieces[0].notes)


def test_gaps_of_different_channels_are_cut_together(written):
    cells = [(i, 0, "") for i in range(80, 100)] + [(i, 1, "") for i in range(90, 120)]
    pieces = recordings.read_pieces(written(cells))
    assert [len(piece.values) for piece in pieces] == [80, 80]


def test_a_channel_of_half_the_rate_is_interpolated(written):
    walk = recordings.read(written([(i, 1, "") for i in range(1, COUNT, 2)]))
    np.testing.assert_allclose(walk.values, WAVES[:-1], rtol=0, atol=0.01)


def test_a_requested_channel_without_values_is_refused(written):
    path = written([(i, 0, "") for i in range(COUNT)])
    with pytest.raises(ValueError, match="channel 'x' has no finite number"):
        recordings.read(path, ["x", "y"])
    assert recordings.read(path).channels == ("y",)


def test_channels_that_never_have_a_value_together_are_refused(written):
    cells = [(i, 0, "") for i in range(90)] + [(i, 1, "") for i in range(85, COUNT)]
    with pytest.raises(ValueError, match="no step has a value in all of the channels x, y"):
        recordings.read_pieces(written(cells), ["x", "y"])


def test_no_more_steps_are_interpolated_than_were_recorded(tmp_path):
    rows = [
        f"{t},{i % 7}" for i, t in enumerate([*np.arange(50) / 50, *(1e6 + np.arange(50) / 50)])
    ]
    (tmp_path / "a.csv").write_text("\n".join(["t,x", *rows]))
    with pytest.raises(ValueError, match="Set `max_gap` to fewer"):
        recordings.read(tmp_path / "a.csv", max_gap=1e7)
    assert len(recordings.read_pieces(tmp_path / "a.csv")) == 2


def test_arrays_and_parquet_have_missing_values_too(tmp_path):
    pytest.importorskip("pyarrow")
    import pyarrow
    from pyarrow import parquet

    values = WAVES.copy()
    values[40:42, 0] = np.nan
    np.save(tmp_path / "a.npy", values)
    columns = {"x": [None if np.isnan(v) else v for v in values[:, 0]], "y": values[:, 1]}
    parquet.write_table(pyarrow.table(columns), tmp_path / "a.parquet")
    for name in ("a.npy", "a.parquet"):
        walk = recordings.read(tmp_path / name)
        np.testing.assert_allclose(walk.values, WAVES, rtol=0, atol=5e-3)
        assert walk.notes == ("2 missing values were interpolated.",)


@pytest.mark.parametrize("text", ["inf", "-inf", "1e39"])
def test_a_number_that_is_infinite_is_refused(written, text):
    with pytest.raises(ValueError, match="line 52: channel 'y' is"):
        recordings.read(written([(50, 1, text)]))


def test_a_clock_that_jitters_has_no_missing_rows(tmp_path):
    rng = np.random.default_rng(0)
    times = TIMES + rng.uniform(-0.009, 0.009, COUNT)
    rows = [f"{t:.4f},{i % 7}" for i, t in enumerate(times)]
    (tmp_path / "a.csv").write_text("\n".join(["t,x", *rows]))
    assert recordings.read(tmp_path / "a.csv", resample_hz=50).notes == ()
