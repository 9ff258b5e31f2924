"""Tests that text files of other programs are read correctly, and that ambiguous files cause an
error."""

import gzip

import numpy as np
import pytest

from keras_dml import recordings

XY = [[1.5, 2], [3, 4.25]]
COMMAS = "Decimal commas were read as decimal points."
THOUSANDS = "Thousands separators in numbers were ignored."
TORN = "The last row was incomplete and was left out."
REPEATED = "Lines that repeat the first lines were left out."
SORTED = "Rows were sorted by their times."
COUNTED = "The first column counts rows and was left out."
BEFORE = "Lines before the names of the columns were left out."
COMMENTS = "Comment lines were left out."
SPACES = "Columns were separated at spaces."
UNITS = "The line below the names was read as the units of the columns."


@pytest.fixture
def read(tmp_path):
    """Returns a function that writes a text file and reads it as a recording."""

    def read(content, channels=None, name="walk.csv", **options):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return recordings.read(path, channels, **options)

    return read


@pytest.mark.parametrize(
    ("text", "notes"),
    [
        ("x;y\n1,5;2\n3;4,25\n", [COMMAS]),
        ("x\ty\n1,5\t2\n3\t4,25\n", [COMMAS]),
        ("x|y\n1.5|2\n3|4.25\n", []),
        ('"x","y"\n"1,5","2"\n"3","4,25"\n', [COMMAS]),
        ('x,y\n"1,5",2\n3,"4,25"\n', [COMMAS]),
        ("sep=;\nx;y\n1,5;2\n3;4,25\n", [COMMAS]),
        ("sep=,\nx,y\n1.5,2\n3,4.25\n", []),
        ('"sep=\t"\nx\ty\n1.5\t2\n3\t4.25\n', []),
        ("SEP=;\r\nx;y\r\n1.5;2\r\n3;4.25\r\n", []),
        ("# a\n#b\nx,y\n1.5,2\n3,4.25\n", [COMMENTS]),
        ("% a, b\nx,y\n1.5,2\n% c\n3,4.25\n", [COMMENTS]),
        ("// a\nx,y\n1.5,2\n3,4.25\n// end\n", [COMMENTS]),
        ("# x y\n1.5 2\n3 4.25\n", [SPACES, "The names of the columns were read from a comment."]),
        ("Logger 3000\nSerial: 5\n\nx,y\n1.5,2\n3,4.25\n", [BEFORE]),
        ("Logger,3000\nRate,50\nx,y\n1.5,2\n3,4.25\n", [BEFORE]),
        ("Logger;3000;a;b\nStart;2026-01-31\nx;y\n1,5;2\n3;4,25\n", [BEFORE, COMMAS]),
        (",x,y\n0,1.5,2\n1,3,4.25\n", [COUNTED]),
        (",x,y\n7,1.5,2\n9,3,4.25\n", [COUNTED]),
        ("Unnamed: 0,x,y\n0,1.5,2\n1,3,4.25\n", [COUNTED]),
        ("x,y,\n1.5,2,\n3,4.25,\n", []),
        ("x,y\n1.5,2,\n3,4.25,\n", []),
        ("x,y,\n1.5,2\n3,4.25\n", []),
        ("x;y;;;\n1,5;2;;;\n3;4,25;;;\n", [COMMAS]),
        ("x,y,,z\n1.5,2,,1\n3,4.25,,1\n", []),
        ("x y\n1.5 2\n3 4.25\n", [SPACES]),
        ("  x       y\n  1.5    2\n  3.0   4.25\n", [SPACES]),
        ("a x   a y\n1.5   2\n3   4.25\n", [SPACES]),
        ("x,y\n1.5,2\n3,4.25\n5", [TORN]),
        ("x,y\n1.5,2\n3,4.25\n5\n", [TORN]),
        ("x,y\n1.5,2\n3,4.25\n5,1e", [TORN]),
        ("x,y\n1.5,2\nx,y\n3,4.25\n", [REPEATED]),
        ("sep=;\nx;y\n1.5;2\nsep=;\nx;y\n3;4.25\n", [REPEATED]),
        ("Logger\nNo. 5\nx,y\n1.5,2\nLogger\nNo. 5\nx,y\n3,4.25\n", [BEFORE, REPEATED]),
        ("x,y\nx,y\n1.5,2\n3,4.25\n", [BEFORE]),
        ("x,y\n1.5,2\n3,4.25\n\0\0\0", ["Zero bytes at the end of the file were left out."]),
        ("x,y\r1.5,2\r3,4.25\r", []),
        ("x,y\n1.5,2\n3,\u22124.25\n", ["The character U+2212 was read as a minus sign."]),
        ("x;y\n1.234,5;2\n3;4,25\n", [COMMAS, THOUSANDS]),
        ("x;y\n1 234,5;2\n3;4,25\n", [COMMAS, THOUSANDS]),
        ("x\ty\n1'234.5\t2\n3\t4.25\n", [THOUSANDS]),
        ('x,y\n"1,234.5",2\n3,4.25\n', [THOUSANDS]),
        ("x,y\n m/s^2 , g \n1.5,2\n3,4.25\n", [UNITS]),
    ],
)
def test_files_of_other_programs_are_read_with_a_note(read, text, notes):
    walk = read(text)
    expected = np.array(XY)
    expected[0, 0] += 1233 if THOUSANDS in notes else 0
    expected[1, 1] *= -1 if "\u2212" in text else 1
    np.testing.assert_allclose(walk.values[:, :2], expected)
    assert {name[-1] for name in walk.channels} <= {"x", "y", "z"}
    assert sorted(walk.notes) == sorted(notes)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("x,y\n1,5,2,5\n3,5,4,25\n", "line 2 has 4 fields, but line 1 names 2"),
        ("x;y\n1,234;5,678\n", "'1,234' is not a number. Its comma or point may separate decimals"),
        ('x,y\n"1,234",0.5\n', "'1,234' is not a number. Its comma or point may separate decimals"),
        ("x;y\n0,5;1.234\n", "'1.234' is not a number. Its comma or point may separate decimals"),
        ("x;y\n1,5;2\n1.5;2\n", "column 'x': '1,5' is not a number. Write decimals"),
        ("1,5,2,5\n1,6,2,7\n", "may be 4 whole numbers, or 2 numbers with decimal commas"),
        ("0,1,2\n.5,.5,.5\n", "names of the columns are expected"),
        ("x,y\n1,2\n3,4,5\n6,7\n", "line 3 has 3 fields, but line 1 names 2"),
        ("x,y\n1,2\n3\n4,5\n", "line 3 has 1 fields, but line 1 names 2"),
        ("x,y\n1,2\n3,\0\n4,5\n", "line 3 is not text"),
        ("\n\nx,y\n1,\0\n4,5\n", "line 4 is not text"),
        ("x,,z\n1,2,3\n", "line 1: column 2 has no name"),
        (",x\n0.5,2\n0.25,3\n", "line 1: column 1 has no name"),
        ("x,y,x\n1,2,3\n", "line 1: column 3 has the same name 'x' as another"),
        ("# only\n# comments\n", "holds only comments"),
        ("Type,Local Number,Message\nData,0,record\n", "FitCSVTool"),
        ("** CONVERTED FROM a.edf\nMSG\t1 a\n1\t2\t3\n", "Data Viewer"),
        ("t,x\n0,1\n.02,1\n0,1\n.02,1\n", "line 4: the time in column 't' does not rise"),
        (b"\xff\xfe\x00\xd8\x00\xd8,\x00", "not valid UTF-16"),
    ],
)
def test_an_ambiguous_file_is_refused(read, text, part):
    with pytest.raises(ValueError) as caught:
        read(text)
    assert part in str(caught.value)


