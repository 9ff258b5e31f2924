import json

import numpy as np
import pytest

from keras_dml import distances
from keras_dml._backend import keras, ops
from keras_dml.geometry import spd
from keras_dml.geometry.quantile import wasserstein
from keras_dml.layers import QuantileLayer
from keras_dml.losses import TripletLoss
from tests.geometry import matrices

KINDS = {
    "affine_invariant": distances.AffineInvariant,
    "bures_wasserstein": distances.BuresWasserstein,
    "cosine": distances.Cosine,
    "euclidean": distances.Euclidean,
    "log_euclidean": distances.LogEuclidean,
    "stein": distances.Stein,
    "two_covariance": distances.LogLikelihoodRatio,
    "wasserstein": distances.Wasserstein,
}
OF_SPD = ["affine_invariant", "bures_wasserstein", "log_euclidean", "stein"]


def numpy(tensor):
    return np.asarray(ops.convert_to_numpy(tensor))


def embeddings(rng, count, filters=3, knots=5, power=1.0):
    values = np.sort(rng.normal(size=(count, filters, knots)), axis=-1)
    row = np.broadcast_to(np.linspace(0, 1, knots) ** power, (count, 1, knots))
    return np.concatenate([values, row], axis=1).astype("float32")


def of_two_covariances(rng, count, variances=(60.0, 9.0, 30.0)):
    """Draws embeddings of people, one recording per person."""
    variances = np.broadcast_to(variances, (count, 3))
    vectors = rng.normal(size=(count, 3)) * np.sqrt(variances + 1)
    return np.stack([vectors, variances], axis=1).astype("float32")


@pytest.mark.parametrize("name, kind", KINDS.items())
def test_a_name_gives_the_distance_of_that_name(name, kind):
    assert type(distances.get(name)) is kind


def test_an_object_or_a_function_is_taken_as_it_is():
    ours, own = distances.Wasserstein(2), lambda x, y: x @ y.T
    assert distances.get(ours) is ours
    assert (distances.get(own)(np.eye(2), np.ones((3, 2))) == np.ones((2, 3))).all()


@pytest.mark.parametrize(
    "distance", [distances.Wasserstein(2.5), *(kind() for kind in KINDS.values())]
)
def test_a_distance_survives_json(distance):
    config = json.loads(json.dumps(distances.serialize(distance)))
    clone = distances.get(config)
    assert type(clone) is type(distance)
    assert clone.get_config() == distance.get_config()


@pytest.mark.parametrize("name, near", [("wassertein", "wasserstein"), ("cosin", "cosine")])
def test_an_unknown_name_is_answered_with_the_nearest_and_all_known(name, near):
    with pytest.raises(ValueError, match=f"Known names: {', '.join(KINDS)}. Did you mean '{near}'"):
        distances.get(name)


def test_a_name_like_none_of_them_is_answered_without_a_guess():
    with pytest.raises(ValueError) as error:
        distances.get("earth_movers")
    assert "Did you mean" not in str(error.value)


@pytest.mark.parametrize("thing", [None, 3, ["cosine"]])
def test_what_is_no_distance_is_refused_with_its_type(thing):
    with pytest.raises(TypeError, match=f"Received {type(thing).__name__}"):
        distances.get(thing)


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("p", [1, 2])
def test_wasserstein_reads_values_and_knots_from_the_embeddings(rng, p):
    x, y = embeddings(rng, 4, power=1.7), embeddings(rng, 2, power=1.7)
    result = numpy(distances.Wasserstein(p)(x, y))
    expected = wasserstein.pairwise(x[:, :-1], y[:, :-1], x[0, -1], p)
    assert result.shape == (4, 2)
    np.testing.assert_allclose(result, expected, rtol=1e-5)


@pytest.mark.slow_on_jax
def test_embeddings_of_a_layer_are_at_distance_zero_from_themselves(rng):
    x = QuantileLayer(4)(rng.normal(size=(3, 20, 2)).astype("float32"))
    assert (np.diag(numpy(distances.Wasserstein()(x, x))) == 0).all()


