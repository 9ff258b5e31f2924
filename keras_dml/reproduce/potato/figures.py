"""Figures of embedded matrices of people who were held out."""

import numpy as np

from keras_dml import evaluation
from keras_dml._backend import ops
from keras_dml.geometry import spd

FIGURES = ("f1", "recall_at_1", "recall_at_3", "nmi", "map_at_r")
QUANTILES = np.linspace(0.0, 1.0, 41)


def vectors(matrices):
    """Logarithms as vectors, between which Euclidean distance is the log-Euclidean one.

    Args:
        matrices: Positive definite, shape `(count, n, n)`.

    Returns:
        Shape `(count, n (n + 1) / 2)`.
    """
    return ops.convert_to_numpy(spd.vectorize(spd.log(matrices)))


def measure(matrices, labels, queries, *, riemannian):
    """F1, R@1, R@3 and NMI of Table I in Kim2020, and MAP@R, as plain numbers.

    Retrieval ranks the clips that are not queries, by the affine-invariant distance or the
    log-Euclidean one. Clusters are k-means of the queries' logarithms whatever the distance, as
    many as they have classes, so that the figures of all losses compare.

    Args:
        matrices: Positive definite, shape `(count, n, n)`.
        labels: Class of each, shape `(count,)`.
        queries: Booleans, shape `(count,)`; the others are the gallery.
        riemannian: Whether to retrieve by the affine-invariant distance.

    Returns:
        Dict of `FIGURES`.
    """
    rows = vectors(matrices)
    compared = {
        "embeddings": rows[queries],
        "gallery": rows[~queries],
        "distance": "euclidean",
    }
    if riemannian:
        table = spd.affine_invariant_pairwise(matrices[queries], matrices[~queries])
        compared = {"embeddings": ops.convert_to_numpy(table), "distance": "precomputed"}
    found = evaluation.retrieval(
        labels=labels[queries], gallery_labels=labels[~queries], k=(1, 3), **compared
    )
    clusters = evaluation.embedding_clustering(rows[queries], labels[queries])
    return {
        "f1": clusters.f1,
        "recall_at_1": found.recall_at_k[1],
        "recall_at_3": found.recall_at_k[3],
        "nmi": clusters.nmi,
        "map_at_r": found.map_at_r,
    }


def spread(matrices, labels, queries):
    """Affine-invariant distances of the queries to the centers of all classes (Kim2020, Fig. 2).

    Centers are the Riemannian means of the gallery's classes.

    Args:
        matrices: Positive definite, shape `(count, n, n)`.
        labels: Class of each, shape `(count,)`.
        queries: Booleans, shape `(count,)`; the others are the gallery.

    Returns:
        Dict of `within` and `between`, quantiles of distances to the own and to other classes'
        centers at `QUANTILES`, and `separated`, the fraction of pairs of one of each in which that
        to the own class is smaller.
    """
    known = np.unique(labels[~queries])
    centers = np.stack(
        [
            ops.convert_to_numpy(spd.karcher_mean(matrices[~queries & (labels == label)]))
            for label in known
        ]
    )
    table = ops.convert_to_numpy(spd.affine_invariant_pairwise(matrices[queries], centers))
    own = labels[queries][:, None] == known[None, :]
    within, between = table[own], table[~own]
    return {
        "within": np.quantile(within, QUANTILES).tolist(),
        "between": np.quantile(between, QUANTILES).tolist(),
        "separated": evaluation.verification(table.ravel(), own.ravel()).auc,
    }
