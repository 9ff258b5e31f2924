"""Tests the values of `spdnet`, its omitted layers, and its gradients at equal eigenvalues."""

import numpy as np
import pytest

import keras_dml
from keras_dml import distances, losses, models
from keras_dml._backend import keras, ops
from keras_dml.layers import (
    BiMap,
    LogEig,
    ReEig,
    RiemannianBatchNormalization,
    TangentMap,
    TangentVector,
)
from keras_dml.models.copies import in_float64
from tests.goldens import golden
from tests.gradients import gradients

SOLVERS = ["eigh", "polynomial"]


def numpy(tensor):
    return np.asarray(ops.convert_to_numpy(tensor))


def covariances(rng, count, n, steps=None):
    x = rng.normal(size=(count, steps or 3 * n, n))
    return (np.swapaxes(x, 1, 2) @ x / x.shape[1]).astype("float32")


def network(*args, seed=4, **kwargs):
    keras.utils.set_random_seed(seed)
    return models.spdnet(*args, **kwargs)


# ---- values -----------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", SOLVERS)
def test_values_and_gradients_are_those_of_the_definition(solver):
    example = golden("spdnet_small", "seeds_p3")
    x, probe = np.array(example["inputs"]["x"]), np.array(example["inputs"]["probe"])
    kernels = [np.array(kernel) for kernel in example["inputs"]["kernels"]]
    model = network((4, 3, 2), epsilon=example["inputs"]["epsilon"], solver=solver)
    model = in_float64(model)
    bound, steep = (1e-9, 1e-7) if solver == "eigh" else (1e-4, 1e-3)

    def value(*kernels):
        return ops.sum(probe * model.stateless_call(list(kernels), [], x)[0])

    model.set_weights(kernels)
    np.testing.assert_allclose(numpy(model(x)), example["expected"]["output"], rtol=0, atol=bound)
    for i, actual in enumerate(gradients(value, *kernels)):
        expected = np.array(example["gradient"][f"kernels[{i}]"])
        np.testing.assert_allclose(actual, expected, rtol=0, atol=steep * np.abs(expected).max())


def with_every_reeig(model, sizes, epsilon):
    """Returns the network of the paper, with all its ReEig layers and the kernels of `model`."""
    inputs = x = keras.Input((sizes[0], sizes[0]))
    for units in sizes[1:]:
        x = ReEig(epsilon)(BiMap(units)(x))
    full = keras.Model(inputs, TangentVector()(LogEig()(x)))
    full.set_weights(model.get_weights())
    return full


@pytest.mark.slow
@pytest.mark.parametrize("steps", [30, 3])
def test_later_reeigs_are_the_identity(steps, rng):
    """Tests that later ReEig layers change nothing, also in trained networks and for singular
    matrices.
    """
    sizes, epsilon = (10, 8, 6, 4), 0.05
    model = network(sizes, epsilon=epsilon)
    x = covariances(rng, 16, 10, steps)
    model.compile(keras.optimizers.Adam(0.02), losses.NPairLoss("inner"))
    model.fit(x, np.repeat(np.arange(8), 2), epochs=5, batch_size=16, verbose=0)
    full = with_every_reeig(model, sizes, epsilon)
    np.testing.assert_allclose(numpy(model(x)), numpy(full(x)), rtol=0, atol=1e-4)
    assert sum(isinstance(layer, ReEig) for layer in model.layers) == 1


