"""Computes the accuracy of a classifier on new classes. The classifier chooses among the classes of
a few-shot episode, or among the new classes and the classes used in training."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.stats import norm

from keras_dml._arrays import real, whole
from keras_dml._typing import ArrayLike
from keras_dml.evaluation._checks import check_finite, ids
from keras_dml.evaluation._distance_matrix import PRECOMPUTED, distance_matrix_rows, pairwise_values

QUANTILE = norm.ppf(0.975)
_KINDS = {**dict.fromkeys("biuf", "number"), **dict.fromkeys("UT", "string"), "S": "bytes"}


@dataclass(frozen=True, eq=False)
class FewShot:
    """Accuracy of few-shot episodes.

    Attributes:
        mean: Mean accuracy of the episodes, a fraction.
        half_width: Half the width of the 95 % confidence interval of the mean. The half width is
            1.96 times the sample standard deviation of `accuracies`, divided by the square root of
            the number of episodes. The interval accounts for the random draw of episodes, but not
            for the choice of test examples.
        ways: Number of classes in an episode.
        shots: Number of support examples (examples from which the prototype is computed) per class.
        queries: Number of query examples per class.
        accuracies: Accuracy of each episode, shape `(episodes,)`.
    """

    mean: float
    half_width: float
    ways: int
    shots: int
    queries: int
    accuracies: np.ndarray = field(repr=False)

    def __str__(self) -> str:
        return (
            f"{self.ways}-way {self.shots}-shot accuracy {100 * self.mean:.2f} ± "
            f"{100 * self.half_width:.2f} % ({len(self.accuracies):,} episodes, {self.queries} "
            "queries per class)"
        )


def few_shot(
    embeddings: ArrayLike,
    labels: ArrayLike,
    ways: int,
    shots: int,
    *,
    queries: int = 15,
    similarity: Callable[..., Any] | None = None,
    distance: str | Callable[..., Any] | None = None,
    episodes: int = 600,
    seed: int = 0,
) -> FewShot:
    """Computes the accuracy in N-way K-shot episodes. Prototypes are mean support embeddings
    (Monteiro2020, Eq. 4).

    An episode draws `ways` classes. For each class, the episode draws `shots` support examples and
    `queries` query examples without replacement. A query is assigned to the class whose mean
    support embedding is most similar. In a tie, the query is assigned to the class that was drawn
    first. Episode `i` depends only on `seed` and `i`. To evaluate several methods on the same
    episodes, pass the same seed in each call.

    Args:
        embeddings: Embeddings of the examples in inference mode, shape `(examples, ...)`.
        labels: Class of each example, shape `(examples,)`. The classes were not used in training.
        ways: Number of classes in an episode, at least 2.
        shots: Number of support examples per class, at least 1.
        queries: Number of query examples per class, at least 1.
        similarity: Function `S(queries, prototypes) -> (n, m)`, such as
            `PrototypicalClassifier.similarity`. Higher is more similar. Pass either `similarity` or
            `distance`.
        distance: `"cosine"`, `"euclidean"`, another name from `keras_dml.distances`, or a function
            `d(queries, prototypes) -> (n, m)`. Smaller is closer.
        episodes: Number of episodes, at least 2.
        seed: Seed of the episodes, not negative.

    Returns:
        `FewShot`. Printing the result shows the mean and the 95 % confidence interval.

    Raises:
        TypeError: If `ways`, `shots`, `queries`, `episodes` or `seed` is not an integer.
        ValueError: If shapes do not fit together, if a value or a score is not finite, if there are
            fewer classes than `ways`, if a class has fewer than `shots + queries` examples, or if
            the call does not pass exactly one of `similarity` and `distance`.

    >>> points = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]])
    >>> print(few_shot(points, [0, 0, 0, 1, 1, 1], 2, 1, queries=2, distance="euclidean"))
    2-way 1-shot accuracy 100.00 ± 0.00 % (600 episodes, 2 queries per class)
    """
    embeddings, labels = _checked(embeddings, labels)
    if (similarity is None) == (distance is None) or distance == PRECOMPUTED:
        raise ValueError(
            f"Received similarity={similarity!r} and distance={distance!r}. Expected exactly one "
            "of them. Pass either `similarity`, a function (higher is more similar), or "
            '`distance`, a name such as "cosine" or a function (smaller is closer).'
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
        predicted = nearest_prototypes(asked, means, similarity, distance)
        accuracies[episode] = np.mean(predicted == right)
    mean, half_width = mean_and_half_width(accuracies)
    return FewShot(mean, half_width, ways, shots, queries, accuracies)


def support_means(embeddings: ArrayLike, labels: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Computes the prototypes of new classes. A prototype is the mean support embedding of a class
    (Monteiro2020).

    Args:
        embeddings: Embeddings of the support examples in inference mode, shape `(examples, ...)`.
        labels: Class of each example, shape `(examples,)`.

    Returns:
        Tuple `(names, means)` of the sorted classes, shape `(classes,)`, and the mean embeddings of
        the classes, shape `(classes, ...)`. The means have the dtype of the embeddings.

    Raises:
        ValueError: If there are no examples, if the shapes of `embeddings` and `labels` do not fit
            together, or if a value is not finite.

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


@dataclass(frozen=True)
class GeneralizedAccuracy:
    """Accuracy on new classes and on old classes, which were used in training. The classifier may
    predict any new or old class (Xian2019).

    Attributes:
        new: Fraction of new-class examples that are classified correctly.
        old: Fraction of old-class examples that are classified correctly.
        harmonic_mean: Harmonic mean of `new` and `old`. The harmonic mean is 0 if `new` or `old` is
            0.
        new_examples: Number of examples of new classes.
        old_examples: Number of examples of old classes.
    """

    new: float
    old: float
    harmonic_mean: float
    new_examples: int
    old_examples: int

    def __str__(self) -> str:
        return (
            f"new classes {100 * self.new:.1f} % of {self.new_examples:,}, old classes "
            f"{100 * self.old:.1f} % of {self.old_examples:,}, harmonic mean "
            f"{100 * self.harmonic_mean:.1f} %"
        )


def generalized_accuracy(
    predicted: ArrayLike, labels: ArrayLike, new_classes: ArrayLike
) -> GeneralizedAccuracy:
    """Computes the accuracy on new and on old classes, with a classifier that may predict any
    class.

    The old classes were used in training. If a classifier may predict only new classes, its
    accuracy does not show whether the classifier would prefer old classes. Studies of generalized
    few-shot learning and of class-incremental learning therefore report the same two accuracies as
    this function.

    Args:
        predicted: Predicted class of each example, shape `(examples,)`, chosen among all classes.
        labels: True class of each example, shape `(examples,)`, of the same type as `predicted`.
        new_classes: Classes that were added after training.

    Returns:
        `GeneralizedAccuracy`. Printing the result shows the two accuracies and their harmonic mean.

    Raises:
        ValueError: If `predicted` and `labels` differ in shape, if the arguments mix numbers and
            strings, or if `labels` lacks new or old classes.

    >>> print(generalized_accuracy(["a", "a", "new"], ["a", "new", "new"], ["new"]))
    new classes 50.0 % of 2, old classes 100.0 % of 1, harmonic mean 66.7 %
    """
    predicted, labels = ids("`predicted`", predicted), ids("`labels`", labels)
    new_classes = ids("`new_classes`", new_classes)
    arrays = (predicted, labels, new_classes)
    if len({_KINDS[array.dtype.kind] for array in arrays}) > 1:
        raise ValueError(
            "Received `predicted`, `labels` and `new_classes` of the dtypes "
            f"{', '.join(str(array.dtype) for array in arrays)}. The three arrays must all hold "
            "numbers, or all hold strings."
        )
    if predicted.shape != labels.shape or labels.ndim != 1:
        raise ValueError(
            f"Received `predicted` of shape {predicted.shape} and `labels` of shape "
            f"{labels.shape}. Expected one class for each example in each array, shape (examples,)."
        )
    is_new = np.isin(labels, new_classes)
    if is_new.all() or not is_new.any():
        raise ValueError(
            f"Received `labels` with {int(is_new.sum())} examples of `new_classes` and "
            f"{int((~is_new).sum())} examples of other classes. Expected at least one example of "
            "each kind."
        )
    right = predicted == labels
    new, old = float(right[is_new].mean()), float(right[~is_new].mean())
    mean = 2 * new * old / (new + old) if new and old else 0.0
    return GeneralizedAccuracy(new, old, mean, int(is_new.sum()), int((~is_new).sum()))


def mean_and_half_width(accuracies):
    """Returns the mean accuracy of episodes, and half the width of the 95 % interval of this mean
    (normal approximation)."""
    stddev = np.std(accuracies, ddof=1)
    return float(np.mean(accuracies)), float(QUANTILE * stddev / math.sqrt(len(accuracies)))


def nearest_prototypes(queries, prototypes, similarity, distance):
    """Returns the index of the most similar prototype for each query, or the lowest index in a
    tie."""
    if similarity is None:
        scores = distance_matrix_rows(queries, prototypes, distance)(slice(None))
    else:
        scores = -pairwise_values("similarity", similarity, queries, prototypes)
    check_finite("scores", scores)
    return np.argmin(scores, axis=1)


def _draw(members, ways, count, key):
    """Draws the row indices of the examples of an episode, shape `(ways, count)`."""
    rng = np.random.default_rng(key)
    classes = rng.choice(len(members), ways, replace=False)
    return np.stack([rng.choice(members[i], count, replace=False) for i in classes])


def _members(labels, ways, count):
    """Checks that an episode can be drawn and returns the row indices of each class."""
    names, codes, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    if len(names) < ways:
        raise ValueError(
            f"Received `ways` = {ways}. It must be at most {len(names)}, the number of classes in "
            "`labels`."
        )
    if sizes.min() < count:
        raise ValueError(
            f"Class {names[sizes.argmin()].item()!r} has {sizes.min()} examples. Each class needs "
            f"shots + queries = {count} examples. Lower `shots` or `queries`, or leave the class "
            "out."
        )
    return np.split(np.argsort(codes, kind="stable"), np.cumsum(sizes)[:-1])


def _means(embeddings, axis):
    """Computes means of embeddings in float64, and casts the means to the dtype of the
    embeddings."""
    return embeddings.mean(axis=axis, dtype=np.float64).astype(embeddings.dtype)


def _checked(embeddings, labels):
    embeddings, labels = real("`embeddings`", embeddings), ids("`labels`", labels)
    if embeddings.ndim < 2 or labels.shape != embeddings.shape[:1] or embeddings.size == 0:
        raise ValueError(
            f"Received `embeddings` of shape {embeddings.shape} and `labels` of shape "
            f"{labels.shape}. Expected at least one embedding, shape (examples, ...), and one "
            "label for each embedding."
        )
    check_finite("embeddings", embeddings)
    return embeddings, labels
