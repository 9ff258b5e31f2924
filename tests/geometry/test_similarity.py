"""Tests that the learned similarities of all pairs, which are computed in blocks, equal
similarities that are computed pair by pair."""

import pathlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_dml._backend import keras, ops
from keras_dml.geometry import similarity
from tests.bench import memory
from tests.geometry import perceptrons
from tests.geometry.perceptrons import numpy, staged
from tests.gradients import finite_differences, gradients
from tests.graphs import graph

WHOLE, ONE_ROW = 2**40, 1  # bytes of a block
TABLES = {
    similarity.concatenation: (2, lambda a, b: np.concatenate([a, b])),
    similarity.concatenation_swapped: (2, lambda a, b: np.concatenate([b, a])),
    similarity.absolute_difference: (1, perceptrons.difference),
}
# number of hidden units from which on XLA is used; JAX always uses it
FUSED = [1] if keras.backend.backend() == "jax" else [1, 2**40]
reads_proc = pytest.mark.skipif(
    keras.backend.backend() == "jax" or not pathlib.Path("/proc/self/clear_refs").exists(),
    reason="reads /proc, on one backend",
)
all_tables = pytest.mark.parametrize("table", TABLES, ids=lambda table: table.__name__)
all_blocks = pytest.mark.parametrize("max_bytes", [WHOLE, ONE_ROW], ids=["whole", "in blocks"])


def tensors(perceptron):
    return perceptron._replace(
        kernels=tuple(map(ops.convert_to_tensor, perceptron.kernels)),
        biases=tuple(map(ops.convert_to_tensor, perceptron.biases)),
    )


def vectors(rng, *counts, features=3, dtype="float64"):
    return [rng.normal(size=(count, features)).astype(dtype) for count in counts]


# ---- goldens ----------------------------------------------------------------------------------


@all_blocks
@pytest.mark.parametrize("name", ["similarity-concatenation-relu", "similarity-two-hidden-leaky"])
def test_golden_similarities_and_their_gradients(name, max_bytes):
    given, expected, gradient, close, close_gradient = perceptrons.example(name)
    z, prototypes = (np.array(given[key], "float32") for key in ("z", "prototypes"))
    perceptron = tensors(perceptrons.perceptron_of(given["layers"], given["slope"]))
    weights = np.array(given["weights"], "float32")

    @staged
    def value(z, prototypes):
        table = similarity.concatenation(z, prototypes, perceptron, max_bytes=max_bytes)
        return ops.sum(weights * table)

    result = staged(lambda x, y: similarity.concatenation(x, y, perceptron, max_bytes=max_bytes))(
        z, prototypes
    )
    np.testing.assert_allclose(numpy(result), expected["similarities"], **close)
    np.testing.assert_allclose(float(value(z, prototypes)), expected["value"], **close)
    for item, key in zip(gradients(value, z, prototypes), ("z", "prototypes"), strict=True):
        np.testing.assert_allclose(item, gradient[key], **close_gradient)
    if "swapped_arguments" in expected:
        swapped = similarity.concatenation_swapped(z, prototypes, perceptron)
        np.testing.assert_allclose(numpy(swapped), expected["swapped_arguments"], **close)


# ---- all pairs --------------------------------------------------------------------------------


@given(
    st.integers(0, 2**31),
    st.sampled_from(list(TABLES)),
    st.sampled_from([(1, 4), (3, 4), (3, 1)]),
    st.sampled_from([(3,), (3, 2)]),
    st.floats(0, 1),
    st.sampled_from([ONE_ROW, 300, WHOLE]),
)
def test_any_table_is_that_of_the_pairs_in_any_blocks(
    seed, table, counts, hidden, slope, max_bytes
):
    rng, (inputs, join) = np.random.default_rng(seed), TABLES[table]
    perceptron = perceptrons.random(rng, 2, hidden, slope, inputs=inputs)
    x, y = vectors(rng, *counts, features=2)
    expected = perceptrons.by_pairs(x, y, perceptron, join)
    result = numpy(staged(lambda x, y: table(x, y, tensors(perceptron), max_bytes=max_bytes))(x, y))
    np.testing.assert_allclose(result, expected, rtol=1e-11, atol=1e-11)


@pytest.mark.slow
@all_tables
def test_gradients_in_vectors_and_weights_agree_with_finite_differences_and_in_blocks(rng, table):
    inputs, _ = TABLES[table]
    perceptron = perceptrons.random(rng, 2, (3, 2), inputs=inputs)
    arrays = [*vectors(rng, 3, 4, features=2), *perceptron.kernels, *perceptron.biases]
    probe = rng.normal(size=(3, 4))

    def value(x, y, *weights, max_bytes=WHOLE):
        weighed = similarity.Perceptron(weights[:3], weights[3:], 0.1)
        return ops.sum(probe * table(x, y, weighed, max_bytes=max_bytes))

    whole = gradients(staged(value), *arrays)
    in_blocks = gradients(staged(lambda *arrays: value(*arrays, max_bytes=ONE_ROW)), *arrays)
    of_all = graph(value)
    for i, array in enumerate(arrays):
        moved = lambda one, i=i: of_all(*arrays[:i], one, *arrays[i + 1 :])  # noqa: E731
        np.testing.assert_allclose(whole[i], finite_differences(moved, array), rtol=0, atol=1e-6)
        np.testing.assert_allclose(in_blocks[i], whole[i], rtol=1e-9, atol=1e-12)


