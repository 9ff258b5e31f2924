"""Tests the main result of a page: figures, baselines, and methods that the model does not beat."""

import pytest

from keras_dml.zoo import catalog, headline, schema


def test_a_model_and_its_baselines_are_in_one_table(card):
    columns, rows = headline.table(card)
    assert columns == ["method", "AUC", "EER", "EER, model minus this"]
    model, other = rows
    assert model == ["tiny", "0.9876 [0.9800 to 0.9900]", "4.3 % [2.1 to 6.0]", "–"]
    assert other[0] == "mean step (no network): its length alone"
    assert other[2:] == ["4.0 % [2.0 to 5.0]", "0.3 points [-0.1 to 1.0]"]


def test_words_give_people_gallery_enrollment_and_sessions(card):
    words = headline.words(card)
    start = "One walk against another. The same threshold is used for all 72 probes of 36 people."
    assert words.startswith(start)
    assert "has about 3 enrolled recordings" in words and "other days were not measured" in words
    assert "intervals over people" in words and "one additional person" in words
    assert "Each probe is compared with 36 people" in words
    card["headline"] |= {"unit": "motions", "repeats": "days"}
    assert "intervals over motions" in headline.words(card)
    assert "from different days" in headline.words(card)


def test_recordings_of_other_people_are_described(card):
    card["headline"] |= {"unit": "motions", "repeats": "others"}
    assert schema.problems(card["headline"], schema.HEADLINE_OF_PEOPLE) == []
    assert "enrolled recordings and the probe are from different people" in headline.words(card)
    assert "one session" not in headline.words(card)
    motions = catalog.card("hdm05_spdnet_rpl")  # clips of other actors are enrolled
    assert motions["headline"]["repeats"] == "others"


def test_words_of_a_classifier_count_images(images_card):
    words = headline.words(images_card)
    assert "10,000 images: the test images. Brackets contain 95 % intervals by Wilson's" in words


def test_the_p_value_follows_the_difference(images_card):
    assert "McNemar" not in headline.words(images_card)
    first, second = (one["difference"] for one in images_card["baselines"])
    first["mcnemar_p"], second["mcnemar_p"] = 3e-9, 0.2345
    cells = [row[-1] for row in headline.table(images_card)[1]]
    assert cells == [
        "–",
        "2.4 points [2.0 to 3.0], p < 0.001",
        "-0.2 points [-0.4 to 0.1], p = 0.23",
    ]
    assert headline.words(images_card).endswith("the p-value of McNemar's exact test (two-sided).")


def test_a_method_without_a_figure_has_a_dash(card):
    card["headline"]["rows"].append({"metric": "map_at_r", "value": 0.8, "ci95": [0.7, 0.9]})
    model, other = headline.table(card)[1]
    assert model[3] == "0.8000 [0.7000 to 0.9000]" and other[3] == "–"


@pytest.mark.parametrize(
    ("value", "ci95", "said"),
    [
        (0.003, [-0.001, 0.01], 'The model does not beat the method "mean step"'),
        (-0.003, [-0.01, 0.001], 'has not been shown to beat the method "mean step"'),
        (-0.003, [-0.01, -0.001], ""),
    ],
)
def test_the_page_names_methods_that_the_model_does_not_beat(card, value, ci95, said):
    card["baselines"][0]["difference"] |= {"value": value, "ci95": ci95}
    verdict = headline.verdict(card)
    assert (said in verdict) if said else verdict == ""


def test_the_verdict_uses_accuracy_and_only_methods_without_a_network(images_card):
    assert headline.verdict(images_card) == ""
    images_card["baselines"][0]["difference"] |= {"value": -0.01, "ci95": [-0.02, 0.0]}
    assert 'The model does not beat the method "nearest neighbor"' in headline.verdict(images_card)


def test_a_line_about_a_model_begins_with_its_headline(card, images_card):
    (line,) = catalog.figures_in_words(card)
    assert line == "EER 4.3 % [2.1 to 6.0] (72 probes of 36 people, one sitting)"
    accuracy, attack = catalog.figures_in_words(images_card)
    assert accuracy == "accuracy 99.31 % [99.10 to 99.45] (10,000 images)"
    assert attack.startswith("pgd-40 at 0.3")


@pytest.mark.parametrize(
    ("name", "words"),
    [("auc", "AUC"), ("tar_at_far_0.001", "TAR at FAR 0.1 %"), ("map_at_r", "map at r")],
)
def test_metrics_are_written_as_the_field_writes_them(name, words):
    assert catalog.metric_in_words(name) == words
