"""The headline of every card and the other methods beside it, measured again from the published
files on the real recordings."""

import numpy as np
import pytest

from keras_dml import zoo
from keras_dml.training.answers import Answers
from tests import memory
from tests.zoo.test_models import NAMES
from zoo import evidence

WITHIN = 0.001  # a tenth of a percentage point: another processor rounds otherwise
# Whose other methods take half a minute each and more: `python -m zoo.measure NAME` prints them.
HEADLINE_ALONE = (
    "cifar10_proto_sim",
    "eye_qp_wl",
    "phone_gait_qp_wl",
    "voice_ge2e_sim",
    "voice_logcov_lda",
    "voice_xvector_sim",
)


def measure(name):
    """Measurement of a published model, its baselines except for `HEADLINE_ALONE`, and the trials
    of its thresholds, or None; of its recordings nothing is kept."""
    given = evidence.of_published(name)
    others = None
    if name not in HEADLINE_ALONE:
        others = given.measured.baselines(given.baselines())
    found = given.measured, others, None if isinstance(given.measured, Answers) else given.trials
    evidence.of_published.cache_clear()
    memory.give_back()
    return found


@pytest.fixture(scope="module", params=NAMES)
def measured(request, data_dir, apart):
    """Name, measurement, baselines and trials of the thresholds of a model."""
    return request.param, *apart.submit(measure, request.param).result()


def assert_same(said, found):
    """Rows of a card are those that were measured."""
    for row, own in zip(said, found, strict=True):
        assert row["metric"] == own["metric"]
        assert row["value"] == pytest.approx(own["value"], abs=WITHIN)
        np.testing.assert_allclose(row["ci95"], own["ci95"], rtol=0, atol=WITHIN)


def test_the_headline_of_a_card_is_that_of_its_files(measured):
    name, fresh, *_ = measured
    card, found = zoo.card(name)["headline"], fresh.headline
    assert {key: card[key] for key in found if key != "rows"} == {
        key: value for key, value in found.items() if key != "rows"
    }
    assert_same(card["rows"], found["rows"])


def test_other_methods_have_the_figures_of_the_card_on_the_same_trials(measured):
    name, _, fresh, _ = measured
    if name in HEADLINE_ALONE:
        return
    for said, found in zip(zoo.card(name)["baselines"], fresh, strict=True):
        assert all(said[key] == found[key] for key in ("name", "what", "kind"))
        assert_same(said["rows"], found["rows"])
        assert_same([said["difference"]], [found["difference"]])


def test_thresholds_are_those_of_the_published_file(measured):
    """Of people whom it has never seen; where it has seen everybody there are none."""
    name, _, _, trials = measured
    card = zoo.card(name)
    if not card["thresholds"]:
        assert card["data"].get("test_subjects") in (None, [])
        return
    assert set(card["data"]["test_subjects"]) and card["data"]["train_subjects"]
    for row in card["thresholds"]:
        accepted = trials.scores <= row["value"] + 1e-6 * abs(row["value"])
        assert accepted[~trials.genuine].mean() <= row["far"] + WITHIN
        assert accepted[trials.genuine].mean() == pytest.approx(row["tar"], abs=WITHIN)
