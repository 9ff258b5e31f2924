"""Tests `identification`, which computes how often the nearest enrolled person is the correct
person (rank-1 accuracy)."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from keras_dml.evaluation import identification
from tests.evaluation import oracles


@given(npst.arrays(int, st.tuples(st.integers(1, 6), st.just(5)), elements=st.integers(0, 3)))
def test_accuracy_is_that_of_a_slow_loop_with_ties(matrix):
    probes = np.arange(len(matrix)) % 5
    found = identification(matrix, probes, np.arange(5))
    assert found.accuracy == pytest.approx(oracles.accuracy(matrix.tolist(), probes), abs=1e-12)


def test_a_tie_of_c_people_counts_one_in_c():
    found = identification([[1.0, 1.0, 1.0, 2.0]], ["b"], ["a", "b", "c", "d"])
    assert found.accuracy == pytest.approx(1 / 3)


def test_a_person_counts_by_the_nearest_of_several_entries():
    matrix = np.array([[5.0, 2.0, 1.0], [4.0, 3.0, 9.0]])
    found = identification(matrix, ["ann", "bob"], ["ann", "bob", "ann"])
    assert (found.accuracy, found.trials, found.people) == (1.0, 2, 2)


def test_equal_entries_of_one_person_are_not_a_tie():
    assert identification([[1.0, 1.0, 2.0]], ["ann"], ["ann", "ann", "bob"]).accuracy == 1.0


def test_the_order_of_the_gallery_does_not_matter():
    rng = np.random.default_rng(0)
    matrix, gallery = rng.integers(0, 4, (20, 12)).astype(float), np.repeat(list("abcd"), 3)
    probes, order = rng.choice(list("abcd"), 20), rng.permutation(12)
    expected = identification(matrix, probes, gallery).accuracy
    assert identification(matrix[:, order], probes, gallery[order]).accuracy == expected


def test_it_prints_the_share_with_its_counts():
    assert str(identification([[0.0, 1.0]], [7], [7, 8])) == (
        "identification 100.0 % (1 probes, 2 people enrolled)"
    )


def test_strangers_are_refused_without_naming_them():
    with pytest.raises(ValueError, match="1 of 2 people.*evaluation.imposters") as error:
        identification(np.ones((2, 1)), ["ann", "secret"], ["ann"])
    assert "secret" not in str(error.value)


@pytest.mark.parametrize("shape", [(2, 2), (3,), (0, 2)])
def test_tables_that_do_not_fit_their_ids_are_refused(shape):
    with pytest.raises(ValueError, match=r"\(probes, gallery entries\)"):
        identification(np.ones(shape), ["ann", "bob", "ann"], ["ann", "bob"])


def test_an_empty_table_is_refused():
    with pytest.raises(ValueError, match="at least one probe"):
        identification(np.ones((0, 2)), [], ["ann", "bob"])


def test_distances_that_are_not_finite_are_refused():
    with pytest.raises(ValueError, match="`distances` must be finite"):
        identification([[np.nan, 1.0]], ["ann"], ["ann", "bob"])
