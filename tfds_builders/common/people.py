"""Features of every data set of people: person, session, day and device."""

from __future__ import annotations

import numpy as np
import tensorflow_datasets as tfds

UNKNOWN = -1


def features() -> dict[str, object]:
    """Returns the features of every record of a person.

    `subject` is the id in the source. `session` numbers the sittings of a person from 0, and `day`
    the days of the sittings. Two records of one sitting are parts of it. `device` names the
    recording device. Unknown values are -1 or an empty text.
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
