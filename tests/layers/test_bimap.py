"""Tests that the layer BiMap computes W'XW, and that the columns of W stay orthonormal with any
optimizer."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_dml import distances
from keras_dml._backend import keras, ops
from keras_dml.layers import BiMap, TangentVector
from tests.goldens import golden
from tests.gradients import gradients

ORTHONORMAL = 1e-5
OPTIMIZERS = {
    "sgd": lambda: keras.optimizers.SGD(0.3, momentum=0.9, nesterov=True),
    "adam": lambda: keras.optimizers.Adam(0.05),
    "adamw": lambda: keras.optimizers.AdamW(0.05, weight_decay=0.1, clipnorm=1.0),
    "lion": lambda: keras.optimizers.Lion(0.3),
    "muon": lambda: keras.optimizers.Muon(0.05),
}


def numpy(tensor):
    return np.asarray(ops.convert_to_numpy(tensor))


def covariances(rng, count, n, dtype="float64"):
    x = rng.normal(size=(count, 3 * n, n))
    return (np.swapaxes(x, 1, 2) @ x / (3 * n)).astype(dtype)


def built(units, n, **kwargs):
    layer = BiMap(units, **kwargs)
    layer.build((None, n, n))
    return layer


def off_the_manifold(kernel):
    kernel = numpy(kernel).astype("float64")
    return np.abs(kernel.T @ kernel - np.eye(kernel.shape[1])).max()


def test_values_and_gradients_are_those_of_the_definition():
    example = golden("bimap", "seeds_p3")
    x, kernel, probe = (np.array(example["inputs"][key]) for key in ("x", "kernel", "probe"))
    layer = built(2, 4, dtype="float64")

    def value(x, kernel):
        return ops.sum(probe * layer.stateless_call([kernel], [], x[None])[0][0])

    layer.set_weights([kernel])
    tolerance = example["tolerance"]["float64"]
    exact = {"rtol": tolerance["rtol"], "atol": tolerance["atol"]}
    np.testing.assert_allclose(numpy(layer(x[None]))[0], example["expected"]["output"], **exact)
    for actual, name in zip(gradients(value, x, kernel), ("x", "kernel"), strict=True):
        np.testing.assert_allclose(actual, example["gradient"][name], rtol=1e-7, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_kernel_columns_stay_orthonormal_under_any_optimizer(name, rng):
    keras.utils.set_random_seed(1)
    inputs = keras.Input((6, 6))
    model = keras.Model(inputs, TangentVector()(BiMap(3)(inputs)))
    model.compile(OPTIMIZERS[name](), "mse", steps_per_execution=250)
    start = model.get_weights()[0]
    x, y = covariances(rng, 1000, 6, "float32"), rng.normal(size=(1000, 6)).astype("float32")
    model.fit(x, y, batch_size=1, epochs=1, verbose=0)
    (kernel,) = model.get_weights()
    assert off_the_manifold(kernel) < ORTHONORMAL
    assert np.abs(kernel - start).max() > 0.1


def one_step(optimizer, kernel, gradient):
    layer = built(kernel.shape[1], len(kernel), dtype="float64")
    layer.kernel.assign(kernel)
    optimizer.apply([ops.convert_to_tensor(gradient)], [layer.kernel])
    return numpy(layer.kernel)


def test_a_plain_step_is_the_riemannian_gradient_step_to_first_order(rng):
    kernel = np.linalg.qr(rng.normal(size=(5, 3)))[0]
    gradient = rng.normal(size=(5, 3))
    inner = kernel.T @ gradient
    tangent = gradient - kernel @ (inner + inner.T) / 2
    errors = [
        np.abs(one_step(keras.optimizers.SGD(rate), kernel, gradient) - (kernel - rate * tangent))
        for rate in (1e-2, 1e-3)
    ]
    assert 50 < errors[0].max() / errors[1].max() < 200


def test_weight_decay_only_lengthens_the_step(rng):
    kernel = np.linalg.qr(rng.normal(size=(5, 3)))[0]
    gradient, rate, decay = rng.normal(size=(5, 3)), 0.1, 0.5
    with_decay = keras.optimizers.SGD(rate, weight_decay=decay)
    longer = keras.optimizers.SGD(rate / (1 - rate * decay))
    np.testing.assert_allclose(
        one_step(with_decay, kernel, gradient),
        one_step(longer, kernel, gradient),
        rtol=0,
        atol=1e-7,
    )


@pytest.mark.slow_on_jax
def test_constraint_projects_an_average_of_kernels(rng):
    layer = built(3, 6)
    layer.kernel.assign(layer.kernel + 0.3 * rng.normal(size=(6, 3)))
    assert off_the_manifold(layer.kernel) > 0.1
    layer.kernel.assign(layer.kernel.constraint(layer.kernel))
    assert off_the_manifold(layer.kernel) < ORTHONORMAL


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("n, units", [(1, 1), (7, 7), (93, 80)])
def test_initial_kernel_has_orthonormal_columns(n, units):
    assert off_the_manifold(built(units, n).kernel) < ORTHONORMAL


@pytest.mark.slow_on_jax
@given(st.integers(1, 6), st.integers(0, 5), st.integers(0, 2**32 - 1))
def test_smallest_eigenvalue_does_not_fall(units, more, seed):
    """Tests that BiMap does not lower the smallest eigenvalue (Poincaré's bound). A layer ReEig
    after a second BiMap is therefore not necessary.
    """
    rng, n = np.random.default_rng(seed), units + more
    x = covariances(rng, 2, n)
    layer = BiMap(units, dtype="float64")
    least = np.linalg.eigvalsh(numpy(layer(x)))[:, 0]
    assert (least >= np.linalg.eigvalsh(x)[:, 0] * (1 - 1e-6)).all()


@pytest.mark.slow_on_jax
def test_a_square_map_keeps_affine_invariant_distances(rng):
    x = covariances(rng, 4, 5)
    y, metric = BiMap(5, dtype="float64")(x), distances.AffineInvariant()
    np.testing.assert_allclose(numpy(metric(y, y)), numpy(metric(x, x)), rtol=0, atol=1e-6)


def test_only_the_symmetric_part_counts(rng):
    x, layer = rng.normal(size=(2, 4, 4)), BiMap(3)
    y = numpy(layer(x))
    np.testing.assert_array_equal(y, np.swapaxes(y, 1, 2))
    np.testing.assert_allclose(y, numpy(layer((x + np.swapaxes(x, 1, 2)) / 2)), rtol=0, atol=1e-6)


@pytest.mark.slow_on_jax
def test_more_leading_axes_and_empty_batches_pass(rng):
    layer = BiMap(2)
    assert layer(rng.normal(size=(2, 3, 4, 4))).shape == (2, 3, 2, 2)
    assert layer(np.zeros((0, 4, 4))).shape == (0, 2, 2)


def test_a_nan_stays_in_its_matrix(rng):
    x = covariances(rng, 3, 4)
    x[1, 0, 0] = np.nan
    y = numpy(BiMap(2)(x))
    assert np.isnan(y[1]).all() and np.isfinite(y[[0, 2]]).all()


@pytest.mark.parametrize("units", [0, -1, 2.5, "3"])
def test_invalid_units_are_refused(units):
    with pytest.raises(ValueError, match="`units` must be a whole number of at least 1"):
        BiMap(units)


@pytest.mark.parametrize(
    "shape, message",
    [
        ((None, 3, 3), "at most 3.*units=4"),
        ((None, 5, 6), r"square matrices.*\(None, 5, 6\).*Covariance"),
        ((None, None, None), "known size"),
        ((6, 6), "square matrices"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(shape, message):
    with pytest.raises(ValueError, match=message):
        BiMap(4).build(shape)


def test_a_built_layer_refuses_other_matrices(rng):
    layer = built(2, 4)
    with pytest.raises(ValueError, match="expected axis -1 of input shape to have value 4"):
        layer(rng.normal(size=(2, 5, 5)))