@pytest.mark.parametrize(
    "cell",
    ["1_0", "1__0", "0x10", "\u0661\u0662", "\uff11", "\u00bd", "infinity", "Infinity", "1d5", "1e",
     "e5", "+-1", "1 2", "1,2,3", "1.2.3", "5%", "1.5g", "0b1", "1L", "True", "1e5_0", "\u0967"],
)  # fmt: skip
def test_numbers_in_python_syntax_are_refused(read, cell):
    text = f't,x\n0,1\n1,"{cell}"\n2,3\n'
    with pytest.raises(ValueError) as caught:
        read(text, ["x"])
    assert "line 3, column 'x'" in str(caught.value) and repr(cell) in str(caught.value)


@pytest.mark.parametrize(
    ("cell", "value"),
    [("1e5", 1e5), (" 1 ", 1), ("+1", 1), ("1.", 1), (".5", 0.5), ("-1E-3", -1e-3), ("007", 7)],
)
def test_plain_numbers_are_read(read, cell, value):
    assert read(f"t,x\n0,{cell}\n", ["x"]).values == np.float32(value)


@pytest.mark.parametrize(
    ("encoding", "name"),
    [
        ("utf-8-sig", None),
        ("utf-16", "UTF-16"),
        ("utf-16-le", "UTF-16"),
        ("utf-16-be", "UTF-16"),
        ("utf-32", "UTF-32"),
        ("latin-1", "Windows-1252 (Latin-1)"),
        ("cp1252", "Windows-1252 (Latin-1)"),
    ],
)
def test_encodings_are_recognized_by_their_bytes(read, encoding, name):
    walk = read("x (m/s\u00b2),y (\u00b0/s)\n1.5,2\n3,4.25\n".encode(encoding))
    np.testing.assert_array_equal(walk.values, XY)
    assert (walk.channels, walk.units) == (("x", "y"), ("m/s\u00b2", "\u00b0/s"))
    assert walk.notes == (() if name is None else (f"The text was read as {name}.",))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_a_log_that_ends_within_a_letter_of_several_bytes_is_torn(read, encoding):
    text = "x,y\n1.5,2\n3,4.25\n5,"
    if encoding.endswith("e"):  # no byte order mark: zero bytes of a longer text are counted
        text = "\n".join([text[:3], *["1.5,2", "3,4.25"] * 20, "5,"])
    whole = (text + "7").encode(encoding)
    walk = read(whole[:-1])
    np.testing.assert_array_equal(walk.values[:2], XY)


