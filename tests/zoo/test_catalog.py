"""Tests names, cards and descriptions of models, and the search for models."""

import json
import shutil
import subprocess
import sys

import pytest

from keras_dml import zoo
from keras_dml.zoo import catalog, lookup


@pytest.mark.slow
def test_a_model_is_listed_by_its_folder(zoo_folder):
    (zoo_folder / "no_card").mkdir()
    assert zoo.list_models() == ["tiny"]


@pytest.mark.slow
def test_info_is_one_line_with_input_size_and_figures_with_their_counts(zoo_folder):
    line = zoo.info("tiny")
    assert "\n" not in line
    for part in ("tiny: show how", "3 channels at 100 Hz", "parameters"):
        assert part in line
    assert "EER 4.3 % [2.1 to 6.0] (72 probes of 36 people)" in line


def test_the_description_of_images_has_their_size(images_card):
    assert catalog.input_in_words(images_card) == "images of 8 × 8 pixels, 1 channel"
    assert catalog.known_in_words(images_card) == ("classes", "3 trained on, 3 tested on")


def test_people_and_lengths_are_described(card):
    assert catalog.known_in_words(card) == ("people", "2 trained on, 1 tested on")
    assert catalog.known_in_words({**card, "is_own": True}) == ("people", "made with 2")
    for length, words in (
        ((7, None), "7 steps or more"),
        ((7, 9), "7 to 9 steps"),
        ((7, 7), "7 steps"),
    ):
        card["input"]["length"] = length
        assert catalog.extent_in_words(card) == f"{words} at 100 Hz"


def test_a_line_about_a_model_is_its_headline_and_the_attack(images_card):
    assert list(catalog.figures_in_words(images_card)) == [
        "accuracy 99.31 % [99.10 to 99.45] (10,000 images)",
        "pgd-40 at 0.3, sim head accuracy 95.1 % ± 0.2 (10,000 trials)",
    ]


def test_the_strongest_attack_is_described(images_card):
    weaker = images_card["figures"][1]
    images_card["figures"].append({**weaker, "attack": "square", "value": 0.92})
    *_, line = catalog.figures_in_words(images_card)
    assert line == "square at 0.3, sim head accuracy 92.0 % ± 0.2 (10,000 trials)"


def test_a_setting_names_what_else_a_figure_was_measured_under():
    assert catalog.setting({"domain": "sketch", "head": "dol"}) == "sketch, dol head"
    assert catalog.setting({"attack": "worst of all"}) == "worst of all"
    assert catalog.setting({"n": 1}) == ""


def test_an_unknown_name_is_refused_with_the_nearest(zoo_folder):
    for call in (zoo.info, zoo.card, zoo.load, zoo.check):
        with pytest.raises(ValueError, match="Unknown model 'tinny'. Did you mean 'tiny'"):
            call("tinny")


def test_an_unknown_name_without_similar_names_lists_all_names(zoo_folder):
    with pytest.raises(ValueError, match="Unknown model 'xxxx'. The models are tiny"):
        zoo.card("xxxx")


def test_a_name_cannot_leave_the_zoo(zoo_folder):
    with pytest.raises(ValueError, match="Unknown model"):
        lookup.find("../models/tiny")


def test_a_path_stands_for_the_card_in_its_folder(zoo_folder, tmp_path):
    folder = tmp_path / "copied"
    shutil.copytree(zoo_folder / "tiny", folder)
    assert zoo.card(folder) == zoo.card(str(folder)) == zoo.card("tiny")
    for place in (tmp_path, folder / "model.keras", tmp_path / "none"):
        with pytest.raises(FileNotFoundError, match="no card.json in .*Give the folder of a model"):
            zoo.card(place)
    (folder / "card.json").write_text("{}")
    with pytest.raises(ValueError, match="card.json"):
        zoo.card(folder)


def test_an_empty_zoo_says_how_to_get_one(tmp_path, monkeypatch):
    monkeypatch.setenv("KERAS_DML_ZOO", str(tmp_path))
    monkeypatch.setattr(lookup, "_PACKAGE", tmp_path / "keras_dml")
    assert zoo.list_models() == []
    with pytest.raises(ValueError, match="no model was found.*KERAS_DML_ZOO"):
        zoo.card("tiny")