@pytest.mark.slow_on_jax
def test_cosine_is_minus_the_cosine_and_zero_for_a_zero_vector(rng):
    x, y = rng.normal(size=(3, 4)), rng.normal(size=(2, 4))
    y[1] = 0
    unit = lambda v: v / np.maximum(np.linalg.norm(v, axis=1, keepdims=True), 1e-9)  # noqa: E731
    np.testing.assert_allclose(distances.Cosine()(x, y), -unit(x) @ unit(y).T, rtol=0, atol=1e-6)
    assert (numpy(distances.Cosine()(x, y))[:, 1] == 0).all()


def test_embeddings_with_other_knots_are_refused(rng):
    x, y = embeddings(rng, 2), embeddings(rng, 3, power=1.01)
    with pytest.raises(ValueError, match="different knots[^$]*one model"):
        distances.Wasserstein()(x, y)


def test_embeddings_of_two_models_on_one_side_are_refused(rng):
    mixed = np.concatenate([embeddings(rng, 2), embeddings(rng, 2, power=1.5)])
    for x, y in [(mixed, mixed[:2]), (mixed[:2], mixed)]:
        with pytest.raises(ValueError, match="different knots"):
            distances.Wasserstein()(x, y)


def test_knots_that_a_float16_file_rounded_are_the_same(rng):
    x = embeddings(rng, 2, power=1.3)
    rounded = x.copy()
    rounded[:, -1] = x[:, -1].astype("float16")
    assert (rounded != x).any()
    np.testing.assert_allclose(distances.Wasserstein()(x, rounded), distances.Wasserstein()(x, x))


@pytest.mark.parametrize("sizes", [{"knots": 7}, {"filters": 4}, {"filters": 1}])
def test_embeddings_of_other_sizes_are_refused_not_broadcast(rng, sizes):
    """Tests that embeddings with different numbers of knots or filters are refused. Without the
    check, one filter and three filters would broadcast, and the distance would be meaningless."""
    with pytest.raises(ValueError, match=r"one model. Received shapes \(2, 4, 5\) and \(2"):
        distances.Wasserstein()(embeddings(rng, 2), embeddings(rng, 2, **sizes))


@pytest.mark.parametrize("shape", [(5,), (4, 5), (2, 3, 4, 5)])
@pytest.mark.parametrize("place", ["x", "y"])
def test_wasserstein_refuses_other_ranks_and_says_which_side(rng, shape, place):
    sides = {"x": embeddings(rng, 2), "y": embeddings(rng, 2), place: np.zeros(shape, "float32")}
    with pytest.raises(
        ValueError, match=f"`{place}` must hold quantile embeddings[^$]*Received shape"
    ):
        distances.Wasserstein()(sides["x"], sides["y"])


@pytest.mark.parametrize("name", ["cosine", "euclidean"])
@pytest.mark.parametrize("shape", [(5,), (2, 4, 5)])
def test_distances_of_vectors_refuse_what_are_none(name, shape):
    with pytest.raises(ValueError, match="`y` must hold vectors, shape .batch, features."):
        distances.get(name)(np.zeros((2, 5), "float32"), np.zeros(shape, "float32"))


@pytest.mark.parametrize("name", ["cosine", "euclidean"])
def test_distances_of_vectors_refuse_vectors_of_other_lengths(name):
    with pytest.raises(ValueError, match=r"Received shapes \(2, 5\) and \(2, 6\)"):
        distances.get(name)(np.zeros((2, 5), "float32"), np.zeros((2, 6), "float32"))