def test_a_log_that_ends_within_a_cell_is_torn(read):
    walk = read("x,y\n1.5,2\n3,4.25\n5,\u00b5".encode()[:-1])
    np.testing.assert_array_equal(walk.values[:2], XY)


@pytest.mark.parametrize("name", ["walk.tsv", "walk.txt", "walk.TXT", "walk.csv"])
def test_the_delimiter_does_not_depend_on_the_end_of_the_name(read, name):
    for text in ("x\ty\n1.5\t2\n3\t4.25\n", "x,y\n1.5,2\n3,4.25\n", "x y\n1.5 2\n3 4.25\n"):
        np.testing.assert_array_equal(read(text, name=name).values, XY)


@pytest.mark.parametrize("name", ["walk.csv.gz", "walk.txt.gz", "walk.tsv.GZ", "walk.gz"])
def test_packed_text_is_read(read, name):
    np.testing.assert_array_equal(
        read(gzip.compress(b"x,y\n1.5,2\n3,4.25\n"), name=name).values, XY
    )


@pytest.mark.parametrize(
    ("make", "name", "part"),
    [
        (lambda: gzip.compress(b"x,y\n1.5,2\n3,4.25\n")[:-4], "a.csv.gz", "not a complete gzip"),
        (lambda: b"x,y\n1,2\n", "a.csv.gz", "not a complete gzip file"),
        (lambda: gzip.compress(b"\x93NUMPY"), "a.npy.gz", "contains a .npy file"),
        (lambda: gzip.compress(bytes(2**26 + 1)), "a.csv.gz", "has more than 64 MiB"),
        (lambda: b"", "walk.asc", "Data Viewer"),
        (lambda: b"", "walk.xlsx", "Save the sheet as CSV"),
    ],
    ids=["cut", "not packed", "an array", "too large", "asc", "xlsx"],
)
def test_packed_files_that_cannot_be_read_are_refused(read, make, name, part):
    with pytest.raises(ValueError, match=part):
        read(make(), name=name)


@pytest.mark.parametrize(
    "text",
    [
        "x,label\n1.5,walk\n3,run\n",
        "x,label\n1.5,1_0\n3,\n",
        "x,label,label\n1.5,a,b\n3,c,d\n",
        "x,\n1.5,a\n3,b\n",
        "label;x\n1,234;1,5\n5,678;3\n",
    ],
)
def test_errors_in_columns_that_were_not_requested_are_ignored(read, text):
    np.testing.assert_array_equal(read(text, ["x"]).values[:, 0], [1.5, 3])


