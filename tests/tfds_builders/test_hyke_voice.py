"""Tests of `hyke_voice`: its records, splits and errors."""

import numpy as np
import pytest
from scipy.signal import resample_poly

from tests.tfds_builders import media, samples
from tests.tfds_builders.media import line_name, speech, wav_file
from tfds_builders import reading
from tfds_builders.common.errors import ArchiveError, FormatError
from tfds_builders.common.splits import by_subject
from tfds_builders.hyke_voice import splits

pytestmark = pytest.mark.usefixtures("quiet")
FILES = media.telephone_files()
WOMAN, MAN = media.VOICES["train"]
NAME = line_name("F", WOMAN, 1)
FILE = NAME.removeprefix("female_audio/")
STRANGER = 1_300_000_000


def telephone(samples, **changed):
    return wav_file(samples, **{"rate": 8_000, **changed})


def prepared(folder, files, name="hyke_voice"):
    return reading.prepared(name, samples.write(folder / "manual", files), folder / "data")


def everything(builder):
    """Returns the records by file name, and the split of each voice."""
    sources = builder.as_data_source()
    records = {record["file"].decode(): record for source in sources.values() for record in source}
    found = {
        record["subject"].decode(): split for split, source in sources.items() for record in source
    }
    return records, found


@pytest.mark.slow
@pytest.mark.parametrize(
    "files",
    [
        {"hyke_audio.zip": samples.zipped(FILES)},
        {"hyke_voice/hyke_audio.tar.xz": samples.tar(FILES)},
        {f"audio_data/{name}": content for name, content in FILES.items()},
        {name.replace(".wav", ".WAV"): content for name, content in FILES.items()}
        | {"README.txt": b"Overview"},
    ],
    ids=["zip", "tar", "folder of the repository", "loose folders"],
)
def test_a_record_has_the_samples_of_its_file_and_what_its_name_says(files, tmp_path):
    builder = prepared(tmp_path, files)
    records, _ = everything(builder)
    assert len(records) == len(FILES)
    file = line_name("M", MAN, 2).removeprefix("male_audio/")
    record = records[file if file in records else file.replace(".wav", ".WAV")]
    assert record["audio"].dtype == np.int16 and record["rate"] == 8_000
    np.testing.assert_array_equal(record["audio"], speech(MAN + 2, 200))
    assert (record["subject"].decode(), record["line"]) == (str(MAN), 2)
    assert (record["session"], record["day"], record["device"]) == (0, 0, b"")
    assert builder.info.features["sex"].int2str(record["sex"]) == "male"
    assert record["id"].decode() == file.removesuffix(".wav") and record["same_as"] == b""


def test_speech16k_is_twice_the_samples_with_full_scale_one(tmp_path):
    sound = (16_000 * np.sin(2 * np.pi * 1_000 * np.arange(1_600) / 8_000)).astype(np.int16)
    records, _ = everything(
        prepared(tmp_path, FILES | {NAME: telephone(sound)}, "hyke_voice/speech16k")
    )
    record = records[FILE]
    assert record["audio"].dtype == np.float32 and record["rate"] == 16_000
    np.testing.assert_allclose(
        record["audio"], resample_poly(sound / 32_768, 2, 1), rtol=0, atol=1e-7
    )
    tone = 16_000 / 32_768 * np.sin(2 * np.pi * 1_000 * np.arange(3_200) / 16_000)
    np.testing.assert_allclose(record["audio"][100:-100], tone[100:-100], rtol=0, atol=2e-3)


def test_known_voices_keep_their_split_and_all_others_are_in_test(tmp_path):
    strangers = {"more": (STRANGER, STRANGER + 9)}
    builder = prepared(tmp_path, media.telephone_files(media.VOICES | strangers))
    _, found = everything(builder)
    expected = {str(voice): split for split, pair in media.VOICES.items() for voice in pair}
    assert found == expected | {str(STRANGER): "test", str(STRANGER + 9): "test"}
    voices = builder.info.metadata["subjects"]
    assert {voice: split for split, ids in voices.items() for voice in ids} == found