@pytest.mark.slow_on_jax
def test_euclidean_is_the_length_of_the_difference(rng):
    x, y = rng.normal(size=(3, 4)), rng.normal(size=(2, 4))
    expected = np.linalg.norm(x[:, None] - y[None], axis=-1)
    np.testing.assert_allclose(distances.Euclidean()(x, y), expected, rtol=1e-6)


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("name", OF_SPD)
def test_distances_of_spd_matrices_are_those_of_single_pairs(rng, name):
    x, y = matrices.spd(rng, 3, 4), matrices.spd(rng, 2, 4)
    expected = [[float(getattr(spd, name)(a, b)) for b in y] for a in x]
    np.testing.assert_allclose(distances.get(name)(x, y), expected, rtol=1e-9)


@pytest.mark.slow_on_jax
def test_euclidean_of_vectorized_logarithms_is_log_euclidean(rng):
    x, y = matrices.spd(rng, 3, 4), matrices.spd(rng, 2, 4)
    vectors = (spd.vectorize(spd.log(side)) for side in (x, y))
    np.testing.assert_allclose(
        distances.Euclidean()(*vectors), distances.LogEuclidean()(x, y), rtol=1e-9
    )


@pytest.mark.parametrize("name", OF_SPD)
@pytest.mark.parametrize("shape", [(6,), (2, 6), (1, 2, 3, 3)])
def test_distances_of_spd_matrices_refuse_what_are_none(name, shape):
    with pytest.raises(ValueError, match="`x` must hold SPD matrices, shape .batch, n, n."):
        distances.get(name)(np.ones(shape), np.eye(3)[None])


@pytest.mark.parametrize("name", OF_SPD)
def test_spd_matrices_that_are_not_square_or_of_other_sizes_are_refused(name):
    with pytest.raises(ValueError, match="`x` must hold square matrices"):
        distances.get(name)(np.ones((2, 3, 4)), np.ones((2, 3, 4)))
    with pytest.raises(ValueError, match="one model. Received shapes"):
        distances.get(name)(np.eye(3)[None], np.eye(4)[None])


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("spectrum", [[-0.1, 1, 2], [0, 1, 2]])
@pytest.mark.parametrize("side", ["x", "y"])
@pytest.mark.parametrize("name", ["affine_invariant", "stein"])
def test_matrices_that_are_not_positive_definite_are_refused(rng, name, side, spectrum):
    sides = {"x": matrices.spd(rng, 3, 3), "y": matrices.spd(rng, 2, 3)}
    sides[side][1] = matrices.with_spectrum(rng, spectrum)
    with pytest.raises(
        ValueError, match=f"`{side}` must hold positive def[^$]*first at index 1.[^$]*ReEig"
    ):
        distances.get(name)(**sides)


@pytest.mark.parametrize("side", ["x", "y"])
@pytest.mark.parametrize("least", [-0.1, 0.0])
def test_an_indefinite_matrix_is_at_a_large_log_euclidean_distance(rng, side, least):
    sides = {"x": matrices.spd(rng, 3, 3), "y": matrices.spd(rng, 2, 3)}
    distance = distances.get("log_euclidean")
    before = numpy(distance(**sides))
    sides[side][1] = matrices.with_spectrum(rng, [least, 1, 2])
    result = numpy(distance(**sides))
    axis = {"x": 0, "y": 1}[side]
    assert np.isfinite(result).all()
    assert result.take(1, axis).min() > before.max()


@pytest.mark.parametrize("side", ["x", "y"])
def test_bures_wasserstein_compares_the_positive_part_of_an_indefinite_matrix(rng, side):
    sides = {"x": matrices.spd(rng, 3, 4), "y": matrices.spd(rng, 2, 4)}
    sides[side][1] = matrices.with_spectrum(rng, [-0.5, -0.1, 1, 2])
    parts = {key: matrices.by_eigh(lambda v: np.maximum(v, 0), x) for key, x in sides.items()}
    distance = distances.BuresWasserstein()
    np.testing.assert_allclose(distance(**sides), distance(**parts), rtol=1e-7)


