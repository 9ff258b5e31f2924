"""Tests which models are marked as usable in products."""

import pytest

from keras_dml import zoo
from keras_dml.zoo import products, schema

NAMES = zoo.list_models()


def with_licences(*licences):
    return {"data": {"licences": list(licences)}}


@pytest.mark.parametrize(
    ("licences", "expected"),
    [
        (["CC-BY-4.0"], "yes"),
        (["Apache-2.0", "MIT"], "yes"),
        (["Apache-2.0", "NONE"], "ask"),
        (["CC-BY-SA-3.0"], "ask"),
        (["CC-BY-4.0", "CC-BY-NC-SA-4.0"], "no"),
        (["LicenseRef-research-only", "NONE"], "no"),
        (["GPL-3.0-only"], "ask"),
    ],
    ids=str,
)
def test_the_strictest_license_decides(licences, expected):
    assert products.mark(with_licences(*licences)) == expected
    assert products.mark(with_licences(*reversed(licences))) == expected


def test_a_card_without_licenses_is_not_marked_as_usable():
    assert products.mark({"data": {}}) == "ask"


@pytest.mark.parametrize("licences", [[], "CC-BY-4.0", [""], [4.0]], ids=str)
def test_invalid_licenses_on_a_card_are_refused(card, licences):
    card["data"]["licences"] = licences
    assert any("licences" in problem for problem in schema.problems(card))


def test_every_card_lists_licenses_that_the_table_contains():
    assert NAMES
    for name in NAMES:
        assert set(zoo.card(name)["data"]["licences"]) <= products.LICENCES.keys(), name


def test_a_text_that_forbids_commercial_use_is_marked_no():
    """Compares the marks with the words of the license on each card."""
    words = "BY-NC", "commercial use is not allowed"
    forbidden = [name for name in NAMES if any(word in text_of(name) for word in words)]
    assert forbidden
    assert forbidden == [name for name in NAMES if products.mark(zoo.card(name)) == "no"]


def test_models_for_products_can_be_listed():
    names = zoo.list_models(in_products=True)
    assert "watch_lda" in names and "gait_lda" not in names
    assert names == [name for name in NAMES if products.mark(zoo.card(name)) == "yes"]
    assert zoo.list_models("gait_*", in_products=True) == []


def text_of(name):
    return zoo.card(name)["data"]["licence"]