@pytest.mark.slow_on_jax
@pytest.mark.parametrize(
    "name, sizes",
    [
        ("deap", [32, 16]),
        ("deap_lagged", [64, 32]),
        ("afew", [400, 200, 100, 50]),
        ("hdm05", [93, 80, 40, 20]),
    ],
)
def test_the_networks_of_the_paper_have_their_sizes(name, sizes):
    model = network(name)
    kernels = [tuple(weight.shape) for weight in model.weights]
    assert model.input_shape == (None, sizes[0], sizes[0])
    assert kernels == list(zip(sizes, sizes[1:], strict=False))
    assert model.output_shape == (None, sizes[-1] * (sizes[-1] + 1) // 2)


@pytest.mark.slow_on_jax
def test_the_first_rectification_is_there_in_every_form():
    def kinds(*args, **kwargs):
        return [type(layer) for layer in network(*args, **kwargs).layers[1:]]

    assert kinds((6, 4)) == [TangentMap]
    assert kinds((6, 4), output="spd") == [BiMap, ReEig]
    assert kinds((6, 4, 2)) == [BiMap, ReEig, TangentMap]
    assert kinds((6, 4, 2), output="spd") == [BiMap, ReEig, BiMap]
    assert network((6, 4)).layers[1].logarithm.epsilon == 1e-4


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("sizes", [(6, 4), (6, 4, 2)])
def test_an_spd_head_gives_positive_definite_matrices_and_their_distance(sizes, rng):
    model = network(sizes, output="spd")
    embeddings = keras_dml.embed(model, covariances(rng, 5, 6, steps=2))
    assert embeddings.dtype == "float32" and embeddings.shape[1:] == (sizes[-1],) * 2
    assert (np.linalg.eigvalsh(embeddings.astype("float64")) > 0.9e-4).all()
    assert isinstance(model.layers[-1].distance, distances.AffineInvariant)
    assert np.isfinite(keras_dml.distance(model, embeddings, embeddings)).all()


@pytest.mark.slow_on_jax
def test_estimator_makes_recordings_the_input(rng):
    model = network((4, 3), estimator="oas", normalization="instance")
    assert model.input_shape == (None, None, 4)
    recordings = [rng.normal(size=(steps, 4)) for steps in (9, 31, 9, 200)]
    together = keras_dml.embed(model, recordings)
    alone = np.concatenate([keras_dml.embed(model, [recording]) for recording in recordings])
    np.testing.assert_allclose(together, alone, rtol=0, atol=1e-4)


@pytest.mark.parametrize(
    "sizes", ["hdm5", (93,), (), (4, 5), (4, 0), (4, 2.5), (8, 4, 6), "deaf"], ids=str
)
def test_invalid_sizes_are_refused(sizes):
    with pytest.raises(ValueError, match=r"`sizes`.*'hdm05'.*\(93, 80, 40, 20\).*Received"):
        models.spdnet(sizes)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"output": "matrix"}, "'tangent', 'spd'.*'matrix'"),
        ({"estimator": "shrunk"}, "oas.*'shrunk'"),
        ({"normalization": "channel"}, "takes matrices.*`estimator`"),
        ({"estimator": "oas", "normalization": "no"}, "`normalization` must be one of.*'no'"),
        ({"solver": "svd"}, "`solver` must be one of.*'svd'"),
        ({"epsilon": 0}, "`epsilon`"),
    ],
)
def test_unknown_choices_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        models.spdnet((4, 2), **options)


# ---- another solver ---------------------------------------------------------------------------


@pytest.mark.slow_on_jax
def test_another_solver_has_equal_weights_and_outputs(rng):
    inputs = keras.Input((None, 6))
    x = keras_dml.layers.Covariance()(inputs)
    x = RiemannianBatchNormalization()(ReEig(1e-2)(BiMap(5)(x)))
    model = keras.Model(inputs, models.spdnet((5, 4, 2), epsilon=1e-2)(x))
    x = rng.normal(size=(4, 40, 6))
    second = models.with_solver(model, "polynomial")
    np.testing.assert_allclose(numpy(second(x)), numpy(model(x)), rtol=0, atol=1e-4)
    back = models.with_solver(second, "eigh")
    np.testing.assert_array_equal(numpy(back(x)), numpy(model(x)))
    for original, its in zip(model.get_weights(), second.get_weights(), strict=True):
        np.testing.assert_array_equal(original, its)


def test_a_compiled_model_is_copied_without_its_optimizer(rng):
    model = network((4, 2))
    model.compile("adam", losses.NPairLoss("inner"))
    assert not models.with_solver(model, "polynomial").compiled and model.compiled