@pytest.mark.slow_on_jax
@pytest.mark.parametrize(
    "name, side",
    [
        ("bures_wasserstein", "x"),
        ("bures_wasserstein", "y"),
        ("log_euclidean", "x"),
    ],
)
def test_a_singular_matrix_is_not_refused_for_a_nan_beside_it(rng, name, side):
    sides = {"x": matrices.spd(rng, 3, 3), "y": matrices.spd(rng, 3, 3)}
    sides[side][1] = matrices.with_spectrum(rng, [0, 1, 2])
    sides["x"][2, 0, 0] = np.nan
    result = numpy(distances.get(name)(**sides))
    assert np.isnan(result[2]).all()
    assert np.isfinite(result[:2]).all()


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("name", OF_SPD)
def test_a_matrix_that_is_not_finite_keeps_its_nan(rng, name):
    x, y = matrices.spd(rng, 2, 3), matrices.spd(rng, 2, 3)
    x[0, 1, 1] = np.nan
    result = numpy(distances.get(name)(x, y))
    assert np.isnan(result[0]).all()
    assert np.isfinite(result[1]).all()


@pytest.mark.parametrize("p", [0.99, "1", None])
def test_orders_below_one_are_refused(p):
    with pytest.raises(ValueError, match="`p` must be a real number of at least 1"):
        distances.Wasserstein(p)


def test_classes_are_registered_under_the_packages_name():
    for kind in KINDS.values():
        assert keras.saving.get_registered_name(kind) == f"keras_dml>{kind.__name__}"


@pytest.mark.parametrize("name", ["affine_invariant", "cosine", "euclidean", "wasserstein"])
def test_a_distance_tells_its_name(name):
    assert distances.get(name).name == name
    assert name in distances.names()


class Manhattan(distances.Distance):
    def pairwise(self, x, y):
        return ops.sum(ops.abs(x[:, None] - y[None]), axis=-1)


class Halved(distances.Euclidean):
    def pairwise(self, x, y):
        return super().pairwise(x, y) / 2


@pytest.mark.parametrize("kind", [Manhattan, Halved])
def test_a_distance_of_ones_own_squares_what_it_measures(rng, kind):
    x, y = rng.normal(size=(3, 4)), rng.normal(size=(2, 4))
    np.testing.assert_allclose(kind().squared(x, y), numpy(kind()(x, y)) ** 2)
    with pytest.raises(ValueError, match="`x` must hold vectors"):
        kind()(x[0], y)


def test_a_registered_distance_is_known_everywhere(register):
    register("manhattan")(Manhattan)
    assert type(distances.get("manhattan")) is Manhattan
    assert "manhattan" in distances.names()
    clone = distances.get(distances.serialize(Manhattan()))
    assert type(clone) is Manhattan


@pytest.fixture
def register(monkeypatch):
    """Returns `distances.register`. After the test, the names that the test registered are
    removed."""
    monkeypatch.setattr(distances.base, "_NAMES", dict(distances.base._NAMES))
    custom = keras.saving.get_custom_objects()
    before = dict(custom)
    yield distances.register
    custom.clear()
    custom.update(before)


def defined(name, module=__name__, base=distances.Distance):
    """Defines a new distance class with the given name, in the same way as a notebook cell."""
    body = {"__module__": module, "__qualname__": name, "pairwise": Manhattan.pairwise}
    return type(name, (base,), body)


@pytest.mark.parametrize("name", sorted(KINDS))
def test_a_registered_name_is_not_given_to_another_class(register, name):
    before = distances.declared(name)
    with pytest.raises(ValueError, match=f"{name!r}.*{before.__name__}"):
        register(name)(defined("Another"))
    assert distances.declared(name) is before and before.name == name
    assert type(distances.get(distances.serialize(before()))) is before


def test_a_name_of_ones_own_is_not_given_away_either(register):
    first = register("mine")(defined("First"))
    with pytest.raises(ValueError, match="mine.*First"):
        register("mine")(defined("Second"))
    assert distances.declared("mine") is first


def test_a_class_that_is_defined_again_replaces_itself(register):
    """Tests that a distance class can be defined twice, which happens if a notebook cell runs again
    or a module is reloaded."""
    register("mine")(defined("First"))
    again = register("mine")(defined("First"))
    assert distances.declared("mine") is again
    assert type(distances.get(distances.serialize(again()))) is again


