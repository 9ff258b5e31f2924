"""The headline of every card, measured again from the published files on the real recordings."""

import numpy as np
import pytest

from keras_dml import zoo
from tests.zoo.test_models import MEASURED
from zoo import evidence

WITHIN = 0.001  # a tenth of a percentage point: another processor rounds otherwise


@pytest.mark.parametrize("name", MEASURED)
def test_the_headline_of_a_card_is_that_of_its_files(name, data_dir):
    card, found = zoo.card(name)["headline"], evidence.of_published(name).measured.headline
    assert {key: card[key] for key in found if key != "rows"} == {
        key: value for key, value in found.items() if key != "rows"
    }
    for said, measured in zip(card["rows"], found["rows"], strict=True):
        assert said["metric"] == measured["metric"]
        assert said["value"] == pytest.approx(measured["value"], abs=WITHIN)
        np.testing.assert_allclose(said["ci95"], measured["ci95"], rtol=0, atol=WITHIN)


@pytest.mark.parametrize("name", MEASURED)
def test_thresholds_are_those_of_the_published_file(name, data_dir):
    """Of people whom it has never seen; where it has seen everybody there are none."""
    card = zoo.card(name)
    if not card["thresholds"]:
        assert card["data"].get("test_subjects") in (None, [])
        return
    assert set(card["data"]["test_subjects"]) and card["data"]["train_subjects"]
    trials = evidence.of_published(name).measured.trials
    for row in card["thresholds"]:
        accepted = trials.scores <= row["value"] * (1 + 1e-6)
        assert accepted[~trials.genuine].mean() <= row["far"] + WITHIN
        assert accepted[trials.genuine].mean() == pytest.approx(row["tar"], abs=WITHIN)
