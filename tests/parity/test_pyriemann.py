"""Compares SPD geometry, covariance estimators and the Riemannian potato with pyRiemann.

pyRiemann computes in float64. When keras-dml is tested in float32, pyRiemann receives matrices that
were rounded to float32, so that differences come from the computation and not from the input.
"""

import itertools

import numpy as np
import pytest
from pyriemann.artifact_detection import Potato as PyRiemannPotato
from pyriemann.geometry.covariance import covariances
from pyriemann.geometry.distance import distance, pairwise_distance
from pyriemann.geometry.geodesic import geodesic_riemann
from pyriemann.geometry.mean import mean_logeuclid, mean_riemann
from pyriemann.geometry.tangentspace import (
    innerproduct_riemann,
    log_map_riemann,
    tangent_space,
    untangent_space,
)

from keras_dml import distances
from keras_dml._backend import ops
from keras_dml.geometry import spd
from keras_dml.layers import Covariance, ReEig, TangentMap
from keras_dml.potato import Potato
from tests.geometry import matrices

METRICS = {
    "affine_invariant": "riemann",
    "log_euclidean": "logeuclid",
    "stein": "logdet",
    "bures_wasserstein": "wasserstein",
}
CASES = ((1, 1.0), (2, 1e12), (5, 1.0), (5, 1e-12), (20, 1.0))  # size, scale
SPREADS = (1, 4, 6)  # half the logarithm of the condition number: up to 7, 3,000 and 160,000
RTOL = {"float64": 1e-7, "float32": 5e-4}
# Distances that are computed from traces and determinants lose digits for close matrices.
CANCELLATION = {"stein": 1e-3, "bures_wasserstein": 2e-3}


def numpy(tensor):
    return np.asarray(ops.convert_to_numpy(tensor))


def root_of_traces(x, y):
    """Returns the unit of a Bures-Wasserstein distance: the root of the sum of the traces."""
    return np.sqrt(np.trace(x, axis1=-2, axis2=-1) + np.trace(y, axis1=-2, axis2=-1))


# ---- distances --------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", METRICS)
def test_distances_of_pairs(rng, name):
    pairs = matrices.quick(getattr(spd, name))
    for spread, (n, scale) in itertools.product(SPREADS, CASES):
        x, y = scale * matrices.spd(rng, 2, 8, n, spread=spread)
        case = f"spread {spread}, n {n}, scale {scale}"
        expected = distance(x, y, metric=METRICS[name])
        np.testing.assert_allclose(pairs(x, y), expected, rtol=RTOL["float64"], err_msg=case)
        x, y = x.astype("float32"), y.astype("float32")
        expected = distance(x.astype("float64"), y.astype("float64"), metric=METRICS[name])
        unit = root_of_traces(x, y) if name == "bures_wasserstein" else 1
        error = np.abs(numpy(pairs(x, y)) - expected)
        limit = RTOL["float32"] * expected + CANCELLATION.get(name, 1e-6) * unit
        assert (error <= limit).all(), f"{case}: {error.max()} of {expected[error.argmax()]}"


@pytest.mark.parametrize("name", METRICS)
def test_distance_matrices(rng, name):
    x, y = matrices.spd(rng, 6, 4), matrices.spd(rng, 5, 4)
    for references, probes in ((x, y), (x[:1], y), (x, y[:1]), (x, x)):
        expected = pairwise_distance(references, probes, metric=METRICS[name])
        result = numpy(distances.get(name)(references, probes))
        np.testing.assert_allclose(result, expected, rtol=1e-7, atol=1e-6)


