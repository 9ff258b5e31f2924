"""Reads the telephone voices of Hyke at 16 kHz for speaker verification."""

import numpy as np

from keras_dml.training import People
from tfds_builders.hyke_voice.hyke_voice_dataset_builder import SEXES
from zoo import speech
from zoo.people import read

ENROLLED = "1"  # a line


def lines(split=None, prepare=True):
    """Reads all recordings of Hyke, sorted by voice and telephone line.

    Args:
        split: Split of the data set. Default: all splits.
        prepare: Whether to trim the recordings and to scale them to the same level, see
            `speech.prepared`. If False, the recordings are not changed.

    Returns:
        `People` with recordings of shape `(samples, 1)`, float32, 16 kHz. The subject is the sex
        and the number of the voice, such as `"F1298653986"`. The session is the line, such as
        `"1"`.
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
    """Returns True for trials in which exactly one of the two recordings is from line 1. The
    authors of the data set enroll line 1.

    Args:
        sessions: Lines of the two recordings in each trial, shape `(2, trials)`.
    """
    first, second = sessions == ENROLLED
    return first != second
