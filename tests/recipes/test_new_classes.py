"""Tests the page about new classes: its splits, its figures, and the cards that quote them."""

import re

import numpy as np
import pytest

from keras_dml import models, zoo
from keras_dml._backend import keras
from tests.zoo.test_pages import cells
from zoo import class_splits, new_classes

QUOTED = {
    "mnist_proto_sim": "digits",
    "mnist_proto_sim_at": "digits",
    "cifar10_proto_sim": "cifar10",
    "omniglot_proto_sim": "omniglot",
}


@pytest.mark.parametrize("name", ["digits", "speakers", "cifar10"])
def test_settings_are_chosen_without_the_classes_that_are_measured(name):
    choice, measured = (class_splits.splits(name, phase) for phase in class_splits.PHASES)
    assert choice and measured
    new = {label for split in measured for label in split.new}
    for split in choice:
        assert not new & {*split.trained, *split.old, *split.new}
    for split in (*choice, *measured):
        assert not {*split.trained, *split.old} & {*split.new}


@pytest.mark.slow
def test_alphabets_that_are_measured_choose_nothing(data_dir):
    choice, measured = (class_splits.splits("omniglot", phase) for phase in class_splits.PHASES)
    new = {label for split in measured for label in split.new}
    for split in choice:
        assert not new & {*split.trained, *split.new}
        assert {*split.old} <= {*split.trained} and not {*split.trained} & {*split.new}
    assert len(measured) == 10


def test_each_method_is_measured_on_the_same_embeddings(rng):
    keras.utils.set_random_seed(0)
    encoder = keras.Sequential([keras.Input((4,)), keras.layers.Identity()])
    classifier = models.PrototypicalClassifier(encoder, 3, hidden=(8,))
    y = np.repeat(np.arange(5), 20)
    z = (6 * np.eye(5, 4)[y] + rng.normal(size=(100, 4))).astype("float32")
    split = class_splits.Split("3-4", (0, 1, 2), (0, 1, 2), (3, 4))
    figures = new_classes.measure(classifier, split, (z, y), (z, y), 5, 2)
    assert list(figures) == list(new_classes.METHODS)
    for method in (new_classes.MEAN, new_classes.REGRESSION):
        assert all(0.9 < figure <= 1 for figure in figures[method])
    assert figures[new_classes.ADDED][0] > 0.9  # the similarity of old classes is not trained here


def test_cards_quote_the_page():
    sections = re.split("^## ", new_classes.PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    for model, name in QUOTED.items():
        (section,) = [one for one in sections if one.startswith(f"{new_classes.TITLES[name]}\n")]
        (row,) = [row for row in cells(section) if row[:2] == ["5", new_classes.ADDED]]
        figures = [float(re.search(r"\d+\.\d", cell)[0]) for cell in row[2:]]
        limits = zoo.card(model)["limits"]
        (limit,) = [text for text in limits if new_classes.PAGE.name in text]
        assert [float(figure) for figure in re.findall(r"\d+\.\d", limit)] == figures