def test_rows_equal_to_the_other_side_have_a_difference_without_gradient(rng):
    """Tests the gradient if a row of x equals a row of y. The derivative of |u| at 0 is 0 on
    TensorFlow and on JAX."""
    (x,) = vectors(rng, 1)
    perceptron = tensors(perceptrons.random(rng, 3, inputs=1))
    of = lambda x, y: ops.sum(similarity.absolute_difference(x, y, perceptron))  # noqa: E731
    for item in gradients(of, x, x.copy()):
        np.testing.assert_array_equal(item, 0)


def test_great_embeddings_keep_their_digits(rng):
    """Tests the precision for large embeddings, for which the sums `left + right` cancel. keras-dml
    computes the similarities from maxima instead of these sums. The computation from maxima must
    not lose more digits.
    """
    x, y = (1e4 * item for item in vectors(rng, 6, 7, features=8))
    perceptron = perceptrons.random(rng, 8, (32,))
    expected = perceptrons.by_pairs(x, y, perceptron)
    narrow = perceptrons.similarity.Perceptron(
        *(tuple(item.astype("float32") for item in part) for part in perceptron[:2]), 0.1
    )
    result = numpy(
        similarity.concatenation(x.astype("float32"), y.astype("float32"), tensors(narrow))
    )
    np.testing.assert_allclose(result, expected, rtol=0, atol=3e-6 * np.abs(expected).max())


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("dtype, wide", [("float16", "float32"), ("float64", "float64")])
def test_half_precision_is_widened_and_double_is_kept(rng, dtype, wide):
    x, y = vectors(rng, 2, 3, dtype=dtype)
    perceptron = tensors(perceptrons.random(rng, 3, dtype=wide))
    result = numpy(similarity.concatenation(x, y, perceptron))
    assert result.dtype == wide


def test_a_nan_stays_in_its_row_and_column(rng):
    x, y = vectors(rng, 3, 4)
    x[1, 0], y[2, 1] = np.nan, np.nan
    lost = np.isnan(numpy(similarity.concatenation(x, y, tensors(perceptrons.random(rng, 3)))))
    expected = np.zeros((3, 4), bool)
    expected[1], expected[:, 2] = True, True
    np.testing.assert_array_equal(lost, expected)


@pytest.mark.slow_on_jax
def test_no_rows_make_an_empty_table(rng):
    perceptron = tensors(perceptrons.random(rng, 3))
    x, none = vectors(rng, 2, 0)
    assert numpy(similarity.concatenation(none, x, perceptron)).shape == (0, 2)
    assert numpy(similarity.concatenation(x, none, perceptron)).shape == (2, 0)


# ---- blocks -----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("fused_from", FUSED)
def test_compiled_tables_are_the_same_and_differentiable(rng, monkeypatch, fused_from):
    monkeypatch.setattr(similarity, "FUSED_FROM", fused_from)
    x, y = vectors(rng, 150, 140)
    perceptron = tensors(perceptrons.random(rng, 3, (64,)))
    assert 8 * 150 * 140 * 64 > similarity.BLOCK_BYTES  # several blocks
    whole = staged(lambda x, y: similarity.concatenation(x, y, perceptron, max_bytes=WHOLE))
    table = similarity.compiled(similarity.concatenation, x, y, perceptron)
    np.testing.assert_allclose(numpy(table), numpy(whole(x, y)), rtol=1e-10, atol=1e-10)

    def of_compiled(y, kernel):
        weighed = perceptron._replace(kernels=(kernel, *perceptron.kernels[1:]))
        given = ops.convert_to_tensor(x)
        return ops.sum(ops.square(similarity.compiled(similarity.concatenation, given, y, weighed)))

    def of_whole(y, kernel):
        weighed = perceptron._replace(kernels=(kernel, *perceptron.kernels[1:]))
        return ops.sum(ops.square(similarity.concatenation(x, y, weighed, max_bytes=WHOLE)))

    arrays = y, numpy(perceptron.kernels[0])
    result = gradients(of_compiled, *arrays), gradients(staged(of_whole), *arrays)
    for first, second in zip(*result, strict=True):
        np.testing.assert_allclose(first, second, rtol=1e-8)


