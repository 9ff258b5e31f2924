"""By what figure the export scripts judge a file."""

import sys
import types

import numpy as np
import pytest

from export import judge
from keras_dml import export
from tests.zoo.cards import CARD, IMAGES

LEARNED = {"shape": [6], "distance": "learned_similarity", "symmetry": "none"}


@pytest.fixture(scope="module")
def file(classifier, tmp_path_factory):
    path = tmp_path_factory.mktemp("judge") / "model.tflite"
    return export.tflite(classifier, path, None).path


@pytest.fixture
def judged(images):
    x, y = images
    return judge.Recordings(list(x), y, np.arange(len(y)))


def test_the_cards_figures_say_by_what():
    assert judge.measure(IMAGES) == "accuracy"
    assert judge.measure(CARD) == "auc"


def test_accuracy_is_the_share_of_right_classes(judged):
    scores = np.eye(3)[judged.people]
    assert judge.accuracy(scores, judged) == 1
    scores[:12] = scores[:12, ::-1]  # the class in the middle stays
    assert judge.accuracy(scores, judged) == pytest.approx(1 - 8 / 48)


@pytest.mark.parametrize("measure", ["accuracy", "auc"])
def test_a_float_file_has_the_figure_of_its_model(classifier, file, judged, measure):
    by_keras = judge.by_keras(classifier, judged, measure)
    assert judge.by_file(file, classifier, judged, measure) == pytest.approx(by_keras, abs=1e-4)
    assert by_keras > 0.6  # ten steps taught it something


def test_examples_come_from_the_models_recipe(images, monkeypatch, tmp_path):
    recipe = types.ModuleType("zoo.pictures.train")
    recipe.examples = lambda split: images if split == "test" else (images[0][:6], images[1][:6])
    monkeypatch.setitem(sys.modules, "zoo.pictures.train", recipe)
    card = {**IMAGES, "embedding": LEARNED}
    monkeypatch.setattr(judge.recordings, "data_dir", lambda: None)
    assert judge.judged(card) is None and judge.calibrating(card) is None
    monkeypatch.setattr(judge.recordings, "data_dir", lambda: tmp_path)
    monkeypatch.setattr(judge, "MOST", 12)
    found = judge.judged(card)
    np.testing.assert_array_equal(np.bincount(found.people), [4, 4, 4])
    assert found.signals[0].shape == (8, 8, 1)
    assert len(judge.calibrating(card)) == 6