def test_a_split_without_voices_is_left_out_with_a_notice(tmp_path, caplog):
    builder = prepared(tmp_path, media.telephone_files({"more": (STRANGER, STRANGER + 9)}))
    assert list(builder.info.splits) == ["test"] and builder.info.splits["test"].num_examples == 4
    assert "holds no voice of the splits train and validation, so these" in caplog.text


def test_a_repeated_recording_is_kept_and_names_the_first(tmp_path, caplog):
    second = line_name("F", WOMAN, 2)
    records, _ = everything(prepared(tmp_path, FILES | {second: FILES[NAME]}))
    assert records[second.removeprefix("female_audio/")]["same_as"].decode() == FILE
    assert records[FILE]["same_as"] == b""
    assert "recordings: 1 (kept)" in caplog.text


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"female_audio/readme.txt": b""}, "holds no female_audio/F_"),
        (FILES | {line_name("F", WOMAN, 6): b""}, "is not a recording of Hyke"),
        (FILES | {line_name("F", WOMAN, 0): b""}, "is not a recording of Hyke"),
        (FILES | {f"female_audio/F_{STRANGER}/{WOMAN}_3.wav": b""}, "is not a recording of Hyke"),
        (FILES | {"female_audio/F_12/12_1 (copy).wav": b""}, "is not a recording of Hyke"),
        (FILES | {line_name("M", WOMAN, 1): b""}, "the same recording twice"),
        (FILES | {line_name("M", WOMAN, 3): b""}, "in female_audio and in male_audio"),
        (
            FILES | {line_name("F", STRANGER, 1): FILES[NAME]},
            rf"\(voice {WOMAN}\) and .* \(voice {STRANGER}\) have the same content",
        ),
        (FILES | {NAME: telephone(speech(1), rate=16_000)}, "16,000 Hz and 1 channels"),
        (FILES | {NAME: telephone(speech(1))[:300]}, "expected 600 bytes, as the header states"),
        (
            FILES | {NAME: telephone(speech(1), bits=8)},
            "the samples have 8 bits, expected 16 bit PCM",
        ),
        (FILES | {NAME: b"<html>"}, "expected a RIFF/WAVE file"),
    ],
)
def test_a_wrong_or_damaged_file_is_named_and_nothing_is_kept(files, message, tmp_path):
    with pytest.raises((ArchiveError, FormatError), match=message):
        prepared(tmp_path, files)
    assert not list((tmp_path / "data").rglob("*.array_record*"))


@pytest.mark.slow
def test_the_real_recordings_are_prepared(data_dir, tmp_path):
    builder = reading.prepared("hyke_voice", data_dir, tmp_path)
    records, found = everything(builder)
    assert len(records) == 265 and len(found) == 53
    sizes = {split: len(ids) for split, ids in builder.info.metadata["subjects"].items()}
    assert sizes == {"train": 35, "validation": 9, "test": 9}
    assert np.bincount([record["line"] for record in records.values()]).tolist() == [0, *[53] * 5]
    seconds = [len(record["audio"]) / 8_000 for record in records.values() if record["line"] == 1]
    assert (min(seconds), max(seconds)) == pytest.approx((17.6, 39.4), abs=0.05)
    assert np.median(seconds) == pytest.approx(31.8, abs=0.05)
    # the fixed lists of voices equal the splits that `by_subject` makes
    sexes = {record["subject"].decode(): record["sex"] for record in records.values()}
    for sex in (0, 1):
        voices = [voice for voice, of in sexes.items() if of == sex]
        parts = by_subject(voices, {"train": 2 / 3, "validation": 1 / 6, "test": 1 / 6})
        assert all(splits.split_of(v) == split for split, ids in parts.items() for v in ids)
