"""Tests the card, the file, the page and the golden embedding of every model in the repository."""

import re

import pytest

from keras_dml import inference, inputs, zoo
from keras_dml.training import figure_files, page
from zoo import evidence, recipe, tables

NAMES = zoo.list_models()


def test_every_card_has_its_recipe_and_its_evidence():
    folders = {evidence.folder(name) for name in NAMES}
    for parent in (evidence.ZOO, evidence.PAPERS):
        cards = {path.parent for path in parent.glob("*/card.json")}
        assert cards and cards == {folder for folder in folders if folder.parent == parent}
    for folder in folders:
        assert (folder / "train.py").is_file() and (folder / "evidence.py").is_file(), folder


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
    assert (evidence.folder(name) / "README.md").read_text() == page.render(
        zoo.card(name), figure_files(evidence.folder(name))
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_name_says_paper_data_and_licence(name):
    card = zoo.card(name)
    rows = card["thresholds"]
    if card["data"].get("test_subjects"):
        assert rows
    else:
        assert all("carried" in row for row in rows), "people whom the file has seen show no rate"
    assert "licen" in card["data"]["licence"].lower() or "CC" in card["data"]["licence"]
    assert f"{evidence.module(name)}.train" in card["recipe"]["command"]


@pytest.mark.parametrize("name", NAMES)
def test_a_model_of_the_zoo_has_the_figures_of_its_own_card_where_it_is_a_baseline(name):
    """Tests the cards that list another model of the zoo as a baseline. If the test fails, measure
    these cards again.
    """
    for one in zoo.card(name)["baselines"]:
        if one["name"] in NAMES:
            known = {row["metric"]: row for row in zoo.card(one["name"])["headline"]["rows"]}
            for row in one["rows"]:
                own = known[row["metric"]]
                assert row["value"] == pytest.approx(own["value"], abs=1e-3)
                assert row["ci95"] == pytest.approx(own["ci95"], abs=1e-3)


def differences(about, card, place="card"):
    """Returns the keys for which the static part of a card differs from the card. Fields in braces
    may differ.
    """
    if isinstance(about, dict):
        for key, part in about.items():
            yield from differences(part, card.get(key), f"{place}.{key}")
    elif isinstance(about, list) and isinstance(card, list) and len(about) == len(card):
        for i, (part, known) in enumerate(zip(about, card, strict=True)):
            yield from differences(part, known, f"{place}[{i}]")
    elif isinstance(about, str) and isinstance(card, str):
        texts = re.split(r"\{[^}]*\}", about)
        if not re.fullmatch(r"[\w,. %\[\]]+".join(map(re.escape, texts)), card):
            yield place
    elif about != card:
        yield place


@pytest.mark.parametrize("name", NAMES)
def test_a_card_says_what_stands_beside_its_recipe(name):
    """Checks what a recipe adds to `about.json`. It may add only measurements, and the people and
    classes of a run.
    """
    about, card = recipe.about_model(name), zoo.card(name)
    assert not list(differences(about, card))
    measured = {"figures", "baselines", "thresholds", "exports", "recipe"}
    made = measured | {"model", "embedding", "golden"}
    optional = {"edge", "quality", "device_thresholds", "imposters", "stream_thresholds"}
    optional |= {"groups", "refused", "scoring"}
    assert set(card) - optional == set(about) | made
    assert set(card["input"]) == set(about["input"])
    known = {f"{part}_{kind}" for part in ("train", "test") for kind in ("subjects", "classes")}
    assert set(card["data"]) - set(about["data"]) <= known


def test_a_card_that_says_something_else_is_found():
    about = {"limits": ["{people} people.", "One day."], "data": {"builder": "gait"}}
    card = {"limits": ["7 people.", "One day."], "data": {"builder": "gait"}}
    assert not list(differences(about, card))
    card["limits"][1], card["data"] = "Two days.", {}
    assert list(differences(about, card)) == ["card.limits[1]", "card.data.builder"]


@pytest.mark.parametrize("page", tables.TABLES, ids=lambda page: page.parent.name)
def test_a_page_has_the_figures_of_the_cards(page):
    text = page.read_text(encoding="utf-8")
    assert tables.rewrite(page) == text
    models, *_ = tables.TABLES[page]
    names = [path.parent.name for path in models.glob("*/card.json")]
    assert names and all(f"[`{name}`]" in text for name in names)


def test_the_hours_of_the_whole_zoo_are_those_of_its_cards():
    cards = [zoo.card(path.parent) for path in evidence.ZOO.glob("*/card.json")]
    hours = sum(card["recipe"]["minutes"] for card in cards) / 60
    assert f"({hours:.1f} hours on two cores" in tables.ZOO_PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_a_page_says_that_the_minutes_of_folds_are_not_counted(name):
    folds = zoo.card(name)["data"].get("test_subjects") == []
    page = (evidence.folder(name) / "README.md").read_text()
    assert ("does not include the training of the models of the cross-validation" in page) == folds


@pytest.mark.slow
def test_a_row_that_says_something_else_is_written_again(tmp_path, monkeypatch):
    text = tables.PAGE.read_text(encoding="utf-8")
    changed = tmp_path / "README.md"
    changed.write_text(text.replace("| 45 | CC", "| 46 | CC"), encoding="utf-8")
    monkeypatch.setitem(tables.TABLES, changed, tables.TABLES[tables.PAGE])
    assert changed.read_text(encoding="utf-8") != text == tables.rewrite(changed)
