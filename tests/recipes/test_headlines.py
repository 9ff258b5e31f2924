"""The headline of every card, measured again from the published files on the real recordings."""

import concurrent.futures
import multiprocessing

import numpy as np
import pytest

from keras_dml import zoo
from tests import memory
from tests.zoo.test_models import NAMES
from zoo import evidence

WITHIN = 0.001  # a tenth of a percentage point: another processor rounds otherwise


def measure(name):
    """Measurement of a published model, of whose recordings nothing is kept."""
    found = evidence.of_published(name).measured
    evidence.of_published.cache_clear()
    memory.give_back()
    return found


@pytest.fixture(scope="module")
def apart():
    """A process that ends, and gives back what all models and recordings took."""
    with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        yield pool


@pytest.fixture(scope="module", params=NAMES)
def measured(request, data_dir, apart):
    """Name and measurement of a model."""
    return request.param, apart.submit(measure, request.param).result()


def test_the_headline_of_a_card_is_that_of_its_files(measured):
    name, fresh = measured
    card, found = zoo.card(name)["headline"], fresh.headline
    assert {key: card[key] for key in found if key != "rows"} == {
        key: value for key, value in found.items() if key != "rows"
    }
    for said, row in zip(card["rows"], found["rows"], strict=True):
        assert said["metric"] == row["metric"]
        assert said["value"] == pytest.approx(row["value"], abs=WITHIN)
        np.testing.assert_allclose(said["ci95"], row["ci95"], rtol=0, atol=WITHIN)


def test_thresholds_are_those_of_the_published_file(measured):
    """Of people whom it has never seen; where it has seen everybody there are none."""
    name, fresh = measured
    card = zoo.card(name)
    if not card["thresholds"]:
        assert card["data"].get("test_subjects") in (None, [])
        return
    assert set(card["data"]["test_subjects"]) and card["data"]["train_subjects"]
    trials = fresh.trials
    for row in card["thresholds"]:
        accepted = trials.scores <= row["value"] + 1e-6 * abs(row["value"])
        assert accepted[~trials.genuine].mean() <= row["far"] + WITHIN
        assert accepted[trials.genuine].mean() == pytest.approx(row["tar"], abs=WITHIN)
