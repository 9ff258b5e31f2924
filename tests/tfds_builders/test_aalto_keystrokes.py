"""Tests of `aalto_keystrokes`: its parser, channels, records, splits and errors."""

import csv
import io

import numpy as np
import pytest

from tests.tfds_builders import samples
from tests.tfds_builders.keystrokes import NOON, keystroke_files, participant_file, row, text_of
from tests.tfds_builders.mutations import check_parser
from tests.tfds_builders.records import everything, splits_of_people
from tfds_builders import reading
from tfds_builders.aalto_keystrokes.aalto_keystrokes_dataset_builder import WANTED, recordings_of
from tfds_builders.aalto_keystrokes.channels import CHANNELS, KINDS, channels
from tfds_builders.common.errors import ArchiveError, FormatError
from tfds_builders.common.find import find
from tfds_builders.parsers import keystrokes

pytestmark = pytest.mark.usefixtures("quiet")
FOLDER = "Keystrokes/files/"
FILES = keystroke_files()
NAME = f"{FOLDER}101_keystrokes.txt"
HOUR = 3_600_000
THREE = [row(NOON, NOON + 90), row(NOON + 100, NOON + 300), row(NOON + 250, NOON + 280)]


def parse(data):
    return keystrokes.parse(io.BytesIO(data), name="1002_keystrokes.txt")


def lines_of(participant):
    """Returns the cells of all lines that the parser uses."""
    return [
        (participant.subject, sentence.section, sentence.text, sentence.typed, *of_key)
        for sentence in participant.sentences
        for of_key in zip(
            *(x.tolist() for x in (sentence.press_ms, sentence.release_ms, sentence.keys)),
            strict=True,
        )
    ]


def lines_by_csv(data, encoding="utf-8"):
    """Returns the same cells as `lines_of`, read by Python's `csv`."""
    text = io.StringIO(data.decode(encoding), newline="")
    return [
        (
            each["PARTICIPANT_ID"],
            int(each["TEST_SECTION_ID"]),
            each["SENTENCE"],
            each["USER_INPUT"],
            int(each["PRESS_TIME"]),
            -1 if "e" in each["RELEASE_TIME"] else int(each["RELEASE_TIME"]),
            int(each["KEYCODE"]),
        )
        for each in csv.DictReader(text, delimiter="\t", quoting=csv.QUOTE_NONE)
    ]


def changed(at, **cells):
    """Returns a file of three lines in which line `at + 2` has other cells."""
    rows = [dict(each) for each in THREE]
    rows[at] |= cells
    return text_of(rows)


@pytest.mark.parametrize(
    "data",
    [
        participant_file(),
        participant_file().replace(b"\n", b"\r\n"),
        b"\xef\xbb\xbf" + participant_file(),
        changed(1, LETTER=""),
        changed(1, LETTER="BKSP", KEYCODE=8),
        changed(1, LETTER='"', KEYCODE=222),
        changed(1, RELEASE_TIME=NOON + 99),
        changed(1, RELEASE_TIME=NOON + 100),
        changed(1, RELEASE_TIME=NOON + 9_000),
        changed(1, RELEASE_TIME="1.471968e+12"),
        changed(1, RELEASE_TIME="1e+12"),
        changed(2, PRESS_TIME=NOON + 20_000, RELEASE_TIME=NOON + 20_080),
        changed(1, KEYSTROKE_ID=3),
        changed(1, KEYSTROKE_ID="8e+05"),
        text_of([each | {"USER_INPUT": ""} for each in THREE]),
    ],
    ids=[
        "plain", "CRLF", "BOM", "no letter", "backspace", "quote", "release before press",
        "release at press", "held for seconds", "scientific release", "short scientific release",
        "pause", "falling id", "scientific id", "nothing typed",
    ],
)  # fmt: skip
def test_each_line_has_the_values_that_csv_reads(data):
    assert lines_of(parse(data)) == lines_by_csv(data.removeprefix(b"\xef\xbb\xbf"))


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_letters_beyond_ascii_are_read_in_either_encoding(encoding):
    rows = [each | {"USER_INPUT": "Où ça? Ñ", "LETTER": "ç"} for each in THREE]
    data = text_of(rows, encoding)
    assert lines_of(parse(data)) == lines_by_csv(data, encoding)


