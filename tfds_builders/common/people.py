"""Who was recorded, when and by what: the same features in every data set of people."""

from __future__ import annotations

import numpy as np
import tensorflow_datasets as tfds

UNKNOWN = -1


def features() -> dict[str, object]:
    """Features of every record of a person.

    `subject` is the source's own id. `session` numbers the sittings of a person from 0, `day` the
    days on which they took place; two records of one sitting are blocks of it. `device` names what
    recorded. Unknown is -1, or an empty text.
    """
    return {
        "subject": tfds.features.Text(),
        "session": np.int32,
        "day": np.int32,
        "device": tfds.features.Text(),
    }


def record(subject: str, *, session: int = UNKNOWN, day: int = UNKNOWN, device: str = "") -> dict:
    """Values of `features` for one record."""
    return {"subject": subject, "session": session, "day": day, "device": device}
