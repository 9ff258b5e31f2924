"""Tests `two_samples`, a two-sample test that permutes people and compares the maximum mean
discrepancy (MMD)."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from keras_dml import evaluation
from keras_dml.evaluation import _two_samples
from tests.goldens import golden


def two_samples(similarity, x, y, **options):
    """Runs the two-sample test. Each example belongs to a different person."""
    people = np.split(np.arange(len(x) + len(y)), [len(x)])
    return evaluation.two_samples(similarity, x, y, **{"people": people, **options})


def of_matrix(matrix):
    """Returns a similarity function that looks up values in a matrix by the indices of examples."""
    matrix = np.array(matrix)
    return lambda a, b: matrix[np.ix_(a[:, 0], b[:, 0])]


def numbers(first, size):
    return np.arange(first)[:, None], np.arange(first, size)[:, None]


def gaussian(a, b):
    return np.exp(-np.sum((a[:, None] - b) ** 2, axis=-1) / 2)


def loop(matrix, first):
    """Computes the unbiased estimate of MMD^2 from three means over pairs of examples."""
    x, y = (np.flatnonzero(side).tolist() for side in (first, ~first))
    means = [np.mean([matrix[i, j] for i in s for j in s if i != j]) for s in (x, y)]
    return sum(means) - 2 * np.mean([matrix[i, j] for i in x for j in y])


def memberships(permutations, size, first):
    """Converts permutations of indices to booleans that are True for the examples in the first
    sample."""
    found = np.zeros((len(permutations), size), bool)
    np.put_along_axis(found, np.array(permutations)[:, :first], True, axis=1)
    return found


def test_golden_mmd_permutation():
    example = golden("mmd-permutation", "seeds_p2")
    inputs, expected = example["inputs"], example["expected"]
    kernel, first = np.array(inputs["kernel"]), inputs["first"]
    matrix, members = np.maximum(kernel, kernel.T), np.arange(7) < first
    draws = memberships(inputs["permutations"], 7, first)
    mmd2, p_value = _two_samples.permutation_test(matrix, members, [draws[:9], draws[9:]])
    assert mmd2 == pytest.approx(expected["mmd2"], rel=1e-9)
    assert p_value == pytest.approx(expected["p_value"], rel=1e-9)
    permuted = _two_samples._statistic(matrix)(draws)
    np.testing.assert_allclose(permuted, expected["permuted"], rtol=1e-9, atol=1e-12)
    assert np.sum(permuted >= mmd2) == expected["at_least_as_large"]
    splits = memberships(list(itertools.combinations(range(7), first)), 7, first)
    every = _two_samples._statistic(matrix)(splits)
    assert np.mean(every >= mmd2 - 1e-12) == pytest.approx(expected["p_value_over_all_35_splits"])
    assert every.mean() == pytest.approx(expected["mean_over_all_35_splits"], abs=1e-12)
    assert two_samples(of_matrix(kernel), *numbers(first, 7)).mmd2 == pytest.approx(mmd2)


def test_golden_mmd_gaussian_kernel():
    example = golden("mmd-gaussian-kernel", "seeds_p2")
    pool, first = np.array(example["inputs"]["pool"]), example["inputs"]["first"]
    found = two_samples(gaussian, pool[:first], pool[first:], permutations=9)
    assert found.mmd2 == pytest.approx(example["expected"]["mmd2"], rel=1e-9)
    matrix, first_of = gaussian(pool, pool), np.arange(len(pool)) < first
    signs = np.where(first_of, 1 / first, -1 / (len(pool) - first))
    assert signs @ matrix @ signs == pytest.approx(example["expected"]["mmd2_biased"], rel=1e-9)


@given(st.integers(2, 4), st.integers(2, 4), st.sampled_from(["max", "mean"]), st.data())
def test_the_estimate_is_its_three_means_whatever_the_similarity(m, n, symmetry, data):
    values = st.floats(-100, 100)
    matrix = data.draw(npst.arrays(float, (m + n, m + n), elements=values))
    found = two_samples(of_matrix(matrix), *numbers(m, m + n), permutations=3, symmetry=symmetry)
    both = np.maximum(matrix, matrix.T) if symmetry == "max" else (matrix + matrix.T) / 2
    assert found.mmd2 == pytest.approx(loop(both, np.arange(m + n) < m), abs=1e-9)


def test_a_constant_and_a_scale_of_the_similarity_leave_the_p_value(rng):
    matrix = rng.normal(size=(12, 12))
    once = two_samples(of_matrix(matrix), *numbers(5, 12), permutations=200)
    moved = two_samples(of_matrix(1e6 + 1e3 * matrix), *numbers(5, 12), permutations=200)
    assert moved.p_value == once.p_value
    assert moved.mmd2 == pytest.approx(1e3 * once.mmd2, rel=1e-6)


def test_permutations_that_restore_the_samples_count_despite_rounding(rng):
    """Tests two samples of two examples each. A third of all permutations restores or exchanges
    these samples."""
    matrix = 0.1 * rng.normal(size=(4, 4)) + 1e5
    matrix[:2, :2] += 1
    matrix[2:, 2:] += 1
    found = two_samples(of_matrix(matrix), *numbers(2, 4), permutations=2000)
    assert found.p_value == pytest.approx(1 / 3, abs=0.05)


def test_p_values_are_uniform_for_equal_distributions(rng):
    """Tests the p-values of a similarity that is neither symmetric nor positive definite."""
    weights = rng.normal(size=(2, 3, 8))

    def similarity(a, b):
        return np.tanh((a @ weights[0])[:, None] + b @ weights[1]).sum(axis=-1)

    found = [
        two_samples(similarity, *rng.normal(size=(2, 8, 3)), permutations=99, seed=seed).p_value
        for seed in range(200)
    ]
    assert np.mean(np.array(found) <= 0.05) < 0.1
    assert 0.4 < np.mean(found) < 0.6


def test_different_samples_are_rejected(rng):
    x, y = rng.normal(size=(30, 2)), rng.normal(size=(40, 2)) + 1.5
    found = two_samples(gaussian, x, y, seed=1)
    assert found.p_value == 0.001 and found.mmd2 > 0.1
    assert two_samples(gaussian, x, y, seed=1) == found


def test_the_size_of_a_block_does_not_change_the_result(rng, monkeypatch):
    x, y = rng.normal(size=(9, 2)), rng.normal(size=(7, 2)) + 0.4
    whole = two_samples(gaussian, x, y, permutations=50)
    monkeypatch.setattr(_two_samples, "VALUES_AT_ONCE", 100)
    assert two_samples(gaussian, x, y, permutations=50).p_value == whole.p_value


def test_it_prints_the_figures_with_their_counts():
    result = _two_samples.TwoSamples(0.01234, 0.004, 999, 1200, 900, 1010)
    assert str(result) == (
        "MMD² 0.01234, p = 0.004 (1,200 and 900 examples of 1,010 people, 999 permutations of "
        "people)"
    )


def walks(rng, people, recordings):
    """Draws examples around one center per person, shape `(people * recordings, 2)`."""
    centers = np.repeat(rng.normal(size=(people, 2)), recordings, axis=0)
    return centers + 0.3 * rng.normal(size=centers.shape)


@pytest.mark.parametrize(("people", "recordings"), [(8, 5), (4, 10), (5, 1)])
def test_equal_samples_of_few_people_are_rejected_at_the_level(people, recordings):
    """Runs 200 tests at the 5 % level on equal distributions. The probability of 19 or more
    rejections is 1 %."""
    names = np.repeat(np.arange(2 * people), recordings)
    rejected = 0
    for seed in range(200):
        rng = np.random.default_rng([people, seed])
        x, y = walks(rng, people, recordings), walks(rng, people, recordings)
        result = evaluation.two_samples(
            gaussian, x, y, people=np.split(names, 2), permutations=99, seed=seed
        )
        rejected += result.p_value <= 0.05
    assert rejected < 19
    assert result.people == 2 * people


def test_people_of_both_samples_exchange_their_examples(rng):
    """Tests six people who have examples in both samples, so that 64 permutations are possible."""
    day, next_day = walks(rng, 6, 4), walks(rng, 6, 4)
    people = np.repeat(list("abcdef"), 4)
    pool = np.concatenate([day, next_day])
    matrix, first = gaussian(pool, pool), np.arange(48) < 24
    moved = [np.tile(np.repeat(moves, 4), 2) for moves in itertools.product([0, 1], repeat=6)]
    values = [loop(matrix, first ^ (moves == 1)) for moves in moved]
    expected = np.mean(np.array(values) >= loop(matrix, first) - 1e-12)
    result = evaluation.two_samples(
        gaussian, day, next_day, people=(people, people), permutations=4000
    )
    assert result.p_value == pytest.approx(expected, abs=0.03)
    assert result.people == 6


def test_different_samples_of_people_are_rejected(rng):
    x, y = walks(rng, 12, 3), walks(rng, 9, 4) + 3
    people = np.repeat(np.arange(12), 3), np.repeat(np.arange(12, 21), 4)
    assert evaluation.two_samples(gaussian, x, y, people=people).p_value == 0.001


def test_permutations_that_leave_one_example_raise_the_p_value(rng):
    """Tests three people. One person has three examples, and the two other people have one example
    each. A third of all splits is valid.
    """
    people = [0, 0, 0], [1, 2]
    result = evaluation.two_samples(
        gaussian, rng.normal(size=(3, 2)) + 9, rng.normal(size=(2, 2)), people=people
    )
    assert result.p_value == 1


def test_the_order_of_examples_does_not_matter(rng):
    x, y = walks(rng, 6, 3), walks(rng, 5, 3)
    names = np.repeat(np.arange(6), 3), np.repeat(np.arange(6, 11), 3)
    order = rng.permutation(18)
    result = evaluation.two_samples(gaussian, x, y, people=names)
    again = evaluation.two_samples(gaussian, x[order], y, people=(names[0][order], names[1]))
    assert again.p_value == result.p_value
    assert again.mmd2 == pytest.approx(result.mmd2, abs=1e-12)


X = np.arange(6.0).reshape(3, 2)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (dict(x=X[:1]), r"\(1, 2\).*\(3, 2\).*at least 2 examples in each"),
        (dict(y=X[:1]), "at least 2 examples in each"),
        (dict(y=X[:, :1]), r"\(3, 2\).*\(3, 1\)"),
        (dict(x=X[:, 0], y=X[:, 0]), r"shapes \(m, ...\)"),
        (dict(x=np.where(X == 2, np.nan, X)), "`x and y` must be finite"),
        (dict(similarity=lambda a, b: a), "`similarity` must return one value for each pair"),
        (dict(similarity=lambda a, b: a @ b.T * np.nan), "`similarities` must be finite"),
        (dict(permutations=0), "`permutations` must be at least 1"),
        (dict(symmetry="none"), "must be one of .*'mean'.* Received 'none'"),
        (dict(people=None), r"`people` = None.*range\(3\), range\(3, 6\)"),
        (dict(people=([0, 1, 2],)), "`people` must be the pair.*1 entries"),
        (dict(people=7), "`people` must be the pair.*7"),
        (dict(people="ab"), "`people` must be the pair"),
        (
            dict(people=([0, 1], [2, 3, 4])),
            r"\(2,\) and \(3,\).*the 3 examples of `x`",
        ),
    ],
)
def test_samples_that_cannot_be_compared_are_refused(changes, message):
    given_ = dict(similarity=gaussian, x=X, y=X) | changes
    with pytest.raises(ValueError, match=message):
        two_samples(**given_)


def test_names_of_two_kinds_are_refused():
    with pytest.raises(TypeError, match="must have one type"):
        evaluation.two_samples(gaussian, X, X, people=([0, 1, 2], list("abc")))
