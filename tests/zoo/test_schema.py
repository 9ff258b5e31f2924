"""What a card must say."""

import pytest

from keras_dml.zoo import schema


@pytest.fixture
def whole(card):
    card["model"] = {"file": "model.keras", "sha256": "0" * 64, "parameters": 7}
    card["embedding"] = {"shape": [65, 18], "distance": "wasserstein", "p": 1}
    card["golden"] = {"input": "golden.npz", "atol": 1e-5}
    card["exports"] = [
        {
            "format": "tflite",
            "quantization": "int8",
            "bytes": 1,
            "latency_ms": 0.5,
            "drift": 0.0,
            "auc_change": -0.001,
        }
    ]
    return card


def leaves(value, path=()):
    """Paths of all entries of a nested card."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, part in items:
        yield (*path, key)
        if isinstance(part, (dict, list)):
            yield from leaves(part, (*path, key))


def test_a_whole_card_is_valid_with_further_keys(whole):
    assert schema.problems({**whole, "note": "of one's own"}) == []
    assert schema.validate(whole, "card.json") is whole


@pytest.mark.parametrize("key", list(schema.CARD))
def test_a_missing_key_is_named(whole, key):
    del whole[key]
    assert schema.problems(whole) == [f"card.{key} is missing"]


def test_every_value_of_a_wrong_type_is_found(whole):
    free = ("figures", 1, "fraction"), ("figures", 1, "people"), ("exports", 0, "quantization")
    for path in leaves(whole):
        if path in free:
            continue
        *parents, key = path
        part = whole
        for parent in parents:
            part = part[parent]
        kept, part[key] = part[key], object()
        assert schema.problems(whole), path
        part[key] = kept
    assert schema.problems(whole) == []


@pytest.mark.parametrize(
    ("part", "key", "value", "message"),
    [
        ("input", "units", ["g"], "one entry a channel, 3, and has 1"),
        ("input", "length", [0, None], "least at least 1"),
        ("input", "length", [9, 8], "least, greatest"),
        ("embedding", "p", None, "order of the Wasserstein distance"),
        ("data", "test_subjects", ["ann"], "1 people in train_subjects and in test_subjects"),
        ("model", "file", "../model.keras", "name of a file"),
        ("model", "sha256", "0" * 63, "SHA-256"),
        ("model", "parameters", True, "whole number"),
    ],
)
def test_a_contradiction_is_found(whole, part, key, value, message):
    whole[part][key] = value
    with pytest.raises(ValueError, match=message):
        schema.validate(whole, "card.json")


def test_all_that_is_wrong_is_said_at_once(whole):
    del whole["task"]
    whole["limits"] = "none"
    with pytest.raises(ValueError, match="task is missing; card.limits must be a list"):
        schema.validate(whole, "card.json")
