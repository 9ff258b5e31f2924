"""Tests of `voxceleb_verification`: records, splits, trials, and errors about archives."""

import io

import numpy as np
import pytest

from tests.tfds_builders import media, samples
from tests.tfds_builders.media import SPEAKERS, VIDEOS, speech, wav_file
from tests.tfds_builders.mutations import check_parser
from tests.tfds_builders.records import everything, splits_of_people
from tfds_builders import reading
from tfds_builders.common.errors import ArchiveError, FormatError, MissingArchiveError
from tfds_builders.parsers import speakers, trials
from tfds_builders.voxceleb_verification import lists
from tfds_builders.voxceleb_verification.voxceleb_verification_dataset_builder import split_speakers

pytestmark = pytest.mark.usefixtures("quiet")
FOLDER = "voxceleb_verification/"
FILES = media.voice_files()
LISTS = {
    f"{FOLDER}vox1_meta.csv": media.speaker_table(),
    f"{FOLDER}veri_test.txt": media.trial_list(),
}
DEV, TEST = (
    {key for key, speaker in SPEAKERS.items() if speaker[3] == part} for part in ("dev", "test")
)
WAV = f"{FOLDER}vox1/wav/id10270/{VIDEOS[1]}/00001.wav"


def prepared(folder, files, name="voxceleb_verification"):
    return reading.prepared(name, samples.write(folder / "manual", files), folder / "data")


def official():
    """Returns the files of the official archive: the recordings in two zip files, and the table."""
    wavs = {
        name.removeprefix(f"{FOLDER}vox1/"): held
        for name, held in FILES.items()
        if name.endswith(".wav")
    }
    zips = {
        part: samples.zipped({n: held for n, held in wavs.items() if n.split("/")[1] in people})
        for part, people in (("dev", DEV), ("test", TEST))
    }
    table = {f"{FOLDER}vox1_meta.csv": media.speaker_table()}
    return table | {f"{FOLDER}vox1_{part}_wav.zip": zips[part] for part in zips}


@pytest.mark.slow
@pytest.mark.parametrize("files", [FILES, official()], ids=["folder", "the two zips"])
def test_a_record_has_the_samples_of_its_file_and_whose_they_are(files, tmp_path):
    builder = prepared(tmp_path, files)
    records = everything(builder)
    assert len(records) == 18
    record = records[f"id10270/{VIDEOS[1]}/00001"]
    assert record["audio"].dtype == np.int16 and record["rate"] == 16_000
    np.testing.assert_array_equal(record["audio"], speech(3 * 4 + 2, 200))
    assert (record["subject"], record["video"]) == (b"id10270", VIDEOS[1].encode())
    assert (record["nationality"], record["day"], record["device"]) == (b"Ghana", -1, b"")
    assert builder.info.features["gender"].int2str(record["gender"]) == "female"


def test_a_session_is_a_video(tmp_path):
    records = everything(prepared(tmp_path, FILES))
    sessions = {key.partition("/")[2]: record["session"] for key, record in records.items()}
    assert sessions == {
        f"{VIDEOS[0]}/00001": 0, f"{VIDEOS[0]}/00002": 0, f"{VIDEOS[1]}/00001": 1
    }  # fmt: skip


@pytest.mark.parametrize("corpus", ["vox1", "vox2"])
def test_no_speaker_is_in_two_splits_and_the_official_test_is_kept(corpus, tmp_path):
    builder = prepared(tmp_path, media.voice_files(corpus), f"voxceleb_verification/{corpus}")
    found = splits_of_people(builder)
    told = builder.info.metadata["subjects"]
    assert {person: split for split, ids in told.items() for person in ids} == found
    assert sum(map(len, told.values())) == len(SPEAKERS) and set(told["test"]) == TEST
    assert (len(told["train"]), len(told["validation"])) == (3, 1)


def test_vox2_has_no_nationality_and_is_read_converted(tmp_path, caplog):
    files = media.voice_files("vox2")
    files |= {name.replace(".wav", ".m4a"): b"" for name in files if name.endswith(".wav")}
    records = everything(prepared(tmp_path, files, "voxceleb_verification/vox2"))
    assert {record["nationality"] for record in records.values()} == {b""}
    assert "18 of 1,128,246 recordings and 6 of 6 speakers, so it is only a part" in caplog.text


@pytest.mark.slow
def test_a_part_has_the_splits_of_the_whole(tmp_path, caplog):
    whole = splits_of_people(prepared(tmp_path / "whole", FILES))
    kept = {name: held for name, held in FILES.items() if "id10271" not in name}
    del kept[f"{FOLDER}vox1/wav/id10270/{VIDEOS[0]}/00001.wav"]
    part = splits_of_people(prepared(tmp_path / "part", kept))
    assert part == {person: split for person, split in whole.items() if person != "id10271"}
    assert "14 of 153,516 recordings and 5 of 6 speakers, so it is only a part" in caplog.text


