"""Features that every data set of people has: person, session, day and device."""

from __future__ import annotations

import numpy as np
import tensorflow_datasets as tfds

UNKNOWN = -1


def features() -> dict[str, object]:
    """Returns the features of every record of a person.

    `subject` is the id of the person in the source. `session` is the number of the sitting of the
    person, from 0. `day` is the number of the day, from 0. Two records with the same session are
    parts of one sitting. `device` is the name of the recording device. Unknown numbers are -1, and
    unknown texts are empty.
    """
    return {
        "subject": tfds.features.Text(),
        "session": np.int32,
        "day": np.int32,
        "device": tfds.features.Text(),
    }


def record(subject: str, *, session: int = UNKNOWN, day: int = UNKNOWN, device: str = "") -> dict:
    """Returns the values of `features` for one record."""
    return {"subject": subject, "session": session, "day": day, "device": device}