def test_the_distance_and_gradient_of_diagonal_matrices_far_apart():
    """Tests a pair of matrices whose eigenvalues span eight orders of magnitude.

    The eigenvalues of each matrix span four orders of magnitude.
    """
    x, y = np.diag([1e-4, 1.0]), np.diag([1.0, 1e-4])
    expected = distance(x, y, metric="riemann")
    assert expected == pytest.approx(np.sqrt(2) * np.log(1e4))
    slope = -np.linalg.inv(y) @ log_map_riemann(x, y, C12=True) @ np.linalg.inv(y) / expected
    np.testing.assert_allclose(slope, np.diag([np.sqrt(0.5), -1e4 * np.sqrt(0.5)]), rtol=1e-9)
    for dtype, rtol in {"float64": 1e-9, "float32": 1e-4}.items():
        arrays = (x.astype(dtype), y.astype(dtype))
        value, (_, in_y) = matrices.with_gradients(spd.affine_invariant, 1, *arrays)
        np.testing.assert_allclose(value, expected, rtol=rtol)
        np.testing.assert_allclose(np.diag(in_y), np.diag(slope), rtol=rtol)


def test_nearest_neighbors_of_short_recordings(rng):
    """Tests rectified covariances of recordings with fewer steps than channels, in float32.

    The smallest eigenvalues of two recordings have different directions. Therefore the generalized
    eigenvalues of a pair span nine orders of magnitude.
    """
    signals = (rng.normal(size=(24, 6, 8)) * np.linspace(0.5, 2, 8)).astype("float32")
    x = numpy(ReEig()(Covariance()(signals)))
    x = (x + np.swapaxes(x, 1, 2)) / 2  # pyRiemann needs exact symmetry
    expected = pairwise_distance(x.astype("float64"), metric="riemann")
    result = numpy(distances.get("affine_invariant")(x, x)).astype("float64")
    separate = ~np.eye(24, dtype=bool)
    np.testing.assert_allclose(result[separate], expected[separate], rtol=1e-3)
    nearest = (np.where(separate, table, np.inf).argmin(axis=1) for table in (result, expected))
    np.testing.assert_array_equal(*nearest)


def test_gradients_are_pyriemanns_logarithmic_maps(rng):
    for spread, rtol in {1: 1e-9, 4: 1e-6}.items():
        x, y = matrices.spd(rng, 2, 5, spread=spread)
        value, (in_x, in_y) = matrices.with_gradients(spd.affine_invariant, 1, x, y)
        for result, here, there in ((in_x, x, y), (in_y, y, x)):
            inverse = np.linalg.inv(here)
            expected = -inverse @ log_map_riemann(there, here, C12=True) @ inverse / value
            limit = rtol * np.abs(expected).max()
            np.testing.assert_allclose(result, expected, rtol=0, atol=limit)


@pytest.mark.parametrize("spread", SPREADS)
@pytest.mark.parametrize("dtype", matrices.DTYPES)
def test_the_axioms_of_a_metric_hold_on_badly_conditioned_matrices(rng, dtype, spread):
    x = matrices.spd(rng, 7, 4, spread=spread).astype(dtype)
    for name in METRICS:
        table = numpy(distances.get(name)(x, x)).astype("float64")
        least = table[~np.eye(len(x), dtype=bool)].min()
        np.testing.assert_allclose(table, table.T, rtol=RTOL[dtype], err_msg=f"{name}: symmetry")
        assert np.diag(table).max() < 0.05 * least, f"{name}: identity and separability"
        longer = table[:, :, None] + table[None]  # length of the way from i over j to k
        assert (table[:, None] <= longer + 0.05 * least).all(), f"{name}: triangle"


def test_maps_that_leave_distances_unchanged(rng):
    x, y = matrices.spd(rng, 2, 6, 4, spread=3)
    affine = matrices.frames(rng, 4) * np.geomspace(0.1, 10, 4)
    rotation = matrices.frames(rng, 4)
    maps = {
        "affine map": lambda a: affine @ a @ affine.T,
        "rotation": lambda a: rotation @ a @ rotation.T,
        "inversion": np.linalg.inv,
        "scale": lambda a: 1e-6 * a,
    }
    changing = {
        ("log_euclidean", "affine map"),
        ("bures_wasserstein", "affine map"),
        ("bures_wasserstein", "inversion"),
        ("bures_wasserstein", "scale"),
    }
    for name, (move, moved) in itertools.product(METRICS, maps.items()):
        before, after = (
            numpy(getattr(spd, name)(*pair)) for pair in ((x, y), (moved(x), moved(y)))
        )
        expected = distance(moved(x), moved(y), metric=METRICS[name])
        np.testing.assert_allclose(after, expected, rtol=1e-6, err_msg=f"{name}, {move}")
        unchanged = np.allclose(after, before, rtol=1e-6, atol=0)
        assert unchanged == ((name, move) not in changing), f"{name}, {move}"


