"""Recordings of people as recipes use them: arrays with the person and the session of each."""

import dataclasses

import numpy as np

from tfds_builders import reading
from zoo import recordings


@dataclasses.dataclass
class People:
    """Recordings, shape `(time_i, channels)`, in the sensor's units; person and session of each."""

    signals: list
    subjects: list
    sessions: list

    def __add__(self, other):
        return People(
            self.signals + other.signals,
            self.subjects + other.subjects,
            self.sessions + other.sessions,
        )

    def of(self, wanted):
        """Those of the people in `wanted`."""
        keep = [i for i, subject in enumerate(self.subjects) if subject in wanted]
        return People(
            [self.signals[i] for i in keep],
            [self.subjects[i] for i in keep],
            [self.sessions[i] for i in keep],
        )

    def windows(self, length, stride=None):
        """Windows of `length` steps of every recording, side by side or every `stride` steps."""
        cut = People([], [], [])
        for signal, subject, session in zip(
            self.signals, self.subjects, self.sessions, strict=True
        ):
            parts = [
                signal[i : i + length] for i in range(0, len(signal) - length + 1, stride or length)
            ]
            cut += People(parts, [subject] * len(parts), [session] * len(parts))
        return cut

    def at_least(self, steps, recordings):
        """Without recordings shorter than `steps`, and then without people who have fewer than
        `recordings`."""
        long = [i for i, signal in enumerate(self.signals) if len(signal) >= steps]
        names, counts = np.unique([self.subjects[i] for i in long], return_counts=True)
        return People(
            [self.signals[i] for i in long],
            [self.subjects[i] for i in long],
            [self.sessions[i] for i in long],
        ).of(set(names[counts >= recordings]))


def read(name, split=None):
    """Records of a data set, prepared at the first call from the folder of the recordings.

    Args:
        name: Such as `"ipol_gait/left_foot"`.
        split: A split; None for all of them by name.
    """
    return reading.records(name, recordings.data_dir(), split=split)
