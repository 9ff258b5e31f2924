"""Tests the layer PrototypeSimilarity: updates of prototypes, and adding, extending, replacing and
removing classes.
"""

import numpy as np
import pytest

from keras_dml._backend import keras, ops
from keras_dml.layers import LearnedSimilarity, PrototypeSimilarity
from tests.geometry import perceptrons
from tests.geometry.perceptrons import numpy

NAMES = ["a", "b"]


def state(layer):
    return [numpy(item) for item in (layer.prototypes, layer.visits, layer.counts)]


def layer_of(prototypes, class_names=NAMES, counts=None, **options):
    layer = PrototypeSimilarity(len(prototypes), hidden=(4,), **options)
    layer.set_prototypes(prototypes, class_names, counts=counts)
    return layer


@pytest.fixture
def layer(rng):
    """Returns a layer with two classes and two features. The first prototype is the mean of five
    embeddings, and the second prototype is the mean of an unknown number of embeddings."""
    return layer_of(rng.normal(size=(2, 2)), counts=[5, 0])


def update(layer, z, labels):
    z, labels = np.asarray(z, "float32"), np.asarray(labels, "int32")
    layer.update(ops.convert_to_tensor(z), ops.convert_to_tensor(labels))


# ---- answers ----------------------------------------------------------------------------------


def test_scores_are_learned_similarities_to_each_prototype(rng, layer):
    z = rng.normal(size=(3, 2)).astype("float32")
    expected = layer.similarity(z, numpy(layer.prototypes))
    np.testing.assert_array_equal(numpy(layer(z)), numpy(expected))
    np.testing.assert_array_equal(numpy(layer.distance(z, z)), -numpy(layer.similarity(z, z)))
    assert layer.compute_output_shape((3, 2)) == (3, 2)


def test_options_reach_the_similarity_and_prototypes_are_not_trainable():
    options = {"hidden": [3, 2], "slope": 0.2, "dropout": 0.1, "symmetry": "max", "normalize": True}
    layer = PrototypeSimilarity(3, **options)
    layer.build((None, 2))
    assert isinstance(layer.similarity, LearnedSimilarity)
    assert {key: layer.similarity.get_config()[key] for key in options} == options
    assert len(layer.trainable_weights) == 6
    clone = PrototypeSimilarity.from_config(layer.get_config())
    assert clone.get_config() == layer.get_config()


@pytest.mark.slow_on_jax
def test_prototypes_start_as_standard_normal_numbers():
    layer = PrototypeSimilarity(500)
    layer.build((None, 20))
    values = numpy(layer.prototypes)
    assert abs(values.mean()) < 0.05 and abs(values.std() - 1) < 0.05
    assert layer.without_visits() == layer.class_names


# ---- moving -----------------------------------------------------------------------------------


@pytest.mark.slow_on_jax
def test_an_update_moves_visited_rows_and_counts_the_visit(layer):
    before = state(layer)
    update(layer, [[1, 2], [3, 4], [9, 9]], [0, 0, -1])
    prototypes, visits, counts = state(layer)
    np.testing.assert_allclose(prototypes[0], 0.9 * before[0][0] + [0.2, 0.3], rtol=1e-6)
    np.testing.assert_array_equal(prototypes[1], before[0][1])
    np.testing.assert_array_equal(visits, [2, 1])
    np.testing.assert_array_equal(counts, [0, 0])  # a moving average has no count


@pytest.mark.slow_on_jax
def test_prototypes_may_start_at_the_first_mean():
    layer = PrototypeSimilarity(3, init="first_mean", decay=0.5, hidden=2)
    layer.build((None, 2))
    untouched = numpy(layer.prototypes)[2]
    update(layer, [[1, 1], [3, 3], [5, 0]], [0, 0, 1])
    np.testing.assert_array_equal(numpy(layer.prototypes)[:2], [[2, 2], [5, 0]])
    update(layer, [[0, 0]], [0])
    np.testing.assert_array_equal(numpy(layer.prototypes)[:2], [[1, 1], [5, 0]])
    np.testing.assert_array_equal(numpy(layer.prototypes)[2], untouched)
    assert layer.without_visits() == ["2"]


