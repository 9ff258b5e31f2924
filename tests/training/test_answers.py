"""Tests that accuracies have correct intervals, and that differences of methods are paired."""

import numpy as np
import pytest

from keras_dml.training.answers import Answers


def test_an_accuracy_over_images_has_the_interval_of_wilson():
    headline = Answers(np.arange(100) < 90).headline
    assert headline["images"] == 100 and "unit" not in headline
    (row,) = headline["rows"]
    assert (row["metric"], row["value"]) == ("accuracy", 0.9)
    assert row["ci95"] == pytest.approx([0.8256, 0.9448], abs=1e-4)  # Wilson, computed by hand


def test_without_an_error_the_interval_is_not_a_point():
    (row,) = Answers(np.ones(50, bool)).rows()
    assert row["value"] == 1 and row["ci95"][0] < 0.95 and row["ci95"][1] == 1


def test_where_alphabets_differ_their_interval_is_wider_than_that_of_images():
    groups = np.repeat(np.arange(20), 100)
    right = np.random.default_rng(3).random(2000) < 0.6 + 0.02 * groups
    (over_images,), found = Answers(right).rows(), Answers(right, groups, "alphabets").headline
    assert (found["unit"], found["alphabets"], found["images"]) == ("alphabets", 20, 2000)
    assert np.ptp(found["rows"][0]["ci95"]) > 2 * np.ptp(over_images["ci95"])


def test_a_difference_is_paired():
    """If two methods err on nearly the same images, a small difference is significant."""
    right = np.arange(1000) < 900
    other = np.arange(1000) < 880
    first, same = Answers(right).baselines(
        {"fewer": ("errs more", "instead", other), "same": ("errs alike", "no network", right)}
    )
    assert first["kind"] == "instead" and first["rows"] == Answers(other).rows()
    assert first["difference"]["value"] == pytest.approx(0.02)
    assert first["difference"]["ci95"][0] > 0
    level = {"metric": "accuracy", "value": 0.0, "ci95": [-0.003, 0.003], "mcnemar_p": 1.0}
    assert same["difference"] == level


def test_mcnemars_p_is_that_of_the_answers_on_which_two_methods_disagree():
    """Ten answers are right with the first method only, and two with the second method only.

    By hand, p is 2 (1 + 12 + 66) / 4096.
    """
    right, other = np.ones((2, 1000), bool)
    other[:10], right[10:12] = False, False
    (found,) = Answers(right).baselines({"other": ("another", "instead", other)})
    assert found["difference"]["mcnemar_p"] == pytest.approx(2 * (1 + 12 + 66) / 4096)
    (grouped,) = Answers(right, np.arange(1000) // 50, "alphabets").baselines(
        {"other": ("another", "instead", other)}
    )
    assert "mcnemar_p" not in grouped["difference"]  # answers on one alphabet are dependent
