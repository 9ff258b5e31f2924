"""Compares the outputs of exported files with the outputs of Keras on real recordings.

The scores are the distances between all pairs of recordings. A decision is a pair and a threshold
of the card: accept if the distance is at most the threshold. For classifiers of images, the scores
are the scores of the classes, and a decision is the class with the highest score. A decision flips
if the file and Keras decide differently.
"""

import dataclasses
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import keras

    from export.runtimes import Runtime

MOST = 220  # recordings of a model
MOST_STEPS = 48_000  # time steps of a recording, 3 s of sound
DASH = "–"  # cell of a table without a figure


@dataclasses.dataclass(frozen=True)
class Outputs:
    """Outputs of Keras or of a file for the recordings of a model.

    Attributes:
        embeddings: Embeddings, shape `(recordings, ...)`.
        scores: Distances between all recordings, shape `(recordings, recordings)`, or the scores of
            classes, shape `(recordings, classes)`.
    """

    embeddings: np.ndarray
    scores: np.ndarray


@dataclasses.dataclass(frozen=True)
class Reference:
    """Outputs of Keras, with which the outputs of files are compared.

    Attributes:
        outputs: `Outputs` of Keras.
        is_classifier: Whether the scores are scores of classes.
        thresholds: Thresholds for the distance of the file.
    """

    outputs: Outputs
    is_classifier: bool
    thresholds: tuple[float, ...] = ()


@dataclasses.dataclass(frozen=True)
class Agreement:
    """Comparison of a file with Keras.

    Attributes:
        drift: RMS difference between embeddings, divided by the RMS of Keras's embeddings.
        difference: Largest difference between two scores, divided by the standard deviation of
            Keras's scores.
        flips: Number of decisions that flip.
        decisions: Number of decisions. 0 if the card has no threshold for the distance of the file.
    """

    drift: float
    difference: float
    flips: int
    decisions: int

    def cell(self) -> str:
        """Returns the decisions that flip as the text of a table's cell."""
        return f"{self.flips} of {self.decisions:,}" if self.decisions else DASH


def recordings_of(card: dict, most: int = MOST) -> list[np.ndarray] | None:
    """Returns recordings of a model's test people, or of its training people if the published model
    was trained on all people.

    Args:
        card: Card of the model.
        most: Largest number of recordings.

    Returns:
        Recordings of at most `MOST_STEPS` time steps, or None if the data is not available.
    """
    from export import quality

    measured = quality.test_recordings(card)
    if measured is None:
        return None
    signals = measured.signals
    rows = np.linspace(0, len(signals) - 1, min(most, len(signals))).astype(int)
    return [np.asarray(signals[row], np.float32)[:MOST_STEPS] for row in rows]


def by_keras(
    model: "keras.Model", card: dict, signals: list[np.ndarray], on_device: bool = True
) -> Reference:
    """Computes the outputs of Keras.

    Args:
        model: Model of the zoo.
        card: Card of the model.
        signals: Recordings or images.
        on_device: Whether the files are TFLite or ONNX files. These files have another distance
            between matrices than the model and a SavedModel, and Keras computes the embeddings in
            float64 if the model takes matrices.
    """
    from export import quality
    from keras_dml import export, inference

    encoder, classifier = export.signatures.parts(model)
    metric, name = export.signatures.metric_of(classifier or encoder), None
    if on_device:
        device = export.device_model(encoder, metric)
        encoder, metric, name = device.exact, device.metric, device.distance
    embeddings = inference.embed(encoder, signals, progress=False)
    if quality.metric_name(card) == "accuracy":
        scores = np.asarray(model.head_scores(embeddings))
        return Reference(Outputs(embeddings, scores), is_classifier=True)
    distances = np.asarray(inference.distance(metric, embeddings, embeddings))
    rows = [(card["embedding"]["distance"], row) for row in card["thresholds"]]
    rows += [(row["distance"], row) for row in card.get("device_thresholds", [])]
    values = (row["value"] for distance, row in rows if distance == (name or metric.name))
    return Reference(Outputs(embeddings, distances), False, tuple(values))


def by_runtime(runtime: "Runtime", signals: Iterable[np.ndarray], is_classifier: bool) -> Outputs:
    """Computes the outputs of a file.

    Args:
        runtime: Program that has loaded the file.
        signals: Recordings or images. They are read twice if `is_classifier` is True.
        is_classifier: Whether the scores are scores of classes.
    """
    z = runtime.embed(signals)
    return Outputs(z, runtime.classify(signals) if is_classifier else runtime.distance(z, z))


def compare(outputs: Outputs, reference: Reference, pairs: np.ndarray | None = None) -> Agreement:
    """Compares the outputs of a file with the outputs of Keras.

    Args:
        outputs: Outputs of the file.
        reference: Outputs of Keras.
        pairs: Boolean mask of the pairs of recordings that are compared, shape `(recordings,
            recordings)`. Default: every pair of two recordings once. Classifiers ignore it.
    """
    from keras_dml.export import parity

    actual, expected = outputs.scores, reference.outputs.scores
    if reference.is_classifier:
        decided, right = actual.argmax(axis=1), expected.argmax(axis=1)
    else:
        if pairs is None:
            pairs = np.triu(np.ones(expected.shape, bool), 1)
        actual, expected = actual[pairs], expected[pairs]
        limits = np.array(reference.thresholds)[:, None]
        decided, right = actual <= limits, expected <= limits
    return Agreement(
        drift=parity.relative_rms(outputs.embeddings, reference.outputs.embeddings),
        difference=float(np.abs(actual - expected).max() / expected.std()),
        flips=int((decided != right).sum()),
        decisions=right.size,
    )
