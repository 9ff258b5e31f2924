"""What the card of `omniglot_proto_sim` rests on: twenty characters of one new alphabet, each shown
once and drawn again by another hand (Lake2015)."""

import functools

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.preprocessing import normalize

from keras_dml import inference
from keras_dml.training import pooled
from keras_dml.training.answers import Answers
from zoo import images
from zoo.evidence import Evidence
from zoo.omniglot_proto_sim import trunks

WAYS, TASKS, SEED = 20, 5, 0  # characters in a task; tasks of an alphabet


def evidence(trained):
    """Tasks of every alphabet that was not trained on, the characters and both hands drawn."""
    drawings = images.omniglot("test", trunks.SIDE)
    shown, asked, alphabets = tasks(drawings)
    x = drawings.images
    rows = np.unique([shown, asked])
    z = np.zeros((len(x), trained.whole.encoder.output_shape[-1]), np.float32)
    z[rows] = inference.embed(trained.whole, x[rows], batch_size=100, progress=False)
    right = answers(lambda a, b: trained.whole.similarity(z[a], z[b]), shown, asked)
    others = functools.partial(_others, x, z, shown, asked)
    return Evidence(Answers(right, np.repeat(alphabets, WAYS), "alphabets"), others)


def tasks(drawings):
    """Rows of the characters shown and of those asked, each of shape `(tasks, WAYS)`, and the
    alphabet of each task."""
    rng, found = np.random.default_rng(SEED), []
    for alphabet in sorted(set(drawings.alphabets)):
        characters = np.unique(drawings.labels[drawings.alphabets == alphabet])
        for _ in range(TASKS):
            some = rng.choice(characters, WAYS, replace=False)
            pairs = [rng.choice(np.flatnonzero(drawings.labels == one), 2, False) for one in some]
            found.append((*np.transpose(pairs), alphabet))
    return tuple(np.array(column) for column in zip(*found, strict=True))


def answers(similarity, shown, asked):
    """Whether the most similar of the characters shown is the one asked, shape `(answers,)`.

    Args:
        similarity: `similarity(rows, rows) -> (WAYS, WAYS)`.
        shown: Rows of a task's characters as they are shown, shape `(tasks, WAYS)`.
        asked: Rows of the same characters by another hand, same shape.
    """
    named = [np.argmax(similarity(b, a), axis=1) for a, b in zip(shown, asked, strict=True)]
    return (np.array(named) == np.arange(shown.shape[1])).ravel()


def _others(x, z, shown, asked):
    ink = normalize(x.reshape(len(x), -1))
    unit, first = normalize(z), normalize(z[:, : trunks.WIDTHS[-1]])
    drawn = {row: strokes(x[row, ..., 0]) for row in np.unique([shown, asked])}

    def by_strokes(a, b):
        return -hausdorff([drawn[row] for row in a], [drawn[row] for row in b])

    return {
        "strokes": (
            "the modified Hausdorff distance between the inked pixels about their mean",
            pooled.NO_NETWORK,
            answers(by_strokes, shown, asked),
        ),
        "pixels": (
            "the cosine of the drawings themselves",
            pooled.NO_NETWORK,
            answers(lambda a, b: ink[a] @ ink[b].T, shown, asked),
        ),
        "cosine": (
            "the cosine of the same embeddings",
            pooled.SAME_MODEL,
            answers(lambda a, b: unit[a] @ unit[b].T, shown, asked),
        ),
        "one network": (
            "the cosine of the first of the networks alone",
            pooled.SAME_MODEL,
            answers(lambda a, b: first[a] @ first[b].T, shown, asked),
        ),
    }


def strokes(drawing):
    """Places of the inked pixels about their mean, shape `(pixels, 2)`.

    Args:
        drawing: Shape `(side, side)`, ink 1.
    """
    places = np.argwhere(drawing > drawing.max() / 2)
    return places - places.mean(axis=0)


def hausdorff(first, second):
    """Modified Hausdorff distances between sets of places (Dubuisson1994), the baseline that comes
    with Omniglot.

    Args:
        first: List of arrays `(places, 2)`.
        second: Likewise.

    Returns:
        Shape `(len(first), len(second))`.
    """
    found = np.empty((len(first), len(second)))
    for i, one in enumerate(first):
        for j, other in enumerate(second):
            apart = cdist(one, other)
            found[i, j] = max(apart.min(axis=0).mean(), apart.min(axis=1).mean())
    return found
