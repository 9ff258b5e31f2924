"""Computes figures of embedded matrices of people who were held out."""

from typing import Any

import numpy as np

from keras_dml import evaluation
from keras_dml._backend import ops
from keras_dml.geometry import spd

FIGURES = ("f1", "recall_at_1", "recall_at_3", "nmi", "map_at_r")
QUANTILES = np.linspace(0.0, 1.0, 41)


def log_vectors(matrices: np.ndarray) -> np.ndarray:
    """Computes matrix logarithms as vectors.

    The Euclidean distance between two vectors is the log-Euclidean distance of the matrices.

    Args:
        matrices: Positive definite matrices, shape `(count, n, n)`.

    Returns:
        Shape `(count, n (n + 1) / 2)`.
    """
    return ops.convert_to_numpy(spd.vectorize(spd.log(matrices)))


def measure(
    matrices: np.ndarray, labels: np.ndarray, queries: np.ndarray, *, riemannian: bool
) -> dict[str, float]:
    """Computes F1, R@1, R@3 and NMI of Table I in Kim2020, and MAP@R.

    Retrieval ranks the gallery by the affine-invariant or the log-Euclidean distance. Clusters are
    k-means of the queries' logarithms for all losses, so that their figures can be compared. There
    are as many clusters as classes of the queries.

    Args:
        matrices: Positive definite matrices, shape `(count, n, n)`.
        labels: Class of each matrix, shape `(count,)`.
        queries: Booleans, shape `(count,)`. All other matrices are the gallery.
        riemannian: Whether to retrieve by the affine-invariant distance.

    Returns:
        Dict of `FIGURES`.
    """
    vectors = log_vectors(matrices)
    arguments = {
        "embeddings": vectors[queries],
        "gallery": vectors[~queries],
        "distance": "euclidean",
    }
    if riemannian:
        table = spd.affine_invariant_pairwise(matrices[queries], matrices[~queries])
        arguments = {"embeddings": ops.convert_to_numpy(table), "distance": "precomputed"}
    retrieval = evaluation.retrieval(
        labels=labels[queries], gallery_labels=labels[~queries], k=(1, 3), **arguments
    )
    clusters = evaluation.embedding_clustering(vectors[queries], labels[queries])
    return {
        "f1": clusters.f1,
        "recall_at_1": retrieval.recall_at_k[1],
        "recall_at_3": retrieval.recall_at_k[3],
        "nmi": clusters.nmi,
        "map_at_r": retrieval.map_at_r,
    }


def spread(matrices: np.ndarray, labels: np.ndarray, queries: np.ndarray) -> dict[str, Any]:
    """Computes affine-invariant distances of the queries to the centers of all classes.

    Centers are the Riemannian (Karcher) means of the gallery's classes (Kim2020, Fig. 2).

    Args:
        matrices: Positive definite matrices, shape `(count, n, n)`.
        labels: Class of each matrix, shape `(count,)`.
        queries: Booleans, shape `(count,)`. All other matrices are the gallery.

    Returns:
        Dict of `within` and `between`, quantiles at `QUANTILES` of the distances to the center of
        the query's class and to other centers, and `separated`, the probability that a distance to
        the center of the query's class is smaller than a distance to another center.
    """
    classes = np.unique(labels[~queries])
    centers = np.stack(
        [
            ops.convert_to_numpy(spd.karcher_mean(matrices[~queries & (labels == label)]))
            for label in classes
        ]
    )
    table = ops.convert_to_numpy(spd.affine_invariant_pairwise(matrices[queries], centers))
    is_class = labels[queries][:, None] == classes[None, :]
    within, between = table[is_class], table[~is_class]
    return {
        "within": np.quantile(within, QUANTILES).tolist(),
        "between": np.quantile(between, QUANTILES).tolist(),
        "separated": evaluation.verification(table.ravel(), is_class.ravel()).auc,
    }
