"""Tests that files in the formats of real data loggers are read correctly.

`loggers/README.md` describes the files and names the sources of the formats.
"""

import math
import pathlib

import numpy as np
import pytest

from keras_dml import recordings

FOLDER = pathlib.Path(__file__).parent / "loggers"
STEPS = 8
SIGNAL = np.array(
    [[3 * math.sin(0.7 * i + c) + 0.1234 * (c + 1) for c in range(3)] for i in range(STEPS)]
)
XYZ = ["x", "y", "z"]
G, ACCELERATION = ("g",) * 3, ("m/s^2",) * 3
COMMAS = "Decimal commas were read as decimal points."
THOUSANDS = "Thousands separators in numbers were ignored."
BEFORE = "Lines before the names of the columns were left out."
COMMENTS = "Comment lines were left out."
SPACES = "Columns were separated at spaces."
UNITS = "The line below the names was read as the units of the columns."
COUNTED = "The first column counts rows and was left out."
UNNAMED = "The file does not name its columns. They are numbered from 1."
LATIN = "The text was read as Windows-1252 (Latin-1)."
UTF16 = "The text was read as UTF-16."

START = "The first two rows were read as the start time and the sampling rate."
EYELINK = "The times of EyeLink were read as milliseconds."
COUNTS = "A row that states the number of rows was left out."
COMMENT = "The names of the columns were read from a comment."
TIMES = "The first column has no name and was read as times."
ARROWS = "The text before the arrow in each line was read as the time."
SQUARE = ("m/s\u00b2",) * 3


def names(form, letters=XYZ):
    return [form.format(letter) for letter in letters]


# For each file: channels, units or None, factor of the signal, sampling rate, and notes.
READ = {
    "acqknowledge.txt": (names("CH{}", "123"), None, 1, 2000, [BEFORE, COUNTS]),
    "actigraph.csv": (names("Accelerometer {}", "XYZ"), None, 1, 30, [BEFORE]),
    "actigraph_excel_locale.csv": (
        names("Accelerometer {}", "XYZ"), None, 1, 30.04, [BEFORE, COMMAS]
    ),
    "actigraph_without_names.csv": (["1", "2", "3"], None, 1, 30, [BEFORE, UNNAMED]),
    "androsensor.csv": (names("ACCELEROMETER {}", "XYZ"), SQUARE, 1, 50, [LATIN]),
    "arduino_serial.txt": (names("a{}"), None, 1, 50, [ARROWS]),
    "axivity_omgui.csv": (["2", "3", "4"], None, 1, 100, [UNNAMED]),
    "empatica_e4.csv": (["1", "2", "3"], None, 20, 32, [UNNAMED, START]),
    "excel_german.csv": (XYZ, SQUARE, 1000, 100, [LATIN, COMMAS, THOUSANDS]),
    "excel_unicode_text.txt": (XYZ, None, 1, 100, [UTF16]),
    "excel_us.csv": (XYZ, None, 1000, 100, [THOUSANDS]),
    "eyelink_sample_report.txt": (
        ["RIGHT_GAZE_X", "RIGHT_GAZE_Y", "RIGHT_PUPIL_SIZE"], None, 1, 500, [EYELINK]
    ),
    "garmin_connect_tracks.csv": (
        ["heart_rate", "cadence", "speed"], ("bpm", "rpm", "m/s"), None, 1, []
    ),
    "matlab_writetable.csv": (["X", "Y", "Z"], None, 1, 100, []),
    "metawear.csv": (names("{}-axis"), G, 1, 100, []),
    "mind_monitor.csv": (names("RAW_{}", ("TP9", "AF7", "AF8")), None, None, 250, []),
    "numpy_savetxt.txt": (XYZ, None, 1, None, [SPACES, COMMENT]),
    "openbci.txt": (names("EXG Channel {}", "012"), None, 1000, 250, [COMMENTS]),
    "openbci_v2.txt": (["2", "3", "4"], None, 1000, 250, [COMMENTS, UNNAMED]),
    "pandas_datetime_index.csv": (XYZ, None, 1, 100, [TIMES]),
    "pandas_index.csv": (XYZ, None, 1, None, [COUNTED]),
    "phyphox_comma.csv": (names("Acceleration {}"), ACCELERATION, 1, 100, []),
    "phyphox_semicolon_decimal_comma.csv": (
        names("Acceleration {}"), ACCELERATION, 1, 100, [COMMAS]
    ),
    "phyphox_tab.csv": (names("Acceleration {}"), ACCELERATION, 1, 100, []),
    "physics_toolbox.csv": (names("gF{}"), None, 1, 100, []),
    "physics_toolbox_ios.csv": (names("gF{}"), None, 1, 100, []),
    "physics_toolbox_locale.csv": (names("a{}"), None, 1, 100, [COMMAS]),
    "polar_sensor_logger.txt": (["X", "Y", "Z"], ("mg",) * 3, 1000, 50, []),
    "pupil_labs.csv": (["norm_pos_x", "norm_pos_y", "gaze_point_3d_x"], None, 1, 200, []),
    "r_write_table.txt": (XYZ, None, 1, None, [SPACES, COUNTED]),
    "samsung_health.csv": (
        names("com.samsung.health.heart_rate.{}", ("heart_rate", "max")), None, None, 1, [BEFORE]
    ),
    "sensor_logger.csv": (XYZ, None, 1, 100, []),
    "sensor_logger.csv.gz": (XYZ, None, 1, 100, []),
    "sensorlog_ios.csv": (names("accelerometerAcceleration{}", "XYZ"), ("G",) * 3, 1, 50, []),
    "shimmer.csv": (names("Shimmer_AD66_Accel_LN_{}_CAL", "XYZ"), ACCELERATION, 1, 50, [UNITS]),
    "shimmer_old.csv": (names("Accelerometer {}", "XYZ"), ACCELERATION, 1, 50, [BEFORE, UNITS]),
    "tobii_pro_lab.tsv": (
        ["Gaze point X", "Gaze point Y", "Pupil diameter left"],
        ("DACS px", "DACS px", "mm"), 1, 250, [UTF16, COMMAS]
    ),
    "witmotion.txt": (names("a{}"), G, 1, 100, [BEFORE]),
}  # fmt: skip
WITHOUT_TIMES = {"numpy_savetxt.txt", "pandas_index.csv", "r_write_table.txt"}
OFFSETS = {"mind_monitor.csv": 800}  # offset that is added to the signal of a file
SOUND = {
    "ffmpeg_pipe.wav": (
        16_000,
        ["The header does not state the length of the audio, so the file was read to its end."],
    ),
    "mu_law_telephone.wav": (8000, []),
}
REFUSED = {
    "eyelink.asc": (None, "Write a sample report by EyeLink Data Viewer"),
    "garmin_fit_csv.csv": (None, "Write a table of the records"),
}