def test_the_letter_of_the_enter_key_does_not_end_a_line():
    data = changed(1, LETTER="\r", KEYCODE=13)
    assert parse(data).sentences[0].keys.tolist() == [69, 13, 69]


def test_a_sentence_may_precede_the_previous_sentence_of_the_file():
    rows = THREE + [
        each | {"TEST_SECTION_ID": 4, "PRESS_TIME": each["PRESS_TIME"] - 60_000} for each in THREE
    ]
    sentences = parse(text_of(rows)).sentences
    assert [sentence.section for sentence in sentences] == [10319, 4]


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (text_of(THREE).replace(b"SENTENCE", b"TEXT", 1), 1),
        (changed(0, USER_INPUT="Yes,\tyes"), 2),
        (changed(1, USER_INPUT="Yes,\tyes"), 3),
        (changed(2, USER_INPUT="Yes,\nyes"), 4),
        (changed(1, LETTER="\t"), 3),
        (changed(1, USER_INPUT="No"), 3),
        (changed(2, USER_INPUT="No"), 4),
        (changed(1, TEST_SECTION_ID=4), 4),  # the sentence goes on after another sentence
        (changed(0, TEST_SECTION_ID="x"), 2),
        (changed(1, PARTICIPANT_ID=1003), 3),
        (changed(2, PARTICIPANT_ID=1003, TEST_SECTION_ID=5), 4),
        (text_of([each | {"PARTICIPANT_ID": "x"} for each in THREE]), 2),
        (changed(0, PRESS_TIME="", RELEASE_TIME=NOON), 2),
        (changed(1, PRESS_TIME=NOON + 90.5), 3),
        (changed(1, PRESS_TIME=-5), 3),
        (changed(1, PRESS_TIME="1.471968e+12"), 3),
        (changed(1, RELEASE_TIME="nan"), 3),
        (changed(1, RELEASE_TIME="1.5e+99"), 3),
        (changed(1, RELEASE_TIME=2**63), 3),
        (changed(1, KEYCODE=""), 3),
        (changed(1, KEYCODE="e"), 3),
        (changed(1, KEYCODE=2**40), 3),
        (changed(2, PRESS_TIME=NOON + 99), 4),
        (changed(1, KEYCODE="69\n"), 4),
        (text_of(THREE)[:-1], 4),
        (text_of(THREE)[:-20], 4),
        (b"", 1),
    ],
)
def test_a_damaged_line_is_refused_by_its_number(data, line):
    with pytest.raises(FormatError) as error:
        parse(data)
    assert error.value.name == "1002_keystrokes.txt"
    assert error.value.location == f"line {line}"


def test_a_file_without_key_presses_is_refused():
    with pytest.raises(FormatError):
        parse(text_of([]))


def _holds(participant):
    assert participant.subject.isdigit() and participant.sentences
    for sentence in participant.sentences:
        shapes = {x.shape for x in (sentence.press_ms, sentence.release_ms, sentence.keys)}
        assert shapes == {(len(sentence.keys),)} and len(sentence.keys)
        assert (np.diff(sentence.press_ms) >= 0).all() and sentence.press_ms[0] > 0
        assert (sentence.release_ms >= keystrokes.UNKNOWN_MS).all()
        assert sentence.keys.min() >= 0


@pytest.mark.slow
def test_a_thousand_mutations_end_in_a_sound_result_or_a_format_error():
    check_parser(parse, participant_file(), _holds)