def test_dropout_is_told_each_block_by_its_number(rng):
    """Tests that the dropout function receives the number of each block. The dropout function of
    this test multiplies the units by the number of the block. The backward pass recomputes the
    units, and must use the same mask as the forward pass.
    """
    x, y = vectors(rng, 2, 5)
    perceptron = tensors(perceptrons.random(rng, 3, (4,)))
    bias = float(numpy(perceptron.biases[-1])[0])
    rows_of_two = 2 * 2 * 4 * 8  # two rows of y against two of x, four units of eight bytes

    def table(x, y, drop):
        return staged(
            lambda x, y: similarity.concatenation(
                x, y, perceptron, drop=drop, max_bytes=rows_of_two
            )
        )(x, y)

    def by_number(units, block):
        return units * ops.cast(1 + block, units.dtype)

    plain = numpy(table(x, y, lambda units, block: units)) - bias
    np.testing.assert_allclose(
        numpy(table(x, y, by_number)) - bias, plain * [1, 1, 2, 2, 3], rtol=1e-10, atol=1e-12
    )
    result = gradients(lambda y: ops.sum(table(x, y, by_number)), y)[0]
    of_plain = gradients(lambda y: ops.sum(table(x, y, lambda units, block: units)), y)[0]
    np.testing.assert_allclose(result, of_plain * np.array([[1, 1, 2, 2, 3]]).T, rtol=1e-10)


@pytest.mark.slow
@reads_proc
def test_neither_pass_holds_the_hidden_units_of_all_pairs(rng):
    """Tests the memory of 256 x 2048 pairs, which have 268 MB of hidden units and 268 MB of
    concatenated vectors."""
    x, y = vectors(rng, 256, 2048, features=64, dtype="float32")
    perceptron = tensors(perceptrons.random(rng, 64, (128,), dtype="float32"))

    def both_passes(x, y):
        return gradients(
            lambda x, y: ops.sum(ops.square(similarity.concatenation(x, y, perceptron))), x, y
        )

    both_passes(x[:3], y[:500])
    grown, _ = memory.growth_megabytes(lambda: both_passes(x, y))
    assert grown < 100


@pytest.mark.slow
@reads_proc
@pytest.mark.parametrize("table, rows", list(zip(TABLES, (200_000, 400_000, 600_000), strict=True)))
def test_a_single_probe_does_not_hold_the_hidden_units_of_a_whole_gallery(rng, table, rows):
    """Tests the memory of 1 x 200,000 pairs, which have 410 MB of hidden units. The number of pairs
    grows in each round, because freed memory is reused."""
    x, y = vectors(rng, 1, rows, features=8, dtype="float32")
    inputs, _ = TABLES[table]
    perceptron = tensors(perceptrons.random(rng, 8, (512,), inputs=inputs, dtype="float32"))
    x, y = ops.convert_to_tensor(x), ops.convert_to_tensor(y)
    similarity.compiled(table, x, y[:5000], perceptron)
    grown, _ = memory.growth_megabytes(lambda: similarity.compiled(table, x, y, perceptron))
    assert grown < 100


@all_tables
def test_a_table_of_several_blocks_is_compiled(rng, table, monkeypatch):
    """Tests that an eager call compiles the loop over blocks only once. Building the loop again in
    each eager call would take half a second."""
    x, y = map(ops.convert_to_tensor, vectors(rng, 64, 64, features=256, dtype="float32"))
    inputs, _ = TABLES[table]
    hidden = 128 if inputs == 2 else 2  # fewer than the differences
    perceptron = tensors(perceptrons.random(rng, 256, (hidden,), inputs=inputs, dtype="float32"))

    def in_python(*arguments):
        raise AssertionError("a loop outside of a compiled function")

    made = similarity.compiled(table, x, y, perceptron)  # compiles
    monkeypatch.setattr(ops, "map", in_python)
    np.testing.assert_array_equal(similarity.compiled(table, x, y, perceptron), made)


@pytest.mark.skipif(keras.backend.backend() == "jax", reason="XLA drops what nobody asks for")
def test_a_table_in_blocks_that_nobody_asks_for_is_not_computed(rng):
    """Tests that unused scores are not computed. Scores of thousands of classes are needed only for
    metrics, and many trainings have no metrics.
    """
    import tensorflow as tf

    x, y = vectors(rng, 6, 9, dtype="float32")
    perceptron = perceptrons.random(rng, 3, (4,), dtype="float32")
    of_variables = perceptron._replace(
        kernels=tuple(map(tf.Variable, perceptron.kernels)),
        biases=tuple(map(tf.Variable, perceptron.biases)),
    )

    def without_answers(x, y):
        similarity.concatenation(x, y, of_variables, max_bytes=ONE_ROW)
        return x

    graph = tf.function(without_answers, autograph=False).get_concrete_function(x, y).graph
    loops = [operation.type for operation in graph.get_operations() if "While" in operation.type]
    assert loops == ["StatelessWhile"]  # TensorFlow always runs stateful loops
