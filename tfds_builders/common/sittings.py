"""Function that numbers the walks, sittings and days of a person."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeVar

import numpy as np

DAY_MS = 86_400_000
SITTING_MS = 3_600_000  # a person who walks again within an hour is in the same sitting

Key = TypeVar("Key")


class Place(NamedTuple):
    """Three numbers of a walk: its own number, the number of its sitting and the number of its day.
    The walks, sittings and days of each person are numbered from 0.
    """

    walk: int
    session: int
    day: int


def places(starts_ms: Mapping[Key, int]) -> dict[Key, Place]:
    """Assigns numbers to the walks, sittings and days of one person, in the order of the start
    times.

    Args:
        starts_ms: Unix time of the first sample of each walk, in milliseconds.

    Returns:
        The number of each walk, the number of its sitting and the number of its day. A walk begins
        a new sitting if it starts more than an hour after the start of the previous walk. Days are
        calendar days in UTC.
    """
    order = sorted(starts_ms, key=lambda key: (starts_ms[key], key))
    starts = np.array([starts_ms[key] for key in order], np.int64)
    sessions = np.cumsum(np.diff(starts, prepend=starts[:1]) > SITTING_MS)
    _, days = np.unique(starts // DAY_MS, return_inverse=True)
    return {
        key: Place(walk, int(session), int(day))
        for walk, (key, session, day) in enumerate(zip(order, sessions, days, strict=True))
    }