def test_without_the_archive_of_test_its_split_is_left_out_with_a_notice(tmp_path, caplog):
    files = official()
    del files[f"{FOLDER}vox1_test_wav.zip"]
    assert set(prepared(tmp_path, files).info.splits) == {"train", "validation"}
    assert "no speaker of the splits test, so these splits are left out" in caplog.text


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "does not exist"),
        (LISTS, "Found: veri_test.txt, vox1_meta.csv.*, expected vox1_dev_wav.zip"),
        ({name: held for name, held in FILES.items() if "meta" not in name}, "(no|ed) vox1_meta"),
        (LISTS | {f"{FOLDER}vox1/a.txt": b""}, "no <speaker>/<video>/<number>.wav. It holds a.txt"),
        (LISTS | {f"{FOLDER}vox1/id10001/{VIDEOS[0]}/00001.m4a": b""}, "ffmpeg -i .* -ar 16000"),
        (FILES | {f"{FOLDER}vox1/wav/Eve_E/{VIDEOS[0]}/00001.wav": b""}, "is not a recording"),
        (FILES | {WAV.replace("id10270", "id10999"): b""}, "is not a recording of VoxCeleb"),
        (FILES | {WAV.replace("/wav/", "/again/"): b""}, "same recording occurs twice"),
        (FILES | official(), "same recording occurs twice"),
        (FILES | {WAV: wav_file(speech(1), rate=8_000)}, "8,000 Hz and 1 channels"),
        (FILES | {WAV: FILES[WAV][:300]}, "00001.wav: .* expected 400 bytes, as the header states"),
        (FILES | {f"{FOLDER}vox1_meta.csv": b"<html>"}, "line 1: '<html>', expected a header"),
    ],
)
def test_a_wrong_or_damaged_file_is_named_and_nothing_is_kept(files, message, tmp_path):
    with pytest.raises((ArchiveError, FormatError), match=message):
        prepared(tmp_path, files)
    assert not list((tmp_path / "data").rglob("*.array_record*"))


TRIALS = "voxceleb_verification/trials_o"
FILE_NAMES = {
    "trials_o": "veri_test.txt", "trials_o_cleaned": "veri_test2.txt",
    "trials_e": "list_test_all.txt", "trials_e_cleaned": "list_test_all2.txt",
    "trials_h": "list_test_hard.txt", "trials_h_cleaned": "list_test_hard2.txt",
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("config", FILE_NAMES)
def test_a_trial_names_two_recordings_and_whether_they_are_of_one_speaker(config, tmp_path, caplog):
    files = {f"{FOLDER}{FILE_NAMES[config]}": media.trial_list()}
    builder = prepared(tmp_path, files, f"voxceleb_verification/{config}")
    records = everything(builder)
    assert [bool(records[key]["same"]) for key in sorted(records)] == [True, False, True, False]
    second = records[sorted(records)[1]]
    assert int(second["id"]) == 2 and second["first"].decode() == f"id10270/{VIDEOS[0]}/00001"
    assert second["second"].decode() == f"id10271/{VIDEOS[1]}/00001"
    assert set(builder.info.metadata["subjects"]["test"]) == TEST
    assert "holds 4 trials instead of" in caplog.text


@pytest.mark.slow
def test_trials_name_recordings_by_their_id(tmp_path):
    recordings = everything(prepared(tmp_path / "voices", FILES))
    for trial in everything(prepared(tmp_path / "trials", LISTS, TRIALS)).values():
        one, other = (recordings[trial[key].decode()] for key in ("first", "second"))
        assert (one["subject"] == other["subject"]) == bool(trial["same"])


def old(data):
    """Returns the list of trials as in older copies, with people's names in place of ids."""
    for key, speaker in SPEAKERS.items():
        for video in VIDEOS:
            was = f"{key}/{video}/00001".encode()
            data = data.replace(was, f"{speaker[0]}/{video}_0000001".encode())
    return data


@pytest.mark.slow
def test_what_lies_beside_the_lists_changes_nothing_of_a_list(tmp_path):
    before = prepared(tmp_path, LISTS, TRIALS)
    folder = next(iter(LISTS)).rpartition("/")[0]
    beside = (f"{folder}/vox2_dev_wav.zip".lstrip("/"), f"{folder}/vox1/wav/a.wav".lstrip("/"))
    after = prepared(tmp_path, {**LISTS, **dict.fromkeys(beside, b"not read")}, TRIALS)
    assert after.data_path == before.data_path
    assert after.info.metadata["fingerprints"] == before.info.metadata["fingerprints"]


@pytest.mark.slow
def test_an_older_copy_with_names_of_people_is_the_same_list(tmp_path):
    older = old(media.trial_list())
    assert b"Eve_E/-aaaaaaaaa__0000001.wav" in older
    table = media.speaker_table()
    new = everything(prepared(tmp_path / "new", LISTS, TRIALS))
    files = {"voxceleb_lists.zip": samples.zipped({"veri_test.txt": older, "vox1_meta.csv": table})}
    assert everything(prepared(tmp_path / "old", files, TRIALS)) == new


def test_a_list_that_is_not_there_is_missing(tmp_path):
    with pytest.raises(
        MissingArchiveError, match="no list_test_all.txt. It holds vox1_meta.csv, veri"
    ):
        prepared(tmp_path, LISTS, "voxceleb_verification/trials_e")


def read_trials(data, ids=None):
    return trials.parse(io.BytesIO(data), name="veri_test.txt", ids=ids or {})


GOOD = media.trial_list()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the file has no lines"),
        (GOOD + b"2 a b\n", "line 5: '2 a b', expected `0|1 speaker"),
        (GOOD[:-20], "line 4: .* expected `0|1 speaker"),
        (GOOD.replace(b"1 id10270", b"0 id10270"), "line 1: .* expected 1 for these speakers"),
        (GOOD.replace(b"0 id10271", b"1 id10271"), "line 4: .* expected 0 for these speakers"),
        (GOOD.replace(b"id10270", b"id\xd9\xa10270"), "the byte 0xd9, expected plain ASCII"),
        (old(GOOD), "line 1: '1 Eve_E.* expected names of people in vox1_meta.csv"),
    ],
)
def test_a_damaged_list_of_trials_is_refused_by_line(data, message):
    with pytest.raises(FormatError, match=message):
        read_trials(data)


