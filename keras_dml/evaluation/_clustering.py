"""Measures how well clusters agree with classes (NMI, pair-counting F1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import normalized_mutual_info_score
from sklearn.metrics.cluster import pair_confusion_matrix

from keras_dml._arrays import real, whole
from keras_dml._typing import ArrayLike
from keras_dml.evaluation._checks import check_finite, ids

STARTS = 10  # number of random initializations of k-means


@dataclass(frozen=True)
class Clustering:
    """Metrics that compare clusters with classes.

    Attributes:
        nmi: Normalized mutual information (NMI). The mutual information is divided by the mean of
            two entropies, one for the classes and one for the clusters. The NMI is 1 if there is
            one class and one cluster, so that the two entropies are 0.
        f1: Pair-counting F1, 2 TP / (2 TP + FP + FN). A true positive (TP) is a pair of samples
            with the same class and the same cluster. The F1 is 1 if no pair shares a class or a
            cluster.
        precision: Fraction of same-cluster pairs that also have the same class. The precision is 1
            if no pair shares a cluster.
        recall: Fraction of same-class pairs that also have the same cluster. The recall is 1 if no
            pair shares a class.
        pairs: Numbers of true positive, false positive and false negative pairs.
        samples: Number of samples.
        classes: Number of classes.
        clusters: Number of clusters that contain a sample.
    """

    nmi: float
    f1: float
    precision: float
    recall: float
    pairs: tuple[int, int, int]
    samples: int
    classes: int
    clusters: int

    def __str__(self) -> str:
        return (
            f"NMI {self.nmi:.3f}, pair F1 {self.f1:.3f} ({self.samples:,} samples of "
            f"{self.classes:,} classes in {self.clusters:,} clusters)"
        )


def clustering(labels: ArrayLike, clusters: ArrayLike) -> Clustering:
    """Computes NMI and pair-counting F1 of clusters compared with classes.

    The result does not change if clusters are renamed or reordered.

    Args:
        labels: Class of each sample, shape `(samples,)`.
        clusters: Cluster of each sample, shape `(samples,)`.

    Returns:
        `Clustering`. Printing the result shows the metrics and the numbers of samples, classes and
        clusters.

    Raises:
        ValueError: If the shapes of `labels` and `clusters` differ, or if there are no samples.

    >>> result = clustering([0, 0, 1, 1], ["a", "a", "a", "b"])
    >>> round(result.nmi, 3), result.f1
    (0.344, 0.4)
    """
    labels, clusters = ids("`labels`", labels), ids("`clusters`", clusters)
    if labels.ndim != 1 or labels.shape != clusters.shape or labels.size == 0:
        raise ValueError(
            f"Received `labels` of shape {labels.shape} and `clusters` of shape {clusters.shape}. "
            "Expected equal shapes (samples,), with at least one sample."
        )
    labels, clusters = (np.unique(names, return_inverse=True)[1] for names in (labels, clusters))
    pairs = pair_confusion_matrix(labels, clusters) // 2  # each pair is counted twice
    (_, fp), (fn, tp) = pairs.tolist()
    return Clustering(
        nmi=float(normalized_mutual_info_score(labels, clusters)),
        f1=_fraction(2 * tp, 2 * tp + fp + fn),
        precision=_fraction(tp, tp + fp),
        recall=_fraction(tp, tp + fn),
        pairs=(tp, fp, fn),
        samples=labels.size,
        classes=int(labels.max()) + 1,
        clusters=int(clusters.max()) + 1,
    )


def embedding_clustering(
    embeddings: ArrayLike, labels: ArrayLike, *, clusters: int | None = None, seed: int = 0
) -> Clustering:
    """Computes NMI and pair-counting F1 of the clusters that k-means finds in embeddings.

    k-means runs from ten random initializations. The run with the smallest sum of squared distances
    is used. Kim2020 reports NMI and F1, but does not describe its clustering algorithm. If
    embeddings are SPD matrices, convert them to vectors by the matrix logarithm before the call.
    After the conversion to vectors, the metrics are comparable between models that were trained
    with different losses.

    Args:
        embeddings: Vectors, shape `(samples, features)`.
        labels: Class of each sample, shape `(samples,)`.
        clusters: Number of clusters. Default: the number of classes.
        seed: Seed of the initializations.

    Returns:
        `Clustering`. If there are fewer distinct vectors than `clusters`, the number of clusters
        is the number of distinct vectors. If a network maps all inputs to one point, there is one
        cluster and the NMI is 0.

    Raises:
        TypeError: If `clusters` or `seed` is not a whole number.
        ValueError: If the shapes of `embeddings` and `labels` do not fit together, if a value is
            not finite, or if `clusters` exceeds the number of samples.

    >>> vectors = np.array([[0.0, 0.0], [0.1, 0.0], [5.0, 5.0], [5.0, 5.1]])
    >>> embedding_clustering(vectors, ["walk", "walk", "run", "run"]).nmi
    1.0
    """
    embeddings, labels = real("`embeddings`", embeddings), ids("`labels`", labels)
    if embeddings.ndim != 2 or labels.shape != embeddings.shape[:1] or embeddings.size == 0:
        raise ValueError(
            f"Received `embeddings` of shape {embeddings.shape} and `labels` of shape "
            f"{labels.shape}. Expected vectors, shape (samples, features), with one label for each "
            "vector. Convert SPD matrices to vectors by "
            "`geometry.spd.vectorize(geometry.spd.log(x))`."
        )
    check_finite("embeddings", embeddings)
    count = len(np.unique(labels)) if clusters is None else whole("clusters", clusters, 1)
    if count > len(labels):
        raise ValueError(
            f"`clusters` must be from 1 to the number of samples, {len(labels):,}. Received "
            f"{count!r}."
        )
    seed = whole("seed", seed, minimum=0)
    different = len(np.unique(embeddings, axis=0))
    means = KMeans(min(count, different), n_init=STARTS, random_state=seed)
    return clustering(labels, means.fit_predict(embeddings))


def _fraction(part, whole):
    return part / whole if whole else 1.0
