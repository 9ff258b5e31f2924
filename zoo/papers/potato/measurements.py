"""Computes figures from the embedded matrices of people who were held out."""

from typing import Any

import numpy as np

from keras_dml import evaluation
from keras_dml._backend import ops
from keras_dml.geometry import spd

FIGURES = ("f1", "recall_at_1", "recall_at_3", "nmi", "map_at_r")
QUANTILES = np.linspace(0.0, 1.0, 41)


def log_vectors(matrices: np.ndarray) -> np.ndarray:
    """Computes matrix logarithms and writes them as vectors.

    The Euclidean distance between two vectors is the log-Euclidean distance between the matrices.

    Args:
        matrices: Positive definite matrices, shape `(count, n, n)`.

    Returns:
        Shape `(count, n (n + 1) / 2)`.
    """
    return ops.convert_to_numpy(spd.vectorize(spd.log(matrices)))


def measure(
    matrices: np.ndarray, labels: np.ndarray, queries: np.ndarray, *, riemannian: bool
) -> dict[str, float]:
    """Computes F1, R@1, R@3 and NMI as in Kim2020, Table I, and MAP@R.

    Retrieval ranks the gallery by the affine-invariant or the log-Euclidean distance. For all
    losses, k-means clusters the logarithms of the queries, so that the figures of the losses can be
    compared. The number of clusters is the number of classes among the queries.

    Args:
        matrices: Positive definite matrices, shape `(count, n, n)`.
        labels: Class of each matrix, shape `(count,)`.
        queries: Whether each matrix is a query, booleans of shape `(count,)`. All other matrices
            form the gallery.
        riemannian: Whether to retrieve by the affine-invariant distance.

    Returns:
        Dictionary with the keys `FIGURES`.
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
    """Computes the affine-invariant distances from the queries to the centers of all classes.

    The center of a class is the Riemannian (Karcher) mean of its matrices in the gallery (Kim2020,
    Fig. 2).

    Args:
        matrices: Positive definite matrices, shape `(count, n, n)`.
        labels: Class of each matrix, shape `(count,)`.
        queries: Whether each matrix is a query, booleans of shape `(count,)`. All other matrices
            form the gallery.

    Returns:
        Dictionary with `within`, `between` and `separated`. `within` contains quantiles (at
        `QUANTILES`) of the distances to the center of the query's class. `between` contains the
        same quantiles of the distances to the other centers. `separated` is the probability that a
        distance to the center of the query's class is smaller than a distance to another center.
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
