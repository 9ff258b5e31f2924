"""Numbers of a person's walks, sittings and days."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeVar

import numpy as np

DAY_MS = 86_400_000
SITTING_MS = 3_600_000  # a person who walks again within an hour is in the same sitting

Key = TypeVar("Key")


class Place(NamedTuple):
    """Numbers of a walk, of its sitting and of its day, counted from 0 for each person."""

    walk: int
    session: int
    day: int


def places(starts_ms: Mapping[Key, int]) -> dict[Key, Place]:
    """Numbers the walks of one person by their start times.

    Args:
        starts_ms: Unix time of the first sample of each walk, in milliseconds.

    Returns:
        The place of each walk. A new sitting begins with a walk that begins more than an hour after
        the walk before. Days are days in UTC.
    """
    order = sorted(starts_ms, key=lambda key: (starts_ms[key], key))
    starts = np.array([starts_ms[key] for key in order], np.int64)
    sessions = np.cumsum(np.diff(starts, prepend=starts[:1]) > SITTING_MS)
    _, days = np.unique(starts // DAY_MS, return_inverse=True)
    return {
        key: Place(walk, int(session), int(day))
        for walk, (key, session, day) in enumerate(zip(order, sessions, days, strict=True))
    }
