"""Tests of `ravdess_speech`: its records, its splits, oddities of the files, and errors."""

import io
import warnings

import numpy as np
import pytest
from scipy.io import wavfile
from scipy.signal import resample_poly

from tests.tfds_builders import media, samples
from tests.tfds_builders.media import speech, speech_name, wav_file
from tests.tfds_builders.mutations import check_parser
from tfds_builders import reading
from tfds_builders.common.errors import ArchiveError, FormatError
from tfds_builders.parsers import wav

pytestmark = pytest.mark.usefixtures("quiet")
FILES = media.speech_files()
NAME = speech_name(1, emotion=3)


def prepared(folder, files, name="ravdess_speech"):
    return reading.prepared(name, samples.write(folder / "manual", files), folder / "data")


def everything(builder):
    """Returns the records by file name, and the split of each actor."""
    sources = builder.as_data_source()
    records = {record["file"].decode(): record for source in sources.values() for record in source}
    splits = {
        record["subject"].decode(): split for split, source in sources.items() for record in source
    }
    return records, splits


def test_a_record_has_the_samples_of_its_file_and_what_its_name_says(tmp_path):
    name = speech_name(6, emotion=8, intensity=2, statement=2, repetition=2)
    sound = speech(99)
    builder = prepared(tmp_path, {"Audio_Speech_Actors_01-24.zip": samples.zipped(
        FILES | {name: wav_file(sound)}
    )})  # fmt: skip
    records, _ = everything(builder)
    record = records[name]
    assert record["audio"].dtype == np.int16 and record["rate"] == 48_000
    np.testing.assert_array_equal(record["audio"], sound)
    assert (record["subject"], record["repetition"]) == (b"06", 2)
    assert (record["session"], record["day"], record["device"]) == (-1, -1, b"")
    told = {
        feature: builder.info.features[feature].int2str(record[feature])
        for feature in ("sex", "emotion", "intensity", "statement")
    }
    assert told == {
        "sex": "female", "emotion": "surprised", "intensity": "strong",
        "statement": "Dogs are sitting by the door",
    }  # fmt: skip
    assert record["id"].decode() == name.removesuffix(".wav") and record["same_as"] == b""


