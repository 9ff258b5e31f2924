"""Reads the telephone voices of Hyke at 16 kHz for speaker verification."""

import numpy as np

from keras_dml.training import People
from tfds_builders.hyke_voice.hyke_voice_dataset_builder import SEXES
from zoo import speech
from zoo.people import read

ENROLLED = "1"  # a line


def lines(split=None, prepare=True):
    """Reads every recording of Hyke, in the order of voices and lines.

    Args:
        split: Split of the data set. Default: all splits.
        prepare: Whether recordings are trimmed and scaled to one level, see `speech.prepared`. If
            False, recordings are as in the data set.

    Returns:
        `People`: recordings of shape `(samples, 1)`, float32, 16 kHz; the voice, with its sex
        (`"F1298653986"` ...); the line as the session (`"1"` ...).
    """
    splits = read("hyke_voice/speech16k", split)
    parts = list(splits.values()) if split is None else [splits]
    records = [record for part in parts for record in part if not record["same_as"]]
    records.sort(key=lambda record: record["file"])
    audio = [np.asarray(record["audio"]) for record in records]  # a copy would be 250 MB
    letters = list(SEXES)
    return People(
        [speech.prepared(sound)[:, None] if prepare else sound[:, None] for sound in audio],
        [letters[record["sex"]] + record["subject"].decode() for record in records],
        [str(record["line"]) for record in records],
    )


def with_line_1(sessions):
    """Returns true for trials in which exactly one recording is line 1, which the authors of the
    data set enroll.

    Args:
        sessions: Lines of the two recordings of each trial, shape `(2, trials)`.
    """
    first, second = sessions == ENROLLED
    return first != second
