"""Tests that a card is built from its fixed texts and the facts of a training run."""

import pytest

from keras_dml.training import build_card, training_record, versions
from keras_dml.zoo import schema
from tests.zoo.cards import CARD

ABOUT = {key: CARD[key] for key in ("name", "task", "paper", "input", "data", "limits")}


def build(about, **given):
    taken = {key: CARD[key] for key in ("headline", "figures", "recipe")}
    return build_card(about, **taken, **given)


def test_facts_stand_in_all_texts():
    about = {**ABOUT, "limits": ["{count:,} recordings."], "figures_are": "Of {count} recordings."}
    card = build(about, count=1234)
    assert card["limits"] == ["1,234 recordings."] and card["figures_are"] == "Of 1234 recordings."
    assert about["limits"] == ["{count:,} recordings."]


def test_a_fact_that_is_missing_is_named():
    with pytest.raises(KeyError, match="count"):
        build({**ABOUT, "limits": ["{count} recordings."]})


def test_people_of_a_run_are_added_to_the_data():
    card = build(ABOUT, data={"test_subjects": ["zoe"]})
    assert card["data"] == {**ABOUT["data"], "test_subjects": ["zoe"]}
    assert ABOUT["data"]["test_subjects"] == ["eve"]


def test_a_card_is_valid_with_what_the_model_adds():
    record = training_record("python train.py", seed=3, minutes=1.26)
    assert record["minutes"] == 1.3 and record["versions"] == versions()
    whole = {
        **{key: [] for key in ("exports",)},
        **build(ABOUT, thresholds=CARD["thresholds"]),
        "recipe": record,
        "model": {"file": "model.keras", "sha256": 64 * "0", "parameters": 1},
        "embedding": {"shape": [3], "distance": "euclidean"},
        "golden": {"input": "golden.npz", "atol": 1e-5},
    }
    assert not schema.problems(whole)
