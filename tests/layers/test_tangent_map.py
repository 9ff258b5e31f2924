"""Tests that the layer TangentMap computes the same as BiMap, LogEig and TangentVector in sequence,
also if parts of the layer are compiled."""

import numpy as np
import pytest

from keras_dml import distances, losses
from keras_dml._backend import keras, ops, xla
from keras_dml.geometry.spd.tangent import LARGEST, SUMMED
from keras_dml.layers import BiMap, LogEig, TangentMap, TangentVector
from tests.graphs import compiled_by_xla

TENSORFLOW = keras.backend.backend() == "tensorflow"
only_tensorflow = pytest.mark.skipif(not TENSORFLOW, reason="JAX compiles whole steps")
EPSILON = 1e-2
EIGH = "SelfAdjointEigV2"


def numpy(tensor):
    return np.asarray(ops.convert_to_numpy(tensor))


def with_spectrum(values, rng):
    frame = np.linalg.qr(rng.normal(size=(len(values),) * 2))[0]
    return frame * values @ frame.T


def built(n, units, rng, **kwargs):
    layer = TangentMap(units, **kwargs)
    layer.build((None, n, n))
    layer.set_weights([np.linalg.qr(rng.normal(size=(n, units)))[0]])
    return layer


def in_three(layer, x, **kwargs):
    """Returns a model with the separate layers BiMap, LogEig and TangentVector. The model has the
    same kernel as `layer`.
    """
    inputs = keras.Input(x.shape[1:], **kwargs)
    mapped = BiMap(layer.units, **kwargs)(inputs)
    logarithm = LogEig(layer.logarithm.epsilon, solver=layer.logarithm.solver, **kwargs)(mapped)
    model = keras.Model(inputs, TangentVector(**kwargs)(logarithm))
    model.set_weights(layer.get_weights())
    return model


def trained(model, x, probe):
    """Runs one training step in a graph. Returns the vectors, and the gradients of `sum(probe *
    vectors)` with respect to the matrices and the kernel."""
    (kernel,) = model.trainable_variables

    def value(x, kernel):
        y = model.stateless_call([kernel], [], x, training=True)[0]
        return ops.sum(probe * y), y

    arguments = ops.convert_to_tensor(x), ops.convert_to_tensor(kernel)
    if not TENSORFLOW:
        import jax

        actual, y = jax.jit(jax.grad(value, argnums=(0, 1), has_aux=True))(*arguments)
        return [np.asarray(tensor) for tensor in (y, *actual)]
    import tensorflow as tf

    @tf.function(autograph=False)
    def step(*arguments):
        with tf.GradientTape() as tape:
            tape.watch(arguments)
            total, y = value(*arguments)
        return y, *tape.gradient(total, arguments)

    return [tensor.numpy() for tensor in step(*arguments)]


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("epsilon", [None, EPSILON])
@pytest.mark.parametrize("solver", ["eigh", "polynomial"])
def test_it_equals_the_three_layers(solver, epsilon, rng):
    layer = built(6, 4, rng, epsilon=epsilon, solver=solver)
    x = np.stack([with_spectrum([0.0, 1e-3, 0.1, 1, 2, 3], rng) for _ in range(3)])
    np.testing.assert_array_equal(numpy(layer(x)), numpy(in_three(layer, x)(x)))
    assert layer(x).shape == layer.compute_output_shape(x.shape) == (3, 10)
    assert isinstance(layer.distance, distances.Euclidean)


SPECTRA = {
    "apart": [0.05, 0.3, 0.9, 1.5, 3.0, 20.0],
    "nearly equal": list(2 + 1e-6 * np.arange(6)),
    "equal": [2.0] * 6,
    "singular": [0.0, 0.0, 0.0, 0.5, 0.5, 1.5],
    "indefinite": [-1.0, -0.2, 0.0, 0.4, 1.0, 2.0],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SPECTRA)
@pytest.mark.parametrize("shape", [(5,), (2, 3)], ids=str)
def test_a_training_step_in_a_graph_is_right(shape, name, rng):
    """Compares a training step with the three separate layers in float64, for matrices that are not
    symmetric."""
    count = np.prod(shape)
    x = np.stack([with_spectrum(SPECTRA[name], rng) for _ in range(count)])
    x += np.triu(np.ones((6, 6)), 1) - np.tril(np.ones((6, 6)), -1)
    x = x.reshape(*shape, 6, 6).astype("float32")
    layer, probe = built(6, 4, rng, epsilon=EPSILON), rng.normal(size=(*shape, 10))
    expected = trained(in_three(layer, x, dtype="float64"), x.astype("float64"), probe)
    actual = trained(layer, x, probe.astype("float32"))
    for ours, exact in zip(actual, expected, strict=True):
        assert ours.dtype == "float32"
        np.testing.assert_allclose(ours, exact, rtol=0, atol=1e-4 * np.abs(exact).max())


