"""Change of a model's figure by an export, on recordings or images of people whom the model was not
trained on, or, where the card names none, of those it was.

The figure is the accuracy where the card has one, else the AUC of verification. The recordings come
from the card's data set, or where there is one from the recipe's `examples(split) -> (inputs,
labels)` in `zoo/<name>/train.py`, as the model takes them, of a classifier numbered like its
classes.
"""

import dataclasses
import functools
import importlib
import itertools

import numpy as np

import keras_dml
from keras_dml import distances, evaluation, inference
from keras_dml.export import litert
from zoo import recordings

WINDOW = 512  # steps of a walk, 5.12 s at 100 Hz
MAX_A_PERSON = 12  # recordings; pairs grow with their square
MAX_EXAMPLES = 1000  # examples of a recipe, spread over its classes, at least two each
CALIBRATING = 100  # recordings, spread over the people trained on


@dataclasses.dataclass(frozen=True)
class Recordings:
    """Recordings with the person (the motion, of a model of motions; the class) and the original
    recording that each is a part of."""

    signals: list
    people: np.ndarray
    sources: np.ndarray


def test_recordings(card):
    """What a model is measured on, a few recordings each; None without data."""
    if _has_examples(card):
        return _spread(of_recipe(card, "test"), MAX_EXAMPLES)
    found = of_people(card, "test_subjects" if card["data"]["test_subjects"] else "train_subjects")
    return None if found is None else a_few(found)


def calibrating(card):
    """Recordings of the people trained on, to set the ranges of an int8 file; None without data."""
    of = of_recipe(card, "train") if _has_examples(card) else of_people(card, "train_subjects")
    found = _spread(of, CALIBRATING)
    return None if found is None else found.signals


def metric_name(card):
    """Name of the figure: `"accuracy"` or `"auc"`."""
    kinds = {(row["protocol"], row["metric"]) for row in card["figures"]}
    return "accuracy" if ("classification", "accuracy") in kinds else "auc"


def device_distance(model):
    """The distance by which the embeddings of a .tflite file are compared, where it is another one
    than the model's; None where it is not."""
    own = inference.head_distance(model)
    same = own.device_distance in (None, own.name)
    return None if same else distances.get(own.device_distance)


def by_keras(model, measured, metric, distance=None):
    """The figure of a model, by its own distance or another one."""
    embeddings = keras_dml.embed(model, measured.signals)
    if metric == "accuracy":
        return accuracy(model.head_scores(embeddings), measured)
    return auc(distance or inference.head_distance(model), embeddings, measured)


def by_file(file, model, measured, metric):
    """The figure of a model's .tflite file."""
    if metric == "accuracy":
        return accuracy(litert.classify(file, measured.signals), measured)
    distance = inference.head_distance(model)
    if isinstance(model, keras_dml.models.PrototypicalClassifier):
        distance = functools.partial(litert.distance, file)
    elif distance.device_distance is not None:
        distance = distances.Euclidean()  # of tangent vectors
    return auc(distance, litert.embed(file, measured.signals), measured)


def accuracy(scores, measured):
    """Fraction of the recordings whose class has the highest score, `(recordings, classes)`."""
    return float(np.mean(np.argmax(scores, axis=1) == measured.people))


def of_recipe(card, split):
    """The examples of a model's recipe; None where the data is not at hand.

    Args:
        card: Card of the model.
        split: `"train"` or `"test"`.
    """
    if recordings.data_dir() is None:
        return None
    inputs, labels = _recipe(card).examples(split)
    return Recordings(inputs, np.asarray(labels), np.arange(len(labels)))


def of_people(card, key):
    """The recordings of some people of a model's data set.

    Args:
        card: Card of the model.
        key: `"test_subjects"` or `"train_subjects"` of the card's `data`.

    Returns:
        `Recordings`, or None where the data set is not at hand or the card names nobody.
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


def a_few(found, each=MAX_A_PERSON):
    """At most `each` recordings of a person, spread over all of that person's."""
    kept = []
    for person in np.unique(found.people):
        rows = np.flatnonzero(found.people == person)
        kept.extend(rows[np.linspace(0, len(rows) - 1, min(each, len(rows))).astype(int)])
    return Recordings([found.signals[i] for i in kept], found.people[kept], found.sources[kept])


def auc(distance, embeddings, measured):
    """AUC of verification over all pairs of recordings that are not parts of one.

    Args:
        distance: One of `keras_dml.distances`.
        embeddings: One for each recording, by Keras or by an exported file.
        measured: `Recordings`.
    """
    scores = np.asarray(distance(embeddings, embeddings))
    pairs = np.triu(measured.sources[:, None] != measured.sources[None, :], 1)
    genuine = measured.people[:, None] == measured.people[None, :]
    return evaluation.verification(scores[pairs], genuine[pairs]).auc


def _has_examples(card):
    return hasattr(_recipe(card), "examples")


def _recipe(card):
    return importlib.import_module(f"zoo.{card['name']}.train")


def _spread(found, most):
    if found is None:
        return None
    return a_few(found, max(2, -(-most // len(np.unique(found.people)))))


def _columns(card, builder):
    names = builder.info.metadata.get("channels") if builder.info.metadata else None
    wanted = card["input"]["channels"]
    return [list(names).index(name) for name in wanted] if names else slice(None)


def _parts(record):
    """A walk's windows between the first and the last step; any other recording as it is."""
    signal = np.asarray(record["sequence"], np.float32)
    steps = record.get("steps", record.get("left_steps"))
    if steps is None:
        return [signal]
    walk = signal[np.min(steps) : np.max(steps)]
    return [walk[i : i + WINDOW] for i in range(0, len(walk) - WINDOW + 1, WINDOW)]


def _text(value):
    return value.decode() if isinstance(value, bytes) else str(value)
