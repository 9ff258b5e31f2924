"""Tests that `japanese_vowels_lpc` reads both formats of the archive and checks the utterances.

The files of UCI have no labels. The builder derives the speakers from the order of the utterances,
and therefore checks the counts.
"""

import numpy as np
import pytest

from tests.tfds_builders import samples
from tests.tfds_builders.records import everything
from tests.tfds_builders.samples import zipped
from tfds_builders import reading
from tfds_builders.common.errors import ArchiveError, FormatError, MissingArchiveError
from tfds_builders.parsers import vowels

pytestmark = pytest.mark.usefixtures("quiet")
SIZES = {f"size_ae.{split}": b"2 1 1 1 1 1 1 1 1\n" for split in ("train", "test")}
SEEDS = {"train": 0, "test": 1000}
UCI = SIZES | {
    f"ae.{split}": samples.vowel_blocks((2,) + (1,) * 8, seed=seed) for split, seed in SEEDS.items()
}
TS = {
    f"JapaneseVowels_{split.upper()}.ts": samples.vowel_ts((1, 1, *range(2, 10)), seed=seed)
    for split, seed in SEEDS.items()
}


def prepared(folder, files, config="uci"):
    manual = samples.write(folder / "manual", files)
    return reading.prepared(f"japanese_vowels_lpc/{config}", manual, folder / "data")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("config", "files"),
    [
        ("uci", UCI),
        ("uci", {"japanese+vowels.zip": zipped(UCI)}),
        ("ts", {"JapaneseVowels.zip": zipped(TS)}),
    ],
    ids=["uci files", "uci zip", "ts zip"],
)
def test_both_forms_give_the_same_records(config, files, tmp_path, caplog):
    records = everything(prepared(tmp_path, files, config))
    assert "10 of 270 utterances of `train` and 10 of 370 utterances of `test`" in caplog.text
    assert len(records) == 20
    second = records["train/1/02"]
    assert (second["subject"], second["label"]) == (b"1", 0)
    assert (second["session"], second["day"], second["device"]) == (-1, -1, b"")
    np.testing.assert_allclose(second["sequence"][2], 0.3 + np.arange(12), rtol=1e-6)
    assert records["test/9/01"]["label"] == 8


@pytest.mark.slow
def test_archives_of_both_configs_may_lie_side_by_side(tmp_path):
    files = {"japanese_vowels_uci.zip": zipped(UCI), "JapaneseVowels.zip": zipped(TS)}
    assert len(everything(prepared(tmp_path, files, "uci"))) == 20
    assert len(everything(prepared(tmp_path, files, "ts"))) == 20


def test_without_size_files_the_official_numbers_hold(tmp_path):
    files = {
        f"ae.{split}": samples.vowel_blocks(vowels.SIZES[split], frames=1, seed=seed)
        for split, seed in SEEDS.items()
    }
    builder = prepared(tmp_path, files)
    assert {s: info.num_examples for s, info in builder.info.splits.items()} == {
        "train": 270, "test": 370
    }  # fmt: skip
    assert everything(builder)["test/3/88"]["label"] == 2


def test_the_other_form_is_proposed_where_only_it_is_there(tmp_path):
    with pytest.raises(
        MissingArchiveError, match="japanese_vowels_lpc/ts. Prepare japanese_vowels_lpc/ts"
    ):
        prepared(tmp_path, {"JapaneseVowels.zip": zipped(TS)}, "uci")


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "does not exist"),
        ({"japanese+vowels.zip": zipped({"a": b""})}, "holds no ae.train. It holds a"),
        ({"japanese+vowels.zip": zipped({"x.arff": b""})}, "padded .arff format are not read"),
        ({"japanese+vowels.zip": zipped(UCI)[:500]}, "damaged or incomplete"),
        (
            UCI | {"ae.test": UCI["ae.train"]},
            r"train/1/01 \(ae.train, speaker 1\) and test/1/01 \(ae.test, speaker 1\) have the",
        ),
        (
            {"japanese+vowels.zip": zipped(UCI | {"old/AE.TRAIN": UCI["ae.test"]})},
            "holds ae.train twice: ae.train and old/AE.TRAIN. Remove one",
        ),
        (UCI | {"size_ae.train": b"30 30"}, "expected nine whole numbers"),
        ({k: v for k, v in UCI.items() if "size" not in k}, "10 utterances, expected 270"),
        (UCI | {"ae.test": UCI["ae.test"][:-60]}, "size_ae|values, expected 12 values"),
        (UCI | {"ae.train": UCI["ae.train"].replace(b"0.1", b"nan", 1)}, "line .*'nan'"),
    ],
)
def test_a_missing_wrong_or_damaged_archive_is_told_and_nothing_is_kept(files, message, tmp_path):
    with pytest.raises((ArchiveError, FormatError), match=message):
        prepared(tmp_path, files)
    assert not list((tmp_path / "data").rglob("*.array_record*"))


@pytest.mark.slow
def test_the_real_recordings_are_the_same_in_both_forms(data_dir, tmp_path):
    uci, ts = (
        everything(reading.prepared(f"japanese_vowels_lpc/{config}", data_dir, tmp_path))
        for config in ("uci", "ts")
    )
    assert uci.keys() == ts.keys() and len(uci) == 640
    for key, record in uci.items():
        assert record["label"] == ts[key]["label"]
        np.testing.assert_array_equal(record["sequence"], ts[key]["sequence"])
    lengths = [len(record["sequence"]) for record in uci.values()]
    assert (min(lengths), max(lengths), sum(lengths)) == (7, 29, 4274 + 5687)
    assert [sum(r["label"] == c for k, r in uci.items() if "test" in k) for c in range(9)] == list(
        vowels.SIZES["test"]
    )
