"""Reads recordings of people from the data sets of `tfds_builders`."""

import numpy as np

from keras_dml.training import People
from tfds_builders import reading
from zoo import recordings


def read(name, split=None):
    """Reads the records of a data set. The first call prepares the data set from the folder of the
    recordings.

    Args:
        name: Name of the data set and its config, such as `"ipol_gait/left_foot"`.
        split: Name of a split. Default: all splits, as a dictionary from names to records.
    """
    return reading.records(name, recordings.data_dir(), split=split)


def collect(records, session, subject="subject"):
    """Collects the sequences of records and the people who recorded them.

    Args:
        records: Records of a data set, which contain a `sequence`.
        session: Function that returns the session of a record.
        subject: Key of a record that contains the person. In data without people, it is the key of
            the class.

    Returns:
        `keras_dml.training.People`.
    """
    people = People([], [], [])
    for record in records:
        people.signals.append(np.array(record["sequence"]))  # a record's own is read-only
        people.subjects.append(record[subject].decode())
        people.sessions.append(session(record))
    return people