def timed(texts):
    return "time;x\n" + "".join(f"{text};{i}\n" for i, text in enumerate(texts))


@pytest.mark.parametrize(
    "texts",
    [
        ["11:59:59.98 AM", "12:00:00.00 PM", "12:00:00.02 PM"],
        ["11:59:59.98 pm", "12:00:00.00 am", "12:00:00.02 am"],
        ["1/31/2026 11:59:59.98 AM", "1/31/2026 12:00:00.00 PM", "1/31/2026 12:00:00.02 PM"],
        ["23:59:59.98", "00:00:00.00", "00:00:00.02"],
        ["9:59:59,98", "10:00:00,00", "10:00:00,02"],
        ["09:59:59:980", "10:00:00:000", "10:00:00:020"],
        ["01:59.98", "02:00.00", "02:00.02"],
        ["2026-01-31 09:59:59:980", "2026-01-31 10:00:00:000", "2026-01-31 10:00:00:020"],
        ["2026-01-31 09-59-59_980", "2026-01-31 10-00-00_000", "2026-01-31 10-00-00_020"],
        ["2026-01-31T09.59.59.980", "2026-01-31T10.00.00.000", "2026-01-31T10.00.00.020"],
        ["31.01.2026 23:59:59.98", "01.02.2026 00:00:00.00", "01.02.2026 00:00:00.02"],
        ["01/31/2026 23:59:59.98", "02/01/2026 00:00:00.00", "02/01/2026 00:00:00.02"],
        ["01/02/2026 23:59:59.98", "02/02/2026 00:00:00.00", "02/02/2026 00:00:00.02"],
        ["2026/01/31 23:59:59.98", "2026/02/01 00:00:00.00", "2026/02/01 00:00:00.02"],
        ["2026-01-31 09:59:59.98 +0200", "2026-01-31 10:00:00.00 +0200",
         "2026-01-31 10:00:00.02 +0200"],
        ["2026-01-31T08:59:59.98+01:00", "2026-01-31T10:00:00.00+02:00",
         "2026-01-31T09:00:00.02+01:00"],
        ["2026-01-31 09:59:59.98 CET", "2026-01-31 10:00:00.00 CET", "2026-01-31 10:00:00.02 CET"],
        ["2026-01-31 09:59:59.98 UTC", "2026-01-31 10:00:00.00 UTC", "2026-01-31 10:00:00.02 UTC"],
        ["Jan 31, 2026 9:59:59.98 AM", "Jan 31, 2026 10:00:00.00 AM",
         "Jan 31, 2026 10:00:00.02 AM"],
        ["31-Jan-2026 09:59:59.98", "31-Jan-2026 10:00:00.00", "31-Jan-2026 10:00:00.02"],
    ],
)  # fmt: skip
def test_times_of_day_and_dates_give_the_rate(read, texts):
    assert read(timed(texts)).rate_hz == pytest.approx(50, rel=1e-4)


@pytest.mark.parametrize(
    "texts",
    [
        ["12:00", "12:01"],  # hours and minutes, or minutes and seconds
        ["01/02/2026 12:00:00", "02/03/2026 12:00:00"],  # the month or the day may be first
        ["10:00:00:5", "10:00:00:20"],  # 5 may mean 5 ms or half a second
        ["2026-01-31 10:00:00 CET", "2026-01-31 10:00:01 CEST"],
        ["2026-01-31 10:00:00", "10:00:01"],
        ["25:00:00", "25:00:01"],
        ["13:00:00 PM", "13:00:01 PM"],
        ["soon", "later"],
    ],
)
def test_ambiguous_times_are_refused(read, texts):
    with pytest.raises(ValueError, match="cannot be read"):
        read(timed(texts))


