"""Division of people, or of people and videos, into splits that are the same on every machine."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable, Mapping


def by_subject(
    ids: Iterable[str], fractions: Mapping[str, float], seed: int = 0, noun: str = "subject"
) -> dict[str, tuple[str, ...]]:
    """Sorts people by a digest of their ids, and divides them into splits in this order.

    Sorting by `sha256(f"{seed}:{id}")` gives the same order on every version of Python. If a person
    is added, only people at the borders between splits change their split.

    Args:
        ids: Ids of the people. Repeated ids count once.
        fractions: Fraction of the people in each split, in order. The fractions add up to 1.
        seed: Number that is hashed together with the id. Another seed gives another order.
        noun: Noun for a divided item in error messages.

    Returns:
        The ids of each split, in the order of the digest. Every split has at least one person.

    Raises:
        ValueError: If the fractions do not add up to 1, or if there are fewer people than splits.
    """
    if abs(sum(fractions.values()) - 1) > 1e-9 or min(fractions.values()) <= 0:
        raise ValueError(
            f"`fractions` must be positive and add up to 1. Received {dict(fractions)}."
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
    """Divides recordings of people who watch videos. No two splits share people or videos.

    `by_subject` divides people and videos separately. Recordings of a person in one split who
    watches a video of another split are left out. With two splits of equal size, about half of the
    recordings are left out.

    Args:
        keys: Person and video of each recording.
        fractions: Fraction of the people and of the videos in each split.

    Returns:
        The keys of each split, in their given order. Every split has at least one key.

    Raises:
        ValueError: If there are too few people or videos, or if no person of a split watched a
            video of that split.
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
            f"In {', '.join(empty)}, nobody saw a video of the same split: "
            f"{len(keys)} recording(s) are too few for splits without common people and videos."
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
