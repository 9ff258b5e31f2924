"""Classifies small photographs in closed form, as in Coates2011 but with an untrained dictionary.

The entries of this dictionary are random whitened patches of training images. The features are the
responses of an image to these patches, pooled over quarters of the image. Ridge regression predicts
the class.
"""

from collections.abc import Iterator

import numpy as np
from sklearn.linear_model import RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

SIDE, PATCHES = 6, 400  # pixels per side of a patch, and number of patches
THRESHOLD = 0.5  # of a response; the response to a unit vector itself is 1
FLAT, FLOOR = 10 / 255**2, 0.1  # added to the variance of a patch, and to variances when whitening
RIDGE = 1e3
SEED, IMAGES_PER_PART = 0, 10


def classify(training_images: np.ndarray, labels: np.ndarray, images: np.ndarray) -> np.ndarray:
    """Classifies images.

    Args:
        training_images: Images to which the classifier is fitted, shape
            `(images, height, width, channels)`, in [0, 1].
        labels: Class of each training image.
        images: Images to classify.

    Returns:
        Classes, shape `(images,)`.
    """
    rng = np.random.default_rng(SEED)
    count = len(training_images)
    sample = training_images[rng.choice(count, min(count, 10 * PATCHES), replace=False)]
    patches = np.concatenate(
        [
            rng.permutation(image_patches)[:10]
            for part in in_parts(sample)
            for image_patches in windows(part)
        ]
    )
    middle = patches.mean(axis=0)
    values, vectors = np.linalg.eigh(np.cov(patches - middle, rowvar=False))
    whiten = vectors / np.sqrt(values + FLOOR) @ vectors.T
    whitened = (rng.permutation(patches)[:PATCHES] - middle) @ whiten
    filters = whiten @ (whitened / np.linalg.norm(whitened, axis=1, keepdims=True)).T
    training_features = responses(training_images, filters, middle @ filters)
    model = make_pipeline(StandardScaler(), RidgeClassifier(RIDGE)).fit(training_features, labels)
    return model.predict(responses(images, filters, middle @ filters))


def in_parts(images: np.ndarray) -> Iterator[np.ndarray]:
    """Yields a few images at a time, because the patches of 50 images need 0.5 GB of memory."""
    for start in range(0, len(images), IMAGES_PER_PART):
        yield images[start : start + IMAGES_PER_PART]


def windows(images: np.ndarray) -> np.ndarray:
    """Returns all patches, standardized to mean 0 and variance 1, shape
    `(images, patches, values)`.
    """
    patches = np.lib.stride_tricks.sliding_window_view(images, (SIDE, SIDE), axis=(1, 2))
    patches = patches.reshape(len(images), -1, SIDE * SIDE * images.shape[3])
    patches = patches - patches.mean(axis=2, keepdims=True)
    return patches / np.sqrt(patches.var(axis=2, keepdims=True) + FLAT)


def responses(images: np.ndarray, filters: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Computes pooled responses to each filter and its negative, shape `(images, 8 * filters)`.

    A threshold is subtracted from each response, and negative results become 0. The results are
    summed over each quarter of an image.
    """
    height, width = (extent - SIDE + 1 for extent in images.shape[1:3])
    upper_lower = (slice(None, height // 2), slice(height // 2, None))
    left_right = (slice(None, width // 2), slice(width // 2, None))
    features = []
    for part in in_parts(images):
        values = windows(part) @ filters - offsets
        values = values.reshape(-1, height, width, values.shape[-1])
        signed = np.concatenate(
            [np.maximum(sign * values - THRESHOLD, 0) for sign in (1, -1)], axis=3
        )
        pooled = [
            signed[:, rows, columns].sum(axis=(1, 2))
            for rows in upper_lower
            for columns in left_right
        ]
        features.append(np.concatenate(pooled, axis=1))
    return np.concatenate(features)
