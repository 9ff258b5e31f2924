"""Measures how an export changes the accuracy or the AUC of a model.

The measure is the accuracy if the model card has an accuracy, and otherwise the AUC of
verification. The measure is computed on test people, or on training people if the card names no
test people. The recordings come from the data set that the card names. If the recipe
`zoo/<name>/train.py` has a function `examples(split) -> (inputs, labels)`, the inputs and the
labels come from this function. The labels of a classifier are class ids.
"""

import dataclasses
import functools
import importlib
import itertools
import pathlib
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

import keras_dml
from keras_dml import distances, evaluation, inference
from keras_dml.export import litert
from zoo import recordings

if TYPE_CHECKING:
    import keras

WINDOW = 512  # time steps per window of a walk, 5.12 s at 100 Hz
MAX_PER_PERSON = 12  # recordings per person. The number of pairs grows with the square.
MAX_EXAMPLES = 1000  # examples of a recipe, spread over its classes, with at least two per class
CALIBRATING = 100  # number of recordings for calibration, spread over the training people


@dataclasses.dataclass(frozen=True)
class Recordings:
    """Recordings with labels and sources.

    Attributes:
        signals: List of recordings.
        people: Person of each recording. For a model that recognizes motions or classes, `people`
            contains the motion or the class of each recording.
        sources: Original recording from which each recording was cut.
    """

    signals: list
    people: np.ndarray
    sources: np.ndarray


def test_recordings(card: dict) -> Recordings | None:
    """Returns a few recordings per person to measure a model, or None if there is no data.

    Args:
        card: Card of the model.
    """
    if _has_examples(card):
        return _spread(recipe_examples(card, "test"), MAX_EXAMPLES)
    key = "test_subjects" if card["data"]["test_subjects"] else "train_subjects"
    measured = people_recordings(card, key)
    return None if measured is None else limited(measured)


def calibrating(card: dict) -> list | None:
    """Returns training recordings for computing the int8 ranges, or None if there is no data.

    Args:
        card: Card of the model.
    """
    if _has_examples(card):
        training = recipe_examples(card, "train")
    else:
        training = people_recordings(card, "train_subjects")
    training = _spread(training, CALIBRATING)
    return None if training is None else training.signals


def metric_name(card: dict) -> str:
    """Returns the measure that a card reports, `"accuracy"` or `"auc"`."""
    kinds = {(row["protocol"], row["metric"]) for row in card["figures"]}
    return "accuracy" if ("classification", "accuracy") in kinds else "auc"


def device_distance(model: "keras.Model") -> distances.Distance | None:
    """Returns the distance of a .tflite file if the file and the model use different distances.

    Args:
        model: A `keras.Model`.

    Returns:
        The file's distance, or None if the file and the model use the same distance.
    """
    distance = inference.head_distance(model)
    is_equal = distance.device_distance in (None, distance.name)
    return None if is_equal else distances.get(distance.device_distance)


def by_keras(
    model: "keras.Model",
    measured: Recordings,
    metric: str,
    distance: distances.Distance | None = None,
) -> float:
    """Computes a model's AUC with `distance` (default: its own distance), or its accuracy."""
    embeddings = keras_dml.embed(model, measured.signals)
    if metric == "accuracy":
        return accuracy(model.head_scores(embeddings), measured)
    return auc(distance or inference.head_distance(model), embeddings, measured)


def by_file(file: pathlib.Path, model: "keras.Model", measured: Recordings, metric: str) -> float:
    """Computes the AUC or accuracy of the .tflite file of a model."""
    if metric == "accuracy":
        return accuracy(litert.classify(file, measured.signals), measured)
    distance = inference.head_distance(model)
    if isinstance(model, keras_dml.models.PrototypicalClassifier):
        distance = functools.partial(litert.distance, file)
    elif distance.device_distance is not None:
        distance = distances.Euclidean()  # between tangent vectors
    return auc(distance, litert.embed(file, measured.signals), measured)


