"""Tests the voices of two data sets: training speakers, folds, trials, and scores of models."""

import numpy as np
import pytest

from keras_dml.training import People
from tests.tfds_builders import media, samples
from tfds_builders import reading
from tfds_builders.hyke_voice import splits
from zoo import speech, telephone, voice_table, voices

ACTORS = [f"{actor:02d}" for actor in range(1, 25)]
CALLERS = [f"{'FM'[i % 2]}{voice}" for i, voice in enumerate(sorted(splits.TRAIN))]
STRANGERS = [f"{'FM'[i % 2]}{1_400_000_000 + i}" for i in range(12)]
SUBJECTS = np.repeat([*ACTORS, *CALLERS, *STRANGERS], 3).tolist()


@pytest.fixture
def people():
    signals = [np.full((2, 1), i, np.float32) for i in range(len(SUBJECTS))]
    return People(signals, SUBJECTS, ["1", "2", "3"] * (len(SUBJECTS) // 3))


def test_lines_come_in_order_with_voice_sex_and_line(tmp_path, monkeypatch):
    files = {
        media.line_name(letter, voice, line): media.wav_file(
            media.speech(voice + line, samples=12_000), rate=8_000
        )
        for letter, voice in zip("FM", media.VOICES["train"], strict=True)
        for line in (1, 2)
    }
    woman, man = media.VOICES["train"]
    files[media.line_name("M", man, 2)] = files[media.line_name("M", man, 1)]
    manual = samples.write(tmp_path / "manual", files)
    monkeypatch.setattr(
        telephone, "read", lambda name, split: reading.records(name, manual, tmp_path, split)
    )
    found = telephone.lines(prepare=False)
    assert found.subjects == [f"F{woman}", f"F{woman}", f"M{man}"]
    assert found.sessions == ["1", "2", "1"]
    assert all(sound.shape == (24_000, 1) for sound in found.signals)
    trimmed = telephone.lines("train")
    assert trimmed.subjects == found.subjects
    assert all(len(sound) < 24_000 for sound in trimmed.signals)


def test_trials_with_line_1_have_it_on_one_side():
    lines = np.array([["1", "2", "1", "3"], ["1", "1", "4", "5"]])
    assert telephone.with_line_1(lines).tolist() == [False, True, True, False]


def test_who_teaches_is_in_the_split_train_of_the_set(people):
    teaching = voices.teaches(people.subjects)
    found = set(np.asarray(people.subjects)[teaching])
    assert found >= set(CALLERS) and not found & set(STRANGERS)
    assert len(found & set(ACTORS)) == 16
    left, (first, second, genuine, _) = voices.of_test(people)
    assert set(left.subjects) == set(SUBJECTS) - found
    assert len(genuine) == (8 * 3) * (8 * 3 - 1) // 2 + (12 * 3) * (12 * 3 - 1) // 2
    subjects = np.asarray(left.subjects)
    np.testing.assert_array_equal(genuine, subjects[first] == subjects[second])


def test_folds_hold_everybody_once_with_both_sexes_of_both_sets(people):
    parts = voices.folds(people.subjects)
    assert sorted(sum(parts, ())) == sorted(set(SUBJECTS))
    for part in parts:
        far = voices.is_telephone(part)
        sexes = [speech.sex(name) for name in part]
        for one in (far, ~far):
            assert set(np.asarray(sexes)[one]) == {"female", "male"}


def test_no_trial_is_across_sets_and_a_fold_is_scored_by_who_heard_none_of_it(people):
    parts = voices.folds(people.subjects)
    seen = {}

    def train(fold, others):
        seen[fold] = set(others.subjects)
        return fold

    def scores(model, signals, rows):
        first, second = ([signals[i][0, 0] for i in row] for row in rows)
        return {"pair": np.array(first) * 1_000 + second, "model": np.full(len(first), model)}

    found = voices.cross_validated(people, parts, train, scores)
    first, second, genuine, fold = voices.trials(people, parts)
    np.testing.assert_array_equal(found["pair"], first * 1_000 + second)
    np.testing.assert_array_equal(found["model"], fold)
    far = voices.is_telephone(people.subjects)
    assert (far[first] == far[second]).all()
    assert {k: set(SUBJECTS) - set(part) for k, part in enumerate(parts)} == seen
    assert genuine.sum() == 3 * len(set(SUBJECTS))


@pytest.mark.slow
def test_the_table_has_a_row_for_each_method_and_one_for_each_difference(people, rng):
    _, _, genuine, _ = voices.trials(people, voices.folds(people.subjects))
    good, bad = genuine + rng.normal(scale=0.1, size=len(genuine)), rng.normal(size=len(genuine))
    found = {
        "voice_ge2e_sim": {"sim": good, "cosine": bad, "fused": good + bad},
        "resemblyzer": {"cosine": bad},
    }
    first, second = voice_table.tables(found, voice_table.parts(people))
    assert "RAVDESS, single pairs (72 of " in first and "Hyke, line 1 enrolled (94 of " in first
    rows = first.splitlines()[2:]
    assert len(rows) == 4 and rows[0].startswith("| `voice_ge2e_sim`, similarity | 0.0 % [")
    assert "sim − cosine" in second and len(second.splitlines()) == 2 + 3