def slow_channels(press, release, keys):
    """Computes the channels with a loop over the keys, as the README defines them."""
    kinds = {8: "backspace", 16: "shift", 32: "space", **dict.fromkeys(range(65, 91), "letter")}
    rows, masks = [], []
    for at, code in enumerate(keys):
        down, up = press[at], release[at] if release[at] >= press[at] else None
        last_down, last_up = None, None
        if at:
            last_down = press[at - 1]
            last_up = release[at - 1] if release[at - 1] >= press[at - 1] else None
        pairs = [(down, up), (last_down, down), (last_up, down), (last_up, up)]
        masks.append([None not in pair for pair in pairs])
        times = [0 if None in pair else (pair[1] - pair[0]) / 1000 for pair in pairs]
        rows.append([*times, *(kinds.get(code, "other") == kind for kind in KINDS)])
    return np.array(rows, np.float32), np.array(masks)


def test_channels_are_the_times_and_kinds_of_a_loop_over_the_keys():
    draw = np.random.default_rng(0)
    press = NOON + np.cumsum(draw.integers(0, 300, 500))
    release = press + draw.integers(-30, 400, 500)  # some before their press
    release[draw.random(500) < 0.05] = keystrokes.UNKNOWN_MS
    release[:4] = press[:4] - np.array([1, 0, -20_000, 1])
    keys = draw.choice([8, 16, 32, 65, 77, 90, 64, 91, 190, 0], 500)
    sequence, valid = channels(press, release, keys)
    expected, mask = slow_channels(press.tolist(), release.tolist(), keys.tolist())
    np.testing.assert_array_equal(sequence, expected)
    np.testing.assert_array_equal(valid, mask)
    assert sequence.dtype == np.float32 and valid.dtype == np.uint8
    assert sequence.shape == (500, len(CHANNELS)) and np.isfinite(sequence).all()
    assert not valid[0].any() and valid[1, 0] == 1 and sequence[1, 0] == 0


def test_the_only_key_of_a_sentence_has_only_a_hold_time():
    sequence, valid = channels(np.array([NOON]), np.array([NOON + 80]), np.array([65]))
    np.testing.assert_array_equal(sequence, np.float32([[0.08, 0, 0, 0, 1, 0, 0, 0, 0]]))
    assert valid.tolist() == [[1, 0, 0, 0]]


def prepared(folder, files, name="aalto_keystrokes"):
    return reading.prepared(name, samples.write(folder / "manual", files), folder / "data")


def assert_records_are_those_of_the_files(builder, files):
    """Asserts that the records have the values that `csv` and a loop over the keys read."""
    records = everything(builder)
    sections = {}
    for content in files.values():
        for subject, section, *cells in lines_by_csv(content):
            sections.setdefault(f"{subject}/{section}", []).append(cells)
    assert records.keys() == sections.keys()
    for key, lines in sections.items():
        record = records[key]
        text, typed, press, release, keys = zip(*lines, strict=True)
        sequence, valid = slow_channels(press, release, keys)
        for feature, expected in {
            "sequence": sequence, "valid": valid, "press_ms": press, "release_ms": release,
            "keys": keys,
        }.items():  # fmt: skip
            np.testing.assert_array_equal(record[feature], expected)
        assert (record["text"].decode(), record["typed"].decode()) == (text[0], typed[0])
        assert f"{record['subject'].decode()}/{record['section']}" == key
        assert record["device"] == b"keyboard"
    return records


