"""Change in AUC that an export costs, on real recordings: of people the model was not trained on,
or, where the card names none, of those it was."""

import dataclasses
import itertools

import numpy as np

from keras_dml import evaluation
from zoo import recordings

WINDOW = 512  # steps of a walk, 5.12 s at 100 Hz
MOST_A_PERSON = 12  # recordings; pairs grow with their square
CALIBRATING = 100  # recordings, spread over the people trained on


@dataclasses.dataclass(frozen=True)
class Recordings:
    """Recordings with the person (the motion, of a model of motions) and the original recording
    that each is a part of."""

    signals: list
    people: np.ndarray
    sources: np.ndarray


def judged(card):
    """What a model is judged on, a few recordings each; None without data."""
    found = of_people(card, "test_subjects" if card["data"]["test_subjects"] else "train_subjects")
    return None if found is None else a_few(found)


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


def a_few(found, each=MOST_A_PERSON):
    """At most `each` recordings of a person, spread over all of theirs."""
    kept = []
    for person in np.unique(found.people):
        rows = np.flatnonzero(found.people == person)
        kept.extend(rows[np.linspace(0, len(rows) - 1, min(each, len(rows))).astype(int)])
    return Recordings([found.signals[i] for i in kept], found.people[kept], found.sources[kept])


def calibrating(card):
    """Recordings of the people trained on, to set the ranges of an int8 file; None without data."""
    found = of_people(card, "train_subjects")
    if found is None:
        return None
    each = -(-CALIBRATING // len(np.unique(found.people)))
    return a_few(found, each).signals


def auc(distance, embeddings, judged):
    """AUC of verification over all pairs of recordings that are no parts of one.

    Args:
        distance: Of `keras_dml.distances`.
        embeddings: One for each recording, by Keras or by an exported file.
        judged: `Recordings`.
    """
    scores = np.asarray(distance(embeddings, embeddings))
    pairs = np.triu(judged.sources[:, None] != judged.sources[None, :], 1)
    genuine = judged.people[:, None] == judged.people[None, :]
    return evaluation.verification(scores[pairs], genuine[pairs]).auc


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
