"""Tests that mean templates add, merge and remove recordings exactly."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import keras_dml
from keras_dml import distances
from keras_dml._backend import keras
from keras_dml.gallery import Gallery, MeanTemplate
from keras_dml.geometry import spd
from keras_dml.geometry.quantile import wasserstein
from keras_dml.layers import QuantileLayer, SequencePooling

KNOTS = np.linspace(0, 1, 6) ** 1.3


def quantiles(count, rng):
    values = np.sort(rng.normal(size=(count, 3, len(KNOTS))), axis=-1)
    return np.concatenate([values, np.broadcast_to(KNOTS, (count, 1, len(KNOTS)))], axis=1)


def matrices(count, rng):
    x = rng.normal(size=(count, 4, 12))
    return x @ x.swapaxes(1, 2) / 12


def vectors(count, rng):
    return rng.normal(size=(count, 7))


KINDS = {
    "wasserstein": (distances.Wasserstein(2), quantiles),
    "log_euclidean": (distances.LogEuclidean(), matrices),
    "euclidean": (distances.Euclidean(), vectors),
    "cosine": (distances.Cosine(), vectors),
}
kinds = pytest.mark.parametrize("kind", KINDS)
seeds = st.integers(0, 10_000)


def made(kind, count, seed):
    distance, embeddings = KINDS[kind]
    return distance, embeddings(count, np.random.default_rng(seed)).astype("f4")


def assert_same(template, expected):
    assert template.weight == expected.weight
    scale = np.abs(expected.mean).max()
    np.testing.assert_allclose(template.mean, expected.mean, rtol=0, atol=1e-6 * scale)


@kinds
@given(seed=seeds, gone=st.sets(st.integers(0, 5), max_size=5), order=st.permutations(range(6)))
def test_forgetting_is_exact_in_any_order(kind, seed, gone, order):
    distance, z = made(kind, 6, seed)
    template = MeanTemplate.from_embeddings(distance, z[list(order)])
    for i in gone:
        template = template.forget(z[i])
    assert_same(
        template, MeanTemplate.from_embeddings(distance, z[[i for i in range(6) if i not in gone]])
    )


@kinds
@given(seed=seeds, cuts=st.sets(st.integers(1, 6), min_size=2, max_size=2))
def test_merging_is_exact_associative_and_commutative(kind, seed, cuts):
    distance, z = made(kind, 7, seed)
    a, b, c = (MeanTemplate.from_embeddings(distance, part) for part in np.split(z, sorted(cuts)))
    whole = MeanTemplate.from_embeddings(distance, z)
    for merged in (a.merge(b).merge(c), a.merge(b.merge(c)), c.merge(a).merge(b)):
        assert_same(merged, whole)
    assert_same(a.merge(b).forget(b.embedding) if b.weight == 1 else a, a)


@kinds
def test_the_template_is_an_embedding_with_the_least_sum_of_squares(kind):
    distance, z = made(kind, 5, 0)
    if kind == "cosine":
        z /= np.linalg.norm(z, axis=1, keepdims=True)
    template = MeanTemplate.from_embeddings(distance, z).embedding
    assert template.shape == z.shape[1:] and template.dtype == np.float32

    def cost(point):
        distances_ = keras_dml.distance(distance, z, point[None]).ravel().astype(float)
        if kind == "wasserstein":  # one filter per row, as in the barycenter
            expected_ = [wasserstein.distance(z[:, [k]], point[[k]], KNOTS, 2) for k in range(3)]
            return float(np.sum(np.square(expected_)))
        return (distances_ if kind == "cosine" else distances_**2).sum()

    for candidate in made(kind, 4, 1)[1]:
        near = 0.98 * template + 0.02 * candidate if kind != "log_euclidean" else None
        if near is None:
            near = np.asarray(spd.geodesic(template, candidate, 0.02))
        assert cost(near) > cost(template)


def test_distances_without_a_mean_are_refused():
    with pytest.raises(ValueError, match="'wasserstein' of order 1 has no mean.*keep all"):
        MeanTemplate.from_embeddings(distances.Wasserstein(1), made("wasserstein", 2, 0)[1])
    with pytest.raises(ValueError, match="'affine_invariant' has no mean"):
        MeanTemplate.from_embeddings("affine_invariant", made("log_euclidean", 2, 0)[1])


def test_merging_other_templates_and_forgetting_the_last_recording_are_refused():
    vector = MeanTemplate.from_embeddings("euclidean", np.ones((1, 3)))
    with pytest.raises(ValueError, match="mean templates of one model"):
        vector.merge(MeanTemplate.from_embeddings("euclidean", np.ones((1, 4))))
    with pytest.raises(ValueError, match="mean templates of one model"):
        vector.merge(MeanTemplate.from_embeddings("cosine", np.ones((1, 3))))
    with pytest.raises(ValueError, match="Remove the whole template"):
        vector.forget(np.ones(3))
    with pytest.raises(ValueError, match="Received no embedding"):
        MeanTemplate.from_embeddings("euclidean", np.ones((0, 3)))


@pytest.mark.parametrize(
    "head",
    [lambda: QuantileLayer(4, p=2), lambda: SequencePooling("mean")],
    ids=["p = 2", "cosine"],
)
def test_a_gallery_returns_the_mean_template_of_the_remaining_recordings(head, tmp_path):
    signal = keras.Input((None, 2))
    model = keras.Model(signal, head()(keras.layers.Identity()(signal)))
    recordings = list(np.random.default_rng(0).normal(2, 1, size=(5, 20, 2)))
    with Gallery(tmp_path / "a.db", model) as first, Gallery(tmp_path / "b.db", model) as second:
        ids = first.enroll("alice", recordings[:3]).ids
        second.enroll("alice", recordings[3:])
        merged = first.mean_template("alice").merge(second.mean_template("alice"))
        first.merge(second)
        assert_same(first.mean_template("alice"), merged)
        z = keras_dml.embed(model, recordings)
        first.forget("alice", ids[1])
        assert_same(first.mean_template("alice"), merged.forget(z[1]))
        assert_same(
            first.mean_template("alice"),
            MeanTemplate.from_embeddings(model.layers[-1].distance, z[[0, 2, 3, 4]]),
        )


def test_a_gallery_whose_distance_has_no_mean_refuses_a_mean_template(tmp_path):
    signal = keras.Input((None, 2))
    model = keras.Model(signal, QuantileLayer(4)(keras.layers.Identity()(signal)))
    with Gallery(tmp_path / "a.db", model) as gallery:
        gallery.enroll("alice", np.zeros((20, 2)))
        with pytest.raises(ValueError, match="of order 1 has no mean"):
            gallery.mean_template("alice")