def average_referenced(rng, count, channels=8, steps=200):
    """Draws covariances of signals minus the mean of their channels.

    In exact arithmetic, the covariances would be singular.
    """
    signals = rng.normal(size=(count, steps, channels)) * rng.uniform(0.5, 3, (count, 1, channels))
    signals -= signals.mean(axis=2, keepdims=True)
    return np.swapaxes(signals, 1, 2) @ signals / steps


# Basis of the vectors that sum to 0. It spans the range of covariance matrices if the channels of a
# signal sum to 0.
COMMON_RANGE = np.linalg.svd(np.eye(8) - 1 / 8)[0][:, :7]


def in_common_range(x):
    return COMMON_RANGE.T @ x @ COMMON_RANGE


def affine_invariant_or_refused(x, y):
    """Returns the distance of a pair of matrices, or None if the function raises an error."""
    try:
        return float(distances.get("affine_invariant")(x[None], y[None])[0, 0])
    except ValueError:
        return None


@pytest.mark.slow
@pytest.mark.parametrize("dtype", matrices.DTYPES)
def test_affine_invariant_distances_of_singular_matrices(rng, dtype):
    """Tests that rounding does not decide whether the distance of singular matrices exists.

    In keras-dml, either all pairs raise an error or all pairs have the distance in their common
    range. In pyRiemann rounding decides whether the result is NaN, a number or an error. The
    distance between a singular and a definite matrix is infinite.
    """
    x, y = (average_referenced(rng, 12) for _ in range(2))
    expected = distance(in_common_range(x), in_common_range(y), metric="riemann")
    x, y = x.astype(dtype), y.astype(dtype)
    pairs = [*zip(x, y, expected, strict=True), *zip(y, x, expected, strict=True)]
    results = [affine_invariant_or_refused(a, b) for a, b, _ in pairs]
    right = [
        result is not None and abs(result / value - 1) < 1e-2
        for result, (_, _, value) in zip(results, pairs, strict=True)
    ]
    assert all(right) or set(results) == {None}, results
    definite = matrices.spd(rng, 12, 8).astype(dtype)
    mixed = [*zip(x, definite, strict=True), *zip(definite, x, strict=True)]
    results = [affine_invariant_or_refused(a, b) for a, b in mixed]
    assert set(results) <= {None, np.inf}, results


@pytest.mark.parametrize("dtype", matrices.DTYPES)
def test_bures_wasserstein_distances_of_singular_matrices(rng, dtype):
    """Compares the distance between semidefinite matrices with pyRiemann's distance after a
    projection onto the common range of the matrices.

    In the common range, the matrices are definite.
    """
    x, y = (average_referenced(rng, 12) for _ in range(2))
    expected = distance(in_common_range(x), in_common_range(y), metric="wasserstein")
    result = spd.bures_wasserstein(x.astype(dtype), y.astype(dtype))
    np.testing.assert_allclose(result, expected, rtol=1e-6 if dtype == "float64" else 1e-3)


@pytest.mark.parametrize("dtype", matrices.DTYPES)
def test_bures_wasserstein_distances_in_any_unit(rng, dtype):
    """Tests very small and very large covariances, whose squares are outside the float32 range.

    Signals in tesla have covariances of 1e-22, and raw counts have covariances of 1e20.
    """
    x, y = matrices.spd(rng, 2, 6, 5)
    for scale in (1e-26, 1e-22, 1e-12, 1e12, 1e20, 1e26):
        pair = (scale * x).astype(dtype), (scale * y).astype(dtype)
        expected = distance(*(side.astype("float64") for side in pair), metric="wasserstein")
        for result in (
            spd.bures_wasserstein(*pair),
            np.diag(distances.get("bures_wasserstein")(*pair)),
        ):
            np.testing.assert_allclose(result, expected, rtol=1e-3, err_msg=f"scale {scale}")