@pytest.mark.parametrize(
    "pack",
    [
        lambda files: files,
        pytest.param(
            lambda files: {"Keystrokes.zip": samples.zipped(files)}, marks=pytest.mark.slow
        ),
        pytest.param(
            lambda files: {"aalto_keystrokes_subset.tar.xz": samples.tar(files)},
            marks=pytest.mark.slow,
        ),
        pytest.param(
            lambda files: {
                name.replace(FOLDER, "aalto_keystrokes/"): text for name, text in files.items()
            },
            marks=pytest.mark.slow,
        ),
    ],
    ids=["folder", "zip", "tar", "what files/ holds"],
)
def test_a_record_has_the_values_of_its_lines(pack, tmp_path, caplog):
    others = {"Keystrokes/readme.txt": b"1", f"{FOLDER}metadata_participants.txt": b"1"}
    builder = prepared(tmp_path, pack(FILES | others))
    records = assert_records_are_those_of_the_files(builder, FILES)
    assert [records[f"101/{10100 + place}"]["number"] for place in range(4)] == [0, 1, 2, 3]
    assert {(each["session"], each["day"]) for each in records.values()} == {(0, 0)}
    assert builder.info.metadata["channels"] == list(CHANNELS)
    assert "holds 10 of 168,000 people, so it is only a part" in caplog.text


def test_odd_lines_are_kept_and_only_unknown_times_are_marked(tmp_path):
    cells = {"PARTICIPANT_ID": 101}
    rows = [
        row(NOON, NOON + 90, **cells, letter="", code=16),
        row(NOON + 100, NOON + 50, **cells, code=9),
        row(NOON + 300, "1.471968e+12", **cells, letter="BKSP", code=8),
        row(NOON + 15_000, NOON + 15_000, **cells, code=32),
        row(NOON + 15_100, NOON + 19_100, **cells, letter="\xe9", code=191, key=2),
    ]
    record = everything(prepared(tmp_path, FILES | {NAME: text_of(rows, "latin-1")}))["101/10319"]
    times = [
        [0.09, 0, 0, 0],
        [0, 0.1, 0.01, 0],
        [0, 0.2, 0, 0],
        [0, 14.7, 0, 0],
        [4, 0.1, 0.1, 4.1],
    ]
    np.testing.assert_array_equal(record["sequence"][:, :4], np.float32(times))
    known = [[1, 0, 0, 0], [0, 1, 1, 0], [0, 1, 0, 0], [1, 1, 0, 0], [1, 1, 1, 1]]
    np.testing.assert_array_equal(record["valid"], known)
    kinds = [KINDS[at] for at in record["sequence"][:, 4:].argmax(axis=1)]
    assert kinds == ["shift", "other", "backspace", "space", "other"]


def test_sentences_are_numbered_in_the_order_of_time(tmp_path):
    """The second sentence of the file was typed first, two hours and a midnight earlier."""
    late = row(NOON + 13 * HOUR, NOON + 13 * HOUR + 90, PARTICIPANT_ID=101, TEST_SECTION_ID=5)
    early = row(NOON + 11 * HOUR, NOON + 11 * HOUR + 90, PARTICIPANT_ID=101, TEST_SECTION_ID=6)
    records = everything(prepared(tmp_path, FILES | {NAME: text_of([late, early])}))
    places = [
        (records[key]["number"], records[key]["session"], records[key]["day"])
        for key in ("101/6", "101/5")
    ]
    assert places == [(0, 0, 0), (1, 1, 1)]


def test_nobody_is_in_two_splits_and_the_ids_are_written_down(tmp_path):
    builder = prepared(tmp_path, keystroke_files(range(1, 21), sentences=1))
    subjects = builder.info.metadata["subjects"]
    assert {split: len(ids) for split, ids in subjects.items()} == {
        "train": 12, "validation": 2, "test": 6
    }  # fmt: skip
    people = splits_of_people(builder)
    assert {person: split for split, ids in subjects.items() for person in ids} == people


def texts_of(builder):
    """Returns the sentences of each split."""
    return {
        split: {record["text"] for record in records}
        for split, records in builder.as_data_source().items()
    }