@pytest.mark.slow
@pytest.mark.parametrize("units", [1, SUMMED, SUMMED + 1])
def test_without_a_floor_a_training_step_is_right(units, rng):
    n = SUMMED + 2
    x = np.stack([with_spectrum(np.geomspace(0.1, 9, n), rng) for _ in range(4)])
    layer = built(n, units, rng, dtype="float64")
    probe = rng.normal(size=(4, units * (units + 1) // 2))
    expected = trained(in_three(layer, x, dtype="float64"), x, probe)
    for ours, exact in zip(trained(layer, x, probe), expected, strict=True):
        np.testing.assert_allclose(ours, exact, rtol=0, atol=1e-10)


@pytest.mark.slow_on_jax
def test_a_nan_stays_in_its_matrix(rng):
    x = np.stack([with_spectrum(SPECTRA["apart"], rng) for _ in range(3)]).astype("float32")
    x[1, 0, 0] = np.nan
    layer = built(6, 3, rng, epsilon=EPSILON)
    y = numpy(layer(x))
    assert np.isnan(y[1]).all() and np.isfinite(y[[0, 2]]).all()
    probe = np.ones((3, 6), "float32")
    expected = trained(in_three(layer, x), x, probe)
    for actual, reference in zip(trained(layer, x, probe), expected, strict=True):
        np.testing.assert_allclose(actual, reference, rtol=1e-4, atol=1e-4)


def test_an_empty_batch_has_no_gradient(rng):
    layer = built(6, 3, rng, epsilon=EPSILON)
    y, of_x, of_kernel = trained(layer, np.zeros((0, 6, 6), "float32"), np.zeros((0, 6), "float32"))
    assert y.shape == (0, 6) and of_x.shape == (0, 6, 6)
    np.testing.assert_array_equal(of_kernel, np.zeros((6, 3)))


@pytest.mark.slow
def test_it_trains_like_the_three_layers_on_batches_of_any_size(rng):
    x = np.stack([with_spectrum(SPECTRA["apart"], rng) for _ in range(10)]).astype("float32")
    layer = built(6, 3, rng, epsilon=EPSILON)
    models = keras.Sequential([layer]), in_three(layer, x)
    for model in models:
        model.compile(keras.optimizers.SGD(0.05), losses.NPairLoss("inner"))
        model.fit(x, np.repeat(np.arange(5), 2), batch_size=6, epochs=3, shuffle=False, verbose=0)
    first, second = (model.get_weights()[0] for model in models)
    np.testing.assert_allclose(first, second, rtol=0, atol=1e-5)


def in_graph(layer, n, training, batch=None):
    import tensorflow as tf

    @tf.function(autograph=False)
    def call(x):
        return layer(x, training=training)

    return call.get_concrete_function(tf.TensorSpec((batch, n, n))).graph


@only_tensorflow
def test_only_a_training_graph_of_small_matrices_is_compiled(rng):
    rows, columns = LARGEST
    small, wide = built(8, 4, rng), built(columns + 1, columns + 1, rng)
    assert compiled_by_xla(in_graph(small, 8, training=True))
    assert not compiled_by_xla(in_graph(small, 8, training=False))
    assert not compiled_by_xla(in_graph(wide, columns + 1, training=True))
    assert not compiled_by_xla(in_graph(built(rows + 1, 4, rng), rows + 1, training=True))
    assert not compiled_by_xla(in_graph(built(8, 4, rng, solver="polynomial"), 8, training=True))
    with xla.avoided():
        assert not compiled_by_xla(in_graph(small, 8, training=True))


@only_tensorflow
def test_batches_of_similar_size_share_a_compilation(rng):
    layer = built(8, 4, rng)
    graphs = [in_graph(layer, 8, training=True, batch=batch) for batch in (65, 67, 80)]
    calls = [next(op for op in graph.get_operations() if op.type == EIGH) for graph in graphs]
    assert {tuple(call.outputs[1].shape) for call in calls} == {(80, 4, 4)}


@only_tensorflow
@pytest.mark.parametrize("given, own", [("float32", "float64"), ("float64", "float32")])
def test_gradients_have_the_types_of_their_variables(given, own, rng):
    """Tests gradients when the matrices and the kernel have different dtypes. The dtypes can differ
    if autocast is off.
    """
    layer = built(6, 3, rng, epsilon=EPSILON, dtype=own, autocast=False)
    x = np.stack([with_spectrum(SPECTRA["apart"], rng) for _ in range(4)]).astype(given)
    y, of_x, of_kernel = trained(layer, x, np.ones((4, 6)))
    assert (y.dtype, of_x.dtype, of_kernel.dtype) == ("float64", given, own)


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"units": 0}, "`units` must be a whole number of at least 1"),
        ({"units": 2, "epsilon": 0.0}, "`epsilon`.*positive"),
        ({"units": 2, "solver": "svd"}, "`solver` must be one of.*'svd'"),
    ],
)
def test_invalid_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        TangentMap(**arguments)


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="at most 3.*TangentMap"):
        TangentMap(4).build((None, 3, 3))
    with pytest.raises(ValueError, match=r"TangentMap needs square matrices.*\(None, 5, 6\)"):
        TangentMap(4).build((None, 5, 6))
