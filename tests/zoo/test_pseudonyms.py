"""Tests that a card can contain numbers in place of the names of people."""

import json

from keras_dml.zoo import pseudonyms

NAMES = ["Zoë", "alice", "Bob B."]


def test_a_card_holds_numbers_and_recognizes_names():
    data = pseudonyms.numbered(NAMES)
    assert data["train_subjects"] == ["1", "2", "3"]
    text = json.dumps(data, ensure_ascii=False).lower()
    assert not any(name.lower() in text for name in NAMES)
    trained_on = pseudonyms.TrainedOn(json.loads(json.dumps(data)))
    assert all(name in trained_on for name in NAMES)
    assert "Zoe\u0308" in trained_on  # the same name in the Unicode form of macOS
    assert not any(name in trained_on for name in ("1", "2", "carol", "Alice", ""))


def test_a_repeated_training_writes_the_same_card():
    assert pseudonyms.numbered(NAMES) == pseudonyms.numbered(NAMES[::-1])
    assert pseudonyms.numbered(NAMES)["digests"] != pseudonyms.numbered(NAMES[1:])["digests"]


def test_names_that_a_card_lists_are_compared_as_they_are():
    trained_on = pseudonyms.TrainedOn({"train_subjects": NAMES})
    assert "Zoe\u0308" in trained_on and "1" not in trained_on
    assert "alice" not in pseudonyms.TrainedOn({})