def test_an_unknown_solver_is_refused():
    with pytest.raises(ValueError, match="`solver` must be one of.*'svd'"):
        models.with_solver(network((4, 2)), "svd")


# ---- gradients and training -------------------------------------------------------------------


def with_spectrum(values, rng):
    frame = np.linalg.qr(rng.normal(size=(len(values),) * 2))[0]
    return frame * values @ frame.T


SPECTRA = {
    "identity": [1.0] * 12,
    "two sixfold": [0.3] * 6 + [2.0] * 6,
    "nearly equal": 1 + 1e-6 * np.arange(12),
    "rank six": [0.0] * 6 + [0.5] * 3 + [1.5] * 3,
}


@pytest.mark.slow
@pytest.mark.slow_on_jax
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("name", SPECTRA)
def test_gradient_of_the_first_layer_is_right_at_equal_eigenvalues(solver, name, rng):
    """Tests the gradient of the first layer at equal eigenvalues.

    For equal eigenvalues, automatic differentiation of eigensolvers is wrong: the error is 57 % on
    TensorFlow, and the result is NaN on JAX.
    """
    model = network((12, 8, 4), epsilon=1e-2, solver=solver)
    x = np.stack([with_spectrum(SPECTRA[name], rng) for _ in range(6)]).astype("float32")
    target = rng.normal(size=(6, 10)).astype("float32")

    def first_gradient(model, dtype):
        kernels = [kernel.astype(dtype) for kernel in model.get_weights()]

        def loss(*kernels):
            out = model.stateless_call(list(kernels), [], x.astype(dtype))[0]
            return ops.mean(ops.square(out - target.astype(dtype)))

        return gradients(loss, *kernels)[0]

    exact = first_gradient(in_float64(models.with_solver(model, "eigh")), "float64")
    actual = first_gradient(model, "float32")
    assert np.linalg.norm(actual - exact) < 1e-3 * np.linalg.norm(exact)


@pytest.mark.slow
@pytest.mark.parametrize("solver", SOLVERS)
def test_a_step_on_silence_and_singular_matrices_is_finite(solver, rng):
    model = network((6, 4, 3), solver=solver)
    model.compile(keras.optimizers.SGD(0.1), losses.NPairLoss("inner"))
    x = np.concatenate([np.zeros((2, 6, 6)), covariances(rng, 2, 6, steps=2)]).astype("float32")
    model.fit(x, np.array([0, 0, 1, 1]), epochs=3, verbose=0)
    assert all(np.isfinite(weight).all() for weight in model.get_weights())


@pytest.mark.slow
def test_training_finds_discriminative_directions(rng):
    """Tests that training finds the only one of ten channels whose variance differs between two
    classes.
    """
    labels = np.arange(64) % 2
    scale = np.ones((64, 1, 10))
    scale[labels == 1, :, 7] = 3
    x = scale * rng.normal(size=(64, 100, 10))
    x = (np.swapaxes(x, 1, 2) @ x / 100).astype("float32")
    model = network((10, 2))
    model.compile(keras.optimizers.Adam(0.05), losses.NPairLoss("inner"))
    pairs = np.argsort(labels, kind="stable").reshape(2, 16, 2).swapaxes(0, 1).reshape(-1, 4)
    before = np.abs(model.get_weights()[0][7]).sum()
    for _ in range(20):
        for four in pairs:
            model.train_on_batch(x[four], labels[four])
    assert np.linalg.norm(model.get_weights()[0][7]) > 0.95 > before


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="only TensorFlow's XLA is slow")
def test_keras_is_kept_from_compiling_an_eigendecomposition():
    model = network((4, 2))
    with pytest.warns(UserWarning, match="doesn't support `jit_compile=True`"):
        model.compile("sgd", "mse", jit_compile=True)
    assert not model.jit_compile
    models.with_solver(model, "polynomial").compile("sgd", "mse", jit_compile=True)