def test_no_gradient_goes_through_an_update(layer):
    from tests.gradients import gradients

    def value(z):
        with keras.StatelessScope():
            layer.update(z, ops.convert_to_tensor(np.array([0, 1], "int32")))
            return ops.sum(ops.square(ops.convert_to_tensor(layer.prototypes)))

    np.testing.assert_array_equal(gradients(value, np.ones((2, 2), "float32"))[0], 0)


# ---- adding and replacing ---------------------------------------------------------------------


def test_golden_added_classes():
    inputs, expected, _, close, _ = perceptrons.example("add-classes")
    layer = layer_of(inputs["prototypes"], inputs["names"], slope=inputs["slope"], dropout=0.0)
    weights = [np.array(item[key]) for item in inputs["layers"] for key in ("kernel", "bias")]
    layer.similarity.set_weights(weights)
    before = numpy(layer.prototypes)
    layer.add_classes(inputs["new_names"], inputs["support"], inputs["support_y"])
    after = numpy(layer.prototypes)
    np.testing.assert_allclose(after, expected["prototypes_after"], **close)
    np.testing.assert_array_equal(after[:2], before)
    assert layer.class_names == inputs["names"] + inputs["new_names"]
    scores = numpy(layer.similarity(np.array(inputs["query"], "float32"), after))
    assert scores.argmax(axis=1).tolist() == expected["predicted_among_all"]
    assert (2 + scores[:, 2:].argmax(axis=1)).tolist() == expected["predicted_among_new"]


def test_golden_extended_class():
    inputs, expected, _, close, _ = perceptrons.example("add-classes")
    layer = layer_of(inputs["prototypes"], counts=[1, 3])
    untouched = numpy(layer.prototypes)[0]
    layer.extend_class("b", np.array(inputs["query"])[[0, 3]])
    wanted = expected["row_1_as_mean_of_3_extended_by_query_0_and_3"]
    np.testing.assert_allclose(numpy(layer.prototypes)[1], wanted, **close)
    np.testing.assert_array_equal(numpy(layer.prototypes)[0], untouched)
    np.testing.assert_array_equal(numpy(layer.counts), [1, 5])


def test_a_class_added_in_parts_is_the_mean_of_all(rng, layer):
    z = rng.normal(size=(5, 2))
    layer.add_classes(["c"], z[:2], [0, 0])
    layer.extend_class("c", z[2:])
    np.testing.assert_allclose(numpy(layer.prototypes)[2], z.mean(axis=0), rtol=1e-5)


def test_refitting_sets_every_row_to_the_mean_of_its_class(rng, layer):
    z, labels = rng.normal(size=(5, 2)), np.array([1, 0, 1, 1, 0])
    layer.refit(z, labels)
    prototypes, visits, counts = state(layer)
    means = [z[labels == k].mean(axis=0) for k in range(2)]
    np.testing.assert_allclose(prototypes, means, rtol=1e-5)
    np.testing.assert_array_equal(counts, [2, 3])
    np.testing.assert_array_equal(visits, 1)


def test_replaced_prototypes_may_be_other_classes(rng, layer):
    new = rng.normal(size=(3, 2)).astype("float32")
    layer.set_prototypes(new, ["x", "y", "z"])
    np.testing.assert_array_equal(numpy(layer.prototypes), new)
    assert layer.class_names == ["x", "y", "z"] and layer.classes == 3
    assert layer(new).shape == (3, 3)
    layer.set_prototypes(2 * new)
    assert layer.class_names == ["x", "y", "z"]


@pytest.mark.parametrize("kind", [list, np.array, lambda x: np.array(x, object)])
def test_labels_of_new_classes_may_be_their_names(rng, kind):
    z = rng.normal(size=(5, 2))
    by_index, by_name, of_bytes = (layer_of(np.eye(2)) for _ in range(3))
    by_index.add_classes(["c", "d"], z, [1, 0, 1, 1, 0])
    by_name.add_classes(["c", "d"], z, kind(["d", "c", "d", "d", "c"]))
    of_bytes.add_classes(["c", "d"], z, [b"d", b"c", b"d", b"d", b"c"])
    for first, second, third in zip(*map(state, (by_index, by_name, of_bytes)), strict=True):
        np.testing.assert_array_equal(first, second)
        np.testing.assert_array_equal(first, third)


