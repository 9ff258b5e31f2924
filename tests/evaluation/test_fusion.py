"""Tests that a learned similarity and a cosine are combined to one score correctly."""

import dataclasses
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics.pairwise import cosine_similarity

from keras_dml.evaluation import FusionStatistics, fuse, fusion_statistics, paired_cosine
from tests.goldens import golden

F32 = dict(rtol=1e-5, atol=1e-6)
SCORES = st.lists(
    st.tuples(st.floats(-50, 50), st.floats(-1, 1)),
    min_size=3,
    max_size=9,
    unique_by=lambda p: p[0],
).filter(lambda pairs: np.ptp(pairs, axis=0).min() > 1e-3)


def test_golden_verification_fusion():
    example = golden("verification-fusion", "seeds_p2")
    inputs, expected = example["inputs"], example["expected"]
    similarities = np.array(inputs["similarities"])
    cosines = paired_cosine(inputs["z_first"], inputs["z_second"])
    np.testing.assert_allclose(cosines, expected["cosines"], **F32)
    statistics = fusion_statistics(
        inputs["development_similarities"], inputs["development_cosines"]
    )
    for method in ("sum", "zscore", "bounded"):
        development = statistics if method == "zscore" else None
        fused = fuse(similarities, cosines, method, development=development)
        np.testing.assert_allclose(fused, expected[method], **F32)
    accepted = fuse(similarities, cosines) > inputs["threshold"]
    assert accepted.tolist() == expected["accept_sum"]
    assert (similarities > inputs["threshold"]).tolist() == expected["accept_similarity"]


def test_golden_cosine_of_a_zero_vector():
    example = golden("cosine-of-a-zero-vector", "seeds_p2")
    first, second = (np.array([example["inputs"][name]]) for name in ("first", "second"))
    value = example["expected"]["value"]
    assert paired_cosine(first, second) == paired_cosine(second, first) == value
    short, long = np.full((1, 3), 0.99e-12 / np.sqrt(3)), np.full((1, 3), 1.01e-12 / np.sqrt(3))
    assert paired_cosine(short, second) == 0.0
    assert paired_cosine(long, np.ones((1, 3))) == pytest.approx(1.0)


def test_paired_cosines_are_the_diagonal_of_the_table(rng):
    x, y = rng.normal(size=(2, 30, 7)).astype("f4")
    np.testing.assert_allclose(paired_cosine(x, y), np.diag(cosine_similarity(x, y)), rtol=1e-5)


@given(SCORES, st.floats(0.1, 20), st.floats(-20, 20))
def test_zscores_do_not_depend_on_scale_and_origin_of_the_similarity(pairs, scale, shift):
    similarity, cosine = np.array(pairs).T
    development = fusion_statistics(similarity, cosine)
    moved = scale * similarity + shift
    there = fusion_statistics(moved, cosine)
    np.testing.assert_allclose(
        fuse(moved, cosine, "zscore", development=there),
        fuse(similarity, cosine, "zscore", development=development),
        rtol=0,
        atol=1e-6,
    )


@given(SCORES)
def test_bounded_scores_are_bounded_and_every_method_grows_in_both(pairs):
    similarity, cosine = np.array(pairs).T
    bounded = fuse(1e3 * similarity, cosine, "bounded")
    assert ((bounded >= 0) & (bounded <= 1)).all()
    for method in ("sum", "bounded"):
        assert (fuse(similarity + 1, cosine, method) >= fuse(similarity, cosine, method)).all()
        assert (fuse(similarity, cosine + 1, method) > fuse(similarity, cosine, method)).all()


def test_score_matrices_are_fused_elementwise(rng):
    matrix = rng.normal(size=(4, 5))
    np.testing.assert_array_equal(fuse(matrix, np.tanh(matrix)), matrix + np.tanh(matrix))


def test_statistics_survive_a_card():
    statistics = fusion_statistics([5.0, 4.0, -6.0], [0.9, 0.7, 0.1])
    card = json.dumps(dataclasses.asdict(statistics))
    assert FusionStatistics(**json.loads(card)) == statistics


SCALE = FusionStatistics(0.0, 1.0, 0.0, 1.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: fuse([1.0, 2.0], [0.5]), r"\(2,\).*\(1,\).*same trials"),
        (lambda: fuse([np.nan, 2.0], [0.5, 0.1]), "`similarity` must be finite"),
        (lambda: fuse([1.0, 2.0], [0.5, np.nan]), "`cosine` must be finite"),
        (lambda: fuse([1.0], [0.5], "product"), "must be one of .*'bounded'.* Received 'product'"),
        (lambda: fuse([1.0], [0.5], "zscore"), '"zscore" requires `development`'),
        (lambda: fuse([1.0], [0.5], development=SCALE), "other methods do not accept it"),
        (lambda: fusion_statistics([1.0], [0.5]), "at least two trials. Received 1"),
        (lambda: fusion_statistics([1.0, 1.0], [0.5, 0.1]), "same `similarity` in all 2"),
        (lambda: fusion_statistics([1.0, 2.0], [0.5, 0.5]), "same `cosine` in all 2"),
        (lambda: paired_cosine(np.ones((3, 2)), np.ones((2, 2))), r"\(3, 2\).*\(2, 2\)"),
        (lambda: paired_cosine([1.0], [1.0]), r"shape \(trials, features\)"),
        (lambda: paired_cosine([[np.inf]], [[1.0]]), "`x` must be finite"),
    ],
)
def test_scores_that_cannot_be_fused_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
