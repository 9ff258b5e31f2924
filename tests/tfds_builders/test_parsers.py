"""Tests three parsers on values calculated by hand, on damaged files and on mutated files."""

import functools
import io
import math

import numpy as np
import pytest

from tests.tfds_builders import samples
from tests.tfds_builders.mutations import check_parser
from tfds_builders.common.errors import FormatError
from tfds_builders.parsers import gait, smni, vowels

CHANNELS = ("FP1", "FP2", "nd")
NOTES = functools.partial(gait.parse_notes, name="1-1.json")
TRIAL = samples.smni_trial(channels=CHANNELS)


def _parse(parser, data, name):
    return parser(io.BytesIO(data), name=name)


def _finite(sequence):
    assert sequence.dtype == np.float32 and sequence.ndim == 2 and len(sequence)
    assert np.isfinite(sequence).all()


def test_a_gait_signal_has_the_values_of_its_lines():
    sequence = _parse(gait.parse, samples.gait_csv(rows=5), "1-1.csv").sequence
    assert sequence.shape == (5, 16) and sequence.dtype == np.float32
    np.testing.assert_allclose(sequence[3], 0.3 + np.arange(16), rtol=1e-6)


def test_gait_notes_have_numbers_steps_and_nan_for_what_the_source_does_not_know():
    data = samples.gait_json(3, 2, Weight="NC", IsControl="Yes", LeftFootActivity=[])
    notes = _parse(gait.parse_notes, data, "GaitData/3-2.json")
    assert (notes.subject, notes.trial, notes.is_control, notes.age) == (3, 2, True, 70.0)
    assert math.isnan(notes.weight)
    assert notes.left_steps.shape == (0, 2)
    np.testing.assert_array_equal(notes.right_steps, [[2, 4]])


def test_gait_steps_out_of_order_are_kept_and_steps_beyond_the_end_are_not():
    notes = _parse(
        gait.parse_notes, samples.gait_json(LeftFootActivity=[[5, 9], [4, 8]]), "1-1.json"
    )
    np.testing.assert_array_equal(notes.left_steps, [[5, 9], [4, 8]])
    notes.check_length(9, name="1-1.json")
    with pytest.raises(FormatError, match="ends at sample 9, expected at most 8"):
        notes.check_length(8, name="1-1.json")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b"LAV,", b"", r"1-1.csv, line 1: .*, expected the header LAV,…,RRZ"),
        (b"\n1.000000e-01,", b"\n", "line 3: the line has 15 values, expected 16 values"),
        (b"1.000000e-01", b"nan", "line 3: 'nan', expected a finite number"),
        (b"1.000000e-01", b"1e60", "line 3: '1e60', expected a finite number"),
        (b"\n1.000000e-01", b"\n\n1.000000e-01", "line 3: the line has 1 values, expected 16"),
        (b"1.000000e-01", b"\xff", "the byte 0xff, expected plain ASCII text"),
    ],
)
def test_a_damaged_gait_signal_is_refused_by_line(old, new, message):
    data = samples.gait_csv().replace(old, new, 1)
    with pytest.raises(FormatError, match=message):
        _parse(gait.parse, data, "1-1.csv")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"Age": "old"}, "key Age: 'old', expected a number up to 130 or \"NC\""),
        ({"Age": True}, "key Age"),
        ({"Height": -1}, "key Height"),
        ({"PathologyGroup": "other"}, "expected one of Healthy, Orthopedic, Neurological"),
        ({"IsControl": None}, "expected one of Yes, No"),
        ({"LeftFootActivity": [[3, 1]]}, r"key LeftFootActivity: \[3, 1\]"),
        ({"LeftFootActivity": [[1, 2, 3]]}, "key LeftFootActivity"),
        ({"RightFootActivity": "NC"}, "key RightFootActivity"),
        ({"RightFootActivity": [[1, 2**63]]}, "key RightFootActivity"),
        ({"Subject": 7}, "expected the numbers in the file name"),
    ],
)
def test_impossible_gait_notes_are_refused_by_key(changed, message):
    with pytest.raises(FormatError, match=message):
        _parse(gait.parse_notes, samples.gait_json(**changed), "1-1.json")