def test_a_class_has_one_name(register):
    with pytest.raises(ValueError, match="'cosine'.*'angle'"):
        register("angle")(distances.Cosine)
    assert distances.Cosine.name == "cosine" and "angle" not in distances.names()


@pytest.mark.parametrize("name", ["Cosine", "QuantileLayer"])
def test_a_class_does_not_take_the_place_of_the_packages_own_in_saved_models(register, name):
    before = keras.saving.get_registered_object(f"keras_dml>{name}")
    assert before is not None
    with pytest.raises(ValueError, match=f"{name!r}.*Rename"):
        register("mine")(defined(name, "__main__"))
    assert keras.saving.get_registered_object(f"keras_dml>{name}") is before


@pytest.mark.parametrize("name", [Manhattan, None, 3, ["mine"]])
def test_a_name_that_is_no_text_is_refused(name):
    with pytest.raises(TypeError, match="name"):
        distances.register(name)


@pytest.mark.parametrize("thing", [lambda x, y: x, Manhattan(), keras.layers.Dense])
def test_only_distances_are_registered(register, thing):
    with pytest.raises(TypeError, match="Distance"):
        register("mine")(thing)
    assert "mine" not in distances.names()


def test_an_empty_name_is_refused():
    with pytest.raises(ValueError, match="empty"):
        distances.register("")


class Unwritten(distances.Distance):
    def distance(self, x, y):
        return x @ y.T


@pytest.mark.parametrize(
    "use",
    [
        lambda: distances.register("unwritten")(Unwritten),
        lambda: distances.get(Unwritten()),
        lambda: distances.get(distances.Distance()),
        lambda: TripletLoss(distance=Unwritten()),
    ],
)
def test_a_distance_without_pairwise_is_refused_before_it_measures(use):
    with pytest.raises(TypeError, match="`pairwise"):
        use()


def test_a_call_of_a_distance_without_pairwise_says_what_is_missing():
    with pytest.raises(NotImplementedError, match="Unwritten.*`pairwise"):
        Unwritten()(np.eye(2, dtype="float32"), np.eye(2, dtype="float32"))


def test_a_class_in_place_of_a_distance_is_refused():
    with pytest.raises(TypeError, match=r"`Cosine\(\)`"):
        distances.get(distances.Cosine)


def test_a_name_on_a_card_tells_what_its_distance_declares():
    for name, kind in KINDS.items():
        assert distances.declared(name) is kind
    assert distances.declared("learned_similarity").is_learned
    assert not any(kind.is_learned for kind in KINDS.values())
    with pytest.raises(ValueError, match="Unknown distance 'cosin'.*Did you mean 'cosine'"):
        distances.declared("cosin")


def test_a_learned_distance_is_not_made_from_its_name():
    assert "learned_similarity" not in distances.names()
    with pytest.raises(ValueError, match="part of its model.*`model.distance`"):
        distances.get("learned_similarity")


def test_devices_compare_tangent_vectors_where_distances_of_matrices_need_eigenvalues():
    for name in KINDS:
        itself = name == "bures_wasserstein" or name not in OF_SPD
        expected = None if itself else "log_euclidean"
        assert distances.get(name).device_distance == expected


def test_a_device_computes_the_distance_itself_unless_it_says_otherwise(rng):
    x, y = rng.normal(size=(3, 4)), rng.normal(size=(2, 4))
    np.testing.assert_array_equal(Manhattan().on_device(x, y), Manhattan()(x, y))


def test_a_device_computes_the_pairwise_distances_of_a_subclass(rng):
    x, y = rng.normal(size=(3, 4)), rng.normal(size=(2, 4))
    np.testing.assert_array_equal(Halved().on_device(x, y), Halved()(x, y))


