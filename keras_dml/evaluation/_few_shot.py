"""Few-shot episodes: accuracy on new classes from one or a few examples."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from scipy.stats import norm

from keras_dml._arrays import real, whole
from keras_dml.evaluation._checks import check_finite, ids
from keras_dml.evaluation._distance_matrix import PRECOMPUTED, distance_matrix_rows, pairwise_values

QUANTILE = norm.ppf(0.975)


@dataclass(frozen=True, eq=False)
class FewShot:
    """Accuracy over few-shot episodes.

    Attributes:
        mean: Mean accuracy of the episodes, a fraction.
        half_width: Half the width of the 95 % interval of the mean: 1.96 standard deviations
            (n - 1) over the root of the number of episodes. It covers the draw of episodes from
            these examples, not the choice of another test set.
        ways: Classes in an episode.
        shots: Support examples of a class.
        queries: Query examples of a class.
        accuracies: Accuracy of each episode, shape `(episodes,)`.
    """

    mean: float
    half_width: float
    ways: int
    shots: int
    queries: int
    accuracies: np.ndarray = field(repr=False)

    def __str__(self):
        return (
            f"{self.ways}-way {self.shots}-shot accuracy {100 * self.mean:.2f} ± "
            f"{100 * self.half_width:.2f} % ({len(self.accuracies):,} episodes, {self.queries} "
            "queries a class)"
        )


def few_shot(
    embeddings,
    labels,
    ways,
    shots,
    *,
    queries=15,
    similarity=None,
    distance=None,
    episodes=600,
    seed=0,
):
    """Accuracy in N-way K-shot episodes (Monteiro2020, Eq. 4 on support means).

    An episode draws `ways` classes, and of each `shots` support and `queries` query examples, all
    without replacement. A query belongs to the class whose support mean is most similar, ties to
    the class drawn first. Episode i depends on `(seed, i)` alone, so methods compare on the same
    episodes. Compute the embeddings once, in inference mode.

    Args:
        embeddings: Examples, shape `(examples, ...)`.
        labels: Class of each example, shape `(examples,)`: classes that were not trained on.
        ways: Classes in an episode, at least 2.
        shots: Support examples of a class, at least 1.
        queries: Query examples of a class, at least 1.
        similarity: `S(queries, prototypes) -> (n, m)`, higher is more similar, as
            `PrototypicalClassifier.similarity`. Either this or `distance`.
        distance: `"cosine"`, `"euclidean"`, another name of `keras_dml.distances`, or a callable
            `d(queries, prototypes) -> (n, m)` where smaller is closer.
        episodes: Number of episodes, at least 2.
        seed: Seed of the episodes, not negative.

    Returns:
        `FewShot`; printing it shows the figure and its interval.

    Raises:
        TypeError: A number is not an integer.
        ValueError: Shapes do not fit, a value or a score is not finite, there are fewer classes
            than `ways`, a class has fewer than `shots + queries` examples, or not exactly one of
            `similarity` and `distance` is given.

    >>> points = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]])
    >>> print(few_shot(points, [0, 0, 0, 1, 1, 1], 2, 1, queries=2, distance="euclidean"))
    2-way 1-shot accuracy 100.00 ± 0.00 % (600 episodes, 2 queries a class)
    """
    embeddings, labels = _checked(embeddings, labels)
    if (similarity is None) == (distance is None) or distance == PRECOMPUTED:
        raise ValueError(
            "Give either `similarity`, a function (higher is more similar), or `distance`, a "
            'name such as "cosine" or a function (smaller is closer). Received '
            f"similarity={similarity!r}, distance={distance!r}."
        )
    requested = {"ways": (ways, 2), "shots": (shots, 1), "queries": (queries, 1)}
    requested |= {"episodes": (episodes, 2), "seed": (seed, 0)}
    for name, (value, minimum) in requested.items():
        whole(name, value, minimum)
    members = _members(labels, ways, shots + queries)
    right = np.repeat(np.arange(ways), queries)
    accuracies = np.empty(episodes)
    for episode in range(episodes):
        rows = _draw(members, ways, shots + queries, (seed, episode))  # (ways, shots + queries)
        means = _means(embeddings[rows[:, :shots]], axis=1)
        asked = embeddings[rows[:, shots:].ravel()]  # (ways * queries, ...)
        found = nearest_prototypes(asked, means, similarity, distance)
        accuracies[episode] = np.mean(found == right)
    mean, half_width = mean_and_half_width(accuracies)
    return FewShot(mean, half_width, ways, shots, queries, accuracies)


def support_means(embeddings, labels):
    """Prototypes of new classes: the mean embedding of each (Monteiro2020).

    Args:
        embeddings: Support examples, shape `(examples, ...)`, computed in inference mode.
        labels: Class of each example, shape `(examples,)`.

    Returns:
        `(names, means)`: the sorted classes, shape `(classes,)`, and their means, shape
        `(classes, ...)`, of the embeddings' dtype.

    Raises:
        ValueError: The support set is empty, shapes do not fit, or a value is not finite.

    >>> names, means = support_means(np.array([[0.0], [2.0], [5.0]]), ["a", "a", "b"])
    >>> names.tolist(), means.tolist()
    (['a', 'b'], [[1.0], [5.0]])
    """
    embeddings, labels = _checked(embeddings, labels)
    names, first = np.unique(labels, return_index=True)
    means = np.empty((len(names), *embeddings.shape[1:]), embeddings[first[:1]].dtype)
    for i, name in enumerate(names):
        means[i] = _means(embeddings[labels == name], axis=0)
    return names, means


def mean_and_half_width(accuracies):
    """Mean over episodes and half the width of its 95 % interval, by the normal distribution."""
    stddev = np.std(accuracies, ddof=1)
    return float(np.mean(accuracies)), float(QUANTILE * stddev / math.sqrt(len(accuracies)))


def nearest_prototypes(queries, prototypes, similarity, distance):
    """Index of the most similar prototype of each query, the first of tied ones."""
    if similarity is None:
        scores = distance_matrix_rows(queries, prototypes, distance)(slice(None))
    else:
        scores = -pairwise_values("similarity", similarity, queries, prototypes)
    check_finite("scores", scores)
    return np.argmin(scores, axis=1)


def _draw(members, ways, count, key):
    """Rows of an episode, shape `(ways, count)`."""
    rng = np.random.default_rng(key)
    chosen = rng.choice(len(members), ways, replace=False)
    return np.stack([rng.choice(members[i], count, replace=False) for i in chosen])


def _members(labels, ways, count):
    """Rows of each class, after a check that an episode can be drawn."""
    names, codes, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    if len(names) < ways:
        raise ValueError(
            f"`ways` must be at most {len(names)}, the number of classes in `labels`. Received "
            f"{ways}."
        )
    if sizes.min() < count:
        raise ValueError(
            f"Each class needs shots + queries = {count} examples. Class "
            f"{names[sizes.argmin()].item()!r} has {sizes.min()}. Ask for fewer, or leave the "
            "class out."
        )
    return np.split(np.argsort(codes, kind="stable"), np.cumsum(sizes)[:-1])


def _means(embeddings, axis):
    """Means, computed in float64 and cast to the dtype of the embeddings."""
    return embeddings.mean(axis=axis, dtype=np.float64).astype(embeddings.dtype)


def _checked(embeddings, labels):
    embeddings, labels = real("`embeddings`", embeddings), ids("`labels`", labels)
    if embeddings.ndim < 2 or labels.shape != embeddings.shape[:1] or embeddings.size == 0:
        raise ValueError(
            "`embeddings` must hold examples, shape (examples, ...), at least one, with one of "
            f"`labels` for each. Received shapes {embeddings.shape} and {labels.shape}."
        )
    check_finite("embeddings", embeddings)
    return embeddings, labels