@pytest.mark.parametrize("data", [b"", b"[]", b"{", b"[" * 100_000, b"{}"])
def test_gait_notes_that_are_no_json_object_are_refused(data):
    with pytest.raises(FormatError, match="1-1.json"):
        _parse(gait.parse_notes, data, "1-1.json")


@pytest.mark.parametrize(
    ("parser", "data"),
    [
        (gait.parse, samples.gait_csv()),
        (smni.parse, TRIAL),
        (vowels.parse, samples.vowel_blocks(closed=False).rstrip() + b"\n"),
        (vowels.parse, samples.vowel_ts()),
    ],
    ids=["gait", "eeg", "vowels", "vowels ts"],
)
def test_a_last_line_without_an_end_is_refused_as_its_number_may_be_cut(parser, data):
    for cut in (1, 2):
        with pytest.raises(FormatError):
            _parse(parser, data[:-cut], "f")


def test_an_eeg_trial_has_header_and_values():
    data = samples.smni_trial(trial=7, condition="S2 match err", channels=CHANNELS)
    trial = _parse(smni.parse, data, "t")
    assert (trial.subject, trial.trial, trial.condition) == ("co2a0000001", 7, "S2 match")
    assert trial.error and trial.channels == CHANNELS
    assert trial.sequence.shape == (256, 3)
    np.testing.assert_allclose(trial.sequence[5, 0], (25 * 10 % 997 - 500) / 10)
    np.testing.assert_allclose(trial.sequence[:, 2], 0.2)


@pytest.mark.parametrize("condition", ["S1 obj ", "S2 match ", "S2 nomatch"])
def test_uneven_blanks_in_the_condition_are_read(condition):
    trial = _parse(smni.parse, samples.smni_trial(condition=condition, channels=CHANNELS), "t")
    assert trial.condition == condition.strip() and not trial.error


def test_words_of_a_trial_may_stand_apart_by_more_than_a_blank():
    trial = _parse(smni.parse, TRIAL.replace(b"0 FP1 3 ", b"0  FP1 3 "), "t")
    np.testing.assert_array_equal(trial.sequence, _parse(smni.parse, TRIAL, "t").sequence)


@pytest.mark.parametrize("data", [b"", b"# co2a0000001.rd\n", b"".join(TRIAL.splitlines(True)[:5])])
def test_a_trial_without_samples_has_its_own_error(data):
    with pytest.raises(smni.EmptyTrialError, match="no samples"):
        _parse(smni.parse, data, "t")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b"# co2a", b"# xx2a", "line 1"),
        (b" 3 chans", b" 300 chans", r"775 lines, expected 4 \+ 300 x 257"),
        (b" 3 chans", b" 3000000 chans", "line 2"),
        (b"S1 obj", b"S3 obj", "line 4"),
        (b"FP2 chan 1", b"FP2 chan 2", "line 262"),
        (b"# FP2 chan", b"# FP1 chan", "an electrode occurs twice"),
        (b"0 FP1 3 ", b"0 FP1 4 ", "line 9: .*, expected `0 FP1 3 microvolts`"),
        (b"0 FP1 3 ", b"0 FP2 3 ", "line 9"),
        (b"0 FP1 3 ", b"0 FP1 3 inf", "line 9"),
        (b"0 FP1 3 ", b"0 FP1 3 1e99 #", "line 9"),
    ],
)
def test_a_damaged_trial_is_refused_by_line(old, new, message):
    with pytest.raises(FormatError, match=message):
        _parse(smni.parse, TRIAL.replace(old, new, 1), "t")


@pytest.mark.parametrize("closed", [True, False], ids=["rows of 1.0", "blank lines"])
def test_both_ways_to_divide_vowel_blocks_give_the_same(closed):
    part = _parse(vowels.parse, samples.vowel_blocks(frames=4, closed=closed), "ae.train")
    assert part.speakers is None and len(part.sequences) == 9
    np.testing.assert_allclose(part.sequences[2][1], 0.3 + np.arange(12), rtol=1e-6)
    assert all(sequence.shape == (4, 12) for sequence in part.sequences)


