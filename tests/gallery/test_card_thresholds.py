"""Tests that galleries use thresholds of the model card and adapt them to few people."""

import shutil

import numpy as np
import pytest

from keras_dml import edge, zoo
from keras_dml.gallery import Gallery, calibration, check, info
from keras_dml.gallery.calibration import calibrated
from keras_dml.gallery.results import MOVED
from keras_dml.zoo import lookup

NAME = "vowels_qp_wl"
ROW = {
    "value": 0.0,
    "tar": 0.9,
    "tar_ci95": [0.8, 1.0],
    "people": 40,
    "trials": 900,
    "enrolled": 3,
    "certificate": {"ci95": [0.0, 0.2], "independent": 400.0, "strictest": 0.0075},
}


def card(rates):
    """Returns a card whose imposter distances have mean 10 and standard deviation 2."""
    rows = [{**ROW, "far": far, "value": value} for far, value in rates.items()]
    return {"thresholds": rows, "imposters": {"mean": 10.0, "stddev": 2.0}}


def claims(rng, people, mean=10.0, stddev=2.0, gap=8.0, each=4):
    """Returns the scores and the people of claims.

    The scores of imposters are normally distributed.
    """
    names = np.repeat([f"person {i:02d}" for i in range(people)], each)
    probes, claimed = (x.ravel() for x in np.broadcast_arrays(names[:, None], np.unique(names)))
    scores = rng.normal(mean, stddev, len(probes))
    return np.where(probes == claimed, scores - gap, scores), probes, claimed


def utterances(offset, count=4):
    noise = np.random.default_rng(int(10 * offset))
    return [noise.normal(offset, 0.1, (20, 12)) for _ in range(count)]


@pytest.fixture
def family(tmp_path):
    with Gallery(tmp_path / "family.db", NAME) as gallery:
        for name, offset in (("ada", 0.0), ("bo", 1.0)):
            gallery.enroll(name, utterances(offset))
        yield gallery


@pytest.mark.slow
def test_the_card_s_threshold_of_one_percent_decides_until_another_is_set(family):
    row = next(row for row in zoo.card(NAME)["thresholds"] if row["far"] == 0.01)
    decision = family.verify("ada", utterances(0.0, 1))
    assert (decision.threshold, decision.far, decision.provisional) == (row["value"], 0.01, True)
    assert family.deciding.value == row["value"]
    assert decision.accepted and "provisional" in str(decision)
    nearest = family.identify(utterances(1.0, 1))
    assert (nearest.person, nearest.provisional, nearest.extrapolated) == ("bo", True, False)
    volunteers = [x for i in range(2, 14) for x in utterances(i)]
    set_by = family.calibrate(volunteers, np.repeat(list("cdefghijklmn"), 4), 0.5)
    after = family.verify("ada", utterances(0.0, 1))
    assert (after.threshold, after.far, after.provisional) == (set_by.value, 0.5, False)
    assert family.deciding == set_by
    family.remove_threshold(0.5)
    assert family.verify("ada", utterances(0.0, 1)).provisional


@pytest.mark.slow
def test_another_rate_of_the_card_decides_if_it_is_named(family):
    values = {row["far"]: row["value"] for row in zoo.card(NAME)["thresholds"]}
    assert len(values) > 1 and set(family.provisional) == set(values)
    for far, value in values.items():
        assert family.identify(utterances(1.0, 1), far=far).threshold == value
    with pytest.raises(ValueError, match="0.37"):
        family.verify("ada", utterances(0.0, 1), far=0.37)


def test_card_thresholds_are_known_without_loading_the_model(family):
    check(family.path, "ada", decides_by="threshold")
    facts = info(family.path)
    assert facts.thresholds == {} and facts.provisional == family.provisional


def test_without_a_card_the_nearest_people_are_listed_and_nothing_is_decided(
    tmp_path, model, people
):
    with Gallery(tmp_path / "own.db", model) as gallery:
        gallery.enroll("ada", people("alice", 3))
        gallery.enroll("bo", people("bob", 3))
        identification = gallery.identify(people("bob", 1))
        assert [candidate.person for candidate in identification.candidates] == ["bo", "ada"]
        assert (identification.person, identification.threshold, identification.provisional) == (
            None,
            None,
            False,
        )
        assert "no threshold" in identification.answer and "bo" in str(identification)
        for call in (
            lambda: gallery.verify("bo", people("bob", 1)),
            lambda: gallery.identify(people("bob", 1), far=0.01),
        ):
            with pytest.raises(ValueError, match="No threshold"):
                call()