def test_new_sentences_of_train_occur_in_no_other_split(tmp_path):
    files = keystroke_files(range(1, 11), sentences=10)
    shared, apart = (
        prepared(tmp_path, files, f"aalto_keystrokes/{config}")
        for config in ("sentences", "new_sentences")
    )
    assert dict(apart.info.metadata["subjects"]) == dict(shared.info.metadata["subjects"])
    texts, all_texts = texts_of(apart), texts_of(shared)
    assert not texts["train"] & (texts["validation"] | texts["test"]) and texts["validation"]
    common = all_texts["train"] & all_texts["test"]
    assert common & texts["train"] and common & texts["test"]
    assert common <= texts["train"] | texts["test"]  # each sentence stays in one of the splits
    records = everything(shared)
    for key, record in everything(apart).items():
        assert record["number"] == records[key]["number"]  # the place among all sentences


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "does not exist"),
        ({"Keystrokes/readme.txt": b""}, "holds no files such as 1002_keystrokes.txt"),
        (FILES | {"Keystrokes/101_keystrokes.txt": b""}, "the same recording twice"),
        (FILES | {NAME: participant_file(102)}, "participant 102, expected participant 101"),
        (
            FILES | {NAME: FILES[NAME.replace("101", "102")].replace(b"\n102\t", b"\n101\t")},
            r"10[12] \(10[12]\) and 10[12] \(10[12]\) have the same content",
        ),
        (FILES | {NAME: FILES[NAME][:-30]}, "files/101_keystrokes.txt, line 5[0-9]: "),
        (keystroke_files(range(2)), r"2 subject\(s\) cannot be divided"),
    ],
)
def test_a_wrong_or_damaged_file_is_named_and_nothing_is_kept(files, message, tmp_path):
    with pytest.raises(ValueError, match=message) as error:
        prepared(tmp_path, files)
    assert isinstance(error.value, ArchiveError | FormatError) or "subject" in message
    assert not list((tmp_path / "data").rglob("*.array_record*"))


@pytest.mark.slow
def test_the_real_keystrokes_are_those_that_the_page_counts(data_dir):
    source = find(data_dir, WANTED)
    participants = [
        keystrokes.parse(source.open(recording.member), name=recording.member)
        for recording in recordings_of(source)
    ]
    sentences = [sentence for each in participants for sentence in each.sentences]
    assert len(participants) == 1_829 and len(sentences) == 27_435
    press, release = (
        np.concatenate([getattr(each, name) for each in sentences])
        for name in ("press_ms", "release_ms")
    )
    is_stated = release != keystrokes.UNKNOWN_MS
    assert len(press) == 1_336_661 and is_stated.sum() == 1_336_659
    hold = (release - press)[is_stated]
    assert ((hold < 0).sum(), (hold == 0).sum(), (hold > 2_000).sum()) == (9, 61, 803)
    assert np.median(hold[hold >= 0]) == 104
    pauses = np.concatenate([np.diff(each.press_ms) for each in sentences])
    assert (pauses > 10_000).sum() == 120
    lengths = [len(each.keys) for each in sentences]
    assert (min(lengths), np.median(lengths), max(lengths)) == (14, 47, 185)
    assert len({each.text for each in sentences}) == 1_525
    source.close()


@pytest.mark.slow
def test_the_real_people_and_sentences_are_divided(data_dir, tmp_path):
    builder = reading.prepared("aalto_keystrokes/new_sentences", data_dir, tmp_path)
    subjects, people = builder.info.metadata["subjects"], splits_of_people(builder)
    assert {split: len(ids) for split, ids in subjects.items()} == {
        "train": 1_097, "validation": 183, "test": 549
    }  # fmt: skip
    assert {person: split for split, ids in subjects.items() for person in ids} == people
    counts = {split: info.num_examples for split, info in builder.info.splits.items()}
    assert counts == {"train": 8_062, "validation": 1_356, "test": 4_170}
    texts = texts_of(builder)
    assert not texts["train"] & (texts["validation"] | texts["test"])
    assert len(texts["train"]) == 753 and len(texts["validation"] | texts["test"]) == 771
    assert "1,829 of 168,000 people" in builder.info.metadata["archives"][0]["holds"]
