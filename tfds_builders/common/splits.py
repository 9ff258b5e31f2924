"""Splits by subject: the same on every machine, each person in one split."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable, Mapping


def by_subject(
    ids: Iterable[str], fractions: Mapping[str, float], seed: int = 0
) -> dict[str, tuple[str, ...]]:
    """Divides people into splits in the order of a digest of their ids.

    The order is that of `sha256(f"{seed}:{id}")`, not that of a random generator: it is the same
    on every version of Python, and a further person moves at most those at the borders.

    Args:
        ids: Ids of the people; repeated ids count once.
        fractions: Fraction of each split, in order; they add up to 1.
        seed: Another seed gives another order.

    Returns:
        The ids of each split, in the order of the digest. Every split has at least one person.

    Raises:
        ValueError: When the fractions do not add up to 1 or there are fewer people than splits.
    """
    if abs(sum(fractions.values()) - 1) > 1e-9 or min(fractions.values()) <= 0:
        raise ValueError(
            f"`fractions` must be positive and add up to 1. Received {dict(fractions)}."
        )
    people = sorted(set(ids), key=lambda person: (_digest(seed, person), person))
    if len(people) < len(fractions):
        raise ValueError(
            f"{len(people)} subject(s) cannot be divided into the splits {', '.join(fractions)}: "
            f"at least {len(fractions)} are needed, one for each."
        )
    ends = list(itertools.accumulate(_counts(len(people), list(fractions.values()))))
    starts = [0, *ends[:-1]]
    return {
        split: tuple(people[start:end])
        for split, start, end in zip(fractions, starts, ends, strict=True)
    }


def _digest(seed: int, person: str) -> str:
    return hashlib.sha256(f"{seed}:{person}".encode()).hexdigest()


def _counts(total: int, fractions: list[float]) -> list[int]:
    borders = [int(total * end + 0.5 + 1e-9) for end in itertools.accumulate(fractions)]
    counts = [b - a for a, b in zip([0, *borders], borders, strict=False)]
    while min(counts) == 0:
        counts[counts.index(max(counts))] -= 1
        counts[counts.index(0)] += 1
    return counts