def test_rows_are_sorted_by_their_times(read):
    rng = np.random.default_rng(0)
    times = np.arange(100) / 50
    for order in (np.arange(100)[::-1], rng.permutation(100), np.r_[50:100, 0:50]):
        rows = "".join(f"{times[i]},{37 * i % 100}\n" for i in order)
        walk = read(f"t,x\n{rows}")
        np.testing.assert_array_equal(walk.values[:, 0], 37 * np.arange(100) % 100)
        assert walk.rate_hz == pytest.approx(50) and walk.notes == (SORTED,)
    with pytest.raises(ValueError, match="line 102: the time in column 't' does not rise"):
        rows = "".join(f"{time},{i % 7}\n" for i, time in enumerate([*times, *(times + 0.005)]))
        read(f"t,x\n{rows}")
    with pytest.raises(ValueError, match="the time in column 't' does not rise"):
        rows = "".join(f"{time},{i % 7}\n" for i, time in enumerate(rng.uniform(0, 2, 100)))
        read(f"t,x\n{rows}")


def test_the_error_about_a_sorted_row_names_its_line(read):
    with pytest.raises(ValueError, match="line 2: channel 'x' is inf"):
        read("t,x\n0.02,inf\n0,1\n")


@pytest.mark.parametrize(
    ("text", "units"),
    [
        ("time,x,y\ns,m/s^2,g\n0,1,2\n.02,3,4\n", ("m/s^2", "g")),
        ("time,x,y\n(s),(m/s^2),(g)\n0,1,2\n.02,3,4\n", ("m/s^2", "g")),
        ("time,x,y\n[s],[m/(s^2)],[deg/s]\n0,1,2\n.02,3,4\n", ("m/s^2", "deg/s")),
        ("time,x,y\ns,,g\n0,1,2\n.02,3,4\n", (None, "g")),
        ("time,x,y\nms,counts,g\n0,1,2\n20,3,4\n", (None, "g")),
        ("# time,x,y\n# s,g,g\n0,1,2\n.02,3,4\n", ("g", "g")),
    ],
)
def test_units_in_a_second_line_belong_to_the_columns(read, text, units):
    walk = read(text)
    assert (walk.channels, walk.units) == (("x", "y"), units)
    np.testing.assert_array_equal(walk.values, [[1, 2], [3, 4]])
    assert walk.rate_hz == pytest.approx(50) and UNITS in walk.notes


def test_the_dates_in_the_index_of_a_frame_are_times(read):
    walk = read(",x\n2026-01-31 10:00:00.00,1\n2026-01-31 10:00:00.02,2\n")
    assert walk.channels == ("x",) and walk.rate_hz == pytest.approx(50)
    assert walk.notes == ("The first column has no name and was read as times.",)


@pytest.mark.parametrize(
    "text", ["1.5,2\n3,4.25\n", "1.5 2\n3 4.25\n", "1,5;2\n3;4,25\n", "---\n1.5\t2\n3\t4.25\n"]
)
def test_columns_without_names_are_numbered(read, text):
    walk = read(text)
    np.testing.assert_array_equal(walk.values, XY)
    assert walk.channels == ("1", "2")
    assert "The file does not name its columns. They are numbered from 1." in walk.notes
    np.testing.assert_array_equal(read(text, ["2"]).values[:, 0], [2, 4.25])


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("%Sample Rate = 250 Hz\nx,y\n1.5,2\n3,4.25\n", 250),
        ("%Sample Rate = 250.0 Hz\n%Sample Rate = 125 Hz\nx,y\n1.5,2\n3,4.25\n", None),
        ("Log of ActiGraph at 30 Hz  Filter Normal\nx,y\n1.5,2\n3,4.25\n", 30),
        ("a.acq\n0.5 msec/sample\n2 channels\nx\ty\n1.5\t2\n3\t4.25\n", 2000),
    ],
)
def test_a_line_before_the_table_may_state_the_rate(read, text, rate):
    assert read(text).rate_hz == rate
    assert read(text, rate_hz=rate or 100).rate_hz == (rate or 100)


def test_a_folder_skips_notes_in_txt_files(tmp_path):
    (tmp_path / "ann").mkdir()
    (tmp_path / "ann/notes.txt").write_text("Recorded on 3 May with the old phone,\nagain.\n")
    (tmp_path / "ann/1.txt").write_text("x y\n1 2\n3 4\n")
    listing = recordings.folder(tmp_path)
    assert [file.path.name for file in listing.recordings] == ["1.txt"]
    assert [path.name for path in listing.skipped] == ["notes.txt"]
