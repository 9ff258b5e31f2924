"""Selects the complete events of a table whose rows are events without a sampling rate."""

import dataclasses

import numpy as np

from keras_dml._messages import Message
from keras_dml.recordings._recording import Signal

INCOMPLETE = "Events that lack a value were left out."


def complete(signal: Signal) -> Signal:
    """Leaves out events that lack a value. The first event, for example, has no time since the
    previous event.

    Args:
        signal: Signal with one row per event, and NaN for missing values.

    Raises:
        ValueError: If the file states a sampling rate, or if every event lacks a value.
    """
    if signal.rate_hz is not None:
        raise ValueError(
            f"{signal.path} states a rate of {signal.rate_hz:g} Hz, so its rows are not events. "
            "Leave the file out."
        )
    is_complete = np.isfinite(signal.values).all(axis=1)
    if is_complete.all():
        return signal
    if not is_complete.any():
        raise ValueError(
            Message(
                "{path}: no event has a value in all of the channels {names}. Name fewer channels "
                "by {channels}.",
                path=signal.path,
                names=", ".join(signal.channels),
            )
        )
    rows = np.flatnonzero(is_complete)
    return dataclasses.replace(
        signal,
        values=signal.values[rows],
        place=lambda row: signal.place(rows[row]),
        notes=(*signal.notes, INCOMPLETE),
    )
