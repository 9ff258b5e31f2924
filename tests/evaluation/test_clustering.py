"""Tests metrics that compare clusters with classes: normalized mutual information (NMI) and
pair-counting F1."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import normalized_mutual_info_score

from keras_dml.evaluation import clustering, embedding_clustering
from tests.evaluation import oracles
from tests.goldens import golden

PARTITIONS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=20)


@pytest.fixture
def blobs(rng):
    """Draws 60 vectors of three well separated classes, with labels."""
    labels = np.repeat(["jump", "run", "walk"], 20)
    centers = {"jump": 0.0, "run": 20.0, "walk": 40.0}
    return np.array([centers[label] for label in labels])[:, None] + rng.normal(
        size=(60, 4)
    ), labels


def test_goldens():
    example = golden("clustering", "seeds_p3")
    tolerance = example["tolerance"]["float64"]
    close = {"rel": tolerance["rtol"], "abs": tolerance["atol"]}
    cases = zip(*example["inputs"].values(), example["expected"]["cases"], strict=True)
    for labels, clusters, expected in cases:
        found = clustering(labels, clusters)
        for name in ("nmi", "f1", "precision", "recall"):
            assert getattr(found, name) == pytest.approx(expected[name], **close)
        assert found.pairs == tuple(expected["pairs"])


@given(PARTITIONS)
def test_figures_are_those_of_slow_loops(pairs):
    labels, clusters = zip(*pairs, strict=True)
    found = clustering(labels, clusters)
    assert found.pairs == oracles.pairs(labels, clusters)
    assert found.nmi == pytest.approx(oracles.nmi(labels, clusters), abs=1e-12)
    assert 0 <= found.f1 <= 1


@given(PARTITIONS)
def test_names_and_sides_do_not_matter(pairs):
    labels, clusters = zip(*pairs, strict=True)
    found = clustering(labels, clusters)
    named = clustering([f"class {i}" for i in labels], [-i for i in clusters])
    turned = clustering(clusters, labels)
    assert named.pairs == found.pairs and named.nmi == pytest.approx(found.nmi, abs=1e-12)
    assert turned.f1 == found.f1 and turned.precision == found.recall


def test_the_nmi_is_that_of_scikit_learn(rng):
    labels, clusters = rng.integers(0, 7, (2, 500))
    found = clustering(labels, clusters).nmi
    assert found == pytest.approx(normalized_mutual_info_score(labels, clusters))
    assert found == pytest.approx(oracles.nmi(labels, clusters))


def test_counts_of_many_samples_do_not_overflow():
    found = clustering(np.zeros(100_000, np.int32), np.zeros(100_000, np.int8))
    assert found.pairs == (100_000 * 99_999 // 2, 0, 0) and (found.nmi, found.f1) == (1.0, 1.0)


def test_separated_classes_are_found(blobs):
    found = embedding_clustering(*blobs)
    assert (found.nmi, found.f1, found.clusters) == (pytest.approx(1.0), 1.0, 3)
    assert embedding_clustering(*blobs, clusters=6).clusters == 6


def test_the_same_seed_gives_the_same_clusters(rng):
    vectors, labels = rng.normal(size=(80, 3)), rng.integers(0, 8, 80)
    first, second = (embedding_clustering(vectors, labels, seed=5) for _ in range(2))
    assert first == second


def test_a_collapsed_network_has_one_cluster_and_nmi_0(blobs):
    vectors, labels = blobs
    found = embedding_clustering(np.zeros_like(vectors), labels)
    assert (found.nmi, found.clusters, found.recall) == (0.0, 1, 1.0)


def test_it_prints_the_figures_with_their_counts():
    assert str(clustering([0, 0, 1, 1], [0, 0, 0, 1])) == (
        "NMI 0.344, pair F1 0.400 (4 samples of 2 classes in 2 clusters)"
    )


@pytest.mark.parametrize("labels", [[], [0], [[0, 1, 2]]])
def test_labels_and_clusters_of_other_shapes_are_refused(labels):
    with pytest.raises(ValueError, match=r"one entry per sample.*\(3,\)|at least one"):
        clustering(labels, [0, 1, 2] if labels else [])


@pytest.mark.parametrize(
    ("vectors", "options", "message"),
    [
        (np.zeros((3, 2, 2)), {}, "Convert SPD matrices to vectors"),
        (np.zeros((2, 4)), {}, r"\(2, 4\).*\(3,\)"),
        (np.full((3, 4), np.nan), {}, "`embeddings` must be finite"),
        (np.zeros((3, 4)), {"clusters": 4}, "from 1 to the number of samples, 3. Received 4"),
        (np.zeros((3, 4)), {"clusters": 0}, "`clusters` must be at least 1"),
    ],
)
def test_embeddings_that_cannot_be_clustered_are_refused(vectors, options, message):
    with pytest.raises(ValueError, match=message):
        embedding_clustering(vectors, [0, 1, 1], **options)
