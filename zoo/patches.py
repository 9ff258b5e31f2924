"""Small photographs named in closed form: how much they look like random patches of others, pooled
by quarters, and ridge regression of the classes (Coates2011, without the dictionary's training)."""

import numpy as np
from sklearn.linear_model import RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

SIDE, PATCHES = 6, 400  # pixels of a patch, and patches
THRESHOLD = 0.5  # of a response, in that of a unit vector
FLAT, FLOOR = 10 / 255**2, 0.1  # added to the variance of a patch, and to those that are whitened
RIDGE = 1e3
SEED, AT_ONCE = 0, 10


def named(known, labels, asked):
    """The classes of images.

    Args:
        known: Images to fit, shape `(images, height, width, channels)`, in [0, 1].
        labels: Class of each.
        asked: Images to name.

    Returns:
        Shape `(asked,)`.
    """
    rng = np.random.default_rng(SEED)
    some = known[rng.choice(len(known), min(len(known), 10 * PATCHES), replace=False)]
    patches = np.concatenate(
        [rng.permutation(one)[:10] for part in in_parts(some) for one in windows(part)]
    )
    middle = patches.mean(axis=0)
    values, vectors = np.linalg.eigh(np.cov(patches - middle, rowvar=False))
    whiten = vectors / np.sqrt(values + FLOOR) @ vectors.T
    chosen = (rng.permutation(patches)[:PATCHES] - middle) @ whiten
    filters = whiten @ (chosen / np.linalg.norm(chosen, axis=1, keepdims=True)).T
    features = [responses(images, filters, middle @ filters) for images in (known, asked)]
    model = make_pipeline(StandardScaler(), RidgeClassifier(RIDGE))
    return model.fit(features[0], labels).predict(features[1])


def in_parts(images):
    """Yields a few images at a time: the patches of 50 take half a gigabyte."""
    for start in range(0, len(images), AT_ONCE):
        yield images[start : start + AT_ONCE]


def windows(images):
    """All patches of images, each of mean 0 and variance 1, shape `(images, patches, values)`."""
    seen = np.lib.stride_tricks.sliding_window_view(images, (SIDE, SIDE), axis=(1, 2))
    seen = seen.reshape(len(images), -1, SIDE * SIDE * images.shape[3])
    seen = seen - seen.mean(axis=2, keepdims=True)
    return seen / np.sqrt(seen.var(axis=2, keepdims=True) + FLAT)


def responses(images, filters, offsets):
    """Sums of the responses to each filter and its opposite beyond the threshold, in quarters of
    the images, shape `(images, 8 filters)`."""
    height, width = (extent - SIDE + 1 for extent in images.shape[1:3])
    found = []
    for few in in_parts(images):
        part = windows(few) @ filters - offsets
        part = part.reshape(-1, height, width, part.shape[-1])
        both = np.concatenate([np.maximum(sign * part - THRESHOLD, 0) for sign in (1, -1)], axis=3)
        halves = (slice(None, height // 2), slice(height // 2, None))
        sides = (slice(None, width // 2), slice(width // 2, None))
        pooled = [both[:, rows, columns].sum(axis=(1, 2)) for rows in halves for columns in sides]
        found.append(np.concatenate(pooled, axis=1))
    return np.concatenate(found)