def test_refit_accepts_names(rng, layer):
    z = rng.normal(size=(3, 2))
    layer.refit(z, ["b", "a", "b"])
    np.testing.assert_allclose(numpy(layer.prototypes), [z[1], (z[0] + z[2]) / 2], rtol=1e-5)


@pytest.mark.slow_on_jax
def test_removing_a_class_keeps_the_others_bit_for_bit(rng):
    layer = layer_of(rng.normal(size=(4, 2)), list("abcd"), counts=[5, 0, 2, 7])
    update(layer, [[1, 2]], [1])
    z = rng.normal(size=(3, 2)).astype("float32")
    before, scores = state(layer), numpy(layer(z))
    assert layer.remove_classes(["c", "a"]) == [2, 0]
    assert layer.class_names == ["b", "d"] and layer.classes == 2
    for first, second in zip(before, state(layer), strict=True):
        np.testing.assert_array_equal(second, first[[1, 3]])
    np.testing.assert_array_equal(numpy(layer(z)), scores[:, [1, 3]])
    assert PrototypeSimilarity.from_config(layer.get_config()).class_names == ["b", "d"]
    assert len(layer.weights) == 3 + len(layer.similarity.weights)


def test_unbuilt_layer_removes_classes():
    layer = PrototypeSimilarity(3, hidden=2, class_names=["a", "b", "c"])
    layer.remove_classes(["b"])
    layer.build((None, 2))
    assert layer.class_names == ["a", "c"] and layer.prototypes.shape == (2, 2)


@pytest.mark.slow_on_jax
def test_unbuilt_layer_adds_classes():
    layer = PrototypeSimilarity(1, hidden=2)
    layer.add_classes(["new"], np.ones((2, 3)), [0, 0])
    assert layer.class_names == ["0", "new"] and layer.prototypes.shape == (2, 3)


def test_a_file_keeps_added_classes(tmp_path, rng, layer):
    layer.add_classes(["c"], rng.normal(size=(3, 2)), [0, 0, 0])
    inputs = keras.Input((2,))
    model = keras.Model(inputs, layer(inputs))
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras").layers[-1]
    assert loaded.class_names == ["a", "b", "c"]
    for first, second in zip(state(loaded), state(layer), strict=True):
        np.testing.assert_array_equal(first, second)


# ---- bad input --------------------------------------------------------------------------------

Z = np.ones((2, 2))
WITH_NAN = np.array([[1, 1], [1, np.nan]])