TABLE = media.speaker_table()


def read_speakers(data):
    return speakers.parse(io.BytesIO(data), name="vox1_meta.csv").speakers


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "line 1: '', expected a header"),
        (TABLE.split(b"\n")[0], "no speakers"),
        (TABLE.replace(b"\tSet", b"\tPart"), "line 1: .* expected a header"),
        (TABLE.replace(b"\tm\t", b"\tx\t"), "line 3: 'id10002"),
        (TABLE.replace(b"id10002", b"id10001"), r"line 3: .* \(each id once\)"),
        (TABLE.replace(b"\tdev", b"\ttrain"), "line 2: .* dev or test"),
        (TABLE.replace(b"\tJapan", b""), "line 7: .* expected 5 cells"),
    ],
)
def test_a_damaged_table_of_speakers_is_refused_by_line(data, message):
    with pytest.raises(FormatError, match=message):
        read_speakers(data)


def test_both_tables_are_read():
    assert read_speakers(TABLE)["id10002"] == ("Ben_B", "male", "Chile", "dev")
    assert read_speakers(media.speaker_table("vox2"))["id10271"] == ("", "male", "", "test")


@pytest.mark.parametrize("ids", [{}, {"Eve_E": "id10270", "Finn_F": "id10271"}])
def test_a_mutated_list_gives_trials_or_a_format_error(ids):
    def check(found):
        assert len(found.is_same) == len(found.first) == len(found.second) > 0
        for same, *pair in zip(found.is_same, found.first, found.second, strict=True):
            assert same == (trials.speaker_of(pair[0]) == trials.speaker_of(pair[1]))

    check_parser(lambda data: read_trials(data, ids), old(GOOD) if ids else GOOD, check)


@pytest.mark.parametrize("corpus", ["vox1", "vox2"])
def test_a_mutated_table_gives_speakers_or_a_format_error(corpus):
    def check(found):
        assert found and all(speaker.gender and speaker.part for speaker in found.values())

    check_parser(read_speakers, media.speaker_table(corpus), check)


@pytest.mark.slow
def test_the_real_list_and_table_are_read(data_dir, tmp_path, caplog):
    builder = reading.prepared(TRIALS, data_dir, tmp_path)
    records = everything(builder)
    ordered = [records[key] for key in sorted(records)]
    assert [bool(record["same"]) for record in ordered] == [True, False] * 18_860
    assert ordered[0]["first"] == b"id10270/x6uYqmx31kE/00001"
    assert ordered[0]["second"] == b"id10270/8jEAjG6SegY/00008"
    subjects = builder.info.metadata["subjects"]["test"]
    assert subjects == [f"id{number}" for number in range(10_270, 10_310)]
    assert builder.info.metadata["archives"][0]["holds"] and "official one" not in caplog.text
    table = lists.read_speakers(lists.find_lists(data_dir, "vox1_meta.csv"), "vox1")
    splits = split_speakers(table)
    assert {split: len(ids) for split, ids in splits.items()} == {
        "train": 1_150, "validation": 61, "test": 40
    }  # fmt: skip
    assert splits["test"] == set(subjects)
    genders = [speaker.gender for speaker in table.values()]
    assert (genders.count("male"), genders.count("female")) == (690, 561)
    assert table["id10270"].name == "Eartha_Kitt"
