"""Measures the accuracy of image classifiers and of their baselines. The models' cards contain the
results.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import normalize

from keras_dml import inference
from keras_dml.training import pooled
from keras_dml.training.answers import Answers
from zoo.evidence import Evidence

VALUES_PER_BATCH = 2**18  # of the images in a batch; four times as many take 0.5 GB more memory
COMPONENTS = 50  # of the nearest neighbor, which has 97.3 % on MNIST
CONTROL = "as many weights as prototypes and similarity, on the same encoder, trained alone"


def of_classifier(
    examples: Callable[[str], tuple[np.ndarray, np.ndarray]],
    trained,
    side: int | None = None,
    closed_forms: dict[str, tuple[str, Callable[..., np.ndarray]]] | None = None,
) -> Evidence:
    """Measures how well a classifier and its baselines classify the test images. The classifier
    assigns each image to the most similar prototype.

    Args:
        examples: Function that takes the name of a split and returns images and labels.
        trained: `zoo.evidence.Trained`.
        side: Number of pixels per side to which images are shrunk for the nearest-neighbor
            baseline. Default: no shrinking.
        closed_forms: Further methods without a network, `{name: (description, classify)}`, where
            `classify(training_images, labels, images)` returns the classes of images.
    """
    x, y = examples("test")
    model = trained.whole
    z = _embed(model, x)
    right = np.argmax(model.head_scores(z, "sim"), axis=1) == y
    arguments = trained, z, x, y, lambda: examples("train"), side, closed_forms or {}
    return Evidence(Answers(right), functools.partial(_baselines, *arguments))


def _baselines(trained, z, x, y, training_examples, side, closed_forms) -> dict[str, Any]:
    """Returns for each baseline a description, a kind, and an array of booleans. The booleans say
    for each test image whether the baseline is right.
    """
    model = trained.whole
    images, labels = training_examples()
    rows = pixels(images, side)
    components = PCA(min(COMPONENTS, *rows.shape), random_state=0)
    neighbor = make_pipeline(components, KNeighborsClassifier(1)).fit(rows, labels)
    cosine = normalize(z) @ normalize(np.asarray(model.prototypes)).T
    return {
        "nearest neighbor": (
            "the nearest training image in 50 principal components of the pixels",
            pooled.NO_NETWORK,
            neighbor.predict(pixels(x, side)) == y,
        ),
        **{
            name: (description, pooled.NO_NETWORK, classify(images, labels, x) == y)
            for name, (description, classify) in closed_forms.items()
        },
        "dense head": (
            "the auxiliary dense output layer of the same file, trained with it",
            pooled.SAME_MODEL,
            np.argmax(model.head_scores(z, "dol"), axis=1) == y,
        ),
        "cosine": (
            "the cosine to the same prototypes",
            pooled.SAME_MODEL,
            cosine.argmax(axis=1) == y,
        ),
        **{
            name: (CONTROL, pooled.INSTEAD, np.argmax(_embed(control, x), axis=1) == y)
            for name, control in trained.controls.items()
        },
    }


def _embed(model, x):
    rows = max(1, VALUES_PER_BATCH // x[0].size)
    return inference.embed(model, x, batch_size=rows, progress=False)


def pixels(images: np.ndarray, side: int | None = None) -> np.ndarray:
    """Shrinks images to `side` by `side` pixels by averaging blocks, and returns each image as a
    row of pixels.
    """
    if side is not None:
        step = images.shape[1] // side
        images = images[:, : side * step, : side * step]
        images = images.reshape(len(images), side, step, side, step, -1).mean(axis=(2, 4))
    return images.reshape(len(images), -1)