def test_matrices_of_different_sizes_are_refused_as_pyriemann_refuses_them():
    small, large = np.eye(3), np.eye(4)
    for name, metric in METRICS.items():
        with pytest.raises(ValueError):
            distance(small, large, metric=metric)
        with pytest.raises(ValueError, match=r"\(3, 3\) and \(4, 4\)"):
            getattr(spd, name)(small, large)
    with pytest.raises(ValueError):
        geodesic_riemann(small, large)
    with pytest.raises(ValueError, match=r"\(3, 3\).*\(4, 4\)"):
        spd.geodesic(small, large, 0.5)


# ---- means and geodesics ----------------------------------------------------------------------

MEANS = {
    "karcher_mean": (spd.karcher_mean, mean_riemann, {"tol": 1e-12, "maxiter": 300}),
    "log_euclidean_mean": (spd.log_euclidean_mean, mean_logeuclid, {}),
}


@pytest.mark.parametrize("name", MEANS)
def test_means_with_and_without_weights(rng, name):
    mean, peer, options = MEANS[name]
    for spread, n, scale in ((1, 1, 1.0), (3, 10, 1.0), (3, 4, 1e-12), (2, 2, 1e12)):
        x = scale * matrices.spd(rng, 9, n, spread=spread)
        weights = rng.uniform(0.1, 1, size=9)
        limit = 1e-7 * scale * np.exp(spread)
        for given_weights in (None, weights, 1e6 * weights, weights.tolist()):
            expected = peer(x, sample_weight=given_weights, **options)
            result = numpy(mean(x, given_weights))
            np.testing.assert_allclose(result, expected, rtol=0, atol=limit)
        np.testing.assert_allclose(mean(x), mean(x, np.ones(9)), rtol=0, atol=limit)
    single = matrices.spd(rng, 1, 4)
    np.testing.assert_allclose(mean(single), peer(single, **options), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("name", MEANS)
def test_weights_that_do_not_fit_are_refused_as_pyriemann_refuses_them(rng, name):
    mean, peer, options = MEANS[name]
    x = matrices.spd(rng, 5, 3)
    for weights in ([2.0], np.ones(6), np.zeros(5), [1, 1, 1, 1, -1], [1, 1, 1, 1, np.nan]):
        with pytest.raises(ValueError, match="(?i)weights"):
            mean(x, weights)
    # pyRiemann accepts negative weights, and divides by a sum of 0
    for weights in ([2.0], np.ones(6)):
        with pytest.raises(ValueError, match="(?i)weights"):
            peer(x, sample_weight=weights, **options)
    with pytest.raises(ValueError, match=r"\(0, 3, 3\)"):
        mean(x[:0])


def test_geodesics(rng):
    for spread, scale in ((1, 1.0), (4, 1.0), (3, 1e-12), (3, 1e12)):
        x, y = scale * matrices.spd(rng, 2, 5, 3, spread=spread)
        for t in (-0.5, 0, 0.3, 1, 2):
            expected = geodesic_riemann(x, y, alpha=t)
            limit = 1e-7 * np.abs(expected).max()
            np.testing.assert_allclose(spd.geodesic(x, y, t), expected, rtol=0, atol=limit)
            np.testing.assert_allclose(spd.geodesic(y, x, 1 - t), expected, rtol=0, atol=limit)
        middle = spd.geodesic(x[0], y[0], 0.5)
        expected = spd.karcher_mean(np.stack([x[0], y[0]]))
        np.testing.assert_allclose(middle, expected, rtol=0, atol=1e-7 * np.abs(expected).max())


# ---- tangent space ----------------------------------------------------------------------------


def test_tangent_vectors(rng):
    x = matrices.spd(rng, 6, 4, spread=3)
    expected = tangent_space(x, np.eye(4), metric="logeuclid")
    np.testing.assert_allclose(spd.vectorize(spd.log(x)), expected, rtol=0, atol=1e-9)
    layer = TangentMap(4, dtype="float64")
    layer.build((None, 4, 4))
    layer.set_weights([np.eye(4)])
    np.testing.assert_allclose(layer(x), expected, rtol=0, atol=1e-9)
    back = untangent_space(expected, np.eye(4), metric="logeuclid")
    np.testing.assert_allclose(spd.exp(spd.unvectorize(expected)), back, rtol=1e-9, atol=1e-9)


def test_tangent_vectors_at_a_mean_have_pyriemanns_inner_products(rng):
    """Tests that tangent vectors differ from pyRiemann's tangent vectors only by a rotation.

    keras-dml whitens by the Cholesky factor, and pyRiemann by the inverse square root.
    """
    x = matrices.spd(rng, 6, 4)
    mean = spd.karcher_mean(x)
    whitener = numpy(spd.whitening(mean))
    vectors = numpy(spd.vectorize(spd.log(whitener @ x @ whitener.T)))
    reference = tangent_space(x, mean, metric="riemann")
    np.testing.assert_allclose(vectors @ vectors.T, reference @ reference.T, rtol=0, atol=1e-9)
    maps = log_map_riemann(x, mean, C12=True)
    products = [innerproduct_riemann(maps[0], tangent, mean) for tangent in maps]
    np.testing.assert_allclose(vectors[0] @ vectors.T, products, rtol=0, atol=1e-9)


# ---- covariance matrices ----------------------------------------------------------------------


def of_trace_one(x):
    return x / np.trace(x, axis1=1, axis2=2)[:, None, None]


ESTIMATORS = {
    "sample": lambda x: covariances(x, estimator="cov"),
    "trace_normalized": lambda x: of_trace_one(covariances(x, estimator="scm")),
    "oas": lambda x: covariances(x, estimator="oas"),
    "ledoit_wolf": lambda x: covariances(x, estimator="lwf"),
}


@pytest.mark.slow
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_covariance_matrices_of_any_length_and_unit(rng, estimator):
    """Tests signals of very different sizes: tesla (at most 1e-11), volts (1e-5), counts (1e10)."""
    layers = [Covariance(estimator, dtype=dtype) for dtype in matrices.DTYPES]
    for steps, channels in ((2, 3), (4, 6), (300, 5), (20, 1)):
        x = rng.normal(size=(3, steps, channels)) @ rng.normal(size=(channels, channels))
        for layer, scale in itertools.product(layers, (1e-15, 1e-11, 1, 1e10)):
            dtype = layer.compute_dtype
            scaled = (scale * x).astype(dtype)
            # In the following units, all values are far inside the float64 range.
            expected = ESTIMATORS[estimator](np.swapaxes(scaled.astype("float64") / scale, 1, 2))
            result = numpy(layer(scaled)).astype("float64")
            unit = 1 if estimator == "trace_normalized" else scale**2
            limit = {"float64": 1e-9, "float32": 1e-5}[dtype] * np.abs(expected).max()
            case = f"{steps} steps, {channels} channels, scale {scale}, {dtype}"
            np.testing.assert_allclose(result / unit, expected, rtol=0, atol=limit, err_msg=case)


# ---- potato -----------------------------------------------------------------------------------


def windows(rng, count, n=4, artifacts=0):
    """Draws covariance matrices. The first `artifacts` matrices are 100 times as large."""
    x = rng.normal(size=(count, 10 * n, n))
    x[:artifacts] *= 10
    return np.swapaxes(x, 1, 2) @ x / (10 * n)


def assert_same_potato(ours, reference, x, rtol=1e-6, atol=1e-6):
    np.testing.assert_allclose(ours.center_, reference.covmean_, rtol=rtol, atol=atol)
    np.testing.assert_allclose(ours.transform(x), reference.transform(x), rtol=rtol, atol=atol)
    np.testing.assert_array_equal(ours.predict(x) == 1, reference.predict(x) == 1)
    np.testing.assert_allclose(ours.probability(x), reference.predict_proba(x), rtol=0, atol=1e-6)


def test_potatoes_at_several_thresholds(rng):
    x, probes = windows(rng, 50, artifacts=5), windows(rng, 20, artifacts=3)
    for threshold in (1.5, 2.0, 2.5, 3.0, 5.0):
        ours = Potato(threshold).fit(x)
        assert_same_potato(ours, PyRiemannPotato(threshold=threshold).fit(x), probes)


def test_labels_mark_artifacts(rng):
    """Tests a fit with labels.

    As in pyRiemann, 1 means clean and 0 means artifact, and the fit does not use matrices with
    label 0.
    """
    x, probes = windows(rng, 40), windows(rng, 20, artifacts=3)
    y = np.ones(40, int)
    y[::4] = 0
    x[::4] *= 1.3  # a small change, which is not rejected without labels
    ours, reference = Potato(3.0).fit(x, y), PyRiemannPotato(threshold=3.0).fit(x, y)
    assert_same_potato(ours, reference, probes)
    assert not ours.clean_[::4].any()
    without = Potato(3.0).fit(x)
    assert np.abs(ours.center_ - without.center_).max() > 0.01
    np.testing.assert_allclose(Potato(3.0).fit(x, np.ones(40)).center_, without.center_)


def test_labels_that_do_not_fit_are_refused_as_pyriemann_refuses_them(rng):
    x = windows(rng, 10)
    for y in (np.ones(9), np.zeros(10), np.arange(10)):
        for potato in (Potato(), PyRiemannPotato()):
            with pytest.raises(ValueError):
                potato.fit(x, y)


def test_weights_of_matrices_move_the_center(rng):
    x, probes = windows(rng, 40, artifacts=4), windows(rng, 20)
    weights = rng.uniform(0.1, 2, size=40)
    ours = Potato(2.5).fit(x, sample_weight=weights)
    assert_same_potato(ours, PyRiemannPotato(threshold=2.5).fit(x, sample_weight=weights), probes)
    equal = Potato(2.5).fit(x, sample_weight=np.full(40, 3.0))
    np.testing.assert_allclose(equal.center_, Potato(2.5).fit(x).center_, rtol=0, atol=1e-8)
    for unfit in (np.ones(39), -weights):
        with pytest.raises(ValueError, match="weight"):
            Potato(2.5).fit(x, sample_weight=unfit)


@pytest.mark.parametrize("spread", [1e-2, 4e-5, 4e-6])
def test_windows_that_hardly_differ(rng, spread):
    """Tests matrices whose distances are only 1e-6, which is still much larger than the rounding
    errors of float64.
    """
    base = windows(rng, 1)[0]
    noise = rng.normal(size=(31, 4, 4))
    noise = (noise + np.swapaxes(noise, 1, 2)) / 2
    noise[0] *= 3
    root = np.linalg.cholesky(base)
    x = root @ (np.eye(4) + spread * noise) @ root.T
    ours, reference = Potato(3.0).fit(x[1:]), PyRiemannPotato(threshold=3.0).fit(x[1:])
    assert 2 < reference.transform(x)[0] < 20
    np.testing.assert_allclose(ours.transform(x), reference.transform(x), rtol=1e-3, atol=1e-3)


def test_partial_fit_moves_the_center_as_pyriemann_does(rng):
    """Tests that centers agree after an update with one clean matrix.

    The mean and the standard deviation of the distances differ from pyRiemann, because pyRiemann
    measures the matrix after updating the center (`tests/test_potato.py`).
    """
    x, matrix = windows(rng, 30), windows(rng, 1)
    ours, reference = Potato(9.0, update_rate=0.1).fit(x), PyRiemannPotato(threshold=9.0).fit(x)
    ours.partial_fit(matrix)
    reference.partial_fit(matrix, alpha=0.1)
    np.testing.assert_allclose(ours.center_, reference.covmean_, rtol=1e-6, atol=1e-8)
    for potato in (ours, reference):
        with pytest.raises(ValueError):
            potato.partial_fit(np.eye(5)[None])
    for potato in (Potato(), PyRiemannPotato()):
        with pytest.raises(ValueError):
            potato.partial_fit(matrix)
