"""Helpers of recipes for prototypical classifiers: batches, optimization, initialization of
similarities, and figures.
"""

import functools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from keras_dml import evaluation, inference
from keras_dml._backend import keras
from keras_dml.losses import PrototypicalLoss
from keras_dml.models import PrototypicalClassifier
from keras_dml.samplers import EpisodeSampler
from keras_dml.training import Optimization, measure

STEPS_PER_EPOCH = 250
# Knots of the piecewise linear functions that initialize a similarity, in units of the typical
# difference.
KNOTS = (0.0, 0.5, 1.0, 1.75)
PIECES = len(KNOTS)
CONTROL_LAYER = "control"
# The gradient is clipped because similarities have no bound.
optimization = functools.partial(Optimization, warm_up=200, weight_decay=1e-4, clip_norm=10.0)
softmax_loss = functools.partial(PrototypicalLoss, class_weight=0.0, pair_weight=0.0)


def batches(
    x: np.ndarray,
    y: np.ndarray,
    *,
    ways: int,
    per_class: int,
    seed: int,
    vary: Callable[..., np.ndarray] | None = None,
    **classes: Any,
) -> EpisodeSampler:
    """Samples batches with one support example of each class. All other examples are queries.

    Args:
        x: Images, shape `(images, height, width, channels)`.
        y: Class ids, shape `(images,)`.
        ways: Number of classes in a batch.
        per_class: Number of images per class in a batch.
        seed: Seed of the random draws.
        vary: Augmentation, `vary(batch, rng) -> batch`.
        **classes: Arguments `groups` and `mixed` of `EpisodeSampler`. They determine how the
            classes of a batch are chosen.
    """
    return EpisodeSampler(
        x,
        y,
        ways=ways,
        shots=1,
        queries=per_class - 1,
        steps=STEPS_PER_EPOCH,
        augment=vary,
        seed=seed,
        **classes,
    )


def softmax(encoder, classes: int, hidden: int) -> PrototypicalClassifier:
    """Builds the control, a classifier with a hidden layer and a softmax. Prototypes and similarity
    are compared with this control.

    The hidden layer has the same slope and dropout as a similarity. The softmax is trained only by
    the auxiliary term of the loss.

    Args:
        encoder: A `keras.Model` that computes vectors.
        classes: Number of classes.
        hidden: Number of units of the hidden layer. The hidden layer is called `CONTROL_LAYER` in
            the new encoder.

    Returns:
        A classifier whose auxiliary head is the softmax. The similarity of this classifier is not
        trained.
    """
    layers = keras.layers
    z = layers.LeakyReLU(0.1)(layers.Dense(hidden, name=CONTROL_LAYER)(encoder.output))
    features = keras.Model(encoder.input, layers.Dropout(0.25)(z))
    model = PrototypicalClassifier(features, classes, hidden=(1,))
    model.prototypes_layer.similarity.trainable = False
    return model


def logits(control: PrototypicalClassifier):
    """Returns a `keras.Model` that computes the logits of a classifier built by `softmax`."""
    encoder = control.encoder
    return keras.Model(encoder.input, control.aux_head(encoder.output), name="softmax")


def begin_as_a_metric(similarity) -> None:
    """Changes the signs of a similarity's weights so that a larger difference in any feature lowers
    the similarity of two embeddings.
    """
    first, last = similarity.kernels
    first.assign(np.abs(first))
    last.assign(-np.abs(last))


def begin_as_squares(similarity, gain: float) -> None:
    """Initializes a similarity as a constant minus `gain` times the squared distance between unit
    vectors.

    A piecewise linear function with `PIECES` pieces approximates the square of each feature's
    difference.

    Args:
        similarity: Built `LearnedSimilarity` with `symmetry="absdiff"`, `normalize=True` and one
            hidden layer of `PIECES` units for each feature.
        gain: Factor of the squared distance.
    """
    first, last = similarity.kernels
    features = first.shape[0]
    typical = np.sqrt(2 / features)  # root mean square of a difference between random vectors
    knots = typical * np.array(KNOTS)
    differences = np.linspace(0, 3 * typical, 200)
    weights = np.exp(-((differences / typical) ** 2) / 4)[:, None]
    lines = differences[:, None] - knots
    lines = np.column_stack([np.maximum(lines, similarity.slope * lines), np.ones(200)])
    fitted = np.linalg.lstsq(weights * lines, weights[:, 0] * differences**2)[0][:PIECES]
    first.assign(np.kron(np.eye(features), np.ones(PIECES)))
    similarity.biases[0].assign(-np.tile(knots, features))
    last.assign(-gain * np.tile(fitted, features)[:, None])


def accuracies(model, x: np.ndarray, y: np.ndarray) -> list[dict[str, Any]]:
    """Computes rows of a card: the accuracy of the learned similarity and the accuracy of the
    auxiliary head.
    """
    z = inference.embed(model, x, batch_size=500, progress=False)
    return [accuracy(model.head_scores(z, head), y, head) for head in ("sim", "dol")]


def accuracy(scores: np.ndarray, y: np.ndarray, head: str) -> dict[str, Any]:
    """Computes the accuracy of a head, as a row of a card, from scores of shape
    `(images, classes)`.
    """
    right = np.mean(np.argmax(scores, axis=1) == y)
    return measure.proportion("classification", "accuracy", right, len(y), head=head)


def few_shot(
    model, x: np.ndarray, y: np.ndarray, tasks: Iterable[tuple[int, int]], episodes: int
) -> list[dict[str, Any]]:
    """Computes rows of a card: the few-shot accuracies of the learned similarity and of the cosine.

    The two accuracies are measured on the same episodes.

    Args:
        model: `PrototypicalClassifier`.
        x: Images of classes that the model was not trained on.
        y: Class ids, shape `(images,)`.
        tasks: Pairs `(ways, shots)` of the number of classes and the number of examples per class.
        episodes: Number of episodes per task.
    """
    z = inference.embed(model, x, batch_size=500)
    heads = {"sim": {"similarity": model.similarity}, "cosine": {"distance": "cosine"}}
    rows = []
    for ways, shots in tasks:
        for head, options in heads.items():
            result = evaluation.few_shot(z, y, ways, shots, episodes=episodes, **options)
            rows.append(
                {
                    "protocol": "few_shot",
                    "n": shots,
                    "metric": "accuracy",
                    "value": result.mean,
                    "stderr": result.half_width / 1.96,
                    "trials": episodes * ways * result.queries,
                    "ways": ways,
                    "shots": shots,
                    "head": head,
                }
            )
    return rows