def test_both_vowel_forms_hold_the_same_utterances():
    blocks = _parse(vowels.parse, samples.vowel_blocks(), "ae.train")
    lines = _parse(vowels.parse, samples.vowel_ts(), "x.ts")
    assert lines.speakers == tuple(range(1, 10))
    for one, other in zip(blocks.sequences, lines.sequences, strict=True):
        np.testing.assert_array_equal(one, other)


def test_speakers_follow_from_the_order_and_another_count_is_refused():
    assert vowels.speakers_by_order(4, (2, 1, 1), name="ae.train") == (1, 1, 2, 3)
    with pytest.raises(FormatError, match="269 utterances, expected 270"):
        vowels.speakers_by_order(269, vowels.SIZES["train"], name="ae.train")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "no frames"),
        (b"1.0 " * 12 + b"\n", "no frames"),
        (b"1 2 3\n", "line 1: the line has 3 values, expected 12"),
        (b"@relation vowels\n@data\n", "ARFF file with padded"),
        (samples.vowel_ts().replace(b"false", b"true"), "@equalLength true"),
        (samples.vowel_ts().replace(b":5\n", b":10\n"), "line 9: the speaker is '10'"),
        (samples.vowel_ts().replace(b"0.0,", b"", 1), "line 5: the channels have "),
        (samples.vowel_ts().replace(b"@data", b""), "0 lines @data"),
        (samples.vowel_ts().replace(b"0.0,", b"?,", 1), r"line 5: '\?'"),
    ],
)
def test_damaged_vowels_are_refused(data, message):
    with pytest.raises(FormatError, match=message):
        _parse(vowels.parse, data, "x")


@pytest.mark.parametrize("data", [b"1 2", b"a b c d e f g h i", b"9" * 5000, b"0 " * 9])
def test_sizes_other_than_nine_whole_numbers_are_refused(data):
    with pytest.raises(FormatError, match="nine whole numbers"):
        _parse(vowels.parse_sizes, data, "size_ae.train")


def _notes_hold(notes):
    assert 0 < notes.subject and 0 < notes.trial and notes.group in gait.GROUPS
    for value, most in ((notes.age, 130), (notes.height, 3), (notes.weight, 500)):
        assert math.isnan(value) or 0 < value <= most
    for steps in (notes.left_steps, notes.right_steps):
        assert steps.dtype == np.int32 and steps.shape[1:] == (2,)
        assert (steps[:, 0] < steps[:, 1]).all() and (steps >= 0).all()


def _trial_holds(trial):
    _finite(trial.sequence)
    assert trial.sequence.shape == (256, len(trial.channels))
    assert trial.condition in smni.CONDITIONS


def _utterances_hold(part):
    for sequence in part.sequences:
        _finite(sequence)
        assert sequence.shape[1] == 12


@pytest.mark.slow
@pytest.mark.parametrize(
    ("parser", "name", "data", "check"),
    [
        (gait.parse, "1-1.csv", samples.gait_csv(40), lambda signal: _finite(signal.sequence)),
        (gait.parse_notes, "1-1.json", samples.gait_json(), _notes_hold),
        (smni.parse, "t", TRIAL, _trial_holds),
        (vowels.parse, "ae.train", samples.vowel_blocks(), _utterances_hold),
        (vowels.parse, "x.ts", samples.vowel_ts(), _utterances_hold),
        (vowels.parse_sizes, "size_ae.train", b"30 30 30 30 30 30 30 30 30\n", lambda _: None),
    ],
    ids=["gait signal", "gait notes", "EEG trial", "vowel blocks", "vowel lines", "vowel sizes"],
)
def test_a_thousand_mutations_end_in_a_sound_result_or_a_format_error(parser, name, data, check):
    check_parser(lambda mutated: _parse(parser, mutated, name), data, check)