def spd_or_vectors(name, rng, rows):
    if name == "wasserstein":
        x = np.sort(rng.normal(size=(rows, 3, 5)), axis=-1)
        x[:, -1] = np.linspace(0, 1, 5)
        return x
    if name in ("cosine", "euclidean"):
        return rng.normal(size=(rows, 4))
    x = rng.normal(size=(rows, 3, 7))
    return x @ x.swapaxes(1, 2)


EACH = [
    distances.Wasserstein(),
    distances.Wasserstein(2),
    distances.Cosine(),
    distances.Euclidean(),
    distances.AffineInvariant(),
    distances.LogEuclidean(),
    distances.Stein(),
    distances.BuresWasserstein(),
]
each = pytest.mark.parametrize("distance", EACH, ids=lambda d: d.name)


@pytest.mark.slow_on_jax
@each
def test_the_wider_type_wins(rng, distance):
    x, y = (spd_or_vectors(distance.name, rng, rows) for rows in (3, 2))
    expected = np.asarray(distance(x, y))
    for first, second in [("float64", "float32"), ("float32", "float64"), ("float32", "float16")]:
        if distance.name == "wasserstein" and second == "float16":
            continue  # the knots are rounded
        result = distance(x.astype(first), y.astype(second))
        wide = "float64" if "float64" in (first, second) else "float32"
        assert keras.backend.standardize_dtype(result.dtype) == wide
        np.testing.assert_allclose(result, expected, rtol=0.02, atol=0.02)


@pytest.mark.slow_on_jax
@each
@pytest.mark.parametrize("rows", [(0, 2), (2, 0), (0, 0)])
def test_no_rows_have_no_distances(rng, distance, rows):
    x, y = (spd_or_vectors(distance.name, rng, count) for count in rows)
    assert tuple(distance(x.astype("float32"), y.astype("float32")).shape) == rows


@each
def test_embeddings_that_are_no_real_numbers_are_refused(rng, distance):
    x = spd_or_vectors(distance.name, rng, 2)
    bad = [np.ma.array(x, mask=x == x.max()), x + 1j, x.astype(str), None]
    for item in bad:
        with pytest.raises(TypeError, match="`x` must hold"):
            distance(item, x)
        with pytest.raises(TypeError, match="`y` must hold"):
            distance(x, item)


def some(name, rng, count):
    if name in OF_SPD:
        return matrices.spd(rng, count, 4).astype("float32")
    if name == "wasserstein":
        return embeddings(rng, count, power=1.7)
    if name == "two_covariance":
        return of_two_covariances(rng, count)
    return rng.normal(size=(count, 6)).astype("float32")


@pytest.mark.slow_on_jax
@pytest.mark.parametrize(
    "distance", [*(kind() for kind in KINDS.values()), distances.Wasserstein(2)]
)
def test_lower_bounds_are_not_above_the_distance(rng, distance):
    x, y = some(distance.name, rng, 5), some(distance.name, rng, 40)
    bounds = distance.lower_bounds(y)
    if bounds is None:
        assert distance.name not in ("wasserstein", "affine_invariant", "log_euclidean")
        return
    result, exact = bounds(x), numpy(distance(x, y))
    assert result.shape == exact.shape
    assert (result <= exact * (1 + 1e-4)).all() and (result > 0.2 * exact).all()


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("name", ["cosine", "euclidean", "log_euclidean", "wasserstein"])
def test_vectors_of_an_index_rank_as_the_distance_does(rng, name):
    distance = distances.get(name)
    x, y = some(name, rng, 5), some(name, rng, 40)
    queries, entries = (np.asarray(distance.index_vectors(side)) for side in (x, y))
    order = {"l1": 1, "l2": 2}[distance.index_metric]
    result = np.linalg.norm(queries[:, None] - entries[None], order, axis=-1)
    exact = numpy(distance(x, y))
    if name == "wasserstein":  # the index vectors give the upper bound
        assert (result >= exact * (1 - 1e-5)).all() and (result <= 2 * exact).all()
    else:
        np.testing.assert_array_equal(result.argsort(axis=1), exact.argsort(axis=1))


