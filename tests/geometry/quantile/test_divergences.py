import math

import numpy as np
import pytest

from keras_dml.geometry import quantile
from keras_dml.geometry.quantile import divergences, wasserstein
from tests.goldens import golden


def example_of(name):
    example = golden(name)
    knots = np.asarray(quantile.knots(np.asarray(example["inputs"]["alpha"], np.float64)))
    return example, np.asarray(example["inputs"]["A"]), np.asarray(example["inputs"]["B"]), knots


@pytest.mark.parametrize("name", ["js_overlap", "js_atoms"])
def test_golden_divergences(name):
    example, (a,), (b,), knots = example_of(name)
    result = {
        "kl_ab": divergences.kullback_leibler(a, b, knots),
        "kl_ba": divergences.kullback_leibler(b, a, knots),
        "js": divergences.jensen_shannon(a, b, knots),
        "sqrt_js": divergences.jensen_shannon_distance([a], [b], knots),
    }
    for key, expected in example["expected"].items():
        assert result[key] == pytest.approx(expected, abs=example["tolerance"])


@pytest.mark.slow_on_jax
def test_beyond_disjoint_supports_only_the_wasserstein_distance_sees_the_gap():
    example, a, far, knots = example_of("js_disjoint")
    result = [divergences.jensen_shannon(a[0], b[0], knots) for b in far]
    np.testing.assert_allclose(result, example["expected"]["js"], rtol=0, atol=example["tolerance"])
    np.testing.assert_allclose(result, math.log(2), rtol=0, atol=1e-12)
    gaps = np.asarray(wasserstein.distance(a[None], far, knots))
    np.testing.assert_allclose(gaps, example["expected"]["d1"], rtol=0, atol=1e-9)


def test_the_distance_is_symmetric_and_zero_for_identical_embeddings(rng):
    x, y = np.sort(rng.normal(size=(2, 3, 6)), axis=-1)
    knots = np.linspace(0, 1, 6)
    assert divergences.jensen_shannon_distance(x, x, knots) == 0
    there, back = (
        divergences.jensen_shannon_distance(x, y, knots),
        divergences.jensen_shannon_distance(y, x, knots),
    )
    assert there == pytest.approx(back, rel=1e-12)


@pytest.mark.parametrize("measure", ["kullback_leibler", "jensen_shannon"])
def test_other_numbers_of_knots_are_refused(measure):
    with pytest.raises(ValueError, match=r"number of knots.*Received shapes \(2,\), \(3,\)"):
        getattr(divergences, measure)([0.0, 1.0], [0.0, 1.0, 2.0], [0.0, 0.5, 1.0])


def test_leading_axes_broadcast_to_the_values_of_single_pairs(rng):
    x, y = np.sort(rng.normal(size=(4, 1, 3, 6)), axis=-1), np.sort(rng.normal(size=(5, 3, 6)))
    x[1, 0, 0, 1:4] = y[2, 1, 2:4] = y[0, 0, :2] = 0.25  # atoms, two of them at one place
    x, y = np.sort(x, axis=-1), np.sort(y, axis=-1)
    knots = np.array([0.0, 0.1, 0.3, 0.35, 0.8, 1.0])
    for measure in (divergences.kullback_leibler, divergences.jensen_shannon):
        result = measure(x, y, knots)
        single = [
            [[measure(a, b, knots) for a, b in zip(first[0], second, strict=True)] for second in y]
            for first in x
        ]
        assert result.shape == (4, 5, 3)
        np.testing.assert_allclose(result, single, rtol=1e-12, atol=1e-15)
    whole = divergences.jensen_shannon_distance(x, y, knots)
    np.testing.assert_allclose(whole[1, 2], np.sqrt(result[1, 2]).sum(), rtol=1e-12)


def test_masses_of_both_sum_to_one_whatever_the_ties(rng):
    x, y = np.sort(rng.integers(0, 4, size=(2, 50, 6)), axis=-1).astype(float)
    knots = np.array([0.0, 0.1, 0.3, 0.35, 0.8, 1.0])
    for mass in divergences._masses(x, y, knots):
        np.testing.assert_allclose(mass.sum(axis=-1), 1.0, rtol=1e-12)
