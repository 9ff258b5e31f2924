"""Splits by subject, or by subject and video, that are the same on every machine."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable, Mapping


def by_subject(
    ids: Iterable[str], fractions: Mapping[str, float], seed: int = 0, noun: str = "subject"
) -> dict[str, tuple[str, ...]]:
    """Divides people into splits in the order of a digest of their ids.

    Sorting by `sha256(f"{seed}:{id}")` gives the same order on every version of Python. If a person
    is added, only people at the borders change their split.

    Args:
        ids: Ids of the people; repeated ids count once.
        fractions: Fraction of each split, in order; they add up to 1.
        seed: Seed of the digest.
        noun: Noun for the divided items, for errors.

    Returns:
        The ids of each split, in the order of the digest. Every split has at least one person.

    Raises:
        ValueError: If the fractions do not add up to 1 or there are fewer people than splits.
    """
    if abs(sum(fractions.values()) - 1) > 1e-9 or min(fractions.values()) <= 0:
        raise ValueError(
            f"`fractions` must be positive and add up to 1. Received {dict(fractions)}."
        )
    people = sorted(set(ids), key=lambda person: (_digest(seed, person), person))
    if len(people) < len(fractions):
        raise ValueError(
            f"{len(people)} {noun}(s) cannot be divided into the splits {', '.join(fractions)}: "
            f"at least {len(fractions)} are needed, one for each."
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
    """Divides recordings of people watching videos so that no two splits share either.

    `by_subject` divides people and videos separately. Recordings of a person of one split and a
    video of another are left out. With two halves, this is about half of the recordings.

    Args:
        keys: (person, video) of each recording.
        fractions: Fraction of each split, of the people as of the videos.

    Returns:
        The keys of each split, in their order. Every split has at least one.

    Raises:
        ValueError: If there are too few people or videos, or nobody in a split saw its videos.
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
            f"Of the people of {', '.join(empty)}, nobody saw a video of the same split: "
            f"{len(keys)} recording(s) are too few to share neither people nor videos."
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