def test_embeddings_with_other_variances_are_refused(rng):
    x, y = of_two_covariances(rng, 2), of_two_covariances(rng, 3, (60.0, 9.1, 30.0))
    with pytest.raises(ValueError, match="different variances[^$]*one model"):
        distances.LogLikelihoodRatio()(x, y)
    with pytest.raises(ValueError, match="`z` holds an embedding from another model in row 2"):
        distances.LogLikelihoodRatio().check("z", np.concatenate([x, y[:1]]))
    with pytest.raises(ValueError, match="`z` holds no embedding[^$]*in row 1"):
        distances.LogLikelihoodRatio().check("z", np.stack([x[0], -np.abs(x[1])]))


def test_variances_that_a_float16_file_rounded_are_the_same(rng):
    x = of_two_covariances(rng, 2, (60.01, 9.003, 0.3))
    rounded = x.copy()
    rounded[:, 1] = x[:, 1].astype("float16")
    assert (rounded != x).any()
    distance = distances.LogLikelihoodRatio()
    np.testing.assert_allclose(distance(x, rounded), distance(x, x), rtol=1e-3, atol=1e-3)
    distance.check_same(rounded, x)
    with pytest.raises(ValueError, match="variances of the embeddings differ"):
        distance.check_same(1.01 * x, x)


def test_a_custom_distance_has_neither_bounds_nor_vectors(rng):
    own = distances.get(lambda x, y: x @ y.T)
    x = rng.normal(size=(3, 2))
    assert own.lower_bounds(x) is None and own.index_vectors(x) is None


# ---- what a distance declares for galleries and explanations ----------------------------------


def sample(name, rng, count):
    """Draws `count` embeddings that are valid for the distance."""
    if name == "wasserstein":
        return embeddings(rng, count)
    if name == "two_covariance":
        return of_two_covariances(rng, count)
    if name in OF_SPD:
        return matrices.spd(rng, count, 4).astype("float32")
    return rng.normal(size=(count, 4)).astype("float32")


DECLARED = {
    "affine_invariant": {"difference"},
    "bures_wasserstein": set(),
    "cosine": {"mean"},
    "euclidean": {"difference", "mean"},
    "log_euclidean": {"difference", "mean"},
    "stein": set(),
    "two_covariance": {"mean"},
    "wasserstein": {"segment_parts"},
}


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("name, kind", KINDS.items())
def test_declared_means_and_parts_agree_with_the_distance(rng, name, kind):
    distance = kind()
    x, y = z = sample(name, rng, 2)
    expected = numpy(distance(z[:1], z[1:])).item()
    values = {}
    difference, parts = distance.difference(x, y), distance.segment_parts(x, y)
    if difference is not None:
        values["difference"] = np.linalg.norm(difference)
    if parts is not None:
        values["segment_parts"] = parts.sum()
        halves = distance.activation_parts(x, y, 9), distance.activation_parts(y, x, 9)
        np.testing.assert_allclose([half.sum() for half in halves], parts.sum() / 2, rtol=1e-6)
    assert {*values, *(["mean"] if distance.has_mean else [])} == DECLARED[name]
    np.testing.assert_allclose(list(values.values()), expected, rtol=1e-4)
    if distance.has_mean:
        point = distance.mean_points(z[:1])[0]
        assert point.dtype == np.float64
        restored = distance.from_mean_point(point)[None].astype("float32")
        gap = numpy(distance(restored, z[:1])).item() - numpy(distance(z[:1], z[:1])).item()
        np.testing.assert_allclose(gap, 0, rtol=0, atol=1e-3)


def test_quantile_embeddings_have_a_mean_for_order_2_only(rng):
    assert [p for p in (1, 1.5, 2, 3) if distances.Wasserstein(p).has_mean] == [2]
    with pytest.raises(NotImplementedError, match="BuresWasserstein"):
        distances.BuresWasserstein().mean_points(np.eye(2)[None])
