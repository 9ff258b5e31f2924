"""Recordings of people from the data sets of `tfds_builders`."""

import numpy as np

from keras_dml.training import People
from tfds_builders import reading
from zoo import recordings


def read(name, split=None):
    """Records of a data set, prepared at the first call from the folder of the recordings.

    Args:
        name: Such as `"ipol_gait/left_foot"`.
        split: A split; None for all of them by name.
    """
    return reading.records(name, recordings.data_dir(), split=split)


def collect(records, session, subject="subject"):
    """Collects the sequences of records with their people.

    Args:
        records: Records of a data set, with a `sequence`.
        session: Function of a record that gives its session.
        subject: Key of the person, or of the class in its place.

    Returns:
        `keras_dml.training.People`.
    """
    people = People([], [], [])
    for record in records:
        people.signals.append(np.array(record["sequence"]))  # a record's own is read-only
        people.subjects.append(record[subject].decode())
        people.sessions.append(session(record))
    return people