@pytest.mark.parametrize("channels", [1, 2, 6])
def test_samples_are_those_that_scipy_reads(channels, rng):
    data = wav_file(rng.integers(-(2**15), 2**15, (50, channels)), rate=8_000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", wavfile.WavFileWarning)  # for chunks that SciPy skips
        rate, expected = wavfile.read(io.BytesIO(data))
    sound = wav.parse(io.BytesIO(data), name="a.wav")
    assert sound.rate_hz == rate == 8_000
    np.testing.assert_array_equal(sound.samples, expected.reshape(50, channels))


def test_speech16k_is_a_third_of_the_samples_with_full_scale_one(tmp_path):
    sound = (16_000 * np.sin(2 * np.pi * 1_000 * np.arange(4_801) / 48_000)).astype(np.int16)
    records, _ = everything(
        prepared(tmp_path, FILES | {NAME: wav_file(sound)}, "ravdess_speech/speech16k")
    )
    record = records[NAME]
    assert record["audio"].dtype == np.float32 and record["rate"] == 16_000
    np.testing.assert_allclose(
        record["audio"], resample_poly(sound / 32_768, 1, 3), rtol=0, atol=1e-7
    )
    tone = 16_000 / 32_768 * np.sin(2 * np.pi * 1_000 * np.arange(1_601) / 16_000)
    np.testing.assert_allclose(record["audio"][100:-100], tone[100:-100], rtol=0, atol=2e-3)


def test_no_actor_is_in_two_splits_and_each_split_has_men_and_women(tmp_path):
    builder = prepared(tmp_path, media.speech_files(range(1, 25), repetitions=(1,)))
    _, splits = everything(builder)
    subjects = builder.info.metadata["subjects"]
    assert {split: len(ids) for split, ids in subjects.items()} == {
        "train": 16, "validation": 4, "test": 4
    }  # fmt: skip
    assert splits == {actor: split for split, ids in subjects.items() for actor in ids}
    for ids in subjects.values():
        assert sum(int(actor) % 2 for actor in ids) * 2 == len(ids)


def test_equal_channels_become_one_and_others_their_mean_with_a_notice(tmp_path, caplog):
    left, right = speech(1), speech(2)
    other = speech_name(2, emotion=3)
    stereo = {
        NAME: wav_file(np.stack([left, left], axis=1)),
        other: wav_file(np.stack([left, right], axis=1)),
    }
    records, _ = everything(prepared(tmp_path, FILES | stereo))
    np.testing.assert_array_equal(records[NAME]["audio"], left)
    np.testing.assert_array_equal(records[other]["audio"], np.round((left + right) / 2))
    assert f"{other} has two channels that differ" in caplog.text
    assert f"{NAME}: two" not in caplog.text


def test_a_repeated_file_is_kept_and_names_the_first(tmp_path, caplog):
    first, second = speech_name(3, repetition=1), speech_name(3, repetition=2)
    builder = prepared(tmp_path, FILES | {second: FILES[first]})
    records, _ = everything(builder)
    assert records[second]["same_as"].decode() == first and records[first]["same_as"] == b""
    assert builder.info.metadata["same_as"] == {second: first}
    assert (
        f"recordings: 1 (kept). The first is {second}, which is the same as {first}." in caplog.text
    )


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "does not exist"),
        ({"Actor_01/readme.txt": b""}, "holds no Actor_NN/03-01"),
        (
            FILES | {speech_name(2): wav_file(np.stack([speech(11)] * 2, axis=1)[:, :1])},
            r"/03-01-02-01-01-01-01.wav \(actor 01\) and .*-02.wav \(actor 02\) have the same",
        ),
        (FILES | {"Actor_01/take1.wav": b""}, "not seven numbers"),
        (FILES | {"Actor_01/02-02-01-01-01-01-01.wav": b""}, "modality 02, channel 02"),
        (FILES | {speech_name(25): b""}, "actor 25"),
        (FILES | {speech_name(1, emotion=9): b""}, "emotion 09"),
        (FILES | {speech_name(1, emotion=1, intensity=2): b""}, "neutral with strong intensity"),
        (FILES | {f"Actor_02/{NAME.split('/')[1]}": b""}, "not in the folder Actor_01"),
        (FILES | {f"more/{speech_name(1)}": b""}, "the same recording twice"),
        (FILES | {NAME: wav_file(speech(1))[:300]}, "expected 600 bytes, as the header states"),
        (FILES | {NAME: wav_file([])}, "at least one sample"),
        (FILES | {NAME: wav_file(speech(1), rate=22_050)}, "22,050 Hz and 1 channels"),
        (FILES | {NAME: wav_file(np.zeros((9, 3)))}, "48,000 Hz and 3 channels"),
        (
            FILES | {NAME: wav_file(speech(1), bits=8)},
            "the samples have 8 bits, expected 16 bit PCM",
        ),
        (FILES | {NAME: wav_file(speech(1), kind=3)}, "expected a RIFF/WAVE file with 16 bit PCM"),
        (FILES | {NAME: b"<html>"}, "expected a RIFF/WAVE file"),
        (media.speech_files(range(1, 5)), r"2 subject\(s\) cannot be divided"),
    ],
)
def test_a_wrong_or_damaged_file_is_named_and_nothing_is_kept(files, message, tmp_path):
    with pytest.raises(ValueError, match=message) as error:
        prepared(tmp_path, files)
    assert isinstance(error.value, ArchiveError | FormatError) or "subject" in message
    assert not list((tmp_path / "data").rglob("*.array_record*"))


def check(sound):
    assert sound.samples.dtype == np.int16 and sound.samples.ndim == 2 and sound.samples.size > 0
    assert sound.rate_hz > 0


def test_a_mutated_file_gives_samples_or_a_format_error():
    check_parser(lambda data: wav.parse(io.BytesIO(data), name="a.wav"), _numbered(), check)


def _numbered():
    """Returns a recording with digits at its end, which the function `mutations` can change."""
    return wav_file(speech(1, 64)) + b"1 2 3\n"


@pytest.mark.slow
def test_the_real_recordings_are_prepared(data_dir, tmp_path, caplog):
    builder = reading.prepared("ravdess_speech/speech16k", data_dir, tmp_path)
    records, splits = everything(builder)
    assert len(records) == 240 and len(splits) == 20
    seconds = sum(len(record["audio"]) for record in records.values()) / 16_000
    assert seconds == pytest.approx(849.5, abs=0.1)
    repeat = "Actor_07/03-01-03-01-02-02-07.wav"
    assert builder.info.metadata["same_as"] == {repeat: "Actor_07/03-01-03-01-02-01-07.wav"}
    assert "two channels that differ" not in caplog.text
    assert np.bincount([record["emotion"] for record in records.values()]).tolist() == [80] * 3
    peaks = [np.abs(record["audio"]).max() for record in records.values()]
    assert 0.005 < min(peaks) and max(peaks) < 0.25
