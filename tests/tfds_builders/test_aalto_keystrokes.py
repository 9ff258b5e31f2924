"""Tests of `aalto_keystrokes`: its parser, channels, records, splits and errors."""

import csv
import io

import numpy as np
import pytest

from tests.tfds_builders.keystrokes import NOON, participant_file, row, text_of
from tests.tfds_builders.mutations import check_parser
from tfds_builders.aalto_keystrokes.channels import CHANNELS, KINDS, channels
from tfds_builders.common.errors import FormatError
from tfds_builders.parsers import keystrokes

pytestmark = pytest.mark.usefixtures("quiet")
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
