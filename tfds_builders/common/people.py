"""Features that each record of a person has in all data sets: person, session, day and device."""

from __future__ import annotations

import numpy as np
import tensorflow_datasets as tfds

UNKNOWN = -1


def features() -> dict[str, object]:
    """Returns the features of every record of a person.

    `subject` is the id of the person in the source. `session` and `day` count the sittings and the
    days of a person from 0. If two records of a person have the same `session`, they come from the
    same sitting. `device` is the name of the recording device. Unknown numbers are -1, and unknown
    texts are empty.
    """
    return {
        "subject": tfds.features.Text(),
        "session": np.int32,
        "day": np.int32,
        "device": tfds.features.Text(),
    }


def record(subject: str, *, session: int = UNKNOWN, day: int = UNKNOWN, device: str = "") -> dict:
    """Returns the part of a record with the features that `features` describes."""
    return {"subject": subject, "session": session, "day": day, "device": device}
