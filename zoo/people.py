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


def attribute(records, key):
    """Returns the value of an attribute for each person, such as the sex, from the records of a
    data set.

    Args:
        records: Records of a data set.
        key: Key of a text or a class label.
    """
    values = {record["subject"].decode(): record[key] for record in records}
    return {
        person: value.decode() if isinstance(value, bytes) else value
        for person, value in values.items()
    }


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
