"""What the cards of classifiers of images rest on."""

import functools

import numpy as np
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import normalize

from keras_dml import inference
from keras_dml.training import pooled
from keras_dml.training.answers import Answers
from zoo.evidence import Evidence

VALUES_AT_ONCE = 2**18  # of images in a batch: four times as many take half a gigabyte more
COMPONENTS = 50  # a neighbor in fewer dimensions is nearer in kind: 97.3 % of MNIST
CONTROL = "as many weights as prototypes and similarity, on the same encoder, trained alone"


def of_classifier(examples, trained, side=None, closed_forms=None):
    """The test images of a classifier, by the similarity to its prototypes.

    Args:
        examples: `examples(split) -> (images, labels)`.
        trained: `zoo.evidence.Trained`.
        side: Side to which images are shrunk for the neighbor by pixels; None: as they are.
        closed_forms: Further methods without a network, `{name: (what, named)}`, where
            `named(known, labels, x)` gives the classes of images.
    """
    x, y = examples("test")
    model = trained.whole
    z = _embedded(model, x)
    right = np.argmax(model.head_scores(z, "sim"), axis=1) == y
    given = trained, z, x, y, lambda: examples("train"), side, closed_forms or {}
    others = functools.partial(_others, *given)
    return Evidence(Answers(right), others)


def _others(trained, z, x, y, train, side, closed_forms):
    model = trained.whole
    images, labels = train()
    known = pixels(images, side)
    components = PCA(min(COMPONENTS, *known.shape), random_state=0)
    neighbor = make_pipeline(components, KNeighborsClassifier(1)).fit(known, labels)
    cosine = normalize(z) @ normalize(np.asarray(model.prototypes)).T
    return {
        "nearest neighbor": (
            "the nearest training image in 50 principal components of the pixels",
            pooled.NO_NETWORK,
            neighbor.predict(pixels(x, side)) == y,
        ),
        **{
            name: (what, pooled.NO_NETWORK, named(images, labels, x) == y)
            for name, (what, named) in closed_forms.items()
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
            name: (CONTROL, pooled.INSTEAD, np.argmax(_embedded(control, x), axis=1) == y)
            for name, control in trained.controls.items()
        },
    }


def _embedded(model, x):
    rows = max(1, VALUES_AT_ONCE // x[0].size)
    return inference.embed(model, x, batch_size=rows, progress=False)


def pixels(images, side=None):
    """Images as rows of pixels, shrunk to a side by means over blocks where one is named."""
    if side is not None:
        step = images.shape[1] // side
        images = images[:, : side * step, : side * step]
        images = images.reshape(len(images), side, step, side, step, -1).mean(axis=(2, 4))
    return images.reshape(len(images), -1)
