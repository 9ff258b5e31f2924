"""Functions that divide people, or people and videos, into splits. The splits are the same on every
machine.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable, Mapping


def by_subject(
    ids: Iterable[str], fractions: Mapping[str, float], seed: int = 0, noun: str = "subject"
) -> dict[str, tuple[str, ...]]:
    """Sorts people by a hash of their ids, and divides the sorted people into splits.

    Sorting by `sha256(f"{seed}:{id}")` gives the same order on every version of Python. If a person
    is added, only people near a border between two splits move to another split.

    Args:
        ids: Ids of the people. Repeated ids count once.
        fractions: Dictionary from the name of each split to its fraction of the people. The
            fractions add up to 1.
        seed: Number that is hashed together with the id. Different seeds give different orders.
        noun: Word for one person or item in error messages.

    Returns:
        The ids of each split, sorted by their hash. Every split has at least one person.

    Raises:
        ValueError: If the fractions do not add up to 1, or if there are fewer people than splits.
    """
    if abs(sum(fractions.values()) - 1) > 1e-9 or min(fractions.values()) <= 0:
        raise ValueError(
            f"Received `fractions` = {dict(fractions)}, expected positive numbers that add up to 1."
        )
    people = sorted(set(ids), key=lambda person: (_digest(seed, person), person))
    if len(people) < len(fractions):
        raise ValueError(
            f"{len(people)} {noun}(s) cannot be divided into the splits {', '.join(fractions)}: "
            f"at least {len(fractions)} are needed, one for each split."
        )
    ends = list(itertools.accumulate(_counts(len(people), list(fractions.values()))))
    starts = [0, *ends[:-1]]
    return {
        split: tuple(people[start:end])
        for split, start, end in zip(fractions, starts, ends, strict=True)
    }


def by_subject_and_video(
    keys: Iterable[tuple[str, str]], fractions: Mapping[str, float]
) -> dict[str, tuple[tuple[str, str], ...]]:
    """Divides recordings of people who watch videos, so that no two splits share people or videos.

    `by_subject` divides the people and, separately, the videos. If the person and the video of a
    recording are in different splits, the recording is left out. With two splits of equal size,
    about half of the recordings are left out.

    Args:
        keys: Pair of the person's id and the video's id for each recording.
        fractions: Dictionary from the name of each split to its fraction of the people, and also of
            the videos.

    Returns:
        The pairs of each split, in the same order as in `keys`. Every split has at least one pair.

    Raises:
        ValueError: If there are too few people or videos, or if a split would be empty because none
            of its people watched any of its videos.
    """
    keys = list(keys)
    people = by_subject((person for person, _ in keys), fractions)
    videos = by_subject((video for _, video in keys), fractions, noun="video")
    splits = {
        split: tuple(key for key in keys if key[0] in people[split] and key[1] in videos[split])
        for split in fractions
    }
    empty = [split for split, recordings in splits.items() if not recordings]
    if empty:
        raise ValueError(
            f"The split {', '.join(empty)} is empty, because none of its people watched any of its "
            f"videos. {len(keys)} recording(s) are too few for splits that share no people and "
            "no videos."
        )
    return splits


def _digest(seed: int, person: str) -> str:
    return hashlib.sha256(f"{seed}:{person}".encode()).hexdigest()


def _counts(total: int, fractions: list[float]) -> list[int]:
    borders = [int(total * end + 0.5 + 1e-9) for end in itertools.accumulate(fractions)]
    counts = [b - a for a, b in zip([0, *borders], borders, strict=False)]
    while min(counts) == 0:
        counts[counts.index(max(counts))] -= 1
        counts[counts.index(0)] += 1
    return counts
