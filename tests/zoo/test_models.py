"""Every model that the checkout carries: its card, its file, its page, its golden embedding."""

import pathlib

import pytest

from keras_dml import inference, inputs, zoo
from zoo import publish, readme, tables

ROOT = pathlib.Path(__file__).parents[2] / "zoo"
NAMES = (*tables.ENCODERS, *tables.CLASSIFIERS)


def test_the_models_are_there():
    assert set(zoo.list_models()) == set(NAMES)
    cards, recipes = (
        {path.parent.name for path in ROOT.glob(f"*/{file}")} for file in ("card.json", "train.py")
    )
    assert cards == recipes


@pytest.mark.parametrize("name", NAMES)
def test_a_model_gives_its_golden_embedding(name):
    assert zoo.check(name) <= zoo.card(name)["golden"]["atol"]


@pytest.mark.parametrize("name", NAMES)
def test_a_model_is_what_its_card_says(name):
    card, model = zoo.card(name), zoo.load(name)
    assert card["name"] == name
    encoder, distance = inputs.encoder(model), inference.head_distance(model)
    assert encoder.input_shape[-1] == len(card["input"]["channels"])
    assert list(encoder.output_shape[1:]) == card["embedding"]["shape"]
    assert distance.name == card["embedding"]["distance"]
    assert distance.get_config().get("p") == card["embedding"].get("p")


@pytest.mark.parametrize("name", NAMES)
def test_a_page_is_written_from_its_card(name):
    assert (ROOT / name / "README.md").read_text() == readme.render(
        zoo.card(name), publish.pictures(ROOT / name)
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_name_says_paper_data_and_licence(name):
    card = zoo.card(name)
    verifies = any(row["protocol"] == "verification" for row in card["figures"])
    assert card["thresholds"] or not verifies, "no threshold: nobody could decide anything"
    assert "licen" in card["data"]["licence"].lower() or "CC" in card["data"]["licence"]
    assert f"zoo.{name}.train" in card["recipe"]["command"]


def test_the_projects_page_has_the_figures_of_the_cards():
    page = tables.PAGE.read_text(encoding="utf-8")
    assert tables.written(page) == page
    assert all(f"[`{name}`]" in page for name in NAMES)
    assert tables.written(page.replace("| 135 people |", "| 7 people |")) == page
