"""Tests `imposters`, which evaluates open-set identification: some probes belong to people who are
not enrolled."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from keras_dml.evaluation import imposters
from tests.evaluation import oracles

GALLERY = ["ann", "bob", "cleo"]
PROBES = np.array(["ann", "bob", "cleo", "dan", "eve"])


@given(npst.arrays(int, (5, 3), elements=st.integers(0, 4)))
def test_figures_are_those_of_slow_loops(matrix):
    found = imposters(matrix, PROBES, GALLERY)
    nearest = matrix.min(axis=1)
    assert found.auc == pytest.approx(oracles.auc(nearest[:3], nearest[3:]), abs=1e-12)
    wrong = 1 - oracles.accuracy(matrix[:3].tolist(), range(3))
    assert found.misidentification == pytest.approx(wrong, abs=1e-12)
    assert found.detection.trials == (3, 2)


def test_a_misidentified_person_counts_as_accepted():
    matrix = np.array([[0.9, 0.1, 0.9], [0.9, 0.2, 0.9], [0.9, 0.9, 0.3], [0.8] * 3, [0.7] * 3])
    found = imposters(matrix, PROBES, GALLERY)
    assert found.auc == 1.0
    assert found.misidentification == pytest.approx(1 / 3)


def test_the_threshold_of_the_eer_is_returned():
    matrix = np.array([[0.1, 0.9, 0.9], [0.9, 0.2, 0.9], [0.9, 0.9, 0.3], [0.8] * 3, [0.7] * 3])
    assert imposters(matrix, PROBES, GALLERY).detection.eer_threshold == pytest.approx(0.5)


def test_it_prints_both_figures_with_their_counts():
    matrix = np.array([[0.1, 0.9, 0.9], [0.9, 0.2, 0.9], [0.9, 0.9, 0.3], [0.8] * 3, [0.7] * 3])
    assert str(imposters(matrix, PROBES, GALLERY)) == (
        "imposter AUC 1.0000, misidentified 0.0 % (3 probes of 3 people enrolled, 2 probes of "
        "imposters)"
    )


@pytest.mark.parametrize("probes", [["ann", "bob"], ["dan", "eve"]])
def test_both_kinds_of_probes_are_needed(probes):
    with pytest.raises(ValueError, match="probes of enrolled people and . probes of imposters"):
        imposters(np.ones((2, 3)), probes, GALLERY)
