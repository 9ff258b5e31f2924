"""Measures `omniglot_proto_sim` and its baselines by one-shot classification as in Lake2015.

Each task contains twenty characters of one new alphabet. One drawing of each character is the
support example, and the drawing of another person is the query.
"""

import functools
from collections.abc import Callable, Sequence

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.preprocessing import normalize

from keras_dml import inference
from keras_dml.training import pooled
from keras_dml.training.answers import Answers
from zoo import images
from zoo.evidence import Evidence
from zoo.omniglot_proto_sim import trunks

WAYS, TASKS, SEED = 20, 5, 0  # characters in a task; tasks for each alphabet


def evidence(trained):
    """Measures the model and its baselines on tasks from all alphabets that were not used in
    training.
    """
    drawings = images.omniglot("test", trunks.SIDE)
    support, queries, alphabets = tasks(drawings)
    x = drawings.images
    rows = np.unique([support, queries])
    z = np.zeros((len(x), trained.whole.encoder.output_shape[-1]), np.float32)
    z[rows] = inference.embed(trained.whole, x[rows], batch_size=100, progress=False)
    right = answers(lambda a, b: trained.whole.similarity(z[a], z[b]), support, queries)
    baselines = functools.partial(_baselines, x, z, support, queries)
    return Evidence(Answers(right, np.repeat(alphabets, WAYS), "alphabets"), baselines)


def tasks(drawings: images.Drawings) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draws tasks at random. Returns the indices of the support drawings and of the queries, each
    with shape `(tasks, WAYS)`, and the alphabet of each task.
    """
    rng, rows = np.random.default_rng(SEED), []
    for alphabet in sorted(set(drawings.alphabets)):
        characters = np.unique(drawings.labels[drawings.alphabets == alphabet])
        for _ in range(TASKS):
            pairs = [
                rng.choice(np.flatnonzero(drawings.labels == character), 2, False)
                for character in rng.choice(characters, WAYS, replace=False)
            ]
            rows.append((*np.transpose(pairs), alphabet))
    return tuple(np.array(column) for column in zip(*rows, strict=True))


def answers(
    similarity: Callable[..., np.ndarray], support: np.ndarray, queries: np.ndarray
) -> np.ndarray:
    """Returns for each query whether the most similar support drawing shows the same character,
    shape `(queries,)`.

    Args:
        similarity: Function that takes the indices of queries and of support drawings, and returns
            similarities of shape `(WAYS, WAYS)`.
        support: Indices of the support drawings of each task, shape `(tasks, WAYS)`.
        queries: Indices of the query drawings, shape `(tasks, WAYS)`. The queries show the same
            characters as the support drawings, but another person drew them.
    """
    nearest = [np.argmax(similarity(b, a), axis=1) for a, b in zip(support, queries, strict=True)]
    return (np.array(nearest) == np.arange(support.shape[1])).ravel()


def _baselines(x, z, support, queries):
    """Returns for each baseline a description, a kind, and an array of booleans. The booleans say
    for each query whether the baseline is right.
    """
    ink = normalize(x.reshape(len(x), -1))
    unit, first = normalize(z), normalize(z[:, : trunks.WIDTHS[-1]])
    points = {row: strokes(x[row, ..., 0]) for row in np.unique([support, queries])}

    def by_strokes(a, b):
        return -hausdorff([points[row] for row in a], [points[row] for row in b])

    return {
        "strokes": (
            "the modified Hausdorff distance between the inked pixels about their mean",
            pooled.NO_NETWORK,
            answers(by_strokes, support, queries),
        ),
        "pixels": (
            "the cosine of the drawings themselves",
            pooled.NO_NETWORK,
            answers(lambda a, b: ink[a] @ ink[b].T, support, queries),
        ),
        "cosine": (
            "the cosine of the same embeddings",
            pooled.SAME_MODEL,
            answers(lambda a, b: unit[a] @ unit[b].T, support, queries),
        ),
        "one network": (
            "the cosine of the first of the networks alone",
            pooled.SAME_MODEL,
            answers(lambda a, b: first[a] @ first[b].T, support, queries),
        ),
    }


def strokes(drawing: np.ndarray) -> np.ndarray:
    """Returns the positions of the inked pixels relative to their mean, shape `(pixels, 2)`.

    Args:
        drawing: Shape `(side, side)`, ink is 1.
    """
    positions = np.argwhere(drawing > drawing.max() / 2)
    return positions - positions.mean(axis=0)


def hausdorff(first: Sequence[np.ndarray], second: Sequence[np.ndarray]) -> np.ndarray:
    """Computes modified Hausdorff distances between sets of points (Dubuisson1994).

    The authors of Omniglot publish this distance as a baseline.

    Args:
        first, second: Arrays `(points, 2)`.

    Returns:
        Shape `(len(first), len(second))`.
    """
    table = np.empty((len(first), len(second)))
    for i, x in enumerate(first):
        for j, y in enumerate(second):
            distances = cdist(x, y)
            table[i, j] = max(distances.min(axis=0).mean(), distances.min(axis=1).mean())
    return table
