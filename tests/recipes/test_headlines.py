"""Tests that published model files reproduce the main result and the baselines of every card.

The tests evaluate the files on the real recordings.
"""

import numpy as np
import pytest

from keras_dml import zoo
from tests import memory
from tests.zoo.test_models import NAMES
from zoo import evidence

pytestmark = pytest.mark.slow
WITHIN = 0.001  # tolerance of a tenth of a percentage point for rounding on other processors
# Models with baselines that take more than half a minute each, so that only the main result is
# measured here. `python -m zoo.measure NAME` also measures the baselines.
HEADLINE_ALONE = (
    "cifar10_proto_sim",
    "eye_qp_wl",
    "phone_gait_qp_wl",
    "voice_ge2e",
    "voice_ge2e_sim",
    "voice_logcov_lda",
    "voice_xvector_sim",
)


def measure(name):
    """Measures a published model.

    Returns:
        Measurement, baselines (None for models in `HEADLINE_ALONE`), and thresholds for galleries.
    """
    given = evidence.of_published(name)
    others = None
    if name not in HEADLINE_ALONE:
        others = given.measured.baselines(given.baselines())
    has_unseen = zoo.card(name)["data"].get("test_subjects") != []
    return given.measured, others, given.decisions(has_unseen)


@pytest.fixture(scope="module", params=NAMES)
def measured(request, data_dir):
    """Returns the name, the measurement, the baselines and the thresholds of a model."""
    return request.param, *memory.in_new_process(measure, request.param)


def assert_same(said, found):
    """Asserts that rows of a card equal the measured rows, up to the tolerance."""
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


def test_thresholds_are_of_people_whom_the_models_have_not_seen(measured):
    """Tests that the thresholds of a card are reproduced.

    The thresholds come from the published file. If the published file was trained on all people,
    the thresholds come from a cross-validation.
    """
    name, _, _, fresh = measured
    card = zoo.card(name)
    if not fresh.get("thresholds"):
        assert not card["thresholds"] and "imposters" not in card
        return
    assert card["imposters"] == pytest.approx(fresh["imposters"], rel=1e-3)
    for row, found in zip(card["thresholds"], fresh["thresholds"], strict=True):
        assert (row["far"], row.get("carried")) == (found["far"], found.get("carried"))
        assert row["value"] == pytest.approx(found["value"], rel=1e-3)
        assert row["tar"] == pytest.approx(found["tar"], abs=WITHIN)
        bounds = row["certificate"]["ci95"]
        np.testing.assert_allclose(bounds, found["certificate"]["ci95"], rtol=0, atol=WITHIN)
        tries, again = (one.get("best_of_tries", {}) for one in (row, found))
        assert tries.keys() == again.keys()
        for key in tries.keys() & {"far", "far_once", "tar", "tar_once"}:
            assert tries[key] == pytest.approx(again[key], abs=WITHIN), key