def test_a_variable_that_is_not_a_folder_is_refused(monkeypatch):
    monkeypatch.setenv("KERAS_DML_ZOO", "/no/such/folder")
    with pytest.raises(NotADirectoryError, match="KERAS_DML_ZOO.*'/no/such/folder'"):
        zoo.list_models()


def put(place, name, task):
    folder = place / name
    folder.mkdir(parents=True)
    (folder / "card.json").write_text(json.dumps({"task": task}))


def test_folders_are_looked_through_in_order(tmp_path, monkeypatch):
    site = tmp_path / "site"
    monkeypatch.setattr(lookup, "_PACKAGE", site / "keras_dml")
    monkeypatch.setenv("KERAS_DML_ZOO", str(tmp_path / "own"))
    put(tmp_path / "own", "a", "own")
    for name in ("a", "b"):
        put(site / "keras_dml" / "_zoo", name, "package")
    for name in ("a", "b", "c"):
        put(site / "zoo", name, "checkout")
    assert lookup.names() == ["a", "b"]  # without pyproject.toml it is not ours
    (site / "pyproject.toml").touch()
    assert lookup.names() == ["a", "b", "c"]
    found = [json.loads((lookup.find(n) / "card.json").read_text())["task"] for n in "abc"]
    assert found == ["own", "package", "checkout"]


@pytest.mark.parametrize("name", [None, 3, ["tiny"], b"tiny", {}])
@pytest.mark.parametrize("call", [zoo.card, zoo.info, zoo.load, zoo.check])
def test_a_name_of_another_type_is_refused(zoo_folder, call, name):
    with pytest.raises(TypeError, match=f"by its name.* Received {type(name).__name__}"):
        call(name)


def test_the_folder_of_a_single_model_is_refused(zoo_folder, monkeypatch):
    monkeypatch.setenv("KERAS_DML_ZOO", str(zoo_folder / "tiny"))
    with pytest.raises(ValueError, match=f"card.json. Set the variable to '{zoo_folder}'"):
        zoo.list_models()
    monkeypatch.chdir(zoo_folder / "tiny")
    monkeypatch.setenv("KERAS_DML_ZOO", ".")
    with pytest.raises(ValueError, match=f"Set the variable to '{zoo_folder}'"):
        zoo.card("tiny")


@pytest.mark.slow
def test_a_card_of_another_model_is_refused(zoo_folder):
    (zoo_folder / "tiny").rename(zoo_folder / "other")
    for call in (zoo.card, zoo.info, zoo.load):
        with pytest.raises(
            ValueError, match="is the card of 'tiny', but its folder is called 'other'"
        ):
            call("other")
    assert zoo.load(zoo_folder / "other").count_params()  # a copy may have any name


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "9" * 400, "9" * 9999])
def test_a_number_that_is_not_finite_is_refused_with_its_place(zoo_folder, number):
    path = zoo_folder / "tiny" / "card.json"
    card = json.loads(path.read_text())
    card["golden"]["atol"] = "here"
    path.write_text(json.dumps(card).replace('"here"', number))
    for call in (zoo.card, zoo.load, zoo.check):
        with pytest.raises(ValueError, match=r"card.golden.atol must be a finite number"):
            call("tiny")


@pytest.mark.parametrize("content", ['{"name": ', "\xff", "[" * 100_000])
def test_a_damaged_card_is_named(zoo_folder, content):
    (zoo_folder / "tiny" / "card.json").write_text(content, encoding="latin-1")
    with pytest.raises(ValueError, match=r"card\.json is not a JSON file"):
        zoo.card("tiny")


def test_reading_cards_loads_no_keras(zoo_folder):
    code = (
        "import sys; from keras_dml import zoo; "
        "zoo.list_models(), zoo.info('tiny'), zoo.card('tiny'); "
        "print(*({'keras', 'tensorflow', 'jax', 'numpy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.stdout.strip(), done.returncode) == ("", 0), done.stderr