def accuracy(scores: np.ndarray, measured: Recordings) -> float:
    """Computes the fraction of recordings whose class has the highest score.

    Args:
        scores: Class scores of each recording, shape `(recordings, classes)`.
        measured: Recordings with their classes.
    """
    return float(np.mean(np.argmax(scores, axis=1) == measured.people))


def recipe_examples(card: dict, split: str) -> Recordings | None:
    """Returns the examples from a model's recipe, or None if the data is not available.

    Args:
        card: Card of the model.
        split: `"train"` or `"test"`.
    """
    if recordings.data_dir() is None:
        return None
    inputs, labels = _recipe(card).examples(split)
    return Recordings(inputs, np.asarray(labels), np.arange(len(labels)))


def people_recordings(card: dict, key: str) -> Recordings | None:
    """Returns the recordings of the test people or of the training people of a model.

    Args:
        card: Card of the model.
        key: Key of the card's entry `data`: `"test_subjects"` or `"train_subjects"`.

    Returns:
        `Recordings`, or None if the data set is not available or the card names no people.
    """
    people = set(card["data"][key])
    folder = recordings.data_dir()
    if folder is None or not people:
        return None
    from tfds_builders import reading

    builder = reading.prepared(card["data"]["builder"], folder)
    columns = _columns(card, builder)
    label = card["data"].get("label", "subject")
    splits = builder.as_data_source().values()
    rows = [
        (signal[:, columns], _text(record[label]), _text(record["id"]))
        for record in itertools.chain.from_iterable(splits)
        if _text(record["subject"]) in people
        for signal in _parts(record)
    ]
    if not rows:
        return None
    signals, owners, sources = zip(*rows, strict=True)
    return Recordings(list(signals), np.array(owners), np.array(sources))


def limited(recordings: Recordings, count: int = MAX_PER_PERSON) -> Recordings:
    """Selects at most `count` recordings of each person, at evenly spaced indices."""
    selected = []
    for person in np.unique(recordings.people):
        rows = np.flatnonzero(recordings.people == person)
        selected.extend(rows[np.linspace(0, len(rows) - 1, min(count, len(rows))).astype(int)])
    signals = [recordings.signals[i] for i in selected]
    return Recordings(signals, recordings.people[selected], recordings.sources[selected])


def auc(distance: Callable, embeddings: np.ndarray, measured: Recordings) -> float:
    """Computes the AUC over all pairs of recordings, except pairs cut from the same recording.

    Args:
        distance: Function that computes the distances between two sets of embeddings.
        embeddings: Embeddings of the recordings, by Keras or by an exported file.
        measured: Recordings with their people and sources.
    """
    scores = np.asarray(distance(embeddings, embeddings))
    pairs = np.triu(measured.sources[:, None] != measured.sources[None, :], 1)
    genuine = measured.people[:, None] == measured.people[None, :]
    return evaluation.verification(scores[pairs], genuine[pairs]).auc


def _has_examples(card):
    return hasattr(_recipe(card), "examples")


def _recipe(card):
    return importlib.import_module(f"zoo.{card['name']}.train")


def _spread(recordings, count):
    if recordings is None:
        return None
    return limited(recordings, max(2, -(-count // len(np.unique(recordings.people)))))


def _columns(card, builder):
    names = builder.info.metadata.get("channels") if builder.info.metadata else None
    channels = card["input"]["channels"]
    return [list(names).index(name) for name in channels] if names else slice(None)


def _parts(record):
    """Splits a walk, from the first to the last footstep, into windows. Does not split recordings
    without footsteps."""
    signal = np.asarray(record["sequence"], np.float32)
    steps = record.get("steps", record.get("left_steps"))
    if steps is None:
        return [signal]
    walk = signal[np.min(steps) : np.max(steps)]
    return [walk[i : i + WINDOW] for i in range(0, len(walk) - WINDOW + 1, WINDOW)]


def _text(value):
    return value.decode() if isinstance(value, bytes) else str(value)