@pytest.mark.slow
@pytest.mark.parametrize(
    "change, message",
    [
        (lambda layer: layer.add_classes(["b"], Z, [0, 0]), r"'b'.*extend_class"),
        (lambda layer: layer.add_classes(["c", "c"], Z, [0, 1]), r"twice: \['c'\]"),
        (lambda layer: layer.add_classes(["c", "d"], Z, [0, 0]), r"'d'"),
        (lambda layer: layer.add_classes(["c"], Z, [0, 1]), r"ids from 0 to 0. Received \[1\]"),
        (lambda layer: layer.add_classes(["c"], Z, [0]), r"shape \(2,\). Received shape \(1,\)"),
        (lambda layer: layer.add_classes("c", Z, [0, 0]), "must be a list of names.*'c'"),
        (lambda layer: layer.add_classes(["c"], Z[:0], []), "at least one embedding"),
        (
            lambda layer: layer.add_classes(["c"], WITH_NAN, [0, 0]),
            "NaN or infinity, first in row 1",
        ),
        (
            lambda layer: layer.add_classes(["c"], np.ones((2, 3)), [0, 0]),
            r"\(count, 2\).*\(2, 3\)",
        ),
        (lambda layer: layer.extend_class("c", Z), "'c' does not exist.*`add_classes`"),
        (
            lambda layer: layer.remove_classes(["a", "c"]),
            r"Received \['a', 'c'\].*'c'",
        ),
        (lambda layer: layer.remove_classes(["a", "a"]), r"twice: \['a'\]"),
        (lambda layer: layer.remove_classes("a"), "must be a list of names.*'a'"),
        (lambda layer: layer.remove_classes([]), "must name some of the classes"),
        (lambda layer: layer.remove_classes(["b", "a"]), "all 2 classes"),
        (
            lambda layer: layer.add_classes(["c", "d"], Z, ["c", "e"]),
            r"names of the classes \['c', 'd'\], or ids. Received \['e'\]",
        ),
        (
            lambda layer: layer.extend_class("b", Z),
            "average.*refit_prototypes",
        ),
        (lambda layer: layer.extend_class("a", WITH_NAN), "first in row 1"),
        (lambda layer: layer.extend_class("a", Z[:0]), "at least one embedding"),
        (lambda layer: layer.refit(Z, [1, 1]), r"'a'"),
        (lambda layer: layer.refit(Z, [0, 2]), r"ids from 0 to 1. Received \[2\]"),
        (lambda layer: layer.refit(WITH_NAN, [0, 1]), "first in row 1"),
        (lambda layer: layer.set_prototypes(np.ones((2, 3))), r"\(count, 2\).*\(2, 3\)"),
        (lambda layer: layer.set_prototypes(np.ones(2)), r"Received shape \(2,\)"),
        (lambda layer: layer.set_prototypes(WITH_NAN), "`prototypes` holds NaN.*row 1"),
        (lambda layer: layer.set_prototypes(np.ones((3, 2))), "3 classes.*Received 2"),
        (lambda layer: layer.set_prototypes(Z, ["x", "x"]), r"twice: \['x'\]"),
        (
            lambda layer: layer.set_prototypes(np.ones((3, 2)), ["x", "y", "z"], counts=[1, 2]),
            r"`counts`.*shape \(3,\). Received shape \(2,\)",
        ),
    ],
)
def test_failed_changes_leave_the_layer_unchanged(layer, change, message):
    before = state(layer)
    with pytest.raises(ValueError, match=message):
        change(layer)
    assert layer.class_names == NAMES
    for first, second in zip(state(layer), before, strict=True):
        np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"classes": 0}, "`classes` must be a whole number of at least 1"),
        ({"classes": 2.0}, "`classes`"),
        ({"decay": 1.1}, "`decay` must be a number from 0 to 1"),
        ({"init": "zeros"}, "`init` must be one of .*first_mean"),
        ({"class_names": ["a"]}, "2 classes.*Received 1"),
        ({"class_names": ["a", "a"]}, "twice"),
        ({"symmetry": "min"}, "`symmetry` must be one of"),
    ],
)
def test_options_out_of_range_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        PrototypeSimilarity(**{"classes": 2, **options})


@pytest.mark.parametrize("shape", [(None, None), (None, 4, 4)])
def test_inputs_other_than_vectors_are_refused(shape):
    with pytest.raises(ValueError, match="vectors of known width.*keras.layers.Flatten"):
        PrototypeSimilarity(2).build(shape)


@pytest.mark.parametrize("counts", [[-1, 2], [np.nan, 2], [np.inf, 2]])
def test_invalid_counts_are_refused(counts):
    layer = PrototypeSimilarity(classes=2, hidden=(4,))
    with pytest.raises(ValueError, match="`counts` must be at least 0"):
        layer.set_prototypes(np.zeros((2, 3)), counts=counts)


@pytest.mark.parametrize("names, message", [([], "is empty"), (None, "Received None")])
def test_new_classes_need_names(names, message):
    layer = PrototypeSimilarity(classes=2, hidden=(4,))
    layer.set_prototypes(np.zeros((2, 3)))
    with pytest.raises(ValueError, match=message):
        layer.add_classes(names, np.zeros((1, 3)), [0])