def test_the_listing_has_each_file_and_at_least_twenty_are_read():
    files = {path.name for path in FOLDER.iterdir()} - {"README.md"}
    assert files == {*READ, *SOUND, *REFUSED}
    assert len({*READ, *SOUND}) >= 20
    page = (FOLDER / "README.md").read_text()
    assert all(f"`{name}`" in page for name in files)


@pytest.mark.parametrize("name", READ)
def test_the_channels_of_a_logger_are_read(name):
    channels, units, factor, rate, notes = READ[name]
    walk = recordings.read(FOLDER / name, channels)
    assert walk.channels == tuple(channels) and len(walk.values) == STEPS
    assert walk.units == (units or (None,) * len(channels))
    assert sorted(walk.notes) == sorted(notes)
    if name in WITHOUT_TIMES:
        assert walk.rate_hz is None
    else:
        assert walk.rate_hz == pytest.approx(rate, rel=0.01)
    if factor is not None:
        tolerance = 1.0 if factor == 20 else 0.006  # files have 0, 2 or 3 decimals
        np.testing.assert_allclose(
            walk.values, factor * SIGNAL, rtol=0, atol=max(tolerance, factor / 1000)
        )
    elif name in OFFSETS:
        np.testing.assert_allclose(walk.values - OFFSETS[name], SIGNAL, rtol=0, atol=0.001)


def test_columns_without_an_offset_are_read_unchanged():
    walk = recordings.read(FOLDER / "garmin_connect_tracks.csv")
    expected = SIGNAL * [1, 1, 0.1] + [60, 80, 3]
    np.testing.assert_allclose(walk.values, expected, rtol=0, atol=0.06)
    walk = recordings.read(FOLDER / "samsung_health.csv", READ["samsung_health.csv"][0])
    np.testing.assert_allclose(walk.values, SIGNAL[:, :2] + [60, 70], rtol=0, atol=0.06)


@pytest.mark.parametrize("name", SOUND)
def test_the_sound_of_a_recorder_is_read(name):
    rate, notes = SOUND[name]
    voice = recordings.read(FOLDER / name)
    assert (voice.rate_hz, voice.notes, voice.values.shape) == (rate, tuple(notes), (64, 1))
    if name == "ffmpeg_pipe.wav":
        expected = 0.5 * np.sin(np.arange(64) / 3)
        np.testing.assert_allclose(voice.values[:, 0], expected, rtol=0, atol=1e-4)


@pytest.mark.parametrize("name", REFUSED)
def test_files_of_other_shapes_are_refused_with_the_reason(name):
    channels, reason = REFUSED[name]
    with pytest.raises(ValueError) as caught:
        recordings.read(FOLDER / name, channels)
    assert reason in str(caught.value)