@pytest.mark.parametrize(("mean", "stddev"), [(10.0, 2.0), (35.0, 2.0), (10.0, 0.1), (-1.0, 50.0)])
def test_a_card_is_moved_to_the_mean_and_the_spread_of_few_people(rng, mean, stddev):
    """The threshold of the card is 1.64 standard deviations below the mean of the card.

    The threshold of the gallery must also be below the mean of the gallery. Because there are only
    six people, the 1.64 standard deviations are multiplied by 1 + 2.9 / 6.
    """
    scores, *people = claims(rng, 6, mean, stddev)
    false = people[0] != people[1]
    moments = scores[false].mean(), scores[false].std()
    threshold = calibrated(scores, *people, 0.05, card=card({0.05: 10 - 2 * 1.645}))
    assert threshold.value == pytest.approx(
        moments[0] - (1 + 2.9 / 6) * 1.645 * moments[1], rel=1e-6
    )
    assert (threshold.method, threshold.people, threshold.extrapolated) == (MOVED, 6, False)
    assert threshold.far_ci95[0] == 0 and 0.05 < threshold.far_ci95[1] < 0.2


def test_enough_people_set_a_threshold_without_the_card(rng):
    scores, *people = claims(rng, 40)
    threshold = calibrated(scores, *people, 0.05, card=card({0.05: 3.0}))
    assert threshold.method != MOVED and threshold.value == pytest.approx(10 - 2 * 1.645, abs=0.5)


@pytest.mark.parametrize(
    ("people", "far", "model_card"),
    [
        (4, 0.05, card({0.05: 7.0})),  # too few people
        (6, 0.02, card({0.05: 7.0})),  # the card has no threshold for this rate
        (6, 0.001, card({0.001: 1.0})),  # the rule was not measured for this rate
        (6, 0.05, {"thresholds": card({0.05: 7.0})["thresholds"]}),  # an older card
        (6, 0.05, None),
    ],
)
def test_a_rate_that_the_people_do_not_support_is_refused(rng, people, far, model_card):
    scores, *sides = claims(rng, people)
    with pytest.raises(ValueError, match=f"beyond what these {people} people"):
        calibrated(scores, *sides, far, card=model_card)


def test_about_nine_of_ten_groups_keep_the_rate(rng):
    """The mean and the spread of imposter scores differ from the card, and vary by person."""
    model_card, groups, above = card({0.05: 10 - 2 * 1.645}), 200, 0
    pairs = np.nonzero(~np.eye(6, dtype=bool))  # pairs of six volunteers
    for _ in range(groups):
        person = rng.normal(0, 1, 40)
        between = 30 + rng.normal(0, 2, (4, 40, 40)) + person[:, None] + person
        sides = tuple(np.tile(side, 4) for side in pairs)
        limit = calibration.moved(model_card, 0.05, between[:, *pairs].ravel(), sides)
        above += (
            between[:, 10:, 6:10] <= limit.value
        ).mean() > 0.05  # claims of strangers to be enrolled people
    assert 0.01 < above / groups < 0.15


def test_a_model_that_is_gone_has_no_thresholds():
    for name in (None, "nothing_qp_wl", "/nowhere/model.keras"):
        assert calibration.provisional_by_name(name) == {}


def test_a_folder_and_its_files_have_the_card_s_thresholds():
    folder = lookup.find(NAME)
    for path in (folder, folder / "model.keras", folder / "model.tflite"):
        assert calibration.provisional_by_name(str(path)) == calibration.provisional_by_name(NAME)


def test_a_file_that_the_card_does_not_name_has_no_thresholds(tmp_path):
    """Tests a file with other weights, such as float16, beside the file that the card names."""
    for name in ("card.json", "model.keras", "model.tflite"):
        shutil.copy(lookup.find(NAME) / name, tmp_path / name)
    shutil.copy(tmp_path / "model.tflite", tmp_path / "float16.tflite")
    assert calibration.provisional_by_name(str(tmp_path / "model.tflite"))
    assert calibration.provisional_by_name(str(tmp_path / "float16.tflite")) == {}
    assert edge.load(tmp_path / "float16.tflite").card is None
